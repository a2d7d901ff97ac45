#include "scenario/judge/observer.hpp"

#include <gtest/gtest.h>

#include "objects/apps_v1.hpp"

namespace ddptwin::scenario::observer_test {
namespace {

// A StatefulSet "s" of one pod, and what its container prints.
class Tape {
 public:
  Tape() {
    auto set = std::make_shared<StatefulSet>();
    set->metadata = named("s", "u-set");
    set->spec.edit().replicas = 1;
    write(nullptr, set);
    auto pod = std::make_shared<Pod>();
    pod->metadata = named("s-0", "u-pod");
    OwnerReference owner;
    owner.kind = "StatefulSet";
    owner.name = "s";
    owner.uid = "u-set";
    owner.controller = true;
    pod->metadata.ownerReferences = std::vector{owner};
    ContainerStatus status;
    status.name = "c";
    pod->status.containerStatuses = std::vector{status};
    write(nullptr, pod);
    pod_ = pod;
  }
  std::uint64_t print(const char* line) {
    Record record;
    record.id = ++records_;
    record.kind = RecordKind::log;
    record.subject = "ml/s-0/c";
    record.text = line;
    observer_.on_record(record);
    return record.id;
  }
  // The container ends with 1, and is started again.
  std::uint64_t fail() {
    auto pod = std::static_pointer_cast<Pod>(pod_->clone());
    ContainerStatus& status = pod->status.containerStatuses.edit().front();
    ++status.restartCount;
    status.lastState.edit().terminated.emplace().exitCode = 1;
    return write(pod_, pod);
  }
  State state(std::string phase) const {
    State state;
    state.of = {&StatefulSet::info(), "ml", "s", ""};
    state.claims.emplace_back(PhaseClaim{std::move(phase)});
    return state;
  }
  const Observer& observer() const { return observer_; }
  std::string description() const { return observer_.describe(state("Broken").of); }

 private:
  static ObjectMeta named(const char* name, const char* uid) {
    ObjectMeta metadata;
    metadata.name = name;
    metadata.namespace_ = "ml";
    metadata.uid = uid;
    return metadata;
  }
  std::uint64_t write(ObjectPtr before, ObjectPtr after) {
    Record record;
    record.id = ++records_;
    record.kind = before ? RecordKind::object_modified : RecordKind::object_added;
    record.before = std::move(before);
    record.after = std::move(after);
    observer_.on_record(record);
    return record.id;
  }

  Observer observer_{};
  ObjectPtr pod_{};
  std::uint64_t records_ = 0;
};

// Who asks why a training is Broken is led to the container's end, and not to the set's own status.
TEST(Observer, a_watched_phase_is_decided_by_what_moved_it) {
  Tape tape;
  const std::uint64_t joined = tape.print("joined rank 0 world_size 1");
  const State trains = tape.state("Training"), broken = tape.state("Broken");
  EXPECT_TRUE(tape.observer().holds(trains));
  EXPECT_EQ(tape.observer().latest(trains), joined);
  const std::uint64_t stamp = tape.observer().stamp(broken);
  const std::uint64_t ended = tape.fail();
  EXPECT_NE(tape.observer().stamp(broken), stamp);
  EXPECT_TRUE(tape.observer().holds(broken));
  EXPECT_EQ(tape.observer().latest(broken), ended);
  State there = broken;
  there.claims.clear();
  EXPECT_LT(tape.observer().latest(there), joined) << "of the object alone it is its own record";
}

TEST(Observer, a_set_that_trains_nothing_is_not_told_to_form) {
  Tape tape;
  tape.print("listening on :8080");
  EXPECT_TRUE(tape.observer().holds(tape.state("Forming")));
  EXPECT_EQ(tape.description(), "statefulset/ml/s: 0 of 1 replicas Ready");
  tape.print("joined rank 0 world_size 1");
  EXPECT_EQ(tape.description(), "statefulset/ml/s: Training, 0 of 1 replicas Ready");
}

}  // namespace
}  // namespace ddptwin::scenario::observer_test
