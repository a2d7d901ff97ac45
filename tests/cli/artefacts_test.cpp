// What `run --out` leaves and refuses, and what `env` does not tell;
// tests/sandbox/artefacts_anytime.py kills runs.
#include <gmock/gmock.h>

#include "command.hpp"

namespace ddptwin::test::artefacts_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ArtefactsOfRun : public testing::Test {
 protected:
  ArtefactsOfRun() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ArtefactsOfRun() override { fs::remove_all(folder_); }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  std::string read(const std::string& file) const { return read_file(folder_ / file); }
  Said say(const std::string& arguments) const { return ddptwin(arguments, folder_.string()); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("artefacts" + std::to_string(::getpid()));
};

constexpr const char* job =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j, namespace: team}\n"
    "spec: {pytorchReplicaSpecs: {Master: {replicas: 1, template: {spec: "
    "{containers: [{name: pytorch, image: ddptwin-worker, args: [--steps, '3'], env: [{name: PASS, "
    "valueFrom: {secretKeyRef: {name: s, key: pass}}}, {name: URL, value: 'db://$(PASS)@db'}, "
    "{name: PLAIN, value: hunter2}], envFrom: [{secretRef: {name: s}, prefix: S_}]}]}}}}}\n---\n"
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: team}\n"
    "stringData: {pass: hunter2, token: \"two\\nlines\"}\n---\n"
    "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: j}\n"
    "spec: {namespace: team, expect: [{eventually: {of: pytorchjob/j, finished: "
    "true}}]}\n";

TEST_F(ArtefactsOfRun, a_used_folder_is_emptied_of_what_is_ddptwins) {
  put("job.yaml", job);
  put("out/notes.txt", "mine");
  Said said = say("run job.yaml --mode virtual --out out --history");
  ASSERT_EQ(said.status, 0) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("artefacts: out/trace.jsonl, out/logs/, out/objects/, "
                                  "out/history/, out/result.json\n"));
  EXPECT_THAT(read("out/objects/pod/team/j-master-0.yaml"), HasSubstr("phase: Succeeded\n"));
  EXPECT_THAT(read("out/history/pod/team/j-master-0.yaml"), HasSubstr("phase: Pending\n"));
  EXPECT_THAT(read("out/logs/team_j-master-0_pytorch.log"), HasSubstr("step 3"));
  EXPECT_THAT(said.out, HasSubstr("  pod/team/j-master-0/pytorch | "));
  EXPECT_THAT(read("out/result.json"), HasSubstr(R"("name":"pod/team/j-master-0")"));
  // Of another job, in both modes' folders.
  put("empty.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  said = say("run job.yaml --mode virtual --quiet --out out");
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_FALSE(fs::exists(folder_ / "out/history"));
  EXPECT_EQ(read("out/notes.txt"), "mine");
}

TEST_F(ArtefactsOfRun, results_of_others_are_refused) {
  put("job.yaml", job);
  put("out/result.json", "{\"accuracy\": 0.9}");
  const Said said = say("run job.yaml --mode virtual --out out");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err,
            "ddptwin: out/result.json: is not ddptwin's: it is left as it is; name another folder "
            "with --out\n");
  EXPECT_EQ(read("out/result.json"), "{\"accuracy\": 0.9}");
}

TEST_F(ArtefactsOfRun, values_of_secrets_are_in_no_file_and_on_no_screen) {
  put("job.yaml", job);
  const Said said = say("run job.yaml --mode virtual --out out --history");
  EXPECT_EQ(said.status, 0) << said.err;
  const std::string encoded = "aHVudGVyMg==";
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "out")) {
    if (!entry.is_regular_file()) continue;
    const std::string text = read_file(entry.path());
    EXPECT_THAT(text, Not(HasSubstr(encoded))) << entry.path();
    EXPECT_THAT(text, Not(HasSubstr("two\\nlines"))) << entry.path();
  }
  EXPECT_THAT(read("out/objects/secret/team/s.yaml"), HasSubstr("pass: \"<masked "));
  EXPECT_EQ(say("run job.yaml --mode virtual --out out --show-secrets").status, 0);
  EXPECT_THAT(read("out/objects/secret/team/s.yaml"), HasSubstr(encoded));
}

TEST_F(ArtefactsOfRun, env_masks_what_comes_from_a_secret) {
  put("job.yaml", job);
  const Said masked = say("env job.yaml");
  EXPECT_EQ(masked.status, 0) << masked.err;
  EXPECT_THAT(masked.out, HasSubstr("PASS=<masked 1, 7 bytes> "));
  EXPECT_THAT(masked.out, HasSubstr("S_pass=<masked 1, 7 bytes> "));
  EXPECT_THAT(masked.out, HasSubstr("S_token=<masked 2, 9 bytes> "));
  EXPECT_THAT(masked.out, HasSubstr("URL=db://<masked 1, 7 bytes>@db "));
  EXPECT_THAT(masked.out, HasSubstr("PLAIN=hunter2 "));
  EXPECT_THAT(say("env --json job.yaml").out, Not(HasSubstr("db://hunter2")));
  const Said shown = say("env job.yaml --show-secrets");
  EXPECT_THAT(shown.out, HasSubstr("URL=db://hunter2@db "));
  EXPECT_THAT(shown.out, HasSubstr("S_token=two\\nlines "));
}

TEST_F(ArtefactsOfRun, each_drawing_of_a_bar_is_a_line_in_virtual_time_too) {
  put("bar.yaml",
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: bar}\n"
      "spec: {images: [{name: busybox}], expect: [{eventually: {of: pod/bar, step: 7}}, "
      "{eventually: {of: pod/bar, log: '^ 50%.#$'}}, {eventually: {of: pod/bar, phase: "
      "Succeeded}}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: bar}\n"
      "spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [/bin/sh, -c, "
      "\"printf '\\\\r 50%%|#\\\\r100%%|##\\\\n'; printf 'step 7/10\\\\rstep "
      "8/10\\\\r\\\\n'\"]}]}\n");
  const Said said = say("run bar.yaml --mode virtual --out out");
  EXPECT_EQ(said.status, 0) << said.out << said.err;
  EXPECT_EQ(read("out/logs/default_bar_c.log"), " 50%|#\n100%|##\nstep 7/10\nstep 8/10\n");
}

TEST_F(ArtefactsOfRun, a_history_is_kept_in_a_folder) {
  put("job.yaml", job);
  const Said said = say("run job.yaml --history");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.err, HasSubstr("--history requires --out"));
}

}  // namespace
}  // namespace ddptwin::test::artefacts_test
