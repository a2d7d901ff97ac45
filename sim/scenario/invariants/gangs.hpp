// Schedulers of a cluster as judges and notes see them: whose pods each takes, and which pods are a
// gang to it. A reader is dumb, as that of a workload is (workload.hpp): it shares no line with the
// scheduler.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/trace.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::scenario {

struct SchedulerRow {
  std::string_view name{};    // spec.schedulerName of its pods
  std::string_view system{};  // whose it is; empty: it is there in any case
  // The kind of the PodGroups whose pods it binds at once; null: it knows none, and the rest is
  // null, too.
  const KindInfo& (*group)() = nullptr;
  // The name of the PodGroup that a pod of its is of, in the pod's namespace; empty: of none.
  std::string_view (*group_of)(const Pod& pod) = nullptr;
  // So many are placed together, by the PodGroup's spec.
  int (*least)(const Object& group) = nullptr;
};

// Of Kubernetes itself, then of all systems; defined where those are.
std::span<const SchedulerRow> scheduler_rows();
// Null: nobody's.
const SchedulerRow* find_scheduler(std::string_view name);

namespace invariants {

// The gangs that the trace has told of, and who of them has a node.
class Gangs {
 public:
  void take(const Record& record);

  struct Placed {
    std::string group{};  // "NAMESPACE/NAME"
    int placed = 0;       // at some time since that pod was, itself among them
    int least = 0;
  };
  // Of the gang that the pod is of; nothing: of none, or its PodGroup is not there.
  std::optional<Placed> placed_with(const Pod& pod) const;

 private:
  struct Member {
    OptionalTime placed{}, gone{};
  };
  struct Gang {
    int least = 0;                                         // 0: there is no PodGroup
    std::map<std::string, Member, std::less<>> members{};  // by uid
  };
  void take_pod(const Record& record);
  void take_group(const Record& record);
  static std::string key_of_pod(const Pod& pod);

  // By scheduler, namespace and name.
  std::map<std::string, Gang, std::less<>> gangs_{};
};

}  // namespace invariants
}  // namespace ddptwin::scenario
