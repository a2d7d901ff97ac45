// PodSecurity: what a namespace's labels forbid to its pods, or warn of (the Pod Security
// Standards, https://kubernetes.io/docs/concepts/security/pod-security-standards/; words and order
// as k8s.io/pod-security-admission has them).
#pragma once

namespace ddptwin {

class Store;

// Labels pod-security.kubernetes.io/{enforce,warn}[-version]; `audit` reaches a log that nobody has
// here. Every API server has the plugin on.
void add_pod_security(Store& store);

}  // namespace ddptwin
