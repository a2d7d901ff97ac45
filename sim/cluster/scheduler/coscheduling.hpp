// The plugin Coscheduling of scheduler-plugins: pods of a PodGroup are bound together or not at all
// (pkg/coscheduling of kubernetes-sigs/scheduler-plugins, v0.34). What it knows and what it
// answers; who waits and who is told is the scheduler's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/scheduler/cluster_view.hpp"
#include "cluster/scheduler/profile.hpp"
#include "objects/pod_groups.hpp"

namespace ddptwin::scheduler {

class Coscheduling {
 public:
  // As nodes' refusals and queues name it.
  static constexpr std::string_view plugin = "Coscheduling";
  // Why a pod that waits is sent back when another of its gang is.
  static constexpr std::string_view with_another = "rejection in Unreserve";

  explicit Coscheduling(const CoschedulingArgs& args) : args_(args) {}

  // "NAMESPACE/NAME" of the group that its label names, whether or not there is one; empty: none.
  static std::string group_of(const Pod& pod);

  void put_group(std::shared_ptr<const CoschedulingGroup> group);
  void drop_group(const std::string& key);
  // Any pod of the cluster; null: gone.
  void see_pod(const PodPtr& before, const PodPtr& after);

  // Extension point PreFilter: why no node is looked at, in its words; empty: they are.
  std::string pre_filter(const Pod& pod, const ClusterView& view, Time now);

  enum class Permit : std::uint8_t { alone, no_group, wait, ready };
  struct Permission {
    Permit permit = Permit::alone;
    bool first = false;  // of its group: the others are to be tried now
    Duration wait{};     // so long at most
  };
  // Extension point Permit, of a pod that has its node. It counts for its group from then on.
  Permission permit(const Pod& pod);
  // It does not count any more: it has lost its node.
  void unreserve(const Pod& pod);

  // Extension point PostFilter, of a pod that fits nowhere: whether the whole group is to be
  // rejected. Notes that it was.
  bool rejects_group(const Pod& pod, Time now);
  // The group was rejected: its pods come behind groups that are older than this.
  void note_failure(const Pod& pod, Time now);

  // What it knows of groups and of pods, by key, in any order.
  std::vector<std::string> remembered() const;

  // The names of the other pods of its group.
  std::vector<std::string> siblings(const Pod& pod) const;
  // By this pods of one priority are sorted: when their group was made, or was rejected last; a
  // pod without one by the time that is given.
  Time turn_of(const Pod& pod, Time otherwise) const;

 private:
  const CoschedulingGroup* find(const std::string& key) const;
  std::string resource_gap(const std::string& key, const CoschedulingGroup& group,
                           const ClusterView& view) const;
  int assigned(const std::string& key) const;

  using Names = std::map<std::string, PodPtr, std::less<>>;
  const CoschedulingArgs args_;
  std::map<std::string, std::shared_ptr<const CoschedulingGroup>> groups_{};
  std::map<std::string, Names> pods_{};                 // all that there are, by their group
  std::map<std::string, std::set<std::string>> has_{};  // names of those assumed or placed
  std::map<std::string, Time> failed_{};
  std::map<std::string, Time> backed_off_{}, permitted_{};  // until then
};

}  // namespace ddptwin::scheduler
