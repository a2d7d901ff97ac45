#include "pod_entry.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace ddptwin::workers {
namespace {

using zygote::Role;
using zygote::Spawn;

struct Namespace {
  Role role;
  int type;
  const char* step;
};

// The mount namespace last: what the others need of /proc is gone after it.
constexpr Namespace namespaces[] = {{Role::ipc_namespace, CLONE_NEWIPC, "join ipc namespace"},
                                    {Role::uts_namespace, CLONE_NEWUTS, "join uts namespace"},
                                    {Role::net_namespace, CLONE_NEWNET, "join net namespace"},
                                    {Role::mount_namespace, CLONE_NEWNS, "join mount namespace"}};

EntryReport failed(const char* step) {
  EntryReport report{errno, {}};
  std::strncpy(report.step, step, sizeof report.step - 1);
  return report;
}

template <class Do>
bool for_each(const Spawn& spawn, Role role, Do act) {
  return std::ranges::all_of(spawn.descriptors, [&](const zygote::Descriptor& descriptor) {
    return descriptor.role != role || act(descriptor.fd);
  });
}

EntryReport join(const Spawn& spawn) {
  const auto enter_cgroup = [](int fd) { return ::write(fd, "0", 1) == 1; };
  if (!for_each(spawn, Role::cgroup_procs, enter_cgroup)) return failed("enter cgroup");
  for (const Namespace& wanted : namespaces) {
    const auto enter = [&](int fd) { return ::setns(fd, wanted.type) == 0; };
    if (!for_each(spawn, wanted.role, enter)) return failed(wanted.step);
  }
  if (!spawn.root.empty() && ::chroot(spawn.root.c_str()) != 0) return failed("change root");
  const char* folder = spawn.cwd.empty() ? "/" : spawn.cwd.c_str();
  if (::chdir(folder) != 0) return failed("change folder");
  return {};
}

EntryReport take_stdio(const Spawn& spawn, int null) {
  if (::dup2(null, 0) != 0) return failed("take stdin");
  if (!for_each(spawn, Role::in, [](int fd) { return ::dup2(fd, 0) == 0; }))
    return failed("take stdin");
  if (!for_each(spawn, Role::out, [](int fd) { return ::dup2(fd, 1) == 1; }))
    return failed("take stdout");
  if (!for_each(spawn, Role::err, [](int fd) { return ::dup2(fd, 2) == 2; }))
    return failed("take stderr");
  return {};
}

void take_environment(const Spawn& spawn) {
  ::clearenv();
  for (const std::string& variable : spawn.env) ::putenv(::strdup(variable.c_str()));
}

EntryReport take_limits(const Spawn& spawn) {
  for (const zygote::Limit& limit : spawn.limits) {
    const rlimit value{limit.soft, limit.hard};
    if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &value) != 0) {
      return failed("set limit");
    }
  }
  return {};
}

EntryReport drop_all_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("set no_new_privs");
  if (::syscall(SYS_capset, &header, none) != 0) return failed("drop capabilities");
  return {};
}

}  // namespace

EntryReport enter_pod(const Spawn& spawn, int null) {
  if (EntryReport report = join(spawn); report.error != 0) return report;
  if (EntryReport report = take_stdio(spawn, null); report.error != 0) return report;
  if (EntryReport report = take_limits(spawn); report.error != 0) return report;
  take_environment(spawn);
  if ((spawn.flags & zygote::new_session) != 0) ::setsid();
  if ((spawn.flags & zygote::drop_capabilities) != 0) {
    if (EntryReport report = drop_all_capabilities(); report.error != 0) return report;
  }
  ::prctl(PR_SET_NAME, "ddptwin-worker", 0, 0, 0);
  // Last, for a change of credentials clears it. Should the zygote have died before, the report
  // after this finds its pipe broken.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return failed("set parent death signal");
  return {};
}

}  // namespace ddptwin::workers
