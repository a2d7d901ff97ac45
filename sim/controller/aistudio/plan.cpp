#include "controller/aistudio/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/aistudio/rules.hpp"
#include "controller/aistudio/worker.hpp"
#include "core/numbers.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::aistudio {
namespace {

std::int32_t attempt_of(const Pod& pod) {
  const Text* told = pod.metadata.label(label::attempt);
  return told == nullptr ? 0 : whole_number<std::int32_t>(told->view()).value_or(0);
}

// "network, 0 to 1: it cannot be reached; gpu, 1: 3 of 4 GPUs"
std::string text_of(const std::vector<DDPTaskFinding>& findings) {
  std::string text;
  for (const DDPTaskFinding& one : findings) {
    if (one.ok) continue;
    text += fmt::format("{}{} of worker {}{}: {}", text.empty() ? "" : "; ", one.item, one.worker,
                        one.peer ? fmt::format(" to worker {}", *one.peer) : "", one.message);
  }
  return text;
}

class Pass {
 public:
  Pass(const View& seen, Time now)
      : seen_(seen),
        task_(*seen.task),
        spec_(*seen.task->spec),
        now_(now),
        status_(seen.task->status.value_or(DDPTaskStatus())) {
    plan_.about = seen.task;
  }

  Plan run() {
    if (task_.metadata.deletionTimestamp) return only(rules::task_is_being_deleted);
    if (!seen_.shows_own_write) return only(rules::await_own_write);
    if (!seen_.expectations_met) return only(rules::expectations_unmet);
    if (!is_terminal(status_.phase)) go_on();
    if (is_terminal(status_.phase)) end_workers();
    put_together();
    return std::move(plan_);
  }

 private:
  Plan only(const Rule& rule) {
    plan_.steps.emplace_back().rule = &rule;
    return std::move(plan_);
  }

  // ---- steps -----------------------------------------------------------------------------------

  static Step& add(std::vector<Step>& to, const Rule& rule) {
    Step& step = to.emplace_back();
    step.rule = &rule;
    return step;
  }

  void tell(const Rule& rule, std::string_view type, std::string_view reason, std::string message) {
    Step& step = add(told_, rule);
    step.text = message;
    step.event = EventText{type, Text(reason), Text(message)};
  }

  void create(const Rule& rule, std::shared_ptr<Object> object) {
    Step& step = add(last_, rule);
    step.refusal.emplace() = {
        Text("FailedCreate"),
        fmt::format("Error creating {} {}: ", object->kind().kind, object->metadata.name.view()),
        {}};
    step.expected.push_back(
        {.when = Expected::When::unless_refused, .key = seen_.expectation_key, .adds = 1});
    step.request = api::create(std::move(object));
  }

  // That very pod, which may be gone already.
  void remove(const Rule& rule, const Pod& pod) {
    Step& step = add(last_, rule);
    api::DeleteOptions options;
    options.precondition_uid = pod.metadata.uid.str();
    step.request = api::remove(pod, std::move(options));
    step.tolerated = Reason::not_found;
  }

  // ---- a task that goes on ---------------------------------------------------------------------

  void go_on() {
    if (!seen_.task->status) {
      status_.phase = phase::queued;
      status_.startTime = now_;
      status_.selfCheck.state = checks(spec_) ? "Pending" : "Disabled";
    }
    if (spec_.stop) {
      describe();
      return end(rules::stop_task, phase::stopped, reason::stopped, "stopped by the user");
    }
    make_services();
    if (waits_for_old_attempt()) return;
    collect();
    describe();
    if (!judge()) return;
    make_pods();
    advance();
  }

  void make_services() {
    for (int rank = 0; rank < workers_of(spec_); ++rank)
      if (!seen_.services.contains(worker_name(task_, rank)))
        create(rules::create_service, service_of(task_, rank));
  }

  // Of an earlier attempt, and the status tells of it still: where only a GPU was lost the others
  // go on.
  bool is_kept(const Pod& pod) const {
    return std::any_of(
        status_.workers.begin(), status_.workers.end(),
        [&pod](const DDPTaskWorkerStatus& one) { return one.uid == pod.metadata.uid.str(); });
  }

  // The names are the same: the next attempt begins when nothing of the last one is left.
  bool waits_for_old_attempt() {
    bool waits = false;
    for (const auto& [name, pod] : seen_.pods) {
      if (attempt_of(*pod) == status_.attempt || is_kept(*pod)) continue;
      waits = true;
      if (!pod->metadata.deletionTimestamp) remove(rules::remove_old_attempt, *pod);
    }
    return waits;
  }

  void collect() {
    for (int rank = 0; rank < workers_of(spec_); ++rank) {
      Worker& one = workers_.emplace_back(Worker{rank, worker_name(task_, rank), nullptr});
      if (const auto at = seen_.pods.find(one.name); at != seen_.pods.end()) one.pod = at->second;
    }
  }

  // What the status has told of that rank in this attempt.
  const DDPTaskWorkerStatus* record_of(int rank) const {
    for (const DDPTaskWorkerStatus& one : status_.workers)
      if (one.rank == rank) return &one;
    return nullptr;
  }

  // A pod that was there, and is not, was lost; so was one that another has taken the place of.
  bool was_lost(const Worker& worker) const {
    const DDPTaskWorkerStatus* record = record_of(worker.rank);
    if (record == nullptr || record->uid.empty()) return false;
    return worker.pod == nullptr || worker.pod->metadata.uid.str() != record->uid;
  }

  void describe() {
    if (workers_.empty()) return;
    std::vector<DDPTaskWorkerStatus> told;
    for (const Worker& worker : workers_) {
      const DDPTaskWorkerStatus* record = record_of(worker.rank);
      DDPTaskWorkerStatus& one = told.emplace_back(
          record != nullptr ? *record
                            : DDPTaskWorkerStatus{.name = worker.name, .rank = worker.rank});
      if (was_lost(worker)) {
        lost_.insert(worker.rank);
        one.phase = phase::lost;
        continue;
      }
      one.phase = worker.pod == nullptr              ? "Pending"
                  : worker.pod->status.phase.empty() ? "Pending"
                                                     : worker.pod->status.phase.str();
      if (worker.pod == nullptr) continue;
      one.uid = worker.pod->metadata.uid.str();
      one.node = worker.pod->spec->nodeName;
      const auto how = failure_of(worker, spec_.debug);
      if (how && how->kind == Failure::Kind::command) one.exitCode = how->exit_code;
      if (worker.has_succeeded()) one.exitCode = 0;
      if (how && how->kind == Failure::Kind::lost) one.phase = phase::lost;
    }
    status_.workers = std::move(told);
    describe_check();
  }

  void describe_check() {
    if (!checks(spec_)) return;
    status_.selfCheck.results.clear();
    for (const Worker& worker : workers_)
      for (DDPTaskFinding& one : findings_of(worker))
        status_.selfCheck.results.push_back(std::move(one));
  }

  // False: it is over with this attempt.
  bool judge() {
    std::vector<Failure> failures;
    for (const Worker& worker : workers_) {
      if (lost_.contains(worker.rank))
        failures.push_back({.kind = Failure::Kind::lost, .rank = worker.rank});
      else if (worker.pod != nullptr)
        if (const auto how = failure_of(worker, spec_.debug)) failures.push_back(*how);
    }
    const bool told_to_stop = std::any_of(failures.begin(), failures.end(), [](const Failure& one) {
      return one.kind == Failure::Kind::stopped;
    });
    if (told_to_stop) {
      end(rules::stop_task, phase::stopped, reason::stopped, "stopped by atlctl");
      return false;
    }
    if (!failures.empty()) {
      fail_by(first_of(failures), failures);
      return false;
    }
    if (std::all_of(workers_.begin(), workers_.end(),
                    [](const Worker& one) { return one.has_succeeded(); })) {
      end(rules::all_workers_succeeded, phase::succeeded, reason::all_succeeded,
          fmt::format("all {} workers ended with 0", workers_.size()));
      return false;
    }
    return check_is_in_time();
  }

  void fail_by(const Failure& first, const std::vector<Failure>& all) {
    if (first.kind == Failure::Kind::check) return fail_by_check(all);
    const std::string& name = workers_[static_cast<std::size_t>(first.rank)].name;
    if (first.kind == Failure::Kind::command)
      return fail(rules::worker_fails_task, reason::worker_failed,
                  fmt::format("worker {} (rank {}) ended with exit code {}", name, first.rank,
                              first.exit_code.value_or(-1)));
    exclude(first.rank);
    fail(rules::lost_worker_fails_task, reason::worker_lost,
         fmt::format("worker {} (rank {}) was lost", name, first.rank));
  }

  void fail_by_check(const std::vector<Failure>& all) {
    status_.selfCheck.state = "Failed";
    bool lost_gpu = false;
    for (const DDPTaskFinding& one : status_.selfCheck.results)
      if (!one.ok && one.item == "gpu") {
        exclude(one.worker);
        lost_gpu = true;
      }
    std::string text = text_of(status_.selfCheck.results);
    for (const Failure& one : all)
      if (text.empty() && one.kind == Failure::Kind::check)
        text = fmt::format("the check of worker {} ended with exit code {}", one.rank,
                           one.exit_code.value_or(-1));
    if (lost_gpu && status_.attempt < retries_of(spec_)) return move_workers(all, text);
    fail(rules::check_blocks, reason::check_failed, text, false);
  }

  // Only those whose check has failed, and whoever else is on the node of a lost GPU, are made
  // anew: the checks of the others wait for them (§4).
  void move_workers(const std::vector<Failure>& failed, const std::string& why) {
    std::erase_if(status_.workers, [&](const DDPTaskWorkerStatus& one) {
      const auto& nodes = status_.excludedNodes;
      return std::any_of(failed.begin(), failed.end(),
                         [&one](const Failure& how) { return how.rank == one.rank; }) ||
             std::find(nodes.begin(), nodes.end(), one.node) != nodes.end();
    });
    try_again(why);
  }

  // Of the worker's node, for the attempts to come: what was lost there may be again.
  void exclude(int rank) {
    const DDPTaskWorkerStatus* record = record_of(rank);
    auto& excluded = status_.excludedNodes;
    if (retries_of(spec_) == 0 || record == nullptr || record->node.empty()) return;
    if (std::find(excluded.begin(), excluded.end(), record->node) == excluded.end())
      excluded.push_back(record->node);
  }

  // Another attempt of all where there are any left.
  void fail(const Rule& rule, std::string_view why, std::string message, bool again = true) {
    if (!again || status_.attempt >= retries_of(spec_))
      return end(rule, phase::failed, why, std::move(message));
    status_.workers.clear();
    try_again(message);
  }

  // With the workers that the status tells of still.
  void try_again(const std::string& message) {
    ++status_.attempt;
    tell(rules::start_again, "Warning", reason::retry,
         fmt::format("attempt {} of {}: {}", status_.attempt, retries_of(spec_), message));
    status_.phase = phase::queued;
    status_.reason = reason::retry;
    status_.message = message;
    status_.selfCheck = {.state = checks(spec_) ? "Pending" : "Disabled"};
    waits_for_old_attempt();
  }

  void end(const Rule& rule, std::string_view now, std::string_view why, std::string message) {
    const bool is_bad = now == phase::failed;
    tell(rule, is_bad ? "Warning" : "Normal", why, message);
    status_.phase = now;
    status_.reason = why;
    status_.message = std::move(message);
    status_.finishTime = now_;
  }

  // Names what of the check is not over yet; the rest is in the results.
  bool check_is_in_time() {
    if (!status_.selfCheck.startTime || status_.phase != phase::checking) return true;
    const Time due =
        *status_.selfCheck.startTime + std::chrono::seconds(check_timeout(spec_)) + check_slack;
    if (now_ < due) {
      plan_.requeue_after = due - now_;
      return true;
    }
    std::string waiting;
    for (const Worker& one : workers_)
      if (!one.has_checked()) waiting += fmt::format("{}{}", waiting.empty() ? "" : ", ", one.rank);
    if (waiting.empty()) return true;
    status_.selfCheck.state = "Failed";
    const std::string found = text_of(status_.selfCheck.results);
    fail(rules::check_hangs, reason::check_failed,
         fmt::format("no end of the check after {}s: worker {}{}{}", check_timeout(spec_), waiting,
                     found.empty() ? "" : "; ", found),
         false);
    return false;
  }

  void make_pods() {
    for (const Worker& worker : workers_)
      if (worker.pod == nullptr) create(rules::create_worker, pod_of(task_, status_, worker.rank));
  }

  template <class Test>
  bool all(const Test& test) const {
    return std::all_of(workers_.begin(), workers_.end(), test);
  }

  // Within an attempt the phase only goes on.
  void advance() {
    if (status_.phase == phase::queued && all([](const Worker& one) { return one.is_placed(); }))
      status_.phase = phase::creating;
    if (status_.phase == phase::creating && checks(spec_) &&
        all([](const Worker& one) { return one.checks_now(); })) {
      status_.phase = phase::checking;
      status_.selfCheck.state = "Checking";
      status_.selfCheck.startTime = now_;
      plan_.requeue_after = std::chrono::seconds(check_timeout(spec_)) + check_slack;
    }
    if (spec_.debug && (status_.phase == phase::running || status_.phase == phase::debugging))
      return debug();
    const bool before = status_.phase == phase::checking || status_.phase == phase::creating;
    if (!before || !all([this](const Worker& one) { return has_begun(one); })) return;
    status_.phase = phase::running;
    status_.reason.clear();
    status_.message.clear();
    if (!checks(spec_)) return;
    const std::string found = text_of(status_.selfCheck.results);
    status_.selfCheck.state = found.empty() ? "Passed" : "Reported";
    if (!found.empty()) tell(rules::write_status, "Warning", "SelfCheckReported", found);
  }

  // Of a worker that can be debugged its agent tells that the entry command runs.
  bool has_begun(const Worker& worker) const {
    return worker.has_started() && !(spec_.debug && worker.is_kept());
  }

  // In and out of the phase in which pods are kept and no entry command runs (§5, §8). Who has
  // ended well before is not asked.
  void debug() {
    const auto all_left = [this](bool (Worker::*what)() const) {
      return all([what](const Worker& one) { return one.has_ended_well() || (one.*what)(); });
    };
    if (all([](const Worker& one) { return one.has_ended_well(); })) return;  // it is over
    const bool kept = all_left(&Worker::is_kept);
    if (status_.phase == phase::running ? !kept : !all_left(&Worker::runs)) return;
    status_.phase = kept ? phase::debugging : phase::running;
    status_.reason = kept ? reason::debugging : std::string_view();
    status_.message = kept ? "the entry commands are stopped, and the pods stay" : "";
    tell(kept ? rules::debug_task : rules::run_task, "Normal",
         kept ? reason::debugging : reason::resumed,
         kept ? status_.message : std::string("the entry commands run again"));
  }

  // ---- a task that has ended -------------------------------------------------------------------

  // Who has ended keeps its log; of a stopped one nothing stays (§8).
  void end_workers() {
    for (const auto& [name, pod] : seen_.pods) {
      if (pod->metadata.deletionTimestamp) continue;
      if (status_.phase == phase::stopped || !is_terminal_phase(pod->status.phase))
        remove(rules::end_worker, *pod);
    }
  }

  void put_together() {
    auto& steps = plan_.steps;
    if (seen_.task->status != status_) {
      auto changed = std::static_pointer_cast<DDPTask>(task_.clone());
      changed->status = status_;
      add(steps, rules::write_status).request = api::update(std::move(changed), "status");
    }
    for (auto* more : {&told_, &last_})
      for (Step& step : *more) steps.push_back(std::move(step));
  }

  const View& seen_;
  const DDPTask& task_;
  const DDPTaskSpec& spec_;
  Time now_;
  Plan plan_{};
  DDPTaskStatus status_;
  std::vector<Worker> workers_{};
  std::set<int> lost_{};
  std::vector<Step> told_{}, last_{};  // after the status is written
};

}  // namespace

Plan plan(const View& seen, Time now) {
  if (seen.task) return Pass(seen, now).run();
  Plan nothing;
  nothing.steps.emplace_back().rule = &rules::task_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::aistudio
