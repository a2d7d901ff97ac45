// One pass as text, what is rendered, and what is refused (spec/statefulset-platform.md §2 to §4).
#include "controller/ddpset/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "controller/ddpset/render.hpp"
#include "controller/ddpset/rules.hpp"
#include "controller/ddpset/webhook.hpp"
#include "controller/toolkit/ownership.hpp"

namespace ddptwin::controller::ddpset::plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<DDPSet> a_set() {
  auto set = std::make_shared<DDPSet>();
  set->metadata.name = "train";
  set->metadata.namespace_ = "ml";
  set->metadata.uid = "u-train";
  set->metadata.generation = 3;
  DDPSetSpec& spec = set->spec.edit();
  spec.replicas = 4;
  spec.podManagementPolicy = "OrderedReady";
  spec.template_.spec.edit().containers = {{.name = "c", .image = "train"}};
  return set;
}

// "create_service train-svc", "write_status train", "name_is_taken train-svc".
std::vector<std::string> steps(const View& seen) {
  std::vector<std::string> told;
  for (const Step& step : plan(seen).steps) {
    const std::string about =
        step.request ? step.request->object->metadata.name.str() : step.text.str();
    told.push_back(fmt::format("{} {}", step.rule->name, about));
  }
  return told;
}

std::vector<std::string> variables(const Container& container) {
  std::vector<std::string> told;
  for (const EnvVar& variable : container.env)
    told.push_back(fmt::format(
        "{}={}", variable.name.view(),
        variable.valueFrom ? variable.valueFrom->fieldRef->fieldPath : variable.value.str()));
  return told;
}

View settled(const std::shared_ptr<DDPSet>& set) {
  View seen{set, service_of(*set), statefulset_of(*set)};
  set->status.emplace();
  set->status->observedGeneration = set->metadata.generation;
  set->status->selector = "app=train";
  return seen;
}

TEST(DDPSetPlan, makes_both_objects_and_says_so) {
  EXPECT_THAT(
      steps({a_set(), nullptr, nullptr}),
      ElementsAre("create_service train-svc", "create_statefulset train", "write_status train"));
}

TEST(DDPSetPlan, does_nothing_where_all_is_as_it_was_rendered) {
  EXPECT_THAT(steps(settled(a_set())), IsEmpty());
}

TEST(DDPSetPlan, leaves_a_scale_past_it_alone_until_its_own_next_edit) {
  const auto set = a_set();
  View seen = settled(set);
  auto scaled = std::static_pointer_cast<StatefulSet>(seen.statefulset->clone());
  scaled->spec.edit().replicas = 6;
  seen.statefulset = scaled;
  EXPECT_THAT(steps(seen), IsEmpty());
  set->metadata.generation = 4;
  EXPECT_THAT(steps(seen), ElementsAre("render_service train-svc", "render_statefulset train",
                                       "write_status train"));
  const Plan rendered = plan(seen);
  EXPECT_EQ(static_cast<const StatefulSet&>(*rendered.steps[1].request->object).spec->replicas, 4);
}

// POD_NUMS in the pods is what it was rendered with (G4).
TEST(DDPSetPlan, an_edit_of_the_replicas_renders_the_template_too) {
  const auto set = a_set();
  const View seen = settled(set);
  set->metadata.generation = 4;
  set->spec.edit().replicas = 6;
  const Plan rendered = plan(seen);
  const auto& made = static_cast<const StatefulSet&>(*rendered.steps.at(1).request->object);
  EXPECT_EQ(made.spec->replicas, 6);
  const auto& env = made.spec->template_.spec->containers[0].env;
  const auto nums = std::find_if(
      env.begin(), env.end(), [](const EnvVar& variable) { return variable.name == "POD_NUMS"; });
  ASSERT_NE(nums, env.end());
  EXPECT_EQ(nums->value, "6");
}

TEST(DDPSetPlan, takes_no_object_that_is_somebody_elses) {
  View seen = settled(a_set());
  auto foreign = std::static_pointer_cast<Service>(seen.service->clone());
  foreign->metadata.ownerReferences.edit().clear();
  seen.service = foreign;
  EXPECT_THAT(steps(seen), ElementsAre("name_is_taken train-svc"));
}

TEST(DDPSetPlan, does_nothing_for_a_set_that_is_gone_or_going) {
  EXPECT_THAT(steps({}), ElementsAre("set_is_gone "));
  const auto set = a_set();
  set->metadata.deletionTimestamp = Time(1h);
  EXPECT_THAT(steps({set, nullptr, nullptr}), ElementsAre("set_is_being_deleted "));
}

TEST(DDPSetPlan, status_is_the_statefulsets) {
  const auto set = a_set();
  View seen = settled(set);
  auto running = std::static_pointer_cast<StatefulSet>(seen.statefulset->clone());
  running->status.replicas = 4;
  running->status.readyReplicas = 3;
  running->status.updatedReplicas = 2;
  seen.statefulset = running;
  const Plan made = plan(seen);
  ASSERT_EQ(made.steps.size(), 1U);
  const DDPSetStatus& status =
      *static_cast<const DDPSet&>(*made.steps.front().request->object).status;
  EXPECT_EQ(status.replicas, 4);
  EXPECT_EQ(status.readyReplicas, 3);
  EXPECT_EQ(status.updatedReplicas, 2);
}

TEST(DDPSetRender, injects_five_variables_before_the_users_and_nothing_else) {
  const auto set = a_set();
  PodSpec& pod = set->spec.edit().template_.spec.edit();
  EnvVar own;
  own.name = "MINE";
  own.value = "$(POD_NAME)";
  pod.containers.edit().front().env = {own};
  pod.initContainers = pod.containers;
  const auto made = statefulset_of(*set);
  const auto expected =
      ElementsAre("POD_NAME=metadata.name", "SVC_NAME=train-svc", "POD_NUMS=4", "POD_PORT=29500",
                  "POD_NAMESPACE=metadata.namespace", "MINE=$(POD_NAME)");
  const PodSpec& rendered = *made->spec->template_.spec;
  EXPECT_THAT(variables(rendered.containers->front()), expected);
  EXPECT_THAT(variables(rendered.initContainers->front()), expected);
}

TEST(DDPSetRender, a_variable_that_the_user_gives_stays_the_users) {
  const auto set = a_set();
  EnvVar own;
  own.name = "POD_NUMS";
  own.value = "9";
  set->spec.edit().template_.spec.edit().containers.edit().front().env = {own};
  EXPECT_THAT(variables(statefulset_of(*set)->spec->template_.spec->containers->front()),
              ElementsAre("POD_NAME=metadata.name", "SVC_NAME=train-svc", "POD_PORT=29500",
                          "POD_NAMESPACE=metadata.namespace", "POD_NUMS=9"));
}

TEST(DDPSetRender, the_service_is_headless_and_selects_the_pods) {
  const auto set = a_set();
  set->spec.edit().port = 1234;
  set->spec.edit().publishNotReadyAddresses = true;
  const auto service = service_of(*set);
  EXPECT_EQ(service->spec->clusterIP, "None");
  EXPECT_TRUE(service->spec->publishNotReadyAddresses);
  EXPECT_EQ(service->spec->ports.front().name, "ddp");
  EXPECT_EQ(service->spec->ports.front().port, 1234);
  const auto pods = statefulset_of(*set);
  EXPECT_EQ(*service->spec->selector, pods->spec->selector->matchLabels);
  EXPECT_EQ(*pods->spec->template_.metadata.labels, *service->spec->selector);
  EXPECT_EQ(pods->spec->serviceName, "train-svc");
  EXPECT_TRUE(is_controlled_by(*pods, *set));
  EXPECT_TRUE(is_controlled_by(*service, *set));
}

struct Refusal {
  const char* what;
  void (*change)(DDPSet& set);
  const char* said;
};
constexpr Refusal refusals[] = {
    {"a name that is no label", [](DDPSet& set) { set.metadata.name = "my_set"; },
     "metadata.name: Invalid value: \"my_set\": a lowercase RFC 1123 label"},
    {"a name that is no Service's", [](DDPSet& set) { set.metadata.name = "1st"; },
     "spec.serviceName: Invalid value: \"1st-svc\": a DNS-1035 label"},
    {"pods' names that are too long",
     [](DDPSet& set) {
       set.metadata.name = std::string(59, 'a');
       set.spec.edit().serviceName = "s";
       set.spec.edit().replicas = 1001;
     },
     "would have a name of 64 characters: must be no more than 63"},
    {"a Service's name that is none", [](DDPSet& set) { set.spec.edit().serviceName = "a.b"; },
     "spec.serviceName: Invalid value: \"a.b\": a DNS-1035 label"},
    {"no container", [](DDPSet& set) { set.spec.edit().template_.spec.edit().containers = {}; },
     "spec.template.spec.containers: Required value"},
    {"pods that are not restarted",
     [](DDPSet& set) { set.spec.edit().template_.spec.edit().restartPolicy = "OnFailure"; },
     "spec.template.spec.restartPolicy: Unsupported value: \"OnFailure\": supported values: "
     "\"Always\""},
};

TEST(DDPSetWebhook, refuses_in_these_words) {
  EXPECT_FALSE(review(*a_set(), nullptr));
  for (const Refusal& one : refusals) {
    const auto set = a_set();
    one.change(*set);
    const auto refused = review(*set, nullptr);
    ASSERT_TRUE(refused) << one.what;
    EXPECT_THAT(refused->message,
                HasSubstr("admission webhook \"validator.ddpset.platform.ddptwin.dev\" denied the "
                          "request: "));
    EXPECT_THAT(refused->message, HasSubstr(one.said)) << one.what;
  }
}

TEST(DDPSetWebhook, refuses_to_change_what_a_statefulset_cannot) {
  const auto old = a_set();
  auto same = a_set();
  same->spec.edit().serviceName = "train-svc";  // what it is by default
  same->spec.edit().replicas = 6;
  EXPECT_FALSE(review(*same, old.get()));
  auto other = a_set();
  other->spec.edit().serviceName = "other";
  EXPECT_THAT(review(*other, old.get())->message,
              HasSubstr("spec.serviceName: Invalid value: \"other\": field is immutable"));
  auto parallel = a_set();
  parallel->spec.edit().podManagementPolicy = "Parallel";
  EXPECT_THAT(review(*parallel, old.get())->message,
              HasSubstr("spec.podManagementPolicy: Invalid value: \"Parallel\": field is "
                        "immutable"));
}

}  // namespace
}  // namespace ddptwin::controller::ddpset::plan_test
