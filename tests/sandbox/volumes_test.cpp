// Volumes that cannot be made, and limits of their size.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "sandbox_fixture.hpp"

namespace ddptwin::volumes_test {
namespace {

using testing::HasSubstr;

class VolumesTest : public SandboxTest {
 protected:
  static std::shared_ptr<VolumeSource> source(VolumeSource::Kind kind) {
    auto made = std::make_shared<VolumeSource>();
    made->kind = kind;
    made->name = "volume";
    return made;
  }
  static ContainerConfig mounting(std::shared_ptr<const VolumeSource> volume) {
    ContainerConfig container;
    container.mounts.push_back({"/volume", "", false, "", "", std::move(volume), ""});
    return container;
  }
};

TEST_F(VolumesTest, a_container_whose_volume_cannot_be_written_does_not_start) {
  auto volume = source(VolumeSource::Kind::files);
  volume->files[std::string(300, 'a')] = {"longer than a name may be", 0644};
  volume->files[std::string(301, 'b')] = {"told is the first refusal", 0644};
  const auto id = start_shell(run_pod().id, "echo started", mounting(volume));
  ASSERT_FALSE(id);
  EXPECT_THAT(id.error().message, HasSubstr("aaa.new: File name too long"));
  const ContainerReport report = *runtime->report(last_created);
  EXPECT_EQ(report.phase, ContainerPhase::exited);
  EXPECT_EQ(report.reason, "StartError");
  EXPECT_EQ(report.exit_code, 128);
}

TEST_F(VolumesTest, a_volume_in_memory_is_full_at_its_limit) {
  auto volume = source(VolumeSource::Kind::memory);
  volume->size_limit = 1 << 20;
  const Ran ran = run_shell(run_pod().id,
                            "head -c 500000 /dev/zero > /volume/a && echo fits; "
                            "head -c 1000000 /dev/zero > /volume/b || echo full",
                            mounting(volume));
  EXPECT_THAT(ran.output, HasSubstr("fits\n"));
  EXPECT_THAT(ran.output, HasSubstr("No space left on device"));
  EXPECT_THAT(ran.output, HasSubstr("full\n"));
}

// A claim's folder is the cluster's own where the host has none of that name: a part of it is no
// more of the host's than the whole.
TEST_F(VolumesTest, a_part_of_what_the_host_does_not_have_is_not_made_there) {
  const std::string path = "/ddptwin-no-such-folder-" + std::to_string(::getpid());
  auto volume = source(VolumeSource::Kind::host_path);
  volume->host_path = path + "/claim";
  ContainerConfig part = mounting(volume);
  part.mounts.front().sub_path = "ckpt/rank-0";
  const auto written = run_shell(run_pod().id, "echo saved > /volume/last", part);
  EXPECT_EQ(written.report.exit_code, 0);
  // Another pod, the whole of it; and a third one, the part again.
  EXPECT_EQ(run_shell(run_pod().id, "cat /volume/ckpt/rank-0/last", mounting(volume)).output,
            "saved\n");
  EXPECT_EQ(run_shell(run_pod().id, "cat /volume/last", part).output, "saved\n");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(VolumesTest, a_part_of_a_folder_of_the_host_is_made_there) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ddptwin-sub-path-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto volume = source(VolumeSource::Kind::host_path);
  volume->host_path = folder;
  ContainerConfig part = mounting(volume);
  part.mounts.front().sub_path = "ckpt";
  run_shell(run_pod().id, "echo saved > /volume/last", part);
  EXPECT_TRUE(std::filesystem::exists(folder / "ckpt" / "last"));
  std::filesystem::remove_all(folder);
}

TEST_F(VolumesTest, what_is_written_is_counted_where_it_lies) {
  const auto volume = source(VolumeSource::Kind::empty_dir);
  SandboxConfig config;
  config.uid = "uid-usage";
  config.node = "n0";
  EXPECT_EQ(runtime->watch_node("n0", NodeResource::memory, 1), NodeWatch::silent);
  const auto id = start_shell(run_pod(config).id,
                              "head -c 3000000 /dev/zero > /volume/a; "
                              "truncate -s 1G /volume/hole; "
                              "head -c 5000000 /dev/zero > /root/b; "
                              "head -c 2000000 /dev/zero > /tmp/c; "
                              "head -c 9000000 /dev/zero > /dev/shm/d; echo written; sleep 100",
                              mounting(volume));
  ASSERT_TRUE(id);
  ASSERT_TRUE(wait_for_line(*id, "written"));
  const auto usage = wait<std::vector<PodUsage>>([&](auto done) {
    runtime->usage({SharedText("uid-usage"), SharedText("nobody")}, std::move(done));
  });
  ASSERT_TRUE(usage);
  ASSERT_EQ(usage->size(), 1U);
  const PodUsage& pod = usage->front();
  EXPECT_EQ(pod.pod_uid, "uid-usage");
  EXPECT_NEAR(static_cast<double>(pod.volumes.at("volume")), 3e6, 1e5);
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.containers.front().name, "main");
  EXPECT_NEAR(static_cast<double>(pod.containers.front().root), 7e6, 3e5);
  EXPECT_EQ(pod.containers.front().logs, 48);
  EXPECT_GT(pod.containers.front().memory, 9'000'000);
  EXPECT_LT(pod.containers.front().memory, 15'000'000);
}

// A claim's folder, where it is the cluster's own: other pods find it as it was left, and as full.
TEST_F(VolumesTest, a_disk_is_full_at_its_size) {
  auto disk = source(VolumeSource::Kind::host_path);
  disk->host_path = "/ddptwin-no-such-disk-" + std::to_string(::getpid()) + "/pvc-1";
  disk->size_limit = 4 << 20;
  const Ran first = run_shell(run_pod().id,
                              "head -c 3000000 /dev/zero > /volume/a && echo fits; "
                              "head -c 3000000 /dev/zero > /volume/b || echo full",
                              mounting(disk));
  EXPECT_THAT(first.output, HasSubstr("fits\n"));
  EXPECT_THAT(first.output, HasSubstr("No space left on device"));
  EXPECT_THAT(first.output, HasSubstr("full\n"));
  EXPECT_THAT(
      run_shell(run_pod().id, "wc -c < /volume/a; rm /volume/b; echo c > /volume/c", mounting(disk))
          .output,
      HasSubstr("3000000"));
  auto larger = std::make_shared<VolumeSource>(*disk);
  larger->size_limit = 16 << 20;
  EXPECT_EQ(run_shell(run_pod().id, "head -c 9000000 /dev/zero > /volume/b && cat /volume/c",
                      mounting(larger))
                .output,
            "c\n");
}

}  // namespace
}  // namespace ddptwin::volumes_test
