#include "cluster/kubelet/status.hpp"

#include <algorithm>
#include <span>

#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"
#include "cluster/pods/disruption.hpp"
#include "cluster/pods/resources.hpp"
#include "objects/codec.hpp"

namespace ddptwin::kubelet {
namespace {

// The list that there was, where it says the same.
using IpEntries = Cow<std::vector<IpEntry>>;
template <class Ip>
IpEntries entries_of(std::span<const Ip> ips, const IpEntries& before) {
  const auto is_of = [](const IpEntry& entry, const Ip& ip) { return entry.ip == ip; };
  if (std::equal(before.begin(), before.end(), ips.begin(), ips.end(), is_of)) return before;
  std::vector<IpEntry> entries;
  for (const Ip& ip : ips) entries.push_back(IpEntry{ip});
  return entries;
}

// `rest` has what there was.
void fill_addresses(const StatusInputs& in, Cow<PodStatus::Rest>& rest) {
  if (in.addresses_stay) return;
  const IpEntries &old = rest->hostIPs, &now = in.host.list;
  const auto agree = [](const IpEntry& a, const IpEntry& b) { return a.ip == b.ip; };
  const bool host_stays = std::equal(old.begin(), old.end(), now.begin(), now.end(), agree);
  set(rest, &PodStatus::Rest::hostIP, in.host.ip);
  if (!host_stays) rest.edit().hostIPs = now;
  IpEntries pod_ips;
  if (in.sources.pod.spec->hostNetwork) pod_ips = rest->hostIPs;
  if (pod_ips.empty()) pod_ips = entries_of(std::span(in.sources.state.ips.get()), rest->podIPs);
  set(rest, &PodStatus::Rest::podIP, pod_ips.empty() ? Text() : pod_ips.front().ip);
  set(rest, &PodStatus::Rest::podIPs, pod_ips);
}

// What there was, without what a kubelet does not say.
Cow<PodStatus::Rest> rest_of(const PodStatus& before) {
  Cow<PodStatus::Rest> rest = before.rest;
  const bool is_own = rest->resize.empty() && rest->ephemeralContainerStatuses.absent() &&
                      rest->resourceClaimStatuses.absent() &&
                      rest->extendedResourceClaimStatus.absent() && rest->extra.absent();
  if (is_own) return rest;
  PodStatus::Rest& own = rest.edit();
  own.resize = {};
  own.ephemeralContainerStatuses = own.resourceClaimStatuses = {};
  own.extendedResourceClaimStatus = own.extra = {};
  return rest;
}

void fill_readiness(const StatusInputs& in, PodStatus& status) {
  const auto judge = [&](const Container& container, Cow<std::vector<ContainerStatus>>& list,
                         std::size_t place, bool plain_init) {
    const ContainerStatus& seen = list[place];
    const Readiness found =
        seen.state.running ? in.readiness(container, seen) : Readiness{false, false};
    const bool ready = plain_init ? seen.state.terminated && seen.state.terminated->exitCode == 0
                                  : found.started && found.ready;
    if (seen.started == found.started && seen.ready == ready) return;
    ContainerStatus& shown = list.edit()[place];
    shown.started = found.started;
    shown.ready = ready;
  };
  const PodSpec& spec = *in.sources.pod.spec;
  for (std::size_t i = 0; i < spec.initContainers.size(); ++i)
    judge(spec.initContainers[i], status.initContainerStatuses, i,
          !is_sidecar(spec.initContainers[i]));
  for (std::size_t i = 0; i < status.containerStatuses.size(); ++i)
    judge(*spec.container(status.containerStatuses[i].name), status.containerStatuses, i, false);
}

// A phase once terminal stays; a reason stays with its phase; a verdict of the kubelet overrules.
void fill_phase(const StatusInputs& in, PodStatus& status) {
  const PodStatus& before = in.sources.before;
  const PodStatus& server = in.sources.pod.status;
  status.phase = pod_phase(*in.sources.pod.spec, status, in.all_stopped);
  if (!is_terminal_phase(status.phase))
    for (const PodStatus* known : {&before, &server})
      if (is_terminal_phase(known->phase)) {
        status.phase = known->phase;
        break;
      }
  SharedText reason, message;
  if (status.phase == before.phase) {
    reason = (before.rest->reason.empty() ? server : before).rest->reason;
    message = (before.rest->message.empty() ? server : before).rest->message;
  }
  if (in.verdict != nullptr) {
    status.phase = "Failed";
    reason = in.verdict->reason;
    message = in.verdict->message;
  }
  set(status.rest, &PodStatus::Rest::reason, std::move(reason));
  set(status.rest, &PodStatus::Rest::message, std::move(message));
  if (is_terminal_phase(server.phase)) status.phase = server.phase;
}

void fill_conditions(const StatusInputs& in, PodStatus& status) {
  const Pod& pod = in.sources.pod;
  for (const PodCondition& other : pod.status.conditions)
    if (!is_kubelet_condition(other.type_)) status.conditions.edit().push_back(other);
  if (in.verdict != nullptr && !in.verdict->disruption.empty() &&
      find_condition(status.conditions, disruption_target) == nullptr) {
    PodCondition& made = status.conditions.edit().emplace_back();
    made.type_ = disruption_target;
    made.observedGeneration = pod.metadata.generation;
    made.status = "True";
    made.reason = "TerminationByKubelet";
    made.message = in.verdict->disruption;
  }
  add_kubelet_conditions({pod, in.sources.state.sandbox_ready(), in.restart_all, in.sources.before,
                          in.now, in.conditions},
                         status);
}

// The containers that have begun, in the order of the specification: all up to the last one that
// left traces, and the first in any case.
std::size_t begun(const std::vector<ContainerStatus>& statuses) {
  for (std::size_t i = statuses.size(); i > 0; --i)
    if (!statuses[i - 1].state.waiting || statuses[i - 1].lastState->terminated) return i;
  return std::min<std::size_t>(statuses.size(), 1);
}

bool has_initialized(const PodSpec& spec, const PodStatus& status) {
  if (spec.initContainers.empty() || any_main_started(spec, status)) return true;
  if (status.initContainerStatuses.size() < spec.initContainers.size()) return false;
  const ContainerStatus& last = status.initContainerStatuses.back();
  if (is_sidecar(spec.initContainers.back()))
    return last.state.running && last.started.value_or(false);
  return last.state.terminated && last.state.terminated->exitCode == 0;
}

bool has_others(const std::vector<PodCondition>& conditions) {
  return !std::all_of(conditions.begin(), conditions.end(),
                      [](const PodCondition& made) { return is_kubelet_condition(made.type_); });
}

// Those of others as the API server has them, then the kubelet's. At the pod's end also why it was
// disrupted, where nobody has said so.
std::vector<PodCondition> merge_conditions(const PodStatus& server, const PodStatus& own,
                                           bool at_end) {
  std::vector<PodCondition> merged;
  for (const PodCondition& other : server.conditions)
    if (!is_kubelet_condition(other.type_)) merged.push_back(other);
  for (const PodCondition& made : own.conditions) {
    const bool shared =
        made.type_ == disruption_target && at_end && find_condition(merged, made.type_) == nullptr;
    if (is_kubelet_condition(made.type_) || shared) merged.push_back(made);
  }
  return merged;
}

// What is never the kubelet's to write.
bool have_same_of_others(const PodStatus::Rest& a, const PodStatus::Rest& b) {
  return a.nominatedNodeName == b.nominatedNodeName &&
         a.resourceClaimStatuses == b.resourceClaimStatuses &&
         a.extendedResourceClaimStatus == b.extendedResourceClaimStatus && a.extra == b.extra;
}

bool ends(const PodStatus& server, const PodStatus& own) {
  return is_terminal_phase(own.phase) && !is_terminal_phase(server.phase);
}

// Whether the conditions of the kubelet, and the one that it shares, say the same.
bool say_same(const std::vector<PodCondition>& left, const std::vector<PodCondition>& right) {
  const auto is_told = [](const PodCondition& made) {
    return is_kubelet_condition(made.type_) || made.type_ == disruption_target;
  };
  const auto agrees = [&](const PodCondition& made) {
    const PodCondition* other = find_condition(right, made.type_);
    return !is_told(made) || (other != nullptr && other->status == made.status &&
                              other->reason == made.reason && other->message == made.message);
  };
  return std::count_if(left.begin(), left.end(), is_told) ==
             std::count_if(right.begin(), right.end(), is_told) &&
         std::all_of(left.begin(), left.end(), agrees);
}

void end_as_unknown(Cow<std::vector<ContainerStatus>>& statuses, std::size_t place) {
  if (statuses[place].state.terminated) return;
  ContainerState& state = statuses.edit()[place].state;
  state = ContainerState{};
  state.terminated = unknown_end("The container could not be located when the pod was terminated");
}

}  // namespace

PodStatus pod_status(const StatusInputs& in) {
  const Pod& pod = in.sources.pod;
  PodStatus status;
  using Rest = PodStatus::Rest;
  status.rest = rest_of(in.sources.before);
  set(status.rest, &Rest::qosClass, in.sources.facts.qos_class);
  set(status.rest, &Rest::nominatedNodeName, pod.status.rest->nominatedNodeName);
  set(status.rest, &Rest::resources, in.sources.facts.resources);
  set(status.rest, &Rest::allocatedResources, in.sources.facts.resources->requests);
  fill_addresses(in, status.rest);
  fill_container_statuses(in.sources, status);
  fill_readiness(in, status);
  fill_phase(in, status);
  fill_conditions(in, status);
  return status;
}

PodStatus rejected_status(const Pod& pod, const PodVerdict& verdict) {
  PodStatus status;
  status.phase = "Failed";
  PodStatus::Rest& rest = status.rest.edit();
  rest.qosClass = to_string(qos_class(*pod.spec));
  rest.reason = verdict.reason;
  rest.message = "Pod was rejected: " + verdict.message;
  return status;
}

void make_final(const Pod& pod, PodStatus& status) {
  if (has_initialized(*pod.spec, status))
    for (std::size_t i = 0; i < status.containerStatuses.size(); ++i)
      end_as_unknown(status.containerStatuses, i);
  for (std::size_t i = 0; i < begun(status.initContainerStatuses); ++i)
    end_as_unknown(status.initContainerStatuses, i);
  if (!is_terminal_phase(status.phase)) status.phase = "Failed";
}

bool is_final(const Pod& pod, const PodStatus& status) {
  const auto has_ended = [](const ContainerStatus& one) { return bool(one.state.terminated); };
  const std::vector<ContainerStatus>& main = status.containerStatuses;
  const std::vector<ContainerStatus>& init = status.initContainerStatuses;
  return is_terminal_phase(status.phase) &&
         (!has_initialized(*pod.spec, status) ||
          std::all_of(main.begin(), main.end(), has_ended)) &&
         std::all_of(init.begin(), init.begin() + static_cast<std::ptrdiff_t>(begun(init)),
                     has_ended);
}

void settle_times(const Pod& pod, const PodStatus& before, PodStatus& status, Time now) {
  settle_transition_times(status.conditions, now);
  OptionalTime started =
      before.rest->startTime ? before.rest->startTime : pod.status.rest->startTime;
  if (!started) started = now;
  set(status.rest, &PodStatus::Rest::startTime, started->floor_seconds());
  status.observedGeneration = pod.metadata.generation;
}

bool is_merged(const PodStatus& server, const PodStatus& own, bool may_run) {
  return !(may_run && ends(server, own)) && !has_others(server.conditions) &&
         !has_others(own.conditions) && have_same_of_others(*server.rest, *own.rest);
}

bool says_only_own(const PodStatus& own) {
  static const PodStatus nothing;
  return is_merged(nothing, own, false);
}

void merge_for_write(const PodStatus& server, PodStatus& own, bool may_run) {
  const bool at_end = ends(server, own);
  if (has_others(server.conditions) || has_others(own.conditions))
    own.conditions = merge_conditions(server, own, at_end && !may_run);
  if (at_end && may_run) {
    own.phase = server.phase;
    set(own.rest, &PodStatus::Rest::reason, server.rest->reason);
    set(own.rest, &PodStatus::Rest::message, server.rest->message);
  }
  // Never the kubelet's to write.
  if (have_same_of_others(*server.rest, *own.rest)) return;
  PodStatus::Rest& rest = own.rest.edit();
  rest.nominatedNodeName = server.rest->nominatedNodeName;
  rest.resourceClaimStatuses = server.rest->resourceClaimStatuses;
  rest.extendedResourceClaimStatus = server.rest->extendedResourceClaimStatus;
  rest.extra = server.rest->extra;
}

bool is_written_over(const PodStatus& server, const PodStatus& own, bool may_run) {
  if (equal(server, own)) return false;
  PodStatus right = own;
  merge_for_write(server, right, may_run);
  if (equal(server, right)) return false;
  if (!say_same(server.conditions, own.conditions)) return true;
  right.conditions = server.conditions;
  return !equal(server, right);
}

}  // namespace ddptwin::kubelet
