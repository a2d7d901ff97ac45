// What came of a run, and the forms in which it is given: text, JSON, JUnit.
#pragma once

#include <boost/json/fwd.hpp>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "scenario/run/engine.hpp"
#include "scenario/run/stand_ins.hpp"

namespace ddptwin::scenario {

// A pod as the run left it.
struct PodEnd {
  std::string name{};  // "pod/mnist-worker-0": names.hpp
  std::string state{};
  std::int64_t restarts = 0;
  std::vector<std::int64_t> exit_codes{};
  int created = 0;
};

struct RunResult {
  std::string name{};
  std::string file{};
  std::string incident{};
  Mode mode = Mode::real;
  std::uint64_t seed = 1;
  std::string torch{};                        // virtual: the profile of the modelled workers
  std::string python{};                       // real: the virtual environment of every image
  std::optional<std::uint64_t> trace_hash{};  // virtual
  std::uint64_t records = 0;                  // virtual
  bool interrupted = false;
  bool timed_out = false;
  bool nothing_ran = false;  // there was no job, no pod, and nothing else that was to come
  std::string timeout{};     // that the command line gave; empty: the scenario's
  Time started_at{}, ended_at{};
  struct Judged {
    std::string name{};
    Verdict verdict = Verdict::open;
    Duration at{};  // since the start
    std::string detail{};
    std::string where{};             // file, line and field
    std::vector<std::string> why{};  // at length why it failed: what the pods say
  };
  std::vector<Judged> step_verdicts{};
  std::vector<Judged> expectations{};
  std::vector<Judged> faults{};  // of the scenario: one that never acted has failed
  // Every one that was watched. Open: its moment did not come, so that it was not asked.
  std::vector<Judged> invariants{};
  std::map<std::string, std::string> invariants_off{};  // name to reason
  std::vector<StandIn> stand_ins{};                     // what was not the real thing
  StandInShape stand_in_shape{};
  std::vector<std::string> notes{};  // what is not as a cluster has it
  std::vector<PodEnd> pods{};
  std::vector<std::string> ends{};  // how each job and each pod of its own ended, the bad first
  std::string artefacts{};          // the folder, or empty
  std::string suite{};              // what JUnit calls it; empty: its name

  // Interrupted by nobody, something ran, all held, and no invariant failed.
  bool passed() const;
  // The command that does the same again; in real time chance of the machine's own is not repeated.
  std::string repeat() const;
};

RunResult result_of(const Scenario& scenario, const Engine& engine);

// All but the last line.
void print_verdicts(std::ostream& out, const RunResult& result);
// "FAILED mnist: pytorchjob/mnist Failed: ..., in 2.715s": what came of it, and how each job ended.
std::string last_line(const RunResult& result);
boost::json::value to_json(const RunResult& result);
// One test suite a run; a case each step, expectation, fault and invariant that was asked.
void print_suite(std::ostream& out, const RunResult& result);
// The suite of what could not be run.
void print_suite_of_error(std::ostream& out, const std::string& name, const std::string& error);

}  // namespace ddptwin::scenario
