#include "runtime/model/torchrun/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/torchrun/arguments.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::torchrun::options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Hardware two_cpus{2, 0, "4711"};

Checked<Options> read(const Profile& profile, const std::vector<std::string>& arguments,
                      const StringMap& environment = {}, const Hardware& hardware = two_cpus) {
  return read_options(profile, "torchrun", arguments, environment, hardware);
}

// How each version answers one environment: the last line printed, or what it became.
struct Row {
  std::string name{};
  StringMap environment{};
  std::string on_1{};
  std::string on_2{};
};

std::string summary(const Checked<Options>& options) {
  if (!options)
    return std::to_string(options.error().exit_code) + " " + options.error().lines.back();
  std::string out = options->backend == Backend::c10d ? "c10d " : "static ";
  out += options->endpoint.host + ":" + std::to_string(options->endpoint.port);
  out += " " + options->run_id + " " + std::to_string(options->min_nodes) + ":" +
         std::to_string(options->max_nodes);
  return out + " x" + std::to_string(options->nproc);
}

class Environments : public testing::TestWithParam<Row> {};

TEST_P(Environments, are_read_as_each_version_reads_them) {
  const Row& row = GetParam();
  EXPECT_EQ(summary(read(torchrun_1, {"train.py"}, row.environment)), row.on_1);
  EXPECT_EQ(summary(read(torchrun_2, {"train.py"}, row.environment)), row.on_2);
}

// spec/ddp-semantics.md §4.1, §9.5.
INSTANTIATE_TEST_SUITE_P(
    Spec, Environments,
    testing::Values(
        Row{"nothing", {}, "static 127.0.0.1:29500 none 1:1 x1", "c10d localhost:0 4711 1:1 x1"},
        Row{"master_port",
            {{"PET_MASTER_PORT", "23456"}},
            "static 127.0.0.1:23456 none 1:1 x1",
            "static 127.0.0.1:23456 none 1:1 x1"},
        Row{"endpoint",
            {{"PET_RDZV_ENDPOINT", "m:29400"}},
            "static m:29400 none 1:1 x1",
            "static m:29400 none 1:1 x1"},
        Row{"two_nodes",
            {{"PET_NNODES", "2"}},
            "static 127.0.0.1:29500 none 2:2 x1",
            "static 127.0.0.1:29500 none 2:2 x1"},
        Row{"pytorchjob_static",
            {{"PET_NNODES", "2"},
             {"PET_NODE_RANK", "1"},
             {"PET_NPROC_PER_NODE", "auto"},
             {"PET_MASTER_ADDR", "train-master-0"},
             {"PET_MASTER_PORT", "23456"}},
            "static train-master-0:23456 none 2:2 x2",
            "static train-master-0:23456 none 2:2 x2"},
        Row{"pytorchjob_elastic",
            {{"PET_RDZV_ENDPOINT", "train-worker-0:23456"},
             {"PET_RDZV_BACKEND", "c10d"},
             {"PET_NNODES", "1:3"},
             {"PET_MASTER_PORT", "23456"},
             {"PET_NODE_RANK", "2"}},
            "c10d train-worker-0:23456 none 1:3 x1",
            "c10d train-worker-0:23456 none 1:3 x1"},
        Row{"c10d_default_port",
            {{"PET_RDZV_BACKEND", "c10d"}, {"PET_RDZV_ENDPOINT", "h"}},
            "c10d h:29400 none 1:1 x1",
            "c10d h:29400 none 1:1 x1"},
        Row{"standalone",
            {{"PET_STANDALONE", "1"}},
            "c10d localhost:29400 4711 1:1 x1",
            "c10d localhost:0 4711 1:1 x1"},
        Row{"standalone_empty",
            {{"PET_STANDALONE", ""}},
            "1 ValueError: invalid literal for int() with base 10: ''",
            "1 ValueError: invalid literal for int() with base 10: ''"},
        Row{"standalone_true",
            {{"PET_STANDALONE", "true"}},
            "1 ValueError: invalid literal for int() with base 10: 'true'",
            "1 ValueError: invalid literal for int() with base 10: 'true'"},
        Row{"module_empty",
            {{"PET_MODULE", ""}},
            "1 ValueError: invalid literal for int() with base 10: ''",
            "1 ValueError: invalid literal for int() with base 10: ''"},
        Row{"master_port_empty",
            {{"PET_MASTER_PORT", ""}},
            "2 torchrun: error: argument --master_port: invalid int value: ''",
            "2 torchrun: error: argument --master-port/--master_port: invalid int value: ''"},
        Row{"node_rank_x",
            {{"PET_NODE_RANK", "x"}},
            "2 torchrun: error: argument --node_rank: invalid int value: 'x'",
            "2 torchrun: error: argument --node-rank/--node_rank: invalid int value: 'x'"},
        Row{"nproc_cpu",
            {{"PET_NPROC_PER_NODE", "cpu"}, {"PET_NNODES", "2"}},
            "static 127.0.0.1:29500 none 2:2 x2",
            "static 127.0.0.1:29500 none 2:2 x2"},
        Row{"nproc_gpu",
            {{"PET_NPROC_PER_NODE", "gpu"}},
            "1 ValueError: Cuda is not available.",
            "1 ValueError: Cuda is not available."},
        Row{"nproc_xpu",
            {{"PET_NPROC_PER_NODE", "xpu"}},
            "1 ValueError: Unsupported nproc_per_node value: xpu",
            "1 ValueError: Xpu is not available."},
        Row{"nproc_empty",
            {{"PET_NPROC_PER_NODE", ""}},
            "1 ValueError: Unsupported nproc_per_node value: ",
            "1 ValueError: Unsupported nproc_per_node value: "},
        Row{"nnodes_range",
            {{"PET_NNODES", "1:4"}},
            "static 127.0.0.1:29500 none 1:4 x1",
            "static 127.0.0.1:29500 none 1:4 x1"},
        Row{"nnodes_reversed",
            {{"PET_NNODES", "4:1"}},
            "1 AssertionError",
            "1 AssertionError: min_nodes must be > 0 and <= max_nodes, got min_nodes=4, "
            "max_nodes=1"},
        Row{"nnodes_three",
            {{"PET_NNODES", "1:2:3"}},
            "1 RuntimeError: nnodes=1:2:3 is not in \"MIN:MAX\" format",
            "1 RuntimeError: nnodes=1:2:3 is not in \"MIN:MAX\" format"},
        Row{"nnodes_empty",
            {{"PET_NNODES", ""}},
            "1 ValueError: invalid literal for int() with base 10: ''",
            "1 ValueError: invalid literal for int() with base 10: ''"}),
    [](const auto& row) { return row.param.name; });

TEST(TorchrunOptions, the_command_line_wins_over_the_environment) {
  const auto options =
      read(torchrun_2, {"--nnodes=3", "--node_rank", "2", "train.py", "--nnodes=9"},
           {{"PET_NNODES", "2"}, {"PET_NODE_RANK", "x"}});
  ASSERT_TRUE(options.has_value()) << options.error().lines.back();
  EXPECT_EQ(options->max_nodes, 3);
  EXPECT_EQ(options->node_rank, 2);
  EXPECT_THAT(options->command, ElementsAre("python3", "-u", "train.py", "--nnodes=9"));
}

TEST(TorchrunOptions, defaults_are_those_of_the_version) {
  const auto old = read(torchrun_1, {"train.py"});
  const auto current = read(torchrun_2, {"train.py"});
  ASSERT_TRUE(old && current);
  EXPECT_EQ(old->monitor_interval, 5s);
  EXPECT_EQ(current->monitor_interval, 100ms);
  EXPECT_EQ(old->max_restarts, 0);
  EXPECT_EQ(current->last_call, 30s);
  EXPECT_EQ(current->join_timeout, 600s);
  EXPECT_EQ(current->static_timeout, 900s);
  EXPECT_EQ(old->redirects, "0");
}

TEST(TorchrunOptions, the_rendezvous_configuration_sets_timeouts_in_seconds) {
  const StringMap environment{
      {"PET_RDZV_BACKEND", "c10d"},
      {"PET_RDZV_CONF", "last_call_timeout=3, join_timeout=20,is_host=Yes"}};
  const auto options = read(torchrun_2, {"--monitor-interval", "0.5", "train.py"}, environment);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->last_call, 3s);
  EXPECT_EQ(options->join_timeout, 20s);
  EXPECT_EQ(options->is_host, true);
  EXPECT_EQ(options->monitor_interval, 500ms);
}

TEST(TorchrunOptions, more_than_one_worker_gets_one_thread_each_unless_told) {
  EXPECT_TRUE(read(torchrun_2, {"--nproc-per-node=2", "a.py"})->sets_omp_threads);
  EXPECT_FALSE(read(torchrun_2, {"--nproc-per-node=2", "a.py"}, {{"OMP_NUM_THREADS", "4"}})
                   ->sets_omp_threads);
  EXPECT_FALSE(read(torchrun_2, {"a.py"})->sets_omp_threads);
}

TEST(TorchrunOptions, the_worker_is_run_as_a_script_a_module_or_a_program) {
  EXPECT_THAT(read(torchrun_1, {"-m", "pkg.train", "x"})->command,
              ElementsAre("python3", "-u", "-m", "pkg.train", "x"));
  EXPECT_THAT(read(torchrun_1, {"--no_python", "ddptwin-worker", "--steps", "3"})->command,
              ElementsAre("ddptwin-worker", "--steps", "3"));
  EXPECT_THAT(read(torchrun_1, {"a.py"}, {{"PYTHON_EXEC", "/opt/py"}})->command,
              ElementsAre("/opt/py", "-u", "a.py"));
}

struct Line {
  std::string name{};
  std::vector<std::string> arguments{};
  std::string answer{};
};
class RefusedLines : public testing::TestWithParam<Line> {};

TEST_P(RefusedLines, end_with_2_and_argparses_words) {
  const auto options = read(torchrun_2, GetParam().arguments);
  ASSERT_FALSE(options.has_value());
  EXPECT_EQ(options.error().exit_code, 2);
  EXPECT_EQ(options.error().lines.back(), "torchrun: error: " + GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(
    Argparse, RefusedLines,
    testing::Values(
        Line{"nothing",
             {},
             "the following arguments are required: training_script, training_script_args"},
        Line{"unknown", {"--gpus=2", "a.py"}, "unrecognized arguments: --gpus=2"},
        Line{"no_value", {"--nnodes"}, "argument --nnodes: expected one argument"},
        Line{"ambiguous",
             {"--node=2", "a.py"},
             "ambiguous option: --node could match --node-rank, --node_rank"},
        Line{"flag_with_value",
             {"--standalone=1", "a.py"},
             "argument --standalone: ignored explicit argument '1'"},
        Line{"no_integer",
             {"--max-restarts", "many", "a.py"},
             "argument --max-restarts/--max_restarts: invalid int value: 'many'"},
        Line{"choice",
             {"--start-method", "thread", "a.py"},
             "argument --start-method/--start_method: invalid choice: 'thread' (choose from "
             "'spawn', 'fork', 'forkserver')"}),
    [](const auto& row) { return row.param.name; });

TEST(TorchrunOptions, dashes_in_names_came_with_2) {
  EXPECT_TRUE(read(torchrun_2, {"--max-restarts=3", "a.py"}).has_value());
  const auto options = read(torchrun_1, {"--max-restarts=3", "a.py"});
  ASSERT_FALSE(options.has_value());
  EXPECT_THAT(options.error().lines.back(), HasSubstr("unrecognized arguments: --max-restarts=3"));
}

TEST(TorchrunOptions, an_abbreviation_is_enough_where_it_is_the_only_one) {
  EXPECT_EQ(read(torchrun_1, {"--max_r=3", "a.py"})->max_restarts, 3);
}

TEST(TorchrunOptions, every_option_is_read_from_its_variable_except_two) {
  std::vector<std::string> never{};
  for (const OptionRow& row : option_rows())
    if (!row.from_environment) never.emplace_back(row.name);
  EXPECT_THAT(never, ElementsAre("logs_specs", "numa_binding"));
  EXPECT_EQ(read(torchrun_2, {"a.py"}, {{"PET_SHUTDOWN_TIMEOUT", "7"}})->shutdown_timeout, 7s);
  EXPECT_EQ(read(torchrun_1, {"a.py"}, {{"PET_SHUTDOWN_TIMEOUT", "7"}})->shutdown_timeout, 30s);
}

TEST(TorchrunOptions, streams_are_told_for_all_or_by_local_rank) {
  EXPECT_EQ(streams_of("3", 5), 3);
  EXPECT_EQ(streams_of("0:1,2:3", 0), 1);
  EXPECT_EQ(streams_of("0:1,2:3", 1), 0);
  EXPECT_EQ(streams_of("0:1,2:3", 2), 3);
  const auto wrong = read(torchrun_2, {"--tee=0:4", "a.py"});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().exit_code, 1);
  EXPECT_THAT(wrong.error().lines.back(), HasSubstr("ValueError: 0:4 does not match"));
}

TEST(TorchrunOptions, integers_are_read_as_python_reads_them) {
  EXPECT_EQ(python_int(" 42\n"), 42);
  EXPECT_EQ(python_int("-1_000"), -1000);
  EXPECT_EQ(python_int("+7"), 7);
  for (const char* wrong : {"", " ", "1.0", "0x1", "_1", "1_", "1__0", "+-1", "one"})
    EXPECT_EQ(python_int(wrong), std::nullopt) << wrong;
}

// In no locale: a decimal comma of the user's is none of Python's.
TEST(TorchrunOptions, numbers_are_read_as_python_reads_them) {
  EXPECT_EQ(python_float(" 0.5\n"), 0.5);
  EXPECT_EQ(python_float("+1_0e1"), 100.0);
  for (const char* wrong : {"", "0,5", "0x10", "1__0", "+-1", "5s"})
    EXPECT_EQ(python_float(wrong), std::nullopt) << wrong;
}

TEST(TorchrunLaunch, is_recognized_by_its_command) {
  EXPECT_EQ(launch_of({"/usr/bin/torchrun", "a.py"}), (Launch{"torchrun", {"a.py"}}));
  EXPECT_EQ(launch_of({"python3", "-u", "-m", "torch.distributed.run", "--nnodes=2", "a.py"}),
            (Launch{"run.py", {"--nnodes=2", "a.py"}}));
  EXPECT_EQ(launch_of({"python3", "-m", "torch.distributed.launch", "--use_env", "--nnodes=2",
                       "a.py", "--use_env"}),
            (Launch{"launch.py", {"--nnodes=2", "a.py", "--use_env"}}));
  EXPECT_EQ(launch_of({"python3", "-m", "http.server"}), std::nullopt);
  EXPECT_EQ(launch_of({"python3", "train.py"}), std::nullopt);
  EXPECT_EQ(launch_of({}), std::nullopt);
}

}  // namespace
}  // namespace ddptwin::torchrun::options_test
