// Pods that want others beside them, or none of them, or the same port of the node
// (spec/kubernetes.md §3.1, "inter-pod affinity" and "host ports").
#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include "property.hpp"
#include "scheduler_run.hpp"

namespace ddptwin::property::neighbours_properties_test {
namespace {

const std::vector<std::string> node_names{"n0", "n1"};

// By the label `app`; empty: none.
struct Wishes {
  std::string app{}, beside{}, apart{};
  int port = 0;
  bool of_a_sidecar = false;  // the port
};

void showValue(const Wishes& pod, std::ostream& out) {
  out << "app " << pod.app;
  if (!pod.beside.empty()) out << " beside " << pod.beside;
  if (!pod.apart.empty()) out << " apart from " << pod.apart;
  if (pod.port > 0) out << (pod.of_a_sidecar ? " sidecar's port " : " port ") << pod.port;
}

rc::Gen<Wishes> any_wishes() {
  const auto rarely = [](const std::string& one, const std::string& other) {
    return gen::weightedElement<std::string>({{4, ""}, {1, one}, {1, other}});
  };
  return gen::build<Wishes>(gen::set(&Wishes::app, gen::element<std::string>("a", "b")),
                            gen::set(&Wishes::beside, rarely("a", "b")),
                            gen::set(&Wishes::apart, rarely("a", "b")),
                            gen::set(&Wishes::port, gen::element(0, 0, 0, 80)),
                            gen::set(&Wishes::of_a_sidecar, gen::arbitrary<bool>()));
}

PodAffinityTerm with(const std::string& app) {
  PodAffinityTerm term;
  term.labelSelector.emplace();
  term.labelSelector->matchLabels = StringMap{{"app", app}};
  term.topologyKey = "kubernetes.io/hostname";
  return term;
}

std::shared_ptr<Pod> pod_of(const std::string& name, const Wishes& wishes) {
  const auto pod = pod_asking(name, {});
  pod->metadata.labels = StringMap{{"app", wishes.app}};
  PodSpec& spec = pod->spec.edit();
  if (!wishes.beside.empty())
    spec.affinity.edit().podAffinity = PodAffinity{{with(wishes.beside)}, {}};
  if (!wishes.apart.empty())
    spec.affinity.edit().podAntiAffinity = PodAffinity{{with(wishes.apart)}, {}};
  if (wishes.port == 0) return pod;
  if (wishes.of_a_sidecar) {
    Container sidecar;
    sidecar.name = "s";
    sidecar.image = "busybox";
    sidecar.restartPolicy = "Always";
    spec.initContainers.edit().push_back(std::move(sidecar));
  }
  auto& containers = wishes.of_a_sidecar ? spec.initContainers.edit() : spec.containers.edit();
  containers[0].ports = {
      {.hostPort = wishes.port, .containerPort = wishes.port, .protocol = "TCP"}};
  return pod;
}

// --- the model: every pair is looked at ---

struct Placed {
  Wishes wishes{};
  std::string node{};
};

bool disagree(const Wishes& one, const Wishes& other) {
  return (one.port > 0 && one.port == other.port) || one.apart == other.app ||
         other.apart == one.app;
}

// Who wants to be beside its own kind may be the first of it.
bool is_first(const Wishes& pod, const std::vector<Placed>& placed) {
  return pod.app == pod.beside &&
         std::none_of(placed.begin(), placed.end(),
                      [&](const Placed& other) { return other.wishes.app == pod.app; });
}

bool fits(const Wishes& pod, const std::string& node, const std::vector<Placed>& placed) {
  bool company = pod.beside.empty() || is_first(pod, placed);
  for (const Placed& other : placed) {
    if (other.node != node) continue;
    if (disagree(pod, other.wishes)) return false;
    company = company || other.wishes.app == pod.beside;
  }
  return company;
}

// --- the cluster ---

struct Change {
  enum class Kind : std::uint8_t { create, end, remove };
  Kind kind = Kind::create;
  std::size_t which = 0;  // of the pods that are there
  Wishes pod{};
};

void showValue(const Change& change, std::ostream& out) {
  if (change.kind == Change::Kind::create) {
    out << "create ";
    return showValue(change.pod, out);
  }
  out << (change.kind == Change::Kind::end ? "end " : "remove ") << change.which;
}

rc::Gen<Change> any_change() {
  using Kind = Change::Kind;
  return gen::build<Change>(
      gen::set(&Change::kind,
               gen::weightedElement<Kind>({{3, Kind::create}, {1, Kind::end}, {1, Kind::remove}})),
      gen::set(&Change::which, gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(0, 12))),
      gen::set(&Change::pod, any_wishes()));
}

class Cluster {
 public:
  Cluster(std::uint64_t seed, std::size_t nodes)
      : nodes_(node_names.begin(), node_names.begin() + static_cast<std::ptrdiff_t>(nodes)),
        run_(seed) {
    for (const std::string& name : nodes_) run_.add_node({.name = name});
    run_.rest(1s);
  }

  void apply(const Change& change) {
    const auto pods = run_.pods();
    newest_.clear();
    if (change.kind == Change::Kind::create) {
      newest_ = "p" + std::to_string(wishes_.size());
      wishes_[newest_] = change.pod;
      run_.call(api::create(pod_of(newest_, change.pod)));
    } else if (!pods.empty()) {
      const Pod& pod = *pods[change.which % pods.size()];
      if (change.kind == Change::Kind::remove) run_.end(pod);
      if (change.kind == Change::Kind::end && !pod.spec->nodeName.empty()) {
        const auto ended = std::static_pointer_cast<Pod>(pod.clone());
        ended->status.phase = "Succeeded";
        run_.call(api::update(ended, "status"));
      }
    }
    run_.rest(20s);  // a back-off of ten seconds, and what follows it
  }

  void await_flush() { run_.rest(6min); }

  // Who has become the first of its kind, since the others are gone, waits for the flush
  // (k8s#141354).
  void check(bool flushed) const {
    const std::vector<Placed> all = placed();
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i + 1; j < all.size(); ++j)
        RC_ASSERT(!(all[i].node == all[j].node && disagree(all[i].wishes, all[j].wishes)));
    for (const auto& pod : run_.pods()) {
      if (!pod->spec->nodeName.empty()) continue;
      const Wishes& wishes = wishes_.at(pod->metadata.name.str());
      if (!flushed && pod->metadata.name != newest_ && is_first(wishes, all)) continue;
      for (const std::string& node : nodes_) {
        RC_LOG() << pod->metadata.name << " on " << node << "\n";
        RC_ASSERT(!fits(wishes, node, all));
      }
    }
  }

 private:
  std::vector<Placed> placed() const {
    std::vector<Placed> all;
    for (const auto& pod : run_.pods())
      if (!pod->spec->nodeName.empty() && pod->status.phase != "Succeeded")
        all.push_back({wishes_.at(pod->metadata.name.str()), pod->spec->nodeName});
    return all;
  }

  std::vector<std::string> nodes_;
  std::map<std::string, Wishes> wishes_{};
  std::string newest_{};  // made by the last change
  SchedulerRun run_;
};

TEST(NeighboursProperties, NobodyIsBesideWhomItAvoidsAndNobodyWaitsInVain) {
  holds(
      [] {
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        const auto changes = *gen::resize(30, gen::vector_of(any_change())).as("changes");
        Cluster cluster(seed, *gen::element<std::size_t>(1, 1, 2).as("nodes"));
        for (const Change& change : changes) {
          cluster.apply(change);
          cluster.check(false);
        }
        cluster.await_flush();
        cluster.check(true);
      },
      1);
}

}  // namespace
}  // namespace ddptwin::property::neighbours_properties_test
