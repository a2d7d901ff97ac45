// What becomes of nodes that fall silent and come back, whoever crashes (spec/kubernetes.md §2.12).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "bare_store.hpp"
#include "controller/manager/node_lifecycle/controller.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::node_lifecycle_properties_test {
namespace {

struct Happening {
  enum class Kind : std::uint8_t { silent, back, crash, rest };
  Kind kind = Kind::rest;
  int node = 0;
  int seconds = 0;  // afterwards
};

void showValue(const Happening& one, std::ostream& out) {
  constexpr const char* names[] = {"silent", "back", "crash", "rest"};
  out << names[static_cast<std::size_t>(one.kind)] << " " << one.node << ", then " << one.seconds
      << " s";
}

rc::Gen<Happening> any_happening() {
  using Kind = Happening::Kind;
  return gen::build<Happening>(
      gen::set(&Happening::kind,
               gen::weightedElement<Kind>(
                   {{4, Kind::silent}, {3, Kind::back}, {1, Kind::crash}, {1, Kind::rest}})),
      gen::set(&Happening::node, gen::resize(rc::kNominalSize, gen::inRange(0, 100))),
      gen::set(&Happening::seconds, gen::element(1, 7, 40, 70)));
}

// Nodes of two zones, and what each is to be at rest, told in the simplest words.
class Game {
 public:
  Game(int nodes, int in_first) : in_first_(in_first) {
    lifecycle_.start();
    for (int i = 0; i < nodes; ++i) make(i);
  }

  void apply(const Happening& one) {
    const int node = one.node % static_cast<int>(silent_.size());
    if (one.kind == Happening::Kind::crash) {
      lifecycle_.crash();
      cluster_.rest(std::chrono::seconds(3));
      lifecycle_.start();
    } else if (one.kind == Happening::Kind::silent) {
      silent_[node] = true;
      heartbeats_.stop(name_of(node), cluster_.loop.now());
    } else if (one.kind == Happening::Kind::back) {
      silent_[node] = false;
      heartbeats_.resume(name_of(node));
      post(node);
    }
    cluster_.rest(std::chrono::seconds(one.seconds));
  }

  // After all grace periods, and a turn for each node.
  void check_at_rest() {
    cluster_.rest(std::chrono::seconds(60 + 10 * silent_.size()));
    const bool any_ready =
        std::any_of(silent_.begin(), silent_.end(), [](const auto& one) { return !one.second; });
    for (const auto& [node, silent] : silent_) {
      const auto found = cluster_.store.find<Node>("", name_of(node));
      const auto has = [&](std::string_view effect) {
        return std::any_of(
            found->spec.taints.begin(), found->spec.taints.end(), [&](const Taint& one) {
              return one.key == "node.kubernetes.io/unreachable" && one.effect == effect;
            });
      };
      RC_ASSERT((node_lifecycle::readiness_of(*found) == node_lifecycle::Readiness::unknown) ==
                silent);
      RC_ASSERT(has("NoSchedule") == silent);
      if (!silent || !any_ready) RC_ASSERT(!has("NoExecute"));
      if (silent && any_ready && !is_mostly_lost(zone_of(node))) RC_ASSERT(has("NoExecute"));
    }
  }

 private:
  static std::string name_of(int node) { return fmt::format("n{}", node); }
  std::string zone_of(int node) const { return node < in_first_ ? "x" : "y"; }

  bool is_mostly_lost(const std::string& zone) const {
    int lost = 0, all = 0;
    for (const auto& [node, silent] : silent_)
      if (zone_of(node) == zone) {
        ++all;
        lost += silent ? 1 : 0;
      }
    return lost < all && lost > 2 && 100 * lost >= 55 * all;
  }

  void make(int node) {
    auto made = std::make_shared<Node>();
    made->metadata.name = name_of(node);
    made->metadata.labels.edit()["topology.kubernetes.io/zone"] = zone_of(node);
    RC_ASSERT(cluster_.store.call(api::create(made), "test").has_value());
    silent_[node] = false;
    post(node);
  }
  void post(int node) {
    auto posted =
        std::static_pointer_cast<Node>(cluster_.store.find<Node>("", name_of(node))->clone());
    auto& conditions = posted->status.conditions.edit();
    conditions.clear();
    for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
      Condition& condition = conditions.emplace_back();
      condition.type_ = type;
      condition.status = std::string_view(type) == "Ready" ? "True" : "False";
    }
    RC_ASSERT(cluster_.store.call(api::update(posted, "status"), "kubelet").has_value());
  }

  int in_first_;
  BareStore cluster_{};
  NodeHeartbeats heartbeats_{};
  NodeLifecycle lifecycle_{cluster_.loop, cluster_.client, cluster_.informers, heartbeats_};
  std::map<int, bool> silent_{};
};

TEST(NodeLifecycleProperties, SilentNodesAreGivenUpAndOthersKept) {
  holds([] {
    const auto nodes = *gen::resize(rc::kNominalSize, gen::inRange(1, 7)).as("nodes");
    const auto in_first = *gen::resize(rc::kNominalSize, gen::inRange(0, 7)).as("in zone x");
    const auto happenings = *gen::resize(20, gen::vector_of(any_happening())).as("happenings");
    Game game(nodes, in_first);
    for (const Happening& one : happenings) game.apply(one);
    game.check_at_rest();
  });
}

// --- cordoned nodes ---

// Whoever cordons nodes, takes the taint away or puts others there, and whenever the process is
// away: once it has looked, a node has the taint if it is cordoned, and all others are let alone.
TEST(NodeLifecycleProperties, ATaintMirrorsACordon) {
  enum class Act : std::uint8_t { cordon, uncordon, drop_taint, put_taint, other_taint, crash };
  holds([] {
    const auto acts = *gen::resize(
        15, gen::vector_of(gen::element(Act::cordon, Act::uncordon, Act::drop_taint, Act::put_taint,
                                        Act::other_taint, Act::crash)));
    const std::string mirror = "node.kubernetes.io/unschedulable";
    BareStore cluster;
    NodeHeartbeats heartbeats;
    NodeLifecycle lifecycle(cluster.loop, cluster.client, cluster.informers, heartbeats);
    auto made = std::make_shared<Node>();
    made->metadata.name = "n";
    RC_ASSERT(cluster.store.call(api::create(made), "test").has_value());
    const auto node = [&] { return cluster.store.find<Node>("", "n"); };
    const auto run = [&] { cluster.rest(std::chrono::seconds(1)); };
    std::size_t others = 0;
    bool away = true;
    for (const Act act : acts) {
      if (act == Act::crash) {
        if (away)
          lifecycle.start();
        else
          lifecycle.crash();
        away = !away;
        run();
        continue;
      }
      auto changed = std::static_pointer_cast<Node>(node()->clone());
      auto& taints = changed->spec.taints;
      const auto is_mirror = [&](const Taint& one) { return one.key == mirror; };
      if (act == Act::cordon || act == Act::uncordon)
        changed->spec.unschedulable = act == Act::cordon;
      if (act == Act::drop_taint || act == Act::put_taint) std::erase_if(taints, is_mirror);
      if (act == Act::put_taint) taints.push_back({mirror, {}, "NoSchedule", {}});
      if (act == Act::other_taint)
        taints.push_back({fmt::format("other-{}", others++), {}, "PreferNoSchedule", {}});
      RC_ASSERT(cluster.store.call(api::update(changed), "test").has_value());
      if (*gen::arbitrary<bool>()) run();
    }
    if (away) lifecycle.start();
    run();
    const auto now = node();
    std::size_t mirrors = 0;
    for (const Taint& one : now->spec.taints)
      mirrors += one.key == mirror && one.effect == "NoSchedule" ? 1 : 0;
    RC_ASSERT(mirrors == (now->spec.unschedulable ? 1U : 0U));
    RC_ASSERT(now->spec.taints.size() == others + mirrors);
  });
}

}  // namespace
}  // namespace ddptwin::property::node_lifecycle_properties_test
