// Label and field selectors: what is read has a text that means the same.
#include "entry.hpp"
#include "objects/selector.hpp"

namespace {

using namespace ddptwin;

void check_labels(std::string_view text) {
  const auto matcher = LabelMatcher::parse(text);
  if (!matcher) return;
  const std::string canonical = matcher->text();
  const auto again = LabelMatcher::parse(canonical);
  fuzz::law(again.has_value() && again->text() == canonical);
  const StringMap labels[] = {{}, {{"a", "b"}}, {{"a", ""}, {"env", "prod"}}, {{"x/y", "7"}}};
  for (const StringMap& each : labels) fuzz::law(matcher->matches(each) == again->matches(each));
}

void check_fields(std::string_view text) {
  const auto matcher = FieldMatcher::parse(text);
  if (!matcher) return;
  (void)matcher->matches([](std::string_view field) { return std::string(field); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_labels(fuzz::text_of(data, size));
  check_fields(fuzz::text_of(data, size));
  return 0;
}
