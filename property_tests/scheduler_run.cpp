#include "scheduler_run.hpp"

#include <rapidcheck.h>

#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"

namespace ddptwin::property {
namespace {

WorldOptions options(std::uint64_t seed) {
  WorldOptions options;
  options.seed = seed;
  options.scheduler = true;
  return options;
}

}  // namespace

SchedulerRun::SchedulerRun(std::uint64_t seed)
    : loop_(Random(seed).split("loop"), virtual_start), world_(loop_, options(seed), nullptr) {
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());
  rest(1s);
}

void SchedulerRun::call(const api::Request& request) {
  const auto answer = world_.call(request, "user");
  if (!answer) RC_FAIL(answer.error().message);
}

void SchedulerRun::add_node(NodeOptions node) {
  node.kubelet = false;
  DDPTWIN_ASSERT(world_.add_node(node).has_value());
}

void SchedulerRun::end(const Pod& pod) {
  api::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  call(api::remove(pod, at_once));
}

std::vector<SchedulerRun::PodPtr> SchedulerRun::pods() const {
  std::vector<PodPtr> found;
  for (const ObjectPtr& object : world_.objects(Pod::info(), "default"))
    found.push_back(as<Pod>(object));
  return found;
}

SchedulerRun::PodPtr SchedulerRun::pod(const std::string& name) const {
  return as<Pod>(world_.find(Pod::info(), "default", name));
}

std::shared_ptr<Pod> pod_asking(const std::string& name, ResourceList resources) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  Container container;
  container.name = "c";
  container.image = "busybox";
  container.resources.requests = resources;
  container.resources.limits = std::move(resources);
  pod->spec.edit().containers = {std::move(container)};
  return pod;
}

}  // namespace ddptwin::property
