// What must hold in every run, whatever the scenario: the named invariants of spec/failure-modes.md
// §2 and those of spec/pytorchjob.md appendix B, as far as this system has them. They read trace
// records and nothing else, so they are the same in real and in virtual time. A scenario may switch
// one off, or expect one to be violated, and says why.
//
// A run has two phases. Safety is watched after every record. What must become true in the end is
// looked at when a job has been at rest for a while (`rest_time` below), and not while something is
// kept broken on purpose: a `fault` record with the text "healed" ends that phase.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin {
struct KindInfo;
}

namespace ddptwin::scenario {

namespace invariants {
struct Sight;
class Facts;
class Verdicts;
class Ring;
// Returns whether there was anything to judge.
using Judge = bool (*)(const Sight& sight, Verdicts& verdicts);
}  // namespace invariants

// How long nothing of a job may change before it counts as at rest. While the operator is busy with
// other jobs nothing is (invariants/facts.hpp).
inline constexpr Duration rest_time = std::chrono::seconds(20);
// The same after something was broken and healed: longer than any back-off that grew meanwhile
// (1000 s of a work queue, spec/pytorchjob.md §4.1).
inline constexpr Duration rest_time_after_faults = std::chrono::minutes(20);
// Within this a job must have come further in which somebody is missing, is stopped or cannot
// start, since it last did, since somebody outside did something to it and since faults stopped.
// Longer than PyTorch's longest default timeout (30 minutes of a collective) with a restart and its
// back-off behind it.
inline constexpr Duration progress_within = std::chrono::minutes(45);
// The same where everybody is there and runs, a node fetches an image, an init container prepares
// something, or a container crashes again and again while its peers wait for the one that they had
// (2 h 30 min, as modelled workers do): a step, a checkpoint, a data set or an image
// of tens of gigabytes may take hours and nobody says a word. Three times the longest step so far,
// where that is more. Shorter than a night, so that what stands still over night is told. A
// scenario may give one bound for both (invariants.progressWithin).
inline constexpr Duration silence_within = std::chrono::hours(4);

struct InvariantRow {
  std::string_view name;         // "terminal"
  std::string_view id;           // "INV-TERMINAL", or the place in spec/pytorchjob.md
  std::string_view meaning;      // one sentence
  std::string_view explanation;  // a paragraph
  // The bugs and quirks of upstream that break it, "Q1, FM-001"; empty: upstream keeps it always.
  std::string_view broken_by;
  bool strict;  // only watched where a scenario asks for it: upstream breaks it in everyday runs
  std::uint32_t topics;        // the records after which it is judged (invariants/facts.hpp)
  invariants::Judge after;     // after each of them
  invariants::Judge at_rest;   // of a job that has been at rest; null: never
  invariants::Judge when_due;  // when a time has come that the job's own fields name; or null
  std::string_view due{};      // that time in words; empty without when_due
  std::string_view system{};   // whose own it is, by the system's name; empty: it holds for all
  const KindInfo& (*kind)() = nullptr;  // of which of the system's workloads; null: of all of them
  // Judged of a workload that is a part of another one, too, as the Jobs of a JobSet are: one of
  // all systems of its status, one of the other's system of its being made.
  bool of_parts = false;
  // "after every record about pods", "at rest": in words.
  std::string when() const;
};
// Those that hold for all systems, then each system's own.
std::span<const InvariantRow> invariant_rows();
std::span<const InvariantRow> common_invariant_rows();
const InvariantRow* find_invariant(std::string_view name);
// What `ddptwin list invariants NAME` prints.
std::string explain(const InvariantRow& row);

struct Violation {
  std::string_view invariant{};
  std::uint64_t record = 0;  // after which it was seen
  std::uint64_t cause = 0;   // the last about it; 0: none
  Time time{};
  std::string object{};  // "PyTorchJob/default/mnist"
  std::string text{};    // what is wrong
  // The records that lead to it, the earliest first, each by its headline.
  std::vector<std::string> chain{};
};
// Several lines: what is wrong, then the records that lead to it.
std::string explain(const Violation& violation);

// What a run thinks of the invariants, by name; values are reasons.
struct InvariantPolicy {
  using Reasons = std::map<std::string, std::string, std::less<>>;
  Reasons off{};                              // not watched
  Reasons violated{};                         // must be violated: its violation is the pass
  std::set<std::string, std::less<>> also{};  // strict ones that are watched
  std::optional<Duration> progress_within{};  // for `progress`, in place of its two bounds
  std::set<std::string_view> without{};       // names of systems that are not installed
  // Reasons of Events that the scenario waits for: what they tell of is no news.
  std::set<std::string, std::less<>> awaited_events{};
  bool watches(const InvariantRow& row) const;
};
// Without those that upstream's own bugs break: for random runs of the faithful controllers.
InvariantPolicy kept_by_upstream();

// The rows that a policy watches, and when each is asked: the same for all runs of that policy.
struct WatchedInvariants {
  using Rows = std::vector<const InvariantRow*>;
  explicit WatchedInvariants(InvariantPolicy policy);
  InvariantPolicy policy;
  std::vector<Rows> by_topic;  // what to ask after which record
  Rows at_rest{}, when_due{};
};

// All invariants of a policy, as one sink of the trace, and its keeper: what led to a violation is
// told by the records before it.
class InvariantWatch {
 public:
  explicit InvariantWatch(const InvariantPolicy& policy);
  // For many runs of one policy.
  explicit InvariantWatch(std::shared_ptr<const WatchedInvariants> watched);
  ~InvariantWatch();
  InvariantWatch(const InvariantWatch&) = delete;
  InvariantWatch& operator=(const InvariantWatch&) = delete;

  // Judges what the record tells. Then it has to be kept, before the next one comes.
  void on_record(const Record& record);
  void keep(Record&& record);
  // Time has passed without a record, or the run is over: judges what has come to rest by now.
  void pass(Time now);

  // That violation is told now: this is its time from then on, everywhere.
  void tell(std::size_t index, Time now) { violations_[index].time = now; }
  // The first violation of each, in the order of their happening; expected ones too.
  const std::vector<Violation>& violations() const { return violations_; }
  const Violation* violation(std::string_view name) const;
  // Nothing was violated but what had to be, and all of that was.
  bool held() const;

  struct Judged {
    const InvariantRow* row = nullptr;
    bool held = true;    // as the policy wants it
    bool asked = false;  // it had something to judge: otherwise `held` says nothing
    const Violation* violation = nullptr;  // points into violations()
    std::string_view expected{};           // why it must be violated; empty: it must hold
  };
  // Every one that was watched, in the order of the rows.
  std::vector<Judged> judged() const;
  // When something is judged next without a record, as far as is known.
  std::optional<Time> next_alarm() const;
  // When the last job that has not ended will have stood still for too long, as things are now;
  // nothing: all have ended.
  std::optional<Time> standstill_at() const;
  // Where a violation that has to be is judged at a later moment only, and none has come yet: the
  // next moment.
  std::optional<Time> judged_next() const;

 private:
  friend class invariants::Verdicts;
  using Rows = WatchedInvariants::Rows;
  void judge(const invariants::Sight& sight, const Rows& rows,
             invariants::Judge InvariantRow::*which);
  void violated(const invariants::Sight& sight, const InvariantRow& row, std::string object,
                std::string text);
  void pass_due(Time now);

  std::shared_ptr<const WatchedInvariants> watched_;
  std::vector<char> asked_;  // by the places of the rows
  std::unique_ptr<invariants::Facts> facts_;
  std::unique_ptr<invariants::Ring> ring_;
  std::vector<Violation> violations_{};
};

}  // namespace ddptwin::scenario
