#include "runtime/model/commands/stand_in.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <set>

#include "runtime/model/commands/at_hand.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::stand_in_test {
namespace {

using testing::ElementsAre;

struct Launching {
  const char* name;
  Strings argv;
  Strings arguments;  // torchrun's; empty: it launches nothing
};
class Launchers : public testing::TestWithParam<Launching> {};
INSTANTIATE_TEST_SUITE_P(
    StandIn, Launchers,
    testing::Values(
        Launching{"torchrun", {"torchrun", "--nnodes=2", "t.py"}, {"--nnodes=2", "t.py"}},
        Launching{"module",
                  {"python", "-m", "torch.distributed.launch", "--nproc_per_node=2", "t.py"},
                  {"--nproc_per_node=2", "t.py"}},
        Launching{
            "accelerate",
            {"accelerate", "launch", "--num_machines", "2", "--num_processes=8", "--machine-rank",
             "1", "--main_process_ip", "m", "t.py", "--num_machines=9"},
            {"--nproc_per_node=4", "--nnodes=2", "--node_rank=1", "--master_addr=m", "train.py"}},
        Launching{"accelerate_module",
                  {"python3", "-u", "-m", "accelerate.commands.launch", "t.py"},
                  {"train.py"}},
        Launching{"deepspeed",
                  {"deepspeed", "--num_gpus", "2", "--master_port=1", "t.py"},
                  {"--nproc_per_node=2", "--master_port=1", "train.py"}},
        Launching{"tune",
                  {"tune", "run", "--nproc_per_node", "2", "lora", "--config", "x"},
                  {"--nproc_per_node=2", "train.py"}},
        Launching{"recipe", {"tune", "run", "lora", "--config", "x"}, {}},
        Launching{"python", {"python", "t.py"}, {}}, Launching{"nothing", {}, {}},
        Launching{"config", {"accelerate", "config"}, {}}),
    [](const auto& one) { return one.param.name; });

TEST_P(Launchers, speak_torchruns_words) {
  const auto launch = stand_in_launch(GetParam().argv);
  EXPECT_EQ(launch ? launch->arguments : Strings(), GetParam().arguments);
}

// A container of an image that nobody described.
class StandInPod {
 public:
  StandInPod() {
    Workload workload;
    workload.steps = 2;
    workload.stands_in = true;
    pods_.runtime().add_image("unknown", Image(), workload);
    pods_.pod("pod-0");
  }
  void start(Strings argv, ContainerRole role = ContainerRole::training, Environment env = {}) {
    ContainerConfig config = pods_.config("pod-0", "unknown", {}, std::move(env));
    config.command = std::move(argv);
    config.role = role;
    pods_.start("pod-0", std::move(config));
  }
  TestPods& pods() { return pods_; }

 private:
  TestPods pods_;
};

struct Started {
  const char* name;
  Strings argv;
  bool trains = true, stands_in = true;
  const char* line = "joined rank 0 world_size 1";
};
class StandsIn : public testing::TestWithParam<Started> {};
INSTANTIATE_TEST_SUITE_P(
    StandIn, StandsIn,
    testing::Values(
        Started{"script", {"python", "t.py"}}, Started{"nothing", {}},
        Started{"arguments", {"--backend", "nccl"}}, Started{"missing", {"python3.11", "t.py"}},
        Started{"file", {"/app/run"}}, Started{"shell_of_file", {"bash", "/app/run.sh"}},
        Started{"torchrun",
                {"torchrun", "--nproc_per_node=2", "t.py"},
                true,
                true,
                "joined rank 1 world_size 2"},
        Started{"accelerate",
                {"accelerate", "launch", "--num_processes", "2", "t.py"},
                true,
                true,
                "joined rank 1 world_size 2"},
        Started{"behind_env",
                {"/usr/bin/env", "A=2", "bash", "-c", "torchrun --nproc_per_node=$A t.py"},
                true,
                true,
                "joined rank 1 world_size 2"},
        Started{"behind_tini",
                {"tini", "--", "deepspeed", "--num_gpus=2", "t.py"},
                true,
                true,
                "joined rank 1 world_size 2"},
        Started{"script_with_more",
                {"bash", "-c", "cd /app && pip install x && python3.11 t.py && echo good"},
                true,
                true,
                "good"},
        Started{"whole_script", {"sh", "-c", "v=$(git describe | wc -l); torchrun t.py"}},
        Started{"what_it_was_to_fetch",
                {"sh", "-c",
                 "set -e; wget -q http://x.org/y.tgz -O /y.tgz && tar xzf /y.tgz && rm /y.tgz; "
                 "python t.py"}},
        Started{"not_understood", {"bash", "-c", "coproc x; torchrun t.py"}},
        Started{"as_it_is", {"sh", "-c", "echo hi; sleep 1"}, false, false, "hi"},
        Started{"sleep", {"nice", "sleep", "1"}, false, false, ""}),
    [](const auto& one) { return one.param.name; });

TEST_P(StandsIn, for_what_cannot_be_had_and_nothing_else) {
  StandInPod pod;
  pod.start(GetParam().argv);
  EXPECT_EQ(pod.pods().exit_code("pod-0"), 0) << pod.pods().all_lines();
  EXPECT_EQ(pod.pods().report("pod-0").stands_in, GetParam().stands_in);
  const std::string lines = pod.pods().all_lines();
  EXPECT_NE(lines.find(GetParam().line), lines.npos) << lines;
  EXPECT_EQ(lines.find("step 2") != lines.npos, GetParam().trains) << lines;
  for (const char* own : {"only a process", "not found", "No such file", "Error"})
    EXPECT_EQ(lines.find(own), lines.npos) << lines;
}

TEST(StandIn, of_an_init_container_ends_well_and_of_a_sidecar_stays) {
  StandInPod pod;
  for (const Strings& argv :
       {Strings{"python", "get.py"}, Strings{"torchrun", "t.py"}, Strings{}}) {
    pod.start(argv, ContainerRole::init);
    EXPECT_EQ(pod.pods().exit_code("pod-0", 1s), 0);
  }
  pod.start({"fluent-bit", "-c", "/etc/f"}, ContainerRole::sidecar);
  pod.pods().run(1h);
  EXPECT_TRUE(pod.pods().runs("pod-0"));
  EXPECT_TRUE(pod.pods().report("pod-0").stands_in);
  pod.pods().signal("pod-0", SIGTERM);
  EXPECT_EQ(pod.pods().exit_code("pod-0"), 0);
}

TEST(StandIn, leaves_ranks_that_only_torchrun_counts_to_it) {
  StandInPod pod;
  pod.start({"python", "t.py"}, ContainerRole::training,
            {{"RANK", "0"},
             {"WORLD_SIZE", "3"},
             {"MASTER_ADDR", "pod-0"},
             {"MASTER_PORT", "23456"},
             {"PET_NPROC_PER_NODE", "3"}});
  EXPECT_EQ(pod.pods().exit_code("pod-0"), 0);
  EXPECT_TRUE(pod.pods().line("pod-0", "joined rank 2 world_size 3")) << pod.pods().all_lines();
}

// As its variables count: one pod, one rank.
TEST(StandIn, is_one_rank_where_the_operator_counts_one_a_pod) {
  for (const char* left : {"auto", "gpu", "cpu", "1"}) {
    StandInPod pod;
    pod.start({"python", "t.py"}, ContainerRole::training,
              {{"RANK", "0"},
               {"WORLD_SIZE", "1"},
               {"MASTER_ADDR", "pod-0"},
               {"MASTER_PORT", "23456"},
               {"PET_NPROC_PER_NODE", left}});
    EXPECT_EQ(pod.pods().exit_code("pod-0"), 0) << left;
    EXPECT_TRUE(pod.pods().line("pod-0", "joined rank 0 world_size 1")) << pod.pods().all_lines();
  }
}

// A described image: what holds of its ranks holds of its init containers only where it may.
TEST(StandIn, launcher_torchrun_holds_whatever_the_command_looks_like) {
  TestPods pods;
  Workload workload;
  workload.steps = 1;
  workload.torchrun = true;
  pods.runtime().add_image("mine", Image(), workload);
  pods.pod("pod-0");
  ContainerConfig config = pods.config("pod-0", "mine", {}, {{"PET_NPROC_PER_NODE", "2"}});
  config.command = {"bash", "-c", "python3 run.py"};
  pods.start("pod-0", config);
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  EXPECT_TRUE(pods.line("pod-0", "joined rank 1 world_size 2")) << pods.all_lines();
  ContainerConfig before = pods.config("pod-0", "mine", {});
  before.command = {"python", "get.py"};
  before.role = ContainerRole::init;
  pods.start("pod-0", before);
  EXPECT_EQ(pods.exit_code("pod-0", 1s), 0);
}

TEST(AtHand, finds_the_commands_of_a_script) {
  EXPECT_THAT(
      commands_in("set -e # no\nA=1 pip install \"a b\" && (cd /x; python t.py) | tee log 2>&1\n"
                  "n=$(nvidia-smi -L | wc -l)\nif [ -f x ]; then exec torchrun --n=$n t.py; fi\n"
                  "cat > /x.py <<'EOF'\nimport os\nEOF\nfoo\n"),
      ElementsAre(Strings{"set", "-e"}, Strings{"pip", "install", "a b"}, Strings{"cd", "/x"},
                  Strings{"python", "t.py"}, Strings{"tee", "log"}, Strings{"nvidia-smi", "-L"},
                  Strings{"wc", "-l"}, Strings{"[", "-f", "x", "]"},
                  Strings{"torchrun", "--n=$n", "t.py"}, Strings{"cat"}, Strings{"foo"}));
}

TEST(AtHand, tells_who_works_on_what_nobody_brought) {
  Surroundings around;
  around.has_file = [](const std::string& path) { return path == "/here.tgz"; };
  for (const Strings& argv : {Strings{"tar", "xzf", "/gone.tgz", "-C", "/"},
                              Strings{"cp", "a/b", "c"}, Strings{"chmod", "+x", "./run.sh"}})
    EXPECT_TRUE(misses_files(argv, around)) << argv.front();
  for (const Strings& argv :
       {Strings{"tar", "xzf", "/here.tgz"}, Strings{"cp", "/here.tgz", "/b/c"},
        Strings{"cat", "/gone"}, Strings{}})
    EXPECT_FALSE(misses_files(argv, around));
}

struct Wanted {
  const char* name;
  Strings argv;
  Strings trains{}, at_once{};
};
class RealCommand : public testing::TestWithParam<Wanted> {};
INSTANTIATE_TEST_SUITE_P(
    AtHand, RealCommand,
    testing::Values(
        Wanted{"program", {"sleep", "1"}}, Wanted{"script", {"python3", "/scripts/here.py"}},
        Wanted{"code", {"python3", "-u", "-c", "print(1)"}},
        Wanted{"no_script", {"python3", "t.py"}, {"python3 t.py"}},
        Wanted{"no_program", {"python3.99", "-c", "1"}, {"python3.99 -c 1"}},
        Wanted{"launch", {"torchrun", "/scripts/here.py"}},
        Wanted{"no_launch", {"torchrun", "--nnodes", "1", "t.py"}, {"torchrun --nnodes 1 t.py"}},
        Wanted{"nothing", {}, {""}},
        Wanted{"shell", {"sh", "-c", "echo a; sleep 1; f() { sleep 1; }; f"}},
        Wanted{"some",
               {"bash", "-c", "cd /app && pip install x && python3 t.py $A"},
               {"python3 t.py $A"},
               {"cd /app", "pip install x"}},
        Wanted{"fetched",
               {"sh", "-c", "curl -o /x http://a.org/x; curl http://minio:9000/y"},
               {},
               {"curl -o /x http://a.org/x"}},
        Wanted{"nccl", {"python3", "/scripts/nccl.py"}, {"python3 /scripts/nccl.py"}},
        Wanted{"nccl_launched",
               {"torchrun", "--nproc-per-node=2", "/scripts/nccl.py"},
               {"torchrun --nproc-per-node=2 /scripts/nccl.py"}},
        Wanted{"nccl_told",
               {"python3", "/scripts/here.py", "--backend", "nccl"},
               {"python3 /scripts/here.py --backend nccl"}},
        Wanted{"gloo_told", {"python3", "/scripts/default.py", "--backend", "gloo"}},
        Wanted{"cpu_told", {"torchrun", "/scripts/cuda.py", "--device=cpu"}},
        Wanted{"cuda_default", {"torchrun", "/scripts/cuda.py"}, {"torchrun /scripts/cuda.py"}},
        Wanted{"cuda_code",
               {"python3", "-c", "torch.zeros(1).cuda()"},
               {"python3 -c torch.zeros(1).cuda()"}},
        Wanted{"mounted", {"sh", "/scripts/run.sh"}, {"torchrun t.py"}},
        Wanted{"behind", {"tini", "--", "sleep", "1"}, {}, {"tini"}}),
    [](const auto& one) { return one.param.name; });

TEST_P(RealCommand, is_looked_for_before_the_run) {
  Surroundings around;
  const std::set<std::string> files{"/bin/sh",          "/bin/bash",           "/bin/sleep",
                                    "/bin/curl",        "/bin/python3",        "/bin/torchrun",
                                    "/bin/pip",         "/scripts/here.py",    "/scripts/run.sh",
                                    "/scripts/nccl.py", "/scripts/default.py", "/scripts/cuda.py"};
  around.search_path = "/usr/bin:/bin";
  around.has_file = [&](const std::string& path) { return files.contains(path); };
  around.read = [&](const std::string& path) -> std::optional<std::string> {
    const std::map<std::string, std::string> texts{
        {"/scripts/run.sh", "torchrun t.py"},
        {"/scripts/nccl.py", "dist.init_process_group('nccl')"},
        {"/scripts/default.py", "p.add_argument('--backend', default='nccl')"},
        {"/scripts/cuda.py", "p.add_argument('--device', default='cuda')"},
        {"/scripts/here.py", "print(1)"}};
    const auto text = texts.find(path);
    return text == texts.end() ? std::nullopt : std::optional<std::string>(text->second);
  };
  const Outlook absent = absent_of(GetParam().argv, around, ContainerRole::training);
  EXPECT_EQ(absent.trains, GetParam().trains);
  EXPECT_EQ(absent.at_once, GetParam().at_once);
}

TEST(AtHand, knows_what_a_program_wants_of_the_machine) {
  EXPECT_EQ(device_wanted_by("dist.init_process_group(backend=\"nccl\")"), "NCCL");
  EXPECT_EQ(device_wanted_by("torch.cuda.set_device(local_rank)"), "a GPU");
  EXPECT_EQ(device_wanted_by("model.to('cuda:0')"), "a GPU");
  EXPECT_EQ(device_wanted_by("model.to(f\"cuda:{rank}\")"), "a GPU");
  for (const char* program :
       {"dist.init_process_group('gloo')  # or 'nccl'",
        "b = 'nccl' if torch.cuda.is_available() else 'gloo'\ndist.init_process_group(b)",
        "p.add_argument('--backend', choices=['nccl', 'gloo'])",
        "d = 'cuda' if args.gpu else 'cpu'", "x = 'a # b'; print(x)"})
    EXPECT_EQ(device_wanted_by(program), "") << program;
}

}  // namespace
}  // namespace ddptwin::model::stand_in_test
