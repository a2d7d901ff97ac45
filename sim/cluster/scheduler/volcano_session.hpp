// One session of Volcano's scheduler with the actions and plugins that its chart configures:
// enqueue, allocate, backfill; priority, gang, overcommit, predicates, proportion
// (volcano-sh/volcano, pkg/scheduler, v1.15). Pure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/scheduler/cluster_view.hpp"
#include "objects/pod_groups.hpp"

namespace ddptwin::scheduler::volcano {

inline constexpr std::string_view scheduler_name = "volcano";
inline constexpr std::string_view default_queue = "default";

// All that a session looks at.
struct SessionView {
  ClusterView cluster{};       // what is placed, own decisions among it
  std::vector<PodPtr> pods{};  // of the whole cluster, by their keys
  std::vector<std::shared_ptr<const VolcanoGroup>> groups{};
  std::map<std::string, std::shared_ptr<const VolcanoQueue>, std::less<>> queues{};
  std::map<std::string, std::int32_t, std::less<>> priorities{};  // by PriorityClass
  std::map<std::string, std::string, std::less<>> assumed{};      // nodes of pods, by their keys
  std::string id{};                                               // of the session
  Time now{};
};

// What a session comes to, in the order in which it is written.
struct Outcome {
  struct Binding {
    PodPtr pod{};
    std::string node{};
  };
  struct GroupEvent {
    std::shared_ptr<const VolcanoGroup> group{};
    std::string_view type{};
    std::string_view reason{};
    std::string message{};
  };
  struct PodWords {
    PodPtr pod{};
    std::string reason{};  // of its condition PodScheduled
    std::string message{};
  };
  std::vector<GroupEvent> refusals{};  // of the action enqueue
  std::vector<Binding> bindings{};
  std::vector<std::shared_ptr<const VolcanoGroup>> groups{};  // with a status that is new
  std::vector<GroupEvent> events{};
  std::vector<PodWords> waiting{};
};
Outcome run_session(const SessionView& seen);

}  // namespace ddptwin::scheduler::volcano
