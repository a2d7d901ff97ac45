// The folder of `--out`: one ddptwin writes there at a time, and touches nothing that no ddptwin
// made.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::scenario {

// DIR/.ddptwin names every file and folder that was made in DIR, each before it is made, so that
// the list is whole after a SIGKILL too. It is locked (flock(2)) as long as the folder is in use;
// the kernel lets go of the lock of a process that is gone. May be used from several threads.
class OutFolder {
 public:
  // Makes the folder and its parents, locks it and removes what earlier runs made there; files of
  // others stay. `runs`: the folders below it, each of one run; "" is the folder itself. Errors,
  // all before anything is touched: bad_input (it is in use; it cannot be made; a result.json or
  // trace.jsonl there is not ddptwin's).
  static Result<std::shared_ptr<OutFolder>> open(const std::string& path,
                                                 const std::vector<std::string>& runs);
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

  const std::string& path() const { return path_; }
  // A new, empty file, with its folders: a path below the folder. A file of others that is in the
  // way is left as it is: io.
  Status make(const std::string& file);
  // A file whole, as if at once: who reads it meanwhile finds the old text or the new one.
  Status write(const std::string& file, std::string_view text);

 private:
  OutFolder(std::string path, int list) : path_(std::move(path)), list_(list) {}
  Status make_folders(const std::string& file);
  Status note(const std::string& entry);
  Status remove_earlier(const std::set<std::string>& entries);

  std::string path_;
  int list_;  // DIR/.ddptwin, open and locked
  std::mutex mutex_{};
  std::set<std::string> made_{};
};

// A file of the folder that grows. Text is kept until flush(); the first thing that goes wrong is
// kept too, and told by status().
class GrowingFile {
 public:
  GrowingFile(OutFolder& folder, std::string file);
  void append(std::string_view text) { kept_.append(text); }
  std::size_t kept() const { return kept_.size(); }
  void flush();
  const Status& status() const { return status_; }

 private:
  OutFolder& folder_;
  std::string file_;
  std::string kept_{};
  Status status_{};
};

}  // namespace ddptwin::scenario
