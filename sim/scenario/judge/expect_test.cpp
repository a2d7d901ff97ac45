#include "scenario/judge/expect.hpp"

#include <gtest/gtest.h>

#include "core/virtual_loop.hpp"

namespace ddptwin::scenario::expect_test {
namespace {

// A pod whose phase goes through a script, and the expectations that watch it.
class Watched {
 public:
  explicit Watched(Expectation expectation) : expectations_{std::move(expectation)} {
    judged_.emplace(expectations_, observer_);
    judged_->start(Time());
  }

  void phase(Duration at, const char* phase) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    pod->metadata.namespace_ = "default";
    pod->status.phase = phase;
    Record record;
    record.kind = last_ ? RecordKind::object_modified : RecordKind::object_added;
    record.before = last_;
    record.after = last_ = pod;
    observer_.on_record(record);
    judged_->judge(Time() + at);
  }
  void terminating(Duration at) {
    auto pod = std::make_shared<Pod>(*as<Pod>(last_));
    pod->metadata.deletionTimestamp = Time() + at;
    Record record;
    record.kind = RecordKind::object_modified;
    record.before = last_;
    record.after = last_ = pod;
    observer_.on_record(record);
    judged_->judge(Time() + at);
  }
  void gone(Duration at) {
    Record record;
    record.kind = RecordKind::object_deleted;
    record.before = last_;
    last_ = nullptr;
    observer_.on_record(record);
    judged_->judge(Time() + at);
  }
  void log(Duration at, const char* line) {
    Record record;
    record.kind = RecordKind::log;
    record.subject = "default/p/c";
    record.text = line;
    observer_.on_record(record);
    judged_->judge(Time() + at);
  }
  void judge(Duration at) { judged_->judge(Time() + at); }
  void finish(Duration at) { judged_->finish(Time() + at); }
  Expectations& judged() { return *judged_; }
  Verdict verdict() const { return judged_->results().front().verdict; }
  const std::string& detail() const { return judged_->results().front().detail; }

 private:
  std::vector<Expectation> expectations_;
  Observer observer_{};
  std::optional<Expectations> judged_{};
  ObjectPtr last_{};
};

Expectation expect(Quantifier quantifier, Claim claim, std::optional<Duration> within = {}) {
  Expectation expectation;
  expectation.quantifier = quantifier;
  expectation.state.of = {&Pod::info(), "default", "p", ""};
  expectation.state.claims.push_back(std::move(claim));
  expectation.within = within;
  return expectation;
}

TEST(Expect, eventually_holds_at_the_first_moment_it_is_so) {
  Watched watched(expect(Quantifier::eventually, PhaseClaim{"Running"}));
  watched.phase(1s, "Pending");
  EXPECT_EQ(watched.verdict(), Verdict::open);
  EXPECT_TRUE(watched.judged().waiting());
  watched.phase(2s, "Running");
  EXPECT_EQ(watched.verdict(), Verdict::held);
  EXPECT_FALSE(watched.judged().waiting());
  watched.phase(3s, "Failed");
  EXPECT_EQ(watched.verdict(), Verdict::held);
}

TEST(Expect, eventually_fails_when_its_bound_is_over_and_says_what_was_found) {
  Watched watched(expect(Quantifier::eventually, PhaseClaim{"Running"}, Duration(5s)));
  watched.phase(1s, "Pending");
  EXPECT_EQ(watched.judged().deadline(), Time() + 5s);
  watched.judge(5s);
  EXPECT_EQ(watched.verdict(), Verdict::failed);
  EXPECT_EQ(watched.detail(), "it did not become so: pod/p: Pending");
}

TEST(Expect, never_fails_at_once_and_holds_at_its_bound) {
  Watched broken(expect(Quantifier::never, PhaseClaim{"Failed"}));
  broken.phase(1s, "Running");
  EXPECT_EQ(broken.verdict(), Verdict::open);
  EXPECT_FALSE(broken.judged().waiting());
  broken.phase(2s, "Failed");
  EXPECT_EQ(broken.verdict(), Verdict::failed);
  Watched kept(expect(Quantifier::never, PhaseClaim{"Failed"}, Duration(2s)));
  kept.judge(2s);
  EXPECT_EQ(kept.verdict(), Verdict::held);
  kept.phase(3s, "Failed");
  EXPECT_EQ(kept.verdict(), Verdict::held);
}

TEST(Expect, always_fails_at_the_first_moment_it_is_not_so) {
  Watched watched(expect(Quantifier::always, PhaseClaim{"Running"}));
  watched.phase(0s, "Running");
  EXPECT_EQ(watched.verdict(), Verdict::open);
  watched.phase(1s, "Succeeded");
  EXPECT_EQ(watched.verdict(), Verdict::failed);
}

TEST(Expect, always_is_too_early_for_what_is_not_there_yet) {
  Watched watched(expect(Quantifier::always, PhaseClaim{"Running"}));
  watched.judge(0s);
  EXPECT_EQ(watched.verdict(), Verdict::failed);
  EXPECT_EQ(
      watched.detail(),
      "it was not so: there never was a pod/p; where it comes later, `since` names a step after "
      "which it has to hold");
}

TEST(Expect, never_about_what_never_was_says_so) {
  Watched never(expect(Quantifier::never, PhaseClaim{"Failed"}));
  never.finish(10s);
  EXPECT_EQ(never.verdict(), Verdict::held);
  EXPECT_EQ(never.detail(), "it says nothing: there never was a pod/p");
  Watched of_one(expect(Quantifier::never, PhaseClaim{"Failed"}));
  of_one.phase(1s, "Running");
  of_one.finish(10s);
  EXPECT_EQ(of_one.detail(), "");
}

TEST(Expect, finally_looks_at_the_end_only) {
  Watched watched(expect(Quantifier::finally, PhaseClaim{"Succeeded"}));
  watched.phase(0s, "Failed");
  EXPECT_EQ(watched.verdict(), Verdict::open);
  watched.phase(1s, "Succeeded");
  EXPECT_EQ(watched.verdict(), Verdict::open);
  watched.finish(2s);
  EXPECT_EQ(watched.verdict(), Verdict::held);
}

TEST(Expect, a_clock_since_a_step_starts_at_its_end) {
  Expectation expectation = expect(Quantifier::eventually, PhaseClaim{"Running"}, Duration(1s));
  expectation.since = "shot";
  Watched watched(expectation);
  watched.phase(3s, "Running");
  EXPECT_EQ(watched.verdict(), Verdict::open);
  watched.judged().step_ended("shot", Time() + 4s);
  EXPECT_EQ(watched.judged().deadline(), Time() + 5s);
  watched.judge(4s);
  EXPECT_EQ(watched.verdict(), Verdict::held);
  Watched never_shot(expectation);
  never_shot.finish(9s);
  EXPECT_EQ(never_shot.verdict(), Verdict::failed);
  EXPECT_EQ(never_shot.detail(), "the step shot never ended");
}

TEST(Expect, logs_and_steps_count_after_the_pod_is_gone) {
  Watched watched(expect(Quantifier::finally, StepClaim{7}));
  watched.phase(0s, "Running");
  watched.log(1s, "step 7/20 rank 0 loss 0.1");
  watched.gone(2s);
  watched.finish(3s);
  EXPECT_EQ(watched.verdict(), Verdict::held);
  Watched gone(expect(Quantifier::finally, PhaseClaim{"Running"}));
  gone.phase(0s, "Running");
  gone.gone(1s);
  gone.finish(2s);
  EXPECT_EQ(gone.verdict(), Verdict::failed);
  EXPECT_EQ(gone.detail(), "it is not so at the end: pod/p: gone, was Running");
}

TEST(Expect, what_failed_says_that_a_pod_is_on_its_way_out) {
  Watched watched(expect(Quantifier::finally, PhaseClaim{"Failed"}));
  watched.phase(0s, "Running");
  watched.terminating(1s);
  watched.finish(2s);
  EXPECT_EQ(watched.detail(),
            "it is not so at the end: pod/p: Running, terminating; pod/p was deleted");
}

TEST(Expect, created_counts_objects_of_one_name) {
  Watched watched(expect(Quantifier::eventually, CreatedClaim{Range{2, 2}}));
  watched.phase(0s, "Running");
  watched.gone(1s);
  EXPECT_EQ(watched.verdict(), Verdict::open);
  watched.phase(2s, "Pending");
  EXPECT_EQ(watched.verdict(), Verdict::held);
}

}  // namespace
}  // namespace ddptwin::scenario::expect_test
