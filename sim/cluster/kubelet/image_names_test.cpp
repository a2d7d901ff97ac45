#include "cluster/kubelet/image_names.hpp"

#include <gtest/gtest.h>

namespace ddptwin::kubelet::image_names_test {
namespace {

const std::string hex64(64, 'a');

TEST(ImageNames, GetTheTagLatestWhereTheyHaveNeitherTagNorDigest) {
  const std::pair<std::string, std::string> rows[] = {
      {"busybox", "busybox:latest"},
      {"busybox:1.36", "busybox:1.36"},
      {"pytorch/pytorch", "pytorch/pytorch:latest"},
      {"localhost/x", "localhost/x:latest"},
      {"registry.local:5000/a/b", "registry.local:5000/a/b:latest"},
      {"registry.local:5000/a/b:v1", "registry.local:5000/a/b:v1"},
      {"Registry.Local/a", "Registry.Local/a:latest"},
      {"[fd00::1]:5000/a", "[fd00::1]:5000/a:latest"},
      {"x/a.b_c__d--e", "x/a.b_c__d--e:latest"},
      {"busybox@sha256:" + hex64, "busybox@sha256:" + hex64},
      {"busybox:1@sha256:" + hex64, "busybox:1@sha256:" + hex64},
  };
  for (const auto& [image, want] : rows) {
    const auto named = with_default_tag(image);
    ASSERT_TRUE(named) << image << ": " << named.error().message;
    EXPECT_EQ(*named, want);
  }
}

TEST(ImageNames, ThatAreNoneAreRefusedInUpstreamsWords) {
  const std::pair<std::string, std::string> rows[] = {
      {"Busybox:UP:1",
       "invalid reference format: repository name (library/Busybox) must be lowercase"},
      {"registry.local/Train:1",
       "invalid reference format: repository name (Train) must be lowercase"},
      {"a b", "invalid reference format"},
      {"busybox:", "invalid reference format"},
      {"busybox:-x", "invalid reference format"},
      {"busybox:" + std::string(129, 'x'), "invalid reference format"},
      {"busybox@sha256:123", "invalid reference format"},
      {"-busybox", "invalid reference format"},
      {"a..b", "invalid reference format"},
      {"a/", "invalid reference format"},
      {hex64,
       "invalid repository name (" + hex64 + "), cannot specify 64-byte hexadecimal strings"},
      {"r.io/" + std::string(256, 'a'), "repository name must not be more than 255 characters"},
  };
  for (const auto& [image, why] : rows) {
    const auto named = with_default_tag(image);
    ASSERT_FALSE(named) << image;
    EXPECT_EQ(named.error().message, "Failed to apply default image tag \"" + image +
                                         "\": couldn't parse image name \"" + image + "\": " + why);
  }
}

}  // namespace
}  // namespace ddptwin::kubelet::image_names_test
