// Which pods the pod garbage collector takes away (spec/kubernetes.md §2.12, §7).
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "bare_store.hpp"
#include "controller/manager/pod_gc.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::pod_gc_properties_test {
namespace {

constexpr Duration round = 20s;

struct PodFate {
  std::string phase{};
  int seconds = 0;  // after it the next pod is made
  bool taken_away = false;
};

void showValue(const PodFate& pod, std::ostream& out) {
  out << pod.phase << (pod.taken_away ? ", taken away" : "") << ", then " << pod.seconds << " s";
}

rc::Gen<PodFate> any_fate() {
  return gen::build<PodFate>(
      gen::set(&PodFate::phase,
               gen::element<std::string>("Pending", "Running", "Succeeded", "Failed")),
      gen::set(&PodFate::seconds, gen::element(0, 1, 2)),
      gen::set(&PodFate::taken_away, gen::weightedElement<bool>({{5, false}, {1, true}})));
}

// A cluster whose pods have phases and no kubelet.
class Pods {
 public:
  explicit Pods(std::size_t threshold)
      : collector_(base_.loop, base_.client, base_.informers, {threshold}) {
    base_.trace.add_sink([this](const Record& record) {
      if (record.after == nullptr && record.before != nullptr)
        if (const auto pod = as<Pod>(record.before)) last_[pod->metadata.name.str()] = pod;
    });
  }

  void start() { collector_.start(); }
  void rest(Duration duration) { base_.rest(duration); }
  // Begins half a second before its looks, so that nothing happens in the moment of one.
  void start_between_looks() {
    start();
    rest(500ms);
  }
  // Calls `looked` after each look of the collector, with the seconds since its start.
  void rest_with_looks(int seconds, const std::function<void(int now)>& looked) {
    for (; seconds > 0; --seconds) {
      rest(1s);
      if (++now_ % static_cast<int>(round / 1s) == 0) looked(now_);
    }
  }
  std::shared_ptr<const Pod> make(const std::string& name, const std::string& phase,
                                  const std::string& node = {},
                                  std::vector<std::string> finalizers = {}) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_ = "default";
    pod->metadata.finalizers = std::move(finalizers);
    Container container;
    container.name = "c";
    container.image = "busybox";
    pod->spec.edit().containers.edit().push_back(std::move(container));
    pod->spec.edit().nodeName = node;
    const auto made = base_.store.call(api::create(pod), "test");
    RC_ASSERT(made.has_value());
    auto with_phase = std::static_pointer_cast<Pod>(made->object->clone());
    with_phase->status.phase = phase;
    RC_ASSERT(base_.store.call(api::update(with_phase, "status"), "test").has_value());
    return base_.store.find<Pod>("default", name);
  }
  ObjectPtr make_node(const std::string& name) {
    auto node = std::make_shared<Node>();
    node->metadata.name = name;
    const auto made = base_.store.call(api::create(node), "test");
    RC_ASSERT(made.has_value());
    return made->object;
  }
  // A patch of JSON, of the object or of its status.
  void patch(const Object& object, Json body, std::string subresource = {}) {
    const auto asked =
        api::patch(object, api::PatchType::merge, std::move(body), std::move(subresource));
    RC_ASSERT(base_.store.call(asked, "test").has_value());
  }
  void ask_to_end(const Object& pod) {
    RC_ASSERT(base_.store.call(api::remove(pod), "test").has_value());
  }
  void remove(const Object& object) {
    api::DeleteOptions now;
    now.grace_period_seconds = 0;
    RC_ASSERT(base_.store.call(api::remove(object, now), "test").has_value());
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& [key, pod] : base_.store.objects(Pod::info()))
      out.insert(pod->metadata.name.str());
    return out;
  }
  // By name.
  std::map<std::string, std::string> phases() const {
    std::map<std::string, std::string> out;
    for (const auto& [key, pod] : base_.store.objects(Pod::info()))
      out[pod->metadata.name.str()] = static_cast<const Pod&>(*pod).status.phase;
    return out;
  }
  // As it was when it went.
  const Pod& last(const std::string& name) const {
    const auto found = last_.find(name);
    RC_ASSERT(found != last_.end());
    return *found->second;
  }
  Time now() const { return base_.loop.now(); }

 private:
  BareStore base_{};
  PodGarbageCollector collector_;
  int now_ = 0;
  std::map<std::string, std::shared_ptr<const Pod>> last_{};  // of those that went
};

TEST(PodGarbageProperties, OfFinishedPodsBeyondTheThresholdTheOldestGo) {
  holds([] {
    const auto threshold = *gen::inRange<std::size_t>(0, 4).as("threshold");
    // All of them before its first look.
    const auto fates = *gen::resize(9, gen::vector_of(any_fate())).as("pods");
    Pods pods(threshold);
    pods.start();
    std::set<std::string> unfinished;
    std::vector<std::shared_ptr<const Pod>> finished;  // the oldest first
    for (std::size_t i = 0; i < fates.size(); ++i) {
      const auto pod = pods.make("p" + std::to_string(i), fates[i].phase);
      pods.rest(std::chrono::seconds(fates[i].seconds));
      if (fates[i].taken_away)
        pods.remove(*pod);
      else if (fates[i].phase == "Succeeded" || fates[i].phase == "Failed")
        finished.push_back(pod);
      else
        unfinished.insert(pod->metadata.name.str());
    }
    pods.rest(2 * round);
    std::set<std::string> left = pods.names();
    for (const std::string& name : unfinished) RC_ASSERT(left.erase(name) == 1U);
    const std::size_t wanted =
        threshold == 0 ? finished.size() : std::min(threshold, finished.size());
    RC_ASSERT(left.size() == wanted);
    // Of those that were made in one second any may go.
    for (std::size_t gone = 0; gone < finished.size(); ++gone)
      for (std::size_t stays = 0; stays < gone; ++stays)
        if (!left.contains(finished[gone]->metadata.name.str()) &&
            left.contains(finished[stays]->metadata.name.str()))
          RC_ASSERT(finished[gone]->metadata.creationTimestamp ==
                    finished[stays]->metadata.creationTimestamp);
  });
}

// --- nodes that come and go ---

struct Change {
  enum class Kind : std::uint8_t { node, pod, disrupt, rest };
  Kind kind = Kind::rest;
  std::string node{};  // it comes, or goes; or gets a pod; or its pods are disrupted, or no longer
  std::string phase = "Running";  // of the pod
  int seconds = 0;                // afterwards
};

void showValue(const Change& change, std::ostream& out) {
  constexpr const char* words[] = {"node comes or goes: ", "pod on ", "disruption of the pods on ",
                                   "rest "};
  out << words[static_cast<int>(change.kind)] << change.node;
  if (change.kind == Change::Kind::pod) out << ", " << change.phase;
  out << ", then " << change.seconds << " s";
}

rc::Gen<Change> any_change() {
  using Kind = Change::Kind;
  return gen::build<Change>(
      gen::set(&Change::kind,
               gen::weightedElement<Kind>(
                   {{3, Kind::node}, {3, Kind::pod}, {2, Kind::disrupt}, {1, Kind::rest}})),
      gen::set(&Change::node, gen::element<std::string>("n", "m")),
      gen::set(&Change::phase,
               gen::element<std::string>("Running", "Running", "Succeeded", "Failed")),
      gen::set(&Change::seconds, gen::element(0, 5, 18, 25, 45, 130)));
}

// The collector of §2.12 in its simplest words: a queue that gives each name back after 40 seconds.
class NaiveQuarantine {
 public:
  // Those whose pods go, where these miss pods' nodes at a look so many seconds after the start.
  std::set<std::string> look(int now, const std::set<std::string>& missing) {
    std::set<std::string> back, gone;
    for (const auto& [node, since] : waiting_)
      if (now - since >= 40) back.insert(node);
    for (const std::string& node : back) waiting_.erase(node);
    for (const std::string& node : missing) waiting_.emplace(node, now);
    for (const std::string& node : back)
      if (missing.contains(node)) gone.insert(node);
    return gone;
  }

 private:
  std::map<std::string, int> waiting_{};
};

class Nodes {
 public:
  Nodes() { pods_.start_between_looks(); }

  void apply(const Change& change) {
    using Kind = Change::Kind;
    if (change.kind == Kind::node) {
      if (const auto there = nodes_.find(change.node); there != nodes_.end()) {
        pods_.remove(*there->second);
        nodes_.erase(there);
      } else {
        nodes_.emplace(change.node, pods_.make_node(change.node));
      }
    }
    if (change.kind == Kind::pod) {
      const std::string name = "p" + std::to_string(made_++);
      left_.emplace(name,
                    Left{pods_.make(name, change.phase, change.node), change.node, change.phase});
    }
    if (change.kind == Kind::disrupt)
      for (auto& [name, pod] : left_)
        if (pod.node == change.node) turn_disruption(pod);
    pods_.rest_with_looks(change.seconds, [this](int now) { look(now); });
    std::set<std::string> left;
    for (const auto& [name, pod] : left_) left.insert(name);
    RC_ASSERT(pods_.names() == left);
  }

 private:
  struct Left {
    ObjectPtr object{};
    std::string node{};
    std::string phase{};
    std::optional<Time> disrupted{};  // since when somebody says so
  };

  // Somebody else's, such as an eviction that waits for the pod's grace.
  void turn_disruption(Left& pod) {
    if (pod.disrupted)
      pod.disrupted.reset();
    else
      pod.disrupted = pods_.now().floor_seconds();
    boost::json::array conditions;
    conditions.push_back(
        boost::json::object{{"type", "DisruptionTarget"},
                            {"status", pod.disrupted ? "True" : "False"},
                            {"reason", "EvictionByEvictionAPI"},
                            {"message", "Eviction API: evicting"},
                            {"lastTransitionTime", format_rfc3339(pods_.now().floor_seconds())}});
    pods_.patch(*pod.object,
                boost::json::object{{"status", boost::json::object{{"conditions", conditions}}}},
                "status");
  }
  void look(int now) {
    std::set<std::string> missing;
    for (const auto& [name, pod] : left_)
      if (!nodes_.contains(pod.node)) missing.insert(pod.node);
    const auto gone = naive_.look(now, missing);
    for (const auto& [name, pod] : left_)
      if (gone.contains(pod.node)) check_last_words(name, pod, virtual_start + now * 1s);
    std::erase_if(left_, [&](const auto& pod) { return gone.contains(pod.second.node); });
  }
  // The last to end it says why, and it has been one to end since the first did.
  void check_last_words(const std::string& name, const Left& pod, Time looked) const {
    RC_LOG() << name << "\n";
    const PodStatus& status = pods_.last(name).status;
    const bool had_ended = pod.phase != "Running";
    RC_ASSERT(status.phase == (had_ended ? pod.phase : "Failed"));
    // To what had ended by itself nothing was done.
    if (had_ended) {
      for (const PodCondition& one : *status.conditions)
        RC_ASSERT(one.reason == "EvictionByEvictionAPI");
      return;
    }
    RC_ASSERT(status.conditions.size() == 1U);
    const PodCondition& said = status.conditions.front();
    RC_ASSERT(said.type_ == "DisruptionTarget");
    RC_ASSERT(said.status == "True");
    RC_ASSERT(said.reason == "DeletionByPodGC");
    RC_ASSERT(said.lastTransitionTime == pod.disrupted.value_or(looked.floor_seconds()));
  }

  Pods pods_{0};
  NaiveQuarantine naive_{};
  std::map<std::string, ObjectPtr> nodes_{};
  std::map<std::string, Left> left_{};  // pods, by name
  int made_ = 0;
};

TEST(PodGarbageProperties, PodsGoWhoseNodeIsMissedTwice) {
  holds([] {
    const auto changes = *gen::resize(14, gen::vector_of(any_change())).as("changes");
    Nodes nodes;
    for (const Change& change : changes) nodes.apply(change);
  });
}

// --- nodes out of service ---

struct Outage {
  enum class Kind : std::uint8_t { ready, taint, pod, end };
  Kind kind = Kind::pod;  // the node's Ready or its taint turns, a pod comes, one is to end
  std::size_t which = 0;  // node, or pod
  int seconds = 0;        // afterwards
};

void showValue(const Outage& one, std::ostream& out) {
  constexpr const char* words[] = {"Ready of node ", "taint of node ", "a pod on node ",
                                   "end of pod "};
  out << words[static_cast<int>(one.kind)] << one.which << ", then " << one.seconds << " s";
}

rc::Gen<Outage> any_outage() {
  using Kind = Outage::Kind;
  return gen::build<Outage>(
      gen::set(&Outage::kind,
               gen::weightedElement<Kind>(
                   {{2, Kind::ready}, {2, Kind::taint}, {3, Kind::pod}, {3, Kind::end}})),
      gen::set(&Outage::which, gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(0, 6))),
      gen::set(&Outage::seconds, gen::element(0, 1, 7, 25)));
}

class Machines {
 public:
  Machines() {
    for (Machine& one : machines_) {
      one.object = pods_.make_node("n" + std::to_string(&one - machines_.data()));
      set_ready(one, true);
    }
    pods_.start_between_looks();
  }

  void apply(const Outage& outage) {
    using Kind = Outage::Kind;
    Machine& machine = machines_[outage.which % machines_.size()];
    if (outage.kind == Kind::ready) set_ready(machine, !machine.ready);
    if (outage.kind == Kind::taint) turn_taint(machine);
    if (outage.kind == Kind::pod) {
      const std::string name = "p" + std::to_string(made_++);
      left_.push_back({pods_.make(name, "Running", machine.object->metadata.name.str()), &machine});
    }
    if (outage.kind == Kind::end && !left_.empty()) {
      Left& pod = left_[outage.which % left_.size()];
      pods_.ask_to_end(*pod.pod);
      pod.ends = true;
    }
    pods_.rest_with_looks(outage.seconds, [this](int) { look(); });
    std::set<std::string> names;
    for (const Left& pod : left_) names.insert(pod.pod->metadata.name.str());
    RC_ASSERT(pods_.names() == names);
  }

 private:
  struct Machine {
    ObjectPtr object{};
    bool ready = false, tainted = false;
  };
  struct Left {
    std::shared_ptr<const Pod> pod{};
    Machine* machine = nullptr;
    bool ends = false;
  };

  void set_ready(Machine& machine, bool ready) {
    machine.ready = ready;
    const boost::json::object condition{
        {"type", "Ready"}, {"status", ready ? "True" : *gen::element("False", "Unknown")}};
    boost::json::array conditions;
    conditions.push_back(condition);
    pods_.patch(*machine.object,
                boost::json::object{{"status", boost::json::object{{"conditions", conditions}}}},
                "status");
  }
  void turn_taint(Machine& machine) {
    machine.tainted = !machine.tainted;
    boost::json::array taints;
    taints.push_back(boost::json::object{{"key", "example.com/other"}, {"effect", "NoExecute"}});
    if (machine.tainted)
      taints.push_back(boost::json::object{{"key", "node.kubernetes.io/out-of-service"},
                                           {"effect", "NoExecute"}});
    pods_.patch(*machine.object,
                boost::json::object{{"spec", boost::json::object{{"taints", taints}}}});
  }
  void look() {
    std::erase_if(left_, [](const Left& pod) {
      return pod.ends && pod.machine->tainted && !pod.machine->ready;
    });
  }

  Pods pods_{0};
  std::array<Machine, 2> machines_{};
  std::vector<Left> left_{};
  int made_ = 0;
};

TEST(PodGarbageProperties, FromANodeOutOfServiceGoesWhatIsToEnd) {
  holds([] {
    const auto outages = *gen::resize(14, gen::vector_of(any_outage())).as("what happens");
    Machines machines;
    for (const Outage& one : outages) machines.apply(one);
  });
}

// --- pods that end before they were placed ---

struct Ending {
  enum class Kind : std::uint8_t { make, end, release };
  Kind kind = Kind::make;
  std::size_t which = 0;  // which of the pods, to be ended or released
  bool is_placed = false, is_held = false, has_finished = false;
  int seconds = 0;  // afterwards
};

void showValue(const Ending& one, std::ostream& out) {
  if (one.kind == Ending::Kind::make)
    out << (one.is_placed ? "a placed" : "a waiting") << (one.has_finished ? " finished" : "")
        << (one.is_held ? " held" : "") << " pod";
  else
    out << (one.kind == Ending::Kind::end ? "end of pod " : "release of pod ") << one.which;
  out << ", then " << one.seconds << " s";
}

rc::Gen<Ending> any_ending() {
  using Kind = Ending::Kind;
  return gen::build<Ending>(
      gen::set(&Ending::kind,
               gen::weightedElement<Kind>({{4, Kind::make}, {3, Kind::end}, {1, Kind::release}})),
      gen::set(&Ending::which, gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(0, 6))),
      gen::set(&Ending::is_placed, gen::arbitrary<bool>()),
      gen::set(&Ending::is_held, gen::weightedElement<bool>({{1, false}, {2, true}})),
      gen::set(&Ending::has_finished, gen::weightedElement<bool>({{4, false}, {1, true}})),
      gen::set(&Ending::seconds, gen::element(0, 1, 7, 25)));
}

// Nobody runs its pods: what ends waits for whoever holds it.
class Waiting {
 public:
  Waiting() {
    pods_.make_node("n");
    pods_.start_between_looks();
  }

  void apply(const Ending& one) {
    using Kind = Ending::Kind;
    if (one.kind == Kind::make) make(one);
    if (one.kind != Kind::make && !left_.empty()) {
      const std::size_t at = one.which % left_.size();
      Left& pod = left_[at];
      if (one.kind == Kind::end && !pod.ends) {
        pods_.ask_to_end(*pod.object);
        pod.ends = true;
      }
      if (one.kind == Kind::release && pod.is_held) {
        pods_.patch(*pod.object,
                    boost::json::object{
                        {"metadata", boost::json::object{{"finalizers", boost::json::array()}}}});
        pod.is_held = false;
      }
      // One that no kubelet has to end goes at once.
      if (pod.ends && !pod.is_held && (!pod.is_placed || pod.phase == "Succeeded"))
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    pods_.rest_with_looks(one.seconds, [this](int) { look(); });
    std::map<std::string, std::string> phases;
    for (const Left& pod : left_) phases[pod.object->metadata.name.str()] = pod.phase;
    RC_ASSERT(pods_.phases() == phases);
  }

 private:
  struct Left {
    std::shared_ptr<const Pod> object{};
    std::string phase{};
    bool is_placed = false, is_held = false, ends = false;
  };

  void make(const Ending& one) {
    const std::string phase = one.has_finished ? "Succeeded" : "Pending";
    const std::string name = "p" + std::to_string(made_++);
    std::vector<std::string> finalizers;
    if (one.is_held) finalizers.emplace_back("ddptwin.test/held");
    left_.push_back(
        {.object = pods_.make(name, phase, one.is_placed ? "n" : "", std::move(finalizers)),
         .phase = phase,
         .is_placed = one.is_placed,
         .is_held = one.is_held});
  }
  void look() {
    for (Left& pod : left_)
      if (pod.ends && !pod.is_placed && pod.phase == "Pending") pod.phase = "Failed";
  }

  Pods pods_{0};
  std::vector<Left> left_{};
  int made_ = 0;
};

TEST(PodGarbageProperties, WhoEndsBeforeItWasPlacedHasFailed) {
  holds([] {
    const auto endings = *gen::resize(14, gen::vector_of(any_ending())).as("what happens");
    Waiting waiting;
    for (const Ending& one : endings) waiting.apply(one);
  });
}

}  // namespace
}  // namespace ddptwin::property::pod_gc_properties_test
