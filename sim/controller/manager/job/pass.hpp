// One sync of a Job in the making: what it sees, decides, does to pods and counts. Its parts are
// plan.cpp (what there is, decisions, conditions), pass_pods.cpp and counting.cpp.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/manager/job/plan.hpp"
#include "controller/manager/job/rules.hpp"

namespace ddptwin::controller::job {

// Why a Job ends.
struct Ending {
  std::string_view type{};  // SuccessCriteriaMet, FailureTarget; empty: it goes on
  std::string reason{};
  std::string message{};
  const Rule* rule = nullptr;

  explicit operator bool() const { return !type.empty(); }
  bool is_success() const { return type == "SuccessCriteriaMet"; }
};

// Whether the uid is one of those.
bool has(const std::vector<std::string>& uids, std::string_view uid);
// The patch that takes the tracking finalizer away.
boost::json::object without_finalizer();

// One sync in the making.
class Pass {
 public:
  Pass(const View& seen, Time now)
      : seen_(seen), job_(*seen.job), spec_(*seen.job->spec), now_(now), status_(job_.status) {
    made_.plan.about = seen.job;
    if (!status_.uncountedTerminatedPods) status_.uncountedTerminatedPods.emplace();
  }
  Planned run();

 private:
  void observe();
  void find_new_ends();
  Ending decide();
  Ending standing_decision() const;
  Ending decide_by_policy() const;
  Ending decide_by_limits();
  Ending decide_by_indexes() const;
  void delay_replacements();
  // Deletes them, without their being failures.
  void remove(const std::vector<PodPtr>& pods);
  void end_pods();
  Step& remove_pod(const Pod& pod);
  void manage();
  void create(int count);
  std::vector<int> next_indexes(int count) const;
  Duration delay_of_index(int index) const;
  std::shared_ptr<Pod> new_pod(std::optional<int> index) const;
  void say_suspended(bool suspended);
  bool set_condition(std::string_view type, bool is_true, std::string_view reason,
                     std::string_view message);

  void account();
  bool may_release(const Pod& pod, bool failed) const;
  // Counts a pod that is over; false: no more are counted in this sync.
  void count(const Pod& pod, bool failed);
  void settle(const std::vector<std::string>& released);
  Step write_step(const Rule& rule, const BatchJobStatus& status) const;
  void write(const Rule& rule);
  void allow_for_refusals();
  void finish();

  bool is_processed(const Pod& pod) const {
    return !is_tracked(pod) || seen_.released->contains(std::string(pod.metadata.uid.view()));
  }
  // The first of several forgets what was expected before.
  void expect(Step& step, Expected one, bool is_first) const {
    one.when = Expected::When::unless_refused;
    one.key = seen_.expectation_key;
    if (is_first)
      step.expected.push_back({.when = Expected::When::reset, .key = seen_.expectation_key});
    step.expected.push_back(std::move(one));
  }
  Step& add(const Rule& rule) {
    Step& step = made_.plan.steps.emplace_back();
    step.rule = &rule;
    return step;
  }
  void requeue_after(Duration delay) {
    auto& after = made_.plan.requeue_after;
    if (!after || delay < *after) after = delay;
  }

  const View& seen_;
  const Job& job_;
  const JobSpec& spec_;
  Time now_;
  Planned made_{};
  BatchJobStatus status_;
  BatchJobStatus first_{};  // as the first write of this sync has it, if there is one
  std::vector<PodPtr> pods_{}, active_{};
  int active_count_ = 0, ready_ = 0, terminating_ = 0;
  std::int64_t succeeded_ = 0, failed_ = 0;
  IndexSet succeeded_before_{}, succeeded_indexes_{}, failed_indexes_{};
  std::map<int, PodPtr> delayed_{};  // failed pods that wait for their replacement, by index
  std::vector<PodPtr> new_failed_{};
  BackOffRecord back_off_{};
  Ending ending_{};
  // The steps that create pods, and how many were active before.
  struct {
    std::size_t first = 0, count = 0;
    int before = 0;
  } created_{};
  std::optional<Step> suspension_{};  // that tells of it
  bool changed_ = false;              // the counts must be written
  bool has_room_ = true;              // not all pods could be counted in one sync
};

}  // namespace ddptwin::controller::job
