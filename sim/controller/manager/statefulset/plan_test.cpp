// One pass as text: a set and its pods in, rules out. The ids are those of spec/kubernetes.md §4.
#include "controller/manager/statefulset/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "controller/manager/statefulset/pods.hpp"
#include "controller/manager/statefulset/rules.hpp"

namespace ddptwin::controller::statefulset::plan_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time noon(12h);

// "ORDINAL STATE REVISION"; state: ready, unready, pending, failed, ending (ready, terminating).
struct PodShape {
  int ordinal = 0;
  std::string_view state = "ready";
  bool old = false;  // of the revision before the set's template
};

class Stage {
 public:
  explicit Stage(int replicas) {
    set->metadata.name = "web";
    set->metadata.namespace_ = "ns";
    set->metadata.uid = "u-set";
    set->metadata.generation = 1;
    StatefulSetSpec& spec = set->spec.edit();
    spec.replicas = replicas;
    spec.serviceName = "web";
    spec.podManagementPolicy = "OrderedReady";
    spec.updateStrategy.type_ = "RollingUpdate";
    spec.updateStrategy.rollingUpdate.emplace().partition = 0;
    spec.selector.emplace().matchLabels = {{"app", "web"}};
    spec.template_.metadata.labels = StringMap{{"app", "web"}};
    spec.template_.spec.edit().containers = {{.name = "c", .image = "app:1"}};
    old_revision = keep_revision();
    set->status.currentRevision = old_revision;
  }
  // The template changes; its revision is there already.
  void new_template(const std::string& image) {
    set->spec.edit().template_.spec.edit().containers = {{.name = "c", .image = image}};
    new_revision = keep_revision();
  }
  std::shared_ptr<Pod> add(const PodShape& shape) {
    const std::string& revision = shape.old || new_revision.empty() ? old_revision : new_revision;
    auto pod = new_pod(*set, shape.ordinal, revision);
    pod->metadata.uid = fmt::format("u-{}", shape.ordinal);
    const bool has_ended = shape.state == "failed" || shape.state == "succeeded";
    const bool runs = shape.state != "pending" && !has_ended;
    pod->status.phase = shape.state == "failed"      ? "Failed"
                        : shape.state == "succeeded" ? "Succeeded"
                        : runs                       ? "Running"
                                                     : "Pending";
    PodCondition& ready = pod->status.conditions.edit().emplace_back();
    ready.type_ = "Ready";
    ready.status = shape.state == "ready" || shape.state == "ending" ? "True" : "False";
    ready.lastTransitionTime = noon - 10s;
    if (shape.state == "ending") pod->metadata.deletionTimestamp = noon;
    pods[pod->metadata.name.str()] = pod;
    return pod;
  }
  void add_all(const std::vector<PodShape>& shapes) {
    for (const PodShape& shape : shapes) add(shape);
  }
  Plan pass() const {
    View view;
    view.set = set;
    for (const auto& [name, pod] : pods) view.pods.push_back(pod);
    view.revisions = revisions;
    view.claim = [this](std::string_view name) {
      const auto found = claims.find(std::string(name));
      return found == claims.end() ? nullptr : found->second;
    };
    return plan(view, noon);
  }
  // "create_pod web-0"; the status is told by status().
  std::vector<std::string> steps() const {
    std::vector<std::string> told;
    for (const Step& step : pass().steps) {
      if (step.rule == &rules::write_status) continue;
      const std::string about =
          step.request ? (step.request->object ? step.request->object->metadata.name.str()
                                               : step.request->target.name.str())
                       : std::string(step.text.view());
      told.push_back(fmt::format("{} {}", step.rule->name, about));
    }
    return told;
  }
  StatefulSetStatus status() const {
    for (const Step& step : pass().steps)
      if (step.rule == &rules::write_status)
        return static_cast<const StatefulSet&>(*step.request->object).status;
    return set->status;
  }

  std::shared_ptr<StatefulSet> set = std::make_shared<StatefulSet>();
  std::map<std::string, std::shared_ptr<Pod>> pods{};
  std::map<std::string, ClaimPtr> claims{};
  std::vector<ObjectPtr> revisions{};
  std::string old_revision{}, new_revision{};

 private:
  std::string keep_revision() {
    for (const Step& step : pass().steps)
      if (step.rule == &rules::create_revision) {
        auto kept = std::static_pointer_cast<ControllerRevision>(step.request->object->clone());
        kept->metadata.uid = "u-" + kept->metadata.name;
        revisions.push_back(kept);
        return kept->metadata.name.str();
      }
    ADD_FAILURE() << "no new revision";
    return {};
  }
};

struct Row {
  const char* name;
  int replicas;
  bool parallel;
  bool new_template;
  std::vector<PodShape> pods;
  std::vector<std::string> steps;
};
class StatefulSetPlan : public testing::TestWithParam<Row> {};
TEST_P(StatefulSetPlan, proposes) {
  const Row& row = GetParam();
  Stage stage(row.replicas);
  if (row.parallel) stage.set->spec.edit().podManagementPolicy = "Parallel";
  if (row.new_template) stage.new_template("app:2");
  stage.add_all(row.pods);
  EXPECT_EQ(stage.steps(), row.steps);
}
INSTANTIATE_TEST_SUITE_P(
    Table, StatefulSetPlan,
    testing::Values(
        Row{"first_alone", 3, false, false, {}, {"create_pod web-0"}},
        Row{"all_at_once",
            2,
            true,
            false,
            {},
            {"create_pod web-0", "create_pod web-1", "await_updated_pod web-1"}},
        Row{"waits_for_the_lower", 3, false, false, {{0, "unready"}}, {"await_ready web-0"}},
        Row{"goes_on_when_ready", 3, false, false, {{0}}, {"create_pod web-1"}},
        Row{"waits_for_its_end",
            2,
            false,
            false,
            {{0, "ending"}, {1}},
            {"await_termination web-0"}},
        Row{"no_second_pod_of_an_ordinal",
            1,
            true,
            false,
            {{0, "ending"}},
            {"await_updated_pod web-0"}},
        Row{"failed_is_replaced",
            2,
            false,
            false,
            {{0, "failed"}, {1}},
            {"replace_finished_pod web-0"}},
        Row{"succeeded_is_replaced",
            2,
            false,
            false,
            {{0, "succeeded"}, {1}},
            {"replace_finished_pod web-0"}},
        Row{"highest_goes_first", 1, false, false, {{0}, {1}, {2}}, {"scale_down_pod web-2"}},
        Row{"one_goes_after_the_other",
            1,
            false,
            false,
            {{0}, {1}, {2, "ending"}},
            {"await_termination web-2"}},
        Row{"all_go_at_once",
            1,
            true,
            false,
            {{0}, {1}, {2, "unready"}},
            {"scale_down_pod web-2", "scale_down_pod web-1"}},
        Row{"unready_in_range_stops_scaling_down",
            1,
            false,
            false,
            {{0, "unready"}, {1}},
            {"await_ready web-0"}},
        Row{"unready_waits_for_the_lowest_unready",
            0,
            false,
            false,
            {{0}, {1, "unready"}, {2, "unready"}},
            {"await_ready web-1"}},
        Row{"lowest_unready_goes",
            0,
            false,
            false,
            {{0}, {1, "unready"}},
            {"scale_down_pod web-1"}},
        Row{"update_from_the_top",
            3,
            false,
            true,
            {{0, "ready", true}, {1, "ready", true}, {2, "ready", true}},
            {"update_pod web-2"}},
        Row{"update_waits_for_the_updated",
            3,
            true,
            true,
            {{0, "ready", true}, {1, "ready", true}, {2, "unready"}},
            {"await_updated_pod web-2"}},
        Row{"update_over_an_unready_old_pod",
            2,
            true,
            true,
            {{0, "unready", true}, {1, "ready", true}},
            {"update_pod web-1"}},
        Row{"unready_old_pod_stops_the_update",
            2,
            false,
            true,
            {{0, "unready", true}, {1, "ready", true}},
            {"await_ready web-0"}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(StatefulSetPlanOf, a_partition_keeps_those_below_it) {
  Stage stage(3);
  stage.new_template("app:2");
  stage.set->spec.edit().updateStrategy.rollingUpdate->partition = 2;
  stage.add_all({{0, "ready", true}, {1, "ready", true}, {2}});
  EXPECT_THAT(stage.steps(), IsEmpty());
  stage.pods.erase("web-1");  // made anew of the revision that it had
  ASSERT_THAT(stage.steps(), ElementsAre("create_pod web-1"));
  const Plan pass = stage.pass();
  const Step& made = pass.steps.front();
  EXPECT_EQ(revision_of(static_cast<const Pod&>(*made.request->object)), stage.old_revision);
}

TEST(StatefulSetPlanOf, on_delete_replaces_nobody) {
  Stage stage(2);
  stage.new_template("app:2");
  stage.set->spec.edit().updateStrategy.type_ = "OnDelete";
  stage.set->spec.edit().updateStrategy.rollingUpdate.reset();
  stage.add_all({{0, "ready", true}, {1, "ready", true}});
  EXPECT_THAT(stage.steps(), IsEmpty());
}

TEST(StatefulSetPlanOf, ordinals_begin_where_the_set_says) {
  Stage stage(2);
  stage.set->spec.edit().ordinals.emplace().start = 5;
  EXPECT_THAT(stage.steps(), ElementsAre("create_pod web-5"));
  stage.add_all({{4}, {5}, {6}});
  EXPECT_THAT(stage.steps(), ElementsAre("scale_down_pod web-4"));
}

TEST(StatefulSetPlanOf, min_ready_seconds_are_waited_for) {
  Stage stage(2);
  stage.set->spec.edit().minReadySeconds = 15;
  stage.add({0});
  EXPECT_THAT(stage.steps(), ElementsAre("await_ready web-0"));
  const Plan pass = stage.pass();
  ASSERT_TRUE(pass.requeue_after);
  EXPECT_GE(*pass.requeue_after, 5s);
  EXPECT_LT(*pass.requeue_after, 6s);
  EXPECT_EQ(stage.status().readyReplicas, 1);
  EXPECT_EQ(stage.status().availableReplicas, 0);
}

TEST(StatefulSetPlanOf, the_roll_out_is_complete_with_all_replicas_only) {
  Stage stage(2);
  stage.new_template("app:2");
  stage.add({1});  // web-0 has gone, and is to be made anew
  EXPECT_EQ(stage.status().currentRevision, stage.old_revision);
  stage.add({0});
  EXPECT_EQ(stage.status().currentRevision, stage.new_revision);
  EXPECT_EQ(stage.status().currentReplicas, 2);
}

TEST(StatefulSetPlanOf, terminating_pods_are_ready_but_of_no_revision) {
  Stage stage(2);
  stage.add_all({{0}, {1, "ending"}});
  EXPECT_EQ(stage.status().replicas, 2);
  EXPECT_EQ(stage.status().readyReplicas, 2);
  EXPECT_EQ(stage.status().currentReplicas, 1);
}

TEST(StatefulSetPlanOf, a_template_of_old_has_its_revision_raised) {
  Stage stage(1);
  stage.new_template("app:2");
  stage.set->spec.edit().template_.spec.edit().containers = {{.name = "c", .image = "app:1"}};
  stage.add({0});
  EXPECT_THAT(stage.steps(), Contains("roll_back " + stage.old_revision));
}

TEST(StatefulSetPlanOf, history_beyond_its_limit_goes_oldest_first) {
  Stage stage(0);
  stage.new_template("app:2");
  stage.new_template("app:3");
  stage.set->status.currentRevision = stage.new_revision;
  stage.set->spec.edit().revisionHistoryLimit = 1;
  EXPECT_THAT(stage.steps(), ElementsAre("trim_history " + stage.old_revision));
}

TEST(StatefulSetPlanOf, pods_are_adopted_and_let_go) {
  Stage stage(1);
  auto orphan = stage.add({0});
  orphan->metadata.ownerReferences = std::vector<OwnerReference>();
  EXPECT_THAT(stage.steps(), Contains("adopt_pod web-0"));
  Stage other(1);
  other.add({0})->metadata.labels = StringMap{{"app", "else"}};
  EXPECT_THAT(other.steps(), Contains("release_pod web-0"));
  // Neither by a set that is being deleted.
  stage.set->metadata.deletionTimestamp = noon;
  EXPECT_THAT(stage.steps(), ElementsAre("set_is_being_deleted its status only"));
}

TEST(StatefulSetPlanOf, an_edited_label_comes_back) {
  Stage stage(1);
  stage.add({0})->metadata.labels.edit()["apps.kubernetes.io/pod-index"] = "7";
  EXPECT_THAT(stage.steps(), ElementsAre("restore_identity web-0"));
}

TEST(StatefulSetPlanOf, claims_come_before_their_pod) {
  Stage stage(1);
  ClaimTemplate& wanted = stage.set->spec.edit().volumeClaimTemplates.emplace_back();
  wanted.metadata.name = "data";
  EXPECT_THAT(stage.steps(), ElementsAre("create_claim data-web-0", "create_pod web-0"));
  auto leaving = std::make_shared<PersistentVolumeClaim>();
  leaving->metadata.name = "data-web-0";
  leaving->metadata.deletionTimestamp = noon;
  stage.claims["data-web-0"] = leaving;
  EXPECT_THAT(stage.steps(), ElementsAre("claim_is_being_deleted pvc data-web-0 is being deleted"));
  EXPECT_TRUE(stage.pass().error);
}

TEST(StatefulSetPlanOf, a_claim_goes_with_the_pod_that_is_scaled_away) {
  Stage stage(0);
  stage.set->spec.edit().volumeClaimTemplates.emplace_back().metadata.name = "data";
  stage.set->spec.edit().persistentVolumeClaimRetentionPolicy = {"Retain", "Delete"};
  auto claim = std::make_shared<PersistentVolumeClaim>();
  claim->metadata.name = "data-web-0";
  stage.claims["data-web-0"] = claim;
  stage.add({0});
  EXPECT_THAT(stage.steps(), ElementsAre("hand_on_claim data-web-0", "scale_down_pod web-0"));
}

}  // namespace
}  // namespace ddptwin::controller::statefulset::plan_test
