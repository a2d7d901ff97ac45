#include "objects/image_reference.hpp"

#include <gtest/gtest.h>

namespace ddptwin::image_reference_test {
namespace {

TEST(ImageReference, HasOneCanonicalNamePerImage) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const std::pair<std::string, std::string> rows[] = {
      {"x", "docker.io/library/x:latest"},
      {"x:latest", "docker.io/library/x:latest"},
      {"library/x", "docker.io/library/x:latest"},
      {"docker.io/x", "docker.io/library/x:latest"},
      {"docker.io/library/x", "docker.io/library/x:latest"},
      {"docker.io/library/x:latest", "docker.io/library/x:latest"},
      {"index.docker.io/x", "docker.io/library/x:latest"},
      {"x:1", "docker.io/library/x:1"},
      {"pytorch/pytorch:2.3", "docker.io/pytorch/pytorch:2.3"},
      {"localhost/x", "localhost/x:latest"},
      {"registry.local:5000/a/b", "registry.local:5000/a/b:latest"},
      {"registry.local:5000/a/b:v1", "registry.local:5000/a/b:v1"},
      {"x" + digest, "docker.io/library/x:latest"},
      {"x:1" + digest, "docker.io/library/x:1"},
  };
  for (const auto& [image, want] : rows) EXPECT_EQ(canonical_image(image), want) << image;
}

TEST(ImageReference, WithoutTagDescribesItsRepository) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  EXPECT_EQ(described_image("demo"), "docker.io/library/demo");
  EXPECT_EQ(described_image("r.local:5000/a/b"), "r.local:5000/a/b");
  EXPECT_EQ(described_image("demo:latest"), "docker.io/library/demo:latest");
  EXPECT_EQ(described_image("demo:1"), "docker.io/library/demo:1");
  EXPECT_EQ(described_image("demo:1" + digest), "docker.io/library/demo:1");
}

TEST(ImageReference, OfOneImageAreTheSameHoweverWritten) {
  EXPECT_TRUE(is_same_image("demo", "docker.io/library/demo:latest"));
  EXPECT_TRUE(is_same_image("docker.io/demo", "demo:latest"));
  EXPECT_FALSE(is_same_image("demo", "demo:1"));
  EXPECT_FALSE(is_same_image("demo", "mirror.local/demo"));
  EXPECT_FALSE(is_same_image("demo", "team/demo"));
}

}  // namespace
}  // namespace ddptwin::image_reference_test
