#include "scenario/virtual_run.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "scenario/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

Scenario parse(const std::string& text) {
  static const KindRegistry kinds;
  auto parsed = parse_scenario("s.yaml", kinds,
                               [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(parsed) << parsed.error().text();
  return std::move(*parsed);
}

std::string job(const std::string& arguments) {
  std::string text =
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\n"
      "spec:\n  pytorchReplicaSpecs:\n";
  for (const char* type : {"Master", "Worker"})
    text += "    " + std::string(type) +
            ":\n      replicas: 1\n      restartPolicy: OnFailure\n      template: {spec: "
            "{containers: [{name: pytorch, image: ddptwin-worker, args: [" +
            arguments + "]}]}}\n";
  return text;
}

TEST(VirtualRunTest, a_job_comes_to_its_end_and_the_seed_decides_only_the_order) {
  const Scenario one = parse(job("--steps, '3', --step-time, 1h"));
  // Without an expectation that bounds it, the scenario's timeout of two minutes would end it.
  Scenario patient = one;
  patient.timeout = 24h;
  const auto result = run_virtually(patient, {.seed = 3});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
  EXPECT_EQ(result->mode, Mode::virtual_);
  EXPECT_GE(result->ended_at - result->started_at, 3h);
  EXPECT_EQ(result->started_at, virtual_start);
  EXPECT_EQ(result->torch, "2.x");
  EXPECT_GT(result->records, 20U);
  EXPECT_EQ(result->repeat(), "ddptwin run s.yaml --mode virtual --seed 3 --torch 2.x");
}

TEST(VirtualRunTest, runs_side_by_side_share_nothing) {
  const Scenario one = parse(job("--steps, '3'"));
  const auto hash = [&one](std::uint64_t seed) {
    const auto result = run_virtually(one, {.seed = seed});
    return result ? *result->trace_hash : 0;
  };
  const std::uint64_t expected[] = {hash(1), hash(2)};
  EXPECT_NE(expected[0], 0U);
  EXPECT_NE(expected[0], expected[1]);
  std::uint64_t found[] = {0, 0};
  std::thread first([&] { found[0] = hash(1); });
  std::thread second([&] { found[1] = hash(2); });
  first.join();
  second.join();
  EXPECT_EQ(found[0], expected[0]);
  EXPECT_EQ(found[1], expected[1]);
}

TEST(VirtualRunTest, sinks_hear_of_everything_and_the_hash_is_optional) {
  const Scenario one = parse(job("--steps, '3'"));
  VirtualRun run(one, {.hash = false});
  // The namespaces that every cluster begins with are older than the run.
  std::uint64_t records = run.records();
  run.world().trace().add_sink([&](const Record&) { ++records; });
  ASSERT_TRUE(run.start());
  const auto result = run.finish();
  ASSERT_TRUE(result);
  EXPECT_EQ(records, run.records());
  EXPECT_EQ(run.trace_hash(), 0U);
  EXPECT_FALSE(result->trace_hash);
}

TEST(VirtualRunTest, what_never_ends_is_ended_by_the_timeout) {
  const Scenario one = parse(job("--steps, '3', --fail-at-step, '1', --fail-with, hang"));
  const auto result = run_virtually(one, {});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_FALSE(result->passed());
}

TEST(VirtualRunTest, the_pytorch_is_the_options_or_the_scenarios) {
  const Scenario one =
      parse("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {torch: '1.13'}\n---\n" +
            job("--steps, '3'"));
  EXPECT_EQ(run_virtually(one, {})->torch, "1.13");
  EXPECT_EQ(run_virtually(one, {.torch = "2.x"})->torch, "2.x");
}

}  // namespace
}  // namespace ddptwin::scenario
