// The observer of spec/statefulset-platform.md §7: how the training of each StatefulSet stands, by
// what its containers print and how they end. It never acts.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "objects/apps_v1.hpp"
#include "scenario/systems/state_watch.hpp"

namespace ddptwin::scenario {

// The states, in the order in which the first that is true holds.
namespace training_state {
inline constexpr std::string_view complete = "Complete";
inline constexpr std::string_view crash_looping = "CrashLooping";
inline constexpr std::string_view training = "Training";
inline constexpr std::string_view broken = "Broken";
inline constexpr std::string_view forming = "Forming";
}  // namespace training_state

// What a container says that `onSuccess: hold` keeps, once its command has ended well.
inline constexpr std::string_view held_line = "onSuccess: hold: ended with 0";

// A rank that a line tells of: "joined rank 0 world_size 4" of the twin's worker, "[Gloo] Rank 0 is
// connected to 3 peer ranks" of PyTorch's own.
struct JoinedRank {
  std::int64_t rank = -1;  // -1: it tells of none
  std::int64_t world = 0;
};
JoinedRank joined_rank(std::string_view line);

class TrainingWatch final : public StateWatch {
 public:
  void on_record(const Record& record) override;
  std::string_view state_of(const Object& object) const override;
  bool has_seen(const Object& object) const override;
  std::uint64_t latest(const Object& object) const override;
  std::uint64_t latest() const override { return latest_; }

 private:
  // What has been seen of one of a set's pods, over all that bore its name.
  using Names = std::set<std::string, std::less<>>;
  struct Member {
    std::shared_ptr<const Pod> pod{};                // null: there is none now
    std::map<std::string, int, std::less<>> ends{};  // of each container, in this pod
    std::uint64_t joined = 0;        // the generation that its containers are of; 0: none
    Names containers{};              // those that joined it, and have not ended since
    std::set<std::int64_t> ranks{};  // of the group that it is in
    std::set<std::uint64_t> done{};  // generations in which all that had joined ended well
    int restarts_at_forming = 0;
  };
  struct Training {
    std::shared_ptr<const StatefulSet> set{};
    std::map<std::int64_t, Member> members{};  // by ordinal
    // Containers in which a rank has ever joined. Others in the pods, a shipper of logs, say
    // nothing of the training by what they print or how they end.
    Names containers{};
    std::uint64_t generation = 0;  // of the group that forms or trains
    std::int64_t world = 0;
    std::set<std::int64_t> ranks{};  // of it
    bool formed = false;             // all of them have joined
    bool lost = false;               // one of them has failed or gone
    bool trained = false;            // a group has formed once
    bool complete = false;
    std::uint64_t latest = 0;  // the record that last moved it, or could have
  };
  struct Place {
    std::string set{};
    std::int64_t ordinal = 0;
  };

  void take_set(const Record& record);
  void take_pod(const Record& record);
  void take_line(const Record& record);
  // Its processes are no more: who forms with others later is another.
  static void leave(Training& training, Member& member);
  static void end_container(Training& training, Member& member, std::string_view name,
                            std::int64_t code);
  static void join(Training& training, Member& member, std::string_view container,
                   const JoinedRank& rank);
  static void form(Training& training);
  // Every ordinal that the set asks for has a member of which this is so.
  template <class Predicate>
  static bool all_members(const Training& training, const Predicate& predicate);
  // Whether what the container printed could have moved the training.
  static bool take_text(Training& training, Member& member, std::string_view container,
                        std::string_view text);
  void moved(Training& training, const Record& record);
  // Null: nothing is known of it.
  const Training* find(const Object& object) const;
  static std::string_view state_of(const Training& training);

  std::map<std::string, Training, std::less<>> trainings_{};  // by the set's "namespace/name"
  std::map<std::string, Place, std::less<>> places_{};        // by the pod's
  std::uint64_t latest_ = 0;
};

}  // namespace ddptwin::scenario
