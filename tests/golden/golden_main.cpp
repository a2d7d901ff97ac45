// ddptwin-golden [SYSTEM [CASE]]: replays recordings of the real control plane against the twin.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "director.hpp"

namespace ddptwin::golden {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what{};  // SYSTEM [CASE] or several systems
  std::string directory = DDPTWIN_SOURCE_DIR "/tests/recordings";
  std::string waiting = DDPTWIN_SOURCE_DIR "/tests/golden/waiting.txt";
  std::string races = DDPTWIN_SOURCE_DIR "/tests/golden/races.txt";
  std::uint64_t seed = 1;
  int seeds = 1;
  bool fair = false;
  bool late = false;
  bool verbose = false;
  bool quiet = false;
};

// "system/case reason" or "system reason" a line; # begins a comment.
using Reasons = std::map<std::string, std::string>;
Reasons read_reasons(const std::string& file) {
  Reasons waiting;
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

// What upstream itself does otherwise in another order: in these cases differences whose text
// matches are none.
struct Race {
  std::string cases{};  // "system/case", or its beginning and a *
  std::regex difference{};

  bool is_of(std::string_view name) const {
    const std::string_view wanted = cases;
    return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1))
                                 : name == wanted;
  }
};

// "CASES :: REGULAR EXPRESSION :: reason" a line; # begins a comment.
std::vector<Race> read_races(const std::string& file) {
  constexpr std::string_view between = " :: ";
  std::vector<Race> races;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(between);
    if (line.empty() || line[0] == '#' || first == line.npos) continue;
    const std::size_t begin = first + between.size(), second = line.find(between, begin);
    races.push_back({line.substr(0, first), std::regex(line.substr(begin, second - begin))});
  }
  return races;
}

struct Tally {
  int held = 0, failed = 0, waiting = 0, ahead = 0;
};

struct Verdict {
  bool held = false;
  std::string why{};
};

// What a difference says first is what counts; whole objects may stand behind it.
constexpr std::size_t difference_length_max = 400;

Verdict replay_once(const Recording& recording, std::uint64_t seed, const Options& options,
                    const std::vector<Race>& races) {
  ReplayOptions replay;
  replay.seed = seed;
  replay.order = options.fair ? VirtualLoop::Order::fair : VirtualLoop::Order::fifo;
  replay.late_watches = options.late;
  replay.verbose = options.verbose;
  if (!races.empty())
    replay.tolerated = [&races](const Difference& difference) {
      const std::string text = difference.text().substr(0, difference_length_max);
      return std::any_of(races.begin(), races.end(), [&text](const Race& race) {
        return std::regex_search(text, race.difference);
      });
    };
  Director director(recording, std::move(replay));
  const auto difference = director.replay();
  if (!difference) return {false, "cannot be replayed: " + difference.error().text()};
  if (!*difference) return {true, {}};
  const auto& d = **difference;
  return {false, fmt::format("step {} {} {}\n    recorded {}\n    twin     {}", d.step, d.what,
                             d.mismatch.path, d.mismatch.expected, d.mismatch.actual)};
}

// Under each seed; the first that differs is told.
Verdict replay(const fs::path& file, const Options& options, const std::vector<Race>& races) {
  const auto recording = load(file);
  if (!recording) return {false, recording.error().text()};
  for (int i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    Verdict verdict = replay_once(*recording, seed, options, races);
    if (verdict.held) continue;
    verdict.why += fmt::format("\n  again with --seed {}{}{}", seed, options.fair ? " --fair" : "",
                               options.late ? " --late" : "");
    return verdict;
  }
  return {true, {}};
}

int run(const Options& options) {
  const Reasons waiting = read_reasons(options.waiting);
  const std::vector<Race> races =
      options.fair || options.late ? read_races(options.races) : std::vector<Race>();
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
    std::vector<Race> possible;
    std::copy_if(races.begin(), races.end(), std::back_inserter(possible),
                 [&name](const Race& race) { return race.is_of(name); });
    const Verdict verdict = replay(file, options, possible);
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
  app.add_option("--races", options.races,
                 "the list of what upstream itself does otherwise in another order, for --fair and "
                 "--late");
  app.add_option("--seeds", options.seeds, "replay each under that many seeds, from --seed on")
      ->check(CLI::PositiveNumber);
  app.add_flag("--late", options.late, "let events of watches come late now and then");
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
