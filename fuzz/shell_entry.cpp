// Scripts of `sh -c` and `bash -c`: what is understood can be looked at, and regular expressions
// and numbers in it are worked out or refused.
#include "entry.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/shell/script.hpp"
#include "runtime/model/workload.hpp"

namespace {

using namespace ddptwin;

void check(std::string_view text, const char* shell) {
  const auto status = model::can_model({shell, "-c", std::string(text)}, Image(), nullptr);
  fuzz::law(status.has_value() || !status.error().message.empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(text, "sh");
  check(text, "bash");
  return 0;
}
