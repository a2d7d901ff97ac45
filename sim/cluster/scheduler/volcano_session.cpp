#include "cluster/scheduler/volcano_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "cluster/scheduler/decision.hpp"

namespace ddptwin::scheduler::volcano {
namespace {

constexpr std::string_view in_pending = "Pending", in_inqueue = "Inqueue", in_running = "Running",
                           in_unknown = "Unknown", in_completed = "Completed";
constexpr std::string_view unschedulable = "Unschedulable", scheduled = "Scheduled",
                           schedulable = "Schedulable";
constexpr std::string_view ready_text = "pod group is ready",
                           not_ready_text = "pod group is not ready";

// pkg/scheduler/api/types.go.
enum class TaskStatus : std::uint8_t {
  pending,
  allocated,
  pipelined,
  binding,
  bound,
  running,
  releasing,
  succeeded,
  failed,
  unknown,
};
std::string_view name_of(TaskStatus status) {
  constexpr std::array<std::string_view, 10> names{"Pending", "Allocated", "Pipelined", "Binding",
                                                   "Bound",   "Running",   "Releasing", "Succeeded",
                                                   "Failed",  "Unknown"};
  return names[static_cast<std::size_t>(status)];
}
bool holds_node(TaskStatus status) {
  return status == TaskStatus::allocated || status == TaskStatus::binding ||
         status == TaskStatus::bound || status == TaskStatus::running;
}

struct Task {
  PodInfo info;
  TaskStatus status = TaskStatus::pending;
  std::string node{};
  bool best_effort = false;
  std::string error{};        // why no node takes it
  std::string_view reason{};  // of the last try, where it came to something
  std::string message{};
  const Pod& pod() const { return *info.pod; }
};

struct Job {
  std::shared_ptr<const VolcanoGroup> group{};
  std::string queue{};
  std::int32_t priority = 0;
  std::string phase{};
  std::vector<Task> tasks{};  // in the order in which they are tried

  int least() const { return group->spec->minMember.value_or(0); }
  bool is_pending() const { return phase.empty() || phase == in_pending; }
  template <class Is>
  int count(Is is) const {
    return static_cast<int>(std::count_if(tasks.begin(), tasks.end(), is));
  }
  int count(TaskStatus status) const {
    return count([status](const Task& task) { return task.status == status; });
  }
  int ready() const {
    return count([](const Task& task) {
      return holds_node(task.status) || task.status == TaskStatus::succeeded;
    });
  }
  int free() const {
    return count(
        [](const Task& task) { return task.status == TaskStatus::pending && task.best_effort; });
  }
  bool is_ready() const { return ready() + free() >= least(); }
  bool is_pipelined() const { return count(TaskStatus::pipelined) + ready() + free() >= least(); }
  // Tasks that could count, now or once they are placed.
  bool is_valid() const {
    return ready() + count(TaskStatus::pending) + count(TaskStatus::pipelined) >= least();
  }
};

TaskStatus status_of(const Pod& pod, bool is_assumed) {
  const std::string_view phase = pod.status.phase;
  if (phase == "Succeeded") return TaskStatus::succeeded;
  if (phase == "Failed") return TaskStatus::failed;
  if (phase == "Unknown") return TaskStatus::unknown;
  if (pod.metadata.deletionTimestamp) return TaskStatus::releasing;
  if (phase == "Running") return TaskStatus::running;
  if (!pod.spec->nodeName.empty()) return TaskStatus::bound;
  return is_assumed ? TaskStatus::binding : TaskStatus::pending;
}

void add(ResourceList& to, const ResourceList& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

// What would be more than there is, of the resources that are asked for.
std::vector<std::string> exceeding(const ResourceList& sum, const ResourceList& limit,
                                   const ResourceList& asked, bool only_limited) {
  std::vector<std::string> names;
  for (const auto& [name, amount] : asked) {
    const auto is = sum.find(name), may = limit.find(name);
    if (only_limited && may == limit.end()) continue;
    if (is != sum.end() && (may == limit.end() ? Quantity() : may->second) < is->second)
      names.push_back(name);
  }
  return names;
}

std::string words_of(std::string_view prefix, std::string_view verb,
                     const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) parts.push_back(fmt::format("{} {}", verb, name));
  return fmt::format("{}: {}", prefix, fmt::join(parts, ", "));
}

// "2 Pending, 3 minAvailable": in the order of the texts.
std::string histogram(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Session {
 public:
  explicit Session(const SessionView& seen) : seen_(seen), view_(seen.cluster) {}

  Outcome run() {
    take_jobs();
    look_at_room();
    enqueue();
    allocate();
    for (Job& job : jobs_) close(job);
    return std::move(outcome_);
  }

 private:
  // ---- what there is -------------------------------------------------------------------------

  void take_jobs() {
    for (const auto& group : seen_.groups) {
      Job job{.group = group};
      job.queue = group->spec->queue.empty() ? std::string(default_queue) : group->spec->queue;
      // One whose queue is not there is not looked at, and nobody says so.
      if (!seen_.queues.contains(job.queue)) continue;
      const auto priority = seen_.priorities.find(group->spec->priorityClassName);
      if (priority != seen_.priorities.end()) job.priority = priority->second;
      if (group->status) job.phase = group->status->phase;
      for (const PodPtr& pod : seen_.pods)
        if (is_member(*pod, *group)) take_task(job, pod);
      std::stable_sort(job.tasks.begin(), job.tasks.end(), [](const Task& a, const Task& b) {
        const auto rank = [](const Task& task) {
          return std::tuple(-task.info.priority,
                            task.pod().metadata.creationTimestamp.value_or(Time()));
        };
        return rank(a) < rank(b);
      });
      jobs_.push_back(std::move(job));
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) {
      const auto rank = [](const Job& job) {
        return std::tuple(-job.priority, job.is_ready(),
                          job.group->metadata.creationTimestamp.value_or(Time()),
                          key_of(job.group->metadata));
      };
      return rank(a) < rank(b);
    });
  }

  static bool is_member(const Pod& pod, const VolcanoGroup& group) {
    if (pod.metadata.namespace_ != group.metadata.namespace_) return false;
    const auto name = pod.metadata.annotations->find(volcano_annotation);
    if (name == pod.metadata.annotations->end() || name->second != group.metadata.name)
      return false;
    // Of other schedulers' pods it hears when they are placed.
    return pod.spec->rest->schedulerName == scheduler_name || !pod.spec->nodeName.empty();
  }

  void take_task(Job& job, const PodPtr& pod) {
    Task task{.info = PodInfo(pod)};
    const auto assumed = seen_.assumed.find(key_of(pod->metadata));
    task.status = status_of(*pod, assumed != seen_.assumed.end());
    const ResourceList& request = task.info.needs->request;
    task.best_effort = std::all_of(request.begin(), request.end(), [](const auto& one) {
      return one.first == "pods" || one.second.zero();
    });
    job.tasks.push_back(std::move(task));
  }

  // The plugins' sums: what the nodes have, what is taken of them and of the queues, and what jobs
  // that were let in may still take.
  void look_at_room() {
    for (const NodeInfo* node : view_.nodes()) {
      for (const auto& [name, amount] : *node->node->status.allocatable) {
        // The factor 1.2 of overcommit.
        idle_[name] += Quantity::from_nanos(amount.nanos() / 5 * 6, amount.format());
      }
      for (const auto& [name, amount] : node->requested) idle_[name] -= amount;
    }
    for (const Job& job : jobs_) {
      for (const Task& task : job.tasks)
        if (holds_node(task.status)) add(taken_[job.queue], task.info.needs->request);
      if (job.phase == in_inqueue || (job.phase == in_running && job.ready() >= job.least()))
        let_in(job);
    }
  }

  // What the job may still take of what it asked for.
  void let_in(const Job& job) {
    if (!job.group->spec->minResources) return;
    ResourceList left = *job.group->spec->minResources;
    if (job.phase == in_running) {
      ResourceList has;
      for (const Task& task : job.tasks)
        if (holds_node(task.status)) add(has, task.info.needs->request);
      for (auto& [name, amount] : left)
        if (const auto held = has.find(name); held != has.end())
          amount = amount <= held->second ? Quantity() : Quantity(amount) -= held->second;
    }
    add(let_in_, left);
    add(let_in_of_[job.queue], left);
  }

  // ---- enqueue ---------------------------------------------------------------------------------

  void enqueue() {
    for (Job& job : jobs_) {
      if (!job.is_pending()) continue;
      job.phase = in_pending;
      if (!may_enter(job)) continue;
      let_in(job);
      job.phase = in_inqueue;
    }
  }

  bool may_enter(const Job& job) {
    if (!job.group->spec->minResources) return true;
    const ResourceList& asked = *job.group->spec->minResources;
    ResourceList sum = asked;
    add(sum, let_in_);
    if (const auto over = exceeding(sum, idle_, asked, false); !over.empty()) {
      refuse(job, words_of("resource in cluster is overused", "overused", over));
      return false;
    }
    const VolcanoQueue& queue = *seen_.queues.find(job.queue)->second;
    if (!queue.spec->capability) return true;
    sum = asked;
    add(sum, taken_[job.queue]);
    add(sum, let_in_of_[job.queue]);
    const auto over = exceeding(sum, *queue.spec->capability, asked, true);
    if (over.empty()) return true;
    refuse(job, words_of("queue resource quota insufficient", "insufficient", over));
    return false;
  }

  void refuse(const Job& job, std::string why) {
    outcome_.refusals.push_back({job.group, "Normal", unschedulable, std::move(why)});
  }

  // ---- allocate and backfill -------------------------------------------------------------------

  void allocate() {
    for (Job& job : jobs_) {
      if (job.is_pending() || !job.is_valid()) continue;
      place(job);
    }
  }

  // Nothing of a job is kept where it comes to fewer than it needs.
  void place(Job& job) {
    const ClusterView before = view_;
    const ResourceList taken_before = taken_[job.queue];
    std::vector<Task*> tried;
    std::set<std::string> failed_roles;
    for (const bool best_effort : {false, true})
      for (Task& task : job.tasks) {
        if (task.status != TaskStatus::pending || task.best_effort != best_effort) continue;
        if (!task.pod().spec->schedulingGates.empty()) continue;
        if (exceeds_queue(job, task)) continue;
        const std::string role = role_of(task.pod());
        if (!role.empty() && failed_roles.contains(role)) {
          task.error = fmt::format("Task {} with role spec {} has already predicated failed, skip",
                                   task.pod().metadata.name.view(), role);
          continue;
        }
        if (place(job, task)) {
          tried.push_back(&task);
          continue;
        }
        failed_roles.insert(role);
        if (job.least() == static_cast<int>(job.tasks.size())) break;
      }
    const bool is_ready = job.is_ready();
    if (is_ready) {
      for (Task* task : tried)
        if (task->status == TaskStatus::allocated) bind(*task);
      return;
    }
    if (job.is_pipelined()) {  // they keep what will be free, and nobody else gets that
      for (Task* task : tried) tell_of_try(*task);
      return;
    }
    view_ = before;
    taken_[job.queue] = taken_before;
    for (Task* task : tried) {
      tell_of_try(*task);
      task->status = TaskStatus::pending;
    }
  }

  static std::string role_of(const Pod& pod) {
    const auto role = pod.metadata.annotations->find("volcano.sh/task-spec");
    return role == pod.metadata.annotations->end() ? std::string() : role->second.str();
  }

  bool exceeds_queue(const Job& job, const Task& task) {
    const VolcanoQueue& queue = *seen_.queues.find(job.queue)->second;
    if (!queue.spec->capability) return false;
    ResourceList sum = taken_[job.queue];
    add(sum, task.info.needs->request);
    return !exceeding(sum, *queue.spec->capability, task.info.needs->request, true).empty();
  }

  // On a node, or on one where there will be room once who is leaving has gone.
  bool place(Job& job, Task& task) {
    Decision now = decide(task.info, view_);
    const bool is_now = !now.node.empty();
    ClusterView later;  // what a decision refuses it names by the view's own nodes
    if (!is_now) {
      later = future();
      now = decide(task.info, later);
    }
    if (now.node.empty()) {
      task.error = error_of(task, now);
      return false;
    }
    task.node = now.node;
    task.status = is_now ? TaskStatus::allocated : TaskStatus::pipelined;
    view_.try_add(task.node, task.info);
    add(taken_[job.queue], task.info.needs->request);
    return true;
  }

  ClusterView future() const {
    ClusterView later = view_;
    for (const PodPtr& pod : seen_.pods)
      if (pod->metadata.deletionTimestamp) later.drop_pod(key_of(pod->metadata));
    return later;
  }

  // The first resource that a node lacks, before what else it has against the pod.
  static std::string error_of(const Task& task, const Decision& decision) {
    std::map<std::string, int> counts;
    for (const NodeRefusal& one : decision.refusals) {
      const std::string lacks = lacking(task.info, *one.node);
      if (!lacks.empty())
        ++counts[fmt::format("Insufficient {}", lacks)];
      else
        for (const std::string& reason : one.refusal.reasons) ++counts[reason];
    }
    return fmt::format("0/{} nodes are unavailable: {}.", decision.refusals.size(),
                       histogram(counts));
  }

  static std::string lacking(const PodInfo& pod, const NodeInfo& node) {
    for (const bool first : {true, false})  // cpu and memory come before all others
      for (const auto& [name, amount] : pod.needs->request) {
        if ((name == "cpu" || name == "memory") != first || name == "pods") continue;
        Quantity left;
        const ResourceList& all = *node.node->status.allocatable;
        if (const auto has = all.find(name); has != all.end()) left = has->second;
        if (const auto takes = node.requested.find(name); takes != node.requested.end())
          left -= takes->second;
        if (left < amount) return name;
      }
    return {};
  }

  void bind(Task& task) {
    task.status = TaskStatus::binding;
    outcome_.bindings.push_back({task.info.pod, task.node});
  }

  static void tell_of_try(Task& task) {
    const bool is_now = task.status == TaskStatus::allocated;
    task.reason = is_now ? schedulable : unschedulable;
    task.message = fmt::format(
        "Pod {} can possibly be assigned to {}, once {}minAvailable is satisfied",
        key_of(task.pod().metadata), task.node, is_now ? "" : "resource is released and ");
  }

  // ---- the end ---------------------------------------------------------------------------------

  std::string fit_error(const Job& job) const {
    std::map<std::string, int> counts;
    for (const Task& task : job.tasks) ++counts[std::string(name_of(task.status))];
    counts["minAvailable"] = job.least();
    std::string text =
        fmt::format("{}, {}", job.is_ready() ? ready_text : not_ready_text, histogram(counts));
    counts.clear();
    for (const Task& task : job.tasks)
      if (task.status == TaskStatus::pending)
        ++counts[std::string(task.reason.empty() ? unschedulable : task.reason)];
    if (!counts.empty()) text += fmt::format("; Pending: {}", histogram(counts));
    for (const Task& task : job.tasks)
      if (!task.error.empty())
        return fmt::format("{}. Origin reason is {}: {}", text, task.pod().metadata.name.view(),
                           task.error);
    return text;
  }

  void close(Job& job) {
    const std::string error = fit_error(job);
    VolcanoGroupStatus status = job.group->status.value_or(VolcanoGroupStatus());
    const VolcanoGroupStatus was = status;
    bool is_unschedulable = false;
    if (!job.tasks.empty()) {
      is_unschedulable = !job.is_ready();
      if (is_unschedulable && !only_leaves(job)) {
        const int could = job.count([](const Task& task) {
          return task.status == TaskStatus::pending && task.reason == schedulable;
        });
        set(status, unschedulable, "NotEnoughResources",
            fmt::format("{}/{} tasks in gang unschedulable: {}", job.least() - could - job.ready(),
                        job.tasks.size(), error));
      } else if (!is_unschedulable) {
        set(status, scheduled, "tasks in gang are ready to be scheduled", "");
      } else {
        is_unschedulable = false;
      }
    }
    status.phase = phase_of(job, is_unschedulable);
    status.running = job.count(TaskStatus::running);
    status.failed = job.count(TaskStatus::failed);
    status.succeeded = job.count(TaskStatus::succeeded);
    const bool is_new = !job.group->status || status != was;
    if (is_new) {
      auto changed = std::static_pointer_cast<VolcanoGroup>(job.group->clone());
      changed->status = status;
      outcome_.groups.push_back(std::move(changed));
    }
    tell(job, status.phase, is_new, error);
  }

  static bool only_leaves(const Job& job) {
    const int leaving = leaving_of(job);
    return leaving > 0 && job.count(TaskStatus::pending) == 0 &&
           job.count(TaskStatus::pipelined) == 0 && job.ready() + leaving >= job.least();
  }
  static int leaving_of(const Job& job) {
    return job.count([](const Task& task) {
      return task.status == TaskStatus::releasing && !task.pod().spec->nodeName.empty();
    });
  }

  // Each try has another number and time; where nothing else is new nothing is written.
  void set(VolcanoGroupStatus& status, std::string_view type, std::string_view reason,
           const std::string& message) const {
    auto at = std::find_if(status.conditions.begin(), status.conditions.end(),
                           [type](const auto& one) { return one.type_ == type; });
    if (at == status.conditions.end())
      at = status.conditions.insert(at, VolcanoGroupCondition{.type_ = std::string(type)});
    if (at->status == "True" && at->reason == reason && at->message == message) return;
    at->status = "True";
    at->reason = reason;
    at->message = message;
    at->transitionID = seen_.id;
    at->lastTransitionTime = seen_.now;
  }

  static std::string phase_of(const Job& job, bool is_unschedulable) {
    if (job.count(TaskStatus::running) > 0 && is_unschedulable) return std::string(in_unknown);
    const int ended = job.count(TaskStatus::succeeded) + job.count(TaskStatus::failed);
    const int placed = ended + leaving_of(job) +
                       job.count([](const Task& task) { return holds_node(task.status); });
    if (placed >= job.least() && placed > 0)
      return std::string(placed == ended ? in_completed : in_running);
    return std::string(job.phase == in_inqueue ? in_inqueue : in_pending);
  }

  void tell(const Job& job, std::string_view phase, bool is_new, const std::string& error) {
    if (phase == in_pending || phase == in_inqueue || phase == in_unknown)
      outcome_.events.push_back(
          {job.group, "Warning", unschedulable,
           fmt::format("{}/{} tasks in gang unschedulable: {}", job.count(TaskStatus::pending),
                       job.tasks.size(), error)});
    else if (is_new)
      outcome_.events.push_back({job.group, "Normal", scheduled, std::string(ready_text)});
    for (const Task& task : job.tasks) {
      if (task.status != TaskStatus::pending && task.status != TaskStatus::pipelined &&
          task.status != TaskStatus::allocated)
        continue;
      if (!task.pod().spec->schedulingGates.empty()) continue;
      const std::string& words =
          !task.message.empty() ? task.message : (!task.error.empty() ? task.error : error);
      outcome_.waiting.push_back(
          {task.info.pod, std::string(task.reason.empty() ? unschedulable : task.reason), words});
    }
  }

  const SessionView& seen_;
  Outcome outcome_{};
  ClusterView view_;
  std::vector<Job> jobs_{};
  ResourceList idle_{}, let_in_{};
  std::map<std::string, ResourceList> taken_{}, let_in_of_{};  // by queue
};

}  // namespace

Outcome run_session(const SessionView& seen) { return Session(seen).run(); }

}  // namespace ddptwin::scheduler::volcano
