// When a job is looked at though no record tells of it: at rest, when it stands still, when a time
// of its own is over; and what brings it further, by which that is known.
#include <algorithm>
#include <utility>
#include <vector>

#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/gangs.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/invariants/standstill.hpp"

namespace ddptwin::scenario::invariants {
namespace {

// Of the cluster itself: what they do answers something, and is no stimulus.
const std::vector<std::string_view>& components() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names{"kubelet", "kube-scheduler", "kube-controller-manager",
                                        "coredns", "container"};
    for (const WorkloadReader* reader : workload_readers())
      names.insert(names.end(), {reader->actor, reader->pods_by, reader->controller});
    for (const SchedulerRow& row : scheduler_rows()) names.push_back(row.name);
    return names;
  }();
  return all;
}
bool is_component(std::string_view actor) {
  const auto& all = components();
  return std::find(all.begin(), all.end(), actor) != all.end();
}

}  // namespace

void Facts::changed(JobFacts& job, Time now, std::string_view actor) {
  job.changed_at = now;
  if (actor == job.reader->actor || actor == job.reader->pods_by)
    job.writes = job.scales_down() ? 0 : job.writes + 1;
  else if (!is_component(actor)) {
    stimulate(job, now);
    job.pushed_at = now;
  }
  if (job.queued_rest) return;
  job.queued_rest = true;
  alarm(job, now + rest_of(job), AlarmKind::rest);
}

void Facts::progressed(JobFacts& job, Time now, Advance how) {
  job.progress_at = now;
  job.progress = how;
  job.attempts = 0;
  if (moved_.uid != job.uid) {
    moved_before_ = std::exchange(moved_, {job.uid, now});
  } else {
    moved_.at = now;
  }
  if (job.queued_progress) return;
  job.queued_progress = true;
  alarm(job, now + bound_of_progress(), AlarmKind::progress);
}

// It came further than ever, or has to come somewhere else: what went before is of no matter.
void Facts::new_round(JobFacts& job, Time now, Advance how) {
  job.returns = false;
  job.repeated_max = 0;
  if (how == Advance::spec) ++job.way;
  progressed(job, now, how);
}

// A process has ended: what it takes to be there again counts once.
void Facts::turn_back(JobFacts& job) {
  if (job.returns) return;
  job.returns = true;
  ++job.way;
}

Facts::Others Facts::others(const JobFacts& job) const {
  const Moved& moved = moved_.uid == job.uid ? moved_before_ : moved_;
  const auto found = jobs_.find(moved.uid);
  return {moved.at, found != jobs_.end() && !found->second->gone && !found->second->finished()};
}

std::optional<Time> Facts::standstill_at() const {
  std::optional<Time> last;
  // Whichever is asked first: the latest is one.
  for (const auto& [uid, job] : jobs_)
    if (can_stand_still(*job, *this))
      last = std::max(last, std::optional(stands_still_at(*job, *this)));
  return last;
}

Duration Facts::bound_of_progress() const { return progress_within_.value_or(progress_within); }

void Facts::stimulate(JobFacts& job, Time now) {
  job.stimulus_at = now;
  job.writes = 0;
}

bool Facts::recovers(Time now) const {
  return disturbed_ || (was_disturbed_ && now < healed_at_ + rest_time_after_faults);
}

Duration Facts::rest_of(const JobFacts& job) const {
  return was_disturbed_ || job.blocked() ? rest_time_after_faults : rest_time;
}

void Facts::alarm(JobFacts& job, Time at, AlarmKind kind) {
  alarms_.push({at, ++alarm_count_, job.uid, kind});
}

void Facts::note_call(const Record& record, Topic topic) {
  if (topic > Topic::object && topic != Topic::refused) return;
  for (Operator& one : operators_)
    if (record.actor == one.actor) one.calls[one.call_count++ % busy_writes] = record.time;
}

bool Facts::Operator::busy(Time now) const {
  return call_count >= busy_writes && now - calls[call_count % busy_writes] <= rest_time;
}

bool Facts::operator_busy(const JobFacts& job, Time now) const {
  const Operator* one = find_operator(job.reader->actor);
  return one != nullptr && one->busy(now);
}

std::optional<Time> Facts::next_alarm() const {
  return alarms_.empty() ? std::nullopt : std::optional(alarms_.top().at);
}

std::optional<Facts::Due> Facts::next_due(Time now) {
  while (is_due(now)) {
    const Alarm due = alarms_.top();
    alarms_.pop();
    JobFacts* found = looked_at(due.uid);
    if (found == nullptr) continue;
    JobFacts& job = *found;
    if (operator_busy(job, due.at)) {
      alarm(job, due.at + rest_time, due.kind);
      continue;
    }
    if (due.kind == AlarmKind::rest) {
      const Time quiet = std::max(job.changed_at, healed_at_) + rest_of(job);
      if (disturbed_ || quiet > due.at) {
        alarm(job, std::max(quiet, due.at + rest_time), AlarmKind::rest);
        continue;
      }
      job.queued_rest = false;
      return Due{&job, due.at, true};
    }
    if (due.kind == AlarmKind::progress) {
      job.queued_progress = !job.finished() && !job.gone;
      if (!job.queued_progress) continue;
      // It is looked at again in any case: who it waits for may change meanwhile.
      const Time late = stands_still_at(job, *this), next = due.at + bound_of_progress();
      const bool is_late = !disturbed_ && late <= due.at;
      alarm(job, is_late || disturbed_ ? next : std::min(late, next), AlarmKind::progress);
      if (!is_late) continue;
    }
    return Due{&job, due.at, false};
  }
  return std::nullopt;
}

}  // namespace ddptwin::scenario::invariants
