#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <sstream>

#include "core/virtual_loop.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/report/timeline.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin::scenario::report_test {
namespace {

ObjectPtr pod(const char* phase) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_ = "default";
  pod->status.phase = phase;
  return pod;
}

Record record(RecordKind kind, TextRef subject, TextRef text) {
  Record made;
  made.kind = kind;
  made.subject = subject;
  made.text = text;
  return made;
}

TEST(Timeline, each_row_names_the_row_and_the_rule_that_led_to_it) {
  VirtualLoop loop(Random(1), Time());
  Trace trace(loop);
  Timeline timeline;
  trace.add_sink([&](const Record& one) { timeline.on_record(one); });
  trace.write(record(RecordKind::step, "step 1", "apply"));
  trace.write(record(RecordKind::log, "default/p/c", "not told"));
  Record rule = record(RecordKind::rule, "j", "create pod");
  rule.rule = "create_missing_pod";
  trace.write(std::move(rule));
  Record added;
  added.kind = RecordKind::object_added;
  added.after = pod("Pending");
  trace.write(std::move(added));
  loop.set_context(0);
  Record kill = record(RecordKind::fault, "default/p/c", "signal 9");
  kill.values.emplace_back("port", "process");
  trace.write(std::move(kill));
  loop.set_context(0);
  trace.write(record(RecordKind::container, "default/p/c", "exited"));
  Record failed;
  failed.kind = RecordKind::object_modified;
  failed.before = pod("Running");
  failed.after = pod("Failed");
  trace.write(std::move(failed));
  loop.set_context(0);
  Record ended;
  ended.kind = RecordKind::object_modified;
  ended.before = pod("Failed");
  ended.after = pod("Running");
  trace.write(std::move(ended));
  std::ostringstream out;
  print_timeline(out, timeline, Time());
  EXPECT_EQ(out.str(),
            "   1    0.000s  step 1 apply\n"
            "   2    0.000s  pod/p created  <- 1 create_missing_pod\n"
            "   3    0.000s  pod/p/c signal 9\n"
            "   4    0.000s  pod/p Failed  <- 3\n"
            "   5    0.000s  pod/p Running  <- 4\n");
}

// What others suffer from is told, and what its author comes to by itself is not.
TEST(Narrator, what_takes_pods_away_is_told) {
  const auto told = [](const Record& one) {
    const auto said = tell(one);
    return said ? said->subject + " " + said->text : std::string();
  };
  EXPECT_EQ(told(record(RecordKind::schedule, "default/p", "node-0")), "");
  EXPECT_EQ(told(record(RecordKind::schedule, "default/p", "preempts default/low on node-0")),
            "pod/p preempts default/low on node-0");
  EXPECT_EQ(told(record(RecordKind::container, "team/p/c", "started")), "");
  EXPECT_EQ(told(record(RecordKind::container, "team/p/c", "failed its liveness probe")),
            "pod/team/p/c failed its liveness probe");
  EXPECT_EQ(told(record(RecordKind::connection, "default/a -> default/b", "is refused")),
            "pod/a -> pod/b is refused");
  for (const char* reason : {"Conflict", "NotFound", "Forbidden"}) {
    Record refused = record(RecordKind::api_refused, "create pods team/p", "no");
    refused.actor = "user";
    refused.values.emplace_back("reason", reason);
    EXPECT_EQ(told(refused), std::string_view(reason) == "Forbidden"
                                 ? "user is refused to create pod/team/p: no"
                                 : "");
  }
}

TEST(Narrator, a_node_that_pods_are_kept_off_or_taken_from_is_told) {
  auto before = std::make_shared<Node>(), now = std::make_shared<Node>();
  before->metadata.name = now->metadata.name = "n";
  Condition ready;
  ready.type_ = "Ready";
  ready.status = "True";
  before->status.conditions.edit().push_back(ready);
  now->spec.unschedulable = true;
  now->spec.taints.push_back({"key", "value", "NoExecute", {}});
  Record changed;
  changed.kind = RecordKind::object_modified;
  changed.before = before;
  changed.after = now;
  EXPECT_EQ(tell(changed)->text, "cordoned; tainted key=value:NoExecute; not Ready");
  std::swap(changed.before, changed.after);
  EXPECT_EQ(tell(changed)->text, "uncordoned; no longer tainted key=value:NoExecute; Ready");
  changed.before = changed.after;
  EXPECT_FALSE(tell(changed));
}

TEST(Narrator, a_disrupted_pod_says_by_what) {
  auto now = std::static_pointer_cast<Pod>(pod("Running")->clone());
  PodCondition disrupted;
  disrupted.type_ = "DisruptionTarget";
  disrupted.status = "True";
  disrupted.reason = "PreemptionByScheduler";
  disrupted.message = "for another";
  now->status.conditions.edit().push_back(disrupted);
  Record changed;
  changed.kind = RecordKind::object_modified;
  changed.before = pod("Running");
  changed.after = now;
  EXPECT_EQ(tell(changed)->text, "disrupted: PreemptionByScheduler: for another");
}

RunResult failed_result() {
  RunResult result;
  result.name = "a<b";
  result.ended_at = Time(2s);
  result.step_verdicts.push_back({"one", Verdict::held, 1s, "", "s.yaml:3:1"});
  result.step_verdicts.push_back({"two", Verdict::open, {}, "", "s.yaml:4:1"});
  result.expectations.push_back(
      {"eventually \"x\"", Verdict::failed, 2s, "it did not & will not", "s.yaml:9:5 spec"});
  result.invariants.push_back({"times", Verdict::held, {}, "", ""});
  return result;
}

TEST(Result, junit_escapes_counts_and_skips) {
  std::ostringstream out;
  print_suite(out, failed_result());
  EXPECT_EQ(out.str(),
            "  <testsuite name=\"a&lt;b\" tests=\"4\" failures=\"1\" skipped=\"1\" time=\"2.000\" "
            "timestamp=\"1970-01-01T00:00:00Z\">\n"
            "    <testcase classname=\"a&lt;b\" name=\"step one\" time=\"1.000\"/>\n"
            "    <testcase classname=\"a&lt;b\" name=\"step two\" "
            "time=\"0.000\"><skipped/></testcase>\n"
            "    <testcase classname=\"a&lt;b\" name=\"expected eventually &quot;x&quot;\" "
            "time=\"2.000\"><failure message=\"it did not &amp; will not\">s.yaml:9:5 "
            "spec\n"
            "ddptwin run '' --mode real --seed 1</failure></testcase>\n"
            "    <testcase classname=\"a&lt;b\" name=\"invariant times\" time=\"0.000\"/>\n"
            "  </testsuite>\n");
}

TEST(Result, a_verdict_says_where_and_why_it_failed) {
  std::ostringstream out;
  print_verdicts(out, failed_result());
  EXPECT_EQ(out.str(),
            "  held    step one (1.000s)\n"
            "  open    step two\n"
            "          at s.yaml:4:1\n"
            "  failed  expected eventually \"x\" (2.000s)\n"
            "          it did not & will not\n"
            "          at s.yaml:9:5 spec\n"
            "  held    1 invariant\n"
            "  repeat with: ddptwin run '' --mode real --seed 1\n");
  EXPECT_EQ(last_line(failed_result()), "FAILED a<b: expected eventually \"x\", in 2.000s");
}

TEST(Result, an_invariant_that_was_not_asked_has_not_held_and_has_not_failed) {
  RunResult result;
  result.name = "short";
  result.ended_at = Time(1s);
  result.invariants = {{"times", Verdict::held, {}, "", ""},
                       {"no-leak", Verdict::open, {}, "it had nothing to judge", ""}};
  EXPECT_TRUE(result.passed());
  std::ostringstream out;
  print_verdicts(out, result);
  EXPECT_EQ(
      out.str(),
      "  held    1 invariant; 1 had nothing to judge: nothing of what it is about happened\n");
  EXPECT_EQ(last_line(result), "PASSED short in 1.000s");
  std::ostringstream junit;
  print_suite(junit, result);
  EXPECT_NE(junit.str().find("tests=\"1\" failures=\"0\" skipped=\"0\""), std::string::npos);
  EXPECT_EQ(junit.str().find("no-leak"), std::string::npos) << junit.str();
  EXPECT_NE(
      boost::json::serialize(to_json(result))
          .find(R"("name":"no-leak","verdict":"open","seconds":0E0,"detail":"it had nothing)"),
      std::string::npos)
      << boost::json::serialize(to_json(result));
}

TEST(Result, a_fault_that_never_acted_fails_the_run) {
  RunResult result;
  result.faults = {{"{scheduler: down}", Verdict::failed, {}, "it never acted", "s.yaml:7:3"}};
  EXPECT_FALSE(result.passed());
  std::ostringstream out;
  print_verdicts(out, result);
  EXPECT_NE(out.str().find("  failed  fault {scheduler: down}\n          it never acted\n"
                           "          at s.yaml:7:3\n"),
            std::string::npos)
      << out.str();
}

TEST(Result, the_last_line_tells_how_each_job_ended) {
  RunResult result;
  result.name = "two";
  result.ended_at = Time(2s);
  result.ends = {"pytorchjob/a Failed: no", "pytorchjob/b Succeeded"};
  // Its own expectation is about that end: nobody wrote it.
  result.expectations = {{"pytorchjob/a succeeds", Verdict::failed, 2s, "", ""},
                         {"pytorchjob/b succeeds", Verdict::held, 2s, "", ""}};
  EXPECT_EQ(last_line(result),
            "FAILED two: pytorchjob/a Failed: no; pytorchjob/b Succeeded, in 2.000s");
  result.invariants = {{"terminal", Verdict::failed, {}, "", ""}};
  result.ends = {"pytorchjob/b Succeeded", "pod/c Succeeded", "pod/d Succeeded", "pod/e Succeeded"};
  EXPECT_EQ(last_line(result),
            "FAILED two: invariant terminal; pytorchjob/b Succeeded; pod/c Succeeded; pod/d "
            "Succeeded; 1 more jobs and pods, in 2.000s");
}

TEST(Result, where_nothing_ran_nothing_passed) {
  RunResult result;
  result.name = "maps";
  result.nothing_ran = true;
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(last_line(result),
            "NOTHING RAN maps: no job and no pod is among its objects, in 0.000s");
}

TEST(Result, a_suite_may_have_a_name_of_its_own_and_tells_the_reason_at_length) {
  RunResult result = failed_result();
  result.suite = "a [virtual seed 7]";
  result.expectations[0].why = {"pod/p container c exit 1; its last lines:", "  | <no>"};
  std::ostringstream out;
  print_suite(out, result);
  EXPECT_NE(out.str().find("<testsuite name=\"a [virtual seed 7]\""), std::string::npos);
  EXPECT_NE(out.str().find("\">pod/p container c exit 1; its last lines:\n  | &lt;no&gt;\n"
                           "s.yaml:9:5 spec\nddptwin run"),
            std::string::npos)
      << out.str();
}

TEST(Result, the_command_that_repeats_a_run_names_its_python) {
  RunResult result;
  result.file = "s.yaml";
  result.python = "/opt/my env";
  EXPECT_EQ(result.repeat(), "ddptwin run s.yaml --mode real --seed 1 --python '/opt/my env'");
}

TEST(Result, an_interrupted_run_has_not_passed) {
  RunResult result;
  EXPECT_TRUE(result.passed());
  result.interrupted = true;
  EXPECT_FALSE(result.passed());
}

TEST(Narrator, a_long_time_is_told_in_hours) {
  using namespace std::chrono_literals;
  EXPECT_EQ(lasted(2715ms), "2.715s");
  EXPECT_EQ(lasted(599999ms), "599.999s");
  EXPECT_EQ(lasted(10min), "10m0s");
  EXPECT_EQ(lasted(61623s), "17h7m3s");
  EXPECT_EQ(lasted(61623s + 4567890ns), "17h7m3.005s");
}

}  // namespace
}  // namespace ddptwin::scenario::report_test
