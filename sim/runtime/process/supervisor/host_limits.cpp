#include "runtime/process/supervisor/host_limits.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>

namespace ddptwin::sandbox {
namespace {

// A setting that forbids user namespaces, wholly or to those who have no right beside.
struct Setting {
  const char* path;
  const char* forbids;  // its value then
  const char* told;
};
constexpr std::array settings{
    Setting{"/proc/sys/user/max_user_namespaces", "0",
            "user namespaces are switched off: sysctl -w user.max_user_namespaces=10000"},
    Setting{"/proc/sys/kernel/unprivileged_userns_clone", "0",
            "they are kept for root: sysctl -w kernel.unprivileged_userns_clone=1"},
    // Ubuntu 23.10 and later.
    Setting{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
            "AppArmor keeps them for programs that have a profile: sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0, or a profile with `userns,` for "
            "ddptwin-sandbox"},
};

// Filters of system calls are what container runtimes put around a container.
bool is_filtered() {
  return read_file("/proc/self/status").find("\nSeccomp:\t2") != std::string::npos;
}

constexpr std::string_view in_a_container =
    "a container around ddptwin has to allow it: docker or podman run --security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
    "systempaths=unconfined (unmask=ALL for podman), or --privileged; in Kubernetes a "
    "seccompProfile "
    "Unconfined with procMount Unmasked, or privileged";

std::string cause_of(int number, bool of_proc) {
  for (const Setting& setting : settings) {
    std::string value = read_file(setting.path, 64);
    while (!value.empty() && value.back() == '\n') value.pop_back();
    if (value == setting.forbids) return setting.told;
  }
  if (of_proc) return "parts of /proc are masked here: " + std::string(in_a_container);
  if (is_filtered() || number == EPERM || number == EACCES) return std::string(in_a_container);
  return "the kernel has to be Linux 5.11 or later, with namespaces of every kind";
}

}  // namespace

tl::unexpected<Error> unsupported(std::string_view step, int number) {
  return fail(Reason::unsupported_machine,
              fmt::format("this machine does not allow unprivileged user namespaces all that pods "
                          "need ({}: {}); {}",
                          step, std::strerror(number), cause_of(number, step == mounting_proc)));
}

}  // namespace ddptwin::sandbox
