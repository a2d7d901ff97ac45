// Judges expectations while a run goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

enum class Verdict : std::uint8_t { open, held, failed };
std::string_view to_string(Verdict verdict);

struct ExpectationResult {
  const Expectation* expectation = nullptr;
  Verdict verdict = Verdict::open;
  std::optional<Time> decided_at{};
  std::uint64_t record = 0;        // that decided it: the last about its objects; 0: there was none
  std::string detail{};            // why it failed
  std::vector<std::string> why{};  // the same at length: what its objects' pods say
};

// All expectations of a scenario. It is asked after every change and at deadline().
class Expectations {
 public:
  Expectations(const std::vector<Expectation>& expectations, const Observer& observer);

  // The clock of those without `since` starts.
  void start(Time now);
  // A step has ended: the clock of those since it starts.
  void step_ended(const std::string& name, Time now);
  // Judges what can be judged now; gives the results that were decided by it.
  std::vector<const ExpectationResult*> judge(Time now) { return judge_all(now, false); }
  // No step is left to change anything: what can never come true any more has failed.
  std::vector<const ExpectationResult*> give_up(Time now);
  // The run is over: `finally`, and whatever is still open.
  std::vector<const ExpectationResult*> finish(Time now) { return judge_all(now, true); }
  // It was broken off: what is open stays open, and says how far it has come.
  void leave_open();

  // Whether the run has to go on for one of them.
  bool waiting() const;
  // The next moment at which a bound ends.
  std::optional<Time> deadline() const;
  const std::vector<ExpectationResult>& results() const { return results_; }

 private:
  struct Watched {
    std::optional<Time> started{};
    std::optional<std::uint64_t> stamp{};  // of the last look
    bool value = false;                    // of the last look
    std::optional<Time> true_since{};      // of a state that has to last
  };
  void tell_of_nothing(ExpectationResult& result) const;
  void judge_one(std::size_t index, Time now, bool over);
  bool decides(std::size_t index, bool value, Time now);
  void tell_failure(ExpectationResult& result) const;
  bool look(std::size_t index);
  std::optional<Time> bound(std::size_t index) const;
  std::optional<Time> lasts_until(std::size_t index) const;
  std::vector<const ExpectationResult*> judge_all(Time now, bool over);

  const Observer& observer_;
  std::vector<ExpectationResult> results_{};
  std::vector<Watched> watched_{};
  std::optional<Time> patient_until_{};      // somebody may still tell why the lost ones are lost
  std::optional<std::uint64_t> given_up_{};  // the observer's ends() at the last give_up
};

}  // namespace ddptwin::scenario
