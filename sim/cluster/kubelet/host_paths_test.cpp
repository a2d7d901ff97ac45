#include "cluster/kubelet/host_paths.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::host_paths_test {
namespace {

PathKind machine(const std::string& path) {
  return path == "/dev/fuse" ? PathKind::char_device : PathKind::absent;
}

TEST(HostPaths, are_of_the_machine_or_made_by_mounting_them) {
  HostPaths paths(&machine);
  EXPECT_EQ(paths.kind("/dev/fuse"), PathKind::char_device);
  EXPECT_EQ(paths.kind("/data"), PathKind::absent);
  paths.pass("/data/", PathKind::directory);
  EXPECT_EQ(paths.kind("/data"), PathKind::directory);
  EXPECT_EQ(paths.kind("/data/run/1"), PathKind::unseen);
  EXPECT_EQ(paths.kind("/database"), PathKind::absent);
  paths.pass("/data", PathKind::file);
  EXPECT_EQ(paths.kind("/data/"), PathKind::directory) << "what stands there stays";
}

}  // namespace
}  // namespace ddptwin::kubelet::host_paths_test
