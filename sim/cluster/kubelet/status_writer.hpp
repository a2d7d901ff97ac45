// Brings the status of one pod to the API server, and lets the object go at its end.
#pragma once

#include <memory>

#include "api/client.hpp"
#include "cluster/kubelet/pod_host.hpp"
#include "core/loop.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

// Holds what the kubelet says of the pod, and writes it soon after it changed: a GET, then a PATCH
// of what differs, as upstream's status manager. Changes that come while a write is under way go
// into the next one. A status that somebody else has written over is written again. Source:
// spec/kubernetes.md §2.1, §2.5; upstream status_manager.go (syncBatch, needsReconcile).
class StatusWriter {
 public:
  explicit StatusWriter(PodHost& host) : host_(host) {}

  // What was said last; null: nothing yet.
  const PodStatus* told() const { return told_ ? &told_->status : nullptr; }
  void set(const Pod& pod, PodStatus&& status);
  // Nothing of the pod will run again: a deleted object may go once its status is written.
  void finish();
  // Looks at the object anew, where something may be left to do.
  void poke();
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

  // First what every sight of the pod reads. What was said last is its status. What is
  // written is mostly this pod itself, with all else that the API server has, and it is then the
  // stored one: a status need not be copied to be written, and its echo is known at sight.
  std::shared_ptr<Pod> told_{};
  bool is_draft_ = false;  // not yet: nothing but a status, which may change
  bool is_news_ = false;   // known to differ from what was written last
  bool dirty_ = false, busy_ = false, finished_ = false, gone_ = false, removed_ = false;
  // One that has fired is dropped at once: who asks for it later need not look for it in the loop.
  Timer timer_{}, put_right_{};
  PodHost& host_;
  std::uint64_t context_ = 0;   // in which something was to be written last
  std::uint64_t answered_ = 0;  // the newest resourceVersion that the API server has answered with
  // What was written last, where that says nothing but what is the kubelet's to say.
  std::shared_ptr<const Pod> written_{};
};

}  // namespace ddptwin::kubelet
