// RFC 6902: what a patch gives passes a `test` of itself as a whole.
#include "objects/patch.hpp"
#include "patches.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddptwin;
  const auto both = fuzz::read_both(data, size);
  if (!both) return 0;
  const auto patched = apply_json_patch(both->document, both->patch);
  if (!patched) return 0;
  const boost::json::array itself{
      boost::json::object{{"op", "test"}, {"path", ""}, {"value", *patched}}};
  const auto tested = apply_json_patch(*patched, itself);
  fuzz::law(tested.has_value() && *tested == *patched);
  return 0;
}
