#include "scenario/faults/injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "core/concat.hpp"
#include "scenario/faults/injector_parts.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/language/fields.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view actor = "faults";
constexpr std::string_view user = "user";

// "kubelet" is all of them, "node-0" and "kubelet/node-0" one, "kubelet/" the one without a name.
bool is_named(const api::Caller& caller, std::string_view wanted) {
  const std::size_t slash = wanted.find('/');
  if (slash == wanted.npos) return wanted == caller.actor || wanted == caller.instance;
  return wanted.substr(0, slash) == caller.actor && wanted.substr(slash + 1) == caller.instance;
}

// The user's own calls are hit where they are named only.
bool is_of(const api::Caller& caller, const std::string& of) {
  return of.empty() ? caller.actor != user : is_named(caller, of);
}

bool fits_name(std::string_view wanted, std::string_view namespace_, std::string_view name) {
  return wanted.empty() || wanted == name || wanted == ShortText({namespace_, "/", name}).view();
}

// "mnist-master-0" is asked for by itself and as "mnist-master-0.default.svc.cluster.local"; with a
// dot behind it by itself alone.
bool is_asked(const std::string& wanted, std::string name) {
  if (name.empty() || name.back() != '.') name += '.';
  if (wanted.empty() || name == wanted) return true;
  return wanted.back() != '.' && name.starts_with(wanted + ".");
}

bool gives_address(const Record& record) {
  const Pod* pod = record.after != nullptr ? as<Pod>(*record.after) : nullptr;
  if (pod == nullptr || pod->status.rest->podIP.empty()) return false;
  return record.before == nullptr ||
         static_cast<const Pod&>(*record.before).status.rest->podIP != pod->status.rest->podIP;
}

}  // namespace

FaultInjector::Parts::Parts(Loop& l, FaultPlan p)
    : loop(l), plan(std::move(p)), lane(loop.new_lane()), acted(plan.faults.size()) {
  for (const Fault& fault : plan.faults) {
    Active& one = actives.emplace_back();
    one.fault = &fault;
    one.row = &row_of(fault.kind);
    one.index = actives.size() - 1;
    if ((fault.when || fault.until) && !observer) observer.emplace();
  }
}

// ---- when --------------------------------------------------------------------------------------

// Who is named in a fault is there by now: pods and names of the DNS may come later.
Status FaultInjector::Parts::check_names() const {
  const auto shares_informers = [&](std::string_view name) {
    const auto& all = world->callers();
    return std::any_of(all.begin(), all.end(), [&](const api::Caller& caller) {
      return caller.instance == name && caller.actor == manager_actor && name != manager_informers;
    });
  };
  std::set<std::string_view> callers, controllers;
  for (const api::Caller& caller : world->callers()) {
    callers.insert({caller.actor, caller.instance});
    if (census.controllers.contains(caller.instance))
      controllers.insert({caller.actor, caller.instance});
  }
  for (const Fault& fault : plan.faults) {
    const FaultRow& row = row_of(fault.kind);
    const bool of_process = row.writer == Writer::controller;
    if (fault.of.empty() ||
        (!of_process && row.counts != Occurrence::call && row.counts != Occurrence::event))
      continue;
    const std::set<std::string_view>& names = of_process ? controllers : callers;
    if (row.counts == Occurrence::event && shares_informers(fault.of))
      return fail(Reason::bad_input,
                  fmt::format("{} hears nothing by itself: the controllers of {} share their "
                              "informers, whose name is {}",
                              fault.of, manager_actor, manager_informers),
                  fault.of_where);
    if (names.contains(fault.of)) continue;
    const auto& all = world->callers();
    if (!of_process && std::any_of(all.begin(), all.end(), [&](const api::Caller& caller) {
          return is_named(caller, fault.of);
        }))
      continue;
    const std::vector<std::string_view> known(names.begin(), names.end());
    return fail(Reason::bad_input,
                fmt::format("there is no {} \"{}\"{}", of_process ? "controller" : "client",
                            fault.of, suggestion(fault.of, known)),
                fault.of_where);
  }
  return {};
}

Status FaultInjector::Parts::start() {
  started = loop.now();
  census = Census();
  for (const ObjectPtr& node : world->objects(Node::info(), ""))
    census.nodes.insert(node->metadata.name.str());
  const auto controllers = world->controllers();
  for (const api::Caller& caller : world->callers())
    if (std::find(controllers.begin(), controllers.end(), caller.instance) != controllers.end())
      census.controllers.emplace(caller.instance, caller.actor);
  TRY_VOID(check_names());
  running = true;
  const ContextScope of_the_plan(loop, 0);
  if (plan.heal) heal_timer = loop.after(lane, *plan.heal, [this] { heal(); });
  for (Active& one : actives) {
    const ContextScope of_this_fault(loop);
    if (!one.fault->at) {
      one.stage = Stage::expecting;
      look(one);
      continue;
    }
    one.timer = loop.at(lane, started + *one.fault->at, [this, &one] {
      one.stage = Stage::expecting;
      look(one);
    });
  }
  return {};
}

void FaultInjector::Parts::look(Active& one) {
  if (one.stage != Stage::expecting) return;
  if (is_due(one)) arm(one);
}

bool FaultInjector::Parts::has_ends(const Active& one) const {
  const Fault& fault = *one.fault;
  if (one.row->port != "link") return true;
  return !addresses_of(fault.of).empty() && (fault.to.empty() || !addresses_of(fault.to).empty());
}

// A step comes later than the pod that does it.
bool FaultInjector::Parts::is_due(const Active& one) const {
  if (one.fault->when && !observer->holds(*one.fault->when->state)) return false;
  return one.fault->step || has_ends(one);
}

void FaultInjector::Parts::arm(Active& one) {
  one.stage = Stage::armed;
  if (begins_at_once(one)) return trigger(one);
  const bool strikes = one.row->counts == Occurrence::start;
  if (strikes && !one.fault->nth && !one.fault->step) strike_running(one);
}

// Counts one occurrence that fits; true when the fault acts on it.
bool FaultInjector::Parts::hits(Active& one) {
  if (one.stage == Stage::acting) return true;
  if (one.stage != Stage::armed || ++one.seen != one.fault->nth.value_or(1)) return false;
  one.stage = Stage::acting;
  // `until` alone ends it.
  if (one.fault->until && !one.fault->lasts) return true;
  const Duration lasts = duration_of(*one.fault).value_or(Duration::zero());
  // What is silent or late for a while is so for that one event.
  if (lasts == Duration::zero() || one.fault->kind == FaultKind::watch_drop) {
    one.stage = Stage::fading;
    linger(one, Duration::zero());
  } else {
    one.timer = loop.after(lane, lasts, [this, &one] { finish(one); });
  }
  return true;
}

// What it hit now comes so late.
void FaultInjector::Parts::linger(Active& one, Duration effect) {
  one.lingers = std::max(one.lingers, loop.now() + effect);
  if (one.stage != Stage::fading) return;
  one.timer = loop.at(lane, one.lingers, [this, &one] {
    one.stage = Stage::over;
    check_healed();
  });
}

void FaultInjector::Parts::on_record(const Record& record) {
  if (observer) observer->on_record(record);
  if (!running || (!observer && !gives_address(record))) return;
  // A state that holds for one record only counts: it is looked at now, and acted upon later.
  bool any = false;
  for (Active& one : actives) {
    if (one.stage == Stage::acting && one.fault->until && !one.ends &&
        observer->holds(*one.fault->until->state)) {
      one.ends = true;
      any = true;
    }
    if (one.stage != Stage::expecting || !is_due(one)) continue;
    one.stage = Stage::ready;
    one.since = record.id;
    any = true;
  }
  if (!any || look_posted) return;
  look_posted = true;
  loop.post(lane, [this] {
    look_posted = false;
    for (Active& one : actives) {
      const ContextScope of_this_fault(loop, one.since);
      if (one.stage == Stage::ready) arm(one);
      if (std::exchange(one.ends, false)) finish(one);
    }
  });
}

void FaultInjector::Parts::heal() {
  if (!running || healed) return;
  heal_timer.cancel();
  for (Active& one : actives) {
    const ContextScope of_this_fault(loop, one.record);
    if (one.stage == Stage::acting) end(one);
    one.timer.cancel();
    one.stage = Stage::over;  // for those behind it, this one no longer goes on
  }
  healed = true;
  write({}, "all", "healed");
}

Duration FaultInjector::Parts::bounded(Duration lasts) const {
  if (!plan.heal) return lasts;
  return std::max(Duration::zero(), std::min(lasts, started + *plan.heal - loop.now()));
}

// Without a moment of its own healing is the end of the last fault.
void FaultInjector::Parts::check_healed() {
  if (healed || plan.heal) return;
  const bool all = std::all_of(actives.begin(), actives.end(),
                               [](const Active& one) { return one.stage == Stage::over; });
  if (all) heal();
}

// ---- where -------------------------------------------------------------------------------------

bool FaultInjector::Parts::fits(const Active& one, const api::Caller& caller,
                                const api::Request& request) const {
  const Fault& fault = *one.fault;
  if (!is_of(caller, fault.of)) return false;
  const bool verb =
      fault.verb.empty() ? api::is_write(request) : api::to_string(request.verb) == fault.verb;
  return verb && (fault.object_kind.empty() || request.target.kind->kind == fault.object_kind) &&
         fits_name(fault.object, request.target.namespace_, name_of(request));
}

bool FaultInjector::Parts::fits(const Active& one, const api::Caller& caller, const KindInfo& kind,
                                const api::WatchEvent& event) const {
  const Fault& fault = *one.fault;
  return is_of(caller, fault.of) && (fault.object_kind.empty() || kind.kind == fault.object_kind) &&
         fits_name(fault.object, event.object->metadata.namespace_, event.object->metadata.name);
}

// A container without a name in the fault is any that is not an init container.
bool FaultInjector::Parts::is_meant(const Active& one, const RunningContainer& container) const {
  if (!container.is_of(one.fault->of)) return false;
  if (!one.fault->container.empty()) return container.name == one.fault->container;
  const auto pod = as<Pod>(world->find(Pod::info(), container.namespace_, container.pod));
  if (!pod) return true;
  const auto& init = pod->spec->initContainers;
  return std::none_of(init.begin(), init.end(),
                      [&](const Container& c) { return c.name == container.name; });
}

void FaultInjector::Parts::on_start(const RunningContainer& container) {
  if (!running) return;
  const auto pod = as<Pod>(world->find(Pod::info(), container.namespace_, container.pod));
  const auto is_init = [&](const Container& c) { return c.name == container.name; };
  if (!pod ||
      std::none_of(pod->spec->initContainers.begin(), pod->spec->initContainers.end(), is_init))
    ++census.starts[{container.namespace_ + "/" + container.pod, container.name}];
  for (Active& one : actives) {
    const ContextScope of_this_fault(loop);
    if (one.stage != Stage::armed || one.row->counts != Occurrence::start) continue;
    if (!is_meant(one, container) || ++one.seen != one.fault->nth.value_or(1)) continue;
    if (one.fault->step) {
      if (one.fault->nth) one.container = container.id;
      continue;
    }
    // The kubelet is in the midst of its own work: this comes next.
    one.stage = Stage::acting;
    one.timer =
        loop.after(lane, Duration::zero(), [this, &one, container] { strike(one, container); });
  }
}

void FaultInjector::Parts::on_line(const RunningContainer& container, const std::string& line,
                                   bool recorded) {
  // What a container prints while its kubelet is away stands in its log all the same.
  if (!recorded && world != nullptr) {
    Record record;
    record.kind = RecordKind::log;
    record.actor = "container";
    const std::string subject = container.namespace_ + "/" + container.pod + "/" + container.name;
    record.subject = subject;
    record.text = line;
    world->trace().write(std::move(record));
  }
  const std::int64_t step = step_of(line).step;
  if (!running || step == 0) return;
  std::int64_t& last = census.steps[container.namespace_ + "/" + container.pod];
  last = std::max(last, step);
  for (Active& one : actives) {
    if (one.stage != Stage::armed || !one.fault->step || step < *one.fault->step) continue;
    const bool strikes = one.row->counts == Occurrence::start;
    const bool same = !one.fault->nth || one.container == container.id;
    if (!(strikes ? is_meant(one, container) && same : container.is_of(one.fault->of))) continue;
    one.stage = Stage::acting;
    one.timer = loop.after(lane, Duration::zero(), [this, &one, strikes, container] {
      if (strikes) return strike(one, container);
      one.stage = Stage::armed;
      trigger(one);
    });
  }
}

// Pods ask by their addresses.
bool FaultInjector::Parts::is_from(const Active& one, const std::string& client) const {
  const auto addresses = addresses_of(one.fault->from);
  return std::find(addresses.begin(), addresses.end(), client) != addresses.end();
}

dns::Verdict FaultInjector::Parts::on_question(const dns::Query& query) {
  dns::Verdict verdict;
  if (!running) return verdict;
  const std::string name = query.question.name.text();
  ++census.questions[name];
  bool decided = false;
  for (Active& one : actives) {
    if (one.row->counts != Occurrence::question || !is_asked(one.fault->of, name)) continue;
    if (!one.fault->from.empty() && !is_from(one, query.client)) continue;
    if (!hits(one) || decided) continue;
    decided = true;
    record(one, name);
    switch (one.fault->kind) {
      case FaultKind::dns_late:
        verdict.delay = bounded(one.fault->delay.value_or(dns_late_default));
        linger(one, verdict.delay);
        break;
      case FaultKind::dns_lost:
        verdict.lose = true;
        break;
      case FaultKind::dns_servfail:
        verdict.rcode = dns::Rcode::server_failure;
        break;
      case FaultKind::dns_nxdomain:
        verdict.rcode = dns::Rcode::nx_domain;
        break;
      default:
        verdict.addresses = {*dns::parse_ipv4(one.fault->address)};
        break;
    }
  }
  return verdict;
}

// ---- records -----------------------------------------------------------------------------------

void FaultInjector::Parts::write(Record record, const std::string& subject,
                                 const std::string& text) {
  record.kind = RecordKind::fault;
  record.actor = actor;
  record.subject = subject;
  record.text = text;
  world->trace().write(std::move(record));
}

void FaultInjector::Parts::record(Active& one, const std::string& subject) {
  Acted& acts = acted[one.index];
  if (++acts.times == 1) acts.first = loop.now();
  Record record;
  record.values.emplace_back("port", one.row->port);
  if (one.fault->kind == FaultKind::process_kill && one.fault->which.is_first_alone())
    record.values.emplace_back("signal", std::to_string(signal_of(*one.fault)));
  write(std::move(record), subject, to_yaml(*one.fault));
  one.record = loop.context();
}

// ---- the ports ---------------------------------------------------------------------------------

FaultInjector::FaultInjector(Loop& loop, FaultPlan plan)
    : parts_(std::make_unique<Parts>(loop, std::move(plan))) {}

FaultInjector::~FaultInjector() = default;

void RuntimePorts::use(model::Network& network) {
  set_host = [&network](const std::string& address, const model::LinkFault& fault) {
    network.set_host(address, fault);
  };
  set_link = [&network](const std::string& from, const std::string& to,
                        const model::LinkFault& fault) { network.set_link(from, to, fault); };
}

void FaultInjector::attach(World& world, RuntimePorts ports) {
  DDPTWIN_ASSERT(ports.signal && ports.exit);
  parts_->world = &world;
  parts_->ports = std::move(ports);
  world.trace().add_sink(
      [parts = parts_.get()](const Record& record) { parts->on_record(record); });
  world.resolver().set_fault(
      [parts = parts_.get()](const dns::Query& query) { return parts->on_question(query); });
}

Status FaultInjector::start() { return parts_->start(); }
void FaultInjector::heal() { parts_->heal(); }
bool FaultInjector::healed() const { return parts_->healed; }
const Census& FaultInjector::census() const { return parts_->census; }
const std::vector<Acted>& FaultInjector::acted() const { return parts_->acted; }

PodRuntime& FaultInjector::wrap(PodRuntime& runtime) {
  parts_->tap = std::make_unique<RuntimeTap>(
      runtime,
      [parts = parts_.get()](const RunningContainer& container) { parts->on_start(container); },
      [parts = parts_.get()](const RunningContainer& container, const std::string& line,
                             bool recorded) { parts->on_line(container, line, recorded); },
      [parts = parts_.get()] {
        return parts->world != nullptr ? parts->world->trace().last() : 0;
      });
  return *parts_->tap;
}

api::CallVerdict FaultInjector::on_call(const api::Caller& caller, const api::Request& request) {
  api::CallVerdict verdict;
  Parts& parts = *parts_;
  if (!parts.running) return verdict;
  if (api::is_write(request)) ++parts.census.calls[{caller.actor, caller.instance}];
  bool decided = false;
  for (Parts::Active& one : parts.actives) {
    if (one.row->counts != Occurrence::call || !parts.fits(one, caller, request)) continue;
    if (!parts.hits(one) || decided) continue;
    decided = true;
    const Fault& fault = *one.fault;
    parts.record(one,
                 fmt::format("{} {} {}", caller.instance.empty() ? caller.actor : caller.instance,
                             api::to_string(request.verb),
                             object_name(request.target.kind->kind, request.target.namespace_,
                                         name_of(request))));
    switch (fault.kind) {
      case FaultKind::api_conflict:
        verdict.refuse = api::injected_conflict(request);
        break;
      case FaultKind::api_error:
        verdict.refuse =
            api::injected_error(static_cast<int>(fault.code.value_or(500)), fault.message);
        break;
      case FaultKind::api_timeout:
        verdict.refuse = api::injected_timeout();
        verdict.reply_delay = parts.bounded(fault.delay.value_or(api_timeout_default));
        break;
      case FaultKind::api_latency:
        verdict.delay = parts.bounded(fault.delay.value_or(api_latency_default));
        break;
      default:
        verdict.lose_reply = api::injected_lost_connection();
        verdict.reply_delay = parts.bounded(fault.delay.value_or(Duration::zero()));
        break;
    }
    parts.linger(one, verdict.delay + verdict.reply_delay);
  }
  return verdict;
}

void FaultInjector::on_answer(const api::Caller& caller, const api::Request& request,
                              const Result<api::Response>&) {
  Parts& parts = *parts_;
  if (!parts.running || !api::is_write(request)) return;
  const Census::Process process(caller.actor, caller.instance);
  ++parts.census.writes[process];
  for (Parts::Active& one : parts.actives) {
    if (one.stage != Parts::Stage::armed || !is_writer(*one.row, process, parts.census)) continue;
    const ContextScope of_this_fault(parts.loop);
    const bool fits = one.fault->of.empty() || is_named(caller, one.fault->of);
    // Its author has not heard of the answer: between these two nothing else happens.
    if (fits && ++one.seen == one.fault->nth.value_or(1)) parts.trigger(one);
  }
}

api::EventVerdict FaultInjector::on_event(const api::Caller& caller, const KindInfo& kind,
                                          const api::WatchEvent& event) {
  api::EventVerdict verdict;
  Parts& parts = *parts_;
  if (!parts.running || event.type == api::WatchEventType::bookmark ||
      event.type == api::WatchEventType::error)
    return verdict;
  ++parts.census.events[{{caller.actor, caller.instance}, kind.kind}];
  bool decided = false;
  for (Parts::Active& one : parts.actives) {
    if (one.row->counts != Occurrence::event || !parts.fits(one, caller, kind, event)) continue;
    if (!parts.hits(one) || decided) continue;
    decided = true;
    const Fault& fault = *one.fault;
    parts.record(one, fmt::format("{} {}", caller.instance.empty() ? caller.actor : caller.instance,
                                  short_name(*event.object)));
    if (fault.kind == FaultKind::watch_delay)
      verdict.delay = parts.bounded(fault.delay.value_or(watch_delay_default));
    else
      verdict.cut = parts.bounded(duration_of(fault).value_or(Duration::zero()));
    parts.linger(one, fault.kind == FaultKind::watch_delay ? verdict.delay : *verdict.cut);
  }
  return verdict;
}

}  // namespace ddptwin::scenario
