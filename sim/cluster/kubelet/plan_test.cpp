#include "cluster/kubelet/plan.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::plan_test {
namespace {

Time at(int seconds) { return Time(std::chrono::seconds(1000000 + seconds)); }

// A pod and what runs of it, built up by words.
struct Scene {
  Pod pod{};
  PodRuntimeState state{};
  std::map<std::pair<ProbeKind, ContainerId>, ProbeResult> probes{};

  explicit Scene(std::string_view policy) { pod.spec.edit().restartPolicy = policy; }

  Scene& main(std::string name) {
    pod.spec.edit().containers.edit().emplace_back().name = std::move(name);
    return *this;
  }
  Scene& init(std::string name, bool sidecar = false) {
    Container& made = pod.spec.edit().initContainers.edit().emplace_back();
    made.name = std::move(name);
    if (sidecar) made.restartPolicy = "Always";
    return *this;
  }
  Scene& sandbox(bool ready = true) {
    SandboxState made;
    made.id = "s";
    made.ready = ready;
    made.created_at = at(0);
    std::vector<SandboxState>& list = state.sandboxes.edit();
    list.insert(list.begin(), std::move(made));
    return *this;
  }
  Scene& has(const std::string& name, ContainerStage stage, int code = 0) {
    ContainerInstance made;
    made.id = name + "-id";
    made.name = name;
    made.stage = stage;
    made.exit_code = code;
    made.created_at = at(1);
    ContainerInstances& list = state.containers;
    list.insert(list.begin(), std::move(made));
    return *this;
  }
  Scene& probe(ProbeKind kind, const std::string& name, ProbeResult result) {
    probes[{kind, name + "-id"}] = result;
    return *this;
  }
  PodActions plan() const {
    return plan_actions(
        pod, state, [this](ProbeKind kind, const ContainerId& id) -> std::optional<ProbeResult> {
          const auto found = probes.find({kind, id});
          if (found == probes.end()) return std::nullopt;
          return found->second;
        });
  }
};

using Places = std::vector<std::size_t>;
constexpr auto running = ContainerStage::running;
constexpr auto exited = ContainerStage::exited;

TEST(Plan, a_new_pod_gets_a_sandbox_and_all_its_containers) {
  const PodActions actions = Scene("Never").main("a").main("b").plan();
  EXPECT_TRUE(actions.create_sandbox);
  EXPECT_EQ(actions.sandbox_attempt, 0u);
  EXPECT_EQ(actions.starts, (Places{0, 1}));
}

TEST(Plan, init_containers_come_first_and_one_at_a_time) {
  Scene scene("Never");
  scene.init("i1").init("i2").main("m");
  EXPECT_EQ(scene.plan().init_starts, Places{0});
  scene.sandbox().has("i1", running);
  EXPECT_TRUE(scene.plan().init_starts.empty());
  EXPECT_TRUE(scene.plan().starts.empty());
  scene.has("i1", exited, 0);
  EXPECT_EQ(scene.plan().init_starts, Places{1});
  scene.has("i2", exited, 0);
  EXPECT_TRUE(scene.plan().init_starts.empty());
  EXPECT_EQ(scene.plan().starts, Places{0});
}

TEST(Plan, a_failed_init_container_ends_a_never_pod_and_is_repeated_otherwise) {
  Scene never("Never"), on_failure("OnFailure");
  for (Scene* scene : {&never, &on_failure})
    scene->init("i").main("m").sandbox().has("i", exited, 1);
  EXPECT_TRUE(never.plan().kill_pod);
  EXPECT_TRUE(never.plan().init_starts.empty());
  EXPECT_FALSE(on_failure.plan().kill_pod);
  EXPECT_EQ(on_failure.plan().init_starts, Places{0});
}

TEST(Plan, what_follows_a_sidecar_starts_once_it_has_started) {
  Scene scene("Never");
  scene.init("s", true).main("m").sandbox().has("s", running);
  EXPECT_EQ(scene.plan().starts, Places{0});
  scene.pod.spec.edit().initContainers.edit()[0].startupProbe.emplace();
  EXPECT_TRUE(scene.plan().starts.empty());
  scene.probe(ProbeKind::startup, "s", ProbeResult::success);
  EXPECT_EQ(scene.plan().starts, Places{0});
}

TEST(Plan, an_ended_sidecar_is_started_again_while_main_runs) {
  const PodActions actions = Scene("Never")
                                 .init("s", true)
                                 .main("m")
                                 .sandbox()
                                 .has("s", exited, 0)
                                 .has("m", running)
                                 .plan();
  EXPECT_EQ(actions.init_starts, Places{0});
  EXPECT_FALSE(actions.kill_pod);
}

TEST(Plan, sidecars_do_not_keep_a_pod_alive) {
  const PodActions actions = Scene("Never")
                                 .init("s", true)
                                 .main("m")
                                 .sandbox()
                                 .has("s", running)
                                 .has("m", exited, 0)
                                 .plan();
  EXPECT_TRUE(actions.kill_pod);
  EXPECT_FALSE(actions.create_sandbox);
}

TEST(Plan, a_failed_liveness_probe_replaces_the_container) {
  Scene scene("Always");
  scene.main("c").sandbox().has("c", running).probe(ProbeKind::liveness, "c", ProbeResult::failure);
  const PodActions actions = scene.plan();
  ASSERT_EQ(actions.kills.size(), 1u);
  EXPECT_EQ(actions.kills[0].message, "Container c failed liveness probe, will be restarted");
  EXPECT_EQ(actions.starts, Places{0});
  EXPECT_FALSE(actions.kill_pod);
}

TEST(Plan, a_failed_liveness_probe_ends_a_never_pod) {
  Scene scene("Never");
  scene.main("c").sandbox().has("c", running).probe(ProbeKind::liveness, "c", ProbeResult::failure);
  EXPECT_TRUE(scene.plan().kill_pod);
  EXPECT_TRUE(scene.plan().starts.empty());
}

TEST(Plan, a_lost_sandbox_is_made_again_where_something_is_to_run) {
  Scene always("Always"), never("Never");
  for (Scene* scene : {&always, &never}) scene->main("c").sandbox(false).has("c", exited, 137);
  EXPECT_TRUE(always.plan().create_sandbox);
  EXPECT_EQ(always.plan().sandbox_attempt, 1u);
  EXPECT_FALSE(never.plan().create_sandbox);
  EXPECT_TRUE(never.plan().kill_pod);
}

TEST(Plan, a_rule_may_restart_all_containers) {
  Scene scene("Never");
  scene.main("a").main("b").sandbox().has("b", running).has("a", exited, 88);
  EXPECT_FALSE(scene.plan().restart_all);
  ContainerRestartRule rule;
  rule.action = "RestartAllContainers";
  rule.exitCodes = ExitCodesRule{"In", {88}};
  scene.pod.spec.edit().containers.edit()[0].restartPolicyRules.edit().push_back(rule);
  EXPECT_TRUE(scene.plan().restart_all);
}

}  // namespace
}  // namespace ddptwin::kubelet::plan_test
