// What the training operator promises of what is left: of finished and suspended jobs, of Services,
// endpoints and names.
#include <fmt/format.h>

#include <algorithm>

#include "objects/describe.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/systems/training_operator/judges.hpp"

namespace ddptwin::scenario::invariants::pytorchjob {
namespace {

// "None" where the job does not say.
std::string_view policy_of(const JobFacts& job) {
  const auto& policy = as<PyTorchJob>(*job.last)->spec->runPolicy.cleanPodPolicy;
  return policy ? std::string_view(*policy) : "None";
}

bool is_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

// Why an address is not the one of the pod of that name, which may share it with others; empty: it
// is, or was until a moment ago.
std::string wrong_holder(const Sight& sight, std::string_view ip, std::string_view key) {
  const auto* all = sight.facts.holders(ip);
  if (all == nullptr || all->empty()) return "no pod has";
  bool had = false;
  for (const auto& one : *all) {
    if (one.pod() != key) continue;
    if (!one.until || sight.now <= *one.until + name_lifetime) return {};
    had = true;
  }
  return had ? "its pod has no longer" : "is of " + all->back().pod();
}

}  // namespace

bool clean_up(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished() || job.blocked() || sight.facts.panicked()) return false;
  const std::string_view policy = policy_of(job);
  if (policy == "None") return false;
  for (const PodFacts* pod : job.pods) {
    const bool ended = is_terminal_phase(pod->last->status.phase);
    if (pod->terminating() || (ended && policy == "Running")) continue;
    verdicts.violated(
        job.text(), fmt::format("{} has finished with cleanPodPolicy {}, and {} is still there, {}",
                                job.text(), policy, name_of(*pod->last), pod->last->status.phase));
    return true;
  }
  return true;
}

bool pods_kept(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!now_failed(sight) || policy_of(job) != "None") return false;
  constexpr Duration same_pass = std::chrono::seconds(1);
  if (job.taken_pod.empty() || job.taken_at + same_pass < sight.now) return true;
  verdicts.violated(job.text(),
                    fmt::format("{} is Failed with cleanPodPolicy None, and {} was deleted for it",
                                job.text(), job.taken_pod));
  return true;
}

bool finished_pods_stop(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished()) return false;
  for (const PodFacts* pod : job.pods) {
    if (!pod->is("Running") || pod->terminating()) continue;
    verdicts.violated(job.text(), fmt::format("{} has finished, and {} still runs", job.text(),
                                              name_of(*pod->last)));
    return true;
  }
  return true;
}

bool suspend_with_ttl(const Sight& sight, Verdicts& verdicts) {
  return sight.job->traits.ttl && judge_suspend(sight, verdicts);
}

bool services_have_pods(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.services.empty()) return false;
  for (const auto& [name, service] : job.services) {
    if (std::any_of(job.pods.begin(), job.pods.end(), [&name = name](const PodFacts* pod) {
          return pod->last->metadata.name == name;
        }))
      continue;
    verdicts.violated(job.text(), fmt::format("{} has no pod any more", name_of(*service.last)));
    return true;
  }
  return true;
}

bool endpoints(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->after == nullptr) return false;
  const auto& slice = static_cast<const EndpointSlice&>(*sight.record->after);
  const Text* service = slice.metadata.label("kubernetes.io/service-name");
  for (const Endpoint& endpoint : slice.endpoints) {
    if (!endpoint.targetRef || endpoint.targetRef->name == *service) continue;
    const Text& namespace_ = slice.metadata.namespace_;
    verdicts.violated(name_of(slice),
                      fmt::format("{} leads to {}", object_name("service", namespace_, *service),
                                  object_name("pod", namespace_, endpoint.targetRef->name)));
  }
  return true;
}

bool endpoints_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (job.gone || !sight.facts.slices() || job.services.empty()) return false;
  for (const auto& [name, service] : job.services) {
    const PodFacts* pod = sight.facts.pod(key_of(service.last->metadata));
    if (pod != nullptr && pod->terminating()) continue;
    const std::string ip = pod != nullptr && pod->is("Running") && is_ready(*pod->last)
                               ? pod->last->status.rest->podIP.str()
                               : std::string();
    std::string told;
    bool older = false;  // it leads to the address of the pod before, which shared it
    for (const auto& slice : service.slices)
      for (const Endpoint& endpoint : slice->endpoints)
        if (endpoint.conditions.ready.value_or(true) && !endpoint.addresses.empty() &&
            (told.empty() || told == ip)) {
          told = endpoint.addresses.front().str();
          older = told == ip && pod != nullptr && endpoint.targetRef &&
                  !endpoint.targetRef->uid.empty() &&
                  endpoint.targetRef->uid != pod->last->metadata.uid;
        }
    if (told == ip && !older) continue;
    if (older) told = "an older pod of that name";
    verdicts.violated(name_of(*service.last),
                      fmt::format("{} should lead to {} and leads to {}", name_of(*service.last),
                                  ip.empty() ? "nothing" : ip, told.empty() ? "nothing" : told));
    return true;
  }
  return true;
}

bool names(const Sight& sight, Verdicts& verdicts) {
  if (sight.facts.recovers(sight.now)) return false;
  const Record& record = *sight.record;
  std::string_view name = record.subject;
  if (!name.ends_with(" A")) return false;
  // "mnist-worker-0.default.svc.cluster.local. A"
  const std::size_t dot = name.find('.'), end = name.find('.', dot + 1);
  if (dot == name.npos || end == name.npos || !name.substr(end).starts_with(".svc.")) return false;
  std::string key(name.substr(dot + 1, end - dot - 1));
  key += '/';
  key += name.substr(0, dot);
  const JobFacts* job = sight.facts.job_of_service(key);
  if (job == nullptr || job->reader->system != operator_actor) return false;
  bool told = false;
  for (std::string_view rest = record.text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    const std::string_view ip = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
    if (ip.empty() || ip.front() < '0' || ip.front() > '9') continue;  // NXDOMAIN, NODATA
    told = true;
    if (const std::string wrong = wrong_holder(sight, ip, key); !wrong.empty())
      verdicts.violated("Service/" + key,
                        fmt::format("{} was answered with {}, which {}", name, ip, wrong));
  }
  return told;
}

bool ttl_after_all(const Sight& sight, Verdicts& verdicts) {
  return !ends_plainly(*sight.job) && judge_ttl(sight, verdicts);
}

bool quiesce_at_zero(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->actor != operator_actor) return false;
  return wants_zero(*sight.job) && judge_writes(sight, verdicts);
}

bool visible_without_types(const Sight& sight, Verdicts& verdicts) {
  return sight.job->traits.groups.empty() &&
         judge_visible(sight, verdicts, "has no replica type, and nothing tells its user");
}

}  // namespace ddptwin::scenario::invariants::pytorchjob
