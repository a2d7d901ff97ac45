#include "scenario/report/out_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace ddptwin::scenario {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view list_name = ".ddptwin";
// The first line of the list; the number of the process that writes or wrote there follows.
constexpr std::string_view list_title = "files of ddptwin, process ";

// Closed at its end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

tl::unexpected<Error> fail_of_system(const std::string& path, Reason reason = Reason::io) {
  return fail(reason, fmt::format("{}: {}", path, std::strerror(errno)));
}

Status write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_of_system(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool has_members(std::string_view text, std::initializer_list<std::string_view> names) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return false;
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return value.as_object().contains(json::string_view(name.data(), name.size()));
  });
}

// ---- what is ddptwin's own ---------------------------------------------------------------------

bool is_result(const std::string& path) {
  return has_members(text_of(path), {"scenario", "mode", "seed", "passed", "expectations"});
}

bool is_trace(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string line;
  // Empty: it was killed early.
  return !std::getline(stream, line) || has_members(line, {"id", "time", "kind"});
}

struct OwnFile {
  std::string_view name;
  bool (*is_own)(const std::string& path);
};
constexpr std::array<OwnFile, 2> own_files{{{"result.json", is_result}, {"trace.jsonl", is_trace}}};

// Whether there is one; the error of one that others made.
Result<bool> has_own(const OwnFile& file, const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, file.name);
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return false;
  if (fs::is_regular_file(status) && file.is_own(path)) return true;
  return fail(Reason::bad_input,
              "is not ddptwin's: it is left as it is; name another folder with --out", path);
}

// NAMESPACE_POD_CONTAINER.log: names of Kubernetes have no underscore.
bool is_log_name(const std::string& name) {
  return name.ends_with(".log") && std::count(name.begin(), name.end(), '_') == 2;
}

// What versions without a list left beside them.
void add_unlisted_logs(const std::string& path, std::set<std::string>& entries) {
  std::error_code ignored;
  for (fs::directory_iterator entry(path + "/logs", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (is_log_name(name)) entries.insert({"logs", "logs/" + name});
  }
}

// ---- the list ----------------------------------------------------------------------------------

// Names below the folder and no other place.
bool is_below(const std::string& entry) {
  if (entry.empty() || entry.front() == '/') return false;
  const fs::path path(entry);
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

std::set<std::string> entries_of(const std::string& list) {
  std::set<std::string> entries;
  std::istringstream lines(list);
  std::string entry;
  std::getline(lines, entry);
  while (std::getline(lines, entry))
    if (is_below(entry)) entries.insert(entry);
  return entries;
}

// What earlier runs made, and these runs would make again.
Result<std::set<std::string>> earlier_files(const std::string& path, const std::string& list,
                                            const std::vector<std::string>& runs) {
  std::set<std::string> entries = entries_of(list);
  std::set<std::string> folders(runs.begin(), runs.end());
  for (const std::string& entry : entries) folders.insert(fs::path(entry).parent_path().string());
  bool any = false;
  for (const std::string& folder : folders) {
    for (const OwnFile& file : own_files) {
      TRY(const bool there, has_own(file, folder.empty() ? path : path + "/" + folder));
      any = any || there;
      if (there) entries.insert(folder + (folder.empty() ? "" : "/") + std::string(file.name));
    }
  }
  if (list.empty() && any) add_unlisted_logs(path, entries);
  return entries;
}

std::string in_use(const std::string& path, const std::string& list) {
  const std::string title = list.substr(0, list.find('\n'));
  const std::string process = title.starts_with(list_title)
                                  ? fmt::format(" (process {})", title.substr(list_title.size()))
                                  : std::string();
  return fmt::format("{}: another ddptwin{} writes there; wait for its end or name another folder",
                     path, process);
}

}  // namespace

Result<std::shared_ptr<OutFolder>> OutFolder::open(const std::string& path,
                                                   const std::vector<std::string>& runs) {
  const std::string list = fmt::format("{}/{}", path, list_name);
  // Once without the lock, so that a folder of others is left without a trace of ours.
  TRY_VOID(earlier_files(path, text_of(list), runs));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(Reason::bad_input, fmt::format("{}: {}", path, error.message()));
  Descriptor opened(
      ::open(list.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (opened.number() < 0) return fail_of_system(list, Reason::bad_input);
  if (::flock(opened.number(), LOCK_EX | LOCK_NB) != 0)
    return fail(Reason::bad_input, in_use(path, text_of(list)));
  const std::string earlier = text_of(list);
  if (!earlier.empty() && !earlier.starts_with(list_title))
    return fail(Reason::bad_input, "is not ddptwin's list of its files; name another folder", list);
  TRY(const auto entries, earlier_files(path, earlier, runs));
  std::shared_ptr<OutFolder> folder(new OutFolder(path, opened.release()));
  TRY_VOID(folder->remove_earlier(entries));
  return folder;
}

OutFolder::~OutFolder() { ::close(list_); }

// What cannot be removed stays in the list.
Status OutFolder::remove_earlier(const std::set<std::string>& entries) {
  std::string left = fmt::format("{}{}\n", list_title, ::getpid());
  // What is in a folder comes after it in the order of names.
  for (auto one = entries.rbegin(); one != entries.rend(); ++one) {
    std::error_code error;
    const std::string path = path_ + "/" + *one;
    fs::remove(path, error);
    // A folder with files of others in it is theirs from now on.
    if (error && !fs::is_directory(path)) left += *one + "\n";
  }
  if (::ftruncate(list_, 0) != 0) return fail_of_system(path_);
  return write_all(list_, left, path_);
}

Status OutFolder::note(const std::string& entry) {
  return write_all(list_, entry + "\n", fmt::format("{}/{}", path_, list_name));
}

Status OutFolder::make_folders(const std::string& file) {
  for (std::size_t end = file.find('/'); end != file.npos; end = file.find('/', end + 1)) {
    const std::string folder = file.substr(0, end);
    const std::string path = path_ + "/" + folder;
    if (made_.contains(folder) || fs::is_directory(path)) continue;
    TRY_VOID(note(folder));
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return fail_of_system(path);
    made_.insert(folder);
  }
  return {};
}

Status OutFolder::make(const std::string& file) {
  const std::lock_guard lock(mutex_);
  TRY_VOID(make_folders(file));
  const std::string path = path_ + "/" + file;
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored)))
    return fail(Reason::io, path + ": is not of this run, and is left as it is");
  TRY_VOID(note(file));
  const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (made.number() < 0) return fail_of_system(path);
  made_.insert(file);
  return {};
}

Status OutFolder::write(const std::string& file, std::string_view text) {
  const std::string half = file + ".part";
  {
    const std::lock_guard lock(mutex_);
    if (!made_.contains(file)) {
      TRY_VOID(make_folders(file));
      std::error_code ignored;
      for (const std::string& name : {file, half})
        if (fs::exists(fs::symlink_status(path_ + "/" + name, ignored)))
          return fail(Reason::io,
                      path_ + "/" + name + ": is not of this run, and is left as it is");
      TRY_VOID(note(half));
      TRY_VOID(note(file));
      made_.insert(file);
    }
  }
  const std::string path = path_ + "/" + half, whole = path_ + "/" + file;
  const auto written = [&]() -> Status {
    const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (made.number() < 0) return fail_of_system(path);
    return write_all(made.number(), text, whole);
  }();
  if (!written) {
    ::unlink(path.c_str());
    return written;
  }
  if (::rename(path.c_str(), whole.c_str()) != 0) return fail_of_system(whole);
  return {};
}

GrowingFile::GrowingFile(OutFolder& folder, std::string file)
    : folder_(folder), file_(std::move(file)), status_(folder_.make(file_)) {}

// Opened for each: there may be more files than a process may have open.
void GrowingFile::flush() {
  const std::string text = std::exchange(kept_, {});
  if (!status_ || text.empty()) return;
  const std::string path = folder_.path() + "/" + file_;
  const Descriptor opened(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  status_ =
      opened.number() < 0 ? Status(fail_of_system(path)) : write_all(opened.number(), text, path);
}

}  // namespace ddptwin::scenario
