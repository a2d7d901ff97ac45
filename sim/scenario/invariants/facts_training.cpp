// What the lines of workers tell of a training. Only the exact words of our own worker and of its
// model count (sim/workers/README.md, "Output"): a script of the user's may print anything.
#include <algorithm>

#include "core/numbers.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/lines.hpp"
#include "scenario/invariants/standstill.hpp"
#include "scenario/words/line_tags.hpp"

namespace ddptwin::scenario::invariants {

using namespace std::string_view_literals;
namespace {

// Takes `words` off the front of the line.
bool skip(std::string_view& line, std::string_view words) {
  if (!line.starts_with(words)) return false;
  line.remove_prefix(words.size());
  return true;
}

bool number(std::string_view& line, std::int64_t& to) {
  const auto found = take_number<std::int64_t>(line);
  if (found) to = *found;
  return found.has_value();
}

void read_joined(std::string_view rest, WorkerLine& line) {
  if (number(rest, line.rank) && skip(rest, " world_size ") && number(rest, line.world))
    line.kind = WorkerLine::Kind::joined;
}
void read_step(std::string_view rest, WorkerLine& line) {
  if (!number(rest, line.step) || !skip(rest, "/") || !number(rest, line.steps)) return;
  line.kind = WorkerLine::Kind::step;
  if (!skip(rest, " rank ") || !number(rest, line.rank)) line.rank = -1;
}
void read_checkpoint(std::string_view rest, WorkerLine& line) {
  if (number(rest, line.step) && rest.empty()) line.kind = WorkerLine::Kind::checkpoint;
}
void read_finished(std::string_view rest, WorkerLine& line) {
  if (!number(rest, line.rank) || !skip(rest, " steps ") || !number(rest, line.steps)) return;
  line.kind = WorkerLine::Kind::finished;
  if (skip(rest, " parameters ")) line.parameters = rest;
}

void read_failed(std::string_view, WorkerLine& line) { line.kind = WorkerLine::Kind::failed; }

struct LineRow {
  std::string_view words;
  void (*read)(std::string_view rest, WorkerLine& line);
};
constexpr LineRow line_rows[] = {
    {"step ", &read_step},
    {"joined rank ", &read_joined},
    {"checkpoint step ", &read_checkpoint},
    {"finished rank ", &read_finished},
    {"RuntimeError: ", &read_failed},
    {"torch.distributed.Dist", &read_failed},
};

RankFacts& rank_of(PodFacts& pod, std::int64_t rank) {
  for (RankFacts& one : pod.ranks)
    if (one.rank == rank) return one;
  pod.ranks.push_back({});
  pod.ranks.back().rank = rank;
  return pod.ranks.back();
}

// A rank that joins with another world size, a second time, or after one has ended, begins a new
// group.
void join(JobFacts& job, PodFacts& pod, const WorkerLine& line, Time now) {
  GroupFacts& group = job.group;
  const auto rank = static_cast<std::size_t>(line.rank);
  const bool fits = !group.broken && group.world == line.world && rank < group.joined.size() &&
                    !group.joined[rank];
  if (!fits) {
    const std::uint64_t generation = group.generation + 1;
    std::vector<bool> earlier = std::move(group.earlier);
    earlier.resize(std::max(earlier.size(), group.joined.size()));
    // A group that never took a step took no rank from another.
    for (std::size_t i = 0; i < group.joined.size(); ++i)
      if (group.joined[i] && group.begun >= 0) earlier[i] = true;
    group = GroupFacts{};
    group.earlier = std::move(earlier);
    group.generation = generation;
    group.formed_at = now;
    group.world = line.world;
    group.joined.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(line.world, 0, 100'000)));
  }
  if (rank < group.joined.size()) group.joined[rank] = true;
  if (!group.takes_over && rank < group.earlier.size() && group.earlier[rank]) {
    group.takes_over = true;
    group.formed_at = now;
  }
  RankFacts& facts = rank_of(pod, line.rank);
  facts = RankFacts{line.rank, group.generation, 0, 0, job.checkpoint};
}

void step(JobFacts& job, RankFacts& facts, const WorkerLine& line, Time now) {
  GroupFacts& group = job.group;
  const bool first = facts.begun == 0;
  if (first) facts.begun = line.step;
  facts.step = line.step;
  if (facts.generation != group.generation || group.world == 0) return;
  if (group.begun < 0) group.begun = line.step;
  const std::int64_t at = line.step - group.begun;
  if (at < 0 || at > line.steps) return;
  const auto place = static_cast<std::size_t>(at);
  if (group.done.size() <= place) group.done.resize(place + 1);
  ++group.done[place];
  if (group.totals.size() < group.joined.size()) group.totals.resize(group.joined.size());
  const auto rank = static_cast<std::size_t>(facts.rank);
  if (rank < group.totals.size()) group.totals[rank] = line.steps;
  // Who says that it has fewer steps than that ends no more (DDP's Join).
  const auto wanted = [&group](std::int64_t step) {
    return group.world - std::count_if(group.totals.begin(), group.totals.end(),
                                       [step](std::int64_t own) { return own > 0 && own < step; });
  };
  // Nobody ends a step whose all-reduce a peer has not entered, after the step before.
  if (group.lag_step < 0 && place > 0 && group.done[place - 1] < wanted(line.step - 1)) {
    group.lag_step = line.step - 1;
    group.lag_since = now;
  } else if (group.lag_step >= 0 &&
             group.done[static_cast<std::size_t>(group.lag_step - group.begun)] >=
                 wanted(group.lag_step)) {
    group.lag_step = -1;
  }
}

// A rank of the pod has ended: who joins next is of another group than it was.
void break_group(const PodFacts& pod) {
  GroupFacts& group = pod.job->group;
  for (const RankFacts& rank : pod.ranks)
    if (rank.generation == group.generation) group.broken = true;
}

// A rank has failed in a container that stays: an agent of torchrun begins it anew. In a group that
// has not taken a step it leaves its place to who joins next, as where agents restart their ranks
// one by one and the first meets nobody.
void leave_group(const PodFacts& pod) {
  GroupFacts& group = pod.job->group;
  if (group.begun >= 0) return break_group(pod);
  for (const RankFacts& rank : pod.ranks) {
    const auto place = static_cast<std::size_t>(rank.rank);
    if (rank.generation == group.generation && place < group.joined.size())
      group.joined[place] = false;
  }
}

}  // namespace

WorkerLine read_line(std::string_view text) {
  WorkerLine line;
  text = without_tags(text);
  for (const LineRow& row : line_rows) {
    if (!text.starts_with(row.words)) continue;
    row.read(text.substr(row.words.size()), line);
    return line;
  }
  // An agent's line begins with its level and source.
  if (text.find("Sending process ") != text.npos && text.find(" closing signal ") != text.npos)
    line.kind = WorkerLine::Kind::failed;
  return line;
}

int starts_told(const PodStatus& status, std::string_view container) {
  for (const auto* list : {&status.containerStatuses, &status.initContainerStatuses})
    for (const ContainerStatus& one : *list) {
      if (one.name != container) continue;
      const bool started = one.state.running || one.state.terminated || one.lastState->terminated;
      return one.restartCount + (started ? 1 : 0);
    }
  return 0;
}

void end_ranks(PodFacts& pod) {
  if (pod.job != nullptr) break_group(pod);
  if (!pod.ranks.empty()) pod.generation = pod.ranks.front().generation;
  pod.ranks.clear();
}

void Facts::take_container(const Record& record, std::size_t slash, Sight& sight) {
  const bool exited = record.text == "exited"sv;
  if (!exited && record.text != "started"sv) return;
  const std::string_view subject = record.subject, container = subject.substr(slash + 1);
  PodFacts* pod_of = pod(subject.substr(0, slash));
  if (pod_of == nullptr) return;
  sight.pod = pod_of;
  sight.job = pod_of->job;
  PodFacts::ContainerFacts& facts = pod_of->container(container);
  facts.running = !exited;
  facts.stopped_by = facts.lines = 0;
  if (!exited) {
    // A kubelet that went down in the middle of a start has left no record of it.
    facts.starts = std::max(facts.starts, starts_told(pod_of->last->status, container)) + 1;
    return;
  }
  end_ranks(*pod_of);
  // An init container that ends is a part of the pod's start: it asks nothing new of the operator.
  const auto& own = pod_of->last->spec->containers;
  const bool main = std::any_of(
      own.begin(), own.end(), [container](const Container& one) { return one.name == container; });
  if (main && pod_of->job != nullptr) turn_back(*pod_of->job);
  if (main && pod_of->job != nullptr && !pod_of->terminating() && pod_of->wanted())
    stimulate(*pod_of->job, record.time);
}

// How far it came is known to who makes another one in its place.
void Facts::hand_back(const JobFacts& job) {
  JobFacts* maker = maker_of(*job.last);
  if (maker == nullptr) return;
  maker->step_max = std::max(maker->step_max, job.step_max);
  maker->checkpoint = std::max(maker->checkpoint, job.checkpoint);
}

void Facts::note_step(JobFacts& job, const WorkerLine& line, Time now) {
  job.steps = line.steps;
  job.trained = job.trained || line.step >= line.steps;
  if (line.step > job.step_max) {
    if (!job.returns && job.step_max > 0)
      job.pause_max = std::max(job.pause_max, now - job.step_at);
    job.step_max = line.step;
    job.step_at = now;
    return new_round(job, now, Advance::step);
  }
  if (!job.returns || line.step <= job.repeated_max) return;
  job.repeated_max = line.step;
  progressed(job, now, Advance::repeated_step);
}

// Of a job that tells of no steps: its main containers' lines, as far as they say something new. A
// start that says as much as others before it brings nobody further when it is one of many.
void Facts::note_line(PodFacts& pod, std::string_view container, const Record& record) {
  constexpr std::size_t remembered = 64;
  PodFacts::ContainerFacts& facts = pod.container(container);
  facts.last_line = record.text;
  if (pod.type < 0 || container != main_container(*pod.last, *pod.job->reader)) return;
  ReplicaFacts& replica = pod.replica();
  const Fingerprint print = Fingerprint::of(record.text);
  auto& seen = replica.lines_seen;
  if (std::find(seen.begin(), seen.end(), print) != seen.end()) return;
  if (seen.size() < remembered)
    seen.push_back(print);
  else
    seen[replica.lines_count % remembered] = print;
  ++replica.lines_count;
  if (++facts.lines > replica.lines) {
    replica.lines = facts.lines;
    return progressed(*pod.job, record.time, Advance::line);
  }
  const int attempts = pod.job->attempts;
  if (attempts >= attempts_many) return;
  progressed(*pod.job, record.time, Advance::line);
  pod.job->attempts = attempts;
}

void Facts::take_log(const Record& record, Sight& sight) {
  const std::size_t slash = record.subject.rfind('/');
  if (slash == record.subject.npos) return;
  if (record.kind == RecordKind::container) return take_container(record, slash, sight);
  line_ = read_line(record.text);
  PodFacts* printed = pod(std::string_view(record.subject).substr(0, slash));
  if (printed != nullptr && printed->job != nullptr && printed->job->steps == 0)
    note_line(*printed, std::string_view(record.subject).substr(slash + 1), record);
  if (line_.kind == WorkerLine::Kind::none) return;
  sight.line = &line_;
  sight.pod = printed;
  sight.job = sight.pod != nullptr ? sight.pod->job : nullptr;
  if (sight.job == nullptr) return;
  JobFacts& job = *sight.job;
  WorkerLine& line = line_;
  if (line.rank < 0) line.rank = sight.pod->rank;
  switch (line.kind) {
    case WorkerLine::Kind::joined:
      join(job, *sight.pod, line, record.time);
      break;
    case WorkerLine::Kind::step:
      sight.rank = &rank_of(*sight.pod, line.rank);
      step(job, *sight.rank, line, record.time);
      sight.step_before = job.step_max;
      note_step(job, line, record.time);
      hand_back(job);
      break;
    case WorkerLine::Kind::checkpoint:
      if (line.step > job.checkpoint) progressed(job, record.time, Advance::checkpoint);
      job.checkpoint = std::max(job.checkpoint, line.step);
      hand_back(job);
      break;
    case WorkerLine::Kind::finished:
      if (!job.trained) progressed(job, record.time, Advance::line);
      job.trained = true;
      job.step_max = std::max(job.step_max, line.steps);
      if (job.parameters_world == job.group.world && job.parameters_steps == line.steps) break;
      job.parameters = line.parameters;
      job.parameters_world = job.group.world;
      job.parameters_steps = line.steps;
      break;
    case WorkerLine::Kind::failed:
      leave_group(*sight.pod);
      break;
    case WorkerLine::Kind::none:
      break;
  }
}

}  // namespace ddptwin::scenario::invariants
