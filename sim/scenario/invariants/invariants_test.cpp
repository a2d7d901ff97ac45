// Each invariant is broken by one story and kept by another that comes near.
#include "scenario/invariants/invariants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/virtual_start.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/ring.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::invariants_test {
namespace {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases :
       {ends_test::cases(), status_test::cases(), replicas_test::cases(), cleanup_test::cases(),
        gangs_test::cases(), training_test::cases(), liveness_test::cases(), job_rows_test::cases(),
        jobset_rows_test::cases(), trainjob_rows_test::cases(), t9k_rows_test::cases(),
        aistudio_rows_test::cases(), statefulset_rows_test::cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

TEST(Invariants, each_is_broken_by_its_story) {
  for (const Case& one : all_cases()) {
    Tape tape;
    one.breaks(tape);
    const Violation* violation = tape.watch().violation(one.invariant);
    ASSERT_NE(violation, nullptr) << one.invariant;
    EXPECT_FALSE(violation->text.empty()) << one.invariant;
    EXPECT_FALSE(violation->object.empty()) << one.invariant;
  }
}

TEST(Invariants, each_is_kept_by_what_comes_near) {
  for (const Case& one : all_cases()) {
    Tape tape;
    one.keeps(tape);
    const Violation* violation = tape.watch().violation(one.invariant);
    EXPECT_EQ(violation, nullptr) << one.invariant << ": " << violation->text;
  }
}

TEST(Invariants, each_has_a_story) {
  std::set<std::string_view> told;
  for (const Case& one : all_cases()) {
    EXPECT_NE(find_invariant(one.invariant), nullptr) << one.invariant;
    told.insert(one.invariant);
  }
  for (const InvariantRow& row : invariant_rows()) EXPECT_TRUE(told.contains(row.name)) << row.name;
}

TEST(Invariants, an_ordinary_life_keeps_them_all) {
  Tape tape;
  tape.job(1, 1);
  tape.status([](JobStatus& status) { status.startTime = virtual_start; });
  tape.condition("Created");
  for (const std::string name : {"master-0", "worker-0"}) tape.pod(name);
  for (const std::string name : {"master-0", "worker-0"}) tape.service(name);
  tape.run("master-0", "10.0.0.1");
  tape.slice("master-0", "master-0", "10.0.0.1");
  tape.run("worker-0", "10.0.0.2");
  tape.slice("worker-0", "worker-0", "10.0.0.2");
  tape.condition("Running");
  tape.counts("Master", 1, 0, 0);
  tape.counts("Worker", 1, 0, 0);
  for (const std::string line : {"joined rank 0 world_size 2", "step 1/2 rank 0 loss 1.0"})
    tape.say("master-0", line);
  for (const std::string line : {"joined rank 1 world_size 2", "step 1/2 rank 1 loss 1.0"})
    tape.say("worker-0", line);
  tape.come_to_rest();
  for (const std::string line :
       {"step 2/2 rank 0 loss 0.5", "finished rank 0 steps 2 parameters a"})
    tape.say("master-0", line);
  for (const std::string line :
       {"step 2/2 rank 1 loss 0.5", "finished rank 1 steps 2 parameters a"})
    tape.say("worker-0", line);
  for (const std::string name : {"master-0", "worker-0"}) {
    tape.exit(name, 0);
    tape.slice(name, name, "");
  }
  tape.counts("Master", 0, 1, 0);
  tape.counts("Worker", 0, 1, 0);
  tape.finish("Succeeded");
  tape.come_to_rest();
  for (const auto& one : tape.watch().judged()) EXPECT_TRUE(one.held) << explain(*one.violation);
  EXPECT_TRUE(tape.watch().held());
}

TEST(Invariants, an_expected_violation_is_the_pass_and_its_absence_a_failure) {
  InvariantPolicy policy;
  policy.violated["one-state"] = "a bug of upstream";
  InvariantWatch watch(policy);
  EXPECT_FALSE(watch.held());
  Record record;
  record.id = 1;
  record.kind = RecordKind::object_added;
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.uid = "u";
  job->status.emplace();
  for (const char* type : {"Running", "Restarting"}) {
    JobCondition condition;
    condition.type_ = type;
    condition.status = "True";
    job->status->conditions.edit().push_back(std::move(condition));
  }
  record.after = job;
  watch.on_record(record);
  watch.keep(Record(record));
  EXPECT_TRUE(watch.held());
  const auto judged = watch.judged();
  const auto found = std::find_if(judged.begin(), judged.end(),
                                  [](const auto& one) { return one.row->name == "one-state"; });
  ASSERT_NE(found, judged.end());
  EXPECT_EQ(found->expected, "a bug of upstream");
}

bool asked(const InvariantWatch& watch, std::string_view name) {
  const auto judged = watch.judged();
  return std::find_if(judged.begin(), judged.end(),
                      [name](const auto& one) { return one.row->name == name; })
      ->asked;
}

TEST(Invariants, what_has_something_to_judge_is_asked_at_its_moment) {
  InvariantPolicy policy;
  policy.violated["count"] = "for the test";
  Tape tape(policy);
  const InvariantWatch& watch = tape.watch();
  EXPECT_FALSE(asked(watch, "one-state"));
  tape.job(1, 0);
  tape.condition("Created");
  EXPECT_TRUE(asked(watch, "one-state"));
  EXPECT_FALSE(asked(watch, "names"));      // no question to the DNS
  EXPECT_FALSE(asked(watch, "exit-code"));  // nobody is killed
  EXPECT_FALSE(asked(watch, "count"));
  const auto next = watch.judged_next();
  ASSERT_TRUE(next);
  tape.come_to_rest();
  EXPECT_TRUE(asked(watch, "count"));
  EXPECT_FALSE(asked(watch, "no-leak"));  // nothing is to go
  EXPECT_FALSE(asked(watch, "ttl"));      // nor has the job a TTL
  EXPECT_EQ(watch.judged_next(), std::nullopt);
  EXPECT_FALSE(asked(watch, "progress"));
  tape.wait(progress_within);
  tape.come_to_rest();
  EXPECT_TRUE(asked(watch, "progress"));
}

TEST(Invariants, what_came_in_time_has_been_judged) {
  Tape tape;
  tape.job(1, 0, [](PyTorchJob& job) { job.spec.edit().runPolicy.ttlSecondsAfterFinished = 60; });
  tape.pod("master-0");
  tape.finish("Succeeded");
  EXPECT_TRUE(asked(tape.watch(), "progress"));
  EXPECT_FALSE(asked(tape.watch(), "ttl"));
  tape.remove_job();
  EXPECT_TRUE(asked(tape.watch(), "ttl"));
}

struct Refusal {
  const char *call, *text, *whose;
};
constexpr Refusal refusals[] = {
    {"create pods default/j-worker-0",
     "Pod \"j-worker-0\" is invalid: spec.containers[0].image: Required value",
     "the manifest's template makes no valid pod: "},
    {"create pods default/j-worker-0",
     "Pod \"j-worker-0\" is invalid: spec.initContainers[0].image: Required value",
     "the operator asks for what is not allowed: "},
    {"create pods default/j-worker-0",
     "pods \"j-worker-0\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, "
     "limited: pods=1",
     "the namespace's ResourceQuota stands against the job: "},
    {"create pods default/j-worker-0",
     "pods \"j-worker-0\" is forbidden: error looking up service account default/trainer: "
     "serviceaccount \"trainer\" not found",
     "the manifest names a ServiceAccount that nobody makes: "},
    {"create services default/j-worker-0",
     "Service \"j-worker-0\" is invalid: spec.ports[0].name: Required value",
     "the ports of the manifest's template make no valid Service: "},
    {"create services default/j-worker-0",
     "Service \"j-worker-0\" is invalid: metadata.name: Invalid value",
     "the job's name makes names that are not allowed: "},
    {"update pytorchjobs/status default/j", "PyTorchJob \"j\" is invalid: status: no",
     "the operator asks for what is not allowed: "},
};

TEST(Invariants, a_refused_call_is_put_down_to_whose_fault_it_is) {
  for (const Refusal& one : refusals) {
    Tape tape;
    tape.job(1, 1);
    tape.write(RecordKind::api_refused, operator_actor, one.call, one.text);
    const Violation* violation = tape.watch().violation("no-refused-writes");
    ASSERT_NE(violation, nullptr) << one.text;
    EXPECT_EQ(violation->text, std::string(one.whose) + "the operator's call was refused: " +
                                   one.call + ": " + one.text);
  }
}

TEST(Invariants, strict_ones_are_watched_on_demand) {
  const InvariantRow& row = *find_invariant("completion-time-set");
  InvariantPolicy policy;
  EXPECT_TRUE(row.strict);
  EXPECT_FALSE(policy.watches(row));
  policy.also.emplace("completion-time-set");
  EXPECT_TRUE(policy.watches(row));
  policy.off.emplace("completion-time-set", "not here");
  EXPECT_FALSE(policy.watches(row));
}

TEST(Invariants, what_upstream_keeps_is_never_broken_by_it) {
  const InvariantPolicy policy = kept_by_upstream();
  for (const InvariantRow& row : invariant_rows()) {
    EXPECT_EQ(policy.watches(row), row.broken_by.empty()) << row.name;
    EXPECT_TRUE(!row.strict || !row.broken_by.empty()) << row.name;
    EXPECT_FALSE(row.when().empty()) << row.name;
    EXPECT_EQ(row.when_due == nullptr, row.due.empty()) << row.name;
  }
}

TEST(Invariants, an_explanation_says_when_and_who_breaks_it) {
  const std::string text = explain(*find_invariant("backoff-limit"));
  EXPECT_THAT(text, testing::StartsWith("backoff-limit (INV-BUDGET)\n"));
  EXPECT_THAT(text, testing::HasSubstr("after every record about pods\n"));
  EXPECT_THAT(text, testing::HasSubstr("breaks it: Q1, Q42, FM-001\n"));
  EXPECT_THAT(text, testing::HasSubstr("in every run\n"));
}

TEST(Invariants, an_explanation_tells_the_time_of_what_falls_due) {
  EXPECT_THAT(explain(*find_invariant("ttl")),
              testing::HasSubstr("judged      after every record about jobs; 30s after the job's "
                                 "ttlSecondsAfterFinished are over"));
}

TEST(Invariants, a_violation_tells_what_led_to_it) {
  Tape tape;
  tape.job(1, 0);
  tape.condition("Running");
  tape.condition("Restarting");
  const Violation* violation = tape.watch().violation("one-state");
  ASSERT_NE(violation, nullptr);
  EXPECT_EQ(violation->object, "pytorchjob/j");
  EXPECT_EQ(violation->record, 4U);
  // What came before of the job, and the causes up to the rule, which has none.
  ASSERT_EQ(violation->chain.size(), 4U);
  EXPECT_THAT(violation->chain[0], testing::HasSubstr("objectAdded pytorchjob/j"));
  EXPECT_THAT(violation->chain[1], testing::HasSubstr("pytorchjob-controller rule pytorchjob/j"));
  EXPECT_THAT(violation->chain[3], testing::HasSubstr("objectModified pytorchjob/j"));
  EXPECT_THAT(explain(*violation),
              testing::HasSubstr("Running and Restarting at once (record 4)\n"));
}

TEST(Ring, keeps_the_last_records_only) {
  Ring ring;
  Record record;
  for (std::uint64_t id = 1; id <= 3000; ++id) {
    record.id = id;
    record.cause = id - 1;
    const std::string text = std::to_string(id);
    record.text = text;
    ring.add(Record(record));
  }
  EXPECT_EQ(ring.last(), 3000U);
  EXPECT_THAT(ring.chain(3000, "pod/p"), testing::SizeIs(12));
  // 1977 is the oldest that is kept.
  EXPECT_THAT(ring.chain(1980, "pod/p"), testing::SizeIs(4));
  EXPECT_THAT(ring.chain(7, "pod/p"), testing::IsEmpty());
}

TEST(Ring, tells_of_the_object_besides_the_causes) {
  Ring ring;
  const char* subjects[] = {"default/p/b", "default/q", "default/p/c", "default/pp", "default/p"};
  Record record;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    record.id = id;
    record.cause = id == 4 ? 2 : 0;
    record.subject = subjects[id - 1];
    const std::string text = std::to_string(id);
    record.text = text;
    ring.add(Record(record));
  }
  EXPECT_EQ(ring.last_of("pod/q"), 2U);
  EXPECT_EQ(ring.last_of("pod/nobody"), 5U);
  std::string all;
  for (const std::string& line : ring.chain(4, "pod/p")) all += line.substr(0, 1);
  EXPECT_EQ(all, "1234");
}

TEST(WorkerLines, are_read_in_their_own_words_only) {
  using Kind = WorkerLine::Kind;
  EXPECT_EQ(read_line("step 3/20 rank 1 loss 0.5").kind, Kind::step);
  EXPECT_EQ(read_line("step 3/20 rank 1 loss 0.5").rank, 1);
  EXPECT_EQ(read_line("step 3/20").rank, -1);
  EXPECT_EQ(read_line("step 3 of 20").kind, Kind::none);
  EXPECT_EQ(read_line("joined rank 2 world_size 4").world, 4);
  EXPECT_EQ(read_line("joined the others").kind, Kind::none);
  EXPECT_EQ(read_line("checkpoint step 10").step, 10);
  EXPECT_EQ(read_line("finished rank 0 steps 50 parameters 463d").parameters, "463d");
  EXPECT_EQ(read_line("[default0]:step 3/20 rank 1 loss 0.5").rank, 1);
  EXPECT_EQ(read_line("").kind, Kind::none);
}

// The manifest is wrong, the scenario knows it, and waits for the Event that says so.
TEST(InvariantsTest, a_refusal_whose_event_is_awaited_is_no_news) {
  const auto violated = [](const std::string& awaited, const std::string& call,
                           const std::string& words) {
    InvariantPolicy policy;
    if (!awaited.empty()) policy.awaited_events.insert(awaited);
    Tape tape(policy);
    tape.job(1, 1);
    tape.write(RecordKind::api_refused, operator_actor, call, words);
    return tape.watch().violation("no-refused-writes") != nullptr;
  };
  const std::string pod = "create pods default/j-master-0", service = "create services default/j-0";
  const std::string account =
      "pods \"j-master-0\" is forbidden: error looking up service account default/a: none";
  EXPECT_TRUE(violated("", pod, account));
  EXPECT_FALSE(violated("FailedCreatePod", pod, account));
  EXPECT_FALSE(violated("FailedCreate", pod, account));
  EXPECT_FALSE(violated("FailedCreateService", service,
                        "Service \"j-0\" is invalid: spec.ports: Required value"));
  EXPECT_TRUE(violated("FailedCreateService", pod, account));
  EXPECT_TRUE(violated("BackOff", pod, account));
  // The operator's own fault is one in any case.
  EXPECT_TRUE(violated("FailedCreatePod", "update pods default/j-master-0",
                       "Pod \"j-master-0\" is invalid: spec: Forbidden"));
}

// Whatever is between a pod and its job.
TEST(InvariantsTest, a_pod_is_of_the_job_that_owns_its_owner) {
  const auto violated = [](bool through_a_part) {
    Tape tape;
    tape.job(1, 1);
    tape.part("set");
    tape.pod("worker-0", [&](Pod& pod) { tape.give_to("set", pod); });
    tape.pod("worker-0", [&](Pod& pod) {
      pod.metadata.name = "j-worker-0-again";
      if (through_a_part) tape.give_to("set", pod);
    });
    return tape.watch().violation("no-duplicates") != nullptr;
  };
  EXPECT_TRUE(violated(true));
  EXPECT_TRUE(violated(false)) << "one of them is the job's own";
}

}  // namespace
}  // namespace ddptwin::scenario::invariants::invariants_test
