#include "options.hpp"

#include <gtest/gtest.h>

namespace ddptwin::workers::options_test {
namespace {

using namespace std::chrono_literals;

TEST(Options, default_to_a_short_training_on_gloo) {
  const Parsed parsed = parse_options({});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.options.steps, 20);
  EXPECT_EQ(parsed.options.timeout, 30min);
  EXPECT_EQ(parsed.options.backend, Backend::gloo);
  EXPECT_FALSE(parsed.options.fail_rank);
}

TEST(Options, take_values_after_a_space_or_an_equals_sign) {
  const Parsed parsed = parse_options(
      {"--steps", "50", "--step-time=250ms", "--checkpoint", "/data/c.bin", "--fail-once",
       "--fail-at-step=7", "--fail-code", "137", "--fail-rank", "1", "--fail-with", "hang",
       "--allocate", "512Mi", "--no-shuffle", "--backend=nccl", "--engine", "gloo"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.options.steps, 50);
  EXPECT_EQ(parsed.options.step_time, 250ms);
  EXPECT_EQ(parsed.options.checkpoint, "/data/c.bin");
  EXPECT_TRUE(parsed.options.fail_once);
  EXPECT_EQ(parsed.options.fail_at_step, 7);
  EXPECT_EQ(parsed.options.fail_code, 137);
  EXPECT_EQ(parsed.options.fail_rank, 1);
  EXPECT_EQ(parsed.options.fail_with, FailureMode::hang);
  EXPECT_EQ(parsed.options.allocate, 512U << 20);
  EXPECT_FALSE(parsed.options.shuffle);
  EXPECT_EQ(parsed.options.backend, Backend::nccl);
  EXPECT_EQ(parsed.options.engine, Engine::gloo);
}

TEST(Options, know_units_of_time_and_size) {
  const auto step_time = [](const char* text) {
    return parse_options({"--step-time", text}).options.step_time;
  };
  EXPECT_EQ(step_time("1.5"), 1500ms);
  EXPECT_EQ(step_time("20us"), 20us);
  EXPECT_EQ(step_time("2m"), 2min);
  const auto allocate = [](const char* text) {
    return parse_options({"--allocate", text}).options.allocate;
  };
  EXPECT_EQ(allocate("2Gi"), std::uint64_t{2} << 30);
  EXPECT_EQ(allocate("3M"), 3000000U);
  EXPECT_EQ(allocate("17"), 17U);
}

struct Refused {
  std::vector<std::string> arguments;
  const char* error;
};

TEST(Options, are_refused_with_what_was_found_and_what_was_expected) {
  const Refused rows[] = {
      {{"--stepz", "3"}, "no such option: --stepz"},
      {{"train.py"}, "no such option: train.py"},
      {{"--steps"}, "--steps takes a positive whole number"},
      {{"--steps", "0"}, "--steps takes a positive whole number, not '0'"},
      {{"--steps", "ten"}, "--steps takes a positive whole number, not 'ten'"},
      {{"--steps="}, "--steps takes a positive whole number, not ''"},
      {{"--step-time", "-1s"}, "--step-time takes a time (250ms, 2s, 1.5), not '-1s'"},
      {{"--timeout", "0"}, "--timeout takes a time (250ms, 2s, 1.5), not '0'"},
      {{"--allocate", "lots"}, "--allocate takes a size (1000000, 512Mi, 2Gi), not 'lots'"},
      {{"--allocate", "1e300"}, "--allocate takes a size (1000000, 512Mi, 2Gi), not '1e300'"},
      {{"--fail-code", "256"}, "--fail-code takes an exit code (0 to 255), not '256'"},
      {{"--backend", "mpi"}, "--backend takes gloo or nccl, not 'mpi'"},
      {{"--no-shuffle=1"}, "--no-shuffle takes no value"},
      {{"--fail-once"}, "--fail-once needs --checkpoint: its mark lies beside that file"},
  };
  for (const Refused& row : rows) EXPECT_EQ(parse_options(row.arguments).error, row.error);
}

}  // namespace
}  // namespace ddptwin::workers::options_test
