// A kubelet over the store and a scripted runtime, in virtual time. What a real one writes is held
// by the recordings (tests/recordings/kubelet); here is what they do not show.
#include "cluster/kubelet/kubelet.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cerrno>

#include "cluster/kubelet/cluster_view.hpp"
#include "cluster/script_runtime.hpp"
#include "cluster/store.hpp"
#include "cluster/store_client.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::kubelet {
namespace {

// Keeps of which sandbox, by its attempt, images were pulled for.
class PullRuntime final : public ScriptRuntime {
 public:
  using ScriptRuntime::ScriptRuntime;
  void pull_image(const std::string& reference, const SandboxConfig& sandbox,
                  Done<ImageStatus> done) override {
    pulled_for.push_back(sandbox.attempt);
    ScriptRuntime::pull_image(reference, sandbox, std::move(done));
  }
  std::vector<std::uint32_t> pulled_for{};
};

// Between the kubelet and the store: counts what is asked about pods, can let the watch of pods
// come late, and answers, and can do something right before a patch.
class Between final : public api::ApiClient {
 public:
  Between(Loop& loop, api::ApiClient& below) : loop_(loop), below_(below) {}

  void call(api::Request request, api::Completion done) override {
    if (request.target.kind == &Pod::info()) {
      if (request.verb == api::Verb::get) ++reads;
      if (request.verb == api::Verb::patch) {
        ++patches;
        if (auto first = std::exchange(before_patch, nullptr)) first();
      }
    }
    below_.call(
        std::move(request), [this, done = std::move(done)](Result<api::Response> answer) mutable {
          events_.push_back(loop_.after(
              lane_, answers_late, [done = std::move(done), answer = std::move(answer)]() mutable {
                done(std::move(answer));
              }));
        });
  }
  std::unique_ptr<api::Watch> watch(api::Target target, api::ListOptions options,
                                    api::WatchSink sink) override {
    if (target.kind != &Pod::info())
      return below_.watch(std::move(target), std::move(options), std::move(sink));
    auto shared = std::make_shared<api::WatchSink>(std::move(sink));
    return below_.watch(
        std::move(target), std::move(options), [this, shared](const api::WatchEvent& event) {
          if (late == Duration::zero()) return (*shared)(event);
          events_.push_back(loop_.after(lane_, late, [shared, event] { (*shared)(event); }));
        });
  }
  const KindRegistry& kinds() const override { return below_.kinds(); }

  int reads = 0, patches = 0;
  Duration late{0}, answers_late{0};
  std::function<void()> before_patch{};

 private:
  Loop& loop_;
  api::ApiClient& below_;
  Lane lane_ = loop_.new_lane();
  std::vector<Timer> events_{};
};

class KubeletTest : public testing::Test {
 protected:
  KubeletTest() {
    add(R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status:
  addresses: [{type: InternalIP, address: 192.168.0.1}]
  allocatable: {cpu: '4', memory: 8Gi, pods: '5'}
)");
    KubeletOptions options;
    options.node_name = "n0";
    options.connect = [this](const std::string&, std::uint16_t port, Duration, Done<int> done) {
      loop_.post(loop_.new_lane(), [outcome = port == open_port_ ? 0 : ECONNREFUSED,
                                    done = std::move(done)]() mutable { done(outcome); });
    };
    kubelet_ = std::make_unique<Kubelet>(loop_, between_, trace_, runtime_, options);
    kubelet_->start();
    pass(1s);
  }

  void add(const std::string& yaml) {
    const auto documents = parse_yaml(yaml, "test");
    ASSERT_TRUE(documents) << documents.error().text();
    for (const YamlDocument& document : *documents) {
      auto decoded = decode_object(kinds_, document.value);
      ASSERT_TRUE(decoded) << decoded.error().text();
      const auto status = as<Node>(decoded->object);
      if (decoded->object->kind().namespaced && decoded->object->metadata.namespace_.empty())
        decoded->object->metadata.namespace_ = "default";
      const auto made = store_.call(api::create(decoded->object), "test");
      ASSERT_TRUE(made) << made.error().text();
      if (!status) continue;
      auto with_status = std::static_pointer_cast<Node>(made->object->clone());
      with_status->status = status->status;
      ASSERT_TRUE(store_.call(api::update(with_status, "status"), "test"));
    }
  }
  void add_pod(const std::string& name, const std::string& spec,
               const std::string& annotations = "{}") {
    add("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: " + annotations +
        "}\nspec: {nodeName: n0, " + spec + "}\n");
  }
  void pass(Duration time) { loop_.run_until(loop_.now() + time); }
  std::shared_ptr<const Pod> pod(std::string_view name) const {
    return store_.find<Pod>("default", name);
  }
  void remove(std::string_view name) { ASSERT_TRUE(store_.call(api::remove(*pod(name)), "test")); }
  // Another's strategic merge patch of the status.
  void write_over(std::string_view name, const std::string& status) {
    const auto made =
        store_.call(api::patch(*pod(name), api::PatchType::strategic,
                               boost::json::parse("{\"status\": " + status + "}"), "status"),
                    "test");
    ASSERT_TRUE(made) << made.error().text();
  }
  // Of a run that began at 0 s with the kubelet.
  void pass_until(Duration time) { loop_.run_until(began + time); }
  int events(std::string_view reason) const {
    int count = 0;
    for (const auto& [key, object] : store_.objects(Event::info()))
      if (const auto event = as<Event>(object); event->reason == reason) count += event->count;
    return count;
  }

  static constexpr auto one = "restartPolicy: Never, containers: [{name: c, image: busybox}]";

  static constexpr Time began{std::chrono::seconds(1'000'000'000)};
  VirtualLoop loop_{Random(7), began, VirtualLoop::Order::fifo};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(3), trace_, kinds_};
  StoreClient client_{loop_, store_, "kubelet"};
  Between between_{loop_, client_};
  PullRuntime runtime_{loop_, ScriptRuntime::Keep::calls};
  int open_port_ = 0;  // what TCP probes find
  std::unique_ptr<Kubelet> kubelet_;
};

TEST_F(KubeletTest, runs_a_pod_and_reports_its_end) {
  add_pod("p", one, "{rig/exit.c: 0 after 5}");
  pass(3s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  EXPECT_EQ(pod("p")->status.hostIP, "192.168.0.1");
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Succeeded");
}

TEST_F(KubeletTest, a_tcp_probe_tries_to_connect) {
  add_pod(
      "p",
      "containers: [{name: c, image: busybox, ports: [{name: rendezvous, containerPort: 23456}],"
      " readinessProbe: {tcpSocket: {port: rendezvous}, periodSeconds: 1}}]");
  pass(10s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "False");
  std::string told;
  for (const auto& [key, object] : store_.objects(Event::info()))
    if (const auto event = as<Event>(object); event->reason == "Unhealthy") told = event->message;
  EXPECT_TRUE(told.starts_with("Readiness probe failed: dial tcp ")) << told;
  EXPECT_TRUE(told.ends_with(":23456: connect: connection refused")) << told;
  open_port_ = 23456;
  pass(10s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
}

TEST_F(KubeletTest, a_pod_at_rest_costs_nothing) {
  add_pod("p", one);
  pass(10s);
  const std::uint64_t steps = loop_.steps();
  pass(3600s);
  EXPECT_EQ(loop_.steps(), steps);
}

TEST_F(KubeletTest, a_pod_that_runs_is_remembered_as_it_is_now_alone) {
  add_pod("p", one);
  const std::weak_ptr<const Pod> first = pod("p");
  pass(10s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  store_.compact();
  EXPECT_TRUE(first.expired());
}

// Upstream asks every second whether a pod is past its deadline; here the change of it is looked
// at.
TEST_F(KubeletTest, a_deadline_that_is_brought_forward_holds) {
  add_pod("p", std::string("activeDeadlineSeconds: 3600, ") + one);
  pass(10s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  ASSERT_TRUE(
      store_.call(api::patch(*pod("p"), api::PatchType::merge,
                             boost::json::parse(R"({"spec":{"activeDeadlineSeconds":20}})")),
                  "test"));
  pass(9s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.reason, "DeadlineExceeded");
}

// Upstream HandlePodReconcile: a status that another wrote wakes the pod for its gates alone.
TEST_F(KubeletTest, a_readiness_gate_is_looked_at_when_somebody_sets_it) {
  add_pod("p", std::string("readinessGates: [{conditionType: example.com/open}], ") + one);
  pass(10s);
  const auto says = [&] { return pod("p")->status.condition("Ready")->status; };
  ASSERT_EQ(says(), "False");
  for (const std::string value : {"True", "False"}) {
    ASSERT_TRUE(store_.call(
        api::patch(*pod("p"), api::PatchType::strategic,
                   boost::json::parse(R"({"status":{"conditions":[{"type":"example.com/open",)"
                                      R"("status":")" +
                                      value + "\"}]}}"),
                   "status"),
        "test"));
    pass(2s);
    EXPECT_EQ(says(), value);
  }
}

TEST_F(KubeletTest, a_pull_names_the_sandbox_that_is_there) {
  add_pod("p", "containers: [{name: c, image: busybox, imagePullPolicy: Always}]",
          "{rig/exit.c: 1 after 30}");
  pass(5s);
  runtime_.sandbox_dies("default", "p");
  pass(20s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  pass(60s);  // it has ended and was started again
  EXPECT_EQ(runtime_.pulled_for, (std::vector<std::uint32_t>{0, 1, 1}));
}

TEST_F(KubeletTest, refuses_a_pod_that_finds_no_room_beside_the_others) {
  const std::string half =
      "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: "
      "'3'}}}]";
  add_pod("a", half);
  add_pod("b", half);
  pass(3s);
  EXPECT_EQ(pod("a")->status.phase, "Running");
  EXPECT_EQ(pod("b")->status.phase, "Failed");
  EXPECT_EQ(pod("b")->status.reason, "OutOfcpu");
  EXPECT_EQ(pod("b")->status.message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, "
            "capacity: 4000");
}

TEST_F(KubeletTest, a_refused_pod_stays_as_it_is_and_goes_when_deleted) {
  add_pod("p", "nodeSelector: {disk: ssd}, containers: [{name: c, image: busybox}]");
  pass(3s);
  const std::string before = pod("p")->metadata.resourceVersion;
  EXPECT_EQ(pod("p")->status.reason, "NodeAffinity");
  kubelet_->restart();
  pass(10s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, before);
  remove("p");
  pass(1s);
  EXPECT_FALSE(pod("p"));
}

TEST_F(KubeletTest, a_finished_pod_gives_its_room_back) {
  const std::string half =
      "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: "
      "'3'}}}]";
  add_pod("a", half, "{rig/exit.c: 0 after 1}");
  pass(5s);
  add_pod("b", half);
  pass(3s);
  EXPECT_EQ(pod("b")->status.phase, "Running");
}

// Upstream HandlePodAdditions: in the order of their creation, beside those who run.
TEST_F(KubeletTest, who_came_while_no_kubelet_was_there_is_asked_after_those_who_run) {
  const auto asks = [](const std::string& cpu) {
    return "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: "
           "{cpu: '" +
           cpu + "'}}}]";
  };
  add_pod("d", asks("2"));
  pass(3s);
  kubelet_->stop();
  add_pod("c", asks("2"));
  pass(2s);
  add_pod("a", asks("1"));
  pass(2s);
  add_pod("b", asks("2"));
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("d")->status.phase, "Running");
  EXPECT_EQ(pod("c")->status.phase, "Running");
  EXPECT_EQ(pod("a")->status.reason, "OutOfcpu");
  EXPECT_EQ(pod("b")->status.reason, "OutOfcpu");
}

// Upstream generateAPIPodStatus: reason and message stay with their phase.
TEST_F(KubeletTest, why_a_pod_was_evicted_is_known_to_the_next_process) {
  add_pod("p", one);
  pass(3s);
  ASSERT_TRUE(
      kubelet_->evict("default", "p", {"Evicted", "The node was low on resource: memory."}));
  pass(40s);
  ASSERT_EQ(pod("p")->status.reason, "Evicted");
  kubelet_->stop();
  kubelet_->start();
  pass(30s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.reason, "Evicted");
  EXPECT_EQ(pod("p")->status.message, "The node was low on resource: memory.");
}

// Upstream isPodStatusCacheTerminal: to a new process too.
TEST_F(KubeletTest, a_finished_pod_holds_no_room_when_the_kubelet_starts_anew) {
  const std::string most =
      "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: "
      "'3'}}}]";
  add_pod("a", most, "{rig/exit.c: 0 after 1}");
  pass(5s);
  ASSERT_EQ(pod("a")->status.phase, "Succeeded");
  kubelet_->stop();
  add_pod("b", most);
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("b")->status.phase, "Running");
}

// Upstream asks for room beside the pods that it has objects of (kubelet.go getAllocatedPods).
TEST_F(KubeletTest, a_pod_whose_object_was_taken_away_holds_no_room) {
  const std::string most =
      "restartPolicy: Never, containers: [{name: c, image: busybox, resources: {requests: {cpu: "
      "'3'}}}]";
  add_pod("a", most, "{rig/term.c: ignore}");
  pass(3s);
  remove("a");
  pass(2s);
  add_pod("b", most);
  pass(2s);
  EXPECT_EQ(pod("b")->status.reason, "OutOfcpu");
  api::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("a"), at_once), "test"));
  add_pod("c", most);
  pass(3s);
  EXPECT_EQ(pod("c")->status.phase, "Running");
}

// Upstream scheduler/util GetHostPorts.
TEST_F(KubeletTest, a_sidecar_has_its_host_port_as_long_as_its_pod) {
  const std::string port = "image: busybox, ports: [{hostPort: 80, containerPort: 80}]}]";
  add_pod("a",
          "containers: [{name: c, image: busybox}], initContainers: [{name: s, restartPolicy: "
          "Always, " +
              port);
  pass(3s);
  add_pod("b", "containers: [{name: c, " + port);
  add_pod("d", "containers: [{name: c, image: busybox}], initContainers: [{name: once, " + port);
  pass(3s);
  EXPECT_EQ(pod("a")->status.phase, "Running");
  EXPECT_EQ(pod("b")->status.reason, "NodePorts");
  EXPECT_EQ(pod("d")->status.reason, "");  // what only initialises is not asked
}

TEST_F(KubeletTest, a_deleted_pod_goes_when_its_containers_have_ended) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/term.c: 0 after 3}");
  pass(3s);
  remove("p");
  pass(2s);
  ASSERT_TRUE(pod("p"));
  EXPECT_EQ(pod("p")->status.phase, "Running");
  pass(4s);
  EXPECT_FALSE(pod("p"));
  EXPECT_EQ(kubelet_->pod_count(), 0u);
}

TEST_F(KubeletTest, an_eviction_says_why) {
  add_pod("p", one);
  pass(3s);
  EXPECT_FALSE(kubelet_->evict("default", "q", PodVerdict{}));
  EXPECT_TRUE(kubelet_->evict(
      "default", "p", PodVerdict{"Evicted", "The node was low on resource: memory. ", "memory"}));
  pass(5s);
  const PodStatus& status = pod("p")->status;
  EXPECT_EQ(status.phase, "Failed");
  EXPECT_EQ(status.reason, "Evicted");
  EXPECT_EQ(status.message, "The node was low on resource: memory. ");
  ASSERT_NE(status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(status.condition("DisruptionTarget")->reason, "TerminationByKubelet");
}

TEST_F(KubeletTest, what_ended_while_no_kubelet_ran_is_found_by_the_next_one) {
  add_pod("p", one);
  pass(3s);
  kubelet_->stop();
  runtime_.container_exit("default", "p", "c", 3);
  pass(60s);
  EXPECT_EQ(pod("p")->status.phase, "Running");
  kubelet_->start();
  pass(5s);
  EXPECT_EQ(pod("p")->status.phase, "Failed");
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).state.terminated->exitCode, 3);
}

TEST_F(KubeletTest, a_sandbox_that_was_lost_while_no_kubelet_ran_is_made_anew) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]");
  pass(3s);
  kubelet_->stop();
  runtime_.sandbox_dies("default", "p");
  pass(60s);
  kubelet_->start();
  pass(30s);
  EXPECT_TRUE(pod("p")->status.containerStatuses.at(0).state.running);
  EXPECT_EQ(events("SandboxChanged"), 1);
}

TEST_F(KubeletTest, a_pod_that_was_removed_while_no_kubelet_ran_is_stopped) {
  add_pod("p", one);
  pass(3s);
  kubelet_->stop();
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("p"), now), "test"));
  kubelet_->start();
  pass(5s);
  EXPECT_EQ(runtime_.calls("default", "p").back(), "StopPodSandbox attempt 0");
}

TEST_F(KubeletTest, the_back_off_grows_and_is_reset_after_ten_good_minutes) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 1, 1 after 1, 1 after 1, 1 after 700, 1 after 1, run'}");
  pass(5s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 1);
  pass(70s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 3);
  // It ran for 700 s: the next restart is at once, the one after it 10 s later.
  pass(680s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 4);
  pass(15s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 5);
}

TEST_F(KubeletTest, kubelets_of_many_nodes_share_a_view) {
  kubelet_.reset();
  KubeletOptions options;
  options.view = std::make_shared<ClusterView>(loop_, client_, runtime_);
  std::vector<std::unique_ptr<Kubelet>> kubelets;
  for (const std::string name : {"m0", "m1"}) {
    add("apiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\n");
    options.node_name = name;
    kubelets.push_back(std::make_unique<Kubelet>(loop_, client_, trace_, runtime_, options));
    kubelets.back()->start();
    add("apiVersion: v1\nkind: Pod\nmetadata: {name: on-" + name + "}\nspec: {nodeName: " + name +
        ", containers: [{name: c, image: busybox}]}\n");
  }
  pass(3s);
  for (const auto& kubelet : kubelets) {
    EXPECT_EQ(kubelet->pod_count(), 1u);
    EXPECT_EQ(pod("on-" + kubelet->node_name())->status.phase, "Running");
  }
}

// --- what others write over (upstream's status manager, every 10 s from its start) ---

TEST_F(KubeletTest, what_another_wrote_over_is_put_right_at_the_next_tick) {
  add_pod("p", "initContainers: [{name: i, image: busybox}], " + std::string(one),
          "{rig/exit.i: 0 after 1}");
  pass_until(27s);
  const PodStatus before = pod("p")->status;
  ASSERT_EQ(before.phase, "Running");
  for (const std::string change : {
           R"({"phase": "Pending", "reason": "Odd", "message": "odd"})",
           R"({"phase": "Failed"})",
           R"({"podIP": "1.2.3.4", "podIPs": [{"$patch": "replace"}, {"ip": "1.2.3.4"}]})",
           R"({"containerStatuses": null})",
           R"({"initContainerStatuses": [{"name": "i", "ready": false, "restartCount": 3,
               "image": "x", "imageID": "x", "state": {"running": {}}}]})",
           R"({"conditions": [{"type": "Ready", "status": "False", "reason": "Odd",
               "lastTransitionTime": "2026-01-01T00:00:00Z"}]})",
           R"({"conditions": [{"type": "PodScheduled", "status": "False"}]})",
           R"({"conditions": [{"type": "Initialized", "message": "odd"}]})",
           R"({"conditions": [{"type": "ContainersReady", "$patch": "delete"}]})",
           R"({"conditions": [{"type": "PodResizePending", "status": "True"}]})",
           R"({"startTime": "2026-01-01T00:00:00Z", "hostIP": null})",
       }) {
    write_over("p", change);
    const std::string version = pod("p")->metadata.resourceVersion;
    const Duration tick = loop_.now() - began + 3s;
    pass_until(tick - 1ms);
    EXPECT_EQ(pod("p")->metadata.resourceVersion, version) << change;
    pass_until(tick + 20ms);
    EXPECT_EQ(to_json(pod("p")->status), to_json(before)) << change;
    pass_until(tick + 7s);
  }
  const std::uint64_t steps = loop_.steps();
  pass(3600s);
  EXPECT_EQ(loop_.steps(), steps);
}

TEST_F(KubeletTest, what_others_say_stays_as_they_say_it) {
  add_pod("p", one);
  pass_until(5s);
  write_over("p", R"({"conditions": [{"type": "example.com/a", "status": "True"},
                                     {"type": "DisruptionTarget", "status": "True"}]})");
  write_over("p", R"({"conditions": [{"type": "Ready", "status": "False"}]})");
  pass_until(11s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
  EXPECT_EQ(pod("p")->status.condition("example.com/a")->status, "True");
  EXPECT_EQ(pod("p")->status.condition("DisruptionTarget")->status, "True");
  // A time alone is nothing that a kubelet would write for.
  write_over("p", R"({"conditions": [{"type": "Ready",
                                      "lastTransitionTime": "2026-01-01T00:00:00Z"}]})");
  write_over("p", R"({"conditions": [{"type": "example.com/a", "status": "False"},
                                     {"type": "DisruptionTarget", "$patch": "delete"}]})");
  const std::string version = pod("p")->metadata.resourceVersion;
  pass(60s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, version);
}

TEST_F(KubeletTest, a_finished_pod_that_was_written_over_is_put_right_too) {
  add_pod("p", one, "{rig/exit.c: 1 after 2}");
  pass_until(12s);
  const PodStatus before = pod("p")->status;
  ASSERT_EQ(before.phase, "Failed");
  write_over("p", R"({"phase": "Running"})");
  pass_until(21s);
  EXPECT_EQ(to_json(pod("p")->status), to_json(before));
}

TEST_F(KubeletTest, what_is_written_over_while_no_kubelet_runs_waits_for_the_next_one) {
  add_pod("p", one);
  pass_until(5s);
  kubelet_->stop();
  write_over("p", R"({"podIP": null, "conditions": [{"type": "Ready", "status": "False"}]})");
  const std::string version = pod("p")->metadata.resourceVersion;
  pass(60s);
  EXPECT_EQ(pod("p")->metadata.resourceVersion, version);
  kubelet_->start();
  pass(3s);
  EXPECT_EQ(pod("p")->status.condition("Ready")->status, "True");
  EXPECT_FALSE(pod("p")->status.podIP.empty());
}

// The kubelet's patch has not what came between its look and the patch; it may see so before it has
// the answer.
TEST_F(KubeletTest, what_is_written_over_in_the_midst_of_a_write_is_put_right) {
  add_pod("p", std::string("readinessGates: [{conditionType: example.com/a}], ") + one);
  pass_until(4s);
  ASSERT_EQ(pod("p")->status.phase, "Running");
  const std::string address = pod("p")->status.podIP;
  for (const Duration late : {0ms, 5ms}) {
    between_.answers_late = late;
    between_.before_patch = [this] { write_over("p", R"({"phase": "Pending", "podIP": null})"); };
    const std::string gate = late == 0ms ? "True" : "False";
    write_over("p", R"({"conditions": [{"type": "example.com/a", "lastTransitionTime":
                        "2026-01-01T00:00:00Z", "status": ")" +
                        gate + R"("}]})");
    pass(4s);
    ASSERT_FALSE(between_.before_patch);
    EXPECT_EQ(pod("p")->status.condition("Ready")->status, gate);
    EXPECT_EQ(pod("p")->status.phase, "Pending");
    pass(6s);
    EXPECT_EQ(pod("p")->status.phase, "Running");
    EXPECT_EQ(pod("p")->status.podIP, address);
  }
}

// A pod with gates is looked at as soon as its Ready is wrong, and who looks at a pod that is
// shown as failed ends it. Others are put right before anybody looks.
TEST_F(KubeletTest, a_pod_with_gates_that_is_shown_as_failed_ends) {
  add_pod("gated", std::string("readinessGates: [{conditionType: example.com/a}], ") + one);
  add_pod("plain", one);
  pass_until(5s);
  write_over("gated", R"({"conditions": [{"type": "example.com/a", "status": "True"}]})");
  pass_until(12s);
  ASSERT_EQ(pod("gated")->status.condition("Ready")->status, "True");
  for (const std::string name : {"gated", "plain"}) write_over(name, R"({"phase": "Failed"})");
  pass_until(25s);
  EXPECT_EQ(pod("plain")->status.phase, "Running");
  EXPECT_EQ(pod("gated")->status.phase, "Failed");
  EXPECT_EQ(runtime_.calls("default", "gated").back(), "StopPodSandbox attempt 0");
}

TEST_F(KubeletTest, echoes_that_come_late_are_no_change_by_another) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 5, 1 after 3, run'}");
  pass_until(4s);
  between_.late = 12s;
  pass_until(90s);
  EXPECT_EQ(pod("p")->status.containerStatuses.at(0).restartCount, 2);
  EXPECT_EQ(between_.reads, between_.patches);
}

TEST_F(KubeletTest, a_pod_that_is_gone_is_not_put_right) {
  add_pod("p", one, "{rig/term.c: ignore}");
  pass_until(4s);
  remove("p");
  pass_until(6s);
  write_over("p", R"({"podIP": null})");
  pass_until(7s);
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(store_.call(api::remove(*pod("p"), now), "test"));
  const int reads = between_.reads;
  pass_until(25s);
  EXPECT_EQ(between_.reads, reads);
}

TEST_F(KubeletTest, counts_what_happens_again_in_one_event) {
  add_pod("p", "restartPolicy: Always, containers: [{name: c, image: busybox}]",
          "{rig/exit.c: '1 after 1'}");
  pass(30s);
  EXPECT_EQ(events("Started"), 3);
  EXPECT_GE(events("BackOff"), 2);
}

}  // namespace
}  // namespace ddptwin::kubelet
