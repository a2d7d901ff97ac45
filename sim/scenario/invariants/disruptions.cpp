// What takes a pod away though nothing of its own has failed: preemption, eviction, a lost node.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/pods/disruption.hpp"
#include "objects/describe.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr std::size_t disruptions_told = 4;  // the last ones are told

// The reasons of a pod's condition DisruptionTarget (spec/kubernetes.md §2.8), and what they mean.
struct ReasonRow {
  std::string_view reason, text;
  bool tells_why;  // its message names what the reason does not
};
constexpr std::array reason_rows{
    ReasonRow{"PreemptionByScheduler", "was preempted on", false},
    ReasonRow{"EvictionByEvictionAPI", "was evicted through the Eviction API from", false},
    ReasonRow{"DeletionByTaintManager", "was evicted for a taint of", false},
    ReasonRow{"DeletionByPodGC", "was lost with", false},
    ReasonRow{"TerminationByKubelet", "was ended by the kubelet of", true},
};

// With these a kubelet ends or refuses a pod for its node's sake (spec/failure-modes.md §6.2).
// Clusters before 1.25 say nothing else.
constexpr std::array<std::string_view, 7> node_reasons{"NodeShutdown",
                                                       "Shutdown",
                                                       "Terminated",
                                                       "Preempting",
                                                       "NodeLost",
                                                       "NodeAffinity",
                                                       "UnexpectedAdmissionError"};

// A pod that takes more than it may is Evicted too, and has itself to blame.
bool is_for_the_node(const PodStatus::Rest& rest) {
  const std::string_view reason = rest.reason, message = rest.message;
  if (reason == "Evicted") return message.starts_with("The node ");
  return reason.starts_with("OutOf") ||
         std::find(node_reasons.begin(), node_reasons.end(), reason) != node_reasons.end();
}

}  // namespace

std::string Disruption::text() const {
  const auto row = std::find_if(reason_rows.begin(), reason_rows.end(),
                                [this](const ReasonRow& one) { return one.reason == reason; });
  const bool known = row != reason_rows.end();
  std::string text = fmt::format("{} {} {}", pod, known ? row->text : "was ended on",
                                 node.empty() ? "no node" : node.view());
  if (!preemptor.empty()) text += " by " + preemptor;
  if (!known) text += fmt::format(" ({})", reason);
  if ((!known || row->tells_why) && !message.empty()) text += fmt::format(": {}", message);
  return text;
}

std::string JobFacts::disruptions_in_words() const {
  std::string text;
  for (const Disruption& one : disruptions) text += (text.empty() ? "" : "; ") + one.text();
  const auto untold = disruption_count - static_cast<std::int64_t>(disruptions.size());
  return untold > 0 ? text + fmt::format("; and {} before", untold) : text;
}

// Asked when a pod ends and when it is marked for deletion: then whoever takes it away has said so.
void Facts::note_disruption(PodFacts& pod, Time now) {
  if (pod.disrupted || pod.job == nullptr) return;
  const PodStatus& status = pod.last->status;
  const PodCondition* target = status.condition(disruption_target);
  const bool told = target != nullptr && target->status == "True";
  if (!told && !(pod.is("Failed") && is_for_the_node(*status.rest))) return;
  pod.disrupted = true;
  Disruption one;
  one.pod = pod.last->metadata.name;
  one.node = pod.last->spec->nodeName;
  one.uid = pod.last->metadata.uid;
  one.reason = told ? Text(target->reason) : Text(status.rest->reason);
  one.message = told ? Text(target->message) : Text(status.rest->message);
  JobFacts& job = *pod.job;
  if (job.disruptions.size() == disruptions_told) job.disruptions.erase(job.disruptions.begin());
  job.disruptions.push_back(std::move(one));
  ++job.disruption_count;
  job.disrupted_at = now;
  job.disrupted_generation = pod.ranks.empty() ? pod.generation : pod.ranks.front().generation;
}

bool PodFacts::follows_disruption(Time now) const {
  if (job == nullptr || job->disruption_count == 0 || disrupted) return false;
  const std::uint64_t own = ranks.empty() ? generation : ranks.front().generation;
  if (job->disrupted_generation != 0 && own != 0) return own == job->disrupted_generation;
  // Where no lines tell of groups: what comes so soon after.
  constexpr Duration soon = std::chrono::minutes(1);
  return now <= job->disrupted_at + soon;
}

// What Events alone tell: that a node fetches an image, and for whom a pod was preempted.
void Facts::note_event(const Event& event) {
  const std::string_view reason = event.reason;
  const bool pulls = reason == "Pulling";
  const bool preempted = reason == "Preempted";
  const bool pulled = reason == "Pulled" || reason == "Failed" || reason == "BackOff";
  if (!pulls && !pulled && !preempted) return;
  const auto* found = pods_.find(Fingerprint::of(event.involvedObject->uid));
  if (found == nullptr || (*found)->job == nullptr) return;
  if (!preempted) {
    (*found)->pulls = pulls;
    return;
  }
  if (!event.rest->related) return;
  for (Disruption& one : (*found)->job->disruptions)
    if (one.uid == (*found)->last->metadata.uid) one.preemptor = short_name(*event.rest->related);
}

}  // namespace ddptwin::scenario::invariants
