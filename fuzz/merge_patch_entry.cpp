// RFC 7386: applying a merge patch a second time changes nothing.
#include "objects/patch.hpp"
#include "patches.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddptwin;
  const auto both = fuzz::read_both(data, size);
  if (!both) return 0;
  const auto patched = apply_merge_patch(both->document, both->patch);
  if (!patched) return 0;
  const auto again = apply_merge_patch(*patched, both->patch);
  fuzz::law(again.has_value() && *again == *patched);
  return 0;
}
