// The scenario that is explored, as text: what it says itself, with what has to hold whatever goes
// wrong in place of its own expectations, or beside them.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/language/fault.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {

// Within this after healing each job that comes to an end undisturbed has come to one: twice the
// longest that PyTorch waits by default (for a peer of a dead group that is to connect: five
// timeouts of half an hour, spec/ddp-semantics.md §9.8), and the longest back-off of a work queue,
// and some.
inline constexpr Duration end_after_heal = std::chrono::hours(6);
// Where calls may time out the operator comes back to a job with its next resync, ten hours later,
// and a few per cent (spec/pytorchjob.md §4.1, §4.3).
inline constexpr Duration end_after_timeouts = end_after_heal + std::chrono::hours(11);

// A file, its Scenario document and its objects. A value: each thread parses its own Scenario from
// the text it makes.
class Subject {
 public:
  // Errors: those of the file. `read_file` is used here and by scenario().
  static Result<Subject> open(const std::string& file, const ReadFile& read_file);

  const std::string& file() const { return file_; }
  const std::string& name() const { return name_; }
  // The jobs beside the scenario and in its steps, "namespace/name", and the sets whose training
  // can be Complete, though their pods are restarted for ever.
  std::vector<std::string> jobs() const;
  // Its own, which act in every run; those of a plan come beside them.
  const FaultPlan& faults() const { return faults_; }
  // Both, the scenario's own first. All end when the plan heals, or else as the scenario says.
  FaultPlan with_own(const FaultPlan& plan) const;

  // The name of the expectation that a job comes to an end.
  static std::string end_of(const std::string& job);
  static bool is_end(std::string_view expectation);

  // How many expectations of its own it has.
  std::size_t expectations() const;

  // What is required in a run: that the jobs of `due` come to an end, and the invariants; those
  // that upstream's own bugs break only where `strict`, the scenario's expectations only where
  // `own_expectations`.
  struct Demand {
    std::vector<std::string> due{};
    Duration heal{};
    Duration within = end_after_heal;  // of healing
    bool strict = false;
    bool own_expectations = false;
  };
  // The explored scenario, its own faults and those of the plan in it, as a file in `folder` would
  // say it; `comment` begins it.
  std::string text(const Demand& demand, const FaultPlan& plan, std::uint64_t seed,
                   const std::string& comment, const std::string& folder) const;
  // As it is, with its own expectations.
  Result<Scenario> own() const;
  // As text() says it, parsed, for a run in this process.
  Result<Scenario> scenario(const Demand& demand, const FaultPlan& plan, std::uint64_t seed) const;

 private:
  Result<std::string> remembered(const std::string& path) const;
  boost::json::object spec(const Demand& demand, const FaultPlan& plan, std::uint64_t seed) const;

  std::string file_{};
  std::string name_{};
  std::string folder_{};                      // of the file; empty: the current one
  boost::json::object document_{};            // the Scenario's; made up for a plain file
  std::vector<boost::json::value> others_{};  // the objects beside it
  struct Job {
    std::string key{}, kind{};
    std::string_view good{};  // the state in which a set has done what it is for; empty: a job
  };
  static std::vector<Job> jobs_of(const Scenario& scenario);
  std::vector<Job> jobs_{};
  std::set<std::string_view> absent_{};  // systems that the scenario switches off
  FaultPlan faults_{};
  // Every file that was read, by its path; never changed again.
  std::shared_ptr<const std::map<std::string, std::string, std::less<>>> texts_{};
};

}  // namespace ddptwin::scenario
