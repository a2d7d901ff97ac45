#include "runtime/model/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

#include "core/paths.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model {
namespace {

// Folders that every image has.
constexpr std::array<std::string_view, 10> base_folders{
    "", "/tmp", "/root", "/home", "/var/tmp", "/mnt", "/opt", "/srv", "/run", "/dev/shm"};

// Of which nobody knows what is in them: /usr/share/x may be there.
constexpr std::array<std::string_view, 9> host_trees{"/bin",  "/boot", "/dev", "/etc", "/lib",
                                                     "/proc", "/sbin", "/sys", "/usr"};
constexpr std::array<std::string_view, 6> host_folders{"/var",     "/var/cache", "/var/lib",
                                                       "/var/log", "/media",     "/lib64"};

// A tmpfs of the container's own, full at what runtimes give it (spec/failure-modes.md FM-127).
constexpr std::string_view shared_memory = "/dev/shm";
constexpr std::int64_t shared_memory_size = 64 << 20;

Error os_error(int code, std::string_view path) {
  return Error{
      Reason::io, "OSError",
      fmt::format("[Errno {}] {}: '{}'", code, std::generic_category().message(code), path),
      nullptr, code};
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

template <class List, class Of>
bool any(const List& list, const Of& of) {
  return std::any_of(list.begin(), list.end(), of);
}

}  // namespace

struct Files::Place {
  std::string key{};                   // into contents_; empty: no such file can be
  const std::string* fixed = nullptr;  // content of a file that the kubelet made
  bool readonly = false;
  bool has_folder = false;
  std::string disk{};                       // the beginning of the keys of what lies on it
  std::optional<std::int64_t> disk_size{};  // bytes; absent: it is never full
  bool is_on_node = false;                  // on the disk that all pods of the node share
};

Files::Place Files::find(const ModelContainer& container, std::string_view path) const {
  const RuntimeMount* mount = nullptr;
  for (const RuntimeMount& one : container.config.mounts) {
    if (is_at_or_below(path, one.container_path) &&
        (mount == nullptr || one.container_path.size() > mount->container_path.size()))
      mount = &one;
  }
  Place place;
  const auto known = [&](std::string_view folder) {
    const auto next = contents_.lower_bound(fmt::format("{}/", folder));
    return next != contents_.end() && is_at_or_below(next->first, folder);
  };
  if (mount == nullptr || (mount->source == nullptr && mount->content.empty())) {
    place.key = fmt::format("container/{}{}", container.number, path);
    place.is_on_node = true;
    if (mount == nullptr && is_at_or_below(path, shared_memory)) {
      place.disk = fmt::format("container/{}{}/", container.number, shared_memory);
      place.disk_size = shared_memory_size;
      place.is_on_node = false;
    }
    const std::string_view folder = folder_of(path);
    place.has_folder =
        mount != nullptr ||  // the kubelet makes the termination log
        std::find(base_folders.begin(), base_folders.end(), folder) != base_folders.end() ||
        (container.image != nullptr && folder == container.image->workdir) ||
        folder == container.config.working_dir ||  // which a runtime makes
        known(folder_of(place.key));
    return place;
  }
  place.readonly = mount->readonly;
  if (mount->source == nullptr) {
    place.fixed = &mount->content;
    return place;
  }
  std::string_view rest = path.substr(std::min(mount->container_path.size(), path.size()));
  while (rest.starts_with('/')) rest.remove_prefix(1);
  std::string within = mount->sub_path;
  if (!within.empty() && !rest.empty()) within += '/';
  within += rest;
  const VolumeSource& source = *mount->source;
  if (source.kind == VolumeSource::Kind::files) {
    const auto file = source.files.find(within);
    place.fixed = file == source.files.end() ? nullptr : &file->second.content;
    place.readonly = true;
    return place;
  }
  const std::string root = source.kind == VolumeSource::Kind::host_path
                               ? fmt::format("host{}", source.host_path)
                               : fmt::format("pod/{}/{}", container.pod->config.uid, source.name);
  place.key = fmt::format("{}/{}", root, within);
  place.is_on_node = source.kind == VolumeSource::Kind::empty_dir;
  if (source.kind != VolumeSource::Kind::empty_dir && source.size_limit) {
    place.disk = root + "/";
    place.disk_size = source.size_limit;
  }
  place.has_folder = rest.find('/') == std::string_view::npos || known(folder_of(place.key));
  return place;
}

Result<std::string> Files::read(const ModelContainer& container, std::string_view path) const {
  const Place place = find(container, path);
  if (place.fixed != nullptr) return *place.fixed;
  const auto found = contents_.find(place.key);
  if (found == contents_.end()) return fail(os_error(ENOENT, path));
  return found->second.text;
}

Status Files::write(const ModelContainer& container, std::string_view path, std::string content) {
  const Place place = find(container, path);
  if (place.readonly) return fail(os_error(EROFS, path));
  if (!place.has_folder || place.key.empty()) return fail(os_error(ENOENT, path));
  const auto old = contents_.find(place.key);
  const std::int64_t before = old == contents_.end() ? 0 : old->second.on_disk();
  Content made{.text = std::move(content)};
  if (made.on_disk() - before > room_on(place)) return fail(os_error(ENOSPC, path));
  grow(place, made.on_disk() - before);
  contents_[place.key] = std::move(made);
  return {};
}

std::int64_t Files::Content::on_disk(std::uint64_t more) const {
  constexpr std::uint64_t block = 4096;
  const std::uint64_t bytes = text.size() + blank.written + more;
  return static_cast<std::int64_t>((bytes + block - 1) / block * block);
}

std::int64_t Files::room_on(const Place& place) const {
  return place.disk_size ? *place.disk_size - bytes_below(place.disk)
                         : std::numeric_limits<std::int64_t>::max();
}

void Files::grow(const Place& place, std::int64_t bytes) {
  if (place.is_on_node) growth_ += std::max<std::int64_t>(bytes, 0);
}

Status Files::append(const ModelContainer& container, std::string_view path,
                     std::string_view content) {
  const Place place = find(container, path);
  if (place.readonly) return fail(os_error(EROFS, path));
  if (!place.has_folder || place.key.empty()) return fail(os_error(ENOENT, path));
  Content& there = contents_[place.key];
  if (place.disk_size && there.on_disk(content.size()) - there.on_disk() > room_on(place))
    return fail(os_error(ENOSPC, path));
  grow(place, there.on_disk(content.size()) - there.on_disk());
  there.text += content;
  return {};
}

Status Files::append_blank(const ModelContainer& container, std::string_view path, Blank blank) {
  TRY_VOID(append(container, path, {}));
  const Place place = find(container, path);
  Content& there = contents_[place.key];
  const std::int64_t before = there.on_disk(), room = room_on(place);
  there.blank.hole += blank.hole;
  there.blank.written += blank.written;
  grow(place, there.on_disk() - before);
  if (there.on_disk() - before <= room) return {};
  const std::int64_t over = there.on_disk() - before - room;
  there.blank.written -= std::min(static_cast<std::uint64_t>(over), there.blank.written);
  return fail(os_error(ENOSPC, path));
}

bool Files::is_empty(const ModelContainer& container, std::string_view path) const {
  const Place place = find(container, path);
  if (place.fixed != nullptr) return place.fixed->empty();
  const auto found = contents_.find(place.key);
  return found == contents_.end() || (found->second.text.empty() && found->second.blank == Blank{});
}

std::int64_t Files::bytes_below(const std::string& prefix) const {
  std::int64_t bytes = 0;
  for (auto one = contents_.lower_bound(prefix);
       one != contents_.end() && one->first.starts_with(prefix); ++one)
    bytes += one->second.on_disk();
  return bytes;
}

std::int64_t Files::bytes_of_container(const ModelContainer& container) const {
  const std::string all = fmt::format("container/{}/", container.number);
  const std::string memory = fmt::format("container/{}{}/", container.number, shared_memory);
  return bytes_below(all) - bytes_below(memory);
}

std::int64_t Files::bytes_of_volume(const std::string& uid, std::string_view volume) const {
  return bytes_below(fmt::format("pod/{}/{}/", uid, volume));
}

// Below a folder there is something, if only its own empty name.
Status Files::make_folder(const ModelContainer& container, std::string_view path) {
  const Place place = find(container, path);
  if (place.readonly) return fail(os_error(EROFS, path));
  if (!place.key.empty()) contents_.try_emplace(place.key + "/");
  return {};
}

bool Files::has_folder(const ModelContainer& container, std::string_view path) const {
  const auto is_or_holds = [path](std::string_view folder) { return is_at_or_below(folder, path); };
  if (path == "/" || any(base_folders, is_or_holds) || any(host_folders, is_or_holds) ||
      any(host_trees, is_or_holds) || is_or_holds(container.image->workdir) ||
      any(container.image->copies, [&](const ImageCopy& copy) { return is_or_holds(copy.to); }))
    return true;
  const auto is_folder = [&](const RuntimeMount& mount) {
    return mount.source != nullptr && is_or_holds(mount.container_path);
  };
  if (any(container.config.mounts, is_folder)) return true;
  const Place place = find(container, path);
  if (place.key.empty()) return false;
  const auto next = contents_.lower_bound(place.key + "/");
  return next != contents_.end() && next->first.starts_with(place.key + "/");
}

bool Files::may_have_folder(const ModelContainer& container, std::string_view path) const {
  return container.workload != nullptr || has_folder(container, path) ||
         any(host_trees, [path](std::string_view tree) { return is_at_or_below(path, tree); }) ||
         any(container.image->copies,
             [&](const ImageCopy& copy) { return is_at_or_below(path, copy.to); });
}

bool Files::exists(const ModelContainer& container, std::string_view path) const {
  const Place place = find(container, path);
  return place.fixed != nullptr || contents_.contains(place.key);
}

void Files::remove(const ModelContainer& container, std::string_view path) {
  const Place place = find(container, path);
  if (const auto found = contents_.find(place.key); found != contents_.end() && !place.readonly)
    contents_.erase(found);
}

bool Files::remove_folder(const ModelContainer& container, std::string_view path) {
  const Place place = find(container, path);
  if (place.readonly || place.key.empty()) return false;
  const std::size_t before = contents_.size();
  forget(place.key + "/");
  return contents_.size() < before;
}

void Files::forget(const std::string& prefix) {
  auto first = contents_.lower_bound(prefix);
  auto last = first;
  while (last != contents_.end() && last->first.starts_with(prefix)) ++last;
  contents_.erase(first, last);
}

void Files::forget_container(const ModelContainer& container) {
  if (!contents_.empty()) forget(fmt::format("container/{}/", container.number));
}

void Files::forget_pod(const std::string& uid) {
  if (!contents_.empty()) forget(fmt::format("pod/{}/", uid));
}

}  // namespace ddptwin::model
