// What the faults do that take something away for a while, or hit a container.
#include <algorithm>

#include "scenario/faults/injector_parts.hpp"
#include "scenario/world/first_objects.hpp"

namespace ddptwin::scenario {
namespace {

constexpr int kill_signal = 9;  // of the containers of a dead node

void add(const model::LinkFault& one, model::LinkFault& to) {
  to.drop = to.drop || one.drop;
  to.reset = to.reset || one.reset;
  to.delay += one.delay;
}

bool is_outage(FaultKind kind) {
  return kind == FaultKind::node_lost || kind == FaultKind::node_dead ||
         kind == FaultKind::node_deleted || kind == FaultKind::node_reboot ||
         kind == FaultKind::node_shutdown;
}

}  // namespace

// A state, not an occurrence, is what these wait for: they begin as soon as they may.
bool FaultInjector::Parts::begins_at_once(const Active& one) const {
  const Occurrence counts = one.row->counts;
  return (counts == Occurrence::write && !one.fault->nth) ||
         (counts == Occurrence::none && !one.fault->step);
}

void FaultInjector::Parts::trigger(Active& one) {
  if (one.stage != Stage::armed || healed) return;
  if (!has_ends(one)) {  // nobody is there to be cut off: it has not acted
    one.stage = Stage::over;
    return check_healed();
  }
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
  const ContextScope of_this_fault(loop, one.record);
  end(one);
  one.stage = one.lingers > loop.now() ? Stage::fading : Stage::over;
  if (one.stage == Stage::fading) return linger(one, Duration::zero());
  check_healed();
}

template <class Sort>
bool FaultInjector::Parts::another(const Active& one, Sort sort) const {
  return std::any_of(actives.begin(), actives.end(), [&](const Active& other) {
    return &other != &one && other.stage == Stage::acting && sort(other);
  });
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
      one.second = world->begin_second_controller(of);
      return;
    case FaultKind::scheduler_down:
      world->stop_scheduler();
      return;
    case FaultKind::kubelet_restart:
      for (const std::string& node : nodes_of(one)) {
        world->silence_node(node);
        world->stop_kubelet(node);
      }
      return;
    case FaultKind::node_cordon:
      return cordon(of, true);
    case FaultKind::node_lost:
    case FaultKind::node_dead:
    case FaultKind::node_deleted:
    case FaultKind::node_reboot:
      return begin_outage(one);
    case FaultKind::node_shutdown:
      return begin_shutdown(one);
    default:
      return begin_link(one);
  }
}

void FaultInjector::Parts::end(Active& one) {
  const std::string& of = one.fault->of;
  switch (one.fault->kind) {
    case FaultKind::controller_crash:
      return end_crash(one);
    case FaultKind::controller_double:
      world->end_second_controller(one.second);
      return;
    case FaultKind::scheduler_down:
      if (!another(one, [](const Active& other) {
            return other.fault->kind == FaultKind::scheduler_down;
          }))
        world->start_scheduler();
      return;
    case FaultKind::kubelet_restart:
      for (const std::string& node : nodes_of(one)) {
        const ContextScope of_this_node(loop);
        start_kubelet(one, node);
      }
      return;
    case FaultKind::node_cordon:
      cordon(of, another(one, [&of](const Active& other) {
               return other.fault->kind == FaultKind::node_cordon && other.fault->of == of;
             }));
      return;
    case FaultKind::node_lost:
    case FaultKind::node_dead:
    case FaultKind::node_deleted:
    case FaultKind::node_reboot:
    case FaultKind::node_shutdown:
      one.grace.cancel();
      return end_outage(one);
    default:
      return end_link(one);
  }
}

// ---- containers --------------------------------------------------------------------------------

void FaultInjector::Parts::strike(Active& one, const RunningContainer& container) {
  if (one.stage == Stage::over || healed) return;
  one.stage = Stage::over;
  // It may have ended at that very moment: then there is nobody to be hit.
  const ContainerReport* report = tap->report(container.id);
  if (!report || report->phase != ContainerPhase::running) return check_healed();
  if (ports.is_alive && !ports.is_alive(container)) return check_healed();
  const Fault& fault = *one.fault;
  const std::string subject = container.namespace_ + "/" + container.pod + "/" + container.name;
  record(one, subject);
  if (fault.kind == FaultKind::process_kill && !fault.which.is_first_alone()) {
    ports.signal_chosen(container, signal_of(fault), fault.which,
                        [this, &one, subject](const Result<void>& result) {
                          if (!result) missed(one, subject);
                        });
  } else if (fault.kind == FaultKind::process_kill) {
    ports.signal(container, signal_of(fault));
  } else {
    ports.exit(container, static_cast<int>(fault.code.value_or(1)));
  }
  check_healed();
}

// It has not acted: whom it meant is not there.
void FaultInjector::Parts::missed(Active& one, const std::string& subject) {
  --acted[one.index].times;
  Record record;
  record.values.emplace_back("port", one.row->port);
  write(std::move(record), subject, one.fault->which.text() + " is not there");
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
    if (object->metadata.name == name && !as<Pod>(*object)->status.rest->podIP.empty())
      found.push_back(as<Pod>(*object)->status.rest->podIP.str());
  return found;
}

void FaultInjector::Parts::begin_link(Active& one) {
  one.link.drop = one.fault->kind == FaultKind::link_drop;
  one.link.reset = one.fault->kind == FaultKind::link_reset;
  if (one.fault->kind == FaultKind::link_delay)
    one.link.delay = one.fault->delay.value_or(link_delay_default);
  for (const std::string& from : addresses_of(one.fault->of)) {
    if (one.fault->to.empty()) {
      one.addresses.insert(from);
      set_host(from);
      continue;
    }
    for (const std::string& to : addresses_of(one.fault->to)) {
      one.links.emplace(from, to);
      set_link(from, to);
    }
  }
}

void FaultInjector::Parts::end_link(Active& one) {
  const auto addresses = std::exchange(one.addresses, {});
  const auto links = std::exchange(one.links, {});
  for (const std::string& address : addresses) set_host(address);
  for (const auto& [from, to] : links) set_link(from, to);
}

// The network knows one fault of an address, and one of a pair: all that go on, together.
void FaultInjector::Parts::set_host(const std::string& address) {
  if (!ports.set_host) return;
  model::LinkFault all;
  for (const Active& one : actives)
    if (one.addresses.contains(address)) add(one.link, all);
  ports.set_host(address, all);
}

void FaultInjector::Parts::set_link(const std::string& from, const std::string& to) {
  if (!ports.set_link) return;
  model::LinkFault there, back;
  for (const Active& one : actives) {
    if (one.links.contains({from, to})) add(one.link, there);
    if (one.links.contains({to, from})) add(one.link, back);
  }
  ports.set_link(from, to, there);
  // A link that heals does so both ways.
  if (there.none() && !back.none()) ports.set_link(to, from, back);
}

// ---- processes ---------------------------------------------------------------------------------

// Those controllers that no other crash keeps away begin anew, in the order of their making.
void FaultInjector::Parts::end_crash(Active& one) {
  for (const std::string& name : world->controllers()) {
    const auto is_of = [&](const Active& other) {
      const std::string& of = other.fault->of;
      return other.fault->kind == FaultKind::controller_crash &&
             (of == name || of == census.controllers.at(name));
    };
    if (is_of(one) && !another(one, is_of)) world->start_controller(name);
  }
}

void FaultInjector::Parts::start_kubelet(const Active& one, const std::string& node) {
  const bool kept_away = another(one, [&node](const Active& other) {
    const Fault& fault = *other.fault;
    return (fault.kind == FaultKind::kubelet_restart && (fault.of.empty() || fault.of == node)) ||
           (is_outage(fault.kind) && fault.of == node);
  });
  if (kept_away) return;
  static_cast<void>(world->hear_node(node));
  // A Node that is made anew knows nothing of it.
  if (another(one, [&node](const Active& other) {
        return other.fault->kind == FaultKind::node_cordon && other.fault->of == node;
      }))
    cordon(node, true);
  world->start_kubelet(node);
}

// ---- nodes -------------------------------------------------------------------------------------

std::vector<std::string> FaultInjector::Parts::addresses_on(const std::string& node) const {
  std::vector<std::string> found;
  for (const ObjectPtr& object : world->objects(Pod::info(), "")) {
    const auto pod = as<Pod>(object);
    if (pod->spec->nodeName == node && !pod->status.rest->podIP.empty())
      found.push_back(pod->status.rest->podIP.str());
  }
  return found;
}

// One outage of a node, however many faults keep it away. What the cluster makes of its silence is
// the node lifecycle controller's.
void FaultInjector::Parts::begin_outage(Active& one) {
  const std::string& of = one.fault->of;
  world->silence_node(of);
  world->stop_kubelet(of);
  const auto& addresses = outages.try_emplace(of, addresses_on(of)).first->second;
  // PodGC does the rest.
  if (one.fault->kind == FaultKind::node_deleted)
    if (const ObjectPtr object = world->find(Node::info(), "", of))
      static_cast<void>(world->call(api::remove(*object), "user"));
  one.link.drop = true;
  for (const std::string& address : addresses) {
    one.addresses.insert(address);
    set_host(address);
  }
  if (one.fault->kind == FaultKind::node_lost) return;
  // Power is gone: nothing of its sandboxes will be there when it comes back.
  tap->lose(of);
  const auto running_now = tap->running();
  for (const auto& [id, container] : running_now)
    if (container.node == of) ports.signal(container, kill_signal);
  tap->end_sandboxes(of);
}

// Its kubelet is told of it, ends the pods and says so of the Node; then there is no power.
void FaultInjector::Parts::begin_shutdown(Active& one) {
  const std::string& of = one.fault->of;
  const Duration grace = one.fault->delay.value_or(shutdown_grace_default);
  if (const ObjectPtr object = world->find(Node::info(), "", of)) {
    auto node = std::static_pointer_cast<Node>(object->clone());
    if (make_stopping(*node, loop.now()))
      static_cast<void>(world->call(api::update(node, "status"), "kubelet"));
  }
  world->shut_down_kubelet(of, std::chrono::duration_cast<std::chrono::seconds>(grace).count());
  one.grace = loop.after(lane, grace, [this, &one] {
    const ContextScope of_this_fault(loop, one.record);
    begin_outage(one);
  });
}

void FaultInjector::Parts::end_outage(Active& one) {
  const std::string& of = one.fault->of;
  end_link(one);
  if (another(one, [&of](const Active& other) {
        return is_outage(other.fault->kind) && other.fault->of == of;
      }))
    return;
  outages.erase(of);
  start_kubelet(one, of);
}

// As kubectl cordon.
void FaultInjector::Parts::cordon(const std::string& name, bool cordoned) {
  const ObjectPtr object = world->find(Node::info(), "", name);
  if (!object) return;
  auto node = std::static_pointer_cast<Node>(object->clone());
  node->spec.unschedulable = cordoned;
  static_cast<void>(world->call(api::update(node), "user"));
}

}  // namespace ddptwin::scenario
