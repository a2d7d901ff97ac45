// The namespace controller: empties a namespace that is being deleted, then lets it go
// (spec/kubernetes.md section 1.17).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/shared_informers.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin {

// Pods go first, each with its own grace; while one is left nothing else is touched. It looks five
// seconds after each change of a namespace that is being deleted, its own write of the conditions
// among them, and again after half of the time that the rest is likely to need: the longest grace
// of the pods that have not ended, 15 s for what a finalizer holds. What stays without a reason,
// and what the API refuses, is an error: the condition NamespaceDeletionContentFailure tells it,
// and the next look comes with a back-off. Source: upstream namespace_controller.go,
// namespaced_resources_deleter.go.
class NamespaceLifecycle {
 public:
  NamespaceLifecycle(Loop& loop, api::ApiClient& client, api::SharedInformers& informers);
  ~NamespaceLifecycle();

  // The process begins, anew after crash(). Precondition: not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // The objects of which its memory says something, by uid or by key ("NAMESPACE/NAME", or a name)
  // in any order: none after crash(), and at rest none that is gone.
  std::vector<std::string> remembered() const;

 private:
  // One look at one namespace.
  struct Look;
  using LookPtr = std::shared_ptr<Look>;

  void on_namespace(const ObjectPtr& before, const ObjectPtr& after);
  void schedule(const std::string& name, Duration delay);
  void begin(const std::string& name);
  void estimate_grace(const LookPtr& look);
  void empty_next(const LookPtr& look);
  void count_rest(const LookPtr& look, const KindInfo& kind);
  void conclude(const LookPtr& look);
  void finalize(const LookPtr& look);
  void retry(const std::string& name);

  Loop& loop_;
  api::ApiClient& client_;
  Lane lane_;
  api::ProcessPart part_;
  // The next look at a namespace: the earliest that somebody asked for.
  struct Next {
    Time at{};
    Timer timer{};
  };
  std::map<std::string, Next, std::less<>> next_{};
  std::map<std::string, int, std::less<>> failures_{};
};

}  // namespace ddptwin
