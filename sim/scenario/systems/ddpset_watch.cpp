#include "scenario/systems/ddpset_watch.hpp"

#include <algorithm>

#include "core/numbers.hpp"
#include "objects/ddpset.hpp"
#include "scenario/words/line_tags.hpp"

namespace ddptwin::scenario {
namespace {

constexpr int crash_loop_restarts = 5;

// All ends of a container that its status tells of.
int told_ends_of(const ContainerStatus& status) {
  return status.restartCount + (status.state.terminated ? 1 : 0);
}

std::int64_t last_code(const ContainerStatus& status) {
  if (status.state.terminated) return status.state.terminated->exitCode;
  return status.lastState->terminated ? status.lastState->terminated->exitCode : 0;
}

int most_restarts(const Pod& pod) {
  int most = 0;
  for (const ContainerStatus& status : pod.status.containerStatuses)
    most = std::max(most, static_cast<int>(status.restartCount));
  return most;
}

// The ordinal that a pod's name ends with; -1: none.
std::int64_t ordinal_in(std::string_view pod) {
  const std::size_t dash = pod.rfind('-');
  if (dash == pod.npos) return -1;
  return whole_number<std::int64_t>(pod.substr(dash + 1)).value_or(-1);
}

// "joined rank 0 world_size 4"
JoinedRank worker_rank(std::string_view line) {
  constexpr std::string_view begin = "joined rank ", middle = " world_size ";
  line = without_tags(line);
  if (!line.starts_with(begin)) return {};
  line.remove_prefix(begin.size());
  const auto rank = take_number<std::int64_t>(line);
  if (!rank || !line.starts_with(middle)) return {};
  line.remove_prefix(middle.size());
  const auto world = take_number<std::int64_t>(line);
  return world ? JoinedRank{*rank, *world} : JoinedRank{};
}

// What PyTorch or an agent of torchrun says when a rank fails.
bool tells_failure(std::string_view line) {
  line = without_tags(line);
  return line.starts_with("RuntimeError: ") || line.starts_with("torch.distributed.Dist") ||
         (line.find("Sending process ") != line.npos && line.find(" closing signal ") != line.npos);
}

// "[Gloo] Rank 0 is connected to 3 peer ranks. ..."
JoinedRank gloo_rank(std::string_view line) {
  constexpr std::string_view begin = "[Gloo] Rank ", middle = " is connected to ";
  const std::size_t at = line.find(begin);
  if (at == line.npos) return {};
  line.remove_prefix(at + begin.size());
  const auto rank = take_number<std::int64_t>(line);
  if (!rank || !line.starts_with(middle)) return {};
  line.remove_prefix(middle.size());
  const auto peers = take_number<std::int64_t>(line);
  return peers && line.starts_with(" peer rank") ? JoinedRank{*rank, *peers + 1} : JoinedRank{};
}

}  // namespace

JoinedRank joined_rank(std::string_view line) {
  const JoinedRank worker = worker_rank(line);
  return worker.rank >= 0 ? worker : gloo_rank(line);
}

void TrainingWatch::on_record(const Record& record) {
  if (record.kind == RecordKind::log) return take_line(record);
  const Object* object = record.after ? record.after.get() : record.before.get();
  if (object == nullptr) return;
  if (as<StatefulSet>(*object) != nullptr) take_set(record);
  if (as<Pod>(*object) != nullptr) take_pod(record);
}

void TrainingWatch::moved(Training& training, const Record& record) {
  training.latest = latest_ = record.id;
}

void TrainingWatch::take_set(const Record& record) {
  const auto& object = record.after ? record.after : record.before;
  Training& training = trainings_[key_of(object->metadata)];
  // Another one of that name begins anew.
  if (training.set && training.set->metadata.uid != object->metadata.uid) training = Training{};
  training.set = std::static_pointer_cast<const StatefulSet>(object);
  if (training.generation > 0 && !training.formed) form(training);  // it may ask for fewer now
  moved(training, record);
}

void TrainingWatch::take_pod(const Record& record) {
  const auto& object = record.after ? record.after : record.before;
  // First: most pods of most worlds are a job's.
  const OwnerReference* owner = object->metadata.controller();
  if (owner == nullptr || owner->kind != "StatefulSet") return;
  const std::int64_t ordinal = ordinal_in(object->metadata.name);
  if (ordinal < 0) return;
  const std::string key = key_of(object->metadata);
  const std::string set = object->metadata.namespace_.str() + "/" + owner->name.str();
  Training& training = trainings_[set];
  Member& member = training.members[ordinal];
  moved(training, record);
  if (!record.after) {
    // Who goes in the midst of a group takes it along.
    if (training.formed && member.joined == training.generation &&
        !member.done.contains(training.generation))
      training.lost = true;
    member.pod = nullptr;
    leave(training, member);
    places_.erase(key);
    return;
  }
  auto pod = std::static_pointer_cast<const Pod>(object);
  if (!member.pod || member.pod->metadata.uid != pod->metadata.uid) {
    member.ends.clear();
    leave(training, member);
    member.restarts_at_forming = 0;
  }
  member.pod = pod;
  places_[key] = {set, ordinal};
  for (const ContainerStatus& status : pod->status.containerStatuses) {
    int& known = member.ends[std::string(status.name)];
    if (told_ends_of(status) <= known) continue;
    known = told_ends_of(status);
    end_container(training, member, status.name, last_code(status));
  }
}

void TrainingWatch::leave(Training& training, Member& member) {
  if (member.joined == training.generation && !training.formed)
    for (const std::int64_t rank : member.ranks) training.ranks.erase(rank);
  member.ranks.clear();
  member.joined = 0;
  member.containers.clear();
}

template <class Predicate>
bool TrainingWatch::all_members(const Training& training, const Predicate& predicate) {
  if (!training.set) return false;
  const StatefulSetSpec& spec = *training.set->spec;
  const int start = spec.ordinals ? spec.ordinals->start : 0;
  const int count = spec.replicas.value_or(1);
  for (int ordinal = start; ordinal < start + count; ++ordinal) {
    const auto found = training.members.find(ordinal);
    if (found == training.members.end() || !predicate(found->second)) return false;
  }
  return count > 0;
}

void TrainingWatch::end_container(Training& training, Member& member, std::string_view name,
                                  std::int64_t code) {
  if (code != 0) {
    if (training.containers.find(name) == training.containers.end()) return;
    if (training.formed) training.lost = true;
    return leave(training, member);
  }
  const auto joined = member.containers.find(name);
  if (joined == member.containers.end()) return;
  member.containers.erase(joined);
  if (!member.containers.empty()) return;
  const std::uint64_t generation = member.joined;
  member.done.insert(generation);
  leave(training, member);
  const auto is_done = [generation](const Member& one) { return one.done.contains(generation); };
  training.complete = training.complete || all_members(training, is_done);
}

void TrainingWatch::join(Training& training, Member& member, std::string_view container,
                         const JoinedRank& rank) {
  const bool same_start = member.joined == training.generation &&
                          member.containers.find(container) != member.containers.end();
  const bool known = training.ranks.contains(rank.rank);
  if (known && same_start && !training.lost && training.world == rank.world) return;
  if (training.lost || training.formed || known || training.world != rank.world) {
    ++training.generation;
    training.world = rank.world;
    training.ranks.clear();
    training.formed = training.lost = false;
  }
  if (training.generation == 0) ++training.generation;
  if (member.joined != training.generation) {
    member.ranks.clear();
    member.containers.clear();
  }
  member.joined = training.generation;
  member.ranks.insert(rank.rank);
  member.containers.emplace(container);
  training.containers.emplace(container);
  training.ranks.insert(rank.rank);
  form(training);
}

// Not by the ranks alone: each of four pods may have made a group of its own.
void TrainingWatch::form(Training& training) {
  if (static_cast<std::int64_t>(training.ranks.size()) < training.world) return;
  const auto is_in = [&training](const Member& one) { return one.joined == training.generation; };
  if (!all_members(training, is_in)) return;
  training.formed = training.trained = true;
  for (auto& [ordinal, one] : training.members)
    one.restarts_at_forming = one.pod ? most_restarts(*one.pod) : 0;
}

void TrainingWatch::take_line(const Record& record) {
  if (places_.empty()) return;
  const std::string_view subject = record.subject;
  const std::size_t slash = subject.rfind('/');
  if (slash == subject.npos) return;
  const auto place = places_.find(subject.substr(0, slash));
  if (place == places_.end()) return;
  Training& training = trainings_[place->second.set];
  Member& member = training.members[place->second.ordinal];
  if (take_text(training, member, subject.substr(slash + 1), record.text)) moved(training, record);
}

bool TrainingWatch::take_text(Training& training, Member& member, std::string_view container,
                              std::string_view text) {
  if (const JoinedRank rank = joined_rank(text); rank.rank >= 0) {
    join(training, member, container, rank);
    return true;
  }
  if (member.containers.find(container) == member.containers.end()) return false;
  if (text == held_line) {
    end_container(training, member, container, 0);
    return true;
  }
  // Under torchrun the container stays when its ranks have ended.
  if (member.joined != training.generation || !tells_failure(text)) return false;
  if (training.formed)
    training.lost = true;
  else
    leave(training, member);
  return true;
}

std::string_view TrainingWatch::state_of(const Training& training) {
  if (training.complete) return training_state::complete;
  const bool loops =
      std::any_of(training.members.begin(), training.members.end(), [](const auto& entry) {
        const Member& member = entry.second;
        return member.pod &&
               most_restarts(*member.pod) - member.restarts_at_forming >= crash_loop_restarts;
      });
  const bool trains = training.formed && !training.lost;
  if (loops && !trains) return training_state::crash_looping;
  if (trains) return training_state::training;
  return training.trained ? training_state::broken : training_state::forming;
}

const TrainingWatch::Training* TrainingWatch::find(const Object& object) const {
  const bool is_ddpset = as<DDPSet>(object) != nullptr;
  if (!is_ddpset && as<StatefulSet>(object) == nullptr) return nullptr;
  // A DDPSet's StatefulSet has its name.
  const auto found = trainings_.find(key_of(object.metadata));
  if (found == trainings_.end() || !found->second.set) return nullptr;
  const Training& training = found->second;
  if (!is_ddpset) return &training;
  const OwnerReference* owner = training.set->metadata.controller();
  return owner != nullptr && owner->uid == object.metadata.uid ? &training : nullptr;
}

std::string_view TrainingWatch::state_of(const Object& object) const {
  if (as<DDPSet>(object) == nullptr && as<StatefulSet>(object) == nullptr) return {};
  const Training* training = find(object);
  return training != nullptr ? state_of(*training) : training_state::forming;
}

bool TrainingWatch::has_seen(const Object& object) const {
  const Training* training = find(object);
  return training != nullptr && training->generation > 0;
}

std::uint64_t TrainingWatch::latest(const Object& object) const {
  const Training* training = find(object);
  return training != nullptr ? training->latest : 0;
}

}  // namespace ddptwin::scenario
