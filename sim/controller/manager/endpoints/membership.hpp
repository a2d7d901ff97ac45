// Which pods stand behind a service, and what of them its endpoints show (spec/kubernetes.md §5).
// Shared by the controllers of this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/controller.hpp"
#include "controller/manager/endpoints/amended.hpp"
#include "objects/discovery_v1.hpp"
#include "objects/interner.hpp"

namespace ddptwin::controller::endpoints {

// Has its endpoints made for it: a selector, and not an ExternalName. All others are left alone,
// with whatever they have.
bool is_selecting(const Service& service);
bool is_headless(const Service& service);

// A port of a Service as endpoints show it, with its number in a pod.
template <class Port>
Port shown_port(const ServicePort& port, std::int32_t number) {
  Port shown;
  shown.name = port.name;
  shown.protocol = port.protocol;
  shown.port = number;
  shown.appProtocol = port.appProtocol;
  return shown;
}

// What a Service that has endpoints made for it says of them, as one controller writes them. It
// holds as long as it is the same Service, whose labels and specification stay the same memory.
template <class Port>
struct ServiceFacts {
  std::shared_ptr<const Service> of{};  // null: nothing is known
  bool publishes_not_ready = false;
  // The same for all its pods; absent where a pod's containers say what number a port has.
  std::optional<Cow<std::vector<Port>>> ports{};
  Cow<std::vector<std::string>> families{};
  // The same memory in all that is written.
  Cow<StringMap> labels{};
  Cow<std::vector<OwnerReference>> owners{};  // where the Service owns that
  api::LabelQuery pods{};                     // that it chooses
};

// Works out for one controller what Services say, so that it need not be at each plan.
template <class Port>
class ServiceReader {
 public:
  using LabelsOf = StringMap (*)(const Service&);
  using OwnersOf = std::vector<OwnerReference> (*)(const Object&);
  explicit ServiceReader(LabelsOf labels_of, OwnersOf owners_of = nullptr)
      : labels_of_(labels_of), owners_of_(owners_of) {}
  // Brings what is known of the Service up to date; false, and nothing is known, where it has no
  // endpoints made for it.
  bool read(const std::shared_ptr<const Service>& service, ServiceFacts<Port>& facts);

 private:
  std::optional<Cow<std::vector<Port>>> ports_of(const ServiceSpec& spec);

  LabelsOf labels_of_;
  OwnersOf owners_of_;  // null: the Service does not own what the controller writes
  // Most Services say the same.
  Interner<std::vector<Port>> ports_{8};
  Interner<std::vector<std::string>> families_{4};
};

// What an update leaves alone is the same memory, mostly.
bool same_texts(const Cow<StringMap>& a, const Cow<StringMap>& b);

// Has an address and has not ended. A terminating pod counts only where it is asked for.
enum class Terminating : std::uint8_t { left_out, kept };
bool is_member(const Pod& pod, Terminating terminating);
bool is_ready(const Pod& pod);

// The number behind a service's port in each pod; nothing when it is that of a named port.
std::optional<std::int32_t> port_in_all(const ServicePort& port);
// That in this pod; nothing when no container has the named port.
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
