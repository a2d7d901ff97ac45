// A user who sees only the last screen: ten jobs that fail, and what the last line says of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <tuple>

#include "command.hpp"

namespace ddptwin::test::verdicts_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(DDPTWIN_TEST_DIR) / "testdata/failing";

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

struct Row {
  const char* file;
  const char* told;  // a regular expression that the last line matches
  const char* options = "";
};
class FailingJob : public testing::TestWithParam<std::tuple<Row, const char*>> {};
TEST_P(FailingJob, names_the_culprit_and_the_reason_on_its_last_line) {
  const auto& [row, mode] = GetParam();
  // The worker that links libtorch may not be there.
  const fs::path worker = DDPTWIN_BINARY_DIR "/bin/ddptwin-worker";
  const std::string text = read_file(folder / (std::string(row.file) + ".yaml"));
  if (std::string_view(mode) == "real" && !fs::exists(worker) &&
      text.find("ddptwin-worker") != std::string::npos)
    GTEST_SKIP() << "there is no ddptwin-worker";
  const Said said = ddptwin(
      std::string("run ") + row.file + ".yaml --quiet --mode " + mode + " " + row.options, folder);
  if (said.status == 3) GTEST_SKIP() << said.err;  // this machine has no sandboxes
  EXPECT_EQ(said.status, 1) << said.out << said.err;
  EXPECT_TRUE(std::regex_search(last_line(said.out), std::regex(row.told))) << row.told << "\n"
                                                                            << said.out << said.err;
}
TEST(Verdicts, tell_what_this_machine_lacks_where_its_own_tools_ran) {
  for (const char* mode : {"virtual", "real"}) {
    const Said said = ddptwin(std::string("run traceback.yaml --quiet --mode ") + mode, folder);
    if (said.status == 3) GTEST_SKIP() << said.err;
    EXPECT_EQ(said.out.find("this machine's Python has no such module") != said.out.npos,
              std::string_view(mode) == "real")
        << said.out;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Table, FailingJob,
    testing::Combine(
        testing::Values(
            Row{"traceback",
                R"(^FAILED traceback: pytorchjob/mnist Failed: 1 Master replica failed: )"
                R"(pod/mnist-master-0 container pytorch exit 1: "ModuleNotFoundError: No module named 'x'")"},
            Row{"survivor-first",
                R"(pytorchjob/mnist Failed: .*: pod/mnist-worker-0 container pytorch exit 1: "ValueError: no such column")"},
            Row{"worker-raises",
                R"(pytorchjob/mnist Failed: .*: pod/mnist-worker-0 container pytorch exit 1)"},
            Row{"trainjob-gpus",
                R"(trainjob/mnist has no condition yet: .*JobCreationFailed: .*Limit must be set for non overcommitable resources \(a device like nvidia\.com/gpu wants the same amount in limits as in requests\))",
                "--timeout 6s"},
            Row{"killed",
                R"(pytorchjob/mnist Failed: .*: pod/mnist-master-0 container pytorch exit 137 \(SIGKILL\))"},
            Row{"out-of-memory",
                R"(pytorchjob/mnist Failed: .*: pod/mnist-worker-0 container pytorch exit 137 \(OOMKilled\))"},
            Row{"image-missing",
                R"(pytorchjob/mnist Created.*: pod/mnist-master-0 container pytorch waits: (ErrImagePull|ImagePullBackOff): .*registry.local/mnist:nope.* \(timeout\)$)"},
            Row{"unschedulable",
                R"(pytorchjob/mnist Created, Running: pod/mnist-worker-0 not placed: 0/1 nodes are available: .*Insufficient cpu)",
                "--timeout 6s"},
            Row{"claim-missing",
                R"(pytorchjob/mnist Created: .*not placed: 0/1 nodes are available: persistentvolumeclaim "data" not found\. no new claims)",
                "--timeout 6s"},
            Row{"claim-of-no-class",
                R"(pytorchjob/mnist Created: .*not placed: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims\.)",
                "--timeout 6s"},
            Row{"config-map-missing",
                R"(pod/mnist-worker-0 (container pytorch waits: CreateContainerConfigError|Failed: Error): configmap "nobody-made-it" not found)",
                "--timeout 6s"},
            Row{"init-fails",
                R"(pytorchjob/mnist Failed: 1 Worker replica failed: pod/mnist-worker-0 init container fetch exit 3: "fetch: no space left")"},
            Row{"command-not-found",
                R"(pytorchjob/mnist Failed: .*: pod/mnist-master-0 container pytorch StartError, exit 128: .*trane)"},
            Row{"hang",
                R"(pytorchjob/mnist Created, Running: pod/mnist-master-0 Running, container pytorch runs still, it printed last: "waiting for 3 ranks, 2 are here", in .*\(timeout\)$)",
                "--timeout 5s"},
            Row{"backoff-limit",
                R"(pytorchjob/mnist Failed: it has reached the specified backoff limit: pod/mnist-master-0 container pytorch exit 1, [23] times: "OSError: checkpoint is torn")"},
            Row{"refused-pod",
                R"(pytorchjob/mnist .*: FailedCreatePod: Error creating: Pod "mnist-master-0" is invalid: .*volumeMounts\[0\].name: Not found)",
                "--timeout 5s"}),
        testing::Values("real", "virtual")),
    [](const auto& row) {
      std::string name = std::string(std::get<0>(row.param).file) + "_" + std::get<1>(row.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// Which files a test has, so that it is not one whose name says more than it does.
TEST(Verdicts, the_reason_stands_in_text_json_junit_and_timeline) {
  const fs::path report = fs::path(testing::TempDir()) / "verdicts.xml";
  const Said said =
      ddptwin("run traceback.yaml --mode virtual --json --junit " + report.string(), folder);
  EXPECT_EQ(said.status, 1);
  const std::string told = "ModuleNotFoundError: No module named 'x'";
  EXPECT_NE(said.out.find("  | " + told), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\"ends\":[\"pytorchjob/mnist Failed: "), std::string::npos) << said.out;
  const std::string junit = read_file(report);
  EXPECT_NE(junit.find("  | " + told), std::string::npos) << junit;
  EXPECT_EQ(junit.find("<skipped"), std::string::npos) << junit;
  // The timeline's row and the verdict with its last lines.
  EXPECT_NE(said.err.find("expected pytorchjob/mnist succeeds: failed: it did not become so: "),
            std::string::npos)
      << said.err;
  EXPECT_NE(said.err.find("            pod/mnist-master-0 container pytorch exit 1: \"" + told +
                          "\"; its last lines:\n"),
            std::string::npos)
      << said.err;
  fs::remove(report);
}

std::string written(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path.string();
}

const std::string maps =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
    "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n";
std::string pod(const std::string& name, const std::string& policy, const std::string& script) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec: {restartPolicy: " + policy +
         ", containers: [{name: c, image: busybox, command: [sh, -c, '" + script + "']}]}\n";
}

TEST(Verdicts, where_nothing_ran_nothing_passed) {
  const Said said = ddptwin("run " + written("maps.yaml", maps) + " --mode virtual --quiet", "/");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(last_line(said.out).substr(0, 58),
            "NOTHING RAN maps: no job and no pod is among its objects, ");
}

TEST(Verdicts, a_pod_is_waited_for_like_a_job) {
  for (const char* mode : {"real", "virtual"}) {
    const auto run = [&](const std::string& text, const std::string& options = "") {
      return ddptwin("run " + written("pod.yaml", text) + " --quiet --mode " + mode + options, "/");
    };
    const Said good = run(pod("p", "Never", "sleep 1"));
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_EQ(last_line(good.out).substr(0, 33), "PASSED pod: pod/p Succeeded, in 1");
    const Said bad = run(pod("p", "Never", "echo lost it; exit 7"));
    EXPECT_EQ(bad.status, 1) << bad.out << bad.err;
    EXPECT_EQ(
        last_line(bad.out).find("FAILED pod: pod/p Failed: container c exit 7: \"lost it\", in 0."),
        0U)
        << bad.out;
    // Ready for a moment, over and over.
    const Said crashing =
        run(pod("p", "Always", "sleep 1; echo lost it; exit 7"), " --timeout 20s");
    EXPECT_EQ(crashing.status, 1) << crashing.out << crashing.err;
    EXPECT_NE(last_line(crashing.out).find("container c exit 7"), std::string::npos)
        << crashing.out;
  }
}

TEST(Verdicts, a_pod_that_serves_stays_ready) {
  const Said said = ddptwin(
      "run " + written("serves.yaml", pod("p", "Always", "sleep 1000")) + " --quiet --mode virtual",
      "/");
  EXPECT_EQ(said.status, 0) << said.out << said.err;
  EXPECT_EQ(last_line(said.out).find("PASSED serves: pod/p Running and Ready, in 10."), 0U)
      << said.out;
}

TEST(Verdicts, output_that_cannot_be_written_is_an_error) {
  const std::string binary = DDPTWIN_BINARY_DIR "/bin/ddptwin ";
  const std::string file = written("short.yaml", pod("p", "Never", "true"));
  const std::string run = binary + "run " + file + " --mode virtual ";
  for (const std::string& line : {run + "--json > /dev/full", run + "--quiet > /dev/full",
                                  binary + "list > /dev/full", binary + "--help > /dev/full"}) {
    const Said said = shell("{ " + line + "; }", "/");
    EXPECT_EQ(said.status, 3) << line << said.err;
    EXPECT_NE(said.err.find("standard output: cannot be written: No space left on device"),
              std::string::npos)
        << line << said.err;
  }
  const Said closed = shell("{ " + run + "--json >&-; }", "/");
  EXPECT_EQ(closed.status, 3) << closed.err;
  EXPECT_NE(closed.err.find("standard output: cannot be written"), std::string::npos) << closed.err;
  const Said full = shell("{ " + run + "--junit /dev/full; }", "/");
  EXPECT_NE(full.err.find("/dev/full: cannot be written: No space left on device"),
            std::string::npos)
      << full.err;
  EXPECT_EQ(full.status, 3) << full.err;
}

std::string scenario(const std::string& name, const std::string& code) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: " + name +
         "}\nspec: {images: [{name: busybox}]}\n---\n" +
         pod("p", "Never", "sleep 1; echo said by " + name + "; exit " + code);
}

TEST(Verdicts, one_bad_file_does_not_stop_the_others) {
  const std::string files = written("good.yaml", scenario("good", "0")) + " " +
                            written("bad.yaml", "kind: Scenario\nspec: {stepz: []}\n") + " " +
                            written("red.yaml", scenario("red", "1"));
  const fs::path report = fs::path(testing::TempDir()) / "many.xml";
  for (const char* jobs : {"1", "3"}) {
    const Said said = ddptwin(
        "run " + files + " --mode virtual --quiet --junit " + report.string() + " --jobs " + jobs,
        "/");
    EXPECT_EQ(said.status, 2) << said.out << said.err;
    EXPECT_EQ(last_line(said.out), "1 passed, 1 failed, 1 not run") << said.out;
    EXPECT_NE(said.err.find("bad.yaml:"), std::string::npos) << said.err;
    const std::string junit = read_file(report);
    for (const char* suite : {"<testsuite name=\"good\"", "<testsuite name=\"red\"",
                              "bad.yaml\" tests=\"1\" failures=\"0\" errors=\"1\""})
      EXPECT_NE(junit.find(suite), std::string::npos) << suite << junit;
  }
  fs::remove(report);
}

TEST(Verdicts, real_runs_at_once_do_not_disturb_one_another) {
  std::string files;
  for (const char* name : {"a", "b", "c", "d"})
    files += written(std::string(name) + ".yaml", scenario(name, name[0] == 'c' ? "1" : "0")) + " ";
  const Said said = ddptwin("run " + files + "--mode real --jobs 4", "/");
  EXPECT_EQ(said.status, 1) << said.out << said.err;
  EXPECT_EQ(last_line(said.out), "3 passed, 1 failed") << said.out;
  // Each is told as a whole: between its first line and its last nobody else speaks.
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string says = std::string("said by ") + name;
    const std::size_t first = said.out.find(says);
    const std::size_t end = said.out.find(std::string(name) + ": pod/p ", first);
    ASSERT_NE(end, std::string::npos) << said.out;
    const std::string between = said.out.substr(first, end - first);
    for (const char* other : {"a", "b", "c", "d"}) {
      if (*other == *name) continue;
      EXPECT_EQ(between.find(std::string("said by ") + other), std::string::npos) << said.out;
    }
  }
  EXPECT_NE(said.err.find("[4/4] "), std::string::npos) << said.err;
}

TEST(Verdicts, suites_of_both_modes_have_names_of_their_own) {
  const fs::path report = fs::path(testing::TempDir()) / "both.xml";
  const Said said = ddptwin("run " + written("both.yaml", scenario("both", "0")) +
                                " --mode both --seed 7 --quiet --junit " + report.string(),
                            "/");
  EXPECT_EQ(said.status, 0) << said.out << said.err;
  EXPECT_EQ(last_line(said.out), "2 passed, 0 failed");
  const std::string junit = read_file(report);
  EXPECT_NE(junit.find("<testsuite name=\"both [real]\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("<testsuite name=\"both [virtual seed 7]\""), std::string::npos) << junit;
  fs::remove(report);
}

TEST(Verdicts, an_interrupted_run_leaves_open_what_was_open) {
  const fs::path report = fs::path(testing::TempDir()) / "interrupted.xml";
  const Said said = shell("timeout -s INT 3 " DDPTWIN_BINARY_DIR
                          "/bin/ddptwin run hang.yaml --mode real --json "
                          "--junit " +
                              report.string(),
                          folder);
  EXPECT_NE(said.out.find("\"name\":\"pytorchjob/mnist succeeds\",\"verdict\":\"open\""),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.err.find("  open    expected pytorchjob/mnist succeeds"), std::string::npos)
      << said.err;
  EXPECT_EQ(last_line(said.err).find("INTERRUPTED hang: pytorchjob/mnist Created, Running"), 0U)
      << said.err;
  const std::string junit = read_file(report);
  EXPECT_EQ(junit.find("<failure"), std::string::npos) << junit;
  EXPECT_NE(junit.find("<skipped message=\"the run was interrupted: "), std::string::npos) << junit;
  fs::remove(report);
}

}  // namespace
}  // namespace ddptwin::test::verdicts_test
