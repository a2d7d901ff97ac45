// What stands between a request and the store: the admission chain (spec/kubernetes.md section 1).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"

namespace ddptwin {

// Mutating hooks run after defaults and before the kind's validation, validating ones after it.
enum class AdmissionPhase : std::uint8_t { mutating, validating };

struct AdmissionRequest {
  api::Verb verb;  // create, update (also for a patch) or remove
  const KindInfo& kind;
  std::string_view subresource;
  std::shared_ptr<Object> object;  // to be stored; null when it is a deletion
  ObjectPtr old;                   // what is stored; null when it is a creation
  std::string_view actor;
  bool dry_run = false;
  Time now{};
};

// The warnings for the client, or the refusal.
using AdmissionHook = std::function<Result<std::vector<std::string>>(const AdmissionRequest&)>;

class Store;
struct Pod;
// The plugins that every cluster has on: DefaultTolerationSeconds, Priority, TaintNodesByCondition,
// and the allocation of cluster IPs and node ports. The store adds them itself.
void add_default_admission(Store& store);
// ServiceAccount and RuntimeClass: what a pod names must be there, and a class's overhead, nodes
// and tolerations become the pod's. Every cluster has them on; a bare API server, without the
// controller that makes accounts, has not.
void add_pod_reference_admission(Store& store);
// DefaultStorageClass: a claim that says nothing of a class gets the default one, if there is one.
void add_default_class_admission(Store& store);
// PodTopologyLabels: a pod on a node carries the labels of its zone and region.
void copy_topology_labels(const Store& store, Pod& pod);

}  // namespace ddptwin
