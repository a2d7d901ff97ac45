// The taint eviction controller: who may not stay on a node (spec/kubernetes.md §2.12).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/event_recorder.hpp"
#include "api/shared_informers.hpp"

namespace ddptwin {

// How long a pod stays on a node with NoExecute taints.
struct Tolerance {
  bool all_tolerated = true;        // false: not at all
  std::optional<Duration> lasts{};  // nothing: for ever

  bool operator==(const Tolerance&) const = default;
};

// Each taint counts by the first toleration that matches it, and the shortest of those decides.
// Source: spec/kubernetes.md §2.12 [G:taint-noexecute-by-hand], GetMatchingTolerations and
// getMinTolerationTime upstream.
Tolerance tolerance_of(const PodSpec& pod, const std::vector<Taint>& taints);

// Evicts the pods of nodes that have NoExecute taints, whoever put these there: event, condition
// DisruptionTarget, DELETE with the pod's own grace, once its toleration is over. A time that
// runs is kept, whatever finite tolerations, of 0 seconds too, come or go; a taint that is not
// tolerated ends it, and where the pod may stay after all an event says so. Finished pods and those
// that are being deleted are no exceptions. Source: spec/kubernetes.md §2.12; what that leaves open
// as in processPodOnNode upstream.
class TaintEviction {
 public:
  TaintEviction(Loop& loop, api::ApiClient& client, api::SharedInformers& informers);
  ~TaintEviction();
  TaintEviction(const TaintEviction&) = delete;
  TaintEviction& operator=(const TaintEviction&) = delete;

  // The process begins, anew after crash(): each pod's time begins again.
  // Precondition: not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // The objects of which its memory says something, by uid or by key ("NAMESPACE/NAME", or a name)
  // in any order: none after crash(), and at rest none that is gone.
  std::vector<std::string> remembered() const;

 private:
  // A pod whose toleration runs, or is over: then it has been evicted, or will be.
  struct Pending {
    SharedText uid{};
    std::string node{};
    bool over = false;
    Timer timer{};
  };
  // A pod that is to go now, and how often that has been tried.
  struct Attempt {
    Text namespace_{};
    Text name{};
    SharedText uid{};
    int tries = 0;

    std::string key() const { return namespace_ + "/" + name; }
  };

  void on_node(const ObjectPtr& before, const ObjectPtr& after);
  void on_pod(const ObjectPtr& before, const ObjectPtr& after);
  void judge(const Pod& pod);
  void cancel(const std::string& key);
  void cancel_all_on(const std::string& node);
  void evict(const Attempt& attempt);
  void look(const Attempt& attempt);
  void remove(const Attempt& attempt, const Object& pod);
  void failed(Attempt attempt, const Error& error);
  void tell(const std::string& key, std::string_view what);

  Loop& loop_;
  api::ApiClient& client_;
  Lane lane_;
  api::ProcessPart part_;
  api::Informer& pods_;  // heard of before nodes: pods are judged once, when their node is known
  api::Informer& nodes_;
  std::unique_ptr<api::EventRecorder> recorder_{};
  // NoExecute taints by the node's name, where there are any.
  std::map<std::string, std::vector<Taint>, std::less<>> tainted_{};
  std::map<std::string, Pending, std::less<>> pending_{};  // by the pod's key
  std::map<std::string, Timer, std::less<>> retries_{};    // the same
};

}  // namespace ddptwin
