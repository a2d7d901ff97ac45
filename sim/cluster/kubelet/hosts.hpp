// A pod's own names and its /etc/hosts (spec/kubernetes.md §2.11).
#pragma once

#include <string>
#include <string_view>

#include "cluster/kubelet/pod_context.hpp"

namespace ddptwin::kubelet {

struct PodNames {
  std::string hostname{};  // its first label, or hostnameOverride
  std::string domain{};    // SUBDOMAIN.NAMESPACE.svc.DOMAIN, or empty
};

// The first of them, as a part of the pod.
Result<std::string_view> pod_hostname(const Pod& pod);
Result<PodNames> pod_names(const PodContext& context);
// What gethostname() says: the hostname, or the whole name with setHostnameAsFQDN, which is refused
// when it has more than 64 characters; with hostNetwork the node's name.
Result<std::string> kernel_hostname(const PodContext& context);
std::string hosts_file(const PodContext& context, const PodNames& names);

}  // namespace ddptwin::kubelet
