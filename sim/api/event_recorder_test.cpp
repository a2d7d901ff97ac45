#include "api/event_recorder.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <deque>
#include <set>

#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"

namespace ddptwin::api::event_recorder_test {
namespace {

const Time start{std::chrono::seconds(1'700'000'000)};

// Answers each write in the order of a script, otherwise with success, and keeps what was asked.
class ScriptedClient final : public ApiClient {
 public:
  explicit ScriptedClient(Loop& loop) : loop_(loop), lane_(loop.new_lane()) {}

  void call(Request&& request, Completion done) override {
    ++in_flight;
    most_in_flight = std::max(most_in_flight, in_flight);
    requests.push_back(std::move(request));
    Result<Response> answer = Response{};
    if (!answers.empty()) {
      answer = std::move(answers.front());
      answers.pop_front();
    }
    loop_.post(lane_, [this, answer = std::move(answer), done = std::move(done)]() mutable {
      --in_flight;
      done(std::move(answer));
    });
  }
  std::unique_ptr<Watch> watch(const Target&, const ListOptions&, WatchSink) override {
    return nullptr;
  }
  const KindRegistry& kinds() const override { return kinds_; }

  const Event& created(std::size_t i) const {
    return static_cast<const Event&>(*requests[i].object);
  }
  int count_of(Verb verb) const {
    return static_cast<int>(std::count_if(requests.begin(), requests.end(),
                                          [&](const Request& r) { return r.verb == verb; }));
  }

  std::vector<Request> requests{};
  std::deque<Result<Response>> answers{};
  int in_flight = 0;
  int most_in_flight = 0;

 private:
  Loop& loop_;
  Lane lane_;
  KindRegistry kinds_{};
};

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() {
    pod_.metadata.name = "p";
    pod_.metadata.namespace_ = "team";
    pod_.metadata.uid = "u-1";
    pod_.metadata.resourceVersion = "7";
  }
  void wait(Duration duration) { loop_.run_until(loop_.now() + duration); }

  VirtualLoop loop_{Random(1), start};
  ScriptedClient client_{loop_};
  EventRecorder recorder_{loop_, client_, "kubelet", "node-0"};
  Pod pod_{};
};

TEST_F(EventRecorderTest, WritesAllFieldsOfAnEvent) {
  recorder_.event(pod_, "Normal", "Started", "Container started", "spec.containers{c}");
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 1U);
  const Event& e = client_.created(0);
  EXPECT_EQ(client_.requests[0].verb, Verb::create);
  EXPECT_TRUE(e.metadata.name.starts_with("p.")) << e.metadata.name;
  EXPECT_EQ(e.metadata.namespace_, "team");
  EXPECT_EQ(e.involvedObject->kind, "Pod");
  EXPECT_EQ(e.involvedObject->apiVersion, "v1");
  EXPECT_EQ(e.involvedObject->uid, "u-1");
  EXPECT_EQ(e.involvedObject->resourceVersion, "7");
  EXPECT_EQ(e.involvedObject->fieldPath, "spec.containers{c}");
  EXPECT_EQ(e.type_, "Normal");
  EXPECT_EQ(e.reason, "Started");
  EXPECT_EQ(e.message, "Container started");
  EXPECT_EQ(e.rest->source.component, "kubelet");
  EXPECT_EQ(e.rest->source.host, "node-0");
  EXPECT_EQ(e.rest->reportingComponent, "kubelet");
  EXPECT_EQ(e.rest->reportingInstance, "node-0");
  EXPECT_EQ(e.count, 1);
  EXPECT_EQ(e.firstTimestamp, start);
  EXPECT_EQ(e.lastTimestamp, start);
}

// As many keys as client-go's caches have, 4096 of each sort.
TEST_F(EventRecorderTest, ForgetsTheKeyUsedLeastRecently) {
  const auto about = [this](std::size_t pod) {
    pod_.metadata.name = "p-" + std::to_string(pod);
    pod_.metadata.uid = "u-" + std::to_string(pod);
    recorder_.event(pod_, "Normal", "Started", "Container started");
    loop_.drain();
  };
  for (std::size_t pod = 0; pod < 4096; ++pod) about(pod);
  about(0);
  EXPECT_EQ(client_.count_of(Verb::patch), 1);
  about(4096);  // in the place of pod 1
  about(0);
  about(2);
  EXPECT_EQ(client_.count_of(Verb::patch), 3);
  about(1);  // in the place of pod 3
  EXPECT_EQ(client_.count_of(Verb::patch), 3);
  about(4);
  EXPECT_EQ(client_.count_of(Verb::patch), 4);
  about(3);  // in the place of pod 5
  for (std::size_t pod = 6; pod <= 4096; ++pod) about(pod);
  for (std::size_t pod = 0; pod < 5; ++pod) about(pod);
  EXPECT_EQ(client_.count_of(Verb::patch), 4 + 4091 + 5);
  EXPECT_EQ(client_.count_of(Verb::create), 4096 + 3);
  about(5);
  EXPECT_EQ(client_.count_of(Verb::create), 4096 + 4);
}

TEST_F(EventRecorderTest, EventsAboutTheSamePartShareItsReference) {
  recorder_.event(pod_, "Normal", "Created", "Container created", "spec.containers{c}");
  recorder_.event(pod_, "Normal", "Started", "Container started", "spec.containers{c}");
  recorder_.event(pod_, "Normal", "Started", "Container started", "spec.containers{d}");
  pod_.metadata.resourceVersion = "8";
  recorder_.event(pod_, "Normal", "Killing", "Stopping container c", "spec.containers{c}");
  loop_.drain();
  const Event &first = client_.created(0), &second = client_.created(1);
  EXPECT_TRUE(second.involvedObject.same_as(first.involvedObject));
  EXPECT_TRUE(second.rest.same_as(first.rest));
  EXPECT_EQ(client_.created(2).involvedObject->fieldPath, "spec.containers{d}");
  EXPECT_EQ(client_.created(3).involvedObject->resourceVersion, "8");
}

TEST_F(EventRecorderTest, OnlyTheLatestReferencesAreKept) {
  recorder_.event(pod_, "Normal", "Pulled", "Container image is present");
  for (const char letter : std::string_view("abcdefghijklmnop"))
    recorder_.event(pod_, "Normal", "Pulled", "Container image is present", {&letter, 1});
  recorder_.event(pod_, "Normal", "Started", "Container started");
  loop_.drain();
  EXPECT_TRUE(client_.created(17).involvedObject.get() == *client_.created(0).involvedObject);
  EXPECT_FALSE(client_.created(17).involvedObject.same_as(client_.created(0).involvedObject));
}

TEST_F(EventRecorderTest, AnEventAboutAClusterScopedObjectLivesInDefault) {
  recorder_.event({"Node", "", "node-0", "node-0", "", "", ""}, "Normal", "NodeReady", "ready");
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 1U);
  EXPECT_EQ(client_.created(0).metadata.namespace_, "default");
  EXPECT_EQ(client_.created(0).involvedObject->namespace_, "");
}

TEST_F(EventRecorderTest, TheSameEventRaisesTheCountOfTheFirst) {
  recorder_.event(pod_, "Warning", "BackOff", "again");
  wait(5s);
  recorder_.event(pod_, "Warning", "BackOff", "again");
  wait(5s);
  recorder_.event(pod_, "Warning", "BackOff", "again", "spec.containers{other}");
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 3U);
  const Request& patch = client_.requests[1];
  EXPECT_EQ(patch.verb, Verb::patch);
  EXPECT_EQ(patch.patch_type, PatchType::strategic);
  EXPECT_EQ(patch.target.name, client_.created(0).metadata.name);
  EXPECT_EQ(
      *patch.body.get(),
      Json({{"count", 2}, {"lastTimestamp", format_rfc3339(start + 5s)}, {"message", "again"}}));
  EXPECT_EQ(client_.requests[2].verb, Verb::create) << "another field path is another event";
}

TEST_F(EventRecorderTest, WhatARepeatedEventMakesOfTheStoredOneHasWholeSeconds) {
  wait(1900ms);
  recorder_.event(pod_, "Warning", "BackOff", "again");
  wait(5900ms);
  recorder_.event(pod_, "Warning", "BackOff", "again");
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 2U);
  const auto stored = std::make_shared<const Event>(client_.created(0));
  ASSERT_TRUE(client_.requests[1].patched);
  const auto made = as<Event>(ObjectPtr(client_.requests[1].patched(stored)));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->count, 2);
  EXPECT_EQ(made->firstTimestamp->since_epoch(), (start + 1s).since_epoch());
  EXPECT_EQ(made->lastTimestamp->since_epoch(), (start + 7s).since_epoch());
}

TEST_F(EventRecorderTest, AnEventThatHasExpiredIsMadeAnewWithItsCount) {
  recorder_.event(pod_, "Warning", "BackOff", "again");
  loop_.drain();
  client_.answers.push_back(fail(Reason::not_found, "gone"));
  wait(3600s);
  recorder_.event(pod_, "Warning", "BackOff", "again");
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 3U);
  EXPECT_EQ(client_.requests[2].verb, Verb::create);
  EXPECT_EQ(client_.created(2).count, 2);
  EXPECT_EQ(client_.created(2).metadata.name, client_.created(0).metadata.name);
  EXPECT_EQ(client_.created(2).firstTimestamp, start);
}

TEST_F(EventRecorderTest, FromTheTenthSimilarEventOnTheyAreCombined) {
  for (int i = 0; i < 12; ++i)
    recorder_.event(pod_, "Normal", "SuccessfulCreatePod", "Created pod: p-" + std::to_string(i));
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 12U);
  EXPECT_EQ(client_.count_of(Verb::create), 10);
  EXPECT_EQ(client_.created(8).message, "Created pod: p-8");
  EXPECT_EQ(client_.created(9).message, "(combined from similar events): Created pod: p-9");
  EXPECT_EQ(client_.requests[11].target.name, client_.created(9).metadata.name);
  EXPECT_EQ(client_.requests[11].body.get()->at("count").as_int64(), 3);
  EXPECT_EQ(client_.requests[11].body.get()->at("message").as_string(),
            "(combined from similar events): Created pod: p-11");
}

TEST_F(EventRecorderTest, AMessageKnownBeforeTheTenthStillCountsForItself) {
  const auto tell = [&](int pod) {
    recorder_.event(pod_, "Normal", "Created", "Created pod: p-" + std::to_string(pod));
  };
  for (int i = 0; i < 10; ++i) tell(i);
  tell(0);
  tell(9);
  loop_.drain();
  ASSERT_EQ(client_.requests.size(), 12U);
  EXPECT_EQ(client_.requests[10].target.name, client_.created(0).metadata.name);
  EXPECT_EQ(client_.requests[11].target.name, client_.created(9).metadata.name)
      << "the tenth was combined, and is again";
}

TEST_F(EventRecorderTest, SimilarEventsTenMinutesApartAreNotCombined) {
  for (int i = 0; i < 12; ++i) {
    recorder_.event(pod_, "Normal", "R", "m" + std::to_string(i));
    wait(601s);
  }
  EXPECT_EQ(client_.count_of(Verb::create), 12);
}

TEST_F(EventRecorderTest, After25EventsAnObjectMayRaiseOneEach300Seconds) {
  for (int i = 0; i < 60; ++i) recorder_.event(pod_, "Warning", "R" + std::to_string(i), "m");
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 25U);
  wait(299s);
  recorder_.event(pod_, "Warning", "Early", "m");
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 25U);
  wait(1s);
  recorder_.event(pod_, "Warning", "Late", "m");
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 26U);

  Pod other = pod_;
  other.metadata.uid = "u-2";
  recorder_.event(other, "Warning", "R", "m");
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 27U) << "each object has a bucket of its own";
}

TEST_F(EventRecorderTest, WithoutTheSpamFilterEveryEventIsWritten) {
  EventRecorder recorder(loop_, client_, "twin", {}, {.spam_filter = false});
  for (int i = 0; i < 60; ++i) recorder.event(pod_, "Warning", "R" + std::to_string(i), "m");
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 60U);
}

TEST_F(EventRecorderTest, WritesOneAtATimeInTheirOrder) {
  for (int i = 0; i < 8; ++i) recorder_.event(pod_, "Normal", "R" + std::to_string(i), "m");
  loop_.drain();
  EXPECT_EQ(client_.most_in_flight, 1);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(client_.created(i).reason, "R" + std::to_string(i));
}

TEST_F(EventRecorderTest, NamesOfOneInstantDiffer) {
  EventRecorder other(loop_, client_, "scheduler");
  for (int i = 0; i < 5; ++i) {
    recorder_.event(pod_, "Normal", "R" + std::to_string(i), "m");
    other.event(pod_, "Normal", "R" + std::to_string(i), "m");
  }
  loop_.drain();
  std::set<std::string> names;
  for (std::size_t i = 0; i < client_.requests.size(); ++i)
    names.insert(client_.created(i).metadata.name.str());
  EXPECT_EQ(names.size(), 10U);
}

TEST_F(EventRecorderTest, ARefusedEventIsDroppedAndALostOneTriedAgain) {
  client_.answers.push_back(fail(Reason::forbidden, "no"));
  recorder_.event(pod_, "Normal", "Refused", "m");
  client_.answers.push_back(fail(Reason::io, "connection reset"));
  recorder_.event(pod_, "Normal", "Lost", "m");
  wait(60s);
  ASSERT_EQ(client_.requests.size(), 3U);
  EXPECT_EQ(client_.created(0).reason, "Refused");
  EXPECT_EQ(client_.created(1).reason, "Lost");
  EXPECT_EQ(client_.created(2).reason, "Lost");
}

TEST_F(EventRecorderTest, WhatAServerFilledInIsNoPartOfTheNextTry) {
  client_.answers.push_back(fail(Reason::io, "connection reset"));
  recorder_.event(pod_, "Normal", "Lost", "m");
  ASSERT_EQ(client_.requests.size(), 1U);
  EXPECT_TRUE(client_.requests[0].gives_object);
  auto& stored = const_cast<Event&>(client_.created(0));
  stored.metadata.uid = "u-2";
  stored.metadata.resourceVersion = "9";
  wait(60s);
  ASSERT_EQ(client_.requests.size(), 2U);
  const ObjectMeta& meta = client_.created(1).metadata;
  EXPECT_EQ(meta.name, stored.metadata.name);
  EXPECT_EQ(meta.namespace_, "team");
  EXPECT_EQ(meta.uid, "");
  EXPECT_EQ(meta.resourceVersion, "");
  EXPECT_EQ(client_.created(1).message, "m");
}

TEST_F(EventRecorderTest, GivesUpALostEventAfterTwelveTries) {
  for (int i = 0; i < 12; ++i) client_.answers.push_back(fail(Reason::io, "connection refused"));
  recorder_.event(pod_, "Normal", "Lost", "m");
  recorder_.event(pod_, "Normal", "Next", "m");
  wait(600s);
  ASSERT_EQ(client_.requests.size(), 13U);
  EXPECT_EQ(client_.created(12).reason, "Next");
}

TEST_F(EventRecorderTest, ARecorderMayEndWhileAWriteIsUnderWay) {
  {
    EventRecorder brief(loop_, client_, "brief");
    brief.event(pod_, "Normal", "R", "m");
    brief.event(pod_, "Normal", "S", "m");
  }
  loop_.drain();
  EXPECT_EQ(client_.requests.size(), 1U);
}

}  // namespace
}  // namespace ddptwin::api::event_recorder_test
