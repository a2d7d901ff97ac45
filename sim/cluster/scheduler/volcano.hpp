// Volcano's scheduler as a process: a session a second while there is something new, and the writes
// that it comes to (volcano-sh/volcano, pkg/scheduler/cache).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/event_recorder.hpp"
#include "api/informer.hpp"
#include "cluster/scheduler/process.hpp"
#include "cluster/scheduler/volcano_session.hpp"
#include "objects/scheduling_v1.hpp"

namespace ddptwin {

class VolcanoScheduler final : public SchedulerProcess {
 public:
  // --schedule-period
  static constexpr Duration period = std::chrono::seconds(1);

  VolcanoScheduler(Loop& loop, api::ApiClient& client, Trace& trace);
  ~VolcanoScheduler() override;

  void start() override;
  std::vector<std::string> remembered() const override;

 private:
  template <class T>
  using Known = std::map<std::string, std::shared_ptr<const T>, std::less<>>;
  template <class T>
  void watch(api::Informer& informer, Known<T>& known);
  void on_pod(const ObjectPtr& before, const ObjectPtr& after);
  void wake();
  void session();
  scheduler::volcano::SessionView view() const;
  void bind(const scheduler::volcano::Outcome::Binding& binding);
  void write(const VolcanoGroup& group);
  void tell(const Pod& pod, std::string_view reason, const std::string& message);
  void record(const Pod& pod, std::string_view text);
  bool synced() const;

  Loop& loop_;
  api::ApiClient& client_;
  Trace& trace_;
  Lane lane_;
  api::Informer nodes_, pods_, groups_, queues_, classes_;
  Known<Node> known_nodes_{};
  Known<Pod> known_pods_{};
  Known<VolcanoGroup> known_groups_{};
  Known<VolcanoQueue> known_queues_{};
  Known<PriorityClass> known_classes_{};
  std::map<std::string, std::string, std::less<>> assumed_{};  // nodes by pod key
  api::EventRecorder events_;
  std::uint64_t sessions_ = 0;
  Timer next_{};
  bool waiting_ = false;
  std::shared_ptr<int> alive_;  // completions hold it weakly
};

}  // namespace ddptwin
