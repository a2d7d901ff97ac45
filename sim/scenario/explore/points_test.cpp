#include "scenario/explore/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenario/explore/generate.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/fault_yaml.hpp"

namespace ddptwin::scenario::points_test {
namespace {

Census small() {
  Census census;
  const Census::Process job{"training-operator", "pytorchjob-controller"};
  const Census::Process gc{"kube-controller-manager", "garbage-collector"};
  const Census::Process node{"kubelet", "n0"}, view{"kubelet", ""}, user{"user", ""};
  const Census::Process scheduler{"kube-scheduler", ""};
  census.calls = {{job, 3}, {node, 4}, {user, 1}, {scheduler, 2}, {gc, 5}};
  census.writes = census.calls;
  census.events = {{{job, "Pod"}, 6}, {{view, "Node"}, 2}, {{node, "Pod"}, 5}};
  census.starts = {{{"default/a", "pytorch"}, 2}, {{"default/b", "pytorch"}, 1}};
  census.steps = {{"default/a", 4}, {"default/b", 3}};
  census.questions = {{"a.default.svc.cluster.local.", 3}, {"a", 1}};
  census.nodes = {"n0"};
  census.controllers = {{"pytorchjob-controller", "training-operator"}};
  return census;
}

std::vector<Fault> points(std::string_view kinds) {
  const auto rows = parse_fault_kinds(kinds);
  EXPECT_TRUE(rows);
  return every_point(small(), *rows);
}

TEST(Points, their_number_is_what_was_counted) {
  struct Row {
    const char* kinds;
    std::size_t count;
    const char* why;
  };
  const Row rows[] = {
      {"api-conflict", 3 + 4 + 2 + 5, "each write, the user's left out"},
      {"watch-delay", 6 + 2 + 5, "each event of each reader"},
      {"controller-crash", 3, "each write of a controller; the garbage collector is none"},
      {"scheduler", 2, "each write of the scheduler"},
      {"node-lost", 4, "each write of the node's kubelet"},
      {"kubelet", 4, "the same"},
      {"process-kill", 2 + 1 + 4 + 3, "each start and each step"},
      {"link-drop", 4, "each step of the only pair"},
      {"dns-lost", 3 + 1, "each question"},
      {"api,dns", 5 * 14 + 5 * 4, "kinds add up"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(points(row.kinds).size(), row.count) << row.kinds << row.why;
}

TEST(Census, says_whose_writes_a_fault_counts) {
  const Census census = small();
  const auto writers = [&](FaultKind kind) {
    std::string text;
    for (const auto& [process, count] : census.writes)
      if (is_writer(row_of(kind), process, census)) text += process.first + " ";
    return text;
  };
  EXPECT_EQ(writers(FaultKind::controller_crash), "training-operator ");
  EXPECT_EQ(writers(FaultKind::scheduler_down), "kube-scheduler ");
  EXPECT_EQ(writers(FaultKind::node_cordon), "kubelet ");
  EXPECT_EQ(writers(FaultKind::api_conflict), "");
}

TEST(Points, none_is_there_twice) {
  std::set<std::string> seen;
  for (const Fault& fault : points("all"))
    EXPECT_TRUE(seen.insert(to_yaml(fault)).second) << to_yaml(fault);
}

TEST(Points, a_process_is_named_so_that_no_other_is_meant) {
  std::set<std::string> names;
  for (const Fault& fault : points("watch-delay")) names.insert(fault.of);
  EXPECT_EQ(names, (std::set<std::string>{"pytorchjob-controller", "kubelet/", "n0"}));
}

TEST(RandomPlan, is_the_same_for_the_same_draws_and_within_bounds) {
  const auto kinds = *parse_fault_kinds("all");
  const Census census = small();
  std::set<FaultKind> used;
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const FaultPlan plan =
        random_plan(Random(seed), census, kinds, {.faults_max = 5, .length = 30s});
    const FaultPlan again =
        random_plan(Random(seed), census, kinds, {.faults_max = 5, .length = 30s});
    ASSERT_EQ(plan.faults, again.faults);
    ASSERT_LE(plan.faults.size(), 5U);
    sizes.insert(plan.faults.size());
    for (const Fault& fault : plan.faults) {
      used.insert(fault.kind);
      const FaultRow& row = row_of(fault.kind);
      EXPECT_TRUE(!fault.nth || takes(row, "nth")) << to_yaml(fault);
      EXPECT_TRUE(!fault.lasts || takes(row, "for")) << to_yaml(fault);
      EXPECT_TRUE(!fault.delay || takes(row, "delay")) << to_yaml(fault);
      EXPECT_TRUE(!fault.of.empty() || !must_have(row, "of")) << to_yaml(fault);
      EXPECT_TRUE(!fault.at || *fault.at < 30s) << to_yaml(fault);
      EXPECT_NE(fault.of, "user");
    }
  }
  EXPECT_EQ(used.size(), fault_rows().size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2, 3, 4, 5}));
}

TEST(RandomPlan, leaves_kinds_out_in_each_plan) {
  const auto kinds = *parse_fault_kinds("all");
  int with_conflict = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const FaultPlan plan =
        random_plan(Random(seed), small(), kinds, {.faults_max = 50, .length = 30s});
    with_conflict += std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
      return fault.kind == FaultKind::api_conflict;
    });
  }
  // Enabled in two of five; with so many faults nearly always used then.
  EXPECT_GT(with_conflict, 200);
  EXPECT_LT(with_conflict, 500);
}

}  // namespace
}  // namespace ddptwin::scenario::points_test
