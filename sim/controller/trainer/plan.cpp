#include "controller/trainer/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "controller/trainer/apply.hpp"
#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/rules.hpp"
#include "controller/trainer/snapshot.hpp"
#include "controller/trainer/status.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

constexpr std::string_view failed_reason = "TrainJobResourcesCreationFailed";
constexpr std::string_view failed_lead = "TrainJob resources reconciliation failed: ";
// Of an error in an event.
constexpr std::size_t longest_error = 950;

Error error_with(std::string_view lead, const Error& error) {
  Error out = error;
  out.where.clear();
  out.message = fmt::format("{}{}", lead, error.text());
  return out;
}

const Rule& rule_of(const Applied& object) {
  if (object.kind == &Secret::info()) return rules::apply_secret;
  if (object.kind == &ConfigMap::info())
    return text_in(object.body.at("metadata").get_object(), "name").ends_with(status_server_suffix)
               ? rules::apply_status_server
               : rules::apply_hostfile;
  if (object.kind != &JobSet::info()) return rules::apply_pod_group;
  return object.there == nullptr ? rules::make_jobset : rules::apply_jobset;
}

// What a merge patch must say so that `before` becomes `after`.
json::object patch_between(const Json& before, const Json& after) {
  static const json::object nothing;
  const json::object& was = before.is_object() ? before.get_object() : nothing;
  const json::object& is = after.is_object() ? after.get_object() : nothing;
  json::object patch;
  for (const auto& member : is) {
    const Json* old = was.if_contains(member.key());
    if (old == nullptr || *old != member.value()) patch[member.key()] = member.value();
  }
  for (const auto& member : was)
    if (!is.contains(member.key())) patch[member.key()] = nullptr;
  return patch;
}

// One pass. It looks at nothing but the view, and patches a status at its end.
class Pass {
 public:
  Pass(const View& seen, const Profile& profile, Time now)
      : seen_(seen),
        job_(*seen.job),
        profile_(profile),
        now_(now),
        status_(seen.job->status.value_or(TrainJobStatus())) {}

  Plan run() {
    plan_.about = seen_.job;
    if (profile_.obeys_managed_by && job_.spec->managedBy.value_or(std::string(
                                         trainjob_controller_name)) != trainjob_controller_name) {
      add(plan_.steps, rules::managed_elsewhere);
      return std::move(plan_);
    }
    forget_failure(status_, profile_);
    const bool builds = may_build();
    work_status_out();
    if (builds) make_objects();
    plan_.steps.insert(plan_.steps.end(), last_.begin(), last_.end());
    return std::move(plan_);
  }

 private:
  static Step& add(std::vector<Step>& to, const Rule& rule) {
    Step& step = to.emplace_back();
    step.rule = &rule;
    return step;
  }

  // Whether it is to have objects at all.
  bool may_build() {
    if (runtime_kind_of(job_) == nullptr) {
      const std::string message = "unsupported runtime: " + runtime_name_of_kind(job_);
      fail_with(status_, "TrainingRuntimeNotSupported", message, now_);
      add(last_, rules::runtime_is_unknown).text = Text(message);
      note(Error{.reason = Reason::bad_input, .message = message});
      return false;
    }
    return !status_.is_finished() || profile_.remakes_complete;
  }

  // The pass is tried again: the first error counts.
  void note(Error error) {
    if (!plan_.error) plan_.error = std::move(error);
  }

  // ---- what it makes ---------------------------------------------------------------------------

  void make_objects() {
    auto runtime = runtime_spec();
    if (!runtime) return tell_failure(runtime.error());
    auto info = assemble(job_, *runtime, profile_);
    if (!info) return tell_failure(info.error());
    if (auto done = run_plugins(*info, job_); !done) return tell_failure(done.error());
    for (Applied& object : build(std::move(*info), job_, seen_.there, seen_.random)) {
      const Rule& rule = rule_of(object);
      apply(rule, std::move(object), {});
    }
  }

  // Of the snapshot, which is taken of the runtime where there is none.
  Result<TrainingRuntimeSpec> runtime_spec() {
    const bool of_cluster = runtime_kind_of(job_) == &ClusterTrainingRuntime::info();
    if (profile_.takes_snapshots && seen_.snapshot) {
      auto read = read_snapshot(job_, *seen_.snapshot);
      if (!read)
        return fail(error_with(
            of_cluster ? "getting runtime snapshot: " : "unable to get runtime snapshot: ",
            read.error()));
      return read;
    }
    if (seen_.runtime == nullptr) {
      const std::string_view kind = of_cluster ? "ClusterTrainingRuntime" : "TrainingRuntime";
      return fail(Reason::not_found,
                  fmt::format("{}: {}.trainer.kubeflow.org \"{}\" not found",
                              of_cluster ? "not found ClusterTrainingRuntime specified in TrainJob"
                                         : "TrainingRuntime specified in TrainJob is not found",
                              kind, job_.spec->runtimeRef.name));
    }
    if (profile_.takes_snapshots)
      apply(rules::take_snapshot, snapshot_of(job_, *seen_.runtime),
            "creating runtime snapshot: applying runtime snapshot ConfigMap: ");
    return spec_of_runtime(*seen_.runtime);
  }

  // A refused one ends the making; the status is written all the same.
  void apply(const Rule& rule, Applied object, std::string_view lead) {
    Step& step = add(plan_.steps, rule);
    step.request = apply_object(std::move(object));
    step.refusal.edit() = {.reason = Text(failed_reason),
                           .message = fmt::format("{}{}", failed_lead, lead),
                           .longest_error = longest_error};
    step.instead.edit() = last_;
    step.instead_fails = true;
  }

  void tell_failure(const Error& error) {
    std::string message = error.text();
    if (message.size() > longest_error) message = message.substr(0, longest_error) + " ...";
    Step& step = add(plan_.steps, rules::resources_failed);
    step.text = Text(message);
    step.event = EventText{.type = "Warning",
                           .reason = Text(failed_reason),
                           .message = Text(message),
                           .lead = failed_lead};
    note(error);
  }

  // ---- what it tells ---------------------------------------------------------------------------

  void work_status_out() {
    tell_suspension(status_, job_, now_);
    if (seen_.there.set != nullptr) {
      take_over(status_, seen_.there.set->status.value_or(JobSetStatus()), profile_, now_);
    } else if (!status_.is_finished()) {
      add(last_, rules::await_jobset);
      note(Error{.reason = Reason::not_found,
                 .message = fmt::format("JobSet.jobset.x-k8s.io \"{}\" not found",
                                        job_.metadata.name.view())});
    }
    const bool is_over = keep_deadline() || outlives_deadline();
    write_status();
    if (is_over) delete_jobset();
  }

  // Whether it is over.
  bool keep_deadline() {
    const OptionalTime deadline = deadline_of(job_, status_);
    if (!deadline) return false;
    // No real clock comes to its very instant.
    if (now_ < *deadline) {
      add(last_, rules::await_deadline);
      plan_.requeue_after = *deadline - now_;
      return false;
    }
    fail_with(status_, deadline_exceeded, "TrainJob exceeded its active deadline", now_);
    return true;
  }

  // It failed by its deadline in an earlier pass that came no further than to say so. Who makes the
  // JobSets of finished TrainJobs anew knows no deadline.
  bool outlives_deadline() const {
    const JobSetCondition* failed = status_.condition("Failed");
    return failed != nullptr && failed->reason == deadline_exceeded && seen_.there.set != nullptr &&
           !seen_.there.set->metadata.deletionTimestamp;
  }

  // Behind the status, though upstream deletes first: a pass that the deletion begins would make
  // the JobSet again.
  void delete_jobset() {
    Step& step = add(last_, rules::deadline_is_over);
    JobSet set;
    set.metadata.name = job_.metadata.name;
    set.metadata.namespace_ = job_.metadata.namespace_;
    step.request = api::remove(set);
    step.tolerated = Reason::not_found;
  }

  void write_status() {
    const Json before = job_.status ? to_json(*job_.status) : Json(json::object());
    const Json after = to_json(status_);
    json::object patch = patch_between(before, after);
    if (patch.empty()) return;
    // A status without anything in it is none: the definition refuses an empty one.
    Json said = after.get_object().empty() ? Json(nullptr) : Json(std::move(patch));
    add(last_, rules::write_status).request = api::patch(
        job_, api::PatchType::merge, json::object{{"status", std::move(said)}}, "status");
  }

  const View& seen_;
  const TrainJob& job_;
  const Profile& profile_;
  const Time now_;
  TrainJobStatus status_;
  std::vector<Step> last_{};  // after the objects, or instead of those behind a refused one
  Plan plan_{};
};

}  // namespace

Plan plan(const View& seen, const Profile& profile, Time now) {
  if (seen.job) return Pass(seen, profile, now).run();
  Plan nothing;
  nothing.steps.emplace_back().rule = &rules::job_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::trainer
