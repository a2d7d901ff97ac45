// The built-in worker and described scripts: options, checkpoints, failures on purpose.
#include "runtime/model/rank/rank.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/commands.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::rank_test {
namespace {

struct Alone {
  std::string name;
  Strings args;
  int code;
  std::string line;
};

class OneRank : public testing::TestWithParam<Alone> {};
INSTANTIATE_TEST_SUITE_P(
    Worker, OneRank,
    testing::Values(
        Alone{"success", {"--steps", "3"}, 0, "finished rank 0 steps 3 parameters "},
        Alone{"fails", {"--fail-at-step", "2", "--fail-code", "7"}, 7, "failing rank 0 at step 2"},
        Alone{"aborts", {"--fail-at-step", "2", "--fail-with", "abort"}, 139, "step 2/20"},
        Alone{"segfaults", {"--fail-at-step", "2", "--fail-with", "segv"}, 139, "step 2/20"},
        Alone{"not_its_rank", {"--fail-at-step", "2", "--fail-rank", "1"}, 0, "finished rank 0"},
        Alone{"wrong_option",
              {"--steps", "ten"},
              2,
              "ddptwin-worker: --steps takes a positive whole number, not 'ten'"},
        Alone{"no_nccl",
              {"--backend", "nccl"},
              1,
              "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!"},
        Alone{"help", {"--help"}, 0, "usage: ddptwin-worker"},
        Alone{"nowhere_to_save",
              {"--checkpoint", "/nowhere/c"},
              1,
              "OSError: [Errno 2] No such file or directory: '/nowhere/c'"}),
    [](const auto& one) { return one.param.name; });

TEST_P(OneRank, ends_with_its_code_and_says_why) {
  TestPods pods;
  pods.rank(0, 1, GetParam().args);
  EXPECT_EQ(pods.exit_code("pod-0"), GetParam().code) << pods.all_lines();
  EXPECT_TRUE(pods.line("pod-0", GetParam().line)) << pods.all_lines();
}

TEST(Worker, hangs_when_asked_to_until_it_is_killed) {
  TestPods pods;
  pods.group(2, {"--steps", "5", "--fail-at-step", "5", "--fail-with", "hang", "--fail-rank", "1"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  pods.run(24h);
  EXPECT_TRUE(pods.runs("pod-1"));
  pods.signal("pod-1", SIGTERM);
  EXPECT_EQ(pods.exit_code("pod-1"), 143);
}

TEST(Worker, resumes_from_the_checkpoint_and_ends_as_if_it_had_not_been_interrupted) {
  const auto parameters = [](TestPods& pods) {
    const std::string text = pods.line("pod-0", "finished")->text;
    return text.substr(text.find("parameters"));
  };
  TestPods whole;
  whole.rank(0, 1, {"--steps", "12"});
  EXPECT_EQ(whole.exit_code("pod-0"), 0);

  TestPods pods;
  const Strings args{"--steps",        "12", "--checkpoint", "/shared/c", "--checkpoint-every", "5",
                     "--fail-at-step", "7",  "--fail-code",  "139",       "--fail-once"};
  pods.rank(0, 1, args);
  EXPECT_EQ(pods.exit_code("pod-0"), 139);
  EXPECT_TRUE(pods.line("pod-0", "checkpoint step 5"));
  pods.rank(0, 1, args);
  EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
  EXPECT_TRUE(pods.line("pod-0", "resumed from step 5"));
  EXPECT_TRUE(pods.line("pod-0", "checkpoint step 12"));
  EXPECT_EQ(parameters(pods), parameters(whole));
}

TEST(Worker, resumes_with_all_ranks_on_other_pods) {
  TestPods pods;
  const Strings args{"--steps", "8", "--checkpoint", "/shared/c", "--checkpoint-every", "2"};
  pods.group(2, args + Strings{"--fail-at-step", "5", "--fail-rank", "1", "--fail-code", "9"});
  EXPECT_EQ(pods.exit_code("pod-1"), 9);
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  pods.rank(0, 2, args);
  pods.rank(1, 2, args);
  EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
  EXPECT_EQ(pods.exit_code("pod-1"), 0);
  EXPECT_TRUE(pods.line("pod-0", "resumed from step 4"));
  EXPECT_TRUE(pods.line("pod-1", "resumed from step 4"));
}

TEST(Worker, refuses_a_checkpoint_of_another_model) {
  TestPods pods;
  pods.rank(0, 1, {"--steps", "2", "--checkpoint", "/shared/c"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  pods.rank(0, 1, {"--steps", "4", "--checkpoint", "/shared/c", "--hidden", "8"});
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  EXPECT_EQ(pods.last_error("pod-0"),
            "RuntimeError: Error(s) in loading state_dict: size mismatch: the checkpoint was made "
            "with another model");
}

TEST(Worker, is_killed_above_its_memory_limit) {
  TestPods pods;
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "ddptwin-worker", {"--allocate", "1Gi", "--allocate-at-step", "3"},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}});
  config.memory_limit = 256 << 20;
  pods.start("pod-0", config);
  EXPECT_EQ(pods.exit_code("pod-0"), 137);
  EXPECT_EQ(pods.report("pod-0").reason, "OOMKilled");
  EXPECT_TRUE(pods.line("pod-0", "allocating 1073741824 bytes rank 0"));
}

TEST(Worker, prints_no_steps_where_nobody_reads_them) {
  TestPods pods({.step_lines = false});
  pods.rank(0, 1, {"--steps", "3", "--checkpoint", "/shared/c"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  EXPECT_FALSE(pods.line("pod-0", "step 1"));
  EXPECT_TRUE(pods.line("pod-0", "joined rank 0"));
}

std::string whole_run(std::uint64_t seed) {
  TestPods pods({.seed = seed});
  pods.group(4, {"--steps", "20", "--step-time", "10ms", "--eager-connect", "0"});
  pods.until_line("pod-0", "step 7/", 5min);
  pods.signal("pod-2", SIGKILL);
  for (const char* name : {"pod-0", "pod-1", "pod-2", "pod-3"}) pods.exit_code(name);
  return pods.all_lines();
}

TEST(Worker, does_the_same_for_the_same_seed_and_else_for_others) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(whole_run(seed), whole_run(seed));
    EXPECT_NE(whole_run(seed), whole_run(seed + 1));
  }
}

TEST(Described, trains_as_it_was_described) {
  TestPods pods;
  Workload workload;
  workload.steps = 4;
  workload.step_time = 250ms;
  workload.checkpoint = "/shared/model.pt";
  workload.checkpoint_every = 2;
  workload.exit_code = 5;
  workload.prints = Prints{.joined = Strings{"hello {rank} of {world_size}"},
                           .step = Strings{"epoch {step}/{steps}"},
                           .finished = Strings{"bye"}};
  pods.runtime().add_image("script", Image(), workload);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string name = "pod-" + std::to_string(rank);
    pods.pod(name);
    ContainerConfig config = pods.config(name, "script", {},
                                         {{"RANK", std::to_string(rank)},
                                          {"WORLD_SIZE", "2"},
                                          {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                                          {"MASTER_PORT", "29500"}});
    config.command = {"python3", "train.py"};
    pods.start(name, config);
  }
  EXPECT_EQ(pods.exit_code("pod-0"), 5) << pods.all_lines();
  EXPECT_EQ(pods.exit_code("pod-1"), 5);
  const Duration joined = pods.line("pod-1", "hello 1 of 2")->at;
  EXPECT_GT(joined, torch_2.python_start.host);
  EXPECT_GE(pods.line("pod-1", "epoch 4/4")->at - joined, 4 * 250ms);
  EXPECT_TRUE(pods.line("pod-0", "checkpoint step 2"));
  EXPECT_TRUE(pods.line("pod-0", "bye"));
}

struct StartScript {
  const char* script;
  int trainings;
};
class DescribedScript : public testing::TestWithParam<StartScript> {};
INSTANTIATE_TEST_SUITE_P(
    Described, DescribedScript,
    testing::Values(
        StartScript{"apt-get update && python3 -c 'import torch' && python3 train.py", 1},
        StartScript{"aws s3 sync a b; ./setup.sh; bash setup.sh; numactl -N 0 python3 -u train.py",
                    1},
        StartScript{"nvidia-smi; python3 prepare.py; torchrun --nproc-per-node 2 train.py", 2},
        StartScript{"source /opt/env; python3 -m torch.distributed.launch --use_env train.py", 1},
        StartScript{"stdbuf -oL torchrun --nproc-per-node=2 train.py | tee /tmp/log", 2},
        StartScript{"make-ready; my-trainer", 2},  // nothing says which
        StartScript{"python3 prep.py && srun -n 1 python3 train.py", 2},
        // One run takes one of two branches.
        StartScript{"if [ \"${WORLD_SIZE:-1}\" -gt 1 ]; then torchrun t.py; else python3 t.py; fi",
                    1},
        StartScript{"case $RANK in 0) python3 t.py;; *) torchrun t.py;; esac", 1},
        StartScript{"[ $WORLD_SIZE -gt 1 ] && torchrun t.py || python3 t.py", 1},
        StartScript{"many() { torchrun t.py; }; one() { python3 t.py; }\n"
                    "if [[ $WORLD_SIZE == 1 ]]; then one; else many; fi",
                    1},
        StartScript{"python3 prep.py; if true; then python3 eval.py; torchrun t.py; fi", 1},
        StartScript{"torchrun t.py || python3 tell.py", 1},
        StartScript{"trap 'python3 clean.py' EXIT; torchrun t.py", 1},
        // What nobody can see trains where nothing else does.
        StartScript{"source /opt/run_training.sh", 1}, StartScript{"cd /app && . ./train.sh", 1},
        StartScript{"pip install x", 0},
        // What only hands on.
        StartScript{"timeout 600 python3 download.py; torchrun t.py", 1},
        StartScript{"sudo apt-get install -y python3 git && python3 t.py", 1},
        StartScript{"python3 prep.py && env -u PYTHONPATH torchrun t.py", 1},
        StartScript{"python3 prep.py; conda run -n base --cwd /app torchrun t.py", 1},
        StartScript{"nice -n 5 timeout -k 9 60 python3 prep.py; torchrun t.py", 1},
        StartScript{"nvidia-smi | tee /tmp/gpus; torchrun t.py", 1},
        StartScript{"echo y | python3 train.py 2>&1 | while read -r l; do echo \"$l\"; done", 1},
        StartScript{"exec > >(tee /tmp/log) 2>&1; torchrun t.py", 1},
        StartScript{"while read -r v; do export \"$v\"; done < /etc/env; torchrun t.py", 1}));

TEST_P(DescribedScript, trains_by_what_looks_most_like_it) {
  TestPods pods;
  Workload workload;
  workload.steps = 2;
  pods.runtime().add_image("script", Image(), workload);
  ASSERT_TRUE(can_model({"bash", "-c", GetParam().script}, Image(), &workload));
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "script", {},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}});
  config.command = {"bash", "-c", GetParam().script};
  pods.start("pod-0", config);
  EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
  const std::string all = pods.all_lines();
  int joined = 0;
  for (std::size_t at = all.find("joined rank"); at != all.npos;
       at = all.find("joined rank", at + 1))
    ++joined;
  EXPECT_EQ(joined, GetParam().trainings) << all;
}

// What the Kubeflow SDKs make of a function: it is written to a file, packages are installed, then
// python or torchrun runs the file (training-operator 1.7 to 1.9, trainer 2).
struct Wrapped {
  std::string name;
  std::string install;
  std::string end;
  int trainings = 1;
};
std::string sdk_script(const Wrapped& wrapped) {
  return wrapped.install +
         "\nprogram_path=$(mktemp -d)\nread -r -d '' SCRIPT << EOM\n\ndef train(parameters):\n"
         "    \"\"\"Trains with `DistributedSampler`, at lr=$1.\"\"\"\n"
         "    import os\n    print(f\"rank {os.environ['RANK']}\\n\", 100 % 7)\n\n"
         "train({'lr': 0.01})\n\nEOM\n" +
         wrapped.end;
}
std::string sdk_install(const std::string& python) {
  return "\nif ! [ -x \"$(command -v pip)\" ]; then\n    " + python + " -m ensurepip || " + python +
         " -m ensurepip --user || apt-get install python-pip\nfi\n\n"
         "PIP_DISABLE_PIP_VERSION_CHECK=1 " +
         python +
         " -m pip install --quiet         --no-warn-script-location --index-url "
         "https://pypi.org/simple torchvision\n";
}
const std::string sdk_write = "printf \"%s\" \"$SCRIPT\" > \"$program_path/ephemeral_script.py\"\n";
class SdkScript : public testing::TestWithParam<Wrapped> {};
INSTANTIATE_TEST_SUITE_P(
    Described, SdkScript,
    testing::Values(
        Wrapped{"v1_7", "",
                "printf \"%s\" \"$SCRIPT\" > $program_path/ephemeral_script.py\npython3 -u "
                "$program_path/ephemeral_script.py"},
        Wrapped{"v1_8_with_packages", sdk_install("python3"),
                sdk_write + "python3 -u \"$program_path/ephemeral_script.py\""},
        Wrapped{"v1_9", sdk_install("python"),
                sdk_write + "torchrun --nproc-per-node 2 \"$program_path/ephemeral_script.py\"", 2},
        Wrapped{"v1_9_of_one", "", sdk_write + "python -u \"$program_path/ephemeral_script.py\""},
        Wrapped{"v2", "", "printf \"%s\" \"$SCRIPT\" > \"main.py\"\ntorchrun \"main.py\""},
        Wrapped{
            "v2_with_packages",
            "PACKAGES=\"torch numpy\"\nPIP_OPTS=\"--index-url https://pypi.org/simple\"\n"
            "LOG_FILE=\"pip_install.log\"\nrm -f \"$LOG_FILE\"\n\n"
            "if PIP_DISABLE_PIP_VERSION_CHECK=1 python -m pip install --quiet \\\n"
            "    --no-warn-script-location $PIP_OPTS --user $PACKAGES >\"$LOG_FILE\" 2>&1; then\n"
            "    echo \"Successfully installed Python packages: $PACKAGES\"\nelse\n"
            "    echo \"ERROR: Failed to install Python packages: $PACKAGES\" >&2\n"
            "    cat \"$LOG_FILE\" >&2\n    exit 1\nfi\n",
            "printf \"%s\" \"$SCRIPT\" > \"main.py\"\npython \"main.py\""},
        Wrapped{"v2_with_packages_in_arrays",
                "PACKAGES=(torch numpy)\nPIP_OPTS=(--index-url https://pypi.org/simple)\n"
                "python -m pip install \"${PIP_OPTS[@]}\" --user \"${PACKAGES[@]}\" > log 2>&1 || "
                "exit 1",
                "printf \"%s\" \"$SCRIPT\" > \"main.py\"\ntorchrun \"main.py\""}),
    [](const auto& one) { return one.param.name; });

TEST_P(SdkScript, trains) {
  const std::string script = sdk_script(GetParam());
  TestPods pods;
  Workload workload;
  workload.steps = 2;
  pods.runtime().add_image("script", Image(), workload);
  const auto outlook = can_model({"bash", "-c", script}, Image(), &workload);
  ASSERT_TRUE(outlook) << outlook.error().message;
  EXPECT_EQ(outlook->trains.size(), 1U);
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "script", {},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}});
  config.command = {"bash", "-c", script};
  pods.start("pod-0", config);
  EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
  const std::string all = pods.all_lines();
  int joined = 0;
  for (std::size_t at = all.find("joined rank"); at != all.npos;
       at = all.find("joined rank", at + 1))
    ++joined;
  EXPECT_EQ(joined, GetParam().trainings) << all;
}

TEST(Described, ignores_sigterm_as_process_1) {
  TestPods pods;
  Workload workload;
  workload.steps = 1'000'000;
  pods.runtime().add_image("script", Image(), workload);
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "script", {},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}});
  config.command = {"python3", "train.py"};
  pods.start("pod-0", config);
  pods.until_line("pod-0", "step 3/");
  const Duration stopped = pods.now();
  pods.runtime().stop_container(pods.latest("pod-0"), 5, [](Result<void>) {});
  EXPECT_EQ(pods.exit_code("pod-0"), 137);
  EXPECT_EQ(pods.ended_at("pod-0") - stopped, 5s);
}

}  // namespace
}  // namespace ddptwin::model::rank_test
