#include "cluster/kubelet/node_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/concat.hpp"

namespace ddptwin::kubelet {

using namespace std::string_view_literals;

std::string_view NodeContext::node_ip() const {
  if (!options.node_ip.empty()) return options.node_ip;
  const std::shared_ptr<const Node> node = view.node(options.node_name);
  if (!node) return {};
  for (const NodeAddress& address : node->status.addresses)
    if (address.type_ == "InternalIP") return address.address;
  return {};
}

Duration NodeContext::stretched(Duration delay) const {
  const KubeletClocks& clocks = options.clocks;
  double factor = clocks.retry_stretch;
  if (clocks.retry_jitter > 0) factor += random.uniform() * clocks.retry_jitter;
  return Duration(static_cast<std::int64_t>(static_cast<double>(delay.count()) * factor));
}

PodContext NodeContext::pod_context(const std::shared_ptr<const Pod>& pod) const {
  PodContext context;
  const Text& namespace_ = pod->metadata.namespace_;
  context.pod = pod;
  context.node = view.node(options.node_name);
  context.node_ip = node_ip();
  context.pod_ips = inventory.state(pod->metadata.uid)->ips;
  context.services = view.services(namespace_);
  // The context holds on to the pod.
  context.find_config_map = [this, &namespace_](std::string_view name) {
    return view.config_map(namespace_, name);
  };
  context.find_secret = [this, &namespace_](std::string_view name) {
    return view.secret(namespace_, name);
  };
  context.settings = options.settings;
  context.config_seen = loop.now();
  return context;
}

void NodeContext::event(const Pod& pod, std::string_view type, std::string_view reason,
                        std::string message, const Container* container) const {
  boost::container::small_vector<char, 64> path;  // mostly it is only compared
  if (container != nullptr) {
    const auto& init = pod.spec->initContainers;
    const bool is_init = std::any_of(init.begin(), init.end(),
                                     [&](const Container& c) { return c.name == container->name; });
    const std::string_view list = is_init ? "spec.initContainers{" : "spec.containers{";
    for (const std::string_view part : {list, std::string_view(container->name), "}"sv})
      path.insert(path.end(), part.begin(), part.end());
  }
  events.event(pod, type, reason, std::move(message), std::string_view(path.data(), path.size()));
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
