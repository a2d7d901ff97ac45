#include "cluster/kubelet/spec_facts.hpp"

#include <boost/json.hpp>

#include "cluster/kubelet/resources.hpp"

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

}  // namespace

SpecFacts::SpecFacts(const PodSpec& spec)
    : qos_class(to_string(kubelet::qos_class(spec))),
      init_containers(facts_of(spec.initContainers)),
      containers(facts_of(spec.containers)) {
  resources.emplace().requests = pod_requests(spec);
  resources.edit().limits = pod_limits(spec);
}

}  // namespace ddptwin::kubelet
