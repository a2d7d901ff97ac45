#include "scenario/faults/excuses.hpp"

#include <array>

namespace ddptwin::scenario {
namespace {

struct Excuse {
  FaultKind fault;
  std::string_view invariant, reason;
};
constexpr std::array excuses{
    Excuse{FaultKind::api_timeout, "creation-order",
           "a creation that times out counts as done (spec/pytorchjob.md §4.3)"},
    Excuse{FaultKind::api_timeout, "count",
           "and is waited for until its expectation is forgotten, after five minutes (§4.1)"},
    Excuse{FaultKind::api_timeout, "quiesce",
           "a pass that is refused half-way leaves indices that are made and deleted again (Q7)"},
    Excuse{FaultKind::api_lost_reply, "quiesce", "as of a call that times out"},
    Excuse{FaultKind::api_error, "quiesce", "as of a call that times out"},
    Excuse{FaultKind::api_conflict, "quiesce", "as of a call that times out"},
    Excuse{FaultKind::node_lost, "quiesce",
           "indices below a pod that cannot go are made and deleted again (Q7)"},
    Excuse{FaultKind::node_dead, "quiesce", "as of a node that is lost"},
    Excuse{FaultKind::node_deleted, "quiesce", "as of a node that is lost"},
};

}  // namespace

InvariantPolicy kept_under(const FaultPlan& plan) {
  InvariantPolicy policy = kept_by_upstream();
  for (const Fault& fault : plan.faults)
    for (const Excuse& excuse : excuses)
      if (fault.kind == excuse.fault) policy.off.emplace(excuse.invariant, excuse.reason);
  return policy;
}

}  // namespace ddptwin::scenario
