// Whom NoExecute taints evict and when, whatever taints come and go, whoever crashes
// (spec/kubernetes.md §2.12).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "bare_store.hpp"
#include "cluster/pods/disruption.hpp"
#include "cluster/store/admission.hpp"
#include "controller/manager/taint_eviction.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::taint_eviction_properties_test {
namespace {

const std::vector<std::vector<std::string>> taint_sets{{},         {"a"}, {"b"},
                                                       {"a", "b"}, {"c"}, {"a", "c"}};

struct Tolerated {
  std::string key{};  // "": any
  int seconds = -1;   // negative: for ever
};

struct Happening {
  // replace: a pod is gone, and another has its name. tolerate: what an update may do to a pod's
  // tolerations, which is other seconds and more of them.
  enum class Kind : std::uint8_t { taint, create, replace, tolerate, crash, rest };
  Kind kind = Kind::rest;
  std::string node{};
  std::vector<std::string> taints{};     // by key; "c" is of the effect NoSchedule
  std::vector<Tolerated> tolerations{};  // of the pod that is made or updated
  int which = 0;                         // of the pods, replace and tolerate
  bool marked = false;  // it has the condition already: the DELETE after that was lost
  int seconds = 0;      // afterwards
};

void showValue(const Happening& one, std::ostream& out) {
  using Kind = Happening::Kind;
  if (one.kind == Kind::taint) {
    out << "taints of " << one.node << ":";
    for (const std::string& key : one.taints) out << " " << key;
  } else if (one.kind != Kind::crash && one.kind != Kind::rest) {
    if (one.kind == Kind::replace) out << "in place of " << one.which << " ";
    if (one.kind == Kind::tolerate)
      out << one.which << " tolerates:";
    else
      out << (one.marked ? "marked " : "") << "pod on " << one.node << ":";
    for (const Tolerated& t : one.tolerations)
      out << " '" << t.key << "' for " << t.seconds << " s";
  } else if (one.kind == Kind::crash) {
    out << "crash";
  }
  out << ", then " << one.seconds << " s";
}

rc::Gen<Happening> any_happening() {
  using Kind = Happening::Kind;
  const auto toleration =
      gen::build<Tolerated>(gen::set(&Tolerated::key, gen::element<std::string>("a", "b", "")),
                            gen::set(&Tolerated::seconds, gen::element(-1, 0, 5, 20, 40)));
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::weightedElement<Kind>({{4, Kind::taint},
                                                             {4, Kind::create},
                                                             {3, Kind::replace},
                                                             {4, Kind::tolerate},
                                                             {1, Kind::crash},
                                                             {2, Kind::rest}})),
      gen::set(&Happening::which, gen::resize(rc::kNominalSize, gen::inRange(0, 100))),
      gen::set(&Happening::node, gen::element<std::string>("n", "m")),
      gen::set(&Happening::taints, gen::elementOf(taint_sets)),
      gen::set(&Happening::tolerations, gen::resize(3, gen::vector_of(toleration))),
      gen::set(&Happening::marked, gen::weightedElement<bool>({{3, false}, {1, true}})),
      gen::set(&Happening::seconds, gen::element(1, 1, 3, 9, 30)));
}

// What is to become of one pod, in the simplest words.
struct NaivePod {
  std::string node{};
  std::vector<Tolerated> tolerations{};
  bool evicted = false;  // ever
  bool judged = false;   // a time runs, or is over
  std::optional<Time> due{};

  static constexpr int for_ever = -1, not_tolerated = -2;
  // Seconds. Of each taint the first toleration that fits counts.
  int stays(const std::vector<std::string>& taints) const {
    int shortest = for_ever;
    for (const std::string& taint : taints) {
      const auto fits = [&](const Tolerated& t) { return t.key.empty() || t.key == taint; };
      const auto used = std::find_if(tolerations.begin(), tolerations.end(), fits);
      if (used == tolerations.end()) return not_tolerated;
      if (used->seconds >= 0)
        shortest = shortest < 0 ? used->seconds : std::min(shortest, used->seconds);
    }
    return shortest;
  }
  void forget() {
    judged = false;
    due.reset();
  }
  void judge(const std::vector<std::string>& taints, Time now) {
    const int lasts = stays(taints);
    if (lasts == for_ever) return forget();
    if (lasts != not_tolerated && judged) return;
    judged = true;
    due = now + std::chrono::seconds(std::max(lasts, 0));
  }
};

class Game {
 public:
  Game() {
    for (const std::string name : {"n", "m"}) {
      auto node = std::make_shared<Node>();
      node->metadata.name = name;
      call(api::create(node));
    }
    eviction_.start();
    rest(1);
  }

  void apply(const Happening& one) {
    using Kind = Happening::Kind;
    if (one.kind == Kind::taint) taint(one);
    if (one.kind == Kind::create) create(one, "p" + std::to_string(pods_.size()));
    if (one.kind == Kind::replace && !pods_.empty()) replace(one);
    if (one.kind == Kind::tolerate) tolerate(one);
    if (one.kind == Kind::crash) crash();
    rest(one.seconds);
    for (const auto& [name, pod] : pods_) {
      const auto there = cluster_.store.find<Pod>("default", name);
      RC_LOG() << name << "\n";
      RC_ASSERT(there->metadata.deletionTimestamp.has_value() == pod.evicted);
    }
  }

 private:
  void call(const api::Request& request) {
    RC_ASSERT(cluster_.store.call(request, "test").has_value());
  }
  // A moment more, so that nothing is due in the very moment in which it is looked at.
  void rest(int seconds) {
    cluster_.rest(std::chrono::seconds(seconds) + std::chrono::milliseconds(100));
    for (auto& [name, pod] : pods_)
      pod.evicted = pod.evicted || (pod.due && *pod.due <= cluster_.loop.now());
  }
  void taint(const Happening& one) {
    auto node =
        std::static_pointer_cast<Node>(cluster_.store.find(Node::info(), {}, one.node)->clone());
    node->spec.taints.clear();
    std::vector<std::string> evicting;
    for (const std::string& key : one.taints) {
      node->spec.taints.push_back(
          {key, "yes", key == "c" ? "NoSchedule" : "NoExecute", std::nullopt});
      if (key != "c") evicting.push_back(key);
    }
    call(api::update(node));
    if (std::exchange(taints_[one.node], evicting) == evicting) return;
    for (auto& [name, pod] : pods_)
      if (pod.node == one.node) pod.judge(evicting, cluster_.loop.now());
  }
  void replace(const Happening& one) {
    std::vector<std::string> names, evicted;
    for (const auto& [name, pod] : pods_) (pod.evicted ? evicted : names).push_back(name);
    if (!evicted.empty()) names = evicted;
    const std::string name = names[static_cast<std::size_t>(one.which) % names.size()];
    api::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    call(api::remove(*cluster_.store.find<Pod>("default", name), at_once));
    rest(0);
    create(one, name);
  }
  // Whose time runs keeps it, unless it may stay for ever now (upstream processPodOnNode).
  void tolerate(const Happening& one) {
    std::vector<std::string> names;
    for (const auto& [name, pod] : pods_)
      if (!pod.evicted) names.push_back(name);
    if (names.empty()) return;
    const std::string& name = names[static_cast<std::size_t>(one.which) % names.size()];
    NaivePod& naive = pods_[name];
    auto pod = std::static_pointer_cast<Pod>(cluster_.store.find<Pod>("default", name)->clone());
    std::vector<Toleration>& said = pod->spec.edit().tolerations.edit();
    for (std::size_t i = 0; i < one.tolerations.size(); ++i) {
      const Tolerated& t = one.tolerations[i];
      if (i < naive.tolerations.size()) {
        said[i].tolerationSeconds = seconds_of(t);
        naive.tolerations[i].seconds = t.seconds;
      } else {
        // Before those that admission gave it.
        said.insert(said.begin() + static_cast<std::ptrdiff_t>(i),
                    {t.key, "Exists", {}, "NoExecute", seconds_of(t)});
        naive.tolerations.push_back(t);
      }
    }
    call(api::update(pod));
    if (const auto& taints = taints_[naive.node]; !taints.empty())
      naive.judge(taints, cluster_.loop.now());
  }
  static std::optional<std::int64_t> seconds_of(const Tolerated& t) {
    return t.seconds < 0 ? std::nullopt : std::optional<std::int64_t>(t.seconds);
  }
  void create(const Happening& one, const std::string& name) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_ = "default";
    PodSpec& spec = pod->spec.edit();
    spec.nodeName = one.node;
    spec.containers = {{.name = "c", .image = "busybox"}};
    for (const Tolerated& t : one.tolerations)
      spec.tolerations.edit().push_back({t.key, "Exists", {}, "NoExecute", seconds_of(t)});
    call(api::create(pod));
    if (one.marked) {
      auto marked = std::make_shared<Pod>(
          *cluster_.store.find<Pod>(pod->metadata.namespace_, pod->metadata.name));
      marked->status.conditions.edit().push_back(
          disruption_of(*marked, cluster_.loop.now(), "DeletionByTaintManager",
                        "Taint manager: deleting due to NoExecute taint"));
      call(api::update(marked, "status"));
    }
    NaivePod& naive = pods_[pod->metadata.name.str()] = {};
    naive.node = one.node;
    naive.tolerations = one.tolerations;
    if (!taints_[one.node].empty()) naive.judge(taints_[one.node], cluster_.loop.now());
  }
  // It forgets when each time began, and begins anew with what it finds.
  void crash() {
    eviction_.crash();
    for (auto& [name, pod] : pods_) pod.forget();
    rest(30);
    eviction_.start();
    for (auto& [name, pod] : pods_)
      if (!taints_[pod.node].empty()) pod.judge(taints_[pod.node], cluster_.loop.now());
  }

  BareStore cluster_{};
  TaintEviction eviction_{cluster_.loop, cluster_.client, cluster_.informers};
  std::map<std::string, std::vector<std::string>> taints_{};  // NoExecute, by node
  std::map<std::string, NaivePod> pods_{};
};

TEST(TaintEvictionProperties, APodStaysAsLongAsItToleratesEachTaint) {
  holds([] {
    const auto happenings = *gen::resize(30, gen::vector_of(any_happening())).as("happenings");
    Game game;
    for (const Happening& one : happenings) game.apply(one);
  });
}

// --- what a pod says that names no seconds of a lost node ---

Toleration any_toleration() {
  Toleration one;
  one.key = *gen::element<std::string>("", "node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable", "other");
  one.operator_ = one.key.empty() ? "Exists" : *gen::element<std::string>("", "Equal", "Exists");
  one.effect = *gen::element<std::string>("", "NoExecute", "NoSchedule");
  if (one.effect == "NoExecute" && *gen::arbitrary<bool>()) one.tolerationSeconds = 7;
  return one;
}

// Five minutes, of whichever of the two it does not tolerate by itself; what it says stays.
TEST(TaintEvictionProperties, AnyPodToleratesALostNode) {
  holds([] {
    const auto asked =
        *gen::resize(4, gen::vector_of(gen::resize(rc::kNominalSize, gen::exec(any_toleration))));
    BareStore cluster;
    add_default_admission(cluster.store);
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    pod->metadata.namespace_ = "default";
    pod->spec.edit().containers = {{.name = "c", .image = "busybox"}};
    pod->spec.edit().tolerations = asked;
    RC_ASSERT(cluster.store.call(api::create(pod), "test").has_value());
    auto wanted = asked;
    for (const std::string key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
      if (std::none_of(asked.begin(), asked.end(), [&](const Toleration& one) {
            return (one.key.empty() || one.key == key) && one.effect != "NoSchedule";
          }))
        wanted.push_back({key, "Exists", {}, "NoExecute", 300});
    for (const Toleration& one : asked) RC_LOG() << one.key << ":" << one.effect << "\n";
    RC_ASSERT(equal(*cluster.store.find<Pod>("default", "p")->spec->tolerations, wanted));
  });
}

}  // namespace
}  // namespace ddptwin::property::taint_eviction_properties_test
