// Whom a kubelet takes of the pods that are bound to its node: sums over those that hold room
// there, in a story of ends, deletions, restarts of the kubelet and changes of the node
// (spec/kubernetes.md §2.2, "Kubelet-set pod-level reason/message").
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::admission_properties_test {
namespace {

// Not in the order in which a story comes to them.
const std::vector<std::string> names{"m", "d", "t", "b", "x", "g"};
const std::vector<std::string> resources{"cpu", "memory", "nvidia.com/gpu"};
// Half a core, a gibibyte, a device.
constexpr const char* units[] = {"500m", "1Gi", "1"};
// In what the kubelet's messages count.
constexpr std::int64_t counted_in[] = {500, 1LL << 30, 1};

struct Guest {
  std::vector<int> wants{0, 0, 0};  // so many `units`
  int host_port = 0;
  std::string host_ip{};
  bool port_of_sidecar = false;
  bool only_red = false;
  bool by_terms = false;  // that it says so: blue and large, or red
  std::string on_term{};
};

Quantity amount_of(std::size_t resource, int count) {
  Quantity sum;
  for (const Quantity one = *Quantity::parse(units[resource]); count > 0; --count) sum += one;
  return sum;
}

void showValue(const Guest& pod, std::ostream& out) {
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (pod.wants[i] > 0) out << " " << amount_of(i, pod.wants[i]).str() << " " << resources[i];
  if (pod.host_port > 0)
    out << " port " << pod.host_ip << ":" << pod.host_port
        << (pod.port_of_sidecar ? " of a sidecar" : "");
  if (pod.only_red) out << (pod.by_terms ? " only red by terms" : " only red");
  if (!pod.on_term.empty()) out << " on SIGTERM " << pod.on_term;
}

Guest any_guest() {
  Guest pod;
  pod.wants = {*gen::inRange(0, 8), *gen::element(0, 0, 1, 2, 4), *gen::element(0, 0, 0, 1, 2)};
  pod.host_port = *gen::element(0, 0, 80, 81);
  pod.host_ip = *gen::element<std::string>("", "", "10.0.0.1", "10.0.0.2");
  pod.port_of_sidecar = *gen::weightedElement<bool>({{3, false}, {1, true}});
  pod.only_red = *gen::weightedElement<bool>({{2, false}, {1, true}});
  pod.by_terms = *gen::arbitrary<bool>();
  pod.on_term = *gen::element<std::string>("", "0 after 12", "ignore");
  return pod;
}

std::shared_ptr<Pod> pod_object(const std::string& name, const Guest& shape) {
  auto pod = NodeRun::pod_named(name);
  pod->spec.edit().restartPolicy = "Never";
  Container container;
  container.name = "c";
  container.image = "busybox";
  for (std::size_t i = 0; i < resources.size(); ++i)
    if (shape.wants[i] > 0)
      container.resources.requests.edit()[resources[i]] = amount_of(i, shape.wants[i]);
  container.resources.limits = container.resources.requests;
  Container sidecar;
  sidecar.name = "s";
  sidecar.image = "busybox";
  sidecar.restartPolicy = "Always";
  if (shape.host_port > 0)
    (shape.port_of_sidecar ? sidecar : container).ports = {{.hostPort = shape.host_port,
                                                            .containerPort = shape.host_port,
                                                            .protocol = "TCP",
                                                            .hostIP = shape.host_ip}};
  PodSpec& spec = pod->spec.edit();
  if (shape.port_of_sidecar) spec.initContainers.edit().push_back(std::move(sidecar));
  spec.containers.edit().push_back(std::move(container));
  if (shape.only_red && !shape.by_terms) spec.nodeSelector = {{"colour", "red"}};
  if (shape.only_red && shape.by_terms) {
    NodeSelector wanted;
    wanted.nodeSelectorTerms = {
        {.matchExpressions = {{"colour", "In", {"blue"}}, {"size", "Exists", {}}}},
        {.matchExpressions = {{"colour", "In", {"red"}}}}};
    spec.affinity.emplace().nodeAffinity.emplace().requiredDuringSchedulingIgnoredDuringExecution =
        std::move(wanted);
  }
  if (!shape.on_term.empty()) pod->metadata.annotations.edit()["rig/term.c"] = shape.on_term;
  return pod;
}

bool same_port(const Guest& a, const Guest& b) {
  return a.host_port > 0 && a.host_port == b.host_port &&
         (a.host_ip == b.host_ip || a.host_ip.empty() || b.host_ip.empty());
}

// --- the model: who is there, added up ---

struct Known {
  Guest shape{};
  bool judged = false;
  // Why it was refused: any of these may be named, with its message. None: it was taken.
  std::map<std::string, std::string> refused{};
};

struct House {
  std::vector<int> has{8, 8, 2};
  int pods = 4;
  bool red = true;

  std::map<std::string, std::string> against(const Guest& pod,
                                             const std::vector<Guest>& there) const;
};

std::map<std::string, std::string> House::against(const Guest& pod,
                                                  const std::vector<Guest>& there) const {
  std::map<std::string, std::string> reasons;
  const auto lacks = [&](const std::string& what, std::int64_t wanted, std::int64_t used,
                         std::int64_t all) {
    reasons["OutOf" + what] = fmt::format(
        "Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, "
        "capacity: {}",
        what, wanted, used, all);
  };
  if (static_cast<int>(there.size()) + 1 > pods)
    lacks("pods", 1, static_cast<std::int64_t>(there.size()), pods);
  for (std::size_t i = 0; i < resources.size(); ++i) {
    std::int64_t used = 0;
    for (const Guest& other : there) used += other.wants[i];
    if (pod.wants[i] > 0 && used + pod.wants[i] > has[i])
      lacks(resources[i], pod.wants[i] * counted_in[i], used * counted_in[i],
            has[i] * counted_in[i]);
  }
  if (pod.only_red && !red)
    reasons["NodeAffinity"] =
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
        "affinity/selector";
  for (const Guest& other : there)
    if (same_port(pod, other))
      reasons["NodePorts"] =
          "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the "
          "requested pod ports";
  return reasons;
}

// A node, what is known of it, and what happens to it.
class Inn {
 public:
  explicit Inn(std::uint64_t seed) : node_(seed) { furnish(); }

  void step();
  void open();
  void check();

 private:
  void furnish();
  void settle();
  void arrive();
  std::shared_ptr<const Pod> any_pod() const;
  void judge(const std::string& name);
  std::vector<Guest> there() const;

  NodeRun node_;
  House house_{};
  bool open_ = true;
  std::map<std::string, Known> known_{};
  std::vector<std::string> waiting_{};  // that no kubelet has seen, in the order of their coming
};

void Inn::furnish() {
  boost::json::object amounts{{"pods", std::to_string(house_.pods)}};
  for (std::size_t i = 0; i < resources.size(); ++i)
    amounts[resources[i]] = amount_of(i, house_.has[i]).str();
  node_.patch_node({{"status", {{"allocatable", amounts}}}}, "status");
  node_.patch_node({{"metadata", {{"labels", {{"colour", house_.red ? "red" : "blue"}}}}}});
  node_.rest(1s);
}

// Until the end of a container that has ended is known to all: some looks at the runtime later.
void Inn::settle() {
  const auto fresh = [&](const std::string& container) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto& runs = node_.runs_of(container, name);
      return !runs.empty() && runs.back().ended && node_.now() - *runs.back().ended < 5s;
    });
  };
  do node_.rest(2s);
  while (fresh("c") || fresh("s"));
  for (auto at = known_.begin(); at != known_.end();)
    at = node_.pod(at->first) ? std::next(at) : known_.erase(at);
}

// Who was taken has its room until it is shown as over, or its object is gone.
std::vector<Guest> Inn::there() const {
  std::vector<Guest> all;
  for (const auto& [name, one] : known_)
    if (const auto pod = node_.pod(name); pod && one.judged && !is_over(*pod))
      all.push_back(one.shape);
  return all;
}

void Inn::judge(const std::string& name) {
  Known& one = known_.at(name);
  one.refused = house_.against(one.shape, there());
  one.judged = one.refused.empty();
}

void Inn::arrive() {
  std::vector<std::string> free;
  for (const std::string& name : names)
    if (!node_.pod(name)) free.push_back(name);
  if (free.empty()) return;
  const std::string name = *gen::elementOf(free).as("name");
  const Guest shape = any_guest();
  RC_LOG() << "creates " << name << ":";
  std::ostringstream text;
  showValue(shape, text);
  RC_LOG() << text.str() << "\n";
  node_.create(pod_object(name, shape));
  known_[name] = Known{shape};
  if (open_)
    judge(name);
  else
    waiting_.push_back(name);
}

std::shared_ptr<const Pod> Inn::any_pod() const {
  std::vector<std::string> there;
  for (const std::string& name : names)
    if (node_.pod(name)) there.push_back(name);
  return there.empty() ? nullptr : node_.pod(*gen::elementOf(there).as("of"));
}

void Inn::open() {
  if (open_) return;
  open_ = true;
  node_.start_kubelet();
  for (const std::string& name : std::exchange(waiting_, {})) judge(name);
  settle();
}

void Inn::step() {
  enum class Kind : std::uint8_t { arrive, end, remove, stop, start, restart, paint, resize };
  const auto kind =
      *gen::weightedElement<int>({{8, 0}, {3, 1}, {4, 2}, {2, 3}, {2, 4}, {1, 5}, {1, 6}, {1, 7}});
  constexpr const char* texts[] = {"",           "an end",           "a deletion", "kubelet stops",
                                   "kubelet up", "kubelet restarts", "colour",     "size"};
  RC_LOG() << texts[kind] << "\n";
  switch (static_cast<Kind>(kind)) {
    case Kind::arrive:
      arrive();
      break;
    case Kind::end:
      if (const auto pod = any_pod())
        node_.exit("c", *gen::element(0, 1), false, pod->metadata.name.str());
      break;
    case Kind::remove:
      if (const auto pod = any_pod()) {
        const std::string name = pod->metadata.name.str();
        const bool unseen = std::erase(waiting_, name) > 0;
        // Who is ending is taken away by force: the object goes, and what runs goes on.
        const bool by_force = unseen || pod->metadata.deletionTimestamp;
        node_.remove(by_force ? 0 : *gen::element(0, 5, 30, 30), name);
      }
      break;
    case Kind::stop:
      if (open_) node_.stop_kubelet();
      open_ = false;
      break;
    case Kind::start:
      open();
      break;
    case Kind::restart:
      if (open_) node_.restart_kubelet();
      break;
    case Kind::paint:
      house_.red = !house_.red;
      furnish();
      break;
    case Kind::resize:
      house_.has = {*gen::inRange(0, 13), *gen::inRange(0, 9), *gen::inRange(0, 4)};
      house_.pods = *gen::inRange(1, 6);
      furnish();
      break;
  }
  settle();
}

void Inn::check() {
  for (const auto& [name, one] : known_) {
    const auto pod = node_.pod(name);
    if (!pod || std::count(waiting_.begin(), waiting_.end(), name) > 0) continue;
    const PodStatus& status = pod->status;
    if (one.judged) {
      RC_ASSERT(status.rest->reason == "");
      RC_ASSERT(status.rest->startTime.has_value());
      continue;
    }
    RC_ASSERT(status.phase == "Failed");
    RC_ASSERT(one.refused.contains(status.rest->reason.str()));
    RC_ASSERT(status.rest->message == one.refused.at(status.rest->reason.str()));
    RC_ASSERT(status.containerStatuses.empty());
  }
}

TEST(AdmissionProperties, WhoFitsBesideThoseWhoAreThereIsTakenForGood) {
  holds([] {
    Inn inn(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    for (int n = *gen::inRange(8, 25).as("steps"); n > 0; --n) {
      inn.step();
      inn.check();
    }
    inn.open();
    inn.check();
  });
}

}  // namespace
}  // namespace ddptwin::property::admission_properties_test
