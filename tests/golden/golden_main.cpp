// ddptwin-golden [SYSTEM [CASE]]: replays recordings of the real control plane against the twin.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "director.hpp"

namespace ddptwin::golden {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what{};  // SYSTEM [CASE] or several systems
  std::string directory = DDPTWIN_SOURCE_DIR "/tests/recordings";
  std::string waiting = DDPTWIN_SOURCE_DIR "/tests/golden/waiting.txt";
  std::string filter{};
  std::uint64_t seed = 1;
  bool fair = false;
  bool verbose = false;
  bool quiet = false;
};

// "system/case reason" or "system reason" a line; # begins a comment.
std::map<std::string, std::string> read_waiting(const std::string& file) {
  std::map<std::string, std::string> waiting;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto space = line.find(' ');
    waiting[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return waiting;
}

std::vector<fs::path> find_recordings(const Options& options) {
  std::vector<fs::path> files;
  if (!fs::exists(options.directory)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(options.directory)) {
    if (entry.path().extension() != ".json") continue;
    const std::string system = entry.path().parent_path().filename(), name = entry.path().stem();
    const bool wanted =
        options.what.empty() ||
        std::any_of(options.what.begin(), options.what.end(), [&](const std::string& w) {
          return w == system || w == name || w == system + "/" + name;
        });
    if (wanted) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Tally {
  int held = 0, failed = 0, waiting = 0, ahead = 0;
};

struct Verdict {
  bool held = false;
  std::string why{};
};

Verdict replay(const fs::path& file, const Options& options) {
  const auto recording = load(file);
  if (!recording) return {false, recording.error().text()};
  Director director(*recording,
                    {.seed = options.seed,
                     .order = options.fair ? VirtualLoop::Order::fair : VirtualLoop::Order::fifo,
                     .verbose = options.verbose});
  const auto difference = director.replay();
  if (!difference) return {false, "cannot be replayed: " + difference.error().text()};
  if (!*difference) return {true, {}};
  const auto& d = **difference;
  return {false, fmt::format("step {} {} {}\n    recorded {}\n    twin     {}", d.step, d.what,
                             d.mismatch.path, d.mismatch.expected, d.mismatch.actual)};
}

int run(const Options& options) {
  const auto waiting = read_waiting(options.waiting);
  const auto files = find_recordings(options);
  if (files.empty()) {
    fmt::print(stderr, "ddptwin-golden: no recording of that name under {}\n", options.directory);
    return 2;
  }
  std::map<std::string, Tally> tallies;
  for (const fs::path& file : files) {
    const std::string system = file.parent_path().filename(),
                      name = system + "/" + file.stem().string();
    auto reason = waiting.find(name);
    if (reason == waiting.end()) reason = waiting.find(system);
    const bool must_hold = reason == waiting.end();
    const Verdict verdict = replay(file, options);
    Tally& tally = tallies[system];
    if (verdict.held) {
      ++(must_hold ? tally.held : tally.ahead);
      if (!options.quiet)
        fmt::print("{:<60} held{}\n", name, must_hold ? "" : " (was not asked to)");
    } else if (must_hold) {
      ++tally.failed;
      fmt::print("{:<60} DIFFERS\n  {}\n", name, verdict.why);
    } else {
      ++tally.waiting;
      if (!options.quiet) fmt::print("{:<60} waits: {}\n", name, reason->second);
      if (options.verbose) fmt::print("  {}\n", verdict.why);
    }
    std::fflush(stdout);
  }
  Tally all;
  for (const auto& [system, t] : tallies) {
    fmt::print("{:<20} {:4} held, {:3} differ, {:3} wait, {:3} of the waiting hold already\n",
               system, t.held, t.failed, t.waiting, t.ahead);
    all.held += t.held + t.ahead;
    all.failed += t.failed;
    all.waiting += t.waiting;
  }
  fmt::print("{} passed, {} failed, {} skipped\n", all.held, all.failed, all.waiting);
  return all.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ddptwin::golden

int main(int argc, char** argv) {
  ddptwin::golden::Options options;
  CLI::App app{
      "Replays recordings of the real control plane against the twin and compares after every "
      "step."};
  app.add_option("what", options.what, "SYSTEM, SYSTEM CASE, or SYSTEM/CASE ...; all when absent");
  app.add_option("--dir", options.directory, "where the recordings lie: SYSTEM/CASE.json")
      ->capture_default_str();
  app.add_option("--waiting", options.waiting,
                 "the list of cases that are not to hold, each with its reason");
  app.add_option("--seed", options.seed, "seed of the virtual loop and of names and uids")
      ->capture_default_str();
  app.add_flag("--fair", options.fair,
               "let the seed choose between ready lanes instead of first come, first served");
  app.add_flag("--verbose,-v", options.verbose,
               "print every trace record, and why waiting cases differ");
  app.add_flag("--quiet,-q", options.quiet, "print only what differs and the counts");
  CLI11_PARSE(app, argc, argv);
  if (options.what.size() == 2 && options.what[1].find('/') == std::string::npos &&
      std::filesystem::exists(std::filesystem::path(options.directory) / options.what[0] /
                              (options.what[1] + ".json")))
    options.what = {options.what[0] + "/" + options.what[1]};
  return ddptwin::golden::run(options);
}
