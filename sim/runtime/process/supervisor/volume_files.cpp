#include "runtime/process/supervisor/volume_files.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <set>

namespace ddptwin::sandbox {

Status replace_files(const std::string& folder, const WriteVolume& volume) {
  std::set<std::string> wanted;
  for (const VolumeFile& file : volume.files) {
    const std::string path = folder + "/" + file.path;
    wanted.insert(file.path.substr(0, file.path.find('/')));
    TRY_VOID(make_folders(path.substr(0, path.rfind('/'))));
    const std::string beside = path + ".new";
    TRY_VOID(write_file(beside, file.content));
    ::chmod(beside.c_str(), file.mode);
    if (::rename(beside.c_str(), path.c_str()) != 0) return system_error(path);
  }
  if (!volume.exact) return {};
  for (const std::string& name : names_in(folder)) {
    if (!wanted.contains(name)) remove_tree(folder + "/" + name);
  }
  return {};
}

}  // namespace ddptwin::sandbox
