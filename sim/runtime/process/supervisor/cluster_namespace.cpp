#include "runtime/process/supervisor/cluster_namespace.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "runtime/process/supervisor/host_limits.hpp"
#include "runtime/process/supervisor/layers.hpp"

namespace ddptwin::sandbox {
namespace {

constexpr std::string_view all_ids = "0 0 4294967295";

// Only a process outside a user namespace may map more than its own id into it: one that waits for
// the word that the namespace is there, and maps every id onto itself, so that the host's files
// keep their owners.
class OutsideMapper {
 public:
  static Result<OutsideMapper> start() {
    OutsideMapper mapper;
    TRY(Pipe word, make_pipe());
    const pid_t target = ::getpid();
    mapper.pid_ = ::fork();
    if (mapper.pid_ < 0) return system_error("fork");
    if (mapper.pid_ == 0) {
      word.write.reset();
      char byte = 0;
      if (::read(word.read.get(), &byte, 1) != 1) ::_exit(1);
      const bool mapped = write_file(fmt::format("/proc/{}/uid_map", target), all_ids) &&
                          write_file(fmt::format("/proc/{}/gid_map", target), all_ids);
      ::_exit(mapped ? 0 : 1);
    }
    mapper.word_ = std::move(word.write);
    return mapper;
  }

  bool map() {
    int status = 1;
    if (::write(word_.get(), "", 1) != 1) return false;
    return ::waitpid(pid_, &status, 0) == pid_ && status == 0;
  }

 private:
  OutsideMapper() = default;
  pid_t pid_ = 0;
  Fd word_;
};

Status map_own_id(uid_t user, gid_t group) {
  if (!write_file("/proc/self/setgroups", "deny"))
    return unsupported("/proc/self/setgroups", errno);
  if (!write_file("/proc/self/uid_map", fmt::format("0 {} 1", user)))
    return unsupported("uid_map", errno);
  if (!write_file("/proc/self/gid_map", fmt::format("0 {} 1", group)))
    return unsupported("gid_map", errno);
  return {};
}

}  // namespace

Status enter_cluster_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  std::optional<OutsideMapper> mapper;
  if (user == 0) {
    TRY(mapper, OutsideMapper::start());
  }
  if (::unshare(CLONE_NEWUSER) != 0) return unsupported("unshare", errno);
  if (!mapper || !mapper->map()) TRY_VOID(map_own_id(user, group));
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC) != 0) {
    return unsupported("unshare", errno);
  }
  return {};
}

Status make_cluster_tree() {
  const char* anywhere = "/tmp";  // covered for a moment, in this namespace only
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return unsupported("mount /", errno);
  if (::mount("tmpfs", anywhere, "tmpfs", 0, "mode=755") != 0)
    return unsupported("mount tmpfs", errno);
  if (::chdir(anywhere) != 0) return system_error(anywhere);
  for (const std::string& folder : {place::host, place::base, place::images, place::pods,
                                    place::node, place::root, place::upper}) {
    if (::mkdir(folder.substr(1).c_str(), 0755) != 0) return system_error(folder);
  }
  if (::mkdir("proc", 0555) != 0) return system_error("/proc");
  if (::syscall(SYS_pivot_root, ".", place::host.substr(1).c_str()) != 0) {
    return unsupported("pivot_root", errno);
  }
  if (::chdir("/") != 0) return system_error("/");
  // The host's may be masked, as in a container: then nobody within may mount another.
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return unsupported(mounting_proc, errno);
  return {};
}

}  // namespace ddptwin::sandbox
