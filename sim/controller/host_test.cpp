#include "controller/host.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/concat.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::controller::host_test {
namespace {

constexpr Rule test_rule{"test_rule", "host_test.cpp"};

// A cluster of ConfigMaps: list, one watch, create, get, delete; refuses what it is told to.
class TinyApi final : public api::ApiClient {
 public:
  explicit TinyApi(Loop& loop) : loop_(loop), lane_(loop.new_lane()) {}

  void call(api::Request&& request, api::Completion done) override {
    loop_.post(lane_, [this, request = std::move(request), done = std::move(done)]() mutable {
      done(answer(request));
    });
  }

  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions&,
                                    api::WatchSink sink) override {
    if (target.kind == &ConfigMap::info())
      sink_ = std::make_shared<api::WatchSink>(std::move(sink));
    return std::make_unique<api::Watch>();
  }

  const KindRegistry& kinds() const override { return kinds_; }

  void put_at(const std::string& name, int revision) {
    revision_ = revision - 1;
    put(name);
  }
  void put(const std::string& name, bool ending = false) {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = name;
    object->metadata.namespace_ = "ns";
    object->metadata.resourceVersion = std::to_string(++revision_);
    if (ending) object->metadata.deletionTimestamp = loop_.now();
    objects[name] = object;
    if (sink_)
      loop_.post(lane_, [sink = sink_, object] {
        (*sink)({.type = api::WatchEventType::added, .object = object});
      });
  }

  std::map<std::string, ObjectPtr> objects{};
  std::map<std::string, Reason> refuse{};  // by name
  std::vector<std::string> log{};          // of writes and single reads
  std::vector<std::string> events{};       // "reason: message"
  int lists = 0;

 private:
  Result<api::Response> answer(const api::Request& request) {
    api::Response response;
    response.resource_version = "1";
    if (request.verb == api::Verb::list) {
      ++lists;
      for (const auto& [name, object] : objects)
        if (request.target.kind == &ConfigMap::info()) response.items.push_back(object);
      return response;
    }
    if (request.target.kind == &Event::info()) {
      if (const auto event = as<Event>(request.object))
        events.push_back(event->reason + ": " + event->message);
      response.object = request.object;
      return response;
    }
    const std::string name = name_of(request).str();
    log.push_back(std::string(to_string(request.verb)) + " " + name);
    if (const auto found = refuse.find(name); found != refuse.end())
      return fail(found->second, "no " + name);
    if (request.verb == api::Verb::create) objects[name] = request.object;
    if (!objects.contains(name)) return fail(Reason::not_found, name + " not found");
    response.object = objects[name];
    if (request.verb == api::Verb::remove) objects.erase(name);
    return response;
  }

  Loop& loop_;
  Lane lane_;
  KindRegistry kinds_{};
  std::shared_ptr<api::WatchSink> sink_{};
  int revision_ = 0;
};

constexpr RefusalText not_made{"NotMade", "because "};

Step create_step(const std::string& name) {
  auto object = std::make_shared<ConfigMap>();
  object->metadata.name = name;
  object->metadata.namespace_ = "ns";
  return Step{.rule = &test_rule,
              .request = api::create(object),
              .expected = {{.when = Expected::When::before_call, .key = name, .adds = 1}},
              .event = EventText{"Normal", "Made", name},
              .refused = &not_made};
}

// Plans what the test says, for whatever ConfigMap appears.
class TestController final : public Controller {
 public:
  std::string_view name() const override { return "test-controller"; }
  std::vector<Watched> watches(const KindRegistry&) const override {
    return {{.kind = &ConfigMap::info()}};
  }
  Reaction observe(const Change& change, const Cache&, Expectations&, Time) override {
    Reaction reaction;
    if (panic_on_sight) reaction.panic = "index out of range";
    // What the plan itself makes wakes nobody.
    if (change.after && change.after->metadata.name == "job")
      reaction.wake.push_back({"ns", "job"});
    return reaction;
  }
  Plan plan(const Key&, const Observed& seen, Time) const override {
    ++plans;
    satisfied = seen.expectations.satisfied("a", Time());
    Plan plan;
    plan.about = seen.cache.find(ConfigMap::info(), "ns", "job");
    plan.steps = steps;
    plan.requeue_after = requeue_after;
    return plan;
  }
  RateLimits retries() const override { return limits; }
  void reset() override { ++resets; }

  RateLimits limits{};

  std::vector<Step> steps{};
  std::optional<Duration> requeue_after{};
  bool panic_on_sight = false;
  mutable int plans = 0;
  mutable bool satisfied = true;
  int resets = 0;
};

struct HostTest : ::testing::Test {
  VirtualLoop loop{Random(1), Time(1000s), VirtualLoop::Order::fifo};
  TinyApi cluster{loop};
  api::SharedInformers informers{loop, cluster};
  Trace trace{loop};
  TestController controller{};
  HostOptions options{};
  std::unique_ptr<ControllerHost> host{};

  void start() {
    host = std::make_unique<ControllerHost>(loop, cluster, informers, trace, Random(1), controller,
                                            options);
    host->start();
    cluster.put("job");
  }
  void run(Duration duration = 0s) { loop.run_until(loop.now() + duration); }
};

TEST_F(HostTest, carries_out_a_plan_in_order_with_its_events) {
  controller.steps = {create_step("a"), create_step("b")};
  start();
  run();
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a", "create b"}));
  run(1s);
  EXPECT_EQ(cluster.events, (std::vector<std::string>{"Made: a", "Made: b"}));
  EXPECT_TRUE(host->idle());
}

TEST_F(HostTest, makes_one_write_a_loop_step) {
  controller.steps = {create_step("a"), create_step("b"), create_step("c")};
  start();
  std::size_t before = 0;
  while (loop.step()) {
    EXPECT_LE(cluster.log.size(), before + 1);
    before = cluster.log.size();
  }
  EXPECT_EQ(before, 3u);
}

TEST_F(HostTest, drops_the_rest_after_a_refusal_and_backs_off) {
  controller.steps = {create_step("a"), create_step("b")};
  cluster.refuse["a"] = Reason::already_exists;
  start();
  run();
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a"}));
  run(4ms);
  EXPECT_EQ(controller.plans, 1);
  run(1ms);
  EXPECT_EQ(controller.plans, 2);
  cluster.refuse.clear();
  run(10ms);
  EXPECT_EQ(cluster.log,
            (std::vector<std::string>{"create a", "create a", "create a", "create b"}));
  run(1s);
  EXPECT_EQ(cluster.events.front(), "NotMade: because no a");
}

TEST_F(HostTest, backs_off_as_its_controller_says_and_drops_what_fails_too_often) {
  controller.steps = {create_step("a")};
  controller.limits = {.base_delay = 1s, .max_delay = 3s, .max_retries = 3};
  std::vector<std::string> notes;
  trace.add_sink([&](const Record& record) {
    if (record.kind == RecordKind::note)
      notes.push_back(concat({record.subject, ": ", record.text}));
  });
  cluster.refuse["a"] = Reason::forbidden;
  start();
  std::vector<int> plans;
  for (const Duration rest : {999ms, 1ms, 2000ms, 2999ms, 1ms, 3600000ms}) {
    run(rest);
    plans.push_back(controller.plans);
  }
  EXPECT_EQ(plans, (std::vector{1, 2, 3, 3, 4, 4}));
  EXPECT_EQ(notes, (std::vector<std::string>{"ns/job: dropped out of the queue: its retries are "
                                             "spent"}));
  // A change of it is another beginning.
  cluster.put("job");
  run(1s);
  EXPECT_EQ(controller.plans, 6);
}

TEST_F(HostTest, takes_an_expectation_back_when_the_call_is_refused) {
  controller.steps = {create_step("a")};
  cluster.refuse["a"] = Reason::forbidden;
  start();
  run(5ms);
  EXPECT_EQ(controller.plans, 2);
  EXPECT_TRUE(controller.satisfied);
}

TEST_F(HostTest, goes_on_after_a_tolerated_refusal) {
  Step first = create_step("a");
  first.tolerated = Reason::timeout;
  controller.steps = {first, create_step("b")};
  cluster.refuse["a"] = Reason::timeout;
  start();
  run();
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a", "create b"}));
}

TEST_F(HostTest, does_instead_what_the_refused_step_says) {
  Step first = create_step("a");
  first.instead = std::vector{create_step("c")};
  controller.steps = {first, create_step("b")};
  cluster.refuse["a"] = Reason::not_found;
  start();
  run(1s);
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a", "create c"}));
}

TEST_F(HostTest, does_instead_what_is_made_of_the_refusals_words) {
  Step first = create_step("a");
  first.instead = std::vector{create_step("unused")};
  first.instead_for.emplace() = [](const Error& refusal) {
    return std::vector{create_step(refusal.message.empty() ? "silent" : "c")};
  };
  first.instead_fails = true;
  controller.steps = {first, create_step("b")};
  cluster.refuse["a"] = Reason::not_found;
  start();
  run(1s);
  ASSERT_GE(cluster.log.size(), 3U);
  EXPECT_EQ(cluster.log[1], "create c");
  EXPECT_EQ(cluster.log[2], "create a") << "the refusal stands: again with back-off";
}

TEST_F(HostTest, does_it_for_any_refusal_but_the_one_which_the_step_leaves_out) {
  Step first = create_step("a");
  first.instead = std::vector<Step>{};
  first.instead_unless = Reason::conflict;
  controller.steps = {first, create_step("b")};
  cluster.refuse["a"] = Reason::internal_error;
  start();
  run(60s);
  EXPECT_EQ(controller.plans, 1);  // nothing instead, and nobody tries again
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a"}));
  cluster.refuse["a"] = Reason::conflict;
  cluster.put("job");
  run(1s);
  EXPECT_GT(controller.plans, 2);
}

TEST_F(HostTest, does_it_for_that_refusal_alone_which_the_step_names) {
  Step first = create_step("a");
  first.instead = std::vector{create_step("c")};
  first.instead_of = Reason::not_found;
  controller.steps = {first, create_step("b")};
  cluster.refuse["a"] = Reason::internal_error;
  start();
  run(1s);
  EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "create c"), 0);
  EXPECT_GT(controller.plans, 1);  // again with back-off
  cluster.refuse["a"] = Reason::not_found;
  run(60s);
  EXPECT_EQ(cluster.log.back(), "create c");
}

Step delete_step(const std::string& name) {
  ConfigMap object;
  object.metadata.name = name;
  object.metadata.namespace_ = "ns";
  return Step{.rule = &test_rule,
              .request = api::remove(object),
              .event = EventText{"Normal", "Deleted", name},
              .only_if_alive = true};
}

TEST_F(HostTest, deletes_only_what_is_still_alive) {
  controller.steps = {delete_step("gone"), delete_step("ending"), delete_step("alive")};
  start();
  cluster.put("ending", true);
  cluster.put("alive");
  run(1s);
  EXPECT_EQ(cluster.log,
            (std::vector<std::string>{"get gone", "get ending", "get alive", "delete alive"}));
  EXPECT_EQ(cluster.events, (std::vector<std::string>{"Deleted: alive"}));
}

TEST_F(HostTest, plans_again_when_the_plan_asks_for_it) {
  controller.requeue_after = 30s;
  start();
  run(29s);
  EXPECT_EQ(controller.plans, 1);
  run(1s);
  EXPECT_EQ(controller.plans, 2);
}

TEST_F(HostTest, a_crash_between_two_writes_loses_the_rest_and_the_next_process_plans_anew) {
  controller.steps = {create_step("a"), create_step("b"), create_step("c")};
  start();
  while (cluster.log.empty()) ASSERT_TRUE(loop.step());
  host->crash();
  run(60s);
  // The call that was under way still happens, though nobody hears the answer.
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"create a", "create b"}));
  EXPECT_EQ(controller.resets, 1);
  host->start();
  run();
  EXPECT_EQ(controller.plans, 2);
  EXPECT_TRUE(controller.satisfied);  // the expectation of the first process is forgotten
}

// As the controllers of kube-controller-manager, of which a scenario may end one alone.
TEST_F(HostTest, a_part_of_a_process_that_begins_anew_is_told_what_the_others_know) {
  start();
  TestController other;
  ControllerHost beside(loop, cluster, informers, trace, Random(2), other, options);
  beside.start();
  run();
  EXPECT_EQ(cluster.lists, 1);
  EXPECT_EQ(other.plans, 1);
  host->crash();
  run(1s);
  host->start();
  run();
  EXPECT_EQ(cluster.lists, 1);
  EXPECT_EQ(controller.plans, 2);
  EXPECT_EQ(other.plans, 1);
  // A new process knows nothing.
  host->crash();
  beside.crash();
  run(1s);
  beside.start();
  host->start();
  run();
  EXPECT_EQ(cluster.lists, 2);
  EXPECT_EQ(controller.plans, 3);
  EXPECT_EQ(other.plans, 2);
}

TEST_F(HostTest, a_panic_ends_the_process_which_comes_back_later_and_later) {
  controller.panic_on_sight = true;
  start();
  run();
  EXPECT_FALSE(host->running());
  run(1s);
  EXPECT_FALSE(host->running());
  controller.panic_on_sight = false;
  run(9s);
  EXPECT_FALSE(host->running());
  run(1s);
  EXPECT_TRUE(host->running());
  EXPECT_EQ(controller.plans, 1);
}

TEST_F(HostTest, the_clients_throttle_spaces_calls_beyond_the_burst) {
  options.client_burst = 2;
  options.client_per_second = 10;
  controller.steps = {create_step("a"), create_step("b"), create_step("c"), create_step("d")};
  start();
  run();
  EXPECT_EQ(cluster.log.size(), 2u);
  run(100ms);
  EXPECT_EQ(cluster.log.size(), 3u);
  run(100ms);
  EXPECT_EQ(cluster.log.size(), 4u);
}

// KEP-5647: what the cache has not seen yet is no ground for another plan.
struct HostAwaitsOwnWrites : HostTest {
  // Of a key that is told of again before the cache has seen what the first plan wrote.
  int plans_of_a_stale_cache(std::vector<const KindInfo*> own_writes_of) {
    options.own_writes_of = std::move(own_writes_of);
    Step step = create_step("a");
    const auto written = step.request->object->clone();
    written->metadata.resourceVersion = "900";
    step.request->object = written;
    controller.steps = {step};
    start();
    run();
    EXPECT_EQ(controller.plans, 1);
    cluster.put("job");
    run(1s);
    return controller.plans;
  }
};

TEST_F(HostAwaitsOwnWrites, of_no_kind_unless_told) { EXPECT_EQ(plans_of_a_stale_cache({}), 2); }

TEST_F(HostAwaitsOwnWrites, of_no_other_kind) {
  EXPECT_EQ(plans_of_a_stale_cache({&Pod::info()}), 2);
}

TEST_F(HostAwaitsOwnWrites, until_the_cache_has_seen_them) {
  EXPECT_EQ(plans_of_a_stale_cache({&ConfigMap::info()}), 1);
  EXPECT_EQ(host->remembered().size(), 1u);
  cluster.put_at("other", 899);
  run(20s);
  EXPECT_EQ(controller.plans, 1);
  cluster.put_at("other", 900);
  run(20s);
  EXPECT_EQ(controller.plans, 2);
  host->crash();
  EXPECT_TRUE(host->remembered().empty());
}

TEST_F(HostTest, writes_each_rule_into_the_trace) {
  std::vector<std::string> rules;
  trace.add_sink([&](const Record& record) {
    if (record.kind == RecordKind::rule)
      rules.push_back(concat({record.subject, " ", record.rule, " ", record.text}));
  });
  controller.steps = {create_step("a")};
  start();
  run();
  EXPECT_EQ(rules, (std::vector<std::string>{"ns/job test_rule create ConfigMap a"}));
}

}  // namespace
}  // namespace ddptwin::controller::host_test
