// Each port is hit exactly where the plan says, in a cluster with a PyTorchJob whose containers
// follow a script.
#include "scenario/faults/injector.hpp"

#include <gmock/gmock.h>

#include "dns/resolver.hpp"
#include "scenario/faults/injector_test_fixture.hpp"

namespace ddptwin::scenario::injector_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(FaultInjector, an_empty_plan_counts_and_does_nothing) {
  Disturbed run(plan_of("[]"));
  run.go(30s);
  EXPECT_THAT(run.faults, IsEmpty());
  EXPECT_EQ(run.condition("Running"), "True");
  const Census& census = run.injector.census();
  EXPECT_EQ((census.starts.at({"default/j-master-0", "pytorch"})), 1);
  EXPECT_FALSE(census.starts.contains({"default/j-worker-0", "init-pytorch"}));
  EXPECT_GT((census.writes.at({"training-operator", "pytorchjob-controller"})), 6);
  EXPECT_EQ((census.writes.at({"training-operator", "pytorchjob-controller"})),
            (census.calls.at({"training-operator", "pytorchjob-controller"})));
  EXPECT_GT((census.events.at({{"training-operator", "pytorchjob-controller"}, "Pod"})), 3);
  EXPECT_FALSE(run.injector.healed());
}

TEST(FaultInjector, the_second_pod_is_refused_and_made_again) {
  Disturbed run(
      plan_of("[{api: error, of: training-operator, verb: create, kind: Pod, nth: 2, code: 503}]"));
  run.go(30s);
  EXPECT_THAT(run.faults,
              ElementsAre(HasSubstr("pytorchjob-controller create pod/j-worker-0: {api: error"),
                          HasSubstr("all: healed")));
  EXPECT_THAT(run.pods_made, SizeIs(3));
  EXPECT_EQ(run.condition("Running"), "True");
  EXPECT_EQ(run.injector.acted()[0].times, 1);
}

TEST(FaultInjector, a_call_is_refused_in_the_words_of_the_plan) {
  Disturbed run(
      plan_of("[{api: error, of: training-operator, verb: create, kind: Pod, code: 403, message: "
              "'exceeded quota: mine', until: {of: pod/x, phase: Running}}]"));
  std::string told;
  run.world.trace().add_sink([&told](const Record& record) {
    const Event* event = record.after != nullptr ? as<Event>(*record.after) : nullptr;
    if (event != nullptr && event->reason == "FailedCreatePod") told = event->message;
  });
  run.go(20s);
  EXPECT_THAT(told, HasSubstr("exceeded quota: mine"));
  EXPECT_THAT(run.pods_made, IsEmpty());
  EXPECT_FALSE(run.injector.healed());
  const auto awaited = run.decode_json(R"({"apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "x", "namespace": "default"},
      "spec": {"containers": [{"name": "c", "image": "i"}]}})");
  EXPECT_TRUE(run.world.call(api::create(awaited), "user"));
  run.go(5s);
  EXPECT_TRUE(run.injector.healed());
  run.go(20min);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, a_lost_reply_is_of_a_pod_that_is_there) {
  Disturbed run(plan_of("[{api: lostReply, of: training-operator, verb: create, kind: Pod}]"));
  run.go(30s);
  EXPECT_THAT(run.faults, SizeIs(2));
  EXPECT_THAT(run.pods_made, SizeIs(3));
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, calls_are_refused_for_as_long_as_it_is_said) {
  Disturbed run(plan_of("[{api: error, of: kubelet, at: 0s, for: 20s}]"));
  run.go(19s);
  EXPECT_EQ(run.phase("j-master-0"), "Pending");
  EXPECT_FALSE(run.injector.healed());
  run.go(30s);
  EXPECT_EQ(run.phase("j-master-0"), "Running");
  EXPECT_TRUE(run.injector.healed());
  EXPECT_GT(run.injector.acted()[0].times, 1);
}

TEST(FaultInjector, calls_of_others_pass) {
  Disturbed run(plan_of("[{api: conflict, of: kube-scheduler, name: nobody, for: 60s}]"));
  run.go(30s);
  EXPECT_THAT(run.faults, IsEmpty());
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, what_a_watch_tells_late_is_known_late) {
  Disturbed late(
      plan_of("[{watch: delay, of: kube-scheduler, kind: Pod, name: j-master-0, delay: 7s}]"));
  late.go(30s);
  const auto of_master = [](const std::string& line) { return line.ends_with("j-master-0"); };
  const auto found = std::find_if(late.scheduled.begin(), late.scheduled.end(), of_master);
  ASSERT_NE(found, late.scheduled.end());
  EXPECT_GE(std::stoll(*found), 7000);
  EXPECT_LT(std::stoll(*found), 8000);
}

TEST(FaultInjector, a_dropped_stream_is_listed_again_after_its_silence) {
  Disturbed run(plan_of("[{watch: drop, of: kube-scheduler, kind: Pod, for: 12s}]"));
  run.go(11s);
  EXPECT_THAT(run.scheduled, IsEmpty());
  run.go(10s);
  EXPECT_THAT(run.scheduled, SizeIs(3));
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, a_controller_that_crashes_after_a_write_goes_on_from_there) {
  for (int nth = 1; nth <= 8; ++nth) {
    Disturbed run(plan_of(
        fmt::format("[{{controller: crash, of: pytorchjob-controller, nth: {}, for: 3s}}]", nth)));
    run.go(2s);
    const int before = run.status_writes;
    run.go(60s);
    EXPECT_THAT(run.faults, SizeIs(2)) << nth;
    EXPECT_THAT(run.pods_made, SizeIs(3)) << nth;
    EXPECT_EQ(run.condition("Running"), "True") << nth;
    EXPECT_GE(run.status_writes, before) << nth;
  }
}

TEST(FaultInjector, a_crashed_controller_writes_nothing_until_it_is_back) {
  Disturbed run(plan_of("[{controller: crash, of: training-operator, nth: 1, for: 20s}]"));
  run.go(19s);
  EXPECT_EQ((run.injector.census().writes.at({"training-operator", "pytorchjob-controller"})), 1);
  run.go(20s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, two_controllers_make_no_pod_twice) {
  Disturbed run(plan_of("[{controller: double, of: pytorchjob-controller, for: 40s}]"));
  run.go(60s);
  EXPECT_THAT(run.pods_made, SizeIs(3));
  EXPECT_EQ(run.condition("Running"), "True");
  EXPECT_TRUE(run.injector.healed());
}

TEST(FaultInjector, without_a_scheduler_pods_wait) {
  Disturbed run(plan_of("[{scheduler: down, nth: 1, for: 25s}]"));
  run.go(20s);
  // The decision after the first binding was under way.
  EXPECT_THAT(run.scheduled, SizeIs(testing::Le(2U)));
  EXPECT_EQ(run.phase("j-worker-1"), "Pending");
  run.go(60s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, a_restarted_kubelet_finds_its_containers) {
  for (int nth = 1; nth <= 6; ++nth) {
    Disturbed run(plan_of(fmt::format("[{{kubelet: restart, nth: {}, for: 2s}}]", nth)));
    run.go(60s);
    EXPECT_EQ(run.injector.acted()[0].times, 1) << nth;
    EXPECT_EQ(run.condition("Running"), "True") << nth;
    EXPECT_EQ((run.injector.census().starts.at({"default/j-master-0", "pytorch"})), 1) << nth;
  }
}

TEST(FaultInjector, a_container_is_killed_at_its_nth_start) {
  Disturbed run(
      plan_of("[{process: kill, of: j-master-0, nth: 2}, {process: exit, of: j-master-0, code: 3, "
              "at: 10s}]"));
  run.go(90s);
  ASSERT_THAT(run.faults, SizeIs(3));
  EXPECT_EQ(run.faults[0],
            "10000 default/j-master-0/pytorch: {process: exit, of: j-master-0, at: 10s, code: 3}");
  EXPECT_THAT(run.faults[1], HasSubstr("default/j-master-0/pytorch: {process: kill"));
  const auto pod = as<Pod>(run.world.find(Pod::info(), "default", "j-master-0"));
  EXPECT_EQ(pod->status.containerStatuses.at(0).restartCount, 2);
  EXPECT_EQ(pod->status.containerStatuses.at(0).lastState->terminated->exitCode, 137);
}

TEST(FaultInjector, a_container_is_hit_when_it_has_done_a_step) {
  Disturbed run(plan_of("[{process: exit, of: default/j-worker-1, step: 5, code: 1}]"));
  run.go(10s);
  EXPECT_THAT(run.faults, IsEmpty());
  // A line of the script's log comes with an end; the container of the other worker prints too.
  run.runtime.container_exit("default", "j-worker-0", "pytorch", 137, false, {}, {}, "step 9/20\n");
  run.go(1s);
  EXPECT_THAT(run.faults, IsEmpty());
  EXPECT_EQ(run.injector.census().steps.at("default/j-worker-0"), 9);
}

TEST(FaultInjector, a_state_starts_a_fault) {
  Disturbed run(
      plan_of("[{api: conflict, of: training-operator, kind: PyTorchJob, when: {of: "
              "pod/j-worker-1, phase: Running}}]"));
  run.go(60s);
  ASSERT_THAT(run.faults, SizeIs(2));
  EXPECT_THAT(run.faults[0], HasSubstr("update pytorchjob/j"));
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, pods_of_a_lost_node_are_evicted_and_come_back) {
  Disturbed run(plan_of("[{node: lost, of: n0, at: 10s, for: 400s}]"));
  run.go(10s);
  std::vector<std::string> there;
  for (const ObjectPtr& object : run.world.objects(Pod::info(), "default"))
    if (as<Pod>(*object)->spec->nodeName == "n0") there.push_back(object->metadata.name.str());
  ASSERT_FALSE(there.empty());
  const auto node_ready = [&] {
    for (const Condition& c : as<Node>(run.world.find(Node::info(), "", "n0"))->status.conditions)
      if (c.type_ == "Ready") return c.status + " " + c.reason;
    return std::string();
  };
  // Since a heartbeat of the ten seconds before.
  run.go(39s);
  EXPECT_EQ(node_ready(), "True KubeletReady");
  int until_unknown = 39;
  for (; node_ready() == "True KubeletReady" && until_unknown < 56; ++until_unknown) run.go(1s);
  EXPECT_EQ(node_ready(), "Unknown NodeStatusUnknown");
  run.go(298s);
  const auto leaving = [&](const std::string& pod) {
    return run.world.find(Pod::info(), "default", pod)->metadata.deletionTimestamp.has_value();
  };
  EXPECT_FALSE(leaving(there.front()));
  run.go(3s);
  EXPECT_TRUE(leaving(there.front()));
  run.go(130s);
  EXPECT_EQ(node_ready(), "True KubeletReady");
  EXPECT_EQ(run.condition("Running"), "True");
  EXPECT_FALSE(leaving(there.front()));
}

TEST(FaultInjector, nobody_evicts_while_its_controller_is_away) {
  Disturbed run(plan_of("[{controller: crash, of: kube-controller-manager, at: 10s, for: 30s}]"));
  run.go(11s);
  for (const char* name : {"n0", "n1"}) {
    auto tainted = std::static_pointer_cast<Node>(run.node(name)->clone());
    tainted->spec.taints = {{"maintenance", "", "NoExecute", std::nullopt}};
    EXPECT_TRUE(run.world.call(api::update(tainted), "user"));
  }
  const auto leaving = [&] {
    return as<Pod>(run.world.find(Pod::info(), "default", "j-master-0"))
               ->status.condition("DisruptionTarget") != nullptr;
  };
  run.go(28s);
  EXPECT_FALSE(leaving());
  run.go(2s);
  EXPECT_TRUE(leaving());
}

TEST(FaultInjector, nobody_collects_while_its_controller_is_away) {
  Disturbed run(plan_of("[{controller: crash, of: kube-controller-manager, at: 10s, for: 30s}]"));
  run.go(11s);
  const ObjectPtr job = run.world.find(PyTorchJob::info(), "default", "j");
  EXPECT_TRUE(run.world.call(api::remove(*job), "user"));
  const auto pods = [&] { return run.world.objects(Pod::info(), "default").size(); };
  run.go(28s);
  EXPECT_EQ(pods(), 3U);
  run.go(60s);
  EXPECT_EQ(pods(), 0U);
}

TEST(FaultInjector, a_deleted_node_takes_its_pods_and_comes_back) {
  Disturbed run(plan_of("[{node: deleted, of: n1, at: 10s, for: 200s}]"));
  run.go(11s);
  EXPECT_EQ(run.world.find(Node::info(), "", "n1"), nullptr);
  run.go(100s);
  for (const ObjectPtr& object : run.world.objects(Pod::info(), "default"))
    EXPECT_NE(as<Pod>(*object)->spec->nodeName, "n1") << object->metadata.name;
  run.go(120s);
  EXPECT_NE(run.world.find(Node::info(), "", "n1"), nullptr);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, nothing_is_placed_on_a_cordoned_node) {
  Disturbed run(plan_of("[{node: cordon, of: n0}]", 60s));
  run.go(50s);
  for (const ObjectPtr& object : run.world.objects(Pod::info(), "default"))
    EXPECT_EQ(as<Pod>(*object)->spec->nodeName, "n1");
  run.go(11s);
  EXPECT_FALSE(as<Node>(run.world.find(Node::info(), "", "n0"))->spec.unschedulable);
  EXPECT_THAT(run.faults, Contains("60000 all: healed"));
}

TEST(FaultInjector, the_dns_answers_what_it_is_told) {
  Disturbed run(
      plan_of("[{dns: servfail, of: j-master-0, nth: 2}, {dns: nxdomain, of: j-worker-0, for: 5s}, "
              "{dns: lost, of: gone}, {dns: late, of: late, delay: 4s}, "
              "{dns: wrong, of: j-worker-1, address: 192.0.2.9}]"));
  run.go(20s);
  std::vector<std::string> answers;
  const auto ask = [&](const char* name) {
    const Time asked = run.loop.now();
    run.world.resolver().ask(
        {{*dns::Name::parse(name), dns::RecordType::a}, "test"},
        [&, asked](const std::optional<dns::Answer>& answer) {
          answers.push_back(fmt::format(
              "{} {}", (run.loop.now() - asked) / Duration(1s),
              answer ? dns::to_text(answer->rcode) +
                           (answer->answers.empty() ? ""
                                                    : " " + std::to_string(answer->answers.size()))
                     : "lost"));
        });
    run.go(6s);
  };
  for (const char* name :
       {"j-master-0.default.svc.cluster.local", "j-master-0.default.svc.cluster.local",
        "j-master-0.default.svc.cluster.local", "j-worker-0.default.svc.cluster.local",
        "j-worker-0.default.svc.cluster.local", "gone.example", "late.example",
        "j-worker-1.default.svc.cluster.local"})
    ask(name);
  EXPECT_THAT(answers, ElementsAre("0 NOERROR 1", "0 SERVFAIL", "0 NOERROR 1", "0 NXDOMAIN",
                                   "0 NOERROR 1", "0 lost", "4 NXDOMAIN", "0 NOERROR 1"));
}

TEST(FaultInjector, healing_ends_all_and_lets_nothing_begin) {
  Disturbed run(
      plan_of("[{scheduler: down}, {api: error, of: kubelet, for: 1h}, "
              "{process: kill, of: j-master-0, at: 90s}]",
              40s));
  run.go(39s);
  EXPECT_EQ(run.condition("Running"), "False");
  run.go(120s);
  EXPECT_EQ(run.condition("Running"), "True");
  EXPECT_EQ(run.faults.back(), "40000 all: healed");
  EXPECT_EQ(run.injector.acted()[2].times, 0);
}

// ---- moments -----------------------------------------------------------------------------------

TEST(FaultInjector, a_state_of_one_record_is_seen_while_another_is_acted_upon) {
  Disturbed run(
      plan_of("[{node: cordon, of: n0, for: 1s, when: {of: pod/j-master-0, match: {metadata: "
              "{annotations: {x: a}}}}}, {node: cordon, of: n1, for: 1s, when: {of: "
              "pod/j-master-0, match: {metadata: {annotations: {x: b}}}}}]"));
  run.go(20s);
  // All in one moment.
  for (const char* value : {"a", "b", "c"})
    run.edit_pod("j-master-0", [&](Pod& pod) { pod.metadata.annotations.edit()["x"] = value; });
  run.go(1s);
  EXPECT_EQ(run.injector.acted()[0].times, 1);
  EXPECT_EQ(run.injector.acted()[1].times, 1);
}

TEST(FaultInjector, nothing_is_healed_before_what_was_late_has_come) {
  struct Row {
    const char* fault;
    Duration lasts;
  };
  const Row rows[] = {
      {"{watch: drop, of: kube-scheduler, kind: Pod}", 10s},
      {"{watch: delay, of: kube-scheduler, kind: Pod, delay: 7s}", 7s},
      {"{api: latency, of: kube-scheduler, delay: 5s}", 5s},
      {"{api: timeout, of: kube-scheduler, delay: 20s}", 20s},
      {"{api: latency, of: kube-scheduler, delay: 8s, for: 1s}", 8s},
  };
  for (const Row& row : rows) {
    Disturbed run(plan_of(fmt::format("[{}]", row.fault)));
    run.go(row.lasts - 10ms);
    EXPECT_THAT(run.faults, testing::Not(IsEmpty())) << row.fault;
    EXPECT_FALSE(run.injector.healed()) << row.fault;
    run.go(4s);
    EXPECT_TRUE(run.injector.healed()) << row.fault;
  }
}

TEST(FaultInjector, the_same_plan_is_the_same_run) {
  const auto once = [] {
    Disturbed run(
        plan_of("[{api: lostReply, of: training-operator, nth: 3}, {watch: drop, of: kubelet, "
                "for: 9s}, "
                "{controller: double, of: training-operator, at: 2s}]"),
        99);
    run.go(100s);
    return std::make_tuple(run.faults, run.starts, run.world.trace().last());
  };
  EXPECT_EQ(once(), once());
}

TEST(FaultInjector, a_machine_that_begins_anew_has_nothing_of_its_pods_left) {
  Disturbed run(
      plan_of("[{node: reboot, of: n0, at: 20s, for: 30s}, {node: reboot, of: n1, at: 20s, "
              "for: 30s}]"));
  run.go(15s);
  ASSERT_EQ(run.phase("j-worker-0"), "Running");
  const std::string before = run.ip("j-worker-0");
  const auto begun = run.starts.size();
  std::set<std::string> ends;
  run.world.trace().add_sink([&ends](const Record& record) {
    const Pod* pod = record.after != nullptr ? as<Pod>(*record.after) : nullptr;
    if (pod == nullptr) return;
    for (const ContainerStatus& one : *pod->status.containerStatuses)
      if (one.state.terminated)
        ends.insert(fmt::format("{} {}", one.state.terminated->exitCode,
                                std::string_view(one.state.terminated->reason)));
  });
  run.go(60s);
  ASSERT_EQ(run.phase("j-worker-0"), "Running");
  EXPECT_NE(run.ip("j-worker-0"), before);
  EXPECT_THAT(ends, ElementsAre("255 Unknown"));
  // Its init container ran again.
  const std::vector<std::string> since(run.starts.begin() + static_cast<std::ptrdiff_t>(begun),
                                       run.starts.end());
  EXPECT_THAT(since, Contains(HasSubstr("j-worker-0/init-pytorch")));
}

TEST(FaultInjector, a_machine_that_shuts_down_ends_its_pods_first) {
  Disturbed run(plan_of("[{node: shutdown, of: [n0, n1], at: 20s, delay: 10s, for: 1m}]"));
  run.go(19s);
  ASSERT_EQ(run.phase("j-master-0"), "Running");
  std::set<std::string> told;
  run.world.trace().add_sink([&told](const Record& record) {
    const Pod* pod = record.after != nullptr ? as<Pod>(*record.after) : nullptr;
    if (pod != nullptr && !pod->status.rest->reason.empty())
      told.insert(pod->status.rest->reason.str());
  });
  run.go(5s);
  EXPECT_EQ(run.ready("n0"), "False");
  EXPECT_EQ(told, std::set<std::string>{"Terminated"});
  EXPECT_FALSE(run.injector.healed());
  run.go(70s);
  EXPECT_TRUE(run.injector.healed());
  EXPECT_EQ(run.ready("n0"), "True");
}

TEST(FaultInjector, only_the_pod_that_is_named_gets_a_wrong_answer) {
  Disturbed run(plan_of("[{dns: nxdomain, of: j-master-0, from: j-worker-1, for: 1h}]"));
  run.go(15s);
  const auto answer_to = [&run](const std::string& client) {
    std::optional<dns::Rcode> rcode;
    run.world.resolver().ask(
        dns::Query{{*dns::Name::parse("j-master-0.default.svc.cluster.local"), dns::RecordType::a},
                   client},
        [&rcode](const std::optional<dns::Answer>& answer) { rcode = answer->rcode; });
    run.go(1s);
    return rcode;
  };
  EXPECT_EQ(answer_to(run.ip("j-worker-0")), dns::Rcode::no_error);
  EXPECT_EQ(answer_to(run.ip("j-worker-1")), dns::Rcode::nx_domain);
}

}  // namespace
}  // namespace ddptwin::scenario::injector_test
