// Any DDPSet in any surroundings: one pass and its answers leave nothing to do, whatever was there,
// and what it makes obeys spec/statefulset-platform.md §3 and §4.
#include <algorithm>
#include <ostream>

#include "controller/ddpset/plan.hpp"
#include "controller/ddpset/render.hpp"
#include "controller/ddpset/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "property.hpp"

namespace ddptwin::property::ddpset_properties_test {
namespace {

namespace platform = controller::ddpset;

struct Draft {
  int replicas = 1, port = 29500, start = 0, generation = 1;
  bool parallel = false, publishes = false, named = false;
  int containers = 1, init_containers = 0;
  int users_own = 0;   // how many of the five names the user gives himself
  int there = 0;       // 0 nothing, 1 its own of this generation, 2 of an older one, 3 another's
  int scaled_to = -1;  // past the platform; -1: not
};

void showValue(const Draft& draft, std::ostream& out) {
  out << "replicas " << draft.replicas << " port " << draft.port << " start " << draft.start
      << " generation " << draft.generation << " containers " << draft.containers << "+"
      << draft.init_containers << " own variables " << draft.users_own << " there " << draft.there
      << " scaled to " << draft.scaled_to;
}

rc::Gen<Draft> draft() {
  return gen::build<Draft>(
      gen::set(&Draft::replicas, gen::inRange(0, 20)),
      gen::set(&Draft::port, gen::inRange(1, 65536)), gen::set(&Draft::start, gen::inRange(0, 4)),
      gen::set(&Draft::generation, gen::inRange(2, 9)),
      gen::set(&Draft::parallel, gen::inRange(0, 2)),
      gen::set(&Draft::publishes, gen::inRange(0, 2)), gen::set(&Draft::named, gen::inRange(0, 2)),
      gen::set(&Draft::containers, gen::inRange(1, 4)),
      gen::set(&Draft::init_containers, gen::inRange(0, 3)),
      gen::set(&Draft::users_own, gen::inRange(0, 6)), gen::set(&Draft::there, gen::inRange(0, 4)),
      gen::set(&Draft::scaled_to, gen::inRange(-1, 9)));
}

std::vector<Container> containers(int count, int users_own) {
  std::vector<Container> made;
  for (int i = 0; i < count; ++i) {
    Container& one = made.emplace_back();
    one.name = "c" + std::to_string(i);
    for (int j = 0; j < users_own; ++j) {
      EnvVar& variable = one.env.emplace_back();
      variable.name = platform::rules::variables[static_cast<std::size_t>(j)].name;
      variable.value = "mine";
    }
  }
  return made;
}

std::shared_ptr<DDPSet> set_of(const Draft& draft) {
  auto set = std::make_shared<DDPSet>();
  set->metadata.name = "train";
  set->metadata.namespace_ = "ml";
  set->metadata.uid = "u-set";
  set->metadata.generation = draft.generation;
  DDPSetSpec& spec = set->spec.edit();
  spec.replicas = draft.replicas;
  spec.port = draft.port;
  spec.ordinalsStart = draft.start;
  spec.podManagementPolicy = draft.parallel ? "Parallel" : "OrderedReady";
  spec.publishNotReadyAddresses = draft.publishes;
  if (draft.named) spec.serviceName = "by-name";
  PodSpec& pod = spec.template_.spec.edit();
  pod.containers = containers(draft.containers, draft.users_own);
  pod.initContainers = containers(draft.init_containers, draft.users_own);
  return set;
}

template <class T>
std::shared_ptr<const T> found(std::shared_ptr<T> fresh, const Draft& draft) {
  if (draft.there == 0) return nullptr;
  if (draft.there == 2)
    fresh->metadata.annotations.edit()[Text(platform::generation_annotation)] = "1";
  if (draft.there == 3) fresh->metadata.ownerReferences.edit().clear();
  return fresh;
}

platform::View view_of(const Draft& draft) {
  platform::View seen;
  seen.set = set_of(draft);
  seen.service = found(platform::service_of(*seen.set), draft);
  auto statefulset = platform::statefulset_of(*seen.set);
  if (draft.scaled_to >= 0) statefulset->spec.edit().replicas = draft.scaled_to;
  seen.statefulset = found(statefulset, draft);
  return seen;
}

// Every call is accepted.
void carry_out(const controller::Plan& plan, platform::View& seen) {
  for (const controller::Step& step : plan.steps) {
    if (!step.request) continue;
    const ObjectPtr& object = step.request->object;
    if (as<Service>(*object) != nullptr)
      seen.service = std::static_pointer_cast<const Service>(object);
    if (as<StatefulSet>(*object) != nullptr)
      seen.statefulset = std::static_pointer_cast<const StatefulSet>(object);
    if (as<DDPSet>(*object) != nullptr) seen.set = std::static_pointer_cast<const DDPSet>(object);
  }
}

TEST(DDPSetProperties, one_pass_is_enough_and_the_next_does_nothing) {
  holds([]() {
    const Draft drawn = *draft();
    platform::View seen = view_of(drawn);
    carry_out(platform::plan(seen), seen);
    for (const controller::Step& step : platform::plan(seen).steps)
      RC_ASSERT(step.rule == &platform::rules::name_is_taken);
  });
}

TEST(DDPSetProperties, what_is_anothers_is_never_written) {
  holds([]() {
    Draft drawn = *draft();
    drawn.there = 3;
    platform::View seen = view_of(drawn);
    for (const controller::Step& step : platform::plan(seen).steps)
      RC_ASSERT(!step.request || step.request->target.kind == &DDPSet::info());
  });
}

TEST(DDPSetProperties, a_scale_past_it_lasts_until_its_next_edit) {
  holds([]() {
    Draft drawn = *draft();
    if (drawn.there != 2) drawn.there = 1;
    platform::View seen = view_of(drawn);
    carry_out(platform::plan(seen), seen);
    const bool edited = drawn.there == 2;
    RC_ASSERT(*seen.statefulset->spec->replicas ==
              (edited || drawn.scaled_to < 0 ? drawn.replicas : drawn.scaled_to));
  });
}

TEST(DDPSetProperties, each_container_has_each_of_the_five_once_and_nothing_else) {
  holds([]() {
    const Draft drawn = *draft();
    const auto made = platform::statefulset_of(*set_of(drawn));
    const PodSpec& pod = *made->spec->template_.spec;
    for (const auto* list : {&*pod.containers, &*pod.initContainers})
      for (const Container& container : *list) {
        RC_ASSERT(container.env.size() == platform::rules::variables.size());
        for (const controller::VariableRow& row : platform::rules::variables)
          RC_ASSERT(std::count_if(container.env.begin(), container.env.end(),
                                  [&row](const EnvVar& one) { return one.name == row.name; }) == 1);
      }
    RC_ASSERT(static_cast<int>(pod.containers->size()) == drawn.containers);
    RC_ASSERT(static_cast<int>(pod.initContainers->size()) == drawn.init_containers);
  });
}

TEST(DDPSetProperties, the_service_selects_exactly_the_pods) {
  holds([]() {
    const auto set = set_of(*draft());
    const auto service = platform::service_of(*set);
    const auto made = platform::statefulset_of(*set);
    RC_ASSERT(service->metadata.name == made->spec->serviceName);
    RC_ASSERT(*service->spec->selector == made->spec->selector->matchLabels);
    for (const auto& [key, value] : *service->spec->selector)
      RC_ASSERT(made->spec->template_.metadata.labels->at(key) == value);
  });
}

}  // namespace
}  // namespace ddptwin::property::ddpset_properties_test
