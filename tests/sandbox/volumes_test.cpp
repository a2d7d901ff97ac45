// Volumes that cannot be made, and limits of their size.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace ddptwin::volumes_test
