#include "cluster/process_runtime/supervisor/cluster_namespace.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cluster/process_runtime/supervisor/layers.hpp"

namespace ddptwin::sandbox {
namespace {

tl::unexpected<Error> unsupported(const std::string& step) {
  return fail(
      Reason::unsupported_machine,
      fmt::format(
          "this machine does not allow unprivileged user namespaces ({}: {}); enable them with: "
          "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 "
          "kernel.apparmor_restrict_unprivileged_userns=0 (those of the three that exist)",
          step, std::strerror(errno)));
}

// Root maps every id onto itself, so that the host's files keep their owners; others map themselves
// only.
Status map_ids(uid_t user, gid_t group) {
  if (user == 0) {
    constexpr std::string_view all = "0 0 4294967295";
    if (write_file("/proc/self/uid_map", all) && write_file("/proc/self/gid_map", all)) return {};
  }
  if (!write_file("/proc/self/setgroups", "deny")) return unsupported("/proc/self/setgroups");
  if (!write_file("/proc/self/uid_map", fmt::format("0 {} 1", user))) return unsupported("uid_map");
  if (!write_file("/proc/self/gid_map", fmt::format("0 {} 1", group)))
    return unsupported("gid_map");
  return {};
}

}  // namespace

Status enter_cluster_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0) return unsupported("unshare");
  TRY_VOID(map_ids(user, group));
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC) != 0) {
    return unsupported("unshare");
  }
  return {};
}

Status make_cluster_tree() {
  const std::string anywhere = "/tmp";  // covered for a moment, in this namespace only
  TRY_VOID(mount_at(nullptr, "/", nullptr, MS_REC | MS_PRIVATE));
  TRY_VOID(mount_at("tmpfs", anywhere, "tmpfs", 0, "mode=755"));
  if (::chdir(anywhere.c_str()) != 0) return system_error(anywhere);
  for (const std::string& folder :
       {place::host, place::base, place::images, place::pods, place::root, place::upper}) {
    if (::mkdir(folder.substr(1).c_str(), 0755) != 0) return system_error(folder);
  }
  if (::mkdir("proc", 0555) != 0) return system_error("/proc");
  if (::syscall(SYS_pivot_root, ".", place::host.substr(1).c_str()) != 0) {
    return system_error("pivot_root");
  }
  if (::chdir("/") != 0) return system_error("/");
  return mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
}

}  // namespace ddptwin::sandbox
