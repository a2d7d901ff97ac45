#include "controller/training_operator/profile.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ddptwin::controller::pytorchjob::profile_test {
namespace {

struct Row {
  std::string_view asked;
  std::string_view found;  // empty: none
};

TEST(Profile, is_found_by_tag_and_by_release) {
  for (const Row& row :
       {Row{"v1.7.0", "v1.7.0"}, Row{"1.7.0", "v1.7.0"}, Row{"v1.8", "v1.8.1"},
        Row{"v1.8.0", "v1.8.0"}, Row{"v1.9", "v1.9.0"}, Row{"v1.9.3", "v1.9.0"},
        Row{"v1.9.4", "v1.9.4"}, Row{"v1.6.0", ""}, Row{"v1.9.5", ""}, Row{"", ""}}) {
    const Profile* profile = find_profile(row.asked);
    EXPECT_EQ(profile != nullptr ? profile->version : std::string_view(), row.found) << row.asked;
  }
}

TEST(Profile, of_a_scenario_that_names_none_is_v1_9) {
  EXPECT_EQ(default_profile().version, "v1.9.0");
}

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::profile_test
