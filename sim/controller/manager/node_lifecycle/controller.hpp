// The node lifecycle controller: what a cluster makes of nodes that fall silent, are not Ready or
// run short of something (spec/kubernetes.md §2.12). Whom its NoExecute taints evict is
// TaintEviction's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/event_recorder.hpp"
#include "api/shared_informers.hpp"
#include "controller/manager/node_lifecycle/heartbeats.hpp"
#include "controller/manager/node_lifecycle/taints.hpp"
#include "controller/manager/node_lifecycle/zone.hpp"

namespace ddptwin {

// Looks every five seconds from its process's begin, where there is something to be seen: a node
// that was not heard of for 50 s becomes Unknown, and its Ready pods unready; a node that is not
// Ready gets the NoExecute taint in its zone's turn, one that is Ready loses it; with no Ready node
// left in any zone nobody keeps one, for then it is the control plane that is cut off. NoSchedule
// taints follow conditions and cordons at once. Source: §2.12, upstream node_lifecycle_controller.
// Beside that it has the part of the ttl controller, whose annotation every node bears.
class NodeLifecycle {
 public:
  // All outlive it. What `heartbeats` says survives the process, as Leases do.
  NodeLifecycle(Loop& loop, api::ApiClient& client, api::SharedInformers& informers,
                NodeHeartbeats& heartbeats);
  ~NodeLifecycle();
  NodeLifecycle(const NodeLifecycle&) = delete;
  NodeLifecycle& operator=(const NodeLifecycle&) = delete;

  // The process begins, anew after crash(): 50 s begin again for silent nodes.
  // Precondition: not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // The objects of which its memory says something, by uid or by key ("NAMESPACE/NAME", or a name)
  // in any order: none after crash(), and at rest none that is gone.
  std::vector<std::string> remembered() const;
  // A node that this process has long known when the cluster begins: no event tells of it.
  void know(const std::string& node) { known_.insert(node); }

 private:
  using Readiness = node_lifecycle::Readiness;
  // One look, until all that it has written is written.
  struct Look;
  using LookPtr = std::shared_ptr<Look>;
  // A write of a node's conditions, and how often that has been tried.
  struct Attempt {
    LookPtr look{};
    std::shared_ptr<const Node> node{};
    int tries = 0;
  };

  void on_node(const ObjectPtr& before, const ObjectPtr& after);
  void mirror(const Node& node);
  void want_look(Time at);
  Time look_at_or_after(Time at) const;
  std::optional<Time> due_of(const std::string& node) const;
  void look();
  void tell_of_changes();
  void judge(const LookPtr& look, const std::shared_ptr<const Node>& node);
  void make_unknown(const Attempt& attempt);
  void retry(const Attempt& attempt, const Error& error);
  void became_unknown(const Node& before);
  void mark_pods(const std::string& node);
  void mark_pod(const Pod& pod);
  void decide_taint(const Node& node, Readiness now);
  void swap_no_execute(const Node& node, std::string_view key);
  void conclude(const LookPtr& look);
  void judge_zones(const Look& look);
  void release_all();
  void pass();
  void pass_soon(Time at);
  void taint(const std::string& zone, node_lifecycle::EvictionQueue::Entry entry);
  void want_next_look();
  std::uint64_t context_of(const std::string& node) const;
  void tell(const Object& node, std::string_view reason, std::string message);

  Loop& loop_;
  api::ApiClient& client_;
  Lane lane_;
  NodeHeartbeats& heartbeats_;
  api::ProcessPart part_;
  api::Informer& pods_;
  api::Informer& nodes_;
  std::unique_ptr<api::EventRecorder> recorder_{};
  Time started_{};
  Time reset_{};  // end of the last full disruption: times of silence begin there
  std::set<std::string, std::less<>> known_{};
  std::vector<ObjectPtr> gone_{};                            // deleted since the last look
  std::map<std::string, std::uint64_t, std::less<>> why_{};  // context of its last change, by node
  std::map<std::string, node_lifecycle::EvictionQueue, std::less<>> zones_{};
  std::set<std::string, std::less<>> retry_pods_{};      // nodes whose pods could not be marked
  std::map<std::string, Timer, std::less<>> retries_{};  // by what is tried again
  bool all_lost_ = false;
  std::optional<Time> last_look_{};
  std::optional<Time> next_look_at_{};
  Timer next_look_{};
  Time next_pass_at_{};
  Timer next_pass_{};
};

}  // namespace ddptwin
