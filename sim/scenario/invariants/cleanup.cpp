// Invariants about what is left: of finished and suspended jobs, of Services, endpoints and names.
#include <fmt/format.h>

#include <algorithm>

#include "objects/pod_phase.hpp"
#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr Duration name_lifetime = std::chrono::seconds(30);  // a name may point back so long

// "None" where the job does not say.
std::string_view policy_of(const JobFacts& job) {
  const auto& policy = job.last->spec->runPolicy.cleanPodPolicy;
  return policy ? std::string_view(*policy) : "None";
}

bool is_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

void judge_suspend(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || !job.suspended() || sight.facts.panicked()) return;
  if (!job.last->status || !job.last->status->is_true("Suspended"))
    verdicts.violated(job.text(),
                      fmt::format("{} is to be suspended, and never says Suspended", job.text()));
}

}  // namespace

void clean_up(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished() || job.blocked() || sight.facts.panicked()) return;
  const std::string_view policy = policy_of(job);
  if (policy == "None") return;
  for (const PodFacts* pod : job.pods) {
    const bool ended = is_terminal_phase(pod->last->status.phase);
    if (pod->terminating() || (ended && policy == "Running")) continue;
    verdicts.violated(
        job.text(), fmt::format("{} has finished with cleanPodPolicy {}, and {} is still there, {}",
                                job.text(), policy, name_of(*pod->last), pod->last->status.phase));
    return;
  }
}

void pods_kept(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!became(sight, "Failed") || policy_of(job) != "None") return;
  constexpr Duration same_pass = std::chrono::seconds(1);
  if (job.taken_pod.empty() || job.taken_at + same_pass < sight.now) return;
  verdicts.violated(job.text(),
                    fmt::format("{} is Failed with cleanPodPolicy None, and {} was deleted for it",
                                job.text(), job.taken_pod));
}

void finished_pods_stop(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || !job.finished()) return;
  for (const PodFacts* pod : job.pods) {
    if (!pod->is("Running") || pod->terminating()) continue;
    verdicts.violated(job.text(), fmt::format("{} has finished, and {} still runs", job.text(),
                                              name_of(*pod->last)));
    return;
  }
}

void suspended(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live() || job.finished() || !job.suspended() || sight.facts.panicked()) return;
  for (const PodFacts* pod : job.pods) {
    if (pod->terminating()) continue;
    verdicts.violated(job.text(), fmt::format("{} is to be suspended, and {} is not being deleted",
                                              job.text(), name_of(*pod->last)));
    return;
  }
}

void suspend_is_reached(const Sight& sight, Verdicts& verdicts) {
  if (!sight.job->last->spec->runPolicy.ttlSecondsAfterFinished) judge_suspend(sight, verdicts);
}

void suspend_with_ttl(const Sight& sight, Verdicts& verdicts) {
  if (sight.job->last->spec->runPolicy.ttlSecondsAfterFinished) judge_suspend(sight, verdicts);
}

void services_have_pods(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (!job.live()) return;
  for (const auto& [name, service] : job.services) {
    if (std::any_of(job.pods.begin(), job.pods.end(), [&name = name](const PodFacts* pod) {
          return pod->last->metadata.name == name;
        }))
      continue;
    verdicts.violated(job.text(), fmt::format("{} has no pod any more", name_of(*service.last)));
    return;
  }
}

void endpoints(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.record->after == nullptr) return;
  const auto& slice = static_cast<const EndpointSlice&>(*sight.record->after);
  const Text* service = slice.metadata.label("kubernetes.io/service-name");
  for (const Endpoint& endpoint : slice.endpoints) {
    if (!endpoint.targetRef || endpoint.targetRef->name == *service) continue;
    verdicts.violated(name_of(slice), fmt::format("the Service {} leads to the pod {}", *service,
                                                  endpoint.targetRef->name));
  }
}

void endpoints_are_true(const Sight& sight, Verdicts& verdicts) {
  const JobFacts& job = *sight.job;
  if (job.gone || !sight.facts.slices()) return;
  for (const auto& [name, service] : job.services) {
    const PodFacts* pod = sight.facts.pod(key_of(service.last->metadata));
    if (pod != nullptr && (pod->terminating() || pod->last->spec->hostNetwork)) continue;
    const std::string ip = pod != nullptr && pod->is("Running") && is_ready(*pod->last)
                               ? pod->last->status.rest->podIP.str()
                               : std::string();
    std::string told;
    for (const auto& slice : service.slices)
      for (const Endpoint& endpoint : slice->endpoints)
        if (endpoint.conditions.ready.value_or(true) && !endpoint.addresses.empty() &&
            (told.empty() || told == ip))
          told = endpoint.addresses.front().str();
    if (told == ip) continue;
    verdicts.violated(name_of(*service.last),
                      fmt::format("{} should lead to {} and leads to {}", name_of(*service.last),
                                  ip.empty() ? "nothing" : ip, told.empty() ? "nothing" : told));
    return;
  }
}

void names(const Sight& sight, Verdicts& verdicts) {
  if (sight.facts.recovers(sight.now)) return;
  const Record& record = *sight.record;
  std::string_view name = record.subject;
  if (!name.ends_with(" A")) return;
  // "mnist-worker-0.default.svc.cluster.local. A"
  const std::size_t dot = name.find('.'), end = name.find('.', dot + 1);
  if (dot == name.npos || end == name.npos || !name.substr(end).starts_with(".svc.")) return;
  std::string key(name.substr(dot + 1, end - dot - 1));
  key += '/';
  key += name.substr(0, dot);
  if (sight.facts.job_of_service(key) == nullptr) return;
  for (std::string_view rest = record.text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    const std::string_view ip = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
    if (ip.empty() || ip.front() < '0' || ip.front() > '9') continue;  // NXDOMAIN, NODATA
    const auto* owner = sight.facts.address(ip);
    const bool current = owner != nullptr && owner->pod() == key &&
                         (!owner->until || sight.now <= *owner->until + name_lifetime);
    if (!current)
      verdicts.violated("Service/" + key,
                        fmt::format("{} was answered with {}, which {}", name, ip,
                                    owner == nullptr      ? "no pod has"
                                    : owner->pod() == key ? "its pod has no longer"
                                                          : "is of " + owner->pod()));
  }
}

}  // namespace ddptwin::scenario::invariants
