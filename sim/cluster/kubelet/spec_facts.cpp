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

}  // namespace

SpecFacts::SpecFacts(const PodSpec& spec) : qos_class(to_string(kubelet::qos_class(spec))) {
  resources.requests = pod_requests(spec);
  resources.limits = pod_limits(spec);
  for (const Container& container : spec.initContainers)
    init_volume_mounts.push_back(shown_mounts(container));
  for (const Container& container : spec.containers)
    volume_mounts.push_back(shown_mounts(container));
}

}  // namespace ddptwin::kubelet
