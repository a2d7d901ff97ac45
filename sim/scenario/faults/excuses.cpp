#include "scenario/faults/excuses.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::scenario {
namespace {

struct Excuse {
  FaultKind fault;
  std::string_view invariant, reason;
  bool after_restart = false;  // of a kubelet, by another fault of the plan
  std::string_view of{};       // whom the fault hits; empty: whoever
};
constexpr std::array excuses{
    Excuse{FaultKind::api_timeout, "creation-order",
           "a creation that times out counts as done (spec/pytorchjob.md §4.3)"},
    Excuse{
        FaultKind::api_timeout, "count",
        "and is waited for until the operator comes back to the job, at the latest with its resync "
        "after ten hours (§4.1)"},
    Excuse{FaultKind::api_timeout, "progress", "as long, where that was all its pods (§4.1)"},
    Excuse{FaultKind::api_timeout, "visible", "as long, without a condition or a Warning (§4.1)"},
    Excuse{FaultKind::api_timeout, "counters-are-true",
           "as long, where the status of that pass times out as well (§4.1)"},
    Excuse{FaultKind::api_timeout, "conditions-are-true", "as the counters (§4.1)"},
    Excuse{FaultKind::api_timeout, "quiesce",
           "a pass that is refused half-way leaves indices that are made and deleted again (Q7)"},
    Excuse{FaultKind::api_lost_reply, "quiesce", "as of a call that times out"},
    Excuse{FaultKind::api_error, "quiesce", "as of a call that times out"},
    Excuse{FaultKind::api_conflict, "quiesce", "as of a call that times out"},
    // A patch of a status names no version.
    Excuse{FaultKind::api_latency, "monotone",
           "what a kubelet wrote before its restart may come after what it writes since", true},
    Excuse{FaultKind::api_latency, "terminal", "as of a phase that goes back", true},
    // Pods of a Job have names that the server draws: no second one of an index is refused, and the
    // controller deletes it when it sees it (spec/trainjob.md §6).
    Excuse{FaultKind::controller_crash, "no-duplicates",
           "the controller alone forgets what it made, and the informers that it shares have not "
           "seen it yet",
           false, "job-controller"},
    Excuse{FaultKind::controller_double, "no-duplicates", "each of the two makes its own pods",
           false, "job-controller"},
    Excuse{FaultKind::api_lost_reply, "no-duplicates",
           "a pod that was made without an answer is made again", false, "job-controller"},
    // A deletion names no uid.
    Excuse{FaultKind::controller_double, "no-needless-restart",
           "what one process has made anew the other may delete for the one that had failed"},
    Excuse{FaultKind::node_lost, "quiesce",
           "indices below a pod that cannot go are made and deleted again (Q7)"},
    Excuse{FaultKind::node_dead, "quiesce", "as of a node that is lost"},
    Excuse{FaultKind::node_deleted, "quiesce", "as of a node that is lost"},
    Excuse{FaultKind::node_reboot, "quiesce", "as of a node that is lost"},
    Excuse{FaultKind::node_shutdown, "quiesce", "as of a node that is lost"},
};

bool restarts_kubelet(const Fault& fault) {
  return row_of(fault.kind).writer == Writer::kubelet && fault.kind != FaultKind::node_cordon;
}

}  // namespace

InvariantPolicy kept_under(const FaultPlan& plan) {
  InvariantPolicy policy = kept_by_upstream();
  const bool restart = std::any_of(plan.faults.begin(), plan.faults.end(), restarts_kubelet);
  for (const Fault& fault : plan.faults)
    for (const Excuse& excuse : excuses)
      if (fault.kind == excuse.fault && (restart || !excuse.after_restart) &&
          (excuse.of.empty() || fault.of == excuse.of))
        policy.off.emplace(excuse.invariant, excuse.reason);
  return policy;
}

}  // namespace ddptwin::scenario
