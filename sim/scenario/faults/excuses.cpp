#include "scenario/faults/excuses.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::scenario {
namespace {

struct Excuse {
  FaultKind fault;
  std::string_view invariant, reason;
  bool after_restart = false;  // of a kubelet, by another fault of the plan
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
    // A deletion names no uid.
    Excuse{FaultKind::controller_double, "no-needless-restart",
           "what one process has made anew the other may delete for the one that had failed"},
    Excuse{FaultKind::node_lost, "quiesce",
           "indices below a pod that cannot go are made and deleted again (Q7)"},
    Excuse{FaultKind::node_dead, "quiesce", "as of a node that is lost"},
    Excuse{FaultKind::node_deleted, "quiesce", "as of a node that is lost"},
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
      if (fault.kind == excuse.fault && (restart || !excuse.after_restart))
        policy.off.emplace(excuse.invariant, excuse.reason);
  return policy;
}

}  // namespace ddptwin::scenario
