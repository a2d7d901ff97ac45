// When a controller is asked again: after failures ever later, after a success as if there had been
// none (spec/pytorchjob.md §4.1).
#include <map>
#include <ostream>

#include "bare_store.hpp"
#include "controller/host.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;

constexpr Duration base_delay = std::chrono::milliseconds(5);
constexpr Duration again = 3s;

enum class Outcome : std::uint8_t { error, requeue, later, done };
constexpr const char* outcome_names[] = {"error", "requeue", "later", "done"};

void showValue(Outcome outcome, std::ostream& out) {
  out << outcome_names[static_cast<int>(outcome)];
}

// Each key's plans end as its list says, then all well.
class Scripted final : public controller::Controller {
 public:
  using Key = controller::Key;

  explicit Scripted(std::map<Key, std::vector<Outcome>> outcomes)
      : outcomes_(std::move(outcomes)) {}

  std::string_view name() const override { return "scripted"; }
  std::vector<controller::Watched> watches(const KindRegistry&) const override {
    return {{.kind = &ConfigMap::info()}};
  }
  controller::Reaction observe(const controller::Change& change, const controller::Cache&,
                               controller::Expectations&, Time) override {
    controller::Reaction reaction;
    reaction.wake.push_back({.key = change.object().metadata.name});
    return reaction;
  }
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

TEST(HostProperties, FailuresDoubleADelayThatASuccessForgets) {
  holds([] {
    const auto outcome = gen::weightedElement<Outcome>(
        {{4, Outcome::error}, {2, Outcome::requeue}, {1, Outcome::later}, {2, Outcome::done}});
    // Fewer than the hundred that all keys together may have at once.
    const auto outcomes = gen::resize(12, gen::container<std::vector<Outcome>>(outcome));
    const std::map<std::string, std::vector<Outcome>> script{{"a", *outcomes.as("of a")},
                                                             {"b", *outcomes.as("of b")}};
    BareStore cluster;
    Scripted scripted(script);
    controller::ControllerHost host(cluster.loop, cluster.client, cluster.trace, Random(1),
                                    scripted);
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

}  // namespace
}  // namespace ddptwin::property
