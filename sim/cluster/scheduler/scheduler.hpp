// kube-scheduler: watches pods and nodes, gives each pod a node, pushes lesser pods aside where
// that helps, and says why where nothing does (spec/kubernetes.md §3). With the plugin Coscheduling
// it is that of scheduler-plugins (spec/kubernetes.md §3.5).
#pragma once

#include <memory>

#include "api/event_series.hpp"
#include "api/informer.hpp"
#include "cluster/scheduler/coscheduling.hpp"
#include "cluster/scheduler/decision.hpp"
#include "cluster/scheduler/preemption.hpp"
#include "cluster/scheduler/process.hpp"
#include "cluster/scheduler/profile.hpp"
#include "cluster/scheduler/queue.hpp"
#include "core/trace.hpp"

namespace ddptwin {

// One pod a loop step. A decision counts at once (the pod is assumed to be there) and is taken back
// when the API refuses the binding. Talks to the cluster through its client alone.
class Scheduler final : public SchedulerProcess {
 public:
  static constexpr std::string_view name = "default-scheduler";
  // An unschedulable pod is tried again after so long, whatever happens.
  static constexpr Duration retry_max = std::chrono::minutes(5);
  // So long it waits for the volumes of a pod (VolumeBinding's bindTimeoutSeconds).
  static constexpr Duration volumes_max = std::chrono::minutes(10);

  // All outlive the scheduler.
  Scheduler(Loop& loop, api::ApiClient& client, Trace& trace, const SchedulerProfile& profile = {});
  ~Scheduler() override;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void start() override;
  std::vector<std::string> remembered() const override;

 private:
  void on_pod(const ObjectPtr& before, const ObjectPtr& after);
  void on_node(const ObjectPtr& before, const ObjectPtr& after);
  void on_namespace(const ObjectPtr& before, const ObjectPtr& after);
  void on_group(const ObjectPtr& before, const ObjectPtr& after);
  template <class T>
  void watch(std::optional<api::Informer>& informer,
             scheduler::Known<T> scheduler::VolumeView::*of);
  template <class T>
  void keep(scheduler::Known<T>& known, const ObjectPtr& before, const ObjectPtr& after);
  void happened(const scheduler::ClusterEvent& event);
  void pump();
  void schedule_next();
  void schedule(scheduler::SchedulingQueue::Taken&& taken);
  void assume(const scheduler::SchedulingQueue::Taken& taken, const std::string& node);
  void forget(const std::string& key);
  // Those of gangs: scheduler_gangs.cpp.
  bool passes_pre_filter(const scheduler::SchedulingQueue::Taken& taken);
  bool is_permitted(scheduler::SchedulingQueue::Taken& taken, const std::string& node);
  void allow(const std::string& group);
  void reject_group(const Pod& pod, std::string_view why);
  void reject(const std::string& key, std::string_view why);
  void reject_alone(const std::string& key, std::string_view why);
  void drop_permit(const std::string& key, const Pod* now);
  std::string reject_after(const Pod& pod);
  void bind(scheduler::SchedulingQueue::Taken&& taken, const std::string& node);
  struct Binding;
  void bind_volumes(Binding& binding, const Node& node);
  void write(const Binding& binding, api::Request request);
  void look_at_bindings();
  scheduler::ClaimsProgress progress_of(const Binding& binding) const;
  void volumes_failed(const std::string& pod, const std::string& problem);
  void forget_assumed(const scheduler::VolumeWork& work);
  void drop_binding(const std::string& key, const Pod* now);
  void bind_pod(scheduler::SchedulingQueue::Taken&& taken, const std::string& node);
  void take_back(const scheduler::SchedulingQueue::Taken& taken, const std::string& message);
  void on_bound(const scheduler::SchedulingQueue::Taken& taken, const std::string& node,
                const Status& result);
  void fail(const scheduler::SchedulingQueue::Taken& taken, const scheduler::Decision& decision);
  void put_aside(const scheduler::SchedulingQueue::Taken& taken,
                 std::set<std::string_view> refused_by);
  std::vector<scheduler::BudgetPtr> budgets() const;
  void evict(const Pod& victim, const Pod& preemptor, const std::string& node);
  void write_condition(const Pod& pod, std::string_view reason, const std::string& message,
                       const std::optional<std::string>& nominated);
  void record(const Pod& pod, const std::string& text);
  bool synced() const;

  Loop& loop_;
  api::ApiClient& client_;
  Trace& trace_;
  const SchedulerProfile profile_;
  Lane lane_;
  api::Informer namespaces_, nodes_, pods_;
  // Of the kinds of volumes, where the cluster has them.
  std::optional<api::Informer> claims_{}, volumes_{}, classes_{};
  std::optional<api::Informer> budgets_{};  // of disruption, where the cluster has them
  std::optional<api::Informer> groups_{};   // with the plugin Coscheduling
  std::optional<scheduler::Coscheduling> gangs_{};
  scheduler::ClusterView view_{};
  scheduler::SchedulingQueue queue_;
  api::EventSeries events_;
  std::string key_{};                       // of the pod that on_pod() is told of
  std::set<std::string> assumed_{};         // keys of pods bound here, not yet seen placed
  std::map<std::string, Timer> retries_{};  // by pod key
  // A pod that has its node and waits there for its volumes.
  struct Binding {
    scheduler::SchedulingQueue::Taken taken;
    std::string node;
    std::uint64_t number;          // another try of the same pod has another
    scheduler::VolumeWork work{};  // as the API has answered
    std::size_t unanswered = 0;    // of its writes
    Timer limit{};
  };
  std::map<std::string, Binding> bindings_{};  // by pod key
  // A pod that has its node and waits for the others of its gang.
  struct Permit {
    scheduler::SchedulingQueue::Taken taken;
    std::string node;
    Timer limit{};
  };
  std::map<std::string, Permit> permits_{};  // by pod key
  std::uint64_t last_binding_ = 0;
  Timer poll_{};
  bool pumping_ = false;
  std::shared_ptr<int> alive_;  // completions hold it weakly
};

}  // namespace ddptwin
