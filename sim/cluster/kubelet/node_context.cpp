#include "cluster/kubelet/node_context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/kubelet/host_paths.hpp"
#include "core/concat.hpp"

namespace ddptwin::kubelet {

using namespace std::string_view_literals;
namespace {

// Mostly it is a container of that very specification, and is known by where it lies.
bool is_init_container(const PodSpec& spec, const Container& container) {
  const auto lies_in = [&](const std::vector<Container>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Container& one) { return &one == &container; });
  };
  if (lies_in(spec.containers)) return false;
  const std::vector<Container>& init = spec.initContainers;
  return lies_in(init) || std::any_of(init.begin(), init.end(), [&](const Container& one) {
           return one.name == container.name;
         });
}

std::string_view internal_ip(const Node* node) {
  if (node == nullptr) return {};
  for (const NodeAddress& address : node->status.addresses)
    if (address.type_ == "InternalIP") return address.address;
  return {};
}

}  // namespace

const HostAddresses& NodeContext::host_of(const std::shared_ptr<const Node>& node) {
  if (node && node == known_node) return known_host;
  known_node = node;
  const std::string_view ip =
      !options.node_ip.empty() ? std::string_view(options.node_ip) : internal_ip(node.get());
  if (known_host.ip == ip) return known_host;
  known_host = {};
  if (!ip.empty()) known_host = {ip, {IpEntry{ip}}};
  return known_host;
}

void NodeContext::relist() {
  if (relist_timer.pending()) return;
  relist_timer = loop.at(lane, next_tick(clocks.relist), [this] {
    relist_timer = {};  // so that who asks next need not look for it in the loop
    look();
  });
}

Duration NodeContext::stretched(Duration delay) const {
  double factor = clocks.retry_stretch;
  if (clocks.retry_jitter > 0) factor += random.uniform() * clocks.retry_jitter;
  return Duration(static_cast<std::int64_t>(static_cast<double>(delay.count()) * factor));
}

PodContext NodeContext::pod_context(const std::shared_ptr<const Pod>& pod) {
  PodContext context;
  const Text& namespace_ = pod->metadata.namespace_;
  context.pod = pod;
  context.node = view.node(options.node_name);
  if (options.settings->gpu_plugin) context.devices = &devices;
  context.node_ip = host_of(context.node).ip.str();
  context.pod_ips = inventory.state(pod->metadata.uid)->ips;
  context.services = view.services(namespace_);
  // The context holds on to the pod.
  context.find_config_map = [this, &namespace_](std::string_view name) {
    return view.config_map(namespace_, name);
  };
  context.find_secret = [this, &namespace_](std::string_view name) {
    return view.secret(namespace_, name);
  };
  if (view.has_claims()) {
    context.find_claim = [this, &namespace_](std::string_view name) {
      return view.claim(namespace_, name);
    };
    context.find_volume = [this](std::string_view name) { return view.volume(name); };
  }
  if (options.host_paths) {
    context.path_kind = [paths = options.host_paths](const std::string& path) {
      return paths->kind(path);
    };
    context.path_passed = [paths = options.host_paths](const std::string& path, PathKind kind) {
      paths->pass(path, kind);
    };
  }
  context.settings = options.settings;
  context.config_seen = loop.now();
  return context;
}

void NodeContext::event(const Pod& pod, std::string_view type, std::string_view reason,
                        std::string message, const Container* container) const {
  if (container != nullptr)
    return event(pod, type, reason, std::move(message), *container,
                 is_init_container(*pod.spec, *container));
  events.event(pod, type, reason, std::move(message));
}

void NodeContext::event(const Pod& pod, std::string_view type, std::string_view reason,
                        std::string message, const Container& container, bool init) const {
  const ShortText path({init ? "spec.initContainers{"sv : "spec.containers{"sv, container.name,
                        "}"});  // mostly it is only compared
  events.event(pod, type, reason, std::move(message), path.view());
}

void NodeContext::notices(const Pod& pod, const Notices& notices) const {
  for (const Notice& notice : notices) event(pod, "Warning", notice.reason, notice.message);
}

void NodeContext::record(const Pod& pod, const std::string& container,
                         std::string_view text) const {
  if (!trace.wants(RecordKind::container)) {
    trace.skip();
    return;
  }
  Record record;
  record.kind = RecordKind::container;
  record.actor = "kubelet";
  const ObjectMeta& meta = pod.metadata;
  const ShortText subject(
      {meta.namespace_, "/", meta.name, container.empty() ? "" : "/", container});
  record.subject = subject.view();
  record.text = text;
  trace.write(std::move(record));
}

std::string rpc_text(const Error& error) {
  return fmt::format("rpc error: code = {} desc = {}",
                     error.where.empty() ? "Unknown" : error.where, error.message);
}

}  // namespace ddptwin::kubelet
