#include "controller/t9k/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <tuple>

#include "cluster/pods/placement.hpp"
#include "cluster/scheduler/decision.hpp"
#include "controller/t9k/policy.hpp"
#include "controller/t9k/rules.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller {
namespace t9k {
namespace {

using ddptwin::scheduler::ClusterView;
using ddptwin::scheduler::decide;
using ddptwin::scheduler::has_ended;
using ddptwin::scheduler::PodInfo;
using PodPtr = std::shared_ptr<const Pod>;
namespace json = boost::json;

std::string_view label_of(const Pod& pod, std::string_view key) {
  const Text* value = pod.metadata.label(key);
  return value == nullptr ? std::string_view() : value->view();
}

std::string_view queue_of(const Pod& pod) {
  const std::string_view said = label_of(pod, label::queue);
  return said.empty() ? training_queue : said;
}

// A queue as it stands: what is taken of it.
struct Queue {
  std::string name{};
  const T9kQueue* object = nullptr;  // null: the default one, which needs none
  ResourceList used{};

  int priority() const { return object == nullptr ? 0 : object->spec.priority; }
  bool is_preemptible() const {
    return object == nullptr || object->spec.preemptible.value_or(true);
  }
  // The resource of which it would have more than its quota; empty: none.
  std::string over_quota(const ResourceList& more) const {
    if (object == nullptr || !object->spec.quota) return {};
    for (const auto& [name_of, limit] : *object->spec.quota->requests) {
      Quantity sum;
      if (const auto at = used.find(name_of); at != used.end()) sum += at->second;
      const auto at = more.find(name_of);
      if (at == more.end()) continue;
      sum += at->second;
      if (limit < sum) return name_of;
    }
    return {};
  }
  void take(const ResourceList& more) {
    for (const auto& [name_of, amount] : more) used[name_of] += amount;
  }
};

// Pods that are placed together: a PodGroup's, or one pod by itself.
struct Gang {
  std::string key{};
  const T9kPodGroup* object = nullptr;
  Queue* queue = nullptr;
  int priority = 0;
  int least = 1;
  Time since{};
  std::vector<PodInfo> waiting{};  // in the order of their names
  int placed = 0;
  std::string why{};       // it waits; empty: it has a place
  std::string why_word{};  // of the condition
};

struct Placement {
  const PodInfo* pod;
  std::string node;
};

bool is_waiting(const Pod& pod) {
  return pod.spec->rest->schedulerName == scheduler_name && pod.spec->nodeName.empty() &&
         pod.spec->schedulingGates.empty() && !pod.metadata.deletionTimestamp && !has_ended(pod);
}

Time started(const Pod& pod) {
  if (pod.status.rest->startTime) return *pod.status.rest->startTime;
  return pod.metadata.creationTimestamp.value_or(Time());
}

class Round {
 public:
  Round(const SchedulingView& seen, Time now) : seen_(seen), now_(now) {}

  Plan run() {
    for (const auto& node : seen_.nodes) {
      view_.put_node(node);
      for (const auto& [name, amount] : *node->status.allocatable) total_[name] += amount;
    }
    for (const auto& queue : seen_.queues) queues_[queue->metadata.name.str()].object = queue.get();
    queues_[std::string(training_queue)];
    for (auto& [name, queue] : queues_) queue.name = name;
    for (const PodPtr& pod : seen_.pods) take(pod);
    end_old_pods();
    for (Gang* gang : in_order()) place(*gang);
    for (auto& [key, gang] : gangs_) tell(gang);
    return std::move(plan_);
  }

 private:
  Step& add(const Rule& rule) {
    Step& step = plan_.steps.emplace_back();
    step.rule = &rule;
    return step;
  }

  // Null: there is none of that name.
  Queue* find_queue(std::string_view name) {
    const auto found = queues_.find(name);
    return found == queues_.end() ? nullptr : &found->second;
  }

  const T9kPodGroup* group_of(const Pod& pod) const {
    const std::string_view name = label_of(pod, label::group_name);
    for (const auto& group : seen_.groups)
      if (group->metadata.namespace_ == pod.metadata.namespace_ && group->metadata.name == name)
        return group.get();
    return nullptr;
  }

  Gang& gang_of(const Pod& pod) {
    const T9kPodGroup* group = group_of(pod);
    const ObjectMeta& of = group != nullptr ? group->metadata : pod.metadata;
    const std::string key = fmt::format("{}/{}/{}", group != nullptr ? "group" : "pod",
                                        of.namespace_.view(), of.name.view());
    Gang& gang = gangs_[key];
    if (!gang.key.empty()) return gang;
    gang.key = key;
    gang.object = group;
    gang.queue = find_queue(queue_of(pod));
    gang.since = of.creationTimestamp.value_or(Time());
    if (group == nullptr) return gang;
    gang.least = group->spec.minMember;
    gang.priority = group->spec.priority.value_or(training_priority);
    return gang;
  }

  void take(const PodPtr& pod) {
    const bool is_own = pod->spec->rest->schedulerName == scheduler_name;
    if (is_waiting(*pod)) {
      gang_of(*pod).waiting.emplace_back(pod);
      return;
    }
    if (pod->spec->nodeName.empty() || has_ended(*pod)) return;
    view_.put_pod(pod);
    if (!is_own) return;
    const PodInfo info(pod);
    if (!pod->metadata.deletionTimestamp) {
      ++gang_of(*pod).placed;
      own_.push_back(pod);
    }
    if (Queue* queue = find_queue(queue_of(*pod))) queue->take(info.needs->request);
  }

  // Older than their queue allows (maxDuration).
  void end_old_pods() {
    for (const PodPtr& pod : own_) {
      const Queue* queue = find_queue(queue_of(*pod));
      if (queue == nullptr || queue->object == nullptr) continue;
      const auto limit = queue_duration(queue->object->spec.maxDuration);
      if (!limit) continue;
      const Duration left = started(*pod) + *limit - now_;
      if (left <= Duration::zero())
        remove(rules::end_old_pod, *pod);
      else if (!plan_.requeue_after || left < *plan_.requeue_after)
        plan_.requeue_after = left;
    }
  }

  void remove(const Rule& rule, const Pod& pod) {
    Step& step = add(rule);
    api::DeleteOptions options;
    options.precondition_uid = pod.metadata.uid.str();
    step.request = api::remove(pod, std::move(options));
    step.tolerated = Reason::not_found;
  }

  // The largest part that a queue has of any resource of the cluster.
  double share_of(const Queue& queue) const {
    double share = 0;
    for (const auto& [name, amount] : queue.used)
      if (const auto all = total_.find(name); all != total_.end() && !all->second.zero())
        share = std::max(
            share, static_cast<double>(amount.nanos()) / static_cast<double>(all->second.nanos()));
    return share;
  }

  // Queues by priority, then by share; in a queue groups by priority, then by age.
  std::vector<Gang*> in_order() {
    std::vector<Gang*> all;
    for (auto& [key, gang] : gangs_)
      if (!gang.waiting.empty()) all.push_back(&gang);
    const auto rank = [this](const Gang& gang) {
      const bool known = gang.queue != nullptr;
      return std::tuple(known ? -gang.queue->priority() : 0, known ? share_of(*gang.queue) : 0.0,
                        known ? gang.queue->name : std::string(), -gang.priority, gang.since,
                        gang.key);
    };
    std::sort(all.begin(), all.end(),
              [&rank](const Gang* a, const Gang* b) { return rank(*a) < rank(*b); });
    return all;
  }

  // ---- one gang --------------------------------------------------------------------------------

  void wait(Gang& gang, std::string_view word, std::string why) {
    gang.why_word = word;
    gang.why = std::move(why);
  }

  void place(Gang& gang) {
    if (gang.queue == nullptr)
      return wait(gang, "QueueNotFound",
                  fmt::format("queue \"{}\" not found", queue_of(*gang.waiting.front().pod)));
    const auto there = static_cast<int>(gang.waiting.size()) + gang.placed;
    if (there < gang.least)
      return wait(gang, "NotEnoughMembers",
                  fmt::format("{} of {} members of the group exist", there, gang.least));
    ClusterView trial = view_;
    restrict(*gang.queue, trial);
    std::string over;
    const auto placements = fit(gang, trial, over);
    if (static_cast<int>(placements.size()) + gang.placed >= gang.least && !placements.empty())
      return commit(gang, placements);
    if (!over.empty())
      return wait(gang, "OverQuota",
                  fmt::format("queue \"{}\" has no quota left of {}", gang.queue->name, over));
    wait(gang, "NotEnoughResources",
         fmt::format("the nodes have no room for {} pods together", gang.least - gang.placed));
    preempt(gang);
  }

  // Nodes that the queue may not use are none.
  void restrict(const Queue& queue, ClusterView& view) const {
    if (queue.object == nullptr) return;
    const StringMap& wanted = *queue.object->spec.nodeSelector;
    for (const auto& node : seen_.nodes)
      for (const auto& [key, value] : wanted) {
        const Text* has = node->metadata.label(key);
        if (has == nullptr || *has != value) view.drop_node(node->metadata.name.str());
      }
  }

  // As many as go, one after the other.
  static std::vector<Placement> fit(const Gang& gang, ClusterView& view, std::string& over) {
    std::vector<Placement> placements;
    Queue queue = *gang.queue;
    for (const PodInfo& pod : gang.waiting) {
      const std::string lacks = queue.over_quota(pod.needs->request);
      if (!lacks.empty()) {
        over = lacks;
        continue;
      }
      const auto decision = decide(pod, view);
      if (decision.node.empty()) continue;
      view.try_add(decision.node, pod);
      queue.take(pod.needs->request);
      placements.push_back({&pod, decision.node});
    }
    return placements;
  }

  void commit(Gang& gang, const std::vector<Placement>& placements) {
    for (const Placement& one : placements) {
      view_.try_add(one.node, *one.pod);
      gang.queue->take(one.pod->needs->request);
      Step& step = add(rules::place_pod);
      step.request = api::bind(*one.pod->pod, one.node);
      step.expected.push_back(
          {.when = Expected::When::unless_refused, .key = seen_.expectation_key, .adds = 1});
      ++gang.placed;
    }
    if (placements.size() < gang.waiting.size())
      wait(gang, "NotEnoughResources", "the nodes or the quota have no room for more");
  }

  // ---- preemption ------------------------------------------------------------------------------

  // Pods of queues of lower priority that may be preempted, the least important first.
  std::vector<PodPtr> victims_of(const Gang& gang) {
    std::vector<PodPtr> found;
    for (const PodPtr& pod : own_) {
      const Queue* queue = find_queue(queue_of(*pod));
      if (queue != nullptr && queue->priority() < gang.queue->priority() && queue->is_preemptible())
        found.push_back(pod);
    }
    const auto rank = [this](const Pod& pod) {
      const T9kPodGroup* group = group_of(pod);
      const int own = group == nullptr ? 0 : group->spec.priority.value_or(training_priority);
      return std::tuple(find_queue(queue_of(pod))->priority(), own,
                        Time() - pod.metadata.creationTimestamp.value_or(Time()),
                        key_of(pod.metadata));
    };
    std::sort(found.begin(), found.end(),
              [&rank](const PodPtr& a, const PodPtr& b) { return rank(*a) < rank(*b); });
    return found;
  }

  bool fits_without(const Gang& gang, const std::vector<PodPtr>& gone) const {
    ClusterView trial = view_;
    for (const auto* some : {&leaving_, &gone})
      for (const PodPtr& pod : *some) trial.drop_pod(key_of(pod->metadata));
    for (const PodPtr& pod : seen_.pods)  // who is leaving makes room by itself
      if (pod->metadata.deletionTimestamp) trial.drop_pod(key_of(pod->metadata));
    restrict(*gang.queue, trial);
    std::string over;
    return static_cast<int>(fit(gang, trial, over).size()) + gang.placed >= gang.least;
  }

  // As few as make room for the gang; none where all of them would not.
  void preempt(Gang& gang) {
    if (fits_without(gang, {})) return;
    std::vector<PodPtr> victims;
    bool enough = false;
    for (const PodPtr& pod : victims_of(gang)) {
      victims.push_back(pod);
      enough = fits_without(gang, victims);
      if (enough) break;
    }
    if (!enough) return;
    for (std::size_t i = victims.size(); i-- > 0;) {
      std::vector<PodPtr> fewer = victims;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (fits_without(gang, fewer)) victims = std::move(fewer);
    }
    for (const PodPtr& pod : victims) {
      remove(rules::preempt_pod, *pod);
      leaving_.push_back(pod);
      std::erase(own_, pod);
    }
  }

  // ---- what is told ----------------------------------------------------------------------------

  static void set(T9kPodGroupStatus& status, std::string_view type, bool value,
                  std::string_view reason, std::string_view message, Time now) {
    auto at = std::find_if(status.conditions.begin(), status.conditions.end(),
                           [type](const auto& one) { return one.type_ == type; });
    if (at == status.conditions.end())
      at = status.conditions.insert(at, T9kPodGroupCondition{.type_ = std::string(type)});
    const std::string_view text = value ? "True" : "False";
    if (at->status != text) at->lastTransitionTime = now;
    at->status = text;
    at->reason = reason;
    at->message = message;
  }

  void tell(const Gang& gang) {
    if (gang.object != nullptr) tell_group(gang);
    for (const PodInfo& pod : gang.waiting) {
      const bool has_place =
          std::any_of(plan_.steps.begin(), plan_.steps.end(), [&pod](const Step& step) {
            return step.rule == &rules::place_pod &&
                   step.request->target.name == pod.pod->metadata.name &&
                   step.request->target.namespace_ == pod.pod->metadata.namespace_;
          });
      if (!has_place) tell_pod(*pod.pod, gang.why);
    }
  }

  void tell_group(const Gang& gang) {
    T9kPodGroupStatus status = gang.object->status.value_or(T9kPodGroupStatus());
    const auto there = static_cast<int>(gang.waiting.size()) + gang.placed;
    set(status, "SufficientGroupMember", there >= gang.least,
        there >= gang.least ? "SufficientMemberPods" : "NotEnoughMembers",
        fmt::format("{} of {} members exist", there, gang.least), now_);
    const bool placed = gang.placed >= gang.least;
    set(status, "GroupScheduled", placed, placed ? "PodGroupScheduled" : gang.why_word,
        placed ? "Resources have been allocated to PodGroup" : std::string_view(gang.why), now_);
    if (gang.object->status == status) return;
    auto changed = std::static_pointer_cast<T9kPodGroup>(gang.object->clone());
    changed->status = std::move(status);
    Step& step = add(rules::write_group);
    step.request = api::update(std::move(changed), "status");
    step.tolerated = Reason::conflict;
  }

  void tell_pod(const Pod& pod, std::string_view why) {
    const PodCondition* old = pod.status.condition("PodScheduled");
    if (old != nullptr && old->status == "False" && old->message == why) return;
    PodCondition told;
    told.type_ = "PodScheduled";
    told.status = "False";
    told.reason = "Unschedulable";
    told.message = why;
    told.lastTransitionTime =
        old != nullptr && old->status == "False" ? old->lastTransitionTime : OptionalTime(now_);
    Step& step = add(rules::tell_waiting_pod);
    step.request = api::patch(
        pod, api::PatchType::strategic,
        json::object{{"status", json::object{{"conditions", json::array{to_json(told)}}}}},
        "status");
    step.tolerated = Reason::not_found;
  }

  const SchedulingView& seen_;
  Time now_;
  Plan plan_{};
  ClusterView view_{};
  ResourceList total_{};
  std::map<std::string, Queue, std::less<>> queues_{};
  std::map<std::string, Gang, std::less<>> gangs_{};
  std::vector<PodPtr> own_{};      // placed by this scheduler, and staying
  std::vector<PodPtr> leaving_{};  // preempted in this round
};

}  // namespace

Plan schedule(const SchedulingView& seen, Time now) { return Round(seen, now).run(); }

std::optional<Duration> queue_duration(std::string_view text) {
  using namespace std::chrono;
  constexpr std::array<std::pair<std::string_view, Duration>, 7> units{{{"ms", milliseconds(1)},
                                                                        {"y", hours(24 * 365)},
                                                                        {"w", hours(24 * 7)},
                                                                        {"d", hours(24)},
                                                                        {"h", hours(1)},
                                                                        {"m", minutes(1)},
                                                                        {"s", seconds(1)}}};
  if (text.empty()) return std::nullopt;
  Duration sum{};
  while (!text.empty()) {
    const auto number = take_number<std::int64_t>(text);
    const auto unit = std::find_if(units.begin(), units.end(),
                                   [text](const auto& one) { return text.starts_with(one.first); });
    if (!number || unit == units.end()) return std::nullopt;
    sum += *number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  return sum;
}

std::optional<std::string> refusal_of_queue(std::string_view name, const T9kQueue* queue) {
  if (queue != nullptr && queue->spec.closed)
    return fmt::format("queue \"{}\" is closed: it takes no new workloads", name);
  return std::nullopt;
}

}  // namespace t9k

namespace {

// All of it is one thing to be looked at.
const KeyParts& whole_cluster() {
  static constexpr KeyParts parts{"", "cluster"};
  return parts;
}

}  // namespace

std::vector<Watched> T9kSchedulerController::watches(const KindRegistry&) const {
  return {
      {&Pod::info(), {}}, {&Node::info(), {}}, {&T9kPodGroup::info(), {}}, {&T9kQueue::info(), {}}};
}

Reaction T9kSchedulerController::observe(const Change& change, const Cache&,
                                         Expectations& expectations, Time) {
  const Pod* pod = as<Pod>(change.object());
  const bool was_waiting = pod != nullptr && change.before &&
                           pod->spec->rest->schedulerName == t9k::scheduler_name &&
                           static_cast<const Pod&>(*change.before).spec->nodeName.empty();
  if (was_waiting && (!change.after || !pod->spec->nodeName.empty()))
    expectations.lower(joined_key(whole_cluster()), 1, 0);
  return Reaction::to_wake(whole_cluster());
}

Plan T9kSchedulerController::plan(const Key& key, const Observed& seen, Time now) const {
  if (!seen.expectations.satisfied(key, now)) return {};
  t9k::SchedulingView view;
  view.nodes = seen.cache.list<Node>("");
  view.pods = seen.cache.list<Pod>("");
  view.groups = seen.cache.list<T9kPodGroup>("");
  view.queues = seen.cache.list<T9kQueue>("");
  view.expectation_key = key;
  return t9k::schedule(view, now);
}

}  // namespace ddptwin::controller
