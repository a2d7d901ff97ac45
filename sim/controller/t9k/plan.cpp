#include "controller/t9k/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "controller/t9k/rules.hpp"
#include "controller/t9k/status.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::t9k {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

// One index of a group: its pod, and what the status has kept of it.
struct Replica {
  Place place{};
  std::string name{};
  std::string_view policy{};
  PodPtr pod{};  // null: there is none
  TaskReplica record{};
  bool to_make = false;    // once its pod is gone
  bool to_remove = false;  // its pod, for a restart
  bool left_over = false;  // its pod, from before a resume
  // It stands, and nobody has asked for its deletion: only then it is judged (§6).
  bool is_live() const { return pod != nullptr && !pod->metadata.deletionTimestamp; }
  bool is_counted() const {
    return !record.lastRestartedUID.empty() && record.lastRestartedUID == record.uid;
  }
};

std::string phase_of(const Pod& pod) {
  return pod.status.phase.empty() ? std::string("Pending") : pod.status.phase.str();
}

class Pass {
 public:
  Pass(const View& seen, Time now)
      : seen_(seen),
        job_(*seen.job),
        spec_(*seen.job->spec),
        now_(now),
        status_(seen.job->status.value_or(PyTorchTrainingJobStatus())) {
    plan_.about = seen.job;
  }

  Plan run() {
    if (job_.metadata.deletionTimestamp) return only(rules::job_is_being_deleted);
    if (!seen_.shows_own_write) return only(rules::await_own_write);
    if (!seen_.expectations_met) return only(rules::expectations_unmet);
    const bool finished = is_finished(status_);
    collect(finished);
    if (finished)
      clean_up();
    else
      go_on();
    finish_status(is_finished(status_));
    put_together();
    return std::move(plan_);
  }

 private:
  // ---- what there is ---------------------------------------------------------------------------

  Plan only(const Rule& rule) {
    plan_.steps.emplace_back().rule = &rule;
    return std::move(plan_);
  }

  // The target set; of a finished job what its status has (§5, §8).
  void collect(bool finished) {
    sizes_ = targets(spec_);
    if (finished)
      for (std::size_t i = 0; i < sizes_.size() && i < status_.tasks.size(); ++i)
        sizes_[i] = static_cast<int>(status_.tasks[i].replicas.size());
    for (std::size_t group = 0; group < sizes_.size(); ++group) {
      const PyTorchTrainingJobReplicas& of = spec_.replicaSpecs[group];
      const TrainingTask* task = status_.task(of.type_);
      for (int index = 0; index < sizes_[group]; ++index) {
        Replica& one = replicas_.emplace_back();
        one.place = {group, index};
        one.name = replica_name(job_, of.type_, index);
        one.policy = restart_policy(of);
        if (const auto pod = seen_.pods.find(one.name); pod != seen_.pods.end())
          one.pod = pod->second;
        const auto at = static_cast<std::size_t>(index);
        if (task != nullptr && at < task->replicas.size()) one.record = task->replicas[at];
        one.record.name = one.name;
        wanted_.insert(one.name);
      }
    }
  }

  const PodSpec& template_of(const Replica& one) const {
    return *spec_.replicaSpecs[one.place.group].template_.spec;
  }

  // ---- steps -----------------------------------------------------------------------------------

  static Step& add(std::vector<Step>& to, const Rule& rule) {
    Step& step = to.emplace_back();
    step.rule = &rule;
    return step;
  }

  // A rule that asks for no call, and perhaps an Event, once the status is written.
  void tell(const Rule& rule, std::string_view type, std::string_view reason, std::string message) {
    Step& step = add(told_, rule);
    step.text = message;
    if (!reason.empty()) step.event = EventText{type, Text(reason), Text(message)};
  }

  void create(std::vector<Step>& to, const Rule& rule, std::shared_ptr<Object> object) {
    Step& step = add(to, rule);
    step.refusal.emplace() = {
        Text("FailedCreate"),
        fmt::format("Error creating {} {}: ", object->kind().kind, object->metadata.name.view()),
        {}};
    step.expected.push_back(
        {.when = Expected::When::unless_refused, .key = seen_.expectation_key, .adds = 1});
    step.request = api::create(std::move(object));
  }

  // That very object, which may be gone already.
  static void remove(std::vector<Step>& to, const Rule& rule, const Object& object) {
    Step& step = add(to, rule);
    api::DeleteOptions options;
    options.precondition_uid = object.metadata.uid.str();
    step.request = api::remove(object, std::move(options));
    step.tolerated = Reason::not_found;
  }

  // ---- a job that goes on ----------------------------------------------------------------------

  void go_on() {
    const bool is_new = !seen_.job->status;
    if (is_new)
      tell(rules::created, "Normal", "Created",
           fmt::format("A PyTorchTrainingJob has been created: {}", job_.metadata.name.view()));
    if (is_new && ignores_elastic(spec_))
      tell(rules::elastic_ignored, "Warning", "ElasticIgnored",
           "spec.elastic has no effect without torchrunConfig.enabled: the size is that of "
           "replicaSpecs");
    make_parts();
    if (const Replica& master = replicas_.front();
        master.is_live() && master.pod->status.phase == "Succeeded")
      return end(rules::master_succeeded, true, words::succeeded);
    if (is_paused(spec_)) return pause();
    if (was_paused(status_) && status_.is_true(condition::paused)) resume();
    if (is_too_long()) return end(rules::deadline_reached, false, words::too_long);
    judge_replicas();
    if (is_finished(status_)) return;
    scale(is_new);
    for (const Replica& one : replicas_)
      if (one.to_make && one.pod == nullptr)
        create(last_, rules::create_missing_pod, pod_of(job_, one.place, was_paused(status_)));
    initialize();
    // What is due is looked at when it is.
    if (const auto left = time_left()) plan_.requeue_after = *left;
  }

  // Services first: who starts looks for its master's name.
  void make_parts() {
    for (const Replica& one : replicas_)
      if (!seen_.services.contains(one.name))
        create(plan_.steps, rules::create_service, service_of(job_, one.place));
    if (t9k_scheduler(spec_) != nullptr && !seen_.has_pod_group)
      create(plan_.steps, rules::create_pod_group, pod_group_of(job_));
    if (!spec_.tensorboardSpec.absent() && seen_.tensorboard == nullptr)
      create(plan_.steps, rules::create_tensorboard, tensorboard_of(job_));
    has_parts_ = plan_.steps.empty();
  }

  void end(const Rule& rule, bool succeeded, Words words) {
    tell(rule, succeeded ? "Normal" : "Warning", words.reason, std::string(words.message));
    set(condition::running, false, words);
    set(condition::failed, !succeeded, words);
    set(condition::completed, succeeded, words);
  }

  void set(std::string_view type, bool value, Words words) {
    set_condition(status_, type, value, words, now_);
  }

  void pause() {
    if (!status_.is_true(condition::paused))
      tell(rules::paused, "Normal", words::paused.reason, std::string(words::paused.message));
    set(condition::paused, true, words::paused);
    set(condition::running, false, words::paused);
    set(condition::replica_failure, false, words::well);
    status_.startTime = std::nullopt;  // PROPOSED (G20)
    for (const auto& [name, pod] : seen_.pods)
      if (!pod->metadata.deletionTimestamp) remove(last_, rules::remove_paused_pod, *pod);
    initialize();
  }

  // All replicas are made again, also those that had ended (§11).
  void resume() {
    tell(rules::resumed, "Normal", words::resumed.reason, std::string(words::resumed.message));
    set(condition::paused, false, words::resumed);
    if (status_.is_true(condition::initialized)) status_.startTime = now_;
    for (Replica& one : replicas_) {
      one.record = TaskReplica{.name = one.name, .phase = std::string(phase::creating)};
      if (!one.is_live()) continue;
      one.to_remove = one.left_over = true;
      remove(last_, rules::remove_paused_pod, *one.pod);
    }
  }

  std::optional<Duration> time_left() const {
    const auto& limit = spec_.runPolicy.activeDeadlineSeconds;
    if (!limit || !status_.startTime) return std::nullopt;
    return *status_.startTime + std::chrono::seconds(*limit) - now_;
  }
  bool is_too_long() const {
    const auto left = time_left();
    return left && *left <= Duration::zero();
  }

  // Master first, then in their order: so the budget goes (§6; PROPOSED, G16).
  void judge_replicas() {
    for (Replica& one : replicas_) {
      if (one.to_remove) continue;
      if (one.is_live())
        judge(one);
      else
        judge_lost(one);
      if (is_finished(status_)) return;
    }
  }

  void judge(Replica& one) {
    if (!is_terminal_phase(one.pod->status.phase)) return;
    const std::string uid = one.pod->metadata.uid.str();
    const End how{one.pod->status.phase == "Failed", exit_code_of(*one.pod)};
    if (one.record.lastRestartedUID == uid || may_restart(one, how, uid)) {
      one.to_remove = true;
      remove(last_, rules::replace_pod, *one.pod);
    } else if (how.failed && one.place.is_master()) {
      note_failure(one, how.exit_code);
      end(rules::master_failed, false, words::failed);
    }
  }

  // Its pod was taken away: the phase that was told last decides (§7; PROPOSED, G14).
  void judge_lost(Replica& one) {
    const TaskReplica& record = one.record;
    one.to_make = record.phase != phase::deleted;
    if (!is_terminal_phase(record.phase) || one.is_counted()) return;
    const End how{record.phase == "Failed", exit_code_of(record, template_of(one))};
    one.to_make = how.failed && may_restart(one, how, record.uid);
  }

  // Counts the restart where policy and budget allow it. The count is written, with the pod that it
  // is of, before that goes: a crash between the two counts once.
  bool may_restart(Replica& one, const End& how, const std::string& uid) {
    if (!wants_restart(one.policy, how) || status_.backoffCount >= backoff_limit(spec_))
      return false;
    ++status_.backoffCount;
    ++restarts_[one.place.group];
    one.record.lastRestartedUID = uid;
    tell(rules::restart_replica, "Normal", "ReplicaRestarted",
         fmt::format("Replica {} is restarted: {} of {} restarts", one.name, status_.backoffCount,
                     backoff_limit(spec_)));
    return true;
  }

  void note_failure(const Replica& one, std::optional<int> exit_code) {
    failure_ = failure_text(one.name, exit_code);
  }

  void scale(bool is_new) {
    int before = 0;
    for (const TrainingTask& task : status_.tasks) before += static_cast<int>(task.replicas.size());
    const int now = sum_of(sizes_);
    if (!is_new && before != now && !status_.tasks.empty())
      tell(rules::scaled, "Normal", "Scaled",
           fmt::format("Scaled from {} to {} replicas", before, now));
    remove_surplus();
  }

  void remove_surplus() {
    for (const auto& [name, pod] : seen_.pods)
      if (!wanted_.contains(name) && !pod->metadata.deletionTimestamp)
        remove(last_, rules::remove_surplus, *pod);
    for (const auto& [name, service] : seen_.services)
      if (!wanted_.contains(name) && !service->metadata.deletionTimestamp)
        remove(last_, rules::remove_surplus, *service);
  }

  // Once all that the mode calls for is there (§6). PROPOSED (G20): then the time begins to run.
  void initialize() {
    if (status_.is_true(condition::initialized) || !has_parts_) return;
    const bool waits = std::any_of(replicas_.begin(), replicas_.end(), [](const Replica& one) {
      return one.to_make && one.pod == nullptr;
    });
    if (waits) return;
    set(condition::initialized, true, words::initialized);
    if (status_.condition(condition::replica_failure) == nullptr)
      set(condition::replica_failure, false, words::well);
    if (!is_paused(spec_)) status_.startTime = now_;
    tell(rules::initialized, "Normal", "Start", std::string(words::initialized.message));
  }

  // ---- a job that has ended --------------------------------------------------------------------

  void clean_up() {
    const std::string_view policy = clean_up_policy(spec_);
    if (policy == "None") return;
    std::set<std::string, std::less<>> stay;
    for (const auto& [name, pod] : seen_.pods) {
      if (pod->metadata.deletionTimestamp) continue;
      if (is_deleted_by_clean_up(policy, pod->status.phase))
        remove(last_, rules::clean_up, *pod);
      else
        stay.insert(name);
    }
    for (const auto& [name, service] : seen_.services)
      if (!stay.contains(name) && !service->metadata.deletionTimestamp)
        remove(last_, rules::clean_up, *service);
  }

  // ---- the status ------------------------------------------------------------------------------

  // §5.
  void describe(Replica& one, bool finished) {
    const bool had_failed = one.record.phase == "Failed";
    if (one.is_live() && !one.left_over) {
      one.record.uid = one.pod->metadata.uid.str();
      one.record.containers = containers_of(*one.pod);
      const std::string now = phase_of(*one.pod);
      if (now == "Failed" && !had_failed) {
        const std::string text = failure_text(one.name, exit_code_of(*one.pod));
        tell(rules::replica_failed, "Warning", "ReplicaFailed", text);
      }
      one.record.phase = now;
    } else if (finished || is_paused(spec_) || !(one.to_make || one.to_remove)) {
      one.record.phase = phase::deleted;
    } else {
      one.record = TaskReplica{.name = one.name,
                               .phase = std::string(phase::creating),
                               .lastRestartedUID = one.record.lastRestartedUID};
    }
  }

  void finish_status(bool finished) {
    std::vector<TrainingTask> tasks;
    for (std::size_t group = 0; group < sizes_.size(); ++group) {
      const std::string& type = spec_.replicaSpecs[group].type_;
      const TrainingTask* before = status_.task(type);
      TrainingTask& task = tasks.emplace_back(TrainingTask{.type_ = type});
      task.restartCount = (before != nullptr ? before->restartCount : 0) + restarts_[group];
    }
    for (Replica& one : replicas_) {
      describe(one, finished);
      tasks[one.place.group].replicas.push_back(one.record);
    }
    status_.tasks = std::move(tasks);
    judge_failures(finished);
    if (!finished && !is_paused(spec_) && !status_.is_true(condition::running) && is_running())
      set(condition::running, true, words::well);
    status_.tensorboard.reset();
    if (!spec_.tensorboardSpec.absent())
      status_.tensorboard = tensorboard_status(base_name(job_), seen_.tensorboard.get());
    sum_up(status_, spec_);
  }

  // PROPOSED (G17).
  bool is_running() const {
    const auto runs = std::count_if(replicas_.begin(), replicas_.end(), [](const Replica& one) {
      return one.record.phase == "Running" || one.record.phase == "Succeeded";
    });
    return runs >= running_needed(spec_);
  }

  // It has failed, or stands where one has and does not run yet.
  static bool is_unwell(const Replica& one) {
    const std::string_view now = one.record.phase;
    if (now == "Failed") return true;
    if (now == phase::creating || now == "Pending") return !one.record.lastRestartedUID.empty();
    return now == phase::deleted &&
           std::any_of(one.record.containers.begin(), one.record.containers.end(),
                       [](const TaskContainer& c) { return c.exitCode.value_or(0) != 0; });
  }

  void judge_failures(bool finished) {
    const TrainingCondition* was = status_.condition(condition::replica_failure);
    const bool was_true = was != nullptr && was->status == "True";
    if (finished || is_paused(spec_)) {
      // Only a master's failure is news by then.
      if (!failure_.empty())
        set(condition::replica_failure, true, {words::replica_failure, failure_});
      return;
    }
    if (failure_.empty()) {
      const auto failed = std::find_if(replicas_.begin(), replicas_.end(), [](const Replica& one) {
        return one.record.phase == "Failed";
      });
      if (failed != replicas_.end())
        failure_ = failure_text(failed->name, exit_code_of(failed->record, template_of(*failed)));
    }
    if (!failure_.empty())
      set(condition::replica_failure, true, {words::replica_failure, failure_});
    else if (was_true && std::none_of(replicas_.begin(), replicas_.end(), &is_unwell))
      set(condition::replica_failure, false, words::well);
  }

  // The parts, the status in one write, what is told of it, and then what it has counted.
  void put_together() {
    auto& steps = plan_.steps;
    if (seen_.job->status != status_) {
      auto changed = std::static_pointer_cast<PyTorchTrainingJob>(job_.clone());
      changed->status = status_;
      add(steps, rules::write_status).request = api::update(std::move(changed), "status");
    }
    for (auto* more : {&told_, &last_})
      for (Step& step : *more) steps.push_back(std::move(step));
  }

  const View& seen_;
  const PyTorchTrainingJob& job_;
  const PyTorchTrainingJobSpec& spec_;
  Time now_;
  Plan plan_{};
  PyTorchTrainingJobStatus status_;
  std::vector<int> sizes_{};
  std::vector<Replica> replicas_{};
  std::set<std::string, std::less<>> wanted_{};  // names of replicas
  std::map<std::size_t, int> restarts_{};        // counted in this pass, by group
  std::vector<Step> told_{}, last_{};            // after the status is written
  std::string failure_{};                        // what ReplicaFailure says
  bool has_parts_ = false;
};

}  // namespace

Plan plan(const View& seen, Time now) {
  if (seen.job) return Pass(seen, now).run();
  Plan nothing;
  nothing.steps.emplace_back().rule = &rules::job_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::t9k
