#include "controller/jobset/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <numeric>

#include "controller/jobset/conditions.hpp"
#include "controller/jobset/names.hpp"
#include "controller/jobset/objects.hpp"
#include "controller/jobset/rules.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::jobset {
namespace {

namespace json = boost::json;

// Its Jobs by what became of them; those of a run before this one are none of the others.
struct Children {
  std::vector<JobPtr> active{}, successful{}, failed{}, previous{};
};

std::string label_of(const Job& job, std::string_view key) {
  const Text* found = job.metadata.label(key);
  return found == nullptr ? std::string() : found->str();
}

// As many pods as it has at once are ready or have done their work.
bool is_ready(const Job& job) {
  const std::int32_t at_once = job.spec->parallelism.value_or(1);
  const std::int32_t pods = std::min(at_once, job.spec->completions.value_or(at_once));
  return job.status.succeeded + job.status.ready.value_or(0) >= pods;
}

std::string with_first_failed(std::string_view message, const Job& job) {
  return fmt::format("{} (first failed job: {})", message, job.metadata.name.view());
}

// What the template says is the Job's, beside what others have given it meanwhile.
void merge_into(StringMap& to, const StringMap& from) {
  for (const auto& [key, value] : from) to.insert_or_assign(key, value);
}
template <class T>
void merge_into(Cow<std::vector<T>>& to, const Cow<std::vector<T>>& from) {
  for (const T& one : from)
    if (std::none_of(to.begin(), to.end(), [&one](const T& there) { return equal(there, one); }))
      to.edit().push_back(one);
}

// One pass. It looks at nothing but the view, and a status that it writes at its end.
class Pass {
 public:
  Pass(const View& seen, const Profile& profile, Time now)
      : seen_(seen),
        set_(*seen.set),
        spec_(*seen.set->spec),
        profile_(profile),
        now_(now),
        status_(seen.set->status.value_or(JobSetStatus())) {}

  Plan run() {
    plan_.about = seen_.set;
    if (set_.metadata.deletionTimestamp) return only(rules::set_is_being_deleted);
    if (spec_.managedBy && *spec_.managedBy != controller_name)
      return only(rules::managed_elsewhere);
    if (!sort_jobs()) return std::move(plan_);
    count_jobs();
    look_after();
    write_status();
    return std::move(plan_);
  }

 private:
  Plan only(const Rule& rule) {
    add(rule);
    return std::move(plan_);
  }

  Step& add(const Rule& rule) {
    Step& step = plan_.steps.emplace_back();
    step.rule = &rule;
    return step;
  }

  // ---- what there is ---------------------------------------------------------------------------

  bool sort_jobs() {
    for (const JobPtr& job : seen_.jobs) {
      const auto previous = is_previous(*job);
      if (!previous) {
        add(rules::label_is_no_number).text = previous.error().message;
        plan_.error = previous.error();
        return false;
      }
      auto& place = *previous                         ? jobs_.previous
                    : job->status.is_true("Failed")   ? jobs_.failed
                    : job->status.is_true("Complete") ? jobs_.successful
                                                      : jobs_.active;
      place.push_back(job);
    }
    return true;
  }

  static Result<std::int32_t> number_of(const Job& job, std::string_view key) {
    const auto number = whole_number<std::int32_t>(label_of(job, key));
    if (!number)
      return fail(Reason::bad_input,
                  fmt::format("label {} of {} is no number", key, job.metadata.name.view()));
    return *number;
  }

  Result<bool> is_previous(const Job& job) const {
    TRY(const std::int32_t attempt, number_of(job, keys::restart_attempt));
    if (attempt < status_.restarts) return true;
    if (!profile_.restart_job || job.metadata.label(keys::job_restart_attempt) == nullptr)
      return false;
    TRY(const std::int32_t own, number_of(job, keys::job_restart_attempt));
    TRY(const std::int32_t index, number_of(job, keys::job_index));
    const auto wanted = job_restarts_of(set_, label_of(job, keys::replicated_job));
    if (index < 0 || static_cast<std::size_t>(index) >= wanted.size())
      return fail(Reason::bad_input,
                  fmt::format("job index {} is out of bounds for replicated job {}", index,
                              label_of(job, keys::replicated_job)));
    return own < wanted[static_cast<std::size_t>(index)];
  }

  ReplicatedJobStatus* counters_of(std::string_view replicated_job) {
    for (ReplicatedJobStatus& one : counted_)
      if (one.name == replicated_job) return &one;
    return nullptr;
  }

  void count_jobs() {
    for (const ReplicatedJob& one : spec_.replicatedJobs) {
      ReplicatedJobStatus& made = counted_.emplace_back();
      made.name = one.name;
      if (!profile_.restart_job) continue;
      for (const ReplicatedJobStatus& before : status_.replicatedJobsStatus)
        if (before.name == one.name) {
          made.jobRestarts = before.jobRestarts;
          made.jobRestartsCountTowardsMax = before.jobRestartsCountTowardsMax;
        }
    }
    std::sort(counted_.begin(), counted_.end(),
              [](const auto& a, const auto& b) { return a.name > b.name; });
    const auto count = [this](const std::vector<JobPtr>& jobs, const auto& note) {
      for (const JobPtr& job : jobs)
        if (ReplicatedJobStatus* of = counters_of(label_of(*job, keys::replicated_job)))
          note(*job, *of);
    };
    count(jobs_.active, [](const Job& job, ReplicatedJobStatus& of) {
      of.ready += is_ready(job) ? 1 : 0;
      of.active += job.status.active > 0 ? 1 : 0;
      of.suspended += job.spec->is_suspended() ? 1 : 0;
    });
    count(jobs_.successful, [](const Job&, ReplicatedJobStatus& of) { ++of.succeeded; });
    count(jobs_.failed, [](const Job&, ReplicatedJobStatus& of) { ++of.failed; });
    if (status_.replicatedJobsStatus == counted_) return;
    status_.replicatedJobsStatus = counted_;
    changed_ = true;
  }

  // ---- what is to be done ----------------------------------------------------------------------

  void look_after() {
    if (status_.is_finished()) return end();
    remove(jobs_.previous, rules::delete_previous);
    if (!spec_.is_suspended() && are_all_ready())
      set_restarting(rules::all_are_ready, condition::ready);
    if (!jobs_.failed.empty()) return answer_failure();
    if (!jobs_.successful.empty() && is_complete()) return complete();
    create_service();
    create_claims();
    if (profile_.elastic) scale();
    create_jobs();
    if (spec_.is_suspended())
      suspend();
    else
      resume();
  }

  void end() {
    remove(jobs_.active, rules::delete_after_end);
    if (!spec_.ttlSecondsAfterFinished) return;
    OptionalTime since;
    for (const JobSetCondition& one : status_.conditions)
      if ((one.type_ == "Completed" || one.type_ == "Failed") && one.status == "True" && !since)
        since = one.lastTransitionTime;
    if (!since) return;
    const Time due = *since + std::chrono::seconds(*spec_.ttlSecondsAfterFinished);
    if (due > now_) {
      add(rules::await_ttl);
      plan_.requeue_after = due - now_;
      return;
    }
    Step& step = add(rules::ttl_is_over);
    step.request = api::remove(set_, {.propagation = api::Propagation::foreground});
  }

  void remove(const std::vector<JobPtr>& jobs, const Rule& rule) {
    for (const JobPtr& job : jobs) {
      if (job->metadata.deletionTimestamp) continue;
      Step& step = add(rule);
      step.request = api::remove(*job, {.propagation = api::Propagation::foreground});
      step.tolerated = Reason::not_found;
    }
  }

  bool are_all_ready() const {
    std::int64_t wanted = 0, ready = 0;
    for (const ReplicatedJob& one : spec_.replicatedJobs) wanted += one.replicas;
    for (const ReplicatedJobStatus& one : counted_) ready += one.ready + one.succeeded;
    return wanted == ready;
  }

  // ---- conditions ------------------------------------------------------------------------------

  // What is told once the status is written.
  void tell_later(std::string_view type, std::string reason, std::string message) {
    events_.push_back(EventText{type, Text(reason), Text(message)});
  }

  void set(const Rule& rule, const ConditionRow& row, std::string reason, std::string message) {
    JobSetCondition wanted;
    wanted.type_ = row.type;
    wanted.status = row.holds ? "True" : "False";
    wanted.reason = reason;
    wanted.message = message;
    if (!set_condition(status_, std::move(wanted), now_)) return;
    changed_ = true;
    add(rule).text = Text(reason);
    tell_later(row.event, std::move(reason), std::move(message));
  }
  void set(const Rule& rule, const ConditionRow& row) {
    set(rule, row, std::string(row.reason), std::string(row.message));
  }
  void set_restarting(const Rule& rule, const ConditionRow& row) {
    if (profile_.tells_restarting) set(rule, row);
  }

  void fail_set(const Rule& rule, const ConditionRow& row, const Job& job) {
    set(rule, row, std::string(row.reason), with_first_failed(row.message, job));
    set_restarting(rule, condition::ended_failed);
    status_.terminalState = "Failed";
  }

  void complete() {
    set(rules::success_policy_met, condition::completed);
    set_restarting(rules::success_policy_met, condition::ended_completed);
    status_.terminalState = "Completed";
  }

  // ---- success and failure ---------------------------------------------------------------------

  bool is_complete() const {
    const JobSetSuccessPolicy policy = spec_.successPolicy.value_or(JobSetSuccessPolicy());
    const auto is_meant = [&policy](std::string_view name) {
      const auto& targets = policy.targetReplicatedJobs;
      return targets.empty() || std::find(targets.begin(), targets.end(), name) != targets.end();
    };
    std::int64_t wanted = policy.operator_ == "Any" ? 1 : 0;
    if (policy.operator_ == "All")
      for (const ReplicatedJob& one : spec_.replicatedJobs)
        if (is_meant(one.name)) wanted += one.replicas;
    const auto done = std::count_if(
        jobs_.successful.begin(), jobs_.successful.end(),
        [&](const JobPtr& job) { return is_meant(label_of(*job, keys::replicated_job)); });
    return done >= wanted;
  }

  std::int64_t counted_restarts() const {
    std::int64_t all = status_.restartsCountTowardsMax;
    if (profile_.restart_job)
      for (const ReplicatedJobStatus& one : status_.replicatedJobsStatus)
        all = std::accumulate(one.jobRestartsCountTowardsMax.begin(),
                              one.jobRestartsCountTowardsMax.end(), all);
    return all;
  }

  void answer_failure() {
    if (!spec_.failurePolicy)
      return fail_set(rules::fail_without_policy, condition::failed_jobs,
                      *first_failed(jobs_.failed));
    const Answer answer = answer_to(*spec_.failurePolicy, jobs_.failed, profile_);
    const ActionRow* action =
        action_named(answer.rule != nullptr ? answer.rule->action : "RestartJobSet");
    const bool is_gated = action == nullptr ||
                          (action->does == ActionRow::Does::restart_job && !profile_.restart_job);
    if (is_gated) {
      add(rules::action_is_gated);
      plan_.error = Error{.reason = Reason::bad_input,
                          .message =
                              "the failure policy's action cannot be used when its feature "
                              "gate is disabled"};
      changed_ = false;  // a pass that fails writes nothing
      return;
    }
    if (action->does == ActionRow::Does::fail)
      return fail_set(*action->rule, condition::failed_by_rule, *answer.job);
    if (action->counts && counted_restarts() >= spec_.failurePolicy->maxRestarts)
      return fail_set(rules::max_restarts_reached, condition::reached_max_restarts, *answer.job);
    if (action->does == ActionRow::Does::restart_all)
      restart_all(*action, answer);
    else
      restart_one(*action, *answer.job);
  }

  void restart_all(const ActionRow& action, const Answer& answer) {
    ++status_.restarts;
    if (action.counts) ++status_.restartsCountTowardsMax;
    changed_ = true;
    add(*action.rule).text = answer.job->metadata.name;
    const std::string message = with_first_failed(action.message, *answer.job);
    if (profile_.tells_restarting) {
      constexpr ConditionRow restarting{"RestartingJobSet", true, "Warning", {}, {}};
      set(*action.rule, restarting,
          answer.rule != nullptr ? "FailurePolicy_" + answer.rule->name : "DefaultFailurePolicy",
          message);
    }
    tell_later("Warning", std::string(action.event), message);
  }

  void restart_one(const ActionRow& action, const Job& job) {
    const auto index = number_of(job, keys::job_index);
    ReplicatedJobStatus* of = nullptr;
    for (ReplicatedJobStatus& one : status_.replicatedJobsStatus)
      if (one.name == label_of(job, keys::replicated_job)) of = &one;
    std::vector<std::int32_t> restarts = job_restarts_of(set_, label_of(job, keys::replicated_job));
    if (!index || of == nullptr || *index < 0 ||
        static_cast<std::size_t>(*index) >= restarts.size()) {
      add(rules::label_is_no_number).text = job.metadata.name;
      plan_.error = Error{.reason = Reason::bad_input,
                          .message = fmt::format("failed job {} has no place in its replicated job",
                                                 job.metadata.name.view())};
      changed_ = false;
      return;
    }
    const auto at = static_cast<std::size_t>(*index);
    ++restarts[at];
    of->jobRestarts = restarts;
    if (action.counts) {
      of->jobRestartsCountTowardsMax.resize(restarts.size());
      ++of->jobRestartsCountTowardsMax[at];
    }
    changed_ = true;
    add(*action.rule).text = job.metadata.name;
    tell_later("Warning", std::string(action.event), with_first_failed(action.message, job));
  }

  // ---- what it makes ---------------------------------------------------------------------------

  void create_service() {
    if (!has_dns(spec_) || seen_.has_service) return;
    Step& step = add(rules::create_service);
    step.request = api::create(service_of(set_));
    step.refusal.edit() = {Text("HeadlessServiceCreationFailed"), {}, {}};
  }

  void create_claims() {
    if (!profile_.claim_policies) return;
    for (const JobSetClaimPolicy& policy : spec_.volumeClaimPolicies)
      for (const ClaimTemplate& one : policy.templates) {
        if (seen_.claims.contains(claim_name(set_, one.metadata.name.view()))) continue;
        Step& step = add(rules::create_claim);
        step.request = api::create(claim_of(set_, policy, one));
        step.refusal.edit() = {Text("PVCCreationFailed"), {}, Reason::already_exists};
        step.tolerated = Reason::already_exists;
      }
  }

  void scale() {
    for (const JobPtr& job : jobs_.active) {
      const ReplicatedJob* of = replicated_job_named(spec_, label_of(*job, keys::replicated_job));
      if (of == nullptr) continue;
      const JobSpec &wanted = *of->template_.spec, &is = *job->spec;
      if (!wanted.parallelism || wanted.parallelism != wanted.completions ||
          (is.parallelism == wanted.parallelism && is.completions == wanted.completions))
        continue;
      add(rules::scale_job).request =
          api::patch(*job, api::PatchType::merge,
                     json::object{{"spec", json::object{{"parallelism", *wanted.parallelism},
                                                        {"completions", *wanted.completions}}}});
    }
  }

  bool is_in_order() const {
    return spec_.startupPolicy && spec_.startupPolicy->startupPolicyOrder == "InOrder";
  }
  bool has_started(const ReplicatedJob& one) {
    const ReplicatedJobStatus& of = *counters_of(one.name);
    return one.replicas == of.failed + of.ready + of.succeeded;
  }

  // It may name itself, which never comes.
  bool may_start(const ReplicatedJob& one, const std::map<std::string, std::int32_t>& replicas) {
    if (!one.dependsOn) return true;
    for (const JobSetDependency& dependency : *one.dependsOn) {
      const ReplicatedJobStatus* of = counters_of(dependency.name);
      if (of == nullptr) return false;
      const auto known = replicas.find(dependency.name);
      const std::int32_t wanted = known == replicas.end() ? 0 : known->second;
      if (dependency.status == "Complete" && of->succeeded != wanted) return false;
      if (dependency.status == "Ready" && of->failed + of->ready + of->succeeded != wanted)
        return false;
      if (!profile_.groups) break;  // the first releases know one
    }
    return true;
  }

  bool has_job(std::string_view name) const {
    return std::any_of(seen_.jobs.begin(), seen_.jobs.end(),
                       [name](const JobPtr& job) { return job->metadata.name == name; });
  }

  void create_missing(const ReplicatedJob& one) {
    if (!jobs_.previous.empty() && spec_.failurePolicy &&
        spec_.failurePolicy->restartStrategy == "BlockingRecreate") {
      add(rules::await_previous).text = Text(one.name);
      return;
    }
    for (std::int32_t index = 0; index < one.replicas; ++index) {
      const std::string name = job_name(set_.metadata.name.view(), one.name, index);
      if (has_job(name)) continue;
      Step& step = add(rules::create_job);
      step.request = api::create(job_of(set_, one, index, profile_));
      step.refusal.edit() = {Text("JobCreationFailed"),
                             fmt::format("job \"{}\" creation failed with error: ", name),
                             {}};
    }
  }

  void create_jobs() {
    std::map<std::string, std::int32_t> replicas;
    const bool in_order = is_in_order() && !spec_.is_suspended();
    for (const ReplicatedJob& one : spec_.replicatedJobs) {
      replicas[one.name] = one.replicas;
      if (!may_start(one, replicas)) {
        add(rules::await_dependency).text = Text(one.name);
        continue;
      }
      if (in_order && has_started(one)) continue;
      create_missing(one);
      if (in_order) return set(rules::await_order, condition::in_order);
    }
    if (in_order) set(rules::order_is_done, condition::order_done);
  }

  // ---- suspension ------------------------------------------------------------------------------

  void suspend() {
    for (const JobPtr& job : jobs_.active) {
      if (job->spec->is_suspended()) continue;
      auto changed = std::static_pointer_cast<Job>(job->clone());
      changed->spec.edit().suspend = true;
      add(rules::suspend_job).request = api::update(std::move(changed));
    }
    set(rules::suspend_job, condition::suspended);
    set_restarting(rules::suspend_job, condition::ended_suspended);
  }

  void resume() {
    std::map<std::string, std::int32_t> replicas;
    for (const ReplicatedJob& one : spec_.replicatedJobs) {
      replicas[one.name] = one.replicas;
      if (!may_start(one, replicas)) continue;
      if (is_in_order() && has_started(one)) continue;
      for (const JobPtr& job : jobs_.active)
        if (job->spec->is_suspended() && label_of(*job, keys::replicated_job) == one.name)
          resume_job(*job, one);
      if (is_in_order()) return set(rules::await_order, condition::in_order);
    }
    set(rules::resume_job, condition::resumed);
  }

  void resume_job(const Job& job, const ReplicatedJob& of) {
    auto changed = std::static_pointer_cast<Job>(job.clone());
    if (job.status.startTime) {
      // A template may change only where nothing has started.
      auto unstarted = std::static_pointer_cast<Job>(job.clone());
      unstarted->status.startTime = std::nullopt;
      add(rules::forget_start).request = api::update(std::move(unstarted), "status");
      changed->metadata.resourceVersion = Text();  // as the write before has left it
    }
    JobSpec& spec = changed->spec.edit();
    const PodTemplateSpec& from = of.template_.spec->template_;
    merge_into(spec.template_.metadata.labels.edit(), from.metadata.labels);
    merge_into(spec.template_.metadata.annotations.edit(), from.metadata.annotations);
    PodSpec& pod = spec.template_.spec.edit();
    merge_into(pod.nodeSelector.edit(), from.spec->nodeSelector);
    merge_into(pod.tolerations, from.spec->tolerations);
    merge_into(pod.schedulingGates, from.spec->schedulingGates);
    spec.suspend = false;
    add(rules::resume_job).request = api::update(std::move(changed));
  }

  // ---- the end of a pass -----------------------------------------------------------------------

  void write_status() {
    if (!changed_) return;
    auto changed = std::static_pointer_cast<JobSet>(set_.clone());
    changed->status = status_;
    Step& written = add(rules::write_status);
    written.request = api::update(std::move(changed), "status");
    if (!profile_.writes_status_again) {
      written.instead = std::vector<Step>{};
      written.instead_unless = Reason::conflict;
    }
    for (EventText& event : events_) add(rules::tell).event = std::move(event);
  }

  const View& seen_;
  const JobSet& set_;
  const JobSetSpec& spec_;
  const Profile& profile_;
  const Time now_;
  JobSetStatus status_;
  bool changed_ = false;
  Children jobs_{};
  std::vector<ReplicatedJobStatus> counted_{};
  std::vector<EventText> events_{};
  Plan plan_{};
};

}  // namespace

Plan plan(const View& seen, const Profile& profile, Time now) {
  if (seen.set) return Pass(seen, profile, now).run();
  Plan nothing;
  nothing.steps.emplace_back().rule = &rules::set_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::jobset
