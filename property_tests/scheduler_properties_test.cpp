// The scheduler against sums: no node ever holds more than it has, and nobody waits who would fit
// (spec/kubernetes.md §3.1).
#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "cluster/scheduler/decision.hpp"
#include "objects/defaults.hpp"
#include "objects/describe.hpp"
#include "property.hpp"
#include "scheduler_run.hpp"

namespace ddptwin::property::scheduler_properties_test {
namespace {

const std::vector<std::string> node_names{"n0", "n1", "n2"};
const std::vector<std::string> resources{"cpu", "memory", "nvidia.com/gpu", "pods"};
constexpr const char* units[] = {"", "Gi", "", ""};

// What a node has and what a pod wants, in whole units of `resources`.
using Amounts = std::vector<int>;

// Of a required node affinity: what it says of a node's name, and of its colour.
struct Term {
  std::string name_operator{}, name{};  // In, NotIn; "": nothing
  std::string colour_operator{};        // In, NotIn red, Exists, DoesNotExist; "": nothing
};

struct PodShape {
  std::vector<Term> terms{};  // one of them has to hold; none: nothing is required
  Amounts wants{0, 0, 0, 1};
  int init_gpus = 0;  // of an init container: the pod needs the greater of the two
  bool only_red = false;
  bool tolerates = false;
  int host_port = 0;
};
struct NodeShape {
  Amounts has{4, 8, 2, 5};
  bool red = false;
  bool tainted = false;
  bool cordoned = false;
};

void showValue(const PodShape& pod, std::ostream& out) {
  for (std::size_t i = 0; i + 1 < resources.size(); ++i)
    out << pod.wants[i] << " " << resources[i] << " ";
  if (pod.init_gpus > 0) out << "init gpus " << pod.init_gpus << " ";
  if (pod.only_red) out << "only red ";
  if (pod.tolerates) out << "tolerates ";
  if (pod.host_port > 0) out << "port " << pod.host_port;
  for (const Term& term : pod.terms)
    out << " [" << term.name_operator << " " << term.name << ", colour " << term.colour_operator
        << "]";
}

void showValue(const NodeShape& node, std::ostream& out) {
  for (const int amount : node.has) out << " " << amount;
  if (node.red) out << " red";
  if (node.tainted) out << " tainted";
  if (node.cordoned) out << " cordoned";
}

Term any_term() {
  Term term;
  term.name_operator = *gen::element<std::string>("", "In", "NotIn");
  term.name = *gen::elementOf(node_names);
  term.colour_operator =
      *gen::element<std::string>("", "", "In", "NotIn", "Exists", "DoesNotExist");
  return term;
}
PodShape any_pod() {
  PodShape pod;
  for (int terms = *gen::element(0, 0, 0, 1, 2, 3); terms > 0; --terms)
    pod.terms.push_back(any_term());
  pod.wants = {*gen::inRange(0, 5), *gen::inRange(0, 5), *gen::inRange(0, 3), 1};
  pod.init_gpus = *gen::element(0, 0, 0, 1, 2);
  pod.only_red = *gen::weightedElement<bool>({{3, false}, {1, true}});
  pod.tolerates = *gen::arbitrary<bool>();
  pod.host_port = *gen::element(0, 0, 0, 80, 81);
  return pod;
}
NodeShape any_node() {
  NodeShape node;
  node.has = {*gen::inRange(0, 9), *gen::inRange(0, 9), *gen::inRange(0, 4), *gen::inRange(0, 5)};
  node.red = *gen::arbitrary<bool>();
  node.tainted = *gen::weightedElement<bool>({{3, false}, {1, true}});
  node.cordoned = *gen::weightedElement<bool>({{3, false}, {1, true}});
  return node;
}

ResourceList list_of(const Amounts& amounts, std::size_t count) {
  ResourceList list;
  for (std::size_t i = 0; i < count; ++i)
    list[resources[i]] = *Quantity::parse(std::to_string(amounts[i]) + units[i]);
  return list;
}

// As the store has it.
std::shared_ptr<Pod> pod_object(const std::string& name, const PodShape& shape) {
  auto pod = pod_asking(name, list_of(shape.wants, resources.size() - 1));
  PodSpec& spec = pod->spec.edit();
  if (shape.host_port > 0)
    spec.containers.edit()[0].ports = {
        {.hostPort = shape.host_port, .containerPort = shape.host_port, .protocol = "TCP"}};
  if (shape.init_gpus > 0) {
    Container init;
    init.name = "i";
    init.image = "busybox";
    // What it may use it asks for, where it does not say.
    init.resources.limits.edit()[resources[2]] = Quantity::of(shape.init_gpus);
    spec.initContainers.edit().push_back(std::move(init));
  }
  if (shape.only_red) spec.nodeSelector = {{"colour", "red"}};
  if (!shape.terms.empty()) {
    NodeSelector& selector = spec.affinity.emplace()
                                 .nodeAffinity.emplace()
                                 .requiredDuringSchedulingIgnoredDuringExecution.emplace();
    for (const Term& term : shape.terms) {
      NodeSelectorTerm& made = selector.nodeSelectorTerms.emplace_back();
      if (!term.name_operator.empty())
        made.matchFields.push_back({"metadata.name", term.name_operator, {term.name}});
      const bool of_value = term.colour_operator == "In" || term.colour_operator == "NotIn";
      if (!term.colour_operator.empty())
        made.matchExpressions.push_back(
            {"colour", term.colour_operator,
             of_value ? std::vector<std::string>{"red"} : std::vector<std::string>{}});
    }
  }
  if (shape.tolerates) spec.tolerations = {{.key = "reserved", .operator_ = "Exists"}};
  default_pod(*pod);
  return pod;
}

std::shared_ptr<Node> node_object(const std::string& name, const NodeShape& shape) {
  auto node = std::make_shared<Node>();
  node->metadata.name = name;
  if (shape.red) node->metadata.labels = StringMap{{"colour", "red"}};
  node->spec.unschedulable = shape.cordoned;
  if (shape.tainted)
    node->spec.taints = {{.key = "reserved", .value = "x", .effect = "NoSchedule"}};
  node->status.allocatable = list_of(shape.has, resources.size());
  return node;
}

// --- the model: walks all pods, adds, compares ---

Amounts needs(const PodShape& pod) {
  Amounts all = pod.wants;
  all[2] = std::max(all[2], pod.init_gpus);
  return all;
}

struct Placed {
  PodShape shape{};
  std::string node{};
};

Amounts used_on(const std::string& node, const std::vector<Placed>& placed) {
  Amounts sum(resources.size());
  for (const Placed& pod : placed)
    for (std::size_t i = 0; pod.node == node && i < sum.size(); ++i) sum[i] += needs(pod.shape)[i];
  return sum;
}

// A term that says nothing is of no node.
bool is_of(const Term& term, const std::string& name, const NodeShape& node) {
  if (term.name_operator.empty() && term.colour_operator.empty()) return false;
  if (term.name_operator == "In" && name != term.name) return false;
  if (term.name_operator == "NotIn" && name == term.name) return false;
  const bool red = term.colour_operator == "In" || term.colour_operator == "Exists";
  return term.colour_operator.empty() || node.red == red;
}

bool fits(const PodShape& pod, const std::string& name, const NodeShape& node,
          const std::vector<Placed>& placed) {
  if (!pod.terms.empty() && std::none_of(pod.terms.begin(), pod.terms.end(),
                                         [&](const Term& term) { return is_of(term, name, node); }))
    return false;
  if (node.cordoned || (node.tainted && !pod.tolerates) || (pod.only_red && !node.red))
    return false;
  for (const Placed& other : placed)
    if (other.node == name && pod.host_port > 0 && other.shape.host_port == pod.host_port)
      return false;
  const Amounts wanted = needs(pod), used = used_on(name, placed);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] > 0 && used[i] + wanted[i] > node.has[i]) return false;
  return true;
}

TEST(SchedulerProperties, ADecisionIsANodeThatFitsWhereOneDoes) {
  holds([] {
    const auto drawn = [](auto draw) { return *gen::resize(rc::kNominalSize, gen::exec(draw)); };
    scheduler::ClusterView view;
    std::map<std::string, NodeShape> nodes;
    for (const std::string& name : node_names) {
      nodes[name] = drawn(any_node);
      view.put_node(node_object(name, nodes[name]));
    }
    std::vector<Placed> placed;
    for (int n = *gen::inRange(0, 4); n > 0; --n) {
      const Placed pod{drawn(any_pod), *gen::elementOf(node_names)};
      const auto object = pod_object("old" + std::to_string(n), pod.shape);
      object->spec.edit().nodeName = pod.node;
      if (*gen::inRange(0, 4) == 0)
        object->status.phase = "Succeeded";  // holds nothing any more
      else
        placed.push_back(pod);
      view.put_pod(object);
    }
    const PodShape pod = drawn(any_pod);
    const auto decision = scheduler::decide(scheduler::PodInfo(pod_object("new", pod)), view);
    std::set<std::string> fitting;
    for (const auto& [name, node] : nodes)
      if (fits(pod, name, node, placed)) fitting.insert(name);
    RC_ASSERT(decision.node.empty() == fitting.empty());
    if (!decision.node.empty()) RC_ASSERT(fitting.contains(decision.node));
    if (decision.node.empty()) RC_ASSERT(decision.refusals.size() == nodes.size());
  });
}

// --- the scheduler at work ---

struct Change {
  enum class Kind : std::uint8_t {
    create_pods,  // several at once
    end_pod,
    delete_pod,
    put_node,  // new, or another shape: cordoned, tainted, relabelled, of another size
    delete_node,
  };
  Kind kind = Kind::create_pods;
  int which = 0;
  PodShape pod{};
  NodeShape node{};
};
constexpr const char* change_names[] = {"create 3 pods ", "end pod ", "delete pod ", "put node ",
                                        "delete node "};

void showValue(const Change& change, std::ostream& out) {
  out << change_names[static_cast<int>(change.kind)];
  if (change.kind == Change::Kind::create_pods) return showValue(change.pod, out);
  out << change.which;
  if (change.kind != Change::Kind::put_node) return;
  showValue(change.node, out);
}

rc::Gen<Change> any_change() {
  using Kind = Change::Kind;
  return gen::build<Change>(
      gen::set(&Change::kind, gen::weightedElement<Kind>({{4, Kind::create_pods},
                                                          {2, Kind::end_pod},
                                                          {2, Kind::delete_pod},
                                                          {4, Kind::put_node},
                                                          {1, Kind::delete_node}})),
      gen::set(&Change::which, gen::resize(rc::kNominalSize, gen::inRange(0, 12))),
      gen::set(&Change::pod, gen::resize(rc::kNominalSize, gen::exec(any_pod))),
      gen::set(&Change::node, gen::resize(rc::kNominalSize, gen::exec(any_node))));
}

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : run_(seed) {
    run_.world().trace().add_sink([this](const Record& record) { on_record(record); });
  }

  void apply(const Change& change);
  // Nobody waits who would fit.
  void check_nobody_waits_in_vain();
  const std::vector<std::string>& overcommitted() const { return overcommitted_; }

 private:
  void put_node(const std::string& name, const NodeShape& shape);
  void end_pod(const Pod& pod);
  // On the nodes now, but for that pod.
  std::vector<Placed> placed(const std::string& but = {}) const;
  void on_record(const Record& record);

  std::map<std::string, PodShape> shapes_{};  // by pod
  std::map<std::string, NodeShape> nodes_{};
  std::vector<std::string> overcommitted_{};
  SchedulerRun run_;
};

void Cluster::put_node(const std::string& name, const NodeShape& shape) {
  const auto wanted = node_object(name, shape);
  const auto known = as<Node>(run_.world().find(Node::info(), "", name));
  if (!known) {
    run_.add_node({.name = name,
                   .capacity = wanted->status.allocatable,
                   .labels = *wanted->metadata.labels,
                   .taints = wanted->spec.taints,
                   .unschedulable = shape.cordoned});
  } else {
    // One after the other, as the scheduler hears of them.
    auto status = std::static_pointer_cast<Node>(known->clone());
    status->status.allocatable = wanted->status.allocatable;
    run_.call(api::update(status, "status"));
    nodes_[name].has = shape.has;
    run_.rest(1s);
    auto spec = std::static_pointer_cast<Node>(run_.world().find(Node::info(), "", name)->clone());
    spec->metadata.labels = wanted->metadata.labels;
    spec->spec = wanted->spec;
    run_.call(api::update(spec));
  }
  nodes_[name] = shape;
}

void Cluster::end_pod(const Pod& pod) {
  if (pod.spec->nodeName.empty()) return;
  const auto ended = std::static_pointer_cast<Pod>(pod.clone());
  ended->status.phase = "Succeeded";
  run_.call(api::update(ended, "status"));
}

void Cluster::apply(const Change& change) {
  const auto pods = run_.pods();
  const auto index = static_cast<std::size_t>(change.which);
  const auto pod = pods.empty() ? nullptr : pods[index % pods.size()];
  const std::string& node = node_names[index % node_names.size()];
  switch (change.kind) {
    case Change::Kind::create_pods:
      for (int i = 0; i < 3; ++i) {
        const std::string name = "p" + std::to_string(shapes_.size());
        shapes_[name] = change.pod;
        run_.call(api::create(pod_object(name, change.pod)));
      }
      break;
    case Change::Kind::end_pod:
      if (pod) end_pod(*pod);
      break;
    case Change::Kind::delete_pod:
      if (pod) run_.end(*pod);
      break;
    case Change::Kind::put_node:
      put_node(node, change.node);
      break;
    case Change::Kind::delete_node:
      if (const ObjectPtr known = run_.world().find(Node::info(), "", node))
        run_.call(api::remove(*known));
      nodes_.erase(node);
      break;
  }
  run_.rest(5s);
}

std::vector<Placed> Cluster::placed(const std::string& but) const {
  std::vector<Placed> out;
  for (const auto& pod : run_.pods())
    if (pod->metadata.name != but && !pod->spec->nodeName.empty() &&
        pod->status.phase != "Succeeded")
      out.push_back({shapes_.at(pod->metadata.name.str()), pod->spec->nodeName});
  return out;
}

// At the moment a pod is bound: later a node may shrink under what it holds.
void Cluster::on_record(const Record& record) {
  const Pod* before = record.before ? as<Pod>(*record.before) : nullptr;
  const Pod* after = record.after ? as<Pod>(*record.after) : nullptr;
  if (before == nullptr || after == nullptr) return;
  const std::string& node = after->spec->nodeName;
  if (node.empty() || !before->spec->nodeName.empty()) return;
  const auto shape = nodes_.find(node);
  if (shape == nodes_.end()) return;  // deleted while the binding was under way
  const Amounts used = used_on(node, placed(after->metadata.name.str()));
  const Amounts wants = needs(shapes_.at(after->metadata.name.str()));
  for (std::size_t i = 0; i < used.size(); ++i)
    if (wants[i] > 0 && used[i] + wants[i] > shape->second.has[i])
      overcommitted_.push_back(resources[i] + " of " + node + ": " + describe(record));
}

void Cluster::check_nobody_waits_in_vain() {
  const std::vector<Placed> all = placed();
  for (const auto& pod : run_.pods()) {
    if (!pod->spec->nodeName.empty()) continue;
    for (const auto& [name, node] : nodes_) {
      RC_LOG() << "p: " << pod->metadata.name << ", n: " << name << "\n";
      RC_ASSERT(!fits(shapes_.at(pod->metadata.name.str()), name, node, all));
    }
    const auto* condition = pod->status.condition("PodScheduled");
    RC_ASSERT(condition != nullptr && condition->status == "False" &&
              condition->reason == "Unschedulable");
  }
}

TEST(SchedulerProperties, NoNodeHoldsMoreThanItHasAndNobodyWaitsInVain) {
  holds(
      [] {
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        const auto changes = *gen::resize(20, gen::vector_of(any_change())).as("changes");
        Cluster cluster(seed);
        for (const Change& change : changes) {
          cluster.apply(change);
          RC_ASSERT(cluster.overcommitted() == std::vector<std::string>());
          cluster.check_nobody_waits_in_vain();
        }
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::scheduler_properties_test
