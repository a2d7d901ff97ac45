// Strategic merge into a Pod: an empty patch changes nothing, and the same patch of the same pod
// gives the same.
#include "objects/core_v1.hpp"
#include "objects/patch.hpp"
#include "patches.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddptwin;
  const auto both = fuzz::read_both(data, size);
  if (!both) return 0;
  const auto patched = apply_strategic_patch(Pod::type(), both->document, both->patch);
  if (!patched) return 0;
  fuzz::law(apply_strategic_patch(Pod::type(), both->document, both->patch).value() == *patched);
  if (!patched->is_object()) return 0;
  const auto same = apply_strategic_patch(Pod::type(), *patched, boost::json::object());
  fuzz::law(same.has_value() && *same == *patched);
  return 0;
}
