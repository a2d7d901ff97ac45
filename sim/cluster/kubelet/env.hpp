// The variables of a container, and which rule put each there (spec/kubernetes.md §2.9).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/kubelet/pod_context.hpp"

namespace ddptwin::kubelet {

enum class EnvRule : std::uint8_t {
  value,                // the container's env, as written or with $(VAR) expanded
  config_map_key,       // valueFrom.configMapKeyRef
  secret_key,           // valueFrom.secretKeyRef
  field,                // valueFrom.fieldRef
  resource,             // valueFrom.resourceFieldRef
  env_from_config_map,  // envFrom
  env_from_secret,      // envFrom
  service_link,         // a Service of the namespace, or default/kubernetes
};
// For people: "container env", "configMapKeyRef", ..., "service link".
std::string_view to_string(EnvRule rule);

struct EnvOrigin {
  EnvRule rule = EnvRule::value;
  std::string from{};  // "ConfigMap conf key k", "field status.podIP", "Service master", "env[2]"
};

struct EnvVariable {
  std::string name{};
  std::string value{};
  EnvOrigin origin{};
  std::vector<EnvOrigin> hidden{};  // rules that would have set it too; the last was overruled last
};

// In the order of the names. The error is what the container waits with as
// CreateContainerConfigError.
Result<std::vector<EnvVariable>> environment(const PodContext& context, const Container& container,
                                             Notices* notices = nullptr);
// The same without origins, as the runtime is given it.
Result<EnvValues> environment_values(const PodContext& context, const Container& container,
                                     Notices* notices = nullptr);

// Others give a pod no variables.
bool has_cluster_ip(const Service& service);
// For all pods that start while the Service is as it is.
LinkedService linked(std::shared_ptr<const Service> service);
// The variables that the services give to a pod of this namespace, before anything hides them.
std::vector<EnvVariable> service_variables(const PodContext& context);

// $(VAR) replaced by what `lookup` says, $$ by $; what it does not know stays as it is written.
std::string expand(std::string_view text,
                   const std::function<std::optional<std::string>(std::string_view)>& lookup);

// The value of a fieldRef, of the environment and of downwardAPI volumes alike.
Result<std::string> field_value(const PodContext& context, std::string_view path);
// The value of a resourceFieldRef; `container` is the one it stands in.
Result<std::string> resource_value(const PodContext& context, const ResourceFieldSelector& selector,
                                   const Container* container);

}  // namespace ddptwin::kubelet
