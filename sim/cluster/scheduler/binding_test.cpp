// The scheduler and the volumes of its pods, against a store where nobody binds them: what it
// writes, what it makes of the answers and of what others do meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <deque>

#include "api/faulty_client.hpp"
#include "cluster/scheduler/scheduler.hpp"
#include "cluster/scheduler/test_shapes.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::scheduler::binding_test {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Holds what is written to volumes and claims until it is told what becomes of it.
class HoldingClient final : public api::ApiClient {
 public:
  HoldingClient(Loop& loop, Store& store) : client_(loop, store, "scheduler") {}
  void call(api::Request&& request, api::Completion done) override {
    const KindInfo* kind = request.target.kind;
    const bool is_of_volumes =
        kind == &PersistentVolume::info() || kind == &PersistentVolumeClaim::info();
    if (!holds || !is_of_volumes || !api::is_write(request))
      return client_.call(std::move(request), std::move(done));
    held.push_back({std::move(request), std::move(done)});
  }
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink) override {
    return client_.watch(target, options, std::move(sink));
  }
  const KindRegistry& kinds() const override { return client_.kinds(); }

  // The eldest of those that are held.
  void refuse() {
    Held one = take();
    one.done(fail(Reason::internal_error, "no"));
  }
  void pass() {
    Held one = take();
    client_.call(std::move(one.request), std::move(one.done));
  }

  struct Held {
    api::Request request;
    api::Completion done;
  };
  bool holds = true;
  std::deque<Held> held{};

 private:
  Held take() {
    Held one = std::move(held.front());
    held.pop_front();
    return one;
  }
  StoreClient client_;
};

class SchedulerBinding : public testing::Test {
 protected:
  SchedulerBinding() {
    trace.add_sink([this](const Record& record) {
      if (const auto event = as<Event>(record.after); event && !record.before)
        events.push_back(
            fmt::format("{} {}: {}", event->involvedObject->name, event->reason, event->message));
    });
    scheduler.start();
    settle();
    auto made = node("n");
    must(api::create(made));
    auto ready = std::static_pointer_cast<Node>(store.find<Node>("", "n")->clone());
    ready->spec.taints = {};
    must(api::update(ready));
    add_class("local", "kubernetes.io/no-provisioner");
    add_class("made", "p.io/p");
  }

  void settle(Duration time = 100ms) { loop.run_until(loop.now() + time); }
  void must(const api::Request& request) {
    const auto answer = store.call(request, "test");
    ASSERT_TRUE(answer) << answer.error().message;
    settle();
  }
  void add_class(const std::string& name, const std::string& provisioner) {
    auto made = std::make_shared<StorageClass>();
    made->metadata.name = name;
    made->volumeBindingMode = "WaitForFirstConsumer";
    made->provisioner = provisioner;
    must(api::create(made));
  }
  void add_volume(const std::string& name, const std::string& size) {
    auto made = std::make_shared<PersistentVolume>();
    made->metadata.name = name;
    made->spec.accessModes = {"ReadWriteOnce"};
    made->spec.capacity = amounts({{"storage", size}});
    made->spec.storageClassName = "local";
    made->spec.hostPath.emplace().path = "/srv";
    must(api::create(made));
    auto free = std::make_shared<PersistentVolume>(*volume(name));
    free->status.phase = "Available";
    must(api::update(free, "status"));
  }
  void add_claim(const std::string& name, const std::string& size,
                 const std::string& class_name = "local") {
    auto made = std::make_shared<PersistentVolumeClaim>();
    made->metadata.namespace_ = "default";
    made->metadata.name = name;
    made->spec.accessModes = {"ReadWriteOnce"};
    made->spec.resources.requests = amounts({{"storage", size}});
    made->spec.storageClassName = class_name;
    must(api::create(made));
  }
  void add_pod(const std::string& name, const std::vector<std::string>& claims) {
    auto made = pod(name);
    for (const std::string& one : claims) {
      Volume& added = made->spec.edit().volumes.edit().emplace_back();
      added.name = one;
      added.persistentVolumeClaim.emplace().claimName = one;
    }
    must(api::create(made));
  }
  void bind(const std::string& name, const std::string& to) {
    auto bound = std::make_shared<PersistentVolumeClaim>(*claim(name));
    bound->spec.volumeName = to;
    bound->metadata.annotations.edit()[bind_completed] = "yes";
    must(api::update(bound));
  }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) {
    return store.find<PersistentVolume>("", name);
  }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& name) {
    return store.find<PersistentVolumeClaim>("default", name);
  }
  std::string node_of(const std::string& name) {
    return store.find<Pod>("default", name)->spec->nodeName;
  }

  VirtualLoop loop{Random(1), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(2), trace, kinds};
  HoldingClient client{loop, store};
  Scheduler scheduler{loop, client, trace};
  std::vector<std::string> events;
};

constexpr auto failing =
    "FailedScheduling: running PreBind plugin \"VolumeBinding\": binding volumes: ";

TEST_F(SchedulerBinding, a_pod_goes_once_its_claim_is_bound) {
  add_volume("v", "1Gi");
  add_claim("c", "1Gi");
  add_pod("p", {"c"});
  ASSERT_EQ(client.held.size(), 1U);
  client.pass();
  settle();
  EXPECT_EQ(volume("v")->spec.claimRef->uid, claim("c")->metadata.uid);
  EXPECT_EQ(node_of("p"), "");
  bind("c", "v");
  EXPECT_EQ(node_of("p"), "n");
  EXPECT_THAT(events, ElementsAre("p Scheduled: Successfully assigned default/p to n"));
}

// Their writes are under way when another's is refused.
TEST_F(SchedulerBinding, what_is_assumed_for_others_outlives_a_pods_failure) {
  add_volume("small", "1Gi");
  add_volume("large", "9Gi");
  for (const char* one : {"a", "b", "c"}) add_claim(one, one == std::string("a") ? "1Gi" : "5Gi");
  add_pod("p", {"a"});
  add_pod("q", {"b"});
  ASSERT_EQ(client.held.size(), 2U);
  client.refuse();
  settle();
  EXPECT_THAT(events, ElementsAre(std::string("p ") + failing + "no"));
  add_pod("r", {"c"});
  EXPECT_THAT(events, Contains(HasSubstr("r FailedScheduling: 0/1 nodes are available: 1 node(s) "
                                         "didn't find available persistent volumes to bind.")));
  client.pass();
  settle();
  EXPECT_EQ(volume("large")->spec.claimRef->name, "b");
  // And what was assumed for the one that failed is free again.
  settle(5s);
  ASSERT_EQ(client.held.size(), 1U);
  client.pass();
  settle();
  EXPECT_EQ(volume("small")->spec.claimRef->name, "a");
}

TEST_F(SchedulerBinding, a_refusal_that_comes_late_is_no_matter_of_the_next_pod_of_that_name) {
  add_volume("v", "1Gi");
  add_claim("c", "1Gi");
  add_pod("p", {"c"});
  must(api::remove(*store.find<Pod>("default", "p")));
  add_pod("p", {"c"});
  ASSERT_EQ(client.held.size(), 2U);
  client.refuse();
  settle();
  client.pass();
  settle();
  bind("c", "v");
  EXPECT_EQ(node_of("p"), "n");
  EXPECT_THAT(events, ElementsAre("p Scheduled: Successfully assigned default/p to n"));
}

TEST_F(SchedulerBinding, a_pod_that_goes_while_it_waits_leaves_its_volume_to_others) {
  add_volume("v", "1Gi");
  add_claim("a", "1Gi");
  add_claim("b", "1Gi");
  add_pod("p", {"a"});
  must(api::remove(*store.find<Pod>("default", "p")));
  client.refuse();
  add_pod("q", {"b"});
  ASSERT_EQ(client.held.size(), 1U);
  client.pass();
  settle();
  EXPECT_EQ(volume("v")->spec.claimRef->name, "b");
}

// What the watch says before it has told of the scheduler's own write is older than that.
TEST_F(SchedulerBinding, what_came_before_its_own_write_fails_nothing) {
  add_claim("c", "1Gi", "made");
  add_pod("p", {"c"});
  auto labelled = std::make_shared<PersistentVolumeClaim>(*claim("c"));
  labelled->metadata.labels.edit()["seen"] = "yes";
  must(api::update(labelled));
  EXPECT_THAT(events, IsEmpty());
  client.pass();
  settle();
  EXPECT_THAT(events, IsEmpty());
  add_volume("v", "1Gi");
  bind("c", "v");
  EXPECT_EQ(node_of("p"), "n");
}

TEST_F(SchedulerBinding, a_claim_reference_that_is_taken_away_fails_the_pod) {
  client.holds = false;
  add_volume("v", "1Gi");
  add_claim("c", "1Gi");
  add_pod("p", {"c"});
  auto freed = std::make_shared<PersistentVolume>(*volume("v"));
  freed->spec.claimRef.reset();
  must(api::update(freed));
  EXPECT_THAT(events, ElementsAre(std::string("p ") + failing + "ClaimRef got reset for pv \"v\""));
}

TEST_F(SchedulerBinding, a_provisioner_that_gives_up_fails_the_pod) {
  client.holds = false;
  add_claim("c", "1Gi", "made");
  add_pod("p", {"c"});
  ASSERT_NE(annotation(*claim("c"), selected_node), nullptr);
  auto freed = std::make_shared<PersistentVolumeClaim>(*claim("c"));
  freed->metadata.annotations.edit().erase(std::string(selected_node));
  must(api::update(freed));
  EXPECT_THAT(events,
              ElementsAre(std::string("p ") + failing + "provisioning failed for PVC \"c\""));
  settle(5s);
  EXPECT_NE(annotation(*claim("c"), selected_node), nullptr);
}

TEST_F(SchedulerBinding, a_volume_that_goes_fails_the_pod_at_once) {
  client.holds = false;
  add_volume("v", "1Gi");
  add_claim("c", "1Gi");
  add_pod("p", {"c"});
  auto freed = std::make_shared<PersistentVolume>(*volume("v"));
  freed->metadata.finalizers.edit().clear();
  must(api::update(freed));
  must(api::remove(*volume("v")));
  EXPECT_THAT(events,
              Contains(std::string("p ") + failing + "could not find v1.PersistentVolume \"v\""));
  EXPECT_THAT(events, Not(Contains(HasSubstr("Scheduled: Successfully"))));
}

}  // namespace
}  // namespace ddptwin::scheduler::binding_test
