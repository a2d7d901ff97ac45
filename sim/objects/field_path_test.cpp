#include "objects/field_path.hpp"

#include <gtest/gtest.h>

namespace ddptwin::field_path_test {
namespace {

TEST(FieldPath, is_told_from_the_body_inwards) {
  const FieldPath body, spec = body.field("spec"), containers = spec.field("containers"),
                        first = containers.item(0), limits = first.field("limits"),
                        gpus = limits.key("nvidia.com/gpu");
  EXPECT_EQ(gpus.text(), "spec.containers[0].limits[nvidia.com/gpu]");
  EXPECT_EQ(first.text(), "spec.containers[0]");
}

TEST(FieldPath, of_the_body_is_empty) {
  const FieldPath body;
  EXPECT_TRUE(body.is_root());
  EXPECT_EQ(body.text(), "");
  EXPECT_EQ(body.item(3).text(), "[3]");
  EXPECT_FALSE(body.field("spec").is_root());
}

TEST(FieldPath, of_a_field_without_a_name_ends_with_its_dot) {
  const FieldPath spec = "spec";
  EXPECT_EQ(spec.field("").text(), "spec.");
}

TEST(FieldPath, may_begin_below_the_body) {
  const FieldPath status = "status";
  EXPECT_FALSE(status.is_root());
  EXPECT_EQ(status.field("phase").text(), "status.phase");
}

}  // namespace
}  // namespace ddptwin::field_path_test
