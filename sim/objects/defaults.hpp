// What the API server fills into built-in objects when their author is silent
// (spec/kubernetes.md section 1.5).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

// Of a pod, and of the pod template in another object (where less is filled in).
void default_pod(Pod& pod);
void default_pod_spec(PodSpec& spec);
void default_service(Service& service);
void default_secret(Secret& secret);
void default_endpoints(Endpoints& endpoints);
void default_node(Node& node);

// Guaranteed, Burstable or BestEffort.
std::string qos_class(const PodSpec& spec);
// What an image without a policy gets: Always or IfNotPresent.
std::string default_pull_policy(std::string_view image);

}  // namespace ddptwin
