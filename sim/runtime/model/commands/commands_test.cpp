#include "runtime/model/commands.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/shell/script.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::commands_test {
namespace {

struct Row {
  std::string name;
  Strings argv;
  bool described = false;
  std::string refusal{};  // empty: can be modelled
};

class CanModel : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(
    Commands, CanModel,
    testing::Values(
        Row{"worker", {"/usr/bin/ddptwin-worker", "--steps", "3"}}, Row{"sleep", {"sleep", "3"}},
        Row{"missing", {"python4", "train.py"}}, Row{"torchrun", {"torchrun", "train.py"}},
        Row{"module", {"python3", "-m", "torch.distributed.run", "train.py"}},
        Row{"described", {"python3", "train.py"}, true},
        Row{"described_file", {"/app/run.sh"}, true},
        Row{"shell", {"sh", "-c", "echo a; sleep 2 && exit 3"}},
        Row{"shell_of_described", {"bash", "-ec", "cd /app && exec python3 train.py"}, true},
        Row{"script",
            {"python3", "train.py"},
            false,
            "only a process can run `python3 train.py`: describe it under images[].model (start, "
            "steps, stepTime, ...)"},
        Row{"file",
            {"/app/run.sh"},
            false,
            "only a process can run `/app/run.sh`: describe it under images[].model (start, steps, "
            "stepTime, ...)"},
        Row{"shell_of_script",
            {"sh", "-c", "echo a; python3 train.py"},
            false,
            "only a process can run `python3 train.py`: describe it under images[].model (start, "
            "steps, stepTime, ...)"},
        Row{"options", {"bash", "-euo", "pipefail", "-c", "torchrun train.py 2>&1 | tee log"}},
        Row{"test_of_a_link",
            {"sh", "-c", "[ ! -L /data ] && exit 1"},
            false,
            "only a process can run `sh -c [ ! -L /data ] && exit 1`, for its script uses test "
            "with "
            "-L: describe it under images[].model (start, steps, stepTime, ...)"},
        Row{"too_long",
            {"sh", "-c",
             [] {
               std::string script;
               for (int n = 0; n < 500; ++n) script += ": && ";
               return "exit 1; " + script + ":";
             }()},
            false,
            "only a process can run `sh -c exit 1; : && : && : && : && : && : && : && : && : && "
            ":...`, "
            "for its script uses more than 400 commands in a chain: describe it under "
            "images[].model (start, steps, stepTime, ...)"},
        Row{"too_deep",
            {"sh", "-c",
             [] {
               std::string script;
               for (int n = 0; n < 300; ++n) script += "( ";
               return script + ":" + std::string(300, ')');
             }()},
            false,
            "only a process can run `sh -c ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( "
            "...`, for its script uses more than 200 levels: describe it under images[].model "
            "(start, steps, stepTime, ...)"},
        Row{"too_high",
            {"sh", "-c",
             [] {
               std::string script = ":";
               for (int level = 0; level < 60; ++level) {
                 script = "( " + script + " )";
                 for (int link = 0; link < 40; ++link) script += " && :";
               }
               return script;
             }()},
            false,
            "only a process can run `sh -c ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( "
            "...`, for its script uses more than 2000 commands in its chains: describe it under "
            "images[].model (start, steps, stepTime, ...)"},
        Row{"powers",
            {"sh", "-c", "exit $((2**3))"},
            false,
            "only a process can run `sh -c exit $((2**3))`, for its script uses (( )) with more "
            "than numbers, names and the operators of C: describe it under images[].model (start, "
            "steps, stepTime, ...)"},
        Row{"two_tests",
            {"test", "-f", "/a", "-o", "-L", "/b"},
            false,
            "only a process can run `test -f /a -o -L /b`, for it uses test with -L: describe it "
            "under images[].model (start, steps, stepTime, ...)"},
        Row{"set_up_of_described",
            {"bash", "-c", "pip install -q x && mkdir -p /out && python3 train.py | tee /out/log"},
            true},
        Row{"script_as_a_whole_is_described",
            {"sh", "-c", "n=$(lscpu | wc -l); python3 train.py"},
            true},
        Row{"script_that_shows_its_launcher",
            {"sh", "-c", "n=$(lscpu | wc -l); torchrun train.py"},
            true,
            "`sh -c n=$(lscpu | wc -l); torchrun train.py` launches torchrun, and not all "
            "of it is modelled (only a process can run `lscpu`: describe it under "
            "images[].model (start, steps, stepTime, ...)): say launcher: torchrun under "
            "images[].model, and it is nothing but that"},
        Row{"launch_by_what_python_says",
            {"bash", "-c", "n=$(python3 -c 'print(8)'); torchrun --nproc-per-node=$n t.py"},
            true,
            "`bash -c n=$(python3 -c 'print(8)'); torchrun --nproc-per-nod...` launches "
            "torchrun, and not all of it is modelled (only a process can run `python3 -c "
            "print(8)`: describe it under images[].model (start, steps, stepTime, ...)): say "
            "launcher: torchrun under images[].model, and it is nothing but that"},
        Row{"file_named_as_torchrun", {"bash", "/opt/torchrun_start.sh", "--epochs", "3"}, true},
        Row{"comment_of_torchrun",
            {"sh", "-c", "getopts X f # no torchrun\npython3 t.py --like=torchrun"},
            true},
        Row{"option_of_a_tool",
            {"tail", "-f", "/log"},
            false,
            "only a process can run `tail -f /log`, for it is tail with -f: describe it under "
            "images[].model (start, steps, stepTime, ...)"},
        Row{"pipe",
            {"sh", "-c", "ls | wc -l"},
            false,
            "only a process can run `ls`: describe it under images[].model (start, steps, "
            "stepTime, ...)"}),
    [](const auto& one) { return one.param.name; });

TEST_P(CanModel, says_whether_and_else_what_to_do) {
  const Workload workload;
  const auto status =
      can_model(GetParam().argv, Image(), GetParam().described ? &workload : nullptr);
  EXPECT_EQ(status ? std::string() : status.error().message, GetParam().refusal);
}

struct Meeting {
  std::string name;
  Strings argv;
  StringMap environment{};
  std::string where{}, refused{};  // the command that is; empty: can be modelled
  bool launched = false;           // said by the description
};
class RendezvousBackend : public testing::TestWithParam<Meeting> {};
INSTANTIATE_TEST_SUITE_P(
    Commands, RendezvousBackend,
    testing::Values(
        Meeting{"c10d", {"torchrun", "--rdzv_backend", "c10d", "t.py"}},
        Meeting{"of_nobody", {"torchrun", "--rdzv_backend", "etcd3", "t.py"}},
        Meeting{"etcd",
                {"torchrun", "--rdzv-backend=etcd", "t.py"},
                {},
                "",
                "torchrun --rdzv-backend=etcd t.py"},
        Meeting{"module",
                {"python3", "-m", "torch.distributed.run", "--rdzv_backend=etcd-v2", "t.py"},
                {{"PET_RDZV_BACKEND", "c10d"}},
                "",
                "python3 -m torch.distributed.run --rdzv_backend=etcd-v2 t.py"},
        Meeting{"script",
                {"bash", "-c", "if true; then exec torchrun --rdzv_backend=etcd t.py; fi"},
                {},
                "",
                "torchrun --rdzv_backend=etcd t.py"},
        Meeting{"nodes_of_a_variable",
                {"sh", "-c", "torchrun $MORE --nnodes=$NODES --rdzv_backend=etcd t.py"},
                {},
                "",
                "torchrun $ --nnodes=$ --rdzv_backend=etcd t.py"},
        Meeting{"nodes_in_a_word_of_its_own",
                {"sh", "-c", "torchrun --nnodes $NODES --rdzv_backend=etcd t.py"},
                {},
                "",
                "torchrun --nnodes $ --rdzv_backend=etcd t.py"},
        Meeting{"backend_of_a_variable",
                {"sh", "-c", "torchrun --nnodes=$MIN:$MAX --rdzv_backend=$BACKEND t.py"},
                {{"PET_RDZV_BACKEND", "etcd"}}},
        Meeting{"variable",
                {"torchrun", "t.py"},
                {{"PET_RDZV_BACKEND", "etcd"}},
                "PET_RDZV_BACKEND",
                "torchrun t.py"},
        Meeting{"described",
                {"python3", "t.py"},
                {{"PET_RDZV_BACKEND", "etcd"}},
                "PET_RDZV_BACKEND",
                "python3 t.py",
                true},
        Meeting{"word_before_variable",
                {"torchrun", "--rdzv_backend=c10d", "t.py"},
                {{"PET_RDZV_BACKEND", "etcd"}}},
        Meeting{"standalone", {"torchrun", "--standalone", "t.py"}, {{"PET_RDZV_BACKEND", "etcd"}}},
        Meeting{"no_torchrun", {"sleep", "1"}, {{"PET_RDZV_BACKEND", "etcd"}}}),
    [](const auto& one) { return one.param.name; });

TEST_P(RendezvousBackend, is_refused_before_the_run_where_nobody_models_it) {
  Workload workload;
  workload.torchrun = GetParam().launched;
  const auto status = can_model(GetParam().argv, Image(), &workload, GetParam().environment);
  if (GetParam().refused.empty()) {
    EXPECT_TRUE(status) << status.error().message;
    return;
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, GetParam().where);
  EXPECT_TRUE(status.error().message.starts_with("`" + GetParam().refused +
                                                 "` would use the rendezvous backend etcd"))
      << status.error().message;
}

TEST(Commands, one_that_the_image_adds_is_not_taken_for_missing) {
  Image image;
  image.copies.push_back({"/src/mytrain", "/usr/local/bin/mytrain"});
  EXPECT_FALSE(can_model({"mytrain"}, image, nullptr));
  EXPECT_TRUE(can_model({"mytrain"}, Image(), nullptr));
}

// A user's own image: nobody knows what it has beside the host's programs.
TEST(Commands, one_that_nobody_knows_is_refused_by_name_where_the_image_is_the_users) {
  const Image image;
  const auto refusal = [&image](const Strings& argv) {
    const auto seen = can_model(argv, CommandContext{.image = &image, .has_more = true}, Outlook{});
    return seen ? std::string() : seen.error().message;
  };
  for (const Strings& argv :
       {Strings{"conda", "list"}, Strings{"uv"}, Strings{"tini"}, Strings{"my-trainer", "--fast"}})
    EXPECT_NE(refusal(argv).find("only a process can run `" + argv.front()), std::string::npos)
        << refusal(argv);
  EXPECT_NE(refusal({"sh", "-c", "my-trainer --fast"}).find("`my-trainer --fast`"),
            std::string::npos);
  EXPECT_EQ(refusal({"tini", "--", "sleep", "3"}), "");
  EXPECT_EQ(refusal({"dumb-init", "ddptwin-worker", "--steps", "3"}), "");
}

struct LookedThrough {
  std::string name;
  Strings argv;
  bool launches = true;
};
class Wrapped : public testing::TestWithParam<LookedThrough> {};
INSTANTIATE_TEST_SUITE_P(
    Commands, Wrapped,
    testing::Values(
        LookedThrough{"tini", {"tini", "--", "python3.10", "train.py"}, false},
        LookedThrough{"dumb_init", {"dumb-init", "python3", "train.py"}, false},
        LookedThrough{"conda", {"conda", "run", "-n", "x", "torchrun", "train.py"}},
        LookedThrough{"uv", {"uv", "run", "python3", "train.py"}, false},
        LookedThrough{"poetry", {"poetry", "run", "torchrun", "train.py"}},
        LookedThrough{"accelerate", {"accelerate", "launch", "--num_processes", "2", "train.py"}},
        LookedThrough{"deepspeed", {"tini", "deepspeed", "--num_gpus", "2", "train.py"}}),
    [](const auto& one) { return one.param.name; });

TEST_P(Wrapped, is_looked_through_to_the_training_that_is_described) {
  const Workload workload;
  const auto seen = can_model(GetParam().argv, Image(), &workload);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->launches, GetParam().launches);
  EXPECT_EQ(seen->trains.size(), 1U);
}

struct Run {
  std::string name;
  Strings argv;
  int code = 0;
  Strings lines{};
  Duration least{}, most = 1s;
};

class OneCommand : public testing::TestWithParam<Run> {};
INSTANTIATE_TEST_SUITE_P(
    Commands, OneCommand,
    testing::Values(
        Run{"yes", {"true"}}, Run{"no", {"false"}, 1}, Run{"echo", {"echo", "a", "b"}, 0, {"a b"}},
        Run{"sleep", {"sleep", "2.5"}, 0, {}, 2500ms, 2600ms},
        Run{"sleep_minutes", {"sleep", "2m"}, 0, {}, 120s, 121s},
        Run{"bad_sleep", {"sleep", "x"}, 1, {"sleep: invalid time interval 'x'"}},
        Run{"lookup",
            {"nslookup", "web"},
            0,
            {"Name:\tweb.default.svc.cluster.local", "Address: 10.0.0.9"}},
        Run{"getent",
            {"getent", "hosts", "web"},
            0,
            {"10.0.0.9        web.default.svc.cluster.local"}},
        Run{"getent_of_nobody", {"getent", "hosts", "nobody"}, 2},
        Run{"nc_of_nobody",
            {"nc", "-z", "nobody", "80"},
            1,
            {"nc: getaddrinfo for host \"nobody\" port 80: Name or service not known"}},
        Run{"nc_refused",
            {"nc", "-zv", "-w", "3", "pod-0", "80"},
            1,
            {"nc: connect to pod-0 (10.244.0.2) port 80 (tcp) failed: Connection refused"}},
        Run{"nc_of_a_bad_port", {"nc", "-z", "pod-0", "x"}, 1, {"nc: port number invalid: x"}},
        Run{"timeout", {"timeout", "2", "sleep", "60"}, 124, {}, 2s, 2100ms},
        Run{"timeout_in_time", {"timeout", "2m", "sh", "-c", "exit 5"}, 5},
        Run{"timeout_of_nothing", {"timeout", "2", "python4"}, 127},
        Run{"no_such_name", {"nslookup", "nobody"}, 1, {"** server can't find nobody: NXDOMAIN"}},
        Run{"shell_exit", {"sh", "-c", "exit 7"}, 7},
        Run{"shell_sequence", {"sh", "-c", "echo a; sleep 1; echo b"}, 0, {"a", "b"}, 1s, 2s},
        Run{"shell_and", {"sh", "-c", "false && echo no; true && echo yes"}, 0, {"yes"}},
        Run{"shell_or", {"sh", "-c", "false || exit 4"}, 4},
        Run{"shell_not", {"sh", "-c", "if ! false; then exit 5; fi"}, 5},
        Run{"shell_else", {"sh", "-c", "if false; then exit 5; else exit 6; fi"}, 6},
        Run{"shell_variable",
            {"sh", "-c", "a=5; b=\"x $a\"; echo $b ${a}y '$a'"},
            0,
            {"x 5 5y $a"}},
        Run{"shell_status", {"sh", "-c", "false; exit $?"}, 1},
        Run{"shell_errexit", {"sh", "-c", "set -e; false; echo no"}, 1},
        Run{"shell_errexit_option", {"sh", "-ec", "false; echo no"}, 1},
        Run{"shell_errexit_in_a_condition",
            {"sh", "-c",
             "set -e; until nslookup web; do sleep 1; done; if false; then :; fi; exit 3"},
            3,
            {"Address: 10.0.0.9"}},
        Run{"shell_errexit_at_the_end_of_a_chain",
            {"sh", "-c", "set -e; true && false; echo no"},
            1},
        Run{"shell_errexit_within_a_chain", {"sh", "-c", "set -e; false && true; exit 4"}, 4},
        Run{"shell_exit_of_what_failed", {"sh", "-c", "python4 train.py || exit $?"}, 127},
        Run{"shell_bare_exit", {"sh", "-c", "false || exit"}, 1},
        Run{"shell_unset", {"sh", "-uc", "echo ${RANK:-0}; echo $RANK; exit 3"}, 2, {"0"}},
        Run{"shell_numbers",
            {"sh", "-c", "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done; exit $((i * 10 + 08))"},
            2,
            {"sh: 1: Illegal number: 08"}},
        Run{"shell_counts", {"sh", "-c", "i=7; [ $i -ge 07 ] && exit $(( (i - 1) / 2 % 4 ))"}, 3},
        Run{"shell_ordinal",
            {"sh", "-c", "h=$(hostname); echo ${h##*-} ${h%-*} ${#h} \"${h#*d}\""},
            0,
            {"0 pod 5 -0"}},
        Run{"shell_arguments",
            {"sh", "-c", "shift; for a in \"$@\"; do echo \"<$a>\"; done; exit $#", "sh", "x",
             "a b", ""},
            2,
            {"<a b>", "<>"}},
        Run{"shell_tee", {"sh", "-c", "python4 2>&1 | tee /log; echo after $?"}, 0, {"after 0"}},
        Run{"shell_tee_pipefail",
            {"bash", "-o", "pipefail", "-ec", "python4 | tee /log; echo no"},
            127},
        Run{"shell_group",
            {"sh", "-c", "{ echo a; false; } || { echo b; exit 6; }"},
            6,
            {"a", "b"}},
        Run{"shell_continue",
            {"sh", "-c", "for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done; exit 5"},
            5,
            {"1", "3"}},
        Run{"shell_brackets", {"bash", "-c", "x='a b'; [[ $x == 'a b' ]] && exit 8"}, 8},
        Run{"shell_own_variable",
            {"sh", "-c", "A=1; B=2 sh -c 'echo \"<$A$B>\"'; export A; sh -c 'echo \"[$A$B]\"'"},
            0,
            {"<2>", "[1]"}},
        Run{"shell_bad_test", {"sh", "-c", "[ a -eq 1 ]; exit $?"}, 2, {"[: Illegal number: a"}},
        Run{"shell_exec_of_nothing", {"sh", "-c", "exec python4; echo no"}, 127},
        Run{"shell_status_of_eight_bits", {"sh", "-c", "exit 259"}, 3},
        Run{"shell_name", {"sh", "-c", "echo ${00} $0", "me"}, 0, {"me me"}},
        Run{"shell_exec_of_its_own", {"sh", "-c", "exec false; exit 5"}, 1},
        Run{"shell_break_outside", {"sh", "-c", "break; exit 5"}, 5},
        Run{"shell_set_arguments",
            {"sh", "-c", "set -e -- \"$@\" --flag; echo \"$2 $#\"", "sh", "x"},
            0,
            {"--flag 2"}},
        Run{"shell_silent_with_a_blank",
            {"sh", "-c", "echo a 2> /dev/null; echo hidden > /dev/null"},
            0,
            {"a"}},
        Run{"shell_rank_of_a_name", {"sh", "-c", "x=job-worker-12; exit ${x##*[!0-9]}"}, 12},
        Run{"shell_test_of_a_bang", {"sh", "-c", "[ ! = x ]; [ ! != x ] && exit 4"}, 4},
        Run{"shell_sequence_kept",
            {"sh", "-c", "x=$(seq 3); for i in $x; do n=$i; done; exit $n"},
            3},
        Run{"shell_exported_text",
            {"sh", "-c", "x='a b'; export Y=$x; sh -c 'echo \"<$Y>\"'"},
            0,
            {"<a b>"}},
        Run{"shell_star_in_a_value", {"bash", "-c", "x='a*'; [[ $x == $x ]] && exit 6"}, 6},
        Run{"shell_not_modelled_later", {"sh", "-c", "c=getopts; $c x; exit $?"}, 126},
        Run{"shell_for", {"sh", "-c", "for i in a b; do echo $i; done"}, 0, {"a", "b"}},
        Run{"shell_break",
            {"sh", "-c", "for i in $(seq 9); do if [ $i = 3 ]; then break; fi; sleep 1; done"},
            0,
            {},
            2s,
            3s},
        Run{"shell_child", {"sh", "-c", "ddptwin-worker --steps x; echo $?"}, 0, {"2"}},
        Run{"shell_missing",
            {"sh", "-c", "python4 x; exit $?"},
            127,
            {"sh: 1: python4: not found"}},
        Run{"shell_quiet", {"sh", "-c", "nslookup pod-0 >/dev/null 2>&1 && echo up"}, 0, {"up"}},
        Run{"shell_until",
            {"sh", "-c", "until nslookup pod-0; do echo waiting; sleep 2; done; echo done"},
            0,
            {"done"}}),
    [](const auto& one) { return one.param.name; });

TEST_P(OneCommand, ends_with_its_code_after_its_time) {
  TestPods pods;
  pods.addresses()["web.default.svc.cluster.local"] = "10.0.0.9";
  pods.pod("pod-0");
  pods.command("pod-0", GetParam().argv);
  EXPECT_EQ(pods.exit_code("pod-0"), GetParam().code) << pods.all_lines();
  for (const std::string& line : GetParam().lines)
    EXPECT_TRUE(pods.line("pod-0", line)) << line << " is not in:\n" << pods.all_lines();
  const ContainerReport report = pods.report("pod-0");
  EXPECT_GE(*report.finished_at - *report.started_at, GetParam().least);
  EXPECT_LE(*report.finished_at - *report.started_at, GetParam().most);
}

struct Redirected {
  const char* name;
  const char* script;
  bool prints;
};
class Redirection : public testing::TestWithParam<Redirected> {};
// In the shell's place, as a child, and built in; on stdout and on stderr.
INSTANTIATE_TEST_SUITE_P(
    Commands, Redirection,
    testing::Values(Redirected{"in_place", "cat /etc/hosts >/dev/null", false},
                    Redirected{"child", "cat /etc/hosts >/dev/null; true", false},
                    Redirected{"built_in", "echo localhost >/dev/null; true", false},
                    Redirected{"other_stream", "cat /etc/hosts 2>/dev/null; true", true},
                    Redirected{"error", "cat /localhost 2>/dev/null; true", false},
                    Redirected{"error_is_not_output", "cat /localhost >/dev/null; true", true},
                    Redirected{"both", "cat /localhost >/dev/null 2>&1; true", false},
                    Redirected{"error_first", "cat /localhost 2>&1 >/dev/null; true", true},
                    Redirected{"missing", "localhost >/dev/null 2>&1; true", false}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_P(Redirection, into_nothing_is_not_in_the_log) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", GetParam().script});
  pods.exit_code("pod-0");
  EXPECT_EQ(pods.line("pod-0", "localhost") != nullptr, GetParam().prints) << pods.all_lines();
}

TEST(Commands, what_is_executed_takes_the_shells_place) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "echo a; exec ddptwin-worker --steps 1000000"});
  pods.run(1s);
  EXPECT_EQ(pods.exit_code("pod-0"), 1);  // no RANK: the worker's own end
  EXPECT_TRUE(pods.line("pod-0", "environment variable RANK expected"));
}

// An exec makes it process 1 of the container, as no start from the zygote does.
TEST(Commands, the_built_in_worker_in_a_shells_place_ignores_the_stop_signal) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"bash", "-c",
                         "export RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500; "
                         "ddptwin-worker --steps 100 --step-time 100ms"});
  pods.run(5s);
  pods.signal("pod-0", SIGTERM);
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
}

TEST(Commands, a_missing_one_is_a_start_error) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"python4", "train.py"});
  EXPECT_EQ(pods.exit_code("pod-0"), 128);
  EXPECT_EQ(pods.report("pod-0").reason, "StartError");
  EXPECT_EQ(pods.report("pod-0").started_at, Time());
  EXPECT_EQ(pods.start_error(),
            "failed to create containerd task: failed to create shim task: OCI runtime create "
            "failed: runc create failed: unable to start container process: exec: \"python4\": "
            "executable file not found in $PATH: unknown");
}

}  // namespace
}  // namespace ddptwin::model::commands_test
