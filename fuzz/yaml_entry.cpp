// YAML: whatever is read is JSON, and every place that a document knows is in its text.
#include <algorithm>
#include <boost/json.hpp>

#include "entry.hpp"
#include "objects/yaml.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddptwin;
  const std::string_view text = fuzz::text_of(data, size);
  const auto documents = parse_yaml(text, "f");
  if (!documents) return 0;
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  for (const YamlDocument& document : *documents) {
    const std::string shown = boost::json::serialize(document.value);
    boost::json::error_code error;
    (void)boost::json::parse(shown, error, {}, {.max_depth = 200});
    fuzz::law(!error);
    fuzz::law(document.position("metadata.labels[a.b]").line <= lines + 1);
    fuzz::law(document.position("spec.containers[0].image").line <= lines + 1);
  }
  return 0;
}
