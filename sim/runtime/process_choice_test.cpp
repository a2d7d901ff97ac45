#include "runtime/process_choice.hpp"

#include <gtest/gtest.h>

namespace ddptwin::process_choice_test {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(ProcessChoice, a_rank_is_the_child_of_torchrun_and_not_who_hands_its_environment_on) {
  // The operator's RANK=1 stands in the agent's environment too; each child has its own.
  const std::vector<ProcessFacts> pod{
      {.id = 1, .argv = {"/bin/sh", "-c", "torchrun train.py"}, .rank = "1"},
      {.id = 7, .parent = 1, .argv = {"python3", "/usr/bin/torchrun", "train.py"}, .rank = "1"},
      {.id = 9, .parent = 7, .argv = {"python3", "train.py"}, .rank = "2", .is_elastic = true},
      {.id = 12, .parent = 7, .argv = {"python3", "train.py"}, .rank = "3", .is_elastic = true},
      {.id = 15, .parent = 12, .argv = {"python3", "train.py"}, .rank = "3", .is_elastic = true}};
  EXPECT_EQ(chosen(pod, {.rank = 3}), Ids{12}) << "and not its loader, which is younger";
  EXPECT_EQ(chosen(pod, {.rank = 1}), Ids{}) << "the agent is no rank";
  EXPECT_EQ(chosen(pod, {.command = "python3 train.py"}), (Ids{9, 12, 15}));
  EXPECT_EQ(chosen(pod, {.rank = 3, .command = "none"}), Ids{});
}

TEST(ProcessChoice, a_shell_is_meant_where_nobody_else_is) {
  const std::vector<ProcessFacts> both{
      {.id = 1, .argv = {"bash", "-c", "python train.py | tee log"}, .rank = "0"},
      {.id = 5, .parent = 1, .argv = {"python", "train.py"}, .rank = "0"},
      {.id = 6, .parent = 1, .argv = {"tee", "log"}, .rank = "0"}};
  EXPECT_EQ(chosen(both, {.rank = 0}), Ids{5});
  EXPECT_EQ(chosen(both, {.command = "train.py"}), Ids{5});
  EXPECT_EQ(chosen({both.front()}, {.command = "train.py"}), Ids{1});
}

TEST(ProcessChoice, what_an_exec_began_is_never_meant) {
  const std::vector<ProcessFacts> pod{
      {.id = 1, .argv = {"python", "train.py"}, .rank = "0"},
      {.id = 3, .argv = {"sh", "-c", "ps"}, .rank = "0", .is_asked = true},
      {.id = 4, .parent = 3, .argv = {"cat", "train.py"}, .rank = "0"},
      {.id = 5, .argv = {}}};
  EXPECT_EQ(chosen(pod, {.rank = 0}), Ids{1});
  EXPECT_EQ(chosen(pod, {.command = "train.py"}), Ids{1});
  EXPECT_EQ(chosen(pod, {.command = "ps"}), Ids{});
}

}  // namespace
}  // namespace ddptwin::process_choice_test
