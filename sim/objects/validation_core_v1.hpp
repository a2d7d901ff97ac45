// What the API server refuses of the core kinds, in its words (spec/kubernetes.md sections 1.5 and
// 1.11; the recordings api-invalid-* and api-immutable-fields).
#pragma once

#include "objects/kinds.hpp"
#include "objects/pod_spec.hpp"

namespace ddptwin {

ErrorList validate_pod(const Object& object);
ErrorList validate_pod_update(const Object& updated, const Object& old);
// Of its addresses (pkg/apis/core/v1 Convert_v1_PodStatus_To_core_PodStatus): where podIP and the
// first of podIPs differ, podIP is meant, alone; where one is missing, it is made of the other.
void set_primary_address(Object& updated, const Object& old);
ErrorList validate_pod_status_update(const Object& updated, const Object& old);
std::vector<std::string> pod_warnings(const Object& object);
// The part that a pod and a pod template share; `path` is "spec" or "spec.template.spec".
ErrorList validate_pod_spec(const PodSpec& spec, const FieldPath& path);

ErrorList validate_service(const Object& object);
ErrorList validate_service_update(const Object& updated, const Object& old);
ErrorList validate_config_map(const Object& object);
ErrorList validate_config_map_update(const Object& updated, const Object& old);
ErrorList validate_secret(const Object& object);
ErrorList validate_secret_update(const Object& updated, const Object& old);

}  // namespace ddptwin
