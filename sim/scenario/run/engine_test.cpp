#include "scenario/run/engine.hpp"

#include <gtest/gtest.h>

#include "core/virtual_loop.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario::engine_test {
namespace {

constexpr std::string_view config_map =
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: one}\n";

// A scenario of objects without pods, in virtual time.
class ScenarioRun {
 public:
  // `meanwhile` happens a second after the start, in one loop turn.
  explicit ScenarioRun(
      const std::string& spec, const std::function<void(World&)>& meanwhile = [](World&) {}) {
    const KindRegistry kinds;
    const std::string text = "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" + spec +
                             std::string(config_map);
    auto parsed = parse_scenario("s.yaml", kinds,
                                 [&](const std::string&) { return Result<std::string>(text); });
    EXPECT_TRUE(parsed) << parsed.error().text();
    scenario_ = std::move(*parsed);
    WorldOptions options;
    world_.emplace(loop_, std::move(options), nullptr);
    client_ = world_->client("user");
    engine_.emplace(
        loop_, world_->trace(), *client_, scenario_,
        ContainerPorts{.signal = [](const ContainerId&, int, const ProcessChoice&,
                                    Done<void> done) { done({}); },
                       .exec = [](const ContainerId&, std::vector<std::string>, Duration,
                                  Done<ExecResult> done) { done(ExecResult{}); }},
        [this] { over_ = true; });
    EXPECT_TRUE(world_->start());
    engine_->start();
    const Timer timer = loop_.after(loop_.new_lane(), 1s, [&] { meanwhile(*world_); });
    loop_.run_until(Time() + 10min);
    EXPECT_TRUE(over_);
  }
  const Engine& engine() const { return *engine_; }
  double seconds() const { return seconds_of(engine_->ended_at() - engine_->started_at()); }
  std::string verdicts() const {
    std::string out;
    for (const StepResult& step : engine_->steps()) out += to_string(step.verdict).front();
    out += ' ';
    for (const auto& expectation : engine_->expectations())
      out += to_string(expectation.verdict).front();
    return out;
  }

 private:
  VirtualLoop loop_{Random(1), Time()};
  Scenario scenario_{};
  std::optional<World> world_{};
  std::unique_ptr<api::ApiClient> client_{};
  std::optional<Engine> engine_{};
  bool over_ = false;
};

TEST(Engine, takes_steps_one_after_another_by_time_and_state) {
  const ScenarioRun run(R"(
  steps:
  - {patch: {of: configmap/c, patch: {data: {a: two}}}, after: 2s}
  - {delete: configmap/c, at: 5s, when: {of: configmap/c, match: {data: {a: two}}}}
  - {wait: {of: configmap/c, count: 0}}
  expect:
  - eventually: {of: configmap/c, match: {data: {a: two}}}
    within: 3s
)");
  EXPECT_EQ(run.verdicts(), "hhhh h");
  EXPECT_NEAR(run.seconds(), 5, 0.1);
}

TEST(Engine, a_step_that_cannot_be_taken_ends_the_run) {
  const ScenarioRun run("  steps:\n  - kill: pod/nobody\n  - wait: 1s\n");
  EXPECT_EQ(run.verdicts(), "hfo ");
  EXPECT_EQ(run.engine().steps()[1].detail,
            "no container runs to be killed: there never was a pod/nobody");
}

TEST(Engine, a_command_in_nobody_ends_the_run) {
  const ScenarioRun run("  steps:\n  - exec: {of: pod/nobody, command: [hostname]}\n");
  EXPECT_EQ(run.verdicts(), "hf ");
  EXPECT_EQ(run.engine().steps()[1].detail,
            "no container runs in which a command could run: there never was a pod/nobody");
}

TEST(Engine, what_is_applied_by_the_server_is_its_managers) {
  const ScenarioRun run(R"(
  steps:
  - patch: {of: configmap/c, type: apply, fieldManager: one, patch: {data: {b: one}}}
  - patch: {of: configmap/c, type: apply, fieldManager: two, patch: {data: {b: two}}}
    refused: 'Apply failed with 1 conflict: conflict with "one"'
  - patch: {of: configmap/c, type: apply, fieldManager: two, force: true, patch: {data: {b: two}}}
  expect:
  - finally: {of: configmap/c, match: {data: {a: one, b: two}}}
)");
  EXPECT_EQ(run.verdicts(), "hhhh h") << run.engine().steps().back().detail;
}

// kubectl sends what is written, and the API refuses what it does not know of it.
TEST(Engine, what_a_step_applies_is_decoded_strictly) {
  const ScenarioRun run(R"(
  steps:
  - apply: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, dta: {a: b}}}
    refused: 'unknown field "dta"'
)");
  EXPECT_EQ(run.verdicts(), "hh ") << run.engine().steps().back().detail;
}

TEST(Engine, a_step_that_was_never_due_says_what_for) {
  const ScenarioRun run(R"(
  steps:
  - {delete: configmap/c, when: {of: configmap/c, match: {data: {a: three}}}}
  timeout: 3s
)");
  EXPECT_TRUE(run.engine().steps().back().detail.starts_with(
      "the run ended before {of: configmap/c, match: {data: {a: three}}}: configmap/c: "))
      << run.engine().steps().back().detail;
}

// It would wait for ever otherwise.
TEST(Engine, a_kill_of_a_container_that_no_pod_has_is_told_at_once) {
  const ScenarioRun run(R"(
  steps:
  - apply:
      object:
        apiVersion: v1
        kind: Pod
        metadata: {name: p}
        spec:
          initContainers: [{name: first, image: ddptwin-worker, command: [sleep, '1']}]
          containers: [{name: main, image: ddptwin-worker, command: [sleep, '60']}]
  - kill: {of: pod/p, container: maim}
)");
  EXPECT_EQ(run.engine().steps().back().detail,
            "no container of pod/p is called maim: they are first, main");
  EXPECT_LT(run.seconds(), 1);
}

TEST(Engine, a_refusal_can_be_what_is_wanted) {
  const auto patch = [](const std::string& name, const std::string& refused) {
    const ScenarioRun run("  steps:\n  - {patch: {of: configmap/c, patch: {metadata: {labels: {" +
                          name + ": b}}}}, refused: '" + refused + "'}\n");
    return run.verdicts() + " " + run.engine().steps().back().detail;
  };
  EXPECT_EQ(patch("-a", "name part must consist of"), "hh  ");
  EXPECT_TRUE(patch("-a", "is forbidden").starts_with("hf  ConfigMap \"c\" is invalid"));
  EXPECT_EQ(patch("a", "is invalid"), "hf  the API did not refuse it");
}

// Of several calls each is to be refused, and the next step begins when all are answered.
TEST(Engine, a_refusal_of_several_is_one_of_each) {
  const auto remove = [](const std::vector<std::string>& namespaces) {
    std::string steps = "  steps:\n";
    for (const std::string& name : namespaces)
      steps += "  - apply: {object: {apiVersion: v1, kind: Namespace, metadata: {name: " + name +
               ", labels: {chosen: a}}}}\n";
    const ScenarioRun run(steps +
                          "  - delete: {of: {kind: Namespace, labels: chosen=a}}\n"
                          "    refused: may not be deleted\n"
                          "  - {patch: {of: configmap/c, patch: {data: {a: two}}}}\n"
                          "  - {wait: {of: configmap/c, match: {data: {a: two}}}, within: 2s}\n");
    return run.verdicts() + " " + run.engine().steps()[namespaces.size() + 1].detail;
  };
  EXPECT_EQ(remove({"default", "kube-system", "kube-public"}), "hhhhhhh  ");
  EXPECT_EQ(remove({"default", "mine"}), "hhhfoo  the API did not refuse it");
}

TEST(Engine, a_state_that_does_not_come_in_time_fails_its_step) {
  const ScenarioRun run("  steps:\n  - {wait: {of: pod/p, phase: Running}, within: 4s}\n");
  EXPECT_EQ(run.verdicts(), "hf ");
  EXPECT_NEAR(run.seconds(), 4, 0.1);
}

TEST(Engine, a_wait_begins_when_its_step_does) {
  const auto waits = [](const std::string& step) {
    const ScenarioRun run("  steps:\n  - {wait: 3s, " + step + "}\n");
    EXPECT_EQ(run.verdicts(), "hh ") << step;
    return run.seconds();
  };
  EXPECT_NEAR(waits("name: w"), 3, 0.1);
  EXPECT_NEAR(waits("after: 5s"), 8, 0.1);
  EXPECT_NEAR(waits("at: 5s"), 8, 0.1);
  EXPECT_NEAR(waits("when: {of: configmap/c}, at: 1s"), 4, 0.1);
}

TEST(Engine, the_timeout_ends_everything) {
  const ScenarioRun run("  expect:\n  - eventually: {of: pod/p}\n  timeout: 7s\n");
  EXPECT_TRUE(run.engine().timed_out());
  EXPECT_EQ(run.verdicts(), "h f");
  EXPECT_NEAR(run.seconds(), 7, 0.1);
}

TEST(Engine, apply_changes_what_is_there_already) {
  const ScenarioRun run(R"(
  steps:
  - apply: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: three}}}
  expect:
  - finally: {of: configmap/c, match: {data: {a: three}}, created: 1}
)");
  EXPECT_EQ(run.verdicts(), "hh h");
}

// The ConfigMap says another word and the first one again, between two turns of the loop.
void blink(World& world) {
  for (const char* word : {"two", "one"}) {
    auto changed =
        std::static_pointer_cast<ConfigMap>(world.find(ConfigMap::info(), "default", "c")->clone());
    changed->data.edit()["a"] = word;
    EXPECT_TRUE(world.call(api::update(changed), "user"));
  }
}

TEST(Engine, a_state_that_lasts_for_one_record_is_seen) {
  const ScenarioRun run(R"(
  steps:
  - {wait: {of: configmap/c, match: {data: {a: two}}}, within: 3s}
  expect:
  - eventually: {of: configmap/c, match: {data: {a: two}}}
    within: 3s
  - never: {of: configmap/c, match: {data: {a: two}}}
)",
                        blink);
  EXPECT_EQ(run.verdicts(), "hh hf");
}

}  // namespace
}  // namespace ddptwin::scenario::engine_test
