// The scheduler against the store: what it writes, in the order of the watch.
#include "cluster/scheduler/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "cluster/scheduler/test_shapes.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::scheduler_test {
namespace {

using namespace scheduler::test;
using testing::ElementsAre;
using testing::IsEmpty;

// Refuses that many bindings.
class RefusingClient final : public api::ApiClient {
 public:
  RefusingClient(Loop& loop, Store& store) : client_(loop, store, "scheduler"), loop_(loop) {}
  void call(api::Request&& request, api::Completion done) override {
    if (request.target.subresource != "binding" || refusals == 0)
      return client_.call(std::move(request), std::move(done));
    --refusals;
    loop_.post(lane_,
               [done = std::move(done)]() mutable { done(fail(Reason::internal_error, "no")); });
  }
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink) override {
    return client_.watch(std::move(target), std::move(options), std::move(sink));
  }
  const KindRegistry& kinds() const override { return client_.kinds(); }

  int refusals = 0;

 private:
  StoreClient client_;
  Loop& loop_;
  Lane lane_ = loop_.new_lane();
};

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() {
    trace.add_sink([this](const Record& record) {
      if (const auto event = as<Event>(record.after); event && !record.before)
        lines.push_back(
            fmt::format("{} {}: {}", event->involvedObject->name, event->reason, event->message));
    });
    scheduler.start();
    settle();
  }

  void settle(Duration time = 1s) { loop.run_until(loop.now() + time); }
  void must(const api::Request& request) {
    const auto answer = store.call(request, "test");
    ASSERT_TRUE(answer) << answer.error().message;
    settle();
  }
  void add(const std::shared_ptr<Object>& object) { must(api::create(object)); }
  // A node is made with the taint not-ready; its kubelet would take it away.
  void add(const std::shared_ptr<Node>& object) {
    must(api::create(object));
    auto ready =
        std::static_pointer_cast<Node>(store.find<Node>("", object->metadata.name)->clone());
    ready->spec.taints = object->spec.taints;
    must(api::update(ready));
  }
  std::shared_ptr<const Pod> find(const std::string& name) {
    return store.find<Pod>("default", name);
  }
  // The events since the last call.
  std::vector<std::string> events() { return std::exchange(lines, {}); }
  void end(const std::string& name, const std::string& phase) {
    auto ended = std::static_pointer_cast<Pod>(find(name)->clone());
    ended->status.phase = phase;
    must(api::update(ended, "status"));
  }

  VirtualLoop loop{Random(1), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(2), trace, kinds};
  RefusingClient client{loop, store};
  Scheduler scheduler{loop, client, trace};
  std::vector<std::string> lines;
};

std::shared_ptr<Pod> important(std::shared_ptr<Pod> pod) {
  PodSpec& spec = pod->spec.edit();
  spec.priority.reset();
  spec.rest.edit().priorityClassName = "system-cluster-critical";
  return pod;
}

const std::string tail = " no new claims to deallocate, preemption: ";

// C197
TEST_F(SchedulerTest, binds_a_pod_that_fits) {
  add(node("n"));
  add(pod("p"));
  EXPECT_EQ(find("p")->spec->nodeName, "n");
  EXPECT_EQ(find("p")->status.condition("PodScheduled")->status, "True");
  EXPECT_THAT(events(), ElementsAre("p Scheduled: Successfully assigned default/p to n"));
}

// C171
TEST_F(SchedulerTest, says_that_there_are_no_nodes) {
  add(pod("p"));
  EXPECT_THAT(events(), ElementsAre("p FailedScheduling: no nodes available to schedule pods"));
  add(node("n"));
  EXPECT_EQ(find("p")->spec->nodeName, "n");
}

// C168, and the condition's form.
TEST_F(SchedulerTest, says_why_a_pod_fits_nowhere) {
  add(node("a"));
  add(node("b"));
  add(pod("p", {{"cpu", "100"}, {"memory", "1Ti"}}));
  const std::string message =
      "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory." + tail +
      "0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
  EXPECT_THAT(events(), ElementsAre("p FailedScheduling: " + message));
  const auto* condition = find("p")->status.condition("PodScheduled");
  EXPECT_EQ(condition->status, "False");
  EXPECT_EQ(condition->reason, "Unschedulable");
  EXPECT_EQ(condition->message, message);
}

// C169 in its 1.36 form.
TEST_F(SchedulerTest, counts_cordons_and_taints_apart) {
  auto cordoned = node("a");
  cordoned->spec.unschedulable = true;
  auto tainted = node("b");
  tainted->spec.taints = {{.key = "k", .value = "v", .effect = "NoSchedule"}};
  add(cordoned);
  add(tainted);
  add(pod("p"));
  EXPECT_THAT(
      events(),
      ElementsAre("p FailedScheduling: 0/2 nodes are available: 1 node(s) had untolerated "
                  "taint(s), 1 node(s) were unschedulable." +
                  tail + "0/2 nodes are available: 2 Preemption is not helpful for scheduling."));
}

TEST_F(SchedulerTest, tries_again_when_room_is_freed) {
  add(node("n"));
  add(pod("a", {{"cpu", "4"}}));
  add(pod("p", {{"cpu", "4"}}));
  events();
  settle(60s);
  EXPECT_THAT(events(), IsEmpty());  // nothing happened that could help
  end("a", "Succeeded");
  EXPECT_THAT(events(), ElementsAre("p Scheduled: Successfully assigned default/p to n"));
}

TEST_F(SchedulerTest, tries_again_after_five_minutes_at_the_latest) {
  add(node("n"));
  add(pod("p", {{"cpu", "9"}}));
  EXPECT_EQ(events().size(), 1U);
  settle(301s);
  EXPECT_EQ(events().size(), 1U);
}

// k8s#141354: whom the other's end makes the first of its kind waits for the five minutes.
TEST_F(SchedulerTest, nobody_thinks_of_who_becomes_the_first_of_its_kind) {
  const auto of_a_kind = [](const std::string& name) {
    auto one = pod(name, {{"cpu", "4"}});
    one->metadata.labels = StringMap{{"app", "x"}};
    PodAffinityTerm term;
    term.labelSelector.emplace();
    term.labelSelector->matchLabels = StringMap{{"app", "x"}};
    term.topologyKey = "kubernetes.io/hostname";
    one->spec.edit().affinity.edit().podAffinity = PodAffinity{{term}, {}};
    return one;
  };
  add(node("n"));
  add(of_a_kind("a"));
  auto cordoned = std::static_pointer_cast<Node>(store.find<Node>("", "n")->clone());
  cordoned->spec.unschedulable = true;
  must(api::update(cordoned));
  add(node("m"));
  add(of_a_kind("b"));
  events();
  end("a", "Succeeded");
  EXPECT_THAT(events(), IsEmpty());
  settle(331s);
  EXPECT_THAT(events(), ElementsAre("b Scheduled: Successfully assigned default/b to m"));
}

TEST_F(SchedulerTest, room_goes_to_the_highest_priority_then_to_who_waited_longest) {
  add(node("n"));
  add(important(pod("a", {{"cpu", "4"}})));
  add(pod("early", {{"cpu", "4"}}));
  add(pod("later", {{"cpu", "4"}}));
  add(important(pod("high", {{"cpu", "4"}})));
  events();
  end("a", "Succeeded");
  EXPECT_EQ(find("high")->spec->nodeName, "n");
  end("high", "Succeeded");
  EXPECT_EQ(find("early")->spec->nodeName, "n");
  EXPECT_EQ(find("later")->spec->nodeName, "");
}

TEST_F(SchedulerTest, two_pods_do_not_take_the_same_room) {
  add(node("n"));
  for (const char* name : {"a", "b", "c"})
    ASSERT_TRUE(store.call(api::create(pod(name, {{"cpu", "3"}})), "test"));
  settle();
  int bound = 0;
  for (const char* name : {"a", "b", "c"}) bound += find(name)->spec->nodeName.empty() ? 0 : 1;
  EXPECT_EQ(bound, 1);
}

TEST_F(SchedulerTest, leaves_alone_what_is_not_its_own) {
  add(node("n"));
  auto foreign = pod("foreign");
  foreign->spec.edit().rest.edit().schedulerName = "volcano";
  auto gated = pod("gated");
  gated->spec.edit().schedulingGates = {{"example.com/wait"}};
  auto preset = pod("preset", {{"cpu", "99"}});
  preset->spec.edit().nodeName = "nowhere";
  for (const auto& object : {foreign, gated, preset}) add(object);
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(find("foreign")->spec->nodeName, "");
  EXPECT_EQ(find("gated")->spec->nodeName, "");
}

// C188 in its 1.36 form.
TEST_F(SchedulerTest, pushes_a_lesser_pod_aside) {
  add(node("n"));
  add(pod("low", {{"cpu", "3"}}));
  events();
  add(important(pod("high", {{"cpu", "2"}})));
  EXPECT_THAT(events(),
              ElementsAre("high FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.",
                          "low Preempted: Preempted by pod " + find("high")->metadata.uid.str() +
                              " on node n"));
  EXPECT_EQ(find("high")->status.rest->nominatedNodeName, "n");
  EXPECT_TRUE(find("low")->metadata.deletionTimestamp);
  EXPECT_EQ(find("low")->status.condition("DisruptionTarget")->reason, "PreemptionByScheduler");
  // The room is promised.
  add(pod("small", {{"cpu", "2"}}));
  EXPECT_EQ(find("small")->spec->nodeName, "");
  end("low", "Failed");
  EXPECT_EQ(find("high")->spec->nodeName, "n");
}

TEST_F(SchedulerTest, a_pod_bound_by_another_is_let_go) {
  auto blocked = node("n");
  blocked->spec.unschedulable = true;
  add(blocked);
  add(pod("p"));
  events();
  add(placed(pod("q"), "n"));
  end("q", "Failed");
  EXPECT_THAT(events(), IsEmpty());
}

// The same failure of the same version of a pod is a series, not another event: the third of them,
// for the first changed the pod by its condition.
TEST_F(SchedulerTest, an_equal_event_becomes_a_series) {
  add(node("n"));
  add(pod("fill", {{"cpu", "4"}}));
  add(pod("p", {{"cpu", "4"}}));
  events();
  for (int i = 0; i < 2; ++i) settle(Scheduler::retry_max + 1s);
  EXPECT_EQ(events().size(), 1U);
  std::vector<std::string> series;
  for (const auto& [key, object] : store.objects(Event::info()))
    if (const Json* value = as<Event>(object)->rest->series.get())
      series.push_back(std::to_string(value->at("count").to_number<int>()));
  EXPECT_THAT(series, ElementsAre("2"));
}

// An API that refuses the binding: the room is given back, and the pod tried again later.
TEST_F(SchedulerTest, a_refused_binding_is_tried_again) {
  client.refusals = 1;
  add(node("n"));
  add(pod("p"));
  EXPECT_THAT(events(), ElementsAre("p FailedScheduling: binding rejected: no",
                                    "p Scheduled: Successfully assigned default/p to n"));
  EXPECT_EQ(find("p")->spec->nodeName, "n");
}

}  // namespace
}  // namespace ddptwin::scheduler_test
