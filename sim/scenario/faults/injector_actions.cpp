// What the faults do that take something away for a while, or hit a container.
#include <algorithm>

#include "cluster/model_runtime/network.hpp"
#include "scenario/faults/injector_parts.hpp"

namespace ddptwin::scenario {
namespace {

constexpr int kill_signal = 9;
constexpr std::string_view cordon_key = "node.kubernetes.io/unschedulable";

}  // namespace

// A state, not an occurrence, is what these wait for: they begin as soon as they may.
bool FaultInjector::Parts::begins_at_once(const Active& one) const {
  const Occurrence counts = one.row->counts;
  return (counts == Occurrence::write && !one.fault->nth) ||
         (counts == Occurrence::none && !one.fault->step);
}

void FaultInjector::Parts::trigger(Active& one) {
  if (one.stage != Stage::armed || healed) return;
  one.stage = Stage::acting;
  record(one, one.fault->of.empty() ? std::string(one.row->port) : one.fault->of);
  begin(one);
  const auto lasts = duration_of(*one.fault);
  if (!lasts) return;
  // Nothing is in between where it lasts no time: what comes next finds the new process.
  if (*lasts == Duration::zero()) return finish(one);
  one.timer = loop.after(lane, *lasts, [this, &one] { finish(one); });
}

void FaultInjector::Parts::finish(Active& one) {
  if (one.stage != Stage::acting) return;
  end(one);
  one.stage = Stage::over;
  check_healed();
}

std::vector<std::string> FaultInjector::Parts::nodes_of(const Active& one) const {
  if (!one.fault->of.empty()) return {one.fault->of};
  return {census.nodes.begin(), census.nodes.end()};
}

void FaultInjector::Parts::begin(Active& one) {
  const std::string& of = one.fault->of;
  switch (one.fault->kind) {
    case FaultKind::controller_crash:
      world->crash_controller(of);
      return;
    case FaultKind::controller_double:
      world->begin_second_controller(of);
      return;
    case FaultKind::scheduler_down:
      world->stop_scheduler();
      return;
    case FaultKind::kubelet_restart:
      for (const std::string& node : nodes_of(one)) world->stop_kubelet(node);
      return;
    case FaultKind::node_cordon:
      return cordon(of, true);
    case FaultKind::node_lost:
    case FaultKind::node_dead:
    case FaultKind::node_deleted: {
      const bool deleted = one.fault->kind == FaultKind::node_deleted;
      one.outage = std::make_unique<NodeOutage>(*world, lane, of, deleted);
      cut_off(one, one.outage->addresses());
      if (one.fault->kind == FaultKind::node_lost || tap == nullptr) return;
      const auto running_now = tap->running();
      for (const auto& [id, container] : running_now)
        if (container.node == of && ports.signal) ports.signal(container, kill_signal);
      return;
    }
    default:
      return begin_link(one);
  }
}

void FaultInjector::Parts::end(Active& one) {
  const std::string& of = one.fault->of;
  switch (one.fault->kind) {
    case FaultKind::controller_crash:
      world->start_controller(of);
      return;
    case FaultKind::controller_double:
      world->end_second_controller(of);
      return;
    case FaultKind::scheduler_down:
      world->start_scheduler();
      return;
    case FaultKind::kubelet_restart:
      for (const std::string& node : nodes_of(one)) world->start_kubelet(node);
      return;
    case FaultKind::node_cordon:
      return cordon(of, false);
    case FaultKind::node_lost:
    case FaultKind::node_dead:
    case FaultKind::node_deleted:
      end_link(one);
      one.outage->return_back();
      one.outage.reset();
      return;
    default:
      return end_link(one);
  }
}

// ---- containers --------------------------------------------------------------------------------

void FaultInjector::Parts::strike(Active& one, const RunningContainer& container) {
  if (one.stage == Stage::over || healed) return;
  one.stage = Stage::over;
  // It may have ended at that very moment: then there is nobody to be hit.
  const auto report = tap->report(container.id);
  if (!report || report->phase != ContainerPhase::running) return check_healed();
  if (ports.is_alive && !ports.is_alive(container)) return check_healed();
  const Fault& fault = *one.fault;
  record(one, container.namespace_ + "/" + container.pod + "/" + container.name);
  if (fault.kind == FaultKind::process_kill) {
    if (ports.signal) ports.signal(container, static_cast<int>(fault.signal.value_or(kill_signal)));
  } else if (ports.exit) {
    ports.exit(container, static_cast<int>(fault.code.value_or(1)));
  }
  check_healed();
}

bool FaultInjector::Parts::strike_running(Active& one) {
  if (tap == nullptr) return false;
  for (const auto& [id, container] : tap->running()) {
    if (!is_meant(one, container)) continue;
    const RunningContainer hit = container;  // it leaves the list
    strike(one, hit);
    return true;
  }
  return false;
}

// ---- network -----------------------------------------------------------------------------------

std::vector<std::string> FaultInjector::Parts::addresses_of(std::string_view pod) const {
  std::vector<std::string> found;
  const std::size_t slash = pod.find('/');
  const std::string_view name = slash == pod.npos ? pod : pod.substr(slash + 1);
  for (const ObjectPtr& object :
       world->objects(Pod::info(), slash == pod.npos ? "" : pod.substr(0, slash)))
    if (object->metadata.name == name && !as<Pod>(*object)->status.podIP.empty())
      found.push_back(as<Pod>(*object)->status.podIP);
  return found;
}

void FaultInjector::Parts::cut_off(Active& one, const std::vector<std::string>& addresses) {
  if (ports.network == nullptr) return;
  for (const std::string& address : addresses) {
    ports.network->set_host(address, {.drop = true});
    one.addresses.insert(address);
  }
}

void FaultInjector::Parts::begin_link(Active& one) {
  if (ports.network == nullptr) return;
  model::LinkFault what;
  if (one.fault->kind == FaultKind::link_drop) what.drop = true;
  if (one.fault->kind == FaultKind::link_reset) what.reset = true;
  if (one.fault->kind == FaultKind::link_delay)
    what.delay = one.fault->delay.value_or(link_delay_default);
  for (const std::string& from : addresses_of(one.fault->of)) {
    if (one.fault->to.empty()) {
      ports.network->set_host(from, what);
      one.addresses.insert(from);
      continue;
    }
    for (const std::string& to : addresses_of(one.fault->to)) {
      ports.network->set_link(from, to, what);
      one.links.emplace(from, to);
    }
  }
}

void FaultInjector::Parts::end_link(Active& one) {
  if (ports.network == nullptr) return;
  for (const std::string& address : one.addresses) ports.network->set_host(address, {});
  for (const auto& [from, to] : one.links) ports.network->set_link(from, to, {});
  one.addresses.clear();
  one.links.clear();
}

// ---- nodes -------------------------------------------------------------------------------------

// As kubectl cordon, and the node controller's taint.
void FaultInjector::Parts::cordon(const std::string& name, bool cordoned) {
  const ObjectPtr object = world->find(Node::info(), "", name);
  if (!object) return;
  auto node = std::static_pointer_cast<Node>(object->clone());
  node->spec.unschedulable = cordoned;
  std::erase_if(node->spec.taints, [](const Taint& taint) { return taint.key == cordon_key; });
  if (cordoned)
    node->spec.taints.push_back({std::string(cordon_key), {}, "NoSchedule", loop.now()});
  static_cast<void>(world->call(api::update(node), "user"));
}

}  // namespace ddptwin::scenario
