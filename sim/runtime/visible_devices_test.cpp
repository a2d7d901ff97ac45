#include "runtime/visible_devices.hpp"

#include <gmock/gmock.h>

namespace ddptwin::visible_devices_test {
namespace {

TEST(VisibleDevices, are_the_entries_of_a_list_and_none_where_it_is_no_list) {
  for (const char* value : {"", "all", "none", "void"})
    EXPECT_TRUE(visible_devices(value).empty()) << value;
  EXPECT_THAT(visible_devices("GPU-1"), testing::ElementsAre("GPU-1"));
  EXPECT_THAT(visible_devices("GPU-1,GPU-2,"), testing::ElementsAre("GPU-1", "GPU-2"));
}

}  // namespace
}  // namespace ddptwin::visible_devices_test
