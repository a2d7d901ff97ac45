// Each port is hit exactly where the plan says, in a cluster with a PyTorchJob whose containers
// follow a script.
#include "scenario/faults/injector.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/model_runtime/network.hpp"
#include "cluster/script_runtime.hpp"
#include "controller/pytorchjob/profile.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "dns/resolver.hpp"
#include "objects/codec.hpp"
#include "objects/pytorchjob.hpp"
#include "scenario/faults/fault_parser.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Time start_time = virtual_start;
constexpr const char* job_text = R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
  "metadata": {"name": "j", "namespace": "default"},
  "spec": {"pytorchReplicaSpecs": {
    "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers":
      [{"name": "pytorch", "image": "busybox"}]}}},
    "Worker": {"replicas": 2, "restartPolicy": "ExitCode", "template": {"spec": {"containers":
      [{"name": "pytorch", "image": "busybox"}]}}}}}})";

const ReadFile no_files = [](const std::string&) -> Result<std::string> {
  return fail(Reason::bad_input, "no files here");
};

// `faults` is a YAML list.
FaultPlan plan_of(const std::string& faults, std::optional<Duration> heal = std::nullopt) {
  const KindRegistry kinds;
  auto documents = parse_yaml(faults, "plan.yaml");
  EXPECT_TRUE(documents);
  FaultPlan plan{{}, heal};
  if (documents->empty()) return plan;
  const auto document = std::make_shared<const YamlDocument>(std::move(documents->front()));
  const ParseContext context{kinds, no_files, "", "default", document};
  const auto nodes = YamlNode(*document, document->value, "").as_list();
  for (const YamlNode& node : *nodes) {
    auto fault = parse_fault(node, context);
    EXPECT_TRUE(fault) << fault.error().text();
    plan.faults.push_back(std::move(*fault));
  }
  return plan;
}

WorldOptions options_of(WorldFaults& faults) {
  WorldOptions options;
  options.scheduler = true;
  options.training_operator = controller::pytorchjob::default_profile();
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  options.faults = &faults;
  return options;
}

struct Disturbed {
  explicit Disturbed(FaultPlan plan, std::uint64_t seed = 1)
      : loop(Random(seed), start_time),
        runtime(loop),
        injector(loop, std::move(plan)),
        world(loop, options_of(injector), &runtime) {
    world.trace().add_sink([this](const Record& record) { on_record(record); });
    RuntimePorts ports;
    ports.signal = [this](const RunningContainer& c, int signal) {
      runtime.container_exit(c.namespace_, c.pod, c.name, 128 + signal);
    };
    ports.exit = [this](const RunningContainer& c, int code) {
      runtime.container_exit(c.namespace_, c.pod, c.name, code);
    };
    ports.network = &network;
    injector.attach(world, std::move(ports));
    for (const char* worker : {"j-worker-0", "j-worker-1"})
      runtime.set("default", worker, "exit.init-pytorch", "0 after 1");
    EXPECT_TRUE(world.start());
    loop.run_until(start_time + 5s);
    const Status started = injector.start();
    EXPECT_TRUE(started) << started.error().text();
    const auto made = decode_json(job_text);
    EXPECT_TRUE(world.call(api::create(made), "user"));
  }

  ObjectPtr decode_json(const char* text) {
    auto decoded = decode_object(world.kinds(), boost::json::parse(text));
    EXPECT_TRUE(decoded) << decoded.error().text();
    return decoded->object;
  }
  void go(Duration duration) { loop.run_until(loop.now() + duration); }

  void on_record(const Record& record) {
    const auto at = (record.time - start_time - 5s) / Duration(1ms);
    if (record.kind == RecordKind::fault)
      faults.push_back(fmt::format("{} {}: {}", at, record.subject, record.text));
    if (record.kind == RecordKind::schedule)
      scheduled.push_back(fmt::format("{} {}", at, record.subject));
    if (record.kind == RecordKind::container && record.text == "started")
      starts.push_back(fmt::format("{} {}", at, record.subject));
    if (record.kind == RecordKind::object_added && as<Pod>(record.after) != nullptr)
      pods_made.push_back(record.after->metadata.name);
    if (record.actor == "training-operator" && as<PyTorchJob>(record.after) != nullptr)
      ++status_writes;
  }
  std::string phase(const std::string& pod) {
    const auto found = as<Pod>(world.find(Pod::info(), "default", pod));
    return found ? found->status.phase : "none";
  }
  template <class Edit>
  void edit_pod(const std::string& name, Edit edit) {
    auto pod = std::static_pointer_cast<Pod>(world.find(Pod::info(), "default", name)->clone());
    edit(*pod);
    EXPECT_TRUE(world.call(api::update(pod), "user"));
  }
  std::string ip(const std::string& pod) {
    return as<Pod>(world.find(Pod::info(), "default", pod))->status.podIP;
  }
  std::shared_ptr<const Node> node(const std::string& name) {
    return as<Node>(world.find(Node::info(), "", name));
  }
  std::string ready(const std::string& name) {
    for (const Condition& one : node(name)->status.conditions)
      if (one.type_ == "Ready") return one.status;
    return "none";
  }
  std::string condition(const std::string& type) {
    const auto job = as<PyTorchJob>(world.find(PyTorchJob::info(), "default", "j"));
    if (!job || !job->status) return "none";
    return job->status->is_true(type) ? "True" : "False";
  }

  VirtualLoop loop;
  ScriptRuntime runtime;
  model::Network network{loop, 1ms, 1s};
  FaultInjector injector;
  World world;
  std::vector<std::string> faults{}, scheduled{}, starts{}, pods_made{};
  int status_writes = 0;
};

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
              ElementsAre(HasSubstr("pytorchjob-controller create Pod j-worker-0: {api: error"),
                          HasSubstr("all: healed")));
  EXPECT_THAT(run.pods_made, SizeIs(3));
  EXPECT_EQ(run.condition("Running"), "True");
  EXPECT_EQ(run.injector.acted()[0].times, 1);
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
  EXPECT_THAT(run.faults[0], HasSubstr("update PyTorchJob j"));
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, pods_of_a_lost_node_are_evicted_and_come_back) {
  Disturbed run(plan_of("[{node: lost, of: n0, at: 10s, for: 400s}]"));
  run.go(10s);
  std::vector<std::string> there;
  for (const ObjectPtr& object : run.world.objects(Pod::info(), "default"))
    if (as<Pod>(*object)->spec->nodeName == "n0") there.push_back(object->metadata.name);
  ASSERT_FALSE(there.empty());
  const auto node_ready = [&] {
    for (const Condition& c : as<Node>(run.world.find(Node::info(), "", "n0"))->status.conditions)
      if (c.type_ == "Ready") return c.status + " " + c.reason;
    return std::string();
  };
  run.go(49s);
  EXPECT_EQ(node_ready(), "True KubeletReady");
  run.go(2s);
  EXPECT_EQ(node_ready(), "Unknown NodeStatusUnknown");
  run.go(298s);
  const auto leaving = [&](const std::string& pod) {
    return run.world.find(Pod::info(), "default", pod)->metadata.deletionTimestamp.has_value();
  };
  EXPECT_FALSE(leaving(there.front()));
  run.go(2s);
  EXPECT_TRUE(leaving(there.front()));
  run.go(120s);
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

// ---- two faults that overlap: what both take away comes back with the last ----------------------

TEST(FaultInjector, a_controller_stays_away_until_its_last_crash_is_over) {
  Disturbed run(
      plan_of("[{controller: crash, of: pytorchjob-controller, for: 30s}, "
              "{controller: crash, of: training-operator, at: 5s, for: 5s}]"));
  run.go(29s);
  EXPECT_THAT(run.pods_made, IsEmpty());
  run.go(30s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, each_second_controller_ends_for_itself) {
  // The first one is away: what is made is made by the second that is left.
  Disturbed run(
      plan_of("[{controller: double, of: pytorchjob-controller, at: 1s, for: 40s}, "
              "{controller: double, of: pytorchjob-controller, at: 2s, for: 5s}, "
              "{controller: crash, of: pytorchjob-controller, at: 8s, for: 60s}]"));
  const auto fails = [&run](const char* pod) {
    run.runtime.container_exit("default", pod, "pytorch", 137);
    run.go(5s);
  };
  run.go(20s);
  ASSERT_THAT(run.pods_made, SizeIs(3));
  fails("j-worker-0");
  EXPECT_THAT(run.pods_made, SizeIs(4));
  run.go(20s);
  fails("j-worker-1");
  EXPECT_THAT(run.pods_made, SizeIs(4));
  run.go(30s);
  EXPECT_THAT(run.pods_made, SizeIs(5));
}

TEST(FaultInjector, the_scheduler_stays_down_until_the_last_is_over) {
  Disturbed run(plan_of("[{scheduler: down, for: 30s}, {scheduler: down, at: 5s, for: 5s}]"));
  run.go(29s);
  EXPECT_THAT(run.scheduled, IsEmpty());
  run.go(30s);
  EXPECT_EQ(run.condition("Running"), "True");
}

TEST(FaultInjector, a_kubelet_that_restarts_on_a_lost_node_stays_silent) {
  Disturbed run(
      plan_of("[{node: cordon, of: n1}, {node: lost, of: n0, at: 20s, for: 200s}, "
              "{kubelet: restart, at: 30s, for: 2s}]"));
  run.go(40s);
  EXPECT_TRUE(
      run.world.call(api::remove(*run.world.find(Pod::info(), "default", "j-worker-1")), "user"));
  run.go(100s);
  EXPECT_NE(run.phase("j-worker-1"), "none");
  const auto going = as<Pod>(run.world.find(Pod::info(), "default", "j-worker-1"));
  EXPECT_TRUE(going->metadata.deletionTimestamp);
  run.go(120s);
  EXPECT_EQ(run.ready("n0"), "True");
}

TEST(FaultInjector, a_node_comes_back_with_the_end_of_its_last_outage) {
  Disturbed run(plan_of(
      "[{node: lost, of: n0, at: 10s, for: 100s}, {node: dead, of: n0, at: 15s, for: 5s}, "
      "{node: deleted, of: n1, at: 10s, for: 30s}, {node: lost, of: n1, at: 20s, for: 60s}, "
      "{node: cordon, of: n1, at: 20s, for: 90s}]"));
  run.go(50s);
  EXPECT_EQ(run.node("n1"), nullptr);
  run.go(12s);
  EXPECT_EQ(run.ready("n0"), "Unknown");  // 50 s after it was lost
  run.go(30s);
  ASSERT_NE(run.node("n1"), nullptr);
  EXPECT_EQ(run.ready("n1"), "True");
  EXPECT_TRUE(run.node("n1")->spec.unschedulable);
  run.go(20s);
  EXPECT_EQ(run.ready("n0"), "True");
  EXPECT_FALSE(run.node("n1")->spec.unschedulable);
}

TEST(FaultInjector, a_node_is_cordoned_until_the_last_is_over) {
  Disturbed run(
      plan_of("[{node: cordon, of: n0, for: 60s}, {node: cordon, of: n0, at: 5s, for: 5s}]"));
  run.go(50s);
  EXPECT_TRUE(run.node("n0")->spec.unschedulable);
  run.go(20s);
  EXPECT_FALSE(run.node("n0")->spec.unschedulable);
}

TEST(FaultInjector, a_link_has_all_faults_that_go_on) {
  Disturbed run(
      plan_of("[{link: delay, of: j-master-0, to: j-worker-0, at: 20s, for: 60s, delay: 2s}, "
              "{link: drop, of: j-worker-0, to: j-master-0, at: 30s, for: 10s}, "
              "{link: drop, of: j-worker-1, at: 20s, for: 60s}, "
              "{link: delay, of: j-worker-1, at: 30s, for: 10s}, "
              "{link: reset, of: j-worker-1, at: 32s, for: 9s}]"));
  run.go(25s);
  const auto link = [&run](const char* from, const char* to) {
    return run.network.link(run.ip(from), run.ip(to));
  };
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"), (model::LinkFault{.drop = true}));
  run.go(10s);
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.drop = true, .delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"),
            (model::LinkFault{.drop = true, .reset = true, .delay = link_delay_default}));
  run.go(10s);
  EXPECT_EQ(link("j-master-0", "j-worker-0"), (model::LinkFault{.delay = 2s}));
  EXPECT_EQ(link("j-worker-1", "j-master-0"), (model::LinkFault{.drop = true}));
  run.go(50s);
  EXPECT_FALSE(run.network.any_fault());
}

// Its pods may come after its moment, and one of them never.
TEST(FaultInjector, a_link_waits_for_its_ends) {
  Disturbed run(
      plan_of("[{link: drop, of: j-master-0, to: j-worker-0, for: 10s}, {link: drop, of: nobody, "
              "for: 10s}, "
              "{link: delay, of: j-master-0, to: nobody, at: 15s}]"));
  run.go(1s);
  const auto link = [&run] { return run.network.link(run.ip("j-master-0"), run.ip("j-worker-0")); };
  run.go(5s);
  EXPECT_TRUE(link().drop);
  run.go(30s);
  EXPECT_TRUE(link().none());
  std::vector<std::int64_t> times;
  for (const Acted& one : run.injector.acted()) times.push_back(one.times);
  EXPECT_THAT(times, ElementsAre(1, 0, 0));
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

}  // namespace
}  // namespace ddptwin::scenario
