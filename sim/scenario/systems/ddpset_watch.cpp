#include "scenario/systems/ddpset_watch.hpp"

#include <algorithm>

#include "core/numbers.hpp"
#include "objects/ddpset.hpp"

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

// torchrun's --tee puts role and local rank before a line: "[default0]:".
std::string_view without_tag(std::string_view line) {
  const std::size_t tag = line.find("]:");
  return line.starts_with('[') && tag != line.npos ? line.substr(tag + 2) : line;
}

// "joined rank 0 world_size 4"
JoinedRank worker_rank(std::string_view line) {
  constexpr std::string_view begin = "joined rank ", middle = " world_size ";
  line = without_tag(line);
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
  line = without_tag(line);
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

void TrainingWatch::take_set(const Record& record) {
  const auto& object = record.after ? record.after : record.before;
  Training& training = trainings_[key_of(object->metadata)];
  // Another one of that name begins anew.
  if (training.set && training.set->metadata.uid != object->metadata.uid) training = Training{};
  training.set = std::static_pointer_cast<const StatefulSet>(object);
  ++changes_;
}

void TrainingWatch::take_pod(const Record& record) {
  const auto& object = record.after ? record.after : record.before;
  const std::string key = key_of(object->metadata);
  const OwnerReference* owner = object->metadata.controller();
  const std::int64_t ordinal = ordinal_in(object->metadata.name);
  if (owner == nullptr || owner->kind != "StatefulSet" || ordinal < 0) return;
  const std::string set = object->metadata.namespace_.str() + "/" + owner->name.str();
  Training& training = trainings_[set];
  Member& member = training.members[ordinal];
  ++changes_;
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
    end_container(training, member, last_code(status));
  }
}

void TrainingWatch::leave(Training& training, Member& member) {
  if (member.joined == training.generation && !training.formed)
    for (const std::int64_t rank : member.ranks) training.ranks.erase(rank);
  member.ranks.clear();
  member.joined = 0;
}

void TrainingWatch::end_container(Training& training, Member& member, std::int64_t code) {
  if (code != 0) {
    if (training.formed) training.lost = true;
    return leave(training, member);
  }
  if (member.joined == 0) return;
  const std::uint64_t generation = member.joined;
  member.done.insert(generation);
  leave(training, member);
  if (!training.set) return;
  const StatefulSetSpec& spec = *training.set->spec;
  const int start = spec.ordinals ? spec.ordinals->start : 0;
  const int count = spec.replicas.value_or(1);
  for (int ordinal = start; ordinal < start + count; ++ordinal) {
    const auto found = training.members.find(ordinal);
    if (found == training.members.end() || !found->second.done.contains(generation)) return;
  }
  training.complete = training.complete || count > 0;
}

void TrainingWatch::join(Training& training, Member& member, const JoinedRank& rank) {
  int ends = 0;
  for (const auto& [container, number] : member.ends) ends += number;
  const bool same_start = member.joined == training.generation && member.joined_ends == ends;
  const bool known = training.ranks.contains(rank.rank);
  if (known && same_start && !training.lost && training.world == rank.world) return;
  if (training.lost || training.formed || known || training.world != rank.world) {
    ++training.generation;
    training.world = rank.world;
    training.ranks.clear();
    training.formed = training.lost = false;
  }
  if (training.generation == 0) ++training.generation;
  if (member.joined != training.generation) member.ranks.clear();
  member.joined = training.generation;
  member.ranks.insert(rank.rank);
  member.joined_ends = ends;
  training.ranks.insert(rank.rank);
  if (static_cast<std::int64_t>(training.ranks.size()) < training.world) return;
  training.formed = training.trained = true;
  for (auto& [ordinal, one] : training.members)
    one.restarts_at_forming = one.pod ? most_restarts(*one.pod) : 0;
}

void TrainingWatch::take_line(const Record& record) {
  const std::size_t slash = record.subject.rfind('/');
  if (slash == record.subject.npos) return;
  const auto place = places_.find(std::string_view(record.subject).substr(0, slash));
  if (place == places_.end()) return;
  Training& training = trainings_[place->second.set];
  Member& member = training.members[place->second.ordinal];
  if (record.text == held_line) {
    end_container(training, member, 0);
    ++changes_;
    return;
  }
  if (const JoinedRank rank = joined_rank(record.text); rank.rank >= 0) {
    join(training, member, rank);
    ++changes_;
    return;
  }
  // Under torchrun the container stays when its ranks have ended.
  if (member.joined == training.generation && member.joined != 0 && tells_failure(record.text)) {
    if (training.formed)
      training.lost = true;
    else
      leave(training, member);
    ++changes_;
  }
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

std::string_view TrainingWatch::state_of(const Object& object) const {
  const bool is_ddpset = as<DDPSet>(object) != nullptr;
  if (!is_ddpset && as<StatefulSet>(object) == nullptr) return {};
  // A DDPSet's StatefulSet has its name.
  const auto found = trainings_.find(key_of(object.metadata));
  if (found == trainings_.end() || !found->second.set) return training_state::forming;
  const Training& training = found->second;
  if (!is_ddpset) return state_of(training);
  const OwnerReference* owner = training.set->metadata.controller();
  return owner != nullptr && owner->uid == object.metadata.uid ? state_of(training)
                                                               : training_state::forming;
}

}  // namespace ddptwin::scenario
