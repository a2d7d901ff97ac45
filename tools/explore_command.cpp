// ddptwin explore: many runs of one scenario in virtual time, each with other faults.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include "commands.hpp"
#include "scenario/explore/explorer.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/language/files.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin {
namespace {

using scenario::Coverage;
using scenario::Explored;
using scenario::ExploreOptions;
using scenario::Finding;
using scenario::Subject;

struct ExploreArguments {
  std::string file{};
  std::uint64_t runs = 1000;
  std::string faults = "all";
  unsigned jobs = 0;  // 0: one a core
  std::uint64_t seed = 1;
  std::string out = "explored";
  std::string torch{};
  std::size_t faults_max = 6;
  bool exhaustive = false, strict = false, expectations = false, quiet = false;
};

std::string coverage_text(const Coverage& coverage, std::size_t kinds) {
  return fmt::format("rules {}/{}, transitions {}/{}, fault kinds {}/{}", coverage.rules(),
                     Coverage::all_rules().size(), coverage.transitions(),
                     Coverage::all_transitions().size(), coverage.faults(), kinds);
}

// A line that is drawn over on a terminal, and otherwise told now and then.
class ProgressLine {
 public:
  ProgressLine(std::size_t kinds, bool quiet)
      : kinds_(kinds), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void show(const scenario::Progress& progress) {
    const auto now = Clock::now();
    const Clock::duration pause =
        terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
    if (quiet_ || now - shown_ < pause) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    std::cerr << fmt::format(
        "{}{}/{} runs, {:.0f}/s, {} failed; {}{}", terminal_ ? "\r" : "", progress.done,
        progress.all, static_cast<double>(progress.done) / std::max(seconds, 0.001),
        progress.failed, coverage_text(*progress.coverage, kinds_), terminal_ ? "\033[K" : "\n");
  }
  void end() const {
    if (terminal_ && !quiet_) std::cerr << "\r\033[K";
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t kinds_;
  bool quiet_, terminal_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = Clock::now();
};

// The first SIGINT, SIGTERM or SIGHUP is told, one that comes later ends the program as usual.
// Threads that begin later hear of none; those that are ignored stay so (nohup).
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaddset(&signals_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    listener_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
  }
  ~Interrupts() {
    listener_.request_stop();
    listener_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool came() const { return came_; }

 private:
  void listen(const std::stop_token& stop) {
    constexpr timespec moment{0, 20'000'000};
    while (!stop.stop_requested()) {
      if (came_) {
        nanosleep(&moment, nullptr);
      } else if (sigtimedwait(&signals_, nullptr, &moment) > 0) {
        came_ = true;
        // timeout(1) sends two at once: what comes within a second is the first.
        for (int i = 0; i < 50 && !stop.stop_requested(); ++i)
          sigtimedwait(&signals_, nullptr, &moment);
        pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
      }
    }
  }

  sigset_t signals_{}, before_{};
  std::atomic<bool> came_ = false;
  std::jthread listener_{};
};

std::string runs_text(std::uint64_t runs) {
  return runs == 1 ? "1 run" : fmt::format("{} runs", runs);
}

// What failed and how; an invariant's text begins with its name.
std::string words_of(const scenario::Failure& failure) {
  return failure.text.starts_with(failure.what + ": ") ? failure.text
                                                       : failure.what + ": " + failure.text;
}
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string comment_of(const Finding& finding, const std::string& file) {
  std::string text =
      fmt::format("Found by ddptwin explore in {}:\n{}\n", file, words_of(finding.failure));
  text += fmt::format("World seed {}, run {}; {}.", finding.world_seed, finding.run,
                      finding.minimal ? "nothing smaller fails this way"
                                      : "not searched to the end for something smaller");
  return text;
}

std::string file_of(const std::string& folder, const Subject& subject, const Finding& finding) {
  constexpr std::size_t longest = 100;  // an expectation may say any message
  std::string what = finding.failure.what.substr(0, longest);
  const auto is_odd = [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '_'; };
  std::replace_if(what.begin(), what.end(), is_odd, '-');
  return fmt::format("{}/{}-{}.yaml", folder, subject.name(), what);
}

Status write_finding(const Subject& subject, const Explored& explored, const Finding& finding,
                     const std::string& folder, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream stream(path);
  stream << subject.text(explored.demand, finding.plan, finding.world_seed,
                         comment_of(finding, subject.file()), folder);
  stream.flush();
  if (!stream) return fail(Reason::io, path + ": cannot be written");
  return {};
}

// Runs the written file as `ddptwin run` does. What is wrong where it fails the same way: nothing,
// if it does not.
Result<std::optional<std::string>> fails_again(const std::string& path, const Finding& finding,
                                               const std::string& torch) {
  TRY(const auto scenarios, read_scenarios({path}));
  const auto& again = scenarios.front();
  const auto run = scenario::run_virtually(again, {.seed = again.seed.value_or(1), .torch = torch});
  return scenario::failure_text(run, finding.failure.what);
}

Status tell_finding(const Subject& subject, const Explored& explored, Finding finding,
                    const ExploreArguments& arguments) {
  const std::string path = file_of(arguments.out, subject, finding);
  TRY_VOID(write_finding(subject, explored, finding, arguments.out, path));
  TRY(const auto again, fails_again(path, finding, arguments.torch));
  if (again && *again != finding.failure.text) {
    // The file says what its reader will see: steps of its own count among the records.
    finding.failure.text = *again;
    TRY_VOID(write_finding(subject, explored, finding, arguments.out, path));
  }
  std::cout << fmt::format("\n{}\n", first_line(words_of(finding.failure)));
  const std::size_t left = finding.plan.faults.size();
  if (finding.run == 0)
    std::cout << "  without any fault\n";
  else if (left == 0)
    std::cout << fmt::format(
        "  in {}, first in run {}; no fault is needed: seed {} alone does it\n",
        runs_text(finding.runs_failed), finding.run, finding.world_seed);
  else
    std::cout << fmt::format("  in {}, first in run {}; {} of its {} faults do it{}\n",
                             runs_text(finding.runs_failed), finding.run, left,
                             finding.faults_before, finding.minimal ? ", and nothing smaller" : "");
  for (const scenario::Fault& fault : finding.plan.faults)
    std::cout << "  - " << to_yaml(fault) << '\n';
  std::cout << fmt::format("  {}ddptwin run {} --mode virtual --seed {}{}\n",
                           again ? "" : "does not fail again: ", path, finding.world_seed,
                           arguments.torch.empty() ? "" : " --torch " + arguments.torch);
  return {};
}

void tell_summary(const Subject& subject, const Explored& explored, const ExploreOptions& options,
                  double seconds) {
  if (explored.runs_left > 0)
    std::cout << fmt::format("interrupted: {} runs were not done\n", explored.runs_left);
  if (options.exhaustive && explored.runs_left == 0)
    std::cout << fmt::format(
        "{} points of {} kinds of faults, every one tried once; the fault acted in {}\n",
        explored.points, options.kinds.size(), explored.disturbed);
  std::cout << fmt::format("{} runs in {:.1f} s ({:.0f}/s), {:.0f} h of virtual time; {}\n",
                           explored.runs, seconds,
                           static_cast<double>(explored.runs) / std::max(seconds, 0.001),
                           seconds_of(explored.simulated) / 3600,
                           coverage_text(explored.coverage, options.kinds.size()));
  if (explored.cut_short > 0)
    std::cout << fmt::format("in {} a step could not be taken, and the run ended there\n",
                             runs_text(explored.cut_short));
  if (const std::size_t own = subject.faults().faults.size(); own > 0)
    std::cout << fmt::format("beside the {} of the scenario itself, in every run\n",
                             own == 1 ? "fault" : fmt::format("{} faults", own));
  for (const std::string& job : explored.demand.due)
    std::cout << fmt::format("required: {} comes to an end within {} of healing\n", job,
                             format_go_duration(explored.demand.within));
  if (explored.demand.due.empty())
    std::cout << "no job comes to an end undisturbed: the invariants were required\n";
  if (const std::size_t own = subject.expectations(); own > 0)
    std::cout << fmt::format("{}required: {} of the scenario's own{}\n",
                             options.own_expectations ? "" : "not ",
                             own == 1 ? "the expectation" : fmt::format("{} expectations", own),
                             options.own_expectations ? "" : " (--expectations)");
  std::cout << (explored.findings.empty() ? "nothing failed\n" : "") << std::flush;
}

Result<ExploreOptions> options_of(const ExploreArguments& arguments) {
  ExploreOptions options;
  options.runs = arguments.runs;
  TRY(options.kinds, scenario::parse_fault_kinds(arguments.faults));
  options.jobs =
      arguments.jobs != 0 ? arguments.jobs : std::max(1U, std::thread::hardware_concurrency());
  options.seed = arguments.seed;
  options.exhaustive = arguments.exhaustive;
  options.strict = arguments.strict;
  options.own_expectations = arguments.expectations;
  options.torch = arguments.torch;
  options.faults_max = arguments.faults_max;
  return options;
}

int explore(const ExploreArguments& arguments) {
  const auto options = options_of(arguments);
  if (!options) return exit_of(options.error());
  const auto scenarios = read_scenarios({arguments.file});
  if (!scenarios) return exit_of(scenarios.error());
  if (const auto fine = scenario::check_modelled(scenarios->front()); !fine)
    return exit_of(fine.error());
  const auto subject = Subject::open(arguments.file, &scenario::read_text_file);
  if (!subject) return exit_of(subject.error());
  ProgressLine line(options->kinds.size(), arguments.quiet);
  const Interrupts interrupts;
  const auto explored =
      scenario::explore(*subject, *options, [&](const scenario::Progress& progress) {
        line.show(progress);
        return !interrupts.came();
      });
  line.end();
  if (!explored) return exit_of(explored.error());
  tell_summary(*subject, *explored, *options, line.seconds());
  for (const Finding& finding : explored->findings) {
    if (const auto told = tell_finding(*subject, *explored, finding, arguments); !told)
      return exit_of(told.error());
  }
  if (explored->runs_left > 0) return Exit::interrupted;
  return explored->findings.empty() ? Exit::held : Exit::failed;
}

}  // namespace

Command add_explore(CLI::App& app) {
  const auto arguments = std::make_shared<ExploreArguments>();
  CLI::App& command = *app.add_subcommand(
      "explore", "Run a scenario many times in virtual time, each time with other faults");
  command.add_option("FILE", arguments->file, "A scenario or manifest")->required();
  CLI::Option* const runs =
      command.add_option("--runs", arguments->runs, "How many random plans of faults")
          ->check(whole_number(1))
          ->capture_default_str();
  command
      .add_option("--faults", arguments->faults,
                  "Kinds or ports with commas: api-conflict,watch,dns; or all")
      ->capture_default_str();
  command.add_option("--jobs", arguments->jobs, "Threads; default: one a core")
      ->check(whole_number(1));
  command.add_option("--seed", arguments->seed, "What chance begins with")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--out", arguments->out, "The folder for what fails, as scenarios")
      ->capture_default_str();
  command.add_option("--faults-max", arguments->faults_max, "At most so many faults in one run")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      .add_flag("--exhaustive", arguments->exhaustive,
                "Every single fault of the kinds at every point where it can act, once")
      ->excludes(runs);
  command.add_flag("--strict", arguments->strict,
                   "Watch also the invariants that upstream's own bugs break");
  command.add_flag("--expectations", arguments->expectations,
                   "Require the scenario's own expectations too, whatever goes wrong");
  command
      .add_option("--torch", arguments->torch,
                  "The PyTorch of the workers; default: the scenario's")
      ->check(CLI::IsMember(std::vector<std::string>(scenario::torch_profile_names().begin(),
                                                     scenario::torch_profile_names().end())));
  command.add_flag("--quiet", arguments->quiet, "No progress");
  command.footer(
      "The scenario's own faults act in every run, and those that are drawn beside them.\n"
      "What fails is made small, written as a scenario and run again from its file.\n"
      "Ctrl-C ends it early: what was found until then is told and written.\n"
      "\n"
      "Examples:\n"
      "  ddptwin explore scenarios/pytorchjob/worker-killed-exitcode.yaml --runs 10000\n"
      "  ddptwin explore job.yaml --faults api,controller --exhaustive\n"
      "\n"
      "Exit status: 0 nothing failed; 1 something did; 2 bad input; 3 this machine cannot;\n"
      "130 interrupted.");
  return {&command, [arguments] { return explore(*arguments); }};
}

}  // namespace ddptwin
