// The files that modelled programs write and read: those on volumes live as long as the volume,
// others as long as the container.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "runtime/model/blank.hpp"

namespace ddptwin::model {

struct ModelContainer;

// A `hostPath` is one folder for all nodes, as ProcessRuntime has it: so pods share checkpoints. A
// source with a size (VolumeSource::size_limit) is full at it: ENOSPC.
class Files {
 public:
  // Errors: errno in `code`, Python's words in `message`.
  Result<std::string> read(const ModelContainer& container, std::string_view path) const;
  Status write(const ModelContainer& container, std::string_view path, std::string content);
  Status append(const ModelContainer& container, std::string_view path, std::string_view content);
  Status append_blank(const ModelContainer& container, std::string_view path, Blank blank);
  // And those above it. Folders that nobody made and that only an image has are not known.
  Status make_folder(const ModelContainer& container, std::string_view path);
  bool exists(const ModelContainer& container, std::string_view path) const;
  bool is_empty(const ModelContainer& container, std::string_view path) const;  // or not there
  // One that is known to be there: what every host has, what is mounted, made or copied to.
  bool has_folder(const ModelContainer& container, std::string_view path) const;
  // Of an image with a described script nobody knows all folders: any may be there. Of others those
  // that hosts have, that are mounted or made, and what the image copies.
  bool may_have_folder(const ModelContainer& container, std::string_view path) const;
  void remove(const ModelContainer& container, std::string_view path);
  // With everything below it. False: there was none, or it cannot be written.
  bool remove_folder(const ModelContainer& container, std::string_view path);

  // What they take on disk, in whole blocks: outside volumes, and in a volume of the pod's own.
  std::int64_t bytes_of_container(const ModelContainer& container) const;
  std::int64_t bytes_of_volume(const std::string& uid, std::string_view volume) const;

  // By how much what lies on nodes' disks has grown since this was asked last, in bytes.
  std::int64_t take_growth() { return std::exchange(growth_, 0); }

  // What a container wrote outside volumes is gone; what a pod's own volumes hold is gone.
  void forget_container(const ModelContainer& container);
  void forget_pod(const std::string& uid);

 private:
  struct Place;
  Place find(const ModelContainer& container, std::string_view path) const;
  void forget(const std::string& prefix);
  struct Content {
    std::string text{};
    Blank blank{};                                       // behind it
    std::int64_t on_disk(std::uint64_t more = 0) const;  // bytes, in whole blocks
  };
  std::int64_t bytes_below(const std::string& prefix) const;
  std::int64_t room_on(const Place& place) const;  // bytes
  void grow(const Place& place, std::int64_t bytes);

  std::map<std::string, Content, std::less<>> contents_;  // by volume and path within it
  std::int64_t growth_ = 0;
};

}  // namespace ddptwin::model
