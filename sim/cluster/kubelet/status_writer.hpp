// Brings the status of one pod to the API server, and lets the object go at its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "cluster/kubelet/options.hpp"
#include "objects/core_v1.hpp"
#include "objects/interner.hpp"

namespace ddptwin::kubelet {

// Holds what the kubelet says of the pod, and writes it soon after it changed: a GET, then a PATCH
// of what differs, as upstream's status manager. Changes that come while a write is under way go
// into the next one. A status that somebody else has written over is written again. Source:
// spec/kubernetes.md §2.1, §2.5; upstream status_manager.go (syncBatch, needsReconcile).
class StatusWriter {
 public:
  struct Owner {
    Loop& loop;
    Lane lane;
    api::ApiClient& client;
    const KubeletClocks& clocks;
    const std::function<Time(Duration period)>& next_tick;
    Interner<std::vector<PodCondition>>& conditions;  // of the statuses of all pods
  };

  // `pod` is the owner's, which keeps it up to date. `alive` ends with the owner.
  StatusWriter(Owner owner, const std::shared_ptr<const Pod>& pod, std::function<bool()> may_run,
               std::weak_ptr<int> alive);
  StatusWriter(Owner owner, std::shared_ptr<const Pod>&& pod, std::function<bool()>,
               std::weak_ptr<int>) = delete;

  // What was said last; null: nothing yet.
  const PodStatus* told() const { return told_ ? &told_->status : nullptr; }
  void set(const Pod& pod, PodStatus&& status);
  // Nothing of the pod will run again: a deleted object may go once its status is written.
  void finish();
  // Looks at the object anew, where something may be left to do.
  void poke() { schedule(owner_.clocks.status_delay); }
  // The pod was seen anew: what somebody else has written over is put right at the next tick.
  void compare();
  // The object is gone.
  void compare_no_more();

 private:
  void schedule(Duration delay);
  void begin();
  void on_read(const Result<api::Response>& answer);
  std::shared_ptr<Pod> to_write(const Pod& server);
  void on_written(const Result<api::Response>& answer);
  void let_go(const Pod& server);
  void end_pass(bool retry);
  template <class F>
  void call(api::Request&& request, F then);

  // First what every sight of the pod reads.
  const std::shared_ptr<const Pod>& pod_;
  // What was said last is its status. Once it is written it is the stored pod itself, so that a
  // status need not be copied to be written, and its echo is known at sight.
  std::shared_ptr<const Pod> told_{};
  bool dirty_ = false, busy_ = false, finished_ = false, gone_ = false, removed_ = false;
  Timer timer_{}, put_right_{};
  std::shared_ptr<Pod> draft_{};  // the same pod until then, nothing but a status
  std::weak_ptr<int> alive_;
  Owner owner_;
  std::string answered_{};  // the newest resourceVersion that the API server has answered with
  std::function<bool()> may_run_;
};

}  // namespace ddptwin::kubelet
