// When a controller is asked again: after failures ever later, after a success as if there had been
// none (spec/pytorchjob.md §4.1). When its process is there again that crashed
// (spec/kubernetes.md §2.4).
#include <algorithm>
#include <map>
#include <ostream>

#include "api/faulty_client.hpp"
#include "bare_store.hpp"
#include "controller/host.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::host_properties_test {
namespace {

constexpr Duration base_delay = std::chrono::milliseconds(5);
constexpr Duration again = 3s;

enum class Outcome : std::uint8_t { error, requeue, later, done };
constexpr const char* outcome_names[] = {"error", "requeue", "later", "done"};

void showValue(Outcome outcome, std::ostream& out) {
  out << outcome_names[static_cast<int>(outcome)];
}

// Is asked about each ConfigMap that changes, by its name.
class OfConfigMaps : public controller::Controller {
 public:
  std::vector<controller::Watched> watches(const KindRegistry&) const override {
    return {{.kind = &ConfigMap::info()}};
  }
  controller::Reaction observe(const controller::Change& change, const controller::Cache&,
                               controller::Expectations&, Time) override {
    controller::Reaction reaction;
    reaction.wake.push_back({.name = change.object().metadata.name});
    return reaction;
  }
};

// Each key's plans end as its list says, then all well.
class Scripted final : public OfConfigMaps {
 public:
  using Key = controller::Key;

  explicit Scripted(std::map<Key, std::vector<Outcome>> outcomes)
      : outcomes_(std::move(outcomes)) {}

  std::string_view name() const override { return "scripted"; }
  controller::Plan plan(const Key& key, const controller::Observed&, Time now) const override {
    const std::vector<Outcome>& all = outcomes_.at(key);
    std::vector<std::pair<Time, Outcome>>& seen = seen_[key];
    const Outcome outcome = seen.size() < all.size() ? all[seen.size()] : Outcome::done;
    seen.emplace_back(now, outcome);
    controller::Plan plan;
    if (outcome == Outcome::error) plan.error = Error{Reason::internal_error, "not yet"};
    plan.requeue = outcome == Outcome::requeue;
    if (outcome == Outcome::later) plan.requeue_after = again;
    return plan;
  }
  void reset() override {}

  const std::vector<std::pair<Time, Outcome>>& seen(const Key& key) const { return seen_[key]; }

 private:
  std::map<Key, std::vector<Outcome>> outcomes_;
  mutable std::map<Key, std::vector<std::pair<Time, Outcome>>> seen_{};
};

void poke(BareStore& cluster, const std::string& name, int times) {
  auto map = std::make_shared<ConfigMap>();
  map->metadata.name = name;
  map->metadata.namespace_ = "default";
  map->data = StringMap{{"times", std::to_string(times)}};
  const auto answer = cluster.store.call(times == 0 ? api::create(map) : api::update(map), "test");
  RC_ASSERT(answer.has_value());
}

// Its processes live as long as they are told to, then each panics; the last lives on. Who is to
// live for no time panics over what it hears, all others over what they plan.
class Mortal final : public controller::Controller {
 public:
  using Key = controller::Key;

  explicit Mortal(std::vector<int> lives) : lives_(std::move(lives)) {}

  std::string_view name() const override { return "mortal"; }
  std::vector<controller::Watched> watches(const KindRegistry&) const override {
    return {{.kind = &ConfigMap::info()}};
  }
  controller::Reaction observe(const controller::Change& change, const controller::Cache&,
                               controller::Expectations&, Time now) override {
    if (began_.size() == ended_.size()) began_.push_back(now);
    controller::Reaction reaction;
    if (life() == Duration::zero()) {
      ended_.push_back(now);
      reaction.panic = "at once";
    } else {
      reaction.wake.push_back({.name = change.object().metadata.name});
    }
    return reaction;
  }
  controller::Plan plan(const Key&, const controller::Observed&, Time now) const override {
    controller::Plan plan;
    const Duration left = began_.back() + life() - now;
    if (left > Duration::zero()) {
      plan.requeue_after = left;
    } else {
      ended_.push_back(now);
      plan.panic = "in the end";
    }
    return plan;
  }
  void reset() override {}

  const std::vector<Time>& began() const { return began_; }
  const std::vector<Time>& ended() const { return ended_; }

 private:
  Duration life() const {
    const std::size_t at = ended_.size();
    return at < lives_.size() ? std::chrono::seconds(lives_[at]) : Duration(std::chrono::hours(24));
  }

  std::vector<int> lives_;
  std::vector<Time> began_{};
  mutable std::vector<Time> ended_{};
};

TEST(HostProperties, FailuresDoubleADelayThatASuccessForgets) {
  holds([] {
    const auto outcome = gen::weightedElement<Outcome>(
        {{4, Outcome::error}, {2, Outcome::requeue}, {1, Outcome::later}, {2, Outcome::done}});
    // Fewer than the hundred that all keys together may have at once.
    const auto outcomes = gen::resize(12, gen::vector_of(outcome));
    const std::map<std::string, std::vector<Outcome>> script{{"a", *outcomes.as("of a")},
                                                             {"b", *outcomes.as("of b")}};
    BareStore cluster;
    Scripted scripted(script);
    controller::ControllerHost host(cluster.loop, cluster.client, cluster.informers, cluster.trace,
                                    Random(1), scripted);
    host.start();
    cluster.rest(1s);
    for (int times = 0; times < 8; ++times) {
      for (const std::string name : {"a", "b"}) poke(cluster, name, times);
      cluster.rest(120s);
    }
    for (const std::string name : {"a", "b"}) {
      const auto& seen = scripted.seen(name);
      RC_ASSERT(seen.size() >= 8u);
      Duration delay = base_delay;
      for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
        const auto& [time, ended] = seen[i];
        const bool failed = ended == Outcome::error || ended == Outcome::requeue;
        if (failed || ended == Outcome::later) {
          const Duration wanted = failed ? delay : again, waited = seen[i + 1].first - time;
          RC_LOG() << name << " " << i << ": " << seconds_of(waited) << " s of "
                   << seconds_of(wanted) << "\n";
          RC_ASSERT(waited >= wanted);
          RC_ASSERT(waited <= wanted + std::chrono::milliseconds(1));
        }
        delay = failed ? 2 * delay : base_delay;
      }
    }
  });
}

// Of two kinds; plans for each object it hears of, and remembers when.
class Watchful final : public controller::Controller {
 public:
  using Key = controller::Key;

  std::string_view name() const override { return "watchful"; }
  std::vector<controller::Watched> watches(const KindRegistry&) const override {
    return {{.kind = &ConfigMap::info()}, {.kind = &Service::info()}};
  }
  controller::Reaction observe(const controller::Change& change, const controller::Cache&,
                               controller::Expectations&, Time) override {
    controller::Reaction reaction;
    reaction.wake.push_back({.name = change.object().metadata.name});
    return reaction;
  }
  controller::Plan plan(const Key&, const controller::Observed&, Time now) const override {
    planned_.push_back(now);
    return {};
  }
  void reset() override {}
  const std::vector<Time>& planned() const { return planned_; }

 private:
  mutable std::vector<Time> planned_{};
};

// The lists of each kind are refused so often, and then come so late.
struct Lists {
  int refusals = 0;
  Duration late{};
};
class LateLists final : public api::FaultPort {
 public:
  LateLists(Loop& loop, std::map<std::string, Lists> lists)
      : loop_(loop), lists_(std::move(lists)) {}

  api::CallVerdict on_call(const api::Caller&, const api::Request& request) override {
    if (request.verb != api::Verb::list) return {};
    Lists& one = lists_[std::string(request.target.kind->kind)];
    if (one.refusals > 0) {
      --one.refusals;
      return {.refuse = api::injected_error(500, "")};
    }
    return {.reply_delay = one.late};
  }
  void on_answer(const api::Caller&, const api::Request& request,
                 const Result<api::Response>& answer) override {
    if (request.verb == api::Verb::list && answer)
      listed_[std::string(request.target.kind->kind)] = loop_.now();
  }
  api::EventVerdict on_event(const api::Caller&, const KindInfo&, const api::WatchEvent&) override {
    return {};
  }
  const std::map<std::string, Time>& listed() const { return listed_; }

 private:
  Loop& loop_;
  std::map<std::string, Lists> lists_;
  std::map<std::string, Time> listed_{};  // the last time
};

// As client-go's WaitForCacheSync: what it has not been told of is not missing.
TEST(HostProperties, NothingIsPlannedBeforeAllListsHaveCome) {
  holds([] {
    std::map<std::string, Lists> lists;
    for (const char* kind : {"ConfigMap", "Service"}) {
      Lists& one = lists[kind];
      one.refusals = *gen::inRange(0, 3).as("refusals");
      one.late = std::chrono::milliseconds(*gen::element(0, 700, 9'000).as("late"));
    }
    BareStore cluster;
    poke(cluster, "a", 0);
    LateLists port(cluster.loop, lists);
    api::FaultyClient client(cluster.loop,
                             std::make_shared<StoreClient>(cluster.loop, cluster.store, "test"),
                             {"test", ""}, port);
    api::SharedInformers informers(cluster.loop, client);
    Watchful watchful;
    controller::ControllerHost host(cluster.loop, client, informers, cluster.trace, Random(1),
                                    watchful);
    host.start();
    cluster.rest(120s);
    RC_ASSERT(port.listed().size() == 2U);
    RC_ASSERT(!watchful.planned().empty());
    for (const auto& [kind, at] : port.listed()) RC_ASSERT(watchful.planned().front() >= at);
  });
}

TEST(HostProperties, ACrashLoopIsSlowedDownUntilAProcessHasLivedForTenMinutes) {
  holds([] {
    // Seconds, on either side of the ten minutes; three of 300 are no health.
    const auto life =
        gen::weightedElement<int>({{6, 0}, {3, 7}, {2, 300}, {2, 590}, {1, 610}, {1, 2000}});
    const auto lives = *gen::resize(16, gen::vector_of(life)).as("lives");
    BareStore cluster;
    Mortal mortal(lives);
    controller::ControllerHost host(cluster.loop, cluster.client, cluster.informers, cluster.trace,
                                    Random(1), mortal);
    poke(cluster, "a", 0);
    host.start();
    cluster.rest(std::chrono::hours(12));
    RC_ASSERT(mortal.ended().size() == lives.size());
    RC_ASSERT(mortal.began().size() == lives.size() + 1);
    Duration delay = 1s;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      if (lives[i] > 600) delay = 1s;
      const Duration away = mortal.began()[i + 1] - mortal.ended()[i];
      RC_LOG() << i << ": " << seconds_of(away) << " s of " << seconds_of(delay) << "\n";
      RC_ASSERT(away >= delay);
      RC_ASSERT(away <= delay + 1s);
      delay = std::min<Duration>(delay == 1s ? 10s : 2 * delay, 300s);
    }
  });
}

// Of each object that it hears of it makes so many others.
class Making final : public OfConfigMaps {
 public:
  explicit Making(int count) : count_(count) {}

  std::string_view name() const override { return "making"; }
  controller::Plan plan(const controller::Key&, const controller::Observed&, Time) const override {
    controller::Plan plan;
    for (int i = 0; i < count_; ++i) {
      auto made = std::make_shared<Secret>();
      made->metadata.name = "s" + std::to_string(i);
      made->metadata.namespace_ = "default";
      plan.steps.push_back({.request = api::create(made), .tolerated = Reason::already_exists});
    }
    return plan;
  }
  void reset() override {}

 private:
  int count_;
};

// Whenever it crashes: what still waits for the rate limit is never sent, and its successor does it
// anew.
TEST(HostProperties, WhoIsGoneWritesNothing) {
  holds([] {
    const auto any = [](int begin, int end) {
      return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
    };
    const int count = *any(1, 20).as("writes");
    controller::ControllerHost::Options options;
    options.client_per_second = *gen::element(0.1, 1.0, 20.0).as("calls a second");
    options.client_burst = *any(1, 6).as("burst");
    const auto lives =
        *gen::resize(3, gen::vector_of(any(1, 30'000))).as("ms until it crashes, and again");
    BareStore cluster;
    const auto made = [&] { return cluster.store.objects(Secret::info()).size(); };
    Making making(count);
    controller::ControllerHost host(cluster.loop, cluster.client, cluster.informers, cluster.trace,
                                    Random(1), making, options);
    poke(cluster, "a", 0);
    host.start();
    for (const int life : lives) {
      cluster.rest(std::chrono::milliseconds(life));
      const std::size_t before = made();
      RC_CLASSIFY(before < static_cast<std::size_t>(count), "in the middle");
      host.crash();
      cluster.rest(300s);
      RC_ASSERT(made() == before);
      host.start();
    }
    cluster.rest(300s);
    RC_ASSERT(made() == static_cast<std::size_t>(count));
  });
}

}  // namespace
}  // namespace ddptwin::property::host_properties_test
