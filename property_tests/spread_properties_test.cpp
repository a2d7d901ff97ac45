// Topology spread constraints against counts: where a pod may go, and that nobody waits who may go
// somewhere (spec/kubernetes.md §3.1; upstream's PodTopologySpread).
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>

#include "cluster/scheduler/filters.hpp"
#include "objects/describe.hpp"
#include "property.hpp"
#include "scheduler_run.hpp"

namespace ddptwin::property::spread_properties_test {
namespace {

namespace json = boost::json;

const std::vector<std::string> node_names{"n0", "n1", "n2", "n3"}, keys{"zone", "rack"},
    apps{"a", "b"};

// One constraint: over the values of a label of nodes, of the pods of one app.
struct Spread {
  std::string key{};
  std::string app{};
  int skew_max = 1;
  int domains_min = 0;  // 0: not said
  bool honours_taints = false;
};
struct PodShape {
  std::string app{};
  std::vector<Spread> spreads{};  // each of another key
  bool only_red = false;
  bool tolerates = false;
};
struct NodeShape {
  std::map<std::string, std::string> domains{};  // by key; it may have none
  bool red = false;
  bool tainted = false;
};
enum class State : std::uint8_t { lives, ends, is_over };

void showValue(const PodShape& pod, std::ostream& out) {
  out << "of app " << pod.app << (pod.only_red ? " only red" : "")
      << (pod.tolerates ? " tolerates" : "");
  for (const Spread& spread : pod.spreads)
    out << ", by " << spread.key << " app " << spread.app << " skew " << spread.skew_max
        << " domains " << spread.domains_min << (spread.honours_taints ? " taints" : "");
}
void showValue(const NodeShape& node, std::ostream& out) {
  for (const auto& [key, value] : node.domains) out << " " << key << "=" << value;
  out << (node.red ? " red" : "") << (node.tainted ? " tainted" : "");
}

PodShape any_pod() {
  PodShape pod;
  pod.app = *gen::elementOf(apps);
  for (const std::string& key : keys)
    if (*gen::weightedElement<bool>({{2, true}, {1, false}}))
      pod.spreads.push_back({.key = key,
                             .app = *gen::elementOf(apps),
                             .skew_max = *gen::element(1, 1, 2),
                             .domains_min = *gen::element(0, 0, 1, 2, 3),
                             .honours_taints = *gen::arbitrary<bool>()});
  pod.only_red = *gen::weightedElement<bool>({{8, false}, {1, true}});
  pod.tolerates = *gen::arbitrary<bool>();
  return pod;
}
NodeShape any_node() {
  NodeShape node;
  for (const std::string& key : keys)
    if (*gen::weightedElement<bool>({{8, true}, {1, false}}))
      node.domains[key] = *gen::element<std::string>("x", "y", "z");
  node.red = *gen::arbitrary<bool>();
  node.tainted = *gen::weightedElement<bool>({{5, false}, {1, true}});
  return node;
}

std::shared_ptr<Pod> pod_object(const std::string& name, const PodShape& shape) {
  const auto pod = pod_asking(name, {});
  pod->metadata.labels = StringMap{{"app", shape.app}};
  PodSpec& spec = pod->spec.edit();
  for (const Spread& spread : shape.spreads) {
    TopologySpreadConstraint& constraint = spec.topologySpreadConstraints.edit().emplace_back();
    constraint.maxSkew = spread.skew_max;
    constraint.topologyKey = spread.key;
    constraint.whenUnsatisfiable = "DoNotSchedule";
    constraint.labelSelector.emplace().matchLabels = {{"app", spread.app}};
    if (spread.domains_min > 0) constraint.minDomains = spread.domains_min;
    if (spread.honours_taints) constraint.nodeTaintsPolicy = "Honor";
  }
  if (shape.only_red) spec.nodeSelector = {{"colour", "red"}};
  if (shape.tolerates) spec.tolerations = {{.key = "reserved", .operator_ = "Exists"}};
  return pod;
}

StringMap labels_of(const NodeShape& shape) {
  StringMap labels;
  for (const auto& [key, value] : shape.domains) labels.emplace(key, value);
  if (shape.red) labels.emplace("colour", "red");
  return labels;
}
std::vector<Taint> taints_of(const NodeShape& shape) {
  if (!shape.tainted) return {};
  return {{.key = "reserved", .value = "x", .effect = "NoSchedule"}};
}

// --- the model: counts ---

struct Placed {
  PodShape shape{};
  std::string node{};
  bool counts = true;  // lives, in the namespace of him who asks
};
using Nodes = std::map<std::string, NodeShape>;

bool is_asked(const PodShape& pod, const Spread& spread, const NodeShape& node) {
  for (const Spread& each : pod.spreads)
    if (!node.domains.contains(each.key)) return false;
  if (pod.only_red && !node.red) return false;
  return !spread.honours_taints || !node.tainted || pod.tolerates;
}

bool keeps(const PodShape& pod, const Spread& spread, const NodeShape& there, const Nodes& nodes,
           const std::vector<Placed>& placed) {
  if (!there.domains.contains(spread.key)) return false;
  std::map<std::string, int> counts;
  for (const auto& [name, node] : nodes) {
    if (!is_asked(pod, spread, node)) continue;
    int& count = counts[node.domains.at(spread.key)];
    for (const Placed& other : placed)
      if (other.node == name && other.counts && other.shape.app == spread.app) ++count;
  }
  int least = counts.empty() || std::ssize(counts) < spread.domains_min ? 0 : 1'000;
  for (const auto& [domain, count] : counts) least = std::min(least, count);
  const int itself = pod.app == spread.app ? 1 : 0;
  return counts[there.domains.at(spread.key)] + itself - least <= spread.skew_max;
}

bool may_stand(const PodShape& pod, const NodeShape& there, const Nodes& nodes,
               const std::vector<Placed>& placed) {
  if ((there.tainted && !pod.tolerates) || (pod.only_red && !there.red)) return false;
  return std::all_of(pod.spreads.begin(), pod.spreads.end(), [&](const Spread& spread) {
    return keeps(pod, spread, there, nodes, placed);
  });
}

TEST(SpreadProperties, ANodeIsRefusedForTheSkewAmongThoseWhoStay) {
  holds([] {
    const auto drawn = [](auto draw) { return *gen::resize(rc::kNominalSize, gen::exec(draw)); };
    scheduler::ClusterView view;
    Nodes nodes;
    for (const std::string& name : node_names) {
      nodes[name] = drawn(any_node);
      const auto node = std::make_shared<Node>();
      node->metadata.name = name;
      node->metadata.labels = labels_of(nodes[name]);
      node->spec.taints = taints_of(nodes[name]);
      node->status.allocatable = {{"pods", Quantity::of(110)}};
      view.put_node(node);
    }
    std::vector<Placed> placed;
    for (int n = *gen::resize(rc::kNominalSize, gen::inRange(0, 8)); n > 0; --n) {
      Placed pod{drawn(any_pod), *gen::elementOf(node_names)};
      const auto state =
          *gen::weightedElement<State>({{4, State::lives}, {2, State::ends}, {1, State::is_over}});
      const bool elsewhere = *gen::weightedElement<bool>({{5, false}, {1, true}});
      const auto object = pod_object("old" + std::to_string(n), pod.shape);
      object->spec.edit().nodeName = pod.node;
      if (elsewhere) object->metadata.namespace_ = "other";
      if (state == State::ends) object->metadata.deletionTimestamp = Time(1s);
      if (state == State::is_over) object->status.phase = "Succeeded";
      pod.counts = state == State::lives && !elsewhere;
      view.put_pod(object);
      placed.push_back(pod);
      RC_LOG() << pod.node << ": " << object->metadata.namespace_ << " app " << pod.shape.app
               << " state " << static_cast<int>(state) << "\n";
    }
    const PodShape pod = drawn(any_pod);
    const scheduler::PodInfo asking(pod_object("new", pod));
    for (const auto& [name, node] : nodes) {
      RC_LOG() << name << ":" << rc::toString(node) << "\n";
      const bool refused = scheduler::refusal_of(asking, *view.find(name), view).has_value();
      RC_ASSERT(refused == !may_stand(pod, node, nodes, placed));
    }
  });
}

// --- the scheduler at work ---

struct Change {
  enum class Kind : std::uint8_t {
    create_pods,  // two
    let_pod_end,  // it stays where it is
    end_pod,      // Succeeded
    delete_pod,   // at once
    relabel_pod,
    let_pod_tolerate,
    put_node,
    delete_node,
  };
  Kind kind = Kind::create_pods;
  int which = 0;
  PodShape pod{};
  NodeShape node{};
};
constexpr const char* change_names[] = {"create 2 pods ", "let end ",    "end ",
                                        "delete ",        "relabel ",    "let tolerate ",
                                        "put node ",      "delete node "};

void showValue(const Change& change, std::ostream& out) {
  using Kind = Change::Kind;
  out << change_names[static_cast<int>(change.kind)];
  if (change.kind == Kind::create_pods) return showValue(change.pod, out);
  out << change.which;
  if (change.kind == Kind::relabel_pod) out << " to " << change.pod.app;
  if (change.kind == Kind::put_node) showValue(change.node, out);
}

rc::Gen<Change> any_change() {
  using Kind = Change::Kind;
  return gen::build<Change>(
      gen::set(&Change::kind, gen::weightedElement<Kind>({{5, Kind::create_pods},
                                                          {2, Kind::let_pod_end},
                                                          {1, Kind::end_pod},
                                                          {1, Kind::delete_pod},
                                                          {4, Kind::relabel_pod},
                                                          {1, Kind::let_pod_tolerate},
                                                          {3, Kind::put_node},
                                                          {2, Kind::delete_node}})),
      gen::set(&Change::which, gen::resize(rc::kNominalSize, gen::inRange(0, 12))),
      gen::set(&Change::pod, gen::resize(rc::kNominalSize, gen::exec(any_pod))),
      gen::set(&Change::node, gen::resize(rc::kNominalSize, gen::exec(any_node))));
}

const std::string& node_of(const Change& change) {
  return node_names[static_cast<std::size_t>(change.which) % node_names.size()];
}

class Game {
 public:
  explicit Game(std::uint64_t seed) : run_(seed) {
    run_.world().trace().add_sink([this](const Record& record) { on_record(record); });
  }

  void apply(const Change& change);
  void check() const;
  void put_node(const std::string& name, const NodeShape& shape);
  void rest(Duration duration) { run_.rest(duration); }

 private:
  bool goes_unnoticed(const Change& change) const;
  void create(const Change& change);
  void patch(const Object& object, json::object body, const std::string& subresource = {}) {
    run_.call(api::patch(object, api::PatchType::merge, std::move(body), subresource));
  }
  std::vector<Placed> placed(const std::string& but = {}) const;
  void on_record(const Record& record);

  std::map<std::string, PodShape> shapes_{};  // by pod
  Nodes nodes_{};
  std::vector<std::string> skewed_{};
  SchedulerRun run_;
};

void Game::create(const Change& change) {
  for (int i = 0; i < 2; ++i) {
    const std::string name = "p" + std::to_string(shapes_.size());
    shapes_[name] = change.pod;
    run_.call(api::create(pod_object(name, change.pod)));
  }
}

void Game::put_node(const std::string& name, const NodeShape& shape) {
  nodes_[name] = shape;
  const ObjectPtr known = run_.world().find(Node::info(), "", name);
  if (!known)
    return run_.add_node({.name = name, .labels = labels_of(shape), .taints = taints_of(shape)});
  json::object labels{{"colour", nullptr}};
  for (const std::string& key : keys) labels[key] = nullptr;
  for (const auto& [key, value] : labels_of(shape)) labels[key.view()] = value.view();
  json::array taints;
  for (const Taint& taint : taints_of(shape))
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  patch(*known,
        {{"metadata", {{"labels", std::move(labels)}}}, {"spec", {{"taints", std::move(taints)}}}});
}

// That somebody only begins to end wakes nobody, nor does a label that is no constraint's key
// (upstream's isSchedulableAfterNodeChange): who waits is tried again after five minutes.
bool Game::goes_unnoticed(const Change& change) const {
  using Kind = Change::Kind;
  if (change.kind == Kind::let_pod_end) return true;
  const auto known = nodes_.find(node_of(change));
  return change.kind == Kind::put_node && known != nodes_.end() &&
         known->second.red != change.node.red;
}

void Game::apply(const Change& change) {
  using Kind = Change::Kind;
  const auto pods = run_.pods();
  const auto index = static_cast<std::size_t>(change.which);
  const auto pod = pods.empty() ? nullptr : pods[index % pods.size()];
  const std::string& node = node_of(change);
  const Duration patience = goes_unnoticed(change) ? Duration(6min) : Duration(5s);
  const std::string name = pod ? pod->metadata.name.str() : std::string();
  if (change.kind == Kind::create_pods) create(change);
  if (change.kind == Kind::put_node) put_node(node, change.node);
  if (change.kind == Kind::delete_node) {
    nodes_.erase(node);
    if (const ObjectPtr known = run_.world().find(Node::info(), "", node))
      run_.call(api::remove(*known));
  }
  if (pod && change.kind == Kind::let_pod_end) run_.call(api::remove(*pod));
  if (pod && change.kind == Kind::end_pod && !pod->spec->nodeName.empty())
    patch(*pod, {{"status", {{"phase", "Succeeded"}}}}, "status");
  if (pod && change.kind == Kind::delete_pod) run_.end(*pod);
  if (pod && change.kind == Kind::relabel_pod) {
    shapes_[name].app = change.pod.app;
    patch(*pod, {{"metadata", {{"labels", {{"app", change.pod.app}}}}}});
  }
  if (pod && change.kind == Kind::let_pod_tolerate && !shapes_[name].tolerates) {
    shapes_[name].tolerates = true;
    auto tolerant = std::static_pointer_cast<Pod>(pod->clone());
    tolerant->spec.edit().tolerations.edit().push_back({.key = "reserved", .operator_ = "Exists"});
    run_.call(api::update(tolerant));
  }
  rest(patience);
}

std::vector<Placed> Game::placed(const std::string& but) const {
  std::vector<Placed> out;
  for (const auto& pod : run_.pods())
    if (pod->metadata.name != but && !pod->spec->nodeName.empty())
      out.push_back({shapes_.at(pod->metadata.name.str()), pod->spec->nodeName,
                     !pod->metadata.deletionTimestamp && pod->status.phase != "Succeeded"});
  return out;
}

// At the moment a pod is bound.
void Game::on_record(const Record& record) {
  const Pod* before = record.before ? as<Pod>(*record.before) : nullptr;
  const Pod* after = record.after ? as<Pod>(*record.after) : nullptr;
  if (before == nullptr || after == nullptr) return;
  if (after->spec->nodeName.empty() || !before->spec->nodeName.empty()) return;
  const std::string name = after->metadata.name.str();
  const auto node = nodes_.find(after->spec->nodeName);
  if (node == nodes_.end() || !may_stand(shapes_.at(name), node->second, nodes_, placed(name)))
    skewed_.push_back(describe(record));
}

void Game::check() const {
  RC_ASSERT(skewed_ == std::vector<std::string>());
  const std::vector<Placed> all = placed();
  for (const auto& pod : run_.pods()) {
    if (!pod->spec->nodeName.empty()) continue;
    for (const auto& [name, node] : nodes_) {
      RC_LOG() << pod->metadata.name << " on " << name << "\n";
      RC_ASSERT(!may_stand(shapes_.at(pod->metadata.name.str()), node, nodes_, all));
    }
    const auto* condition = pod->status.condition("PodScheduled");
    RC_ASSERT(condition != nullptr && condition->status == "False");
  }
}

TEST(SpreadProperties, NobodyWaitsWhoMayGoSomewhere) {
  holds([] {
    const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
    const auto changes = *gen::resize(20, gen::vector_of(any_change())).as("changes");
    Game game(seed);
    for (const std::string& name : node_names)
      game.put_node(name, *gen::resize(rc::kNominalSize, gen::exec(any_node)).as(name));
    game.rest(1s);
    for (const Change& change : changes) {
      game.apply(change);
      game.check();
    }
  });
}

}  // namespace
}  // namespace ddptwin::property::spread_properties_test
