// The observer of spec/statefulset-platform.md §7, fed with records by hand.
#include "scenario/systems/ddpset_watch.hpp"

#include <gtest/gtest.h>

#include "core/trace.hpp"

namespace ddptwin::scenario::ddpset_watch_test {
namespace {

// Pods of a container "c", and of whatever else stands beside it.
class Tape {
 public:
  explicit Tape(int replicas, std::vector<std::string> beside = {}) : beside_(std::move(beside)) {
    set_->metadata.name = "train";
    set_->metadata.namespace_ = "ml";
    set_->metadata.uid = "u-set";
    set_->spec.edit().replicas = replicas;
    write(RecordKind::object_added, nullptr, set_);
    for (int ordinal = 0; ordinal < replicas; ++ordinal) make(ordinal);
  }
  void make(int ordinal) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "train-" + std::to_string(ordinal);
    pod->metadata.namespace_ = "ml";
    pod->metadata.uid = "u-" + std::to_string(++made_);
    OwnerReference owner;
    owner.kind = "StatefulSet";
    owner.name = "train";
    owner.uid = "u-set";
    owner.controller = true;
    pod->metadata.ownerReferences = std::vector{owner};
    ContainerStatus status;
    status.name = "c";
    pod->status.containerStatuses = std::vector{status};
    for (const std::string& name : beside_)
      pod->status.containerStatuses.edit().emplace_back().name = name;
    write(RecordKind::object_added, nullptr, pod);
    pods_[ordinal] = pod;
  }
  void remove(int ordinal) { write(RecordKind::object_deleted, pods_[ordinal], nullptr); }
  void scale(int replicas) {
    auto scaled = std::static_pointer_cast<StatefulSet>(set_->clone());
    scaled->spec.edit().replicas = replicas;
    write(RecordKind::object_modified, set_, scaled);
    set_ = scaled;
  }
  void print(int ordinal, std::string_view line, const std::string& container = "c") {
    const std::string subject = "ml/train-" + std::to_string(ordinal) + "/" + container;
    Record record;
    record.id = ++records_;
    record.kind = RecordKind::log;
    record.subject = subject;
    record.text = line;
    watch_.on_record(record);
  }
  void join(int ordinal, int world) {
    print(ordinal,
          "joined rank " + std::to_string(ordinal) + " world_size " + std::to_string(world));
  }
  void join_all(int world) {
    for (int ordinal = 0; ordinal < world; ++ordinal) join(ordinal, world);
  }
  // The container ends with the code, and is started again.
  void end(int ordinal, int code, std::string_view container = "c") {
    auto pod = std::static_pointer_cast<Pod>(pods_[ordinal]->clone());
    for (ContainerStatus& status : pod->status.containerStatuses.edit()) {
      if (status.name != container) continue;
      ++status.restartCount;
      status.lastState.edit().terminated.emplace().exitCode = code;
    }
    write(RecordKind::object_modified, pods_[ordinal], pod);
    pods_[ordinal] = pod;
  }
  std::string_view state() const { return watch_.state_of(*set_); }
  bool is_seen() const { return watch_.has_seen(*set_); }
  std::uint64_t latest() const { return watch_.latest(*set_); }
  std::uint64_t records() const { return records_; }

 private:
  void write(RecordKind kind, ObjectPtr before, ObjectPtr after) {
    Record record;
    record.id = ++records_;
    record.kind = kind;
    record.before = std::move(before);
    record.after = std::move(after);
    watch_.on_record(record);
  }

  TrainingWatch watch_{};
  std::shared_ptr<StatefulSet> set_ = std::make_shared<StatefulSet>();
  std::map<int, std::shared_ptr<Pod>> pods_{};
  std::vector<std::string> beside_;
  int made_ = 0;
  std::uint64_t records_ = 0;
};

TEST(TrainingWatch, forms_until_every_rank_has_joined) {
  Tape tape(3);
  EXPECT_EQ(tape.state(), "Forming");
  tape.join(0, 3);
  tape.join(1, 3);
  EXPECT_EQ(tape.state(), "Forming");
  tape.join(2, 3);
  EXPECT_EQ(tape.state(), "Training");
}

TEST(TrainingWatch, ranks_of_two_world_sizes_form_no_group) {
  Tape tape(2);
  tape.join(0, 2);
  tape.join(1, 3);
  EXPECT_EQ(tape.state(), "Forming");
}

TEST(TrainingWatch, who_failed_before_the_group_formed_is_no_part_of_it) {
  Tape tape(2);
  tape.join(1, 2);
  tape.end(1, 1);
  tape.join(0, 2);
  EXPECT_EQ(tape.state(), "Forming") << "rank 1 is gone";
  tape.join(1, 2);
  EXPECT_EQ(tape.state(), "Training");
  tape.end(0, 0);
  tape.end(1, 0);
  EXPECT_EQ(tape.state(), "Complete");
}

TEST(TrainingWatch, is_broken_by_a_failure_and_trains_again_with_all) {
  Tape tape(2);
  tape.join_all(2);
  tape.end(1, 137);
  EXPECT_EQ(tape.state(), "Broken");
  tape.end(0, 1);
  tape.join(1, 2);
  EXPECT_EQ(tape.state(), "Broken");
  tape.join(0, 2);
  EXPECT_EQ(tape.state(), "Training");
}

TEST(TrainingWatch, who_goes_takes_the_group_along) {
  Tape tape(2);
  tape.join_all(2);
  tape.remove(1);
  EXPECT_EQ(tape.state(), "Broken");
  tape.make(1);
  tape.end(0, 1);
  tape.join_all(2);
  EXPECT_EQ(tape.state(), "Training");
}

TEST(TrainingWatch, is_complete_once_all_of_one_group_have_ended_well) {
  Tape tape(2);
  tape.join_all(2);
  tape.end(0, 0);
  EXPECT_EQ(tape.state(), "Training");
  tape.end(1, 0);
  EXPECT_EQ(tape.state(), "Complete");
  tape.join_all(2);
  tape.end(0, 1);
  EXPECT_EQ(tape.state(), "Complete") << "it is latched";
}

TEST(TrainingWatch, ends_of_two_groups_make_none_complete) {
  Tape tape(2);
  tape.join_all(2);
  tape.end(0, 0);
  tape.end(1, 1);
  tape.join_all(2);
  tape.end(1, 0);
  EXPECT_NE(tape.state(), "Complete");
}

TEST(TrainingWatch, who_ends_well_without_a_group_has_done_nothing) {
  Tape tape(2);
  tape.end(0, 0);
  tape.end(1, 0);
  EXPECT_EQ(tape.state(), "Forming");
}

TEST(TrainingWatch, five_restarts_without_a_group_are_a_loop) {
  Tape tape(2);
  for (int i = 0; i < 4; ++i) tape.end(1, 1);
  EXPECT_EQ(tape.state(), "Forming");
  tape.end(1, 1);
  EXPECT_EQ(tape.state(), "CrashLooping");
  tape.join_all(2);
  EXPECT_EQ(tape.state(), "Training");
  tape.end(0, 1);
  EXPECT_EQ(tape.state(), "Broken") << "what was before the group counts no more";
}

TEST(TrainingWatch, a_held_container_has_ended_well) {
  Tape tape(1);
  tape.join(0, 1);
  tape.print(0, held_line);
  EXPECT_EQ(tape.state(), "Complete");
}

TEST(TrainingWatch, what_stands_beside_the_training_is_no_part_of_it) {
  Tape tape(2, {"shipper"});
  tape.join_all(2);
  for (const int ordinal : {0, 1}) {
    tape.end(ordinal, 0, "shipper");
    tape.print(ordinal, held_line, "shipper");
  }
  EXPECT_EQ(tape.state(), "Training") << "its ranks have not ended";
  tape.end(0, 1, "shipper");
  tape.print(1, "RuntimeError: the log server is away", "shipper");
  EXPECT_EQ(tape.state(), "Training") << "its ranks have not failed";
  tape.end(0, 0);
  tape.end(1, 0);
  EXPECT_EQ(tape.state(), "Complete");
}

TEST(TrainingWatch, a_pod_has_done_its_part_when_all_its_ranks_have) {
  Tape tape(1, {"d"});
  tape.print(0, "joined rank 0 world_size 2");
  tape.print(0, "joined rank 1 world_size 2", "d");
  EXPECT_EQ(tape.state(), "Training");
  tape.end(0, 0, "d");
  EXPECT_EQ(tape.state(), "Training");
  tape.end(0, 0);
  EXPECT_EQ(tape.state(), "Complete");
}

// POD_NUMS is 1, RANK is not handed on: each trains alone.
TEST(TrainingWatch, groups_of_one_are_no_group_of_the_set) {
  Tape tape(4);
  for (int ordinal = 0; ordinal < 4; ++ordinal) tape.print(ordinal, "joined rank 0 world_size 1");
  EXPECT_EQ(tape.state(), "Forming");
  for (int ordinal = 0; ordinal < 4; ++ordinal) tape.end(ordinal, 0);
  EXPECT_EQ(tape.state(), "Forming") << "nor is it complete";
}

TEST(TrainingWatch, a_group_of_fewer_than_the_set_asks_for_does_not_train) {
  Tape tape(3);
  tape.join_all(2);
  EXPECT_EQ(tape.state(), "Forming");
  tape.scale(2);
  EXPECT_EQ(tape.state(), "Training") << "it asks for no more now";
}

TEST(TrainingWatch, who_never_joined_fails_for_the_set_too) {
  Tape tape(2);
  tape.join_all(2);
  tape.scale(3);
  tape.make(2);
  EXPECT_EQ(tape.state(), "Training");
  tape.end(2, 1);
  EXPECT_EQ(tape.state(), "Broken");
}

TEST(TrainingWatch, tells_which_record_moved_it) {
  Tape tape(2, {"shipper"});
  tape.join_all(2);
  const std::uint64_t joined = tape.records();
  EXPECT_EQ(tape.latest(), joined);
  tape.print(0, "step 1 of 20");
  tape.print(0, held_line, "shipper");
  EXPECT_EQ(tape.latest(), joined) << "they say nothing of it";
  tape.end(1, 1);
  EXPECT_EQ(tape.latest(), tape.records());
}

TEST(TrainingWatch, has_seen_a_training_once_a_rank_has_joined) {
  Tape tape(2);
  tape.print(0, "listening on :8080");
  EXPECT_FALSE(tape.is_seen());
  EXPECT_EQ(tape.state(), "Forming");
  tape.join(1, 2);
  EXPECT_TRUE(tape.is_seen());
}

TEST(TrainingWatch, reads_the_workers_words_and_those_of_gloo) {
  EXPECT_EQ(joined_rank("joined rank 2 world_size 4").rank, 2);
  EXPECT_EQ(joined_rank("[default0]:joined rank 2 world_size 4").world, 4);
  const JoinedRank gloo = joined_rank(
      "[Gloo] Rank 1 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3");
  EXPECT_EQ(gloo.rank, 1);
  EXPECT_EQ(gloo.world, 4);
  EXPECT_EQ(joined_rank("rank 1 of 4").rank, -1);
}

TEST(TrainingWatch, sees_its_own_tells_nothing_of_other_kinds) {
  EXPECT_EQ(TrainingWatch().state_of(Pod()), "");
}

}  // namespace
}  // namespace ddptwin::scenario::ddpset_watch_test
