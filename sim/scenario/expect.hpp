// Judges expectations while a run goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenario/observer.hpp"

namespace ddptwin::scenario {

enum class Verdict : std::uint8_t { open, held, failed };
std::string_view to_string(Verdict verdict);

struct ExpectationResult {
  const Expectation* expectation = nullptr;
  Verdict verdict = Verdict::open;
  std::optional<Time> decided_at{};
  std::uint64_t record = 0;  // that decided it: the last about its objects; 0: there was none
  std::string detail{};      // why it failed
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
  // The run is over: `finally`, and whatever is still open.
  std::vector<const ExpectationResult*> finish(Time now) { return judge_all(now, true); }

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
  };
  void tell_of_nothing(ExpectationResult& result) const;
  void judge_one(std::size_t index, Time now, bool over);
  bool look(std::size_t index);
  std::optional<Time> bound(std::size_t index) const;
  std::vector<const ExpectationResult*> judge_all(Time now, bool over);

  const Observer& observer_;
  std::vector<ExpectationResult> results_{};
  std::vector<Watched> watched_{};
};

}  // namespace ddptwin::scenario
