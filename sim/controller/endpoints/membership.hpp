// Which pods stand behind a service, and what of them its endpoints show (spec/kubernetes.md §5).
// Shared by the controllers of this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/controller.hpp"
#include "controller/endpoints/amended.hpp"
#include "objects/discovery_v1.hpp"

namespace ddptwin::controller::endpoints {

// Has its endpoints made for it: a selector, and not an ExternalName. All others are left alone,
// with whatever they have.
bool is_selecting(const Service& service);
bool is_headless(const Service& service);

// What a Service that has endpoints made for it says of them.
struct ServiceFacts {
  api::LabelQuery pods;   // that it chooses
  Cow<StringMap> labels;  // of what one controller writes: the same memory in all of it
  Cow<std::vector<OwnerReference>> owners;  // likewise, where the Service owns that
  Cow<StringMap> own_labels;
  Cow<ServiceSpec> spec;
  SharedText uid;
};

// What one controller has worked out of Services, so that it need not be at each plan. It holds as
// long as it is the same Service, whose labels and specification stay the same memory.
class KnownServices {
 public:
  using LabelsOf = StringMap (*)(const Service&);
  using OwnersOf = std::vector<OwnerReference> (*)(const Object&);
  explicit KnownServices(LabelsOf labels_of, OwnersOf owners_of = nullptr)
      : labels_of_(labels_of), owners_of_(owners_of) {}
  // Null where the Service has no endpoints made for it.
  const ServiceFacts* of(const Key& key, const Service& service);
  void forget(const Key& key) { facts_.erase(key); }
  void clear() { facts_.clear(); }

 private:
  LabelsOf labels_of_;
  OwnersOf owners_of_;  // null: the Service does not own what the controller writes
  TextTable<ServiceFacts> facts_{};
};

// What an update leaves alone is the same memory, mostly.
bool same_texts(const Cow<StringMap>& a, const Cow<StringMap>& b);

// Has an address and has not ended. A terminating pod counts only where it is asked for.
enum class Terminating : std::uint8_t { left_out, kept };
bool is_member(const Pod& pod, Terminating terminating);
bool is_ready(const Pod& pod);

// The number behind a service's port in this pod; nothing when no container has the named port.
std::optional<std::int32_t> port_in_pod(const ServicePort& port, const Pod& pod);
// The pod's hostname, where the service is its subdomain; else empty.
std::string_view hostname_in(const Pod& pod, const Service& service);
// What refers to the pod, and a text: the same memory as what is known, where that says it already.
Rare<ObjectReference> reference_to(const Pod& pod, const Rare<ObjectReference>& known = {});
Rare<std::string> text_like(std::string_view text, const Rare<std::string>& known);

// Labels of a service's endpoints: its own, who manages them, and whether it is headless.
Amended endpoint_labels(const Service& service, const Text& managed_by_key, const Text& manager);

// The services whose endpoints a change of a pod concerns: those that choose it, and those that did
// before. None where nothing changed that endpoints show.
Reaction services_of(const Change& pod_change, const Cache& cache);

inline const Text headless_label = "service.kubernetes.io/headless";
inline const Text service_name_label = "kubernetes.io/service-name";
inline const Text slice_manager_label = "endpointslice.kubernetes.io/managed-by";
// Of Endpoints that are a lock and nothing else.
constexpr std::string_view leader_annotation = "control-plane.alpha.kubernetes.io/leader";

}  // namespace ddptwin::controller::endpoints
