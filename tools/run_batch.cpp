#include "run_batch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "commands.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

// What came of a run: counted in the last line, and each makes an exit status.
enum class Came : std::uint8_t { passed, failed, interrupted, not_run };
struct CameRow {
  std::string_view words;
  int status;
};
constexpr std::array<CameRow, 4> came_rows{{{"passed", Exit::held},
                                            {"failed", Exit::failed},
                                            {"interrupted", Exit::interrupted},
                                            {"not run", Exit::bad_input}}};

struct Outcome {
  Came came = Came::not_run;
  int status = Exit::bad_input;
  std::string json{};   // its line
  std::string suite{};  // of JUnit
  std::string told{};   // its last line
};

Outcome outcome_of(const scenario::RunResult& result) {
  Outcome outcome;
  outcome.came = result.interrupted   ? Came::interrupted
                 : result.nothing_ran ? Came::not_run
                 : result.passed()    ? Came::passed
                                      : Came::failed;
  outcome.status = came_rows[static_cast<std::size_t>(outcome.came)].status;
  outcome.json = json::serialize(scenario::to_json(result));
  std::ostringstream suite;
  scenario::print_suite(suite, result);
  outcome.suite = suite.str();
  outcome.told = scenario::last_line(result);
  return outcome;
}

Outcome outcome_of(const std::string& name, const Error& error) {
  Outcome outcome;
  outcome.status = status_of(error);
  outcome.told = fmt::format("NOT RUN {}: {}", name, error.text());
  std::ostringstream suite;
  scenario::print_suite_of_error(suite, name, error.text());
  outcome.suite = suite.str();
  return outcome;
}

const std::string& name_of(const PlannedRun& run) {
  return run.suite.empty() ? run.scenario->name : run.suite;
}

Outcome run_one(const PlannedRun& run, std::ostream& text) {
  auto result = scenario::run_scenario(*run.scenario, run.options, text);
  if (!result) {
    std::cerr << "ddptwin: " << result.error().text() << std::endl;
    return outcome_of(name_of(run), result.error());
  }
  result->suite = run.suite;
  return outcome_of(*result);
}

// The worst of two: interrupted, this machine cannot, bad input, failed, held.
int worse(int a, int b) { return std::max(a, b); }

// What all of them came to.
class Tally {
 public:
  Tally(const BatchOptions& options, std::size_t all, std::ostream& text)
      : options_(options), all_(all), text_(text) {}

  void add(Outcome outcome) {
    status_ = worse(status_, outcome.status);
    ++counts_[static_cast<std::size_t>(outcome.came)];
    if (options_.json && !outcome.json.empty()) std::cout << outcome.json << std::endl;
    suites_ += outcome.suite;
  }
  std::size_t done() const {
    std::size_t done = 0;
    for (const std::size_t count : counts_) done += count;
    return done;
  }
  bool interrupted() const { return counts_[static_cast<std::size_t>(Came::interrupted)] > 0; }

  int finish() {
    const std::size_t left = all_ - done();
    counts_[static_cast<std::size_t>(Came::not_run)] += left;
    if (all_ > 1) text_ << summary() << std::endl;
    if (options_.junit.empty()) return status_;
    const auto written = write_whole_file(
        options_.junit,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suites_ + "</testsuites>\n");
    return written ? status_ : worse(status_, exit_of(written.error()));
  }

 private:
  std::string summary() const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0 || i < 2)
        parts.push_back(fmt::format("{} {}", counts_[i], came_rows[i].words));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  const BatchOptions& options_;
  std::size_t all_;
  std::ostream& text_;
  std::array<std::size_t, came_rows.size()> counts_{};
  int status_ = Exit::held;
  std::string suites_{};
};

void run_in_turn(const std::vector<PlannedRun>& runs, std::ostream& text, Tally& tally) {
  for (const PlannedRun& run : runs) {
    Outcome outcome = run_one(run, text);
    const bool goes_on = outcome.status != Exit::interrupted && outcome.status != Exit::cannot;
    tally.add(std::move(outcome));
    if (!goes_on) return;
  }
}

// ---- several at once ---------------------------------------------------------------------------

// A file without a name, which a child process writes and its parent reads.
class Sheet {
 public:
  Sheet() : descriptor_(memfd_create("run", MFD_CLOEXEC)) {}
  ~Sheet() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Sheet(Sheet&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Sheet& operator=(Sheet&&) = delete;

  int descriptor() const { return descriptor_; }
  std::string read() const {
    std::string text;
    std::array<char, 65536> buffer{};
    off_t at = 0;
    for (ssize_t n = 0; (n = pread(descriptor_, buffer.data(), buffer.size(), at)) > 0; at += n)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
  }
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(descriptor_, text.data(), text.size());
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  int descriptor_;
};

json::value to_json(const Outcome& outcome) {
  return json::object{{"came", static_cast<int>(outcome.came)},
                      {"status", outcome.status},
                      {"json", outcome.json},
                      {"suite", outcome.suite},
                      {"told", outcome.told}};
}

// Nothing where the child has not come to write it.
std::optional<Outcome> read_outcome(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return std::nullopt;
  const auto word = [&](const char* name) { return std::string(value.at(name).as_string()); };
  return Outcome{static_cast<Came>(value.at("came").as_int64()),
                 static_cast<int>(value.at("status").as_int64()), word("json"), word("suite"),
                 word("told")};
}

// SIGINT, SIGTERM, SIGHUP and the end of a child wait until they are asked for.
class Signals {
 public:
  Signals() {
    sigemptyset(&waited_);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&waited_, signal);
    struct sigaction now {};  // under nohup it is ignored, and stays so
    if (sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&waited_, SIGHUP);
    sigprocmask(SIG_BLOCK, &waited_, &before_);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int wait() const { return sigwaitinfo(&waited_, nullptr); }

 private:
  sigset_t waited_{}, before_{};
};

struct Child {
  const PlannedRun* run = nullptr;
  Sheet said{}, outcome{};
};

class Children {
 public:
  Children(const BatchOptions& options, std::size_t all, std::ostream& text, Tally& tally)
      : options_(options), all_(all), text_(text), tally_(tally) {}

  void go(const std::vector<PlannedRun>& runs) {
    auto next = runs.begin();
    while (true) {
      while (!interrupted_ && next != runs.end() && children_.size() < options_.jobs)
        begin(*next++);
      if (children_.empty()) return;
      const int signal = signals_.wait();
      if (signal != SIGCHLD) interrupt();
      int status = 0;
      for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) end(ended, status);
    }
  }

 private:
  // Each child ends cleanly, and nothing more is begun.
  void interrupt() {
    if (!std::exchange(interrupted_, true))
      for (const auto& [process, child] : children_) kill(process, SIGTERM);
  }

  void begin(const PlannedRun& run) {
    Child child{&run, {}, {}};
    std::cout.flush();
    std::cerr.flush();
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process == 0) be_child(child, parent);
    if (process < 0) {
      tally_.add(outcome_of(name_of(run), {Reason::io, "fork", std::strerror(errno)}));
      return;
    }
    children_.emplace(process, std::move(child));
  }

  [[noreturn]] void be_child(const Child& child, pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(Exit::cannot);
    signals_.restore();
    dup2(child.said.descriptor(), STDOUT_FILENO);
    dup2(child.said.descriptor(), STDERR_FILENO);
    const Outcome outcome = run_one(*child.run, std::cout);
    std::cout.flush();
    child.outcome.write(json::serialize(to_json(outcome)));
    _exit(outcome.status);
  }

  void end(pid_t process, int status) {
    const auto found = children_.find(process);
    if (found == children_.end()) return;
    const Child& child = found->second;
    auto outcome = read_outcome(child.outcome.read());
    if (!outcome)
      outcome = outcome_of(
          name_of(*child.run),
          {Reason::internal_error, "",
           WIFSIGNALED(status) ? fmt::format("its process ended by signal {}", WTERMSIG(status))
                               : fmt::format("its process ended with {}", WEXITSTATUS(status))});
    text_ << child.said.read();
    text_.flush();
    const std::string told = outcome->told;
    tally_.add(std::move(*outcome));
    children_.erase(found);
    std::cerr << fmt::format("[{}/{}] {}", tally_.done(), all_, told) << std::endl;
  }

  const BatchOptions& options_;
  std::size_t all_;
  std::ostream& text_;
  Tally& tally_;
  Signals signals_{};
  std::map<pid_t, Child> children_{};
  bool interrupted_ = false;
};

}  // namespace

Status write_whole_file(const std::string& path, const std::string& content) {
  std::error_code error;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, error);
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  stream << content;
  stream.close();
  if (stream) return {};
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : std::string();
  return fail(Reason::io, path + ": cannot be written" + why);
}

int run_batch(const BatchOptions& options, const std::vector<PlannedRun>& runs,
              const std::vector<NotRun>& not_run, std::ostream& text) {
  const std::size_t all = runs.size() + not_run.size();
  Tally tally(options, all, text);
  for (const NotRun& one : not_run) tally.add(outcome_of(one.name, one.error));
  if (options.jobs > 1 && runs.size() > 1)
    Children(options, all, text, tally).go(runs);
  else
    run_in_turn(runs, text, tally);
  return tally.finish();
}

}  // namespace ddptwin
