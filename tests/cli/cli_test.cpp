#include "command.hpp"
#include "scenario/language/reference.hpp"

namespace ddptwin::test::cli_test {
namespace {

namespace fs = std::filesystem;

const fs::path source = DDPTWIN_SOURCE_DIR;

struct Row {
  const char* name;
  const char* arguments;
  int status;
};
class Cli : public testing::TestWithParam<Row> {};
TEST_P(Cli, says_what_its_golden_file_says) {
  const Said said = ddptwin(GetParam().arguments, DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, GetParam().status);
  expect_golden(fs::path(DDPTWIN_TEST_DIR) / "testdata" / (std::string(GetParam().name) + ".txt"),
                said.out + said.err);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Cli,
    testing::Values(
        Row{"help", "--help", 0}, Row{"help_run", "run --help", 0},
        Row{"help_env", "env --help", 0}, Row{"help_list", "list --help", 0},
        Row{"help_agree", "agree --help", 0}, Row{"help_explore", "explore --help", 0},
        Row{"help_compare", "compare --help", 0}, Row{"help_exec", "exec --help", 0},
        Row{"help_doctor", "doctor --help", 0}, Row{"exec_without_command", "exec train-0", 2},
        Row{"exec_in_no_run", "exec --run 1 train-0 -- hostname", 3},
        Row{"compare_nothing", "compare --real ../../scenarios/faults/link-slow.yaml", 2},
        Row{"no_command", "", 2}, Row{"unknown_command", "fly", 2},
        Row{"run_without_file", "run", 2}, Row{"unknown_option", "run --fast x.yaml", 2},
        Row{"misspelt_command", "rnu job.yaml", 2},
        Row{"misspelt_option", "run --sed 7 job.yaml", 2},
        Row{"swapped_letters", "run --sede 7 job.yaml", 2},
        Row{"file_without_command", "job.yaml", 2}, Row{"bad_seed", "run --seed many x.yaml", 2},
        Row{"bad_mode", "run --mode warp x.yaml", 2},
        Row{"negative_seed", "run --seed -1 x.yaml", 2},
        Row{"seed_too_large", "run --seed 100000000000000000000 x.yaml", 2},
        Row{"agree_negative_seed", "agree --seed -1 x.yaml", 2},
        Row{"explore_negative_seed", "explore --seed -1 x.yaml", 2},
        Row{"explore_no_runs", "explore --runs 0 x.yaml", 2},
        Row{"explore_negative_jobs", "explore --jobs -1 x.yaml", 2},
        Row{"explore_no_faults", "explore --faults-max 0 x.yaml", 2},
        Row{"explore_exhaustive_runs", "explore --exhaustive --runs 5 x.yaml", 2},
        Row{"bad_torch", "run --torch 0.4 x.yaml", 2}, Row{"option_before_files", "run --nope", 2},
        Row{"no_such_python", "run --python /no/such x.yaml", 2},
        Row{"agree_no_seeds", "agree --seeds 0 ../../scenarios/pytorchjob/demo.yaml", 2},
        Row{"agree_nothing_to_compare", "agree ../../scenarios/faults/link-slow.yaml", 2},
        Row{"env_of_the_demo", "env ../../scenarios/pytorchjob/demo.yaml", 0}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(CliTest, one_failure_leads_to_this_on_each_system) {
  std::string files;
  std::vector<fs::path> all;
  for (const auto& entry : fs::recursive_directory_iterator(source / "scenarios/compare"))
    if (entry.path().extension() == ".yaml") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  for (const fs::path& file : all) files += " " + file.string();
  const Said said = ddptwin("compare" + files, DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0) << said.err;
  expect_golden(fs::path(DDPTWIN_TEST_DIR) / "testdata/compare.txt", said.out);
}

TEST(CliTest, version_is_said_at_once) {
  const Said said = ddptwin("--version", DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out.substr(0, 8), "ddptwin ");
}

TEST(CliTest, list_names_scenarios_with_their_incident) {
  const Said said = ddptwin("list", DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0);
  for (const auto& entry : fs::directory_iterator(source / "scenarios/pytorchjob")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NE(said.out.find(entry.path().filename().string()), std::string::npos) << entry.path();
  }
}

TEST(CliTest, a_report_that_cannot_be_written_is_found_before_anything_runs) {
  const Said said =
      ddptwin("run demo.yaml --junit /proc/none/report.xml", source / "scenarios/pytorchjob");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err,
            "ddptwin: --junit: /proc/none/report.xml: cannot be written: No such file or "
            "directory\n");
}

TEST(CliTest, the_folder_of_a_report_is_made) {
  const fs::path dir = fs::path(testing::TempDir()) / "reports";
  fs::remove_all(dir);
  const Said said = ddptwin("run permanent-exit-code.yaml --mode virtual --quiet --junit " +
                                (dir / "a/b/report.xml").string(),
                            source / "scenarios/pytorchjob");
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_NE(read_file(dir / "a/b/report.xml").find("<testsuite"), std::string::npos);
  fs::remove_all(dir);
}

TEST(CliTest, two_scenarios_of_one_name_do_not_share_a_folder) {
  const Said said =
      ddptwin("run demo.yaml demo.yaml --out /nonexistent", source / "scenarios/pytorchjob");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err, "ddptwin: demo.yaml metadata.name: two scenarios are named \"demo\"\n");
}

constexpr const char* exit_code = "../../scenarios/pytorchjob/permanent-exit-code.yaml";

TEST(CliTest, virtual_runs_are_repeated_by_their_seed) {
  const std::string command = std::string("run ") + exit_code + " --mode virtual --json --seed ";
  const Said first = ddptwin(command + "7", DDPTWIN_TEST_DIR);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, ddptwin(command + "7", DDPTWIN_TEST_DIR).out);
  EXPECT_NE(first.out, ddptwin(command + "8", DDPTWIN_TEST_DIR).out);
  for (const char* part :
       {"\"mode\":\"virtual\"", "\"seed\":7", "\"traceHash\":\"", "\"torch\":\"2.x\""})
    EXPECT_NE(first.out.find(part), std::string::npos) << part;
}

// A job that hangs; the expectation that is added to every plain job cannot hold.
TEST(CliTest, a_failure_names_the_command_that_repeats_it) {
  const fs::path file = fs::path(testing::TempDir()) / "hangs for ever.yaml";
  std::ofstream(file) << "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\n"
                         "spec: {pytorchReplicaSpecs: {Master: {replicas: 1, template: {spec: "
                         "{containers: [{name: pytorch, image: ddptwin-worker, args: "
                         "[--fail-at-step, '1', --fail-with, hang]}]}}}}}\n";
  const Said said = ddptwin(
      "run 'hangs for ever.yaml' --mode virtual --seed 3 --torch 1.13 --quiet", testing::TempDir());
  fs::remove(file);
  EXPECT_EQ(said.status, 1) << said.err;
  EXPECT_NE(said.out.find("repeat with: ddptwin run 'hangs for ever.yaml' --mode virtual --seed 3 "
                          "--torch 1.13\n"),
            std::string::npos)
      << said.out;
}

TEST(CliTest, stand_ins_off_refuses_what_is_not_here) {
  const fs::path file = fs::path(testing::TempDir()) / "script.yaml";
  std::ofstream(file)
      << "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, "
         "image: mine, command: [python3, train.py]}], restartPolicy: Never}\n";
  for (const char* mode : {"real", "virtual"}) {
    const Said said =
        ddptwin("run script.yaml --stand-ins off --mode " + std::string(mode), testing::TempDir());
    EXPECT_EQ(said.status, 2);
    EXPECT_EQ(said.out, "");
    EXPECT_NE(said.err.find("script.yaml:4:"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("no description of image mine"), std::string::npos) << said.err;
  }
  fs::remove(file);
}

// Manifests in the manner of those that people publish: each trains to its end as it is.
class FirstUse : public testing::TestWithParam<std::string> {};
std::vector<std::string> first_use_files() {
  std::vector<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(DDPTWIN_TEST_DIR) / "testdata/first-use"))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Manifests, FirstUse, testing::ValuesIn(first_use_files()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(FirstUse, runs_unmodified_in_both_modes) {
  for (const char* mode : {"virtual", "real"}) {
    const Said said = ddptwin(
        "run testdata/first-use/" + GetParam() + ".yaml --steps 3 --step-time 10ms --mode " + mode,
        DDPTWIN_TEST_DIR);
    if (said.status == 3) GTEST_SKIP() << said.err;  // this machine has no sandboxes
    EXPECT_EQ(said.status, 0) << said.out << said.err;
    for (const char* part : {"no description of image registry.example/",
                             "a training of 3 steps stands in", "with stand-ins for "})
      EXPECT_NE(said.out.find(part), std::string::npos) << part << "\n" << said.out;
    EXPECT_TRUE(said.out.find("Succeeded") != said.out.npos ||
                said.out.find("becomes Complete") != said.out.npos)
        << said.out;
    for (const char* own : {"only a process", "no command specified", "command not found",
                            "executable file not found"})
      EXPECT_EQ(said.out.find(own), std::string::npos) << own << "\n" << said.out;
  }
}

TEST(CliTest, reports_say_what_stood_in) {
  const fs::path report = fs::path(testing::TempDir()) / "stand-ins.xml";
  const Said said = ddptwin(
      "run testdata/first-use/arguments.yaml --mode virtual --json --quiet "
      "--junit " +
          report.string(),
      DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_NE(said.out.find("\"standIns\":[{\"object\":\"pytorchjob/digits-gloo\""), said.out.npos)
      << said.out;
  EXPECT_NE(said.err.find("PASSED arguments, with stand-ins for 2 containers"), said.err.npos)
      << said.err;
  const std::string junit = read_file(report);
  EXPECT_NE(junit.find("<property name=\"stand-in\""), junit.npos) << junit;
  fs::remove(report);
}

// What is here runs as it is, in either mode, and nothing stands in.
TEST(CliTest, what_is_here_is_not_stood_in_for) {
  const fs::path file = fs::path(testing::TempDir()) / "here.yaml";
  std::ofstream(file)
      << "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {run.sh: 'echo of a file'}\n"
         "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  restartPolicy: Never\n"
         "  containers:\n  - {name: a, image: x, command: [/bin/sh, -c, 'echo hi; sleep 1']}\n"
         "  - {name: b, image: x, command: [sh, /s/run.sh], volumeMounts: [{name: s, mountPath: "
         "/s}]}\n  volumes: [{name: s, configMap: {name: s}}]\n---\n"
         "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  standIns: true\n  expect:\n"
         "  - eventually: {of: pod/p, log: of a file}\n  - eventually: {of: pod/p, phase: "
         "Succeeded}\n    within: 20s\n";
  const Said said = ddptwin("run here.yaml --mode both", testing::TempDir());
  fs::remove(file);
  if (said.status == 3) GTEST_SKIP() << said.err;
  EXPECT_EQ(said.status, 0) << said.out << said.err;
  EXPECT_EQ(said.out.find("stand"), said.out.npos) << said.out;
}

// Objects of `apply` steps are explained too; the runtime's own variables are named with their
// rule.
TEST(CliTest, env_sees_apply_steps_and_the_runtime) {
  const fs::path file = fs::path(testing::TempDir()) / "later.yaml";
  std::ofstream(file) << "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  steps:\n"
                         "  - apply: {object: {apiVersion: v1, kind: Pod, metadata: {name: late}, "
                         "spec: {containers: [{name: c, image: ddptwin-worker}]}}}\n";
  const Said said = ddptwin("env later.yaml", testing::TempDir());
  fs::remove(file);
  EXPECT_EQ(said.status, 0) << said.err;
  for (const char* part :
       {"pod/late container c", "HOSTNAME=late", "# runtime: the pod's hostname", "HOME=/root"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << "\n" << said.out;
}

TEST(CliTest, env_is_that_of_the_first_node) {
  const fs::path file = fs::path(testing::TempDir()) / "placed.yaml";
  const std::string spec =
      "containers: [{name: c, image: busybox, env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: "
      "spec.nodeName}}}, {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]}\n";
  std::ofstream(file) << "apiVersion: v1\nkind: Pod\nmetadata: {name: own}\nspec: {" << spec
                      << "---\napiVersion: v1\nkind: Pod\nmetadata: {name: host}\nspec: "
                         "{hostNetwork: true, "
                      << spec;
  const Said said = ddptwin("env placed.yaml", testing::TempDir());
  fs::remove(file);
  EXPECT_EQ(said.status, 0) << said.err;
  const std::size_t own = said.out.find("pod/own");
  ASSERT_NE(own, std::string::npos) << said.out;
  const std::string of_host = said.out.substr(0, own), of_own = said.out.substr(own);
  for (const char* part : {"HOSTNAME=node-0 ", "# runtime: the node's name (hostNetwork)",
                           "NODE=node-0 ", "IP=192.168.0."})
    EXPECT_NE(of_host.find(part), std::string::npos) << part << "\n" << of_host;
  for (const char* part : {"HOSTNAME=own ", "NODE=node-0 ", "IP=10.244.0."})
    EXPECT_NE(of_own.find(part), std::string::npos) << part << "\n" << of_own;
}

// The first is the one that is written first, whatever its name; a pod that names one is there.
TEST(CliTest, env_takes_name_and_address_from_one_node) {
  const fs::path file = fs::path(testing::TempDir()) / "nodes.yaml";
  const auto pod = [](const std::string& name, const std::string& place) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {hostNetwork: true, " + place +
           "containers: [{name: c, image: ddptwin-worker, env: [{name: IP, valueFrom: {fieldRef: "
           "{fieldPath: status.podIP}}}]}]}\n";
  };
  std::ofstream(file) << "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  cluster: "
                         "{nodes: [{name: b}, {name: a}]}\n"
                      << pod("any", "") << pod("told", "nodeName: a, ");
  const Said said = ddptwin("env nodes.yaml", testing::TempDir());
  fs::remove(file);
  EXPECT_EQ(said.status, 0) << said.err;
  const std::size_t told = said.out.find("pod/told");
  ASSERT_NE(told, std::string::npos) << said.out;
  for (const char* part : {"HOSTNAME=b ", "IP=192.168.0.1 "})
    EXPECT_NE(said.out.substr(0, told).find(part), std::string::npos) << part << "\n" << said.out;
  for (const char* part : {"HOSTNAME=a ", "IP=192.168.0.2 "})
    EXPECT_NE(said.out.find(part, told), std::string::npos) << part << "\n" << said.out;
}

// With a ddptwin beside it that says what it is asked.
TEST(CliTest, tools_agree_takes_every_scenario_where_no_file_is_named) {
  const fs::path root = fs::path(testing::TempDir()) / "agree";
  for (const char* folder : {"tools", "scenarios/a"}) fs::create_directories(root / folder);
  fs::copy_file(source / "tools/agree", root / "tools/agree", fs::copy_options::overwrite_existing);
  std::ofstream(root / "tools/ddptwin") << "#!/bin/sh\necho \"$@\"\n";
  fs::permissions(root / "tools/ddptwin", fs::perms::owner_all);
  std::ofstream(root / "scenarios/a/one.yaml").flush();
  const auto asked = [&](const std::string& arguments) {
    return shell("tools/agree " + arguments, root).out;
  };
  const std::string all = fs::canonical(root) / "scenarios/a/one.yaml";
  EXPECT_EQ(asked(""), "agree " + all + "\n");
  EXPECT_EQ(asked("--seed 7"), "agree --seed 7 " + all + "\n");
  EXPECT_EQ(asked("--seed=7"), "agree --seed=7 " + all + "\n");
  EXPECT_EQ(asked("--seed 7 x.yaml"), "agree --seed 7 x.yaml\n");
  EXPECT_EQ(asked("--seed 7 --help"), "agree --help\n");
  fs::remove_all(root);
}

TEST(CliTest, tools_refuse_what_they_do_not_know) {
  for (const char* tool : {"hashes", "tune", "bench"})
    EXPECT_EQ(shell(std::string("tools/") + tool + " --help", source).status, 0) << tool;
  for (const char* call : {"hashes --build", "hashes --built x", "hashes x", "hashes --build a b",
                           "tune x", "tune --help x", "bench x"})
    EXPECT_EQ(shell(std::string("tools/") + call, source).status, 2) << call;
}

// What is built of older sources is not run, however fast.
TEST(CliTest, tools_ddptwin_runs_the_tuned_build_as_long_as_no_source_is_newer) {
  const fs::path root = fs::path(testing::TempDir()) / "tuned";
  for (const char* folder : {"tools", "sim", "bench", "cmake"})
    fs::create_directories(root / folder);
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json"})
    std::ofstream(root / file).flush();
  for (const char* file : {"tools/ddptwin", "tools/setup.sh"})
    fs::copy_file(source / file, root / file, fs::copy_options::overwrite_existing);
  for (const std::string preset : {"run", "tuned"}) {
    const fs::path program = root / "build" / preset / "bin/ddptwin";
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\necho " + preset + " \"$@\"\n";
    fs::permissions(program, fs::perms::owner_all);
  }
  const auto built = [&](const std::string& preset, int minute) {
    shell("touch -d '2100-01-01 00:0" + std::to_string(minute) + "' build/" + preset + "/.built",
          root);
  };
  const auto says = [&] { return shell("tools/ddptwin list invariants", root).out; };
  built("run", 1);
  EXPECT_EQ(says(), "run list invariants\n");
  built("tuned", 1);
  EXPECT_EQ(says(), "tuned list invariants\n");
  fs::rename(root / "build/tuned/bin", root / "build/tuned/away");
  EXPECT_EQ(says(), "run list invariants\n");
  fs::rename(root / "build/tuned/away", root / "build/tuned/bin");
  shell("touch -d '2100-01-01 00:02' sim/changed.cpp", root);
  built("run", 3);
  EXPECT_EQ(says(), "run list invariants\n");
  fs::remove_all(root);
}

TEST(CliTest, explore_tells_what_it_has_done_when_it_is_interrupted) {
  const Said said = shell(
      "timeout --preserve-status -k 60 -s TERM 3 " DDPTWIN_BINARY_DIR
      "/bin/ddptwin explore scenarios/pytorchjob/master-killed.yaml --runs 1000000000 --quiet "
      "--out " +
          testing::TempDir() + "explored",
      source);
  EXPECT_EQ(said.status, 130) << said.err;
  EXPECT_NE(said.out.find("interrupted: "), said.out.npos) << said.out;
  EXPECT_NE(said.out.find("h of virtual time"), said.out.npos) << said.out;
}

// By the process id, for another test's run may be going on.
TEST(CliTest, a_command_runs_in_a_pod_of_a_run_that_is_going_on) {
  const fs::path folder = fs::path(testing::TempDir()) / "exec-door";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "pod.yaml") << R"(apiVersion: v1
kind: Pod
metadata: {name: train-0, namespace: ml}
spec:
  containers:
  - {name: first, image: busybox, command: [sleep, "60"]}
  - {name: second, image: busybox, command: [sleep, "60"], env: [{name: WHO, value: me}]}
)";
  const Said said = shell("(twin=" DDPTWIN_BINARY_DIR R"(/bin/ddptwin
$twin run pod.yaml --quiet --out out > told 2>&1 & run=$!
within="$twin exec --run $run ml/train-0"
until $within -- hostname > asked 2>&1; do kill -0 $run || exit 9; sleep 0.1; done
cat asked
$within --container second -- sh -c 'echo $WHO; exit 7'; echo "$?"
$within --container third -- true 2>&1; echo "$?"
$twin exec --run $run train-9 -- true 2>&1; echo "$?"
kill -INT $run; wait $run
grep -c 'exec by hand: hostname' out/trace.jsonl))",
                          folder);
  EXPECT_EQ(said.out,
            "train-0\nme\n7\n"
            "ddptwin: no container third of pod train-0 runs: its phase is Running\n3\n"
            "ddptwin: pods \"train-9\" not found\n3\n1\n")
      << said.err << read_file(folder / "told");
  fs::remove_all(folder);
}

// The comment at the head of a file that explore wrote is what its reader sees when it is run.
TEST(CliTest, what_explore_has_written_fails_in_the_words_of_its_comment) {
  const fs::path out = fs::path(testing::TempDir()) / "explored-words";
  const Said said = shell(DDPTWIN_BINARY_DIR
                              "/bin/ddptwin explore scenarios/pytorchjob/permanent-exit-code.yaml "
                              "--strict --quiet --runs 1 --out " +
                              out.string(),
                          source);
  EXPECT_EQ(said.status, 1) << said.err;
  const fs::path file = out / "permanent-exit-code-finished-pods-stop.yaml";
  const Said again = ddptwin("run " + file.string() + " --mode virtual", DDPTWIN_TEST_DIR);
  EXPECT_EQ(again.status, 1) << again.err;
  std::istringstream lines(read_file(file));
  std::size_t records = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    const std::string words = line.substr(line.find_first_not_of("# "));
    if (words.starts_with("Found by") || words.starts_with("World seed")) continue;
    EXPECT_NE(again.out.find(words), again.out.npos) << words << "\nnot in\n" << again.out;
    ++records;
  }
  EXPECT_GT(records, 5U);
  fs::remove_all(out);
}

TEST(CliTest, the_reference_page_is_that_of_the_parser) {
  expect_golden(source / "docs/reference/scenario.md", scenario::reference_page());
}

// Each option of the help stands in the completions of all shells and in the manual page.
TEST(CliTest, completions_and_manual_know_every_option) {
  const std::string help = ddptwin("run --help", DDPTWIN_TEST_DIR).out;
  for (const char* file : {"tools/completions/ddptwin.bash", "tools/completions/_ddptwin",
                           "tools/completions/ddptwin.fish", "docs/ddptwin.1"}) {
    const std::string text = read_file(source / file);
    for (const std::string word :
         {"run", "env", "list", "agree", "explore", "compare", "exec", "doctor"})
      EXPECT_NE(text.find(word), std::string::npos) << file << " " << word;
    for (std::size_t at = help.find("--"); at != help.npos; at = help.find("--", at + 2)) {
      const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 2);
      const std::string option = help.substr(at + 2, end - at - 2);
      EXPECT_NE(text.find(option), std::string::npos) << file << " --" << option;
    }
  }
}

}  // namespace
}  // namespace ddptwin::test::cli_test
