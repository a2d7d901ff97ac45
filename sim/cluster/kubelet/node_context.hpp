// What the workers of one kubelet share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/event_recorder.hpp"
#include "cluster/kubelet/back_off.hpp"
#include "cluster/kubelet/cluster_view.hpp"
#include "cluster/kubelet/devices.hpp"
#include "cluster/kubelet/image_puller.hpp"
#include "cluster/kubelet/inventory.hpp"
#include "cluster/kubelet/options.hpp"
#include "cluster/kubelet/pod_context.hpp"
#include "cluster/kubelet/prober.hpp"
#include "cluster/kubelet/status.hpp"
#include "core/trace.hpp"

namespace ddptwin::kubelet {

// First what is read each time that something happens to a pod: a node is as cold by then as the
// pod itself.
struct NodeParts {
  Loop& loop;
  const KubeletClocks& clocks;
  Lane lane;
  Time began;  // of the process
  Timer relist_timer{};
  Inventory& inventory;
  Devices& devices;
  api::ApiClient& client;
  PodRuntime& runtime;
  ClusterView& view;
  api::EventRecorder& events;
  Trace& trace;
  const KubeletOptions& options;
  ImagePuller& images;
  BackOff& restarts;
  Prober& prober;
  Random& random;
  // Looks at the runtime, after which the workers that wait for that are told.
  std::function<void()> look;
  // The runtime says that the node is short of it.
  std::function<void(NodeResource)> is_short;
};

struct NodeContext : std::enable_shared_from_this<NodeContext>, NodeParts {
  explicit NodeContext(NodeParts&& parts) : NodeParts(std::move(parts)) {}

  // Asks for a look at the runtime at the next tick. Who asks meanwhile has asked for that one.
  void relist();
  // The next tick of a clock of that period, which runs since the process began.
  Time next_tick(Duration period) const {
    const Duration since = loop.now() - began;
    return began + (since / period + 1) * period;
  }
  const HostAddresses& host() { return host_of(view.node(options.node_name)); }
  // When to try again after a delay: stretched, and with jitter where the options ask for some.
  Duration stretched(Duration delay) const;
  PodContext pod_context(const std::shared_ptr<const Pod>& pod);
  // About the pod, or with a container about that part of it.
  void event(const Pod& pod, std::string_view type, std::string_view reason, std::string message,
             const Container* container = nullptr) const;
  // About a container of which it is known to which of the specification's lists it belongs.
  void event(const Pod& pod, std::string_view type, std::string_view reason, std::string message,
             const Container& container, bool init) const;
  void notices(const Pod& pod, const Notices& notices) const;
  void record(const Pod& pod, const std::string& container, std::string_view text) const;

  const HostAddresses& host_of(const std::shared_ptr<const Node>& node);
  // What has been found last, and of which state of the Node.
  HostAddresses known_host{};
  std::shared_ptr<const Node> known_node{};
};

// A runtime's error as gRPC clients print it.
std::string rpc_text(const Error& error);

}  // namespace ddptwin::kubelet
