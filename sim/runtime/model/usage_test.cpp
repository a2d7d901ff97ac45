// What modelled programs take of the disk.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/log_size.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::usage_test {
namespace {

constexpr std::int64_t block = 4096;

PodUsage usage_of(TestPods& pods, const std::string& pod) {
  PodUsage seen;
  pods.runtime().usage({SharedText(pod), SharedText("nobody")},
                       [&](Result<std::vector<PodUsage>> usage) {
                         ASSERT_TRUE(usage);
                         ASSERT_EQ(usage->size(), 1U);
                         seen = usage->front();
                       });
  pods.run(1ms);
  return seen;
}

RuntimeMount empty_dir(const std::string& path) {
  auto source = std::make_shared<VolumeSource>();
  source->kind = VolumeSource::Kind::empty_dir;
  source->name = "scratch";
  RuntimeMount mount;
  mount.container_path = path;
  mount.source = std::move(source);
  return mount;
}

// Of what was written to /scratch and to the container's own files after the script's end but one.
struct Taken {
  std::int64_t volume = 0, root = 0;
};
Taken taken_by(const std::string& script) {
  TestPods pods;
  pods.pod("pod-0");
  ContainerConfig config = pods.config("pod-0", "plain", {});
  config.command = {"sh", "-c", script + "; sleep 1h"};
  config.mounts.push_back(empty_dir("/scratch"));
  pods.start("pod-0", std::move(config));
  pods.run(10s);
  const PodUsage usage = usage_of(pods, "pod-0");
  EXPECT_EQ(usage.pod_uid, "pod-0");
  EXPECT_EQ(usage.containers.size(), 1U) << script;
  if (usage.containers.empty()) return {};
  return {usage.volumes.at("scratch"), usage.containers.front().root};
}

TEST(Usage, is_counted_where_it_was_written) {
  const Taken nothing = taken_by("true");
  EXPECT_EQ(nothing.volume, 0);
  EXPECT_EQ(nothing.root, 0);
  const Taken both = taken_by("echo hello > /scratch/a; echo hello > /tmp/a; echo b > /tmp/b");
  EXPECT_EQ(both.volume, block);
  EXPECT_EQ(both.root, 2 * block);
}

TEST(Usage, is_that_of_the_disk_not_of_the_length) {
  EXPECT_EQ(taken_by("head -c 40000000 /dev/zero > /scratch/a").volume, 40'001'536);
  EXPECT_EQ(taken_by("head -c 40M /dev/urandom >> /scratch/a").volume, 40 << 20);
  EXPECT_EQ(taken_by("dd if=/dev/zero of=/scratch/a bs=1M count=30 status=none").volume, 30 << 20);
  EXPECT_EQ(taken_by("fallocate -l 1G /scratch/a").volume, 1 << 30);
  EXPECT_EQ(taken_by("truncate -s 1G /scratch/a").volume, 0);
  EXPECT_EQ(taken_by("fallocate -l 1G /scratch/a; [ -s /scratch/a ] && rm /scratch/a").volume, 0);
  EXPECT_EQ(taken_by("truncate -s 5 /scratch/a; [ -s /scratch/a ] && echo a > /scratch/b").volume,
            block);
  EXPECT_EQ(taken_by("fallocate -l 1G /scratch/a; echo less > /scratch/a").volume, block);
}

// On whose node the disk is short when there are more than `limit` bytes on it; how often it tells.
int told_of_disk(const std::string& script, std::int64_t limit) {
  TestPods pods;
  int told = 0;
  pods.pod("pod-0");
  const auto watched = pods.runtime().watch_node("node-1", NodeResource::disk, limit);
  EXPECT_EQ(watched, NodeWatch::tells);
  pods.runtime().listen([&](const RuntimeEvent& event) {
    if (event.kind != RuntimeEvent::Kind::node_is_short) return;
    EXPECT_EQ(event.resource, NodeResource::disk);
    ++told;
  });
  ContainerConfig config = pods.config("pod-0", "plain", {});
  config.command = {"sh", "-c", script + "; sleep 1h"};
  config.mounts.push_back(empty_dir("/scratch"));
  pods.start("pod-0", std::move(config));
  pods.run(10s);
  EXPECT_EQ(pods.runtime().watch_node("node-1", NodeResource::disk, limit),
            told > 0 ? NodeWatch::is_short : NodeWatch::tells);
  return told;
}

TEST(Usage, of_a_node_is_told_once_when_it_is_short) {
  EXPECT_EQ(told_of_disk("fallocate -l 10M /scratch/a; fallocate -l 10M /tmp/a", 20 << 20), 0);
  EXPECT_EQ(told_of_disk("fallocate -l 10M /scratch/a; fallocate -l 11M /tmp/a; "
                         "fallocate -l 10M /tmp/b",
                         20 << 20),
            1);
  // What is removed makes room, and memory is none of it.
  EXPECT_EQ(told_of_disk("fallocate -l 15M /tmp/a; rm /tmp/a; fallocate -l 15M /tmp/b; "
                         "fallocate -l 15M /dev/shm/c",
                         20 << 20),
            0);
  EXPECT_EQ(told_of_disk("i=0; while [ $i -lt 40 ]; do echo a line; i=$((i+1)); done", 40 * 47), 0);
  EXPECT_EQ(told_of_disk("i=0; while [ $i -lt 41 ]; do echo a line; i=$((i+1)); done", 40 * 47), 1);
}

TEST(Usage, what_is_read_is_no_file) {
  EXPECT_EQ(taken_by("n=$(head -c 1000 /dev/zero | wc -c); fallocate -l $n /scratch/a").volume,
            block);
}

TEST(Usage, a_log_is_kept_with_the_times_of_its_lines) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "echo 123456789; sleep 1h"});
  pods.run(1s);
  ASSERT_EQ(usage_of(pods, "pod-0").containers.size(), 1U);
  EXPECT_EQ(usage_of(pods, "pod-0").containers.front().logs, 50);
}

TEST(Usage, two_files_of_a_log_are_kept_as_they_are) {
  LogSize log;
  constexpr std::size_t line = (1 << 20) - 41;
  for (int i = 0; i < 10; ++i) log.add(line);
  EXPECT_EQ(log.on_disk(), 10 << 20);
  log.add(line);
  EXPECT_EQ(log.on_disk(), 11 << 20);
  for (int i = 0; i < 11; ++i) log.add(line);
  EXPECT_EQ(log.on_disk(), 11 << 20);
}

// A claim's volume, as large as its capacity.
struct Ran {
  int code = 0;
  std::string error{};
};
Ran on_a_disk_of(std::int64_t size, const std::string& script, const char* shell = "sh") {
  TestPods pods;
  pods.pod("pod-0");
  ContainerConfig config = pods.config("pod-0", "plain", {});
  config.command = {shell, "-c", script};
  auto source = std::make_shared<VolumeSource>();
  source->kind = VolumeSource::Kind::host_path;
  source->name = "data";
  source->host_path = "/volumes/pvc-1";
  source->size_limit = size;
  RuntimeMount mount;
  mount.container_path = "/data";
  mount.source = std::move(source);
  config.mounts.push_back(std::move(mount));
  pods.start("pod-0", std::move(config));
  const int code = pods.exit_code("pod-0");
  return {code, pods.last_error("pod-0")};
}

// FM-127: what lies in a container's /dev/shm is memory, of which runtimes give it 64 MiB.
TEST(Usage, shared_memory_is_full_at_64_mib_and_is_not_on_disk) {
  TestPods pods;
  pods.pod("pod-0");
  ContainerConfig config = pods.config("pod-0", "plain", {});
  config.command = {"sh", "-c",
                    "head -c 60000000 /dev/zero > /dev/shm/a && echo fits && sleep 1 && "
                    "head -c 20000000 /dev/zero > /dev/shm/b"};
  pods.start("pod-0", std::move(config));
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  EXPECT_EQ(pods.last_error("pod-0"),
            "head: error writing 'standard output': No space left on device");
  EXPECT_EQ(taken_by("echo a > /dev/shm/a; echo b > /tmp/b").root, block);
}

TEST(Usage, shared_memory_is_each_containers_own) {
  TestPods pods;
  pods.pod("pod-0");
  for (const char* name : {"a", "b"}) {
    ContainerConfig config = pods.config("pod-0", "plain", {});
    config.name = name;
    config.command = {"sh", "-c", "head -c 60000000 /dev/zero > /dev/shm/x && echo fits; sleep 1h"};
    pods.start("pod-0", std::move(config));
  }
  pods.run(5s);
  const auto fits = [](const auto& line) { return line.text == "fits"; };
  EXPECT_EQ(std::count_if(pods.lines().begin(), pods.lines().end(), fits), 2) << pods.all_lines();
}

TEST(Usage, a_disk_is_full_at_its_size) {
  const std::int64_t size = 3 * block;
  EXPECT_EQ(on_a_disk_of(size, "echo a > /data/a; echo b > /data/b; echo c > /data/c").code, 0);
  EXPECT_EQ(on_a_disk_of(size, "fallocate -l 12288 /data/a; rm /data/a; echo b > /data/b").code, 0);
  EXPECT_EQ(on_a_disk_of(size, "fallocate -l 12288 /data/a; echo b > /data/a").code, 0);
  const Ran dash = on_a_disk_of(size, "fallocate -l 12288 /data/a; echo b > /data/b");
  EXPECT_EQ(dash.code, 1);
  EXPECT_NE(dash.error.find("echo: echo: I/O error"), std::string::npos) << dash.error;
  const Ran bash = on_a_disk_of(size, "fallocate -l 12288 /data/a; echo b > /data/b", "bash");
  EXPECT_EQ(bash.code, 1);
  EXPECT_NE(bash.error.find("echo: write error: No space left on device"), std::string::npos);
  EXPECT_EQ(on_a_disk_of(size, "head -c 20000 /dev/zero > /data/a").error,
            "head: error writing 'standard output': No space left on device");
  EXPECT_EQ(on_a_disk_of(size, "dd if=/dev/zero of=/data/a bs=4k count=4").error,
            "dd: error writing '/data/a': No space left on device");
  EXPECT_EQ(on_a_disk_of(size, "fallocate -l 1M /data/a").error,
            "fallocate: fallocate failed: No space left on device");
  EXPECT_EQ(on_a_disk_of(size, "truncate -s 1G /data/a").code, 0);
  // What was written before it was full stays, and fills it.
  EXPECT_EQ(on_a_disk_of(size, "head -c 20000 /dev/zero > /data/a; echo b > /data/b").code, 1);
}

TEST(Usage, a_checkpoint_that_does_not_fit_ends_the_training) {
  TestPods pods;
  Workload workload;
  workload.start = 1s;
  workload.steps = 10;
  workload.checkpoint = "/data/last";
  workload.checkpoint_bytes = 100 * block;
  pods.runtime().add_image("mine", Image(), workload);
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "mine", {"python3", "train.py"},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "pod-0"}, {"MASTER_PORT", "29500"}});
  auto source = std::make_shared<VolumeSource>();
  source->kind = VolumeSource::Kind::host_path;
  source->host_path = "/volumes/pvc-1";
  source->size_limit = 50 * block;
  RuntimeMount mount;
  mount.container_path = "/data";
  mount.source = std::move(source);
  config.mounts.push_back(std::move(mount));
  pods.start("pod-0", std::move(config));
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  EXPECT_NE(pods.last_error("pod-0").find("[Errno 28] No space left on device: '/data/last'"),
            std::string::npos)
      << pods.last_error("pod-0");
}

// A described script fills files as its description says.
TEST(Usage, of_a_described_script) {
  TestPods pods;
  Workload workload;
  workload.start = 1s;
  workload.ddp = false;
  workload.steps = 10;
  workload.step_time = 1s;
  workload.checkpoint = "/scratch/last";
  workload.checkpoint_bytes = 100 * block;
  workload.checkpoint_every = 4;
  workload.writes = {{.path = "/scratch/cache-{rank}", .bytes = 10 * block},
                     {.path = "/logs/metrics", .bytes = block, .every = 2, .rank = 0},
                     {.path = "/scratch/never", .bytes = block, .rank = 1}};
  pods.runtime().add_image("mine", Image(), workload);
  pods.pod("pod-0");
  ContainerConfig config = pods.config(
      "pod-0", "mine", {"python3", "train.py"},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "pod-0"}, {"MASTER_PORT", "29500"}});
  config.mounts.push_back(empty_dir("/scratch"));
  pods.start("pod-0", std::move(config));
  pods.run(3500ms);
  EXPECT_EQ(usage_of(pods, "pod-0").volumes.at("scratch"), 10 * block);
  EXPECT_EQ(usage_of(pods, "pod-0").containers.front().root, block);
  pods.run(4s);
  EXPECT_EQ(usage_of(pods, "pod-0").volumes.at("scratch"), 111 * block);  // its own text, and that
  EXPECT_EQ(usage_of(pods, "pod-0").containers.front().root, 3 * block);
}

}  // namespace
}  // namespace ddptwin::model::usage_test
