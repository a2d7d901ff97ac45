// The files that modelled programs write and read: those on volumes live as long as the volume,
// others as long as the container.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ddptwin::model {

struct ModelContainer;

// A `hostPath` is one folder for all nodes, as ProcessRuntime has it: so pods share checkpoints.
class Files {
 public:
  // Errors: errno in `code`, Python's words in `message`.
  Result<std::string> read(const ModelContainer& container, std::string_view path) const;
  Status write(const ModelContainer& container, std::string_view path, std::string content);
  Status append(const ModelContainer& container, std::string_view path, std::string_view content);
  // And those above it. Folders that nobody made and that only an image has are not known.
  Status make_folder(const ModelContainer& container, std::string_view path);
  bool exists(const ModelContainer& container, std::string_view path) const;
  // One that is known to be there: what every host has, what is mounted, made or copied to.
  bool has_folder(const ModelContainer& container, std::string_view path) const;
  // Of an image with a described script nobody knows all folders: any may be there. Of others those
  // that hosts have, that are mounted or made, and what the image copies.
  bool may_have_folder(const ModelContainer& container, std::string_view path) const;
  void remove(const ModelContainer& container, std::string_view path);
  // With everything below it. False: there was none, or it cannot be written.
  bool remove_folder(const ModelContainer& container, std::string_view path);

  // What a container wrote outside volumes is gone; what a pod's own volumes hold is gone.
  void forget_container(const ModelContainer& container);
  void forget_pod(const std::string& uid);

 private:
  struct Place;
  Place find(const ModelContainer& container, std::string_view path) const;
  void forget(const std::string& prefix);

  std::map<std::string, std::string, std::less<>> contents_;  // by volume and path within it
};

}  // namespace ddptwin::model
