#include "runtime/process/supervisor/layers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sstream>

#include "runtime/process/own_folders.hpp"

namespace ddptwin::sandbox {
namespace {

constexpr off_t small_file_max = 1 << 20;
constexpr std::array<std::string_view, 8> left_hard{"/usr/share",
                                                    "/usr/include",
                                                    "/usr/lib/x86_64-linux-gnu",
                                                    "/usr/lib/aarch64-linux-gnu",
                                                    "/usr/src",
                                                    "/usr/share/doc",
                                                    "/var/lib/dpkg",
                                                    "/usr/lib/gcc"};

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

using MountPoints = std::map<std::string, std::string>;

// Mount points of the host, as paths on the host, and the types of their file systems. Octal
// escapes (of spaces) stay: such a path is then not seen as a mount point, and the overlay above it
// shows what is below the mount.
MountPoints host_mount_points() {
  MountPoints points;
  std::istringstream lines(read_file("/proc/self/mountinfo", 16 << 20));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string path, word;
    for (int column = 0; column < 5; ++column) words >> path;
    // Optional columns end with "-" (proc_pid_mountinfo(5)).
    while (words >> word && word != "-") {
    }
    std::string type;
    words >> type;
    if (path.starts_with(place::host + "/")) points[path.substr(place::host.size())] = type;
  }
  return points;
}

bool has_inside(const MountPoints& paths, const std::string& folder) {
  const auto next = paths.lower_bound(folder + "/");
  return next != paths.end() && next->first.starts_with(folder + "/");
}

// The type of the file system that the folder is on.
std::string type_of(const MountPoints& points, std::string path) {
  for (; !path.empty(); path.resize(path.rfind('/')))
    if (const auto at = points.find(path); at != points.end()) return at->second;
  return "the root's";
}

// What the kernel makes up for the host alone, and what mounts when it is looked at: no pod sees
// them.
bool is_hosts_alone(const MountPoints& points, const std::string& path) {
  const auto at = points.find(path);
  return at != points.end() && (at->second == "proc" || at->second == "autofs");
}

// Whether the mount can be made; it is gone again.
bool can_mount(const char* source, const char* type, unsigned long flags,
               const std::string& options) {
  if (!mount_at(source, place::root, type, flags, options)) return false;
  ::umount2(place::root.c_str(), MNT_DETACH);
  return true;
}

// The kernel refuses some FUSE file systems, vfat, 9p, folders that fold case and others.
bool can_overlay(const std::string& lower) {
  return can_mount("overlay", "overlay", MS_RDONLY,
                   fmt::format("lowerdir={}:{},userxattr", as_layer(lower), place::images));
}

}  // namespace

std::string as_layer(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ',' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string volume_path(const std::string& pod, const std::string& volume) {
  return fmt::format("{}/{}/volumes/{}", place::pods, pod, volume);
}

Status Layers::survey(const std::vector<std::string>& visible, bool owners_mapped) {
  owners_mapped_ = owners_mapped;
  if (!can_overlay(place::pods)) {
    utsname kernel{};
    ::uname(&kernel);
    return fail(Reason::unsupported_machine,
                fmt::format("Linux {} mounts no overlay in a user namespace ({}): 5.11 is the "
                            "oldest that does",
                            kernel.release, std::strerror(errno)));
  }
  mount_points_ = host_mount_points();
  for (const OwnFolder& folder : own_folders) {
    const std::string path = place::base + std::string(folder.path);
    TRY_VOID(make_folders(path));
    ::chmod(path.c_str(), folder.mode);
  }
  for (const std::string& path : visible) {
    if (!is_own_folder(path) || !is_folder(place::host + path)) continue;
    TRY_VOID(make_folders(place::base + path));
    visible_.push_back(path);
  }
  return survey_folder("");
}

Status Layers::survey_folder(const std::string& path) {
  for (const std::string& name : names_in(place::host + path)) {
    if (!is_own_folder(path + "/" + name)) TRY_VOID(survey_entry(path + "/" + name));
  }
  return {};
}

// The host entries that are no part of any overlay: each becomes an overlay, or a copy in the base
// layer.
Status Layers::survey_entry(const std::string& path) {
  const std::string on_host = place::host + path;
  const std::string in_base = place::base + path;
  struct stat info {};
  if (::lstat(on_host.c_str(), &info) != 0) return {};
  if (!S_ISDIR(info.st_mode)) {
    if (S_ISREG(info.st_mode) && info.st_size > small_file_max) return {};
    if (S_ISREG(info.st_mode) && ::access(on_host.c_str(), R_OK) != 0) return {};
    return copy_tree(on_host, in_base);
  }
  TRY_VOID(make_folders(in_base));
  ::chmod(in_base.c_str(), info.st_mode & 07777);
  // A folder that we may not read could only be an overlay whose every use is refused: an empty one
  // of the pod's own serves better.
  if (::access(on_host.c_str(), R_OK | X_OK) != 0) return {};
  if (is_hosts_alone(mount_points_, path)) {
    notes_.push_back(
        fmt::format("pods see nothing of {} ({})", path, type_of(mount_points_, path)));
    return {};
  }
  if (has_inside(mount_points_, path)) return survey_folder(path);
  if (names_in(on_host).empty()) return {};
  if (!can_overlay(on_host)) {
    show_without_overlay(path);
    return {};
  }
  host_overlays_.push_back({path, {on_host}, info.st_mode & 07777});
  constexpr int depth = 3;
  if (!owners_mapped_) soften_base(path, depth);
  return {};
}

// Read only, for what pods write there would be the host's.
void Layers::show_without_overlay(const std::string& path) {
  const std::string on_host = place::host + path;
  const bool bound = can_mount(on_host.c_str(), nullptr, MS_BIND | MS_REC, "");
  if (bound) visible_.push_back(path);
  notes_.push_back(fmt::format("{} ({}) takes no overlay: pods {}", path,
                               type_of(mount_points_, path),
                               bound ? "cannot write there" : "see nothing of it"));
}

// Without all user ids mapped the host's folders belong to nobody we can act as, so a pod could not
// make files in them. Twins of the upper levels in the base layer belong to us; so do copies of the
// small files of /etc. What only a package manager writes is left out: it is most of the tree.
void Layers::soften_base(const std::string& path, int depth) {
  if (std::find(left_hard.begin(), left_hard.end(), path) != left_hard.end()) return;
  const FolderContent content = content_of(place::host + path);
  if (path == "/etc" || path.starts_with("/etc/")) soften_etc(path, content.others);
  if (depth == 0) return;
  for (const std::string& name : content.folders) {
    const std::string child = path + "/" + name;
    struct stat info {};
    if (::lstat((place::host + child).c_str(), &info) != 0) continue;
    if (::access((place::host + child).c_str(), R_OK | X_OK) != 0) continue;
    if (::mkdir((place::base + child).c_str(), 0755) != 0) continue;
    ::chmod((place::base + child).c_str(), info.st_mode & 07777);
    soften_base(child, depth - 1);
  }
}

void Layers::soften_etc(const std::string& path, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string from = place::host + path + "/" + name;
    struct stat info {};
    if (::lstat(from.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_size > small_file_max || ::access(from.c_str(), R_OK) != 0) continue;
    static_cast<void>(copy_tree(from, place::base + path + "/" + name));
  }
}

Status Layers::add_to_base(const std::string& host_path, const std::string& path) {
  TRY_VOID(make_layer_folder(place::base, path.substr(0, path.rfind('/'))));
  return copy_tree(place::host + host_path, place::base + path);
}

// The folders that lead to `path`, each with the mode it has below.
Status Layers::make_layer_folder(const std::string& layer, const std::string& path) const {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const std::string folder = layer + part;
    if (!part.empty() && ::mkdir(folder.c_str(), 0755) == 0) {
      struct stat below {};
      if (::stat((place::base + part).c_str(), &below) == 0 ||
          ::stat((place::host + part).c_str(), &below) == 0) {
        ::chmod(folder.c_str(), below.st_mode & 07777);
      }
    } else if (!part.empty() && errno != EEXIST) {
      return system_error(folder);
    }
    if (end == std::string::npos) return {};
  }
}

namespace {

// Follows the links among the host's top-level names, so that a file for /lib/x goes to /usr/lib/x:
// a folder of that name in an upper layer would hide the link.
std::string through_links(const std::string& path) {
  const std::size_t end = path.find('/', 1);
  const std::string top = path.substr(0, end);
  char target[PATH_MAX + 1];
  const ssize_t size = ::readlink((place::base + top).c_str(), target, PATH_MAX);
  if (size <= 0 || end == std::string::npos) return path;
  target[size] = '\0';
  const std::string to = target[0] == '/' ? target : std::string("/") + target;
  return to + path.substr(end);
}

}  // namespace

Status Layers::fill_image(const MakeImage& image, const std::string& folder) const {
  TRY_VOID(make_folders(folder));
  for (const Copy& copy : image.copies) {
    const std::string to = copy.to == "/" ? std::string() : through_links(copy.to);
    TRY_VOID(make_layer_folder(folder, to.substr(0, to.rfind('/'))));
    std::vector<std::string> without;
    for (const std::string& path : copy.without) without.push_back(place::host + path);
    TRY_VOID(copy_tree(place::host + copy.from, folder + to, without));
  }
  if (!image.workdir.empty() && image.workdir != "/") {
    TRY_VOID(make_layer_folder(folder, through_links(image.workdir)));
  }
  return {};
}

Stack Layers::stack(const std::string& layer) const {
  Stack stack{{"", {layer, place::base}, 0755}};
  for (const Overlay& host : host_overlays_) {
    Overlay overlay{host.path, {}, host.mode};
    for (const std::string& above : {layer, place::base}) {
      if (is_folder(above + host.path) && !names_in(above + host.path).empty()) {
        overlay.lowers.push_back(above + host.path);
      }
    }
    overlay.lowers.insert(overlay.lowers.end(), host.lowers.begin(), host.lowers.end());
    if (exists(place::host + host.path)) stack.push_back(std::move(overlay));
  }
  return stack;
}

}  // namespace ddptwin::sandbox
