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

}  // namespace
}  // namespace ddptwin::volumes_test
