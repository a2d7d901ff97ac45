#include "cluster/kubelet/spec_facts.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kubelet/restart_policy.hpp"
#include "cluster/pods/resources.hpp"

namespace ddptwin::kubelet {
namespace {

// The mounts as the specification has them; those that are read-only say that what is mounted below
// them is not.
RawJson shown_mounts(const Container& container) {
  boost::json::array mounts;
  for (const VolumeMount& mount : container.volumeMounts) {
    boost::json::object shown{{"name", mount.name}, {"mountPath", mount.mountPath}};
    if (mount.readOnly) {
      shown["readOnly"] = true;
      shown["recursiveReadOnly"] = mount.recursiveReadOnly.value_or("Disabled");
    }
    mounts.push_back(std::move(shown));
  }
  return mounts.empty() ? RawJson() : RawJson(Json(std::move(mounts)));
}

std::vector<SpecFacts::OfContainer> facts_of(const std::vector<Container>& containers) {
  std::vector<SpecFacts::OfContainer> facts;
  facts.reserve(containers.size());
  for (const Container& container : containers)
    facts.push_back({shown_mounts(container), container.resources});
  return facts;
}

bool is_probed(const Container& container) {
  return container.startupProbe || container.readinessProbe || container.livenessProbe;
}

bool any_probed(const PodSpec& spec) {
  return std::any_of(spec.containers.begin(), spec.containers.end(), is_probed) ||
         std::any_of(spec.initContainers.begin(), spec.initContainers.end(), is_probed);
}

// Whether no container has what facts show beside the amounts of resources.
bool is_plain(const PodSpec& spec) {
  const auto plain = [](const Container& container) {
    return container.volumeMounts.empty() && container.restartPolicyRules.empty() &&
           container.resources.claims.absent() && !is_probed(container);
  };
  return std::all_of(spec.containers.begin(), spec.containers.end(), plain) &&
         std::all_of(spec.initContainers.begin(), spec.initContainers.end(), plain);
}

}  // namespace

SpecFacts::SpecFacts(const PodSpec& spec)
    : qos_class(to_string(kubelet::qos_class(spec))),
      restart_all_rule(has_restart_all_rule(spec)),
      has_probes(any_probed(spec)),
      init_containers(facts_of(spec.initContainers)),
      containers(facts_of(spec.containers)) {
  resources.emplace().requests = pod_requests(spec);
  resources.edit().limits = pod_limits(spec);
}

std::shared_ptr<const SpecFacts> KnownFacts::of(const Cow<PodSpec>& spec) {
  const bool same = facts_ && (last_.same_as(spec) || (is_plain(*last_) && is_plain(*spec) &&
                                                       surely_ask_the_same(*last_, *spec)));
  if (!same) {
    facts_ = std::make_shared<const SpecFacts>(*spec);
    last_ = spec;
  }
  return facts_;
}

}  // namespace ddptwin::kubelet
