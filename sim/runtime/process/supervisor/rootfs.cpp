#include "runtime/process/supervisor/rootfs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace ddptwin::sandbox {
namespace {

Status mount_overlay(const Overlay& overlay, std::size_t index) {
  const std::string folder = fmt::format("{}/{}", place::upper, index);
  const std::string upper = folder + "/upper";
  const std::string work = folder + "/work";
  for (const std::string& path : {folder, upper, work}) {
    if (::mkdir(path.c_str(), overlay.mode) != 0) return system_error(path);
  }
  ::chmod(upper.c_str(), overlay.mode);
  std::string lowers;
  for (const std::string& lower : overlay.lowers) {
    lowers += (lowers.empty() ? "" : ":") + as_layer(lower);
  }
  return mount_at("overlay", place::root + overlay.path, "overlay", 0,
                  fmt::format("lowerdir={},upperdir={},workdir={},userxattr", lowers, upper, work));
}

// Device nodes cannot be made in a user namespace, so the host's are bound.
constexpr std::array device_names{"null", "zero", "full", "random", "urandom", "tty"};
struct Link {
  const char* name;
  const char* target;
};
constexpr std::array device_links{Link{"fd", "/proc/self/fd"}, Link{"stdin", "/proc/self/fd/0"},
                                  Link{"stdout", "/proc/self/fd/1"},
                                  Link{"stderr", "/proc/self/fd/2"}, Link{"ptmx", "pts/ptmx"}};

Status bind_to(const std::string& source, const std::string& target, bool with_submounts = false) {
  return mount_at(source.c_str(), target, nullptr,
                  MS_BIND | (with_submounts ? static_cast<unsigned long>(MS_REC) : 0UL));
}

Status make_empty_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return system_error(path);
  return {};
}

Status mount_devices(std::uint64_t shm_size) {
  const std::string dev = place::root + "/dev";
  TRY_VOID(mount_at("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755,size=64k"));
  for (const char* name : device_names) {
    TRY_VOID(make_empty_file(dev + "/" + name));
    TRY_VOID(bind_to(place::host + "/dev/" + name, dev + "/" + name));
  }
  for (const Link& link : device_links) {
    if (::symlink(link.target, (dev + "/" + link.name).c_str()) != 0)
      return system_error(link.name);
  }
  for (const char* name : {"pts", "shm", "mqueue"}) ::mkdir((dev + "/" + name).c_str(), 0755);
  TRY_VOID(mount_at("devpts", dev + "/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                    "newinstance,ptmxmode=0666,mode=0620"));
  constexpr std::uint64_t shm_size_default = 64 << 20;
  TRY_VOID(mount_at("shm", dev + "/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    fmt::format("mode=1777,size={}", shm_size > 0 ? shm_size : shm_size_default)));
  return mount_at("mqueue", dev + "/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC);
}

// As runtimes do: what would reach past the container is shown but cannot be written.
constexpr std::array read_only_in_proc{"bus", "fs", "irq", "sys", "sysrq-trigger"};

Status mount_kernel_views() {
  const std::string proc = place::root + "/proc";
  TRY_VOID(mount_at("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC));
  for (const char* name : read_only_in_proc) {
    const std::string path = proc + "/" + name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    TRY_VOID(bind_to(path, path));
    TRY_VOID(mount_at(nullptr, path, nullptr,
                      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC));
  }
  // A host that hides parts of its /sys lets nobody mount another; programs do without.
  static_cast<void>(mount_at("sysfs", place::root + "/sys", "sysfs",
                             MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY));
  return {};
}

// A path inside another root, with links followed as if that root were "/", so that none leads out
// of it.
Result<Fd> open_in(const std::string& root, const std::string& path) {
  TRY(const Fd folder, open_fd(root, O_PATH | O_DIRECTORY));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const long fd = ::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how);
  if (fd < 0) return system_error(path);
  return Fd(static_cast<int>(fd));
}

// The same, with what is missing made: folders, and at the end a folder or an empty file.
Result<Fd> make_in(const std::string& root, const std::string& path, bool folder) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const bool last = end == std::string::npos;
    if (!open_in(root, part)) {
      const std::size_t slash = part.rfind('/');
      TRY(const Fd parent, open_in(root, slash == 0 ? "/" : part.substr(0, slash)));
      const std::string name = part.substr(slash + 1);
      const std::string at = fmt::format("/proc/self/fd/{}/{}", parent.get(), name);
      if (!last || folder) {
        if (!name.empty() && ::mkdir(at.c_str(), 0755) != 0 && errno != EEXIST)
          return system_error(part);  // EEXIST: another container was quicker
      } else {
        TRY_VOID(make_empty_file(at));
      }
    }
    if (last) return open_in(root, path);
  }
}

std::string by_fd(const Fd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

// The flags that a remount of this mount may not lose.
unsigned long locked_flags(const std::string& path) {
  struct Pair {
    unsigned long seen;
    unsigned long flag;
  };
  constexpr std::array pairs{Pair{ST_NOSUID, MS_NOSUID}, Pair{ST_NODEV, MS_NODEV},
                             Pair{ST_NOEXEC, MS_NOEXEC}};
  struct statvfs info {};
  unsigned long flags = 0;
  if (::statvfs(path.c_str(), &info) != 0) return 0;
  for (const Pair& pair : pairs) {
    if ((info.f_flag & pair.seen) != 0) flags |= pair.flag;
  }
  return flags;
}

// A path of the host; where the host has nothing, a new folder that only this cluster sees.
Result<Fd> open_on_node(const std::string& path) {
  auto found = open_in(place::host, path);
  return found ? std::move(found) : make_in(place::node, path, true);
}

Result<Fd> open_source(const Mount& mount) {
  const bool on_host = mount.kind == Mount::Kind::host;
  if (mount.sub_path.empty()) {
    return on_host ? open_on_node(mount.source) : open_fd(mount.source, O_PATH);
  }
  // As the kubelet: a subPath that does not exist is a new folder, of the host's where the volume
  // is.
  if (!on_host) return make_in(mount.source, "/" + mount.sub_path, true);
  const std::string& root = open_in(place::host, mount.source) ? place::host : place::node;
  return make_in(root, mount.source + "/" + mount.sub_path, true);
}

Status mount_volume(const Mount& mount) {
  TRY(const Fd source, open_source(mount));
  struct stat info {};
  if (::fstat(source.get(), &info) != 0) return system_error(mount.source);
  {
    TRY(const Fd target, make_in(place::root, mount.target, S_ISDIR(info.st_mode)));
    TRY_VOID(bind_to(by_fd(source), by_fd(target), true));
  }
  if (!mount.read_only) return {};
  TRY(const Fd mounted, open_in(place::root, mount.target));
  return mount_at(nullptr, by_fd(mounted), nullptr,
                  MS_REMOUNT | MS_BIND | MS_RDONLY | locked_flags(by_fd(mounted)));
}

Status mount_root(const RootConfig& config) {
  TRY_VOID(mount_at("tmpfs", place::upper, "tmpfs", 0, "mode=755"));
  for (std::size_t i = 0; i < config.stack->size(); ++i) {
    TRY_VOID(mount_overlay((*config.stack)[i], i));
  }
  for (const std::string& path : config.visible) {
    TRY_VOID(mount_volume({Mount::Kind::host, path, "", path, true}));
  }
  return {};
}

// The order of mount(8): outer targets before what lies in them.
std::vector<Mount> outer_first(std::vector<Mount> mounts) {
  std::stable_sort(mounts.begin(), mounts.end(), [](const Mount& a, const Mount& b) {
    return std::count(a.target.begin(), a.target.end(), '/') <
           std::count(b.target.begin(), b.target.end(), '/');
  });
  return mounts;
}

// The old root is put onto the new one and at once detached from there: no folder for it is needed
// (pivot_root(2), NOTES).
Status pivot(const std::string& root) {
  if (::chdir(root.c_str()) != 0) return system_error(root);
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return system_error("pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return system_error("leave the old root");
  if (::chdir("/") != 0) return system_error("/");
  return {};
}

}  // namespace

Status enter_root(const RootConfig& config) {
  TRY_VOID(mount_root(config));
  TRY_VOID(mount_devices(config.shm_size));
  TRY_VOID(mount_kernel_views());
  if (!config.cwd.empty()) TRY_VOID(make_in(place::root, config.cwd, true));
  for (const Mount& mount : outer_first(config.mounts)) TRY_VOID(mount_volume(mount));
  if (config.read_only) {
    TRY_VOID(mount_at(nullptr, place::root, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY));
  }
  return pivot(place::root);
}

}  // namespace ddptwin::sandbox
