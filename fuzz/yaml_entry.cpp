// YAML: whatever is read is JSON, and every place that a document knows is in its text.
#include <algorithm>
#include <boost/json.hpp>

#include "entry.hpp"
#include "objects/yaml.hpp"

namespace {

using namespace ddptwin;

// Of the value and of all that is in it. A text that is JSON has one place for all.
void check_places(const YamlDocument& document, std::uint32_t node, const boost::json::value& value,
                  std::size_t lines) {
  const YamlPositions::Node& place = document.positions[node];
  fuzz::law(place.here.line >= 1 && place.here.line <= lines);
  if (place.children.empty()) return;
  const auto* object = value.if_object();
  const auto* list = value.if_array();
  fuzz::law(object != nullptr || list != nullptr);
  fuzz::law(place.children.size() == (object != nullptr ? object->size() : list->size()));
  auto child = place.children.begin();
  if (object != nullptr) {
    for (const auto& member : *object) check_places(document, *child++, member.value(), lines);
  } else {
    for (const auto& element : *list) check_places(document, *child++, element, lines);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto documents = parse_yaml(text, "f");
  if (!documents) return 0;
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  for (const YamlDocument& document : *documents) {
    const std::string shown = boost::json::serialize(document.value);
    boost::json::error_code error;
    (void)boost::json::parse(shown, error, {}, {.max_depth = 200});
    fuzz::law(!error);
    check_places(document, document.root, document.value, lines + 1);
  }
  return 0;
}
