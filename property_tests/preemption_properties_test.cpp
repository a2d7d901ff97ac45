// The room that a preemptor's victims leave is the preemptor's (spec/kubernetes.md §3.1, §3.4).
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cluster/scheduler/preemption.hpp"
#include "property.hpp"
#include "scheduler_run.hpp"

namespace ddptwin::property::preemption_properties_test {
namespace {

constexpr const char* gpu = "nvidia.com/gpu";
constexpr std::string_view high = "system-cluster-critical", highest = "system-node-critical";

// One node: who is to end there does so when the test says so.
class Cluster {
 public:
  Cluster(std::uint64_t seed, int gpus) : run_(seed) {
    run_.add_node({.name = "n", .capacity = {{gpu, Quantity::of(gpus)}}});
    run_.world().trace().add_sink([this](const Record& record) { on_record(record); });
    rest();
  }
  void rest(Duration duration = 2s) { run_.rest(duration); }
  // Of a priority class; "": of none, and of the lowest priority.
  void create(const std::string& name, int gpus, std::string priority_class) {
    const auto pod = pod_asking(name, {{gpu, Quantity::of(gpus)}});
    pod->spec.edit().rest.edit().priorityClassName = std::move(priority_class);
    run_.call(api::create(pod));
    rest();
  }
  void end(const std::string& name) {
    run_.end(*find(name));
    rest();
  }
  std::shared_ptr<const Pod> find(const std::string& name) const { return run_.pod(name); }
  bool is_placed(const std::string& name) const { return !find(name)->spec->nodeName.empty(); }
  std::vector<std::string> victims() const {
    std::vector<std::string> names;
    for (const auto& pod : run_.pods())
      if (pod->metadata.deletionTimestamp) names.push_back(pod->metadata.name.str());
    return names;
  }
  // Victims that were asked to end before they were told why.
  const std::vector<std::string>& untold() const { return untold_; }

 private:
  void on_record(const Record& record) {
    const Pod* before = record.before ? as<Pod>(*record.before) : nullptr;
    if (before == nullptr || before->metadata.deletionTimestamp) return;
    if (record.after && !record.after->metadata.deletionTimestamp) return;
    const auto& conditions = *before->status.conditions;
    if (std::none_of(conditions.begin(), conditions.end(), [](const PodCondition& one) {
          return one.type_ == "DisruptionTarget" && one.status == "True" &&
                 one.reason == "PreemptionByScheduler";
        }))
      untold_.push_back(before->metadata.name.str());
  }

  SchedulerRun run_;
  std::vector<std::string> untold_{};
};

TEST(PreemptionProperties, RoomIsKeptForWhomItWasMade) {
  holds(
      [] {
        const int gpus = *gen::inRange(2, 7).as("GPUs");
        const int wanted = *gen::inRange(2, gpus + 1).as("the preemptor wants");
        const int rivals = *gen::inRange(1, 4).as("rivals of its priority");
        Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"), gpus);
        for (int i = 0; i < gpus; ++i) cluster.create("low-" + std::to_string(i), 1, "");
        cluster.create("high", wanted, std::string(high));
        RC_ASSERT(cluster.victims().size() == static_cast<std::size_t>(wanted));
        RC_ASSERT(cluster.find("high")->status.rest->nominatedNodeName == "n");
        for (int i = 0; i < rivals; ++i)
          cluster.create("rival-" + std::to_string(i), 1, std::string(high));
        // Each rival has victims of its own, as far as there are any left.
        RC_ASSERT(cluster.victims().size() ==
                  static_cast<std::size_t>(std::min(gpus, wanted + rivals)));
        int ended = 0, placed = 0;
        for (std::vector<std::string> left = cluster.victims(); !left.empty();
             left = cluster.victims()) {
          const int which = *gen::inRange(0, 100);
          cluster.end(left[static_cast<std::size_t>(which) % left.size()]);
          ++ended;
          placed = 0;
          for (int i = 0; i < rivals; ++i)
            placed += cluster.is_placed("rival-" + std::to_string(i)) ? 1 : 0;
          RC_ASSERT(placed <= std::max(0, ended - wanted));
        }
        RC_ASSERT(cluster.untold().empty());
        // At the latest then: what a rival was promised counts for the preemptor too.
        RC_ASSERT(cluster.is_placed("high"));
        RC_ASSERT(placed == std::min(rivals, gpus - wanted));
      },
      4);
}

// Who is more urgent still takes the room; what is left of it is nobody's.
TEST(PreemptionProperties, APromiseThatCannotBeKeptIsTakenBack) {
  holds(
      [] {
        const int gpus = *gen::inRange(2, 7).as("GPUs");
        const int wanted = *gen::inRange(1, gpus + 1).as("the preemptor wants");
        const int taken =
            *gen::inRange(gpus - wanted + 1, gpus + 1).as("the more urgent one wants");
        Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"), gpus);
        for (int i = 0; i < gpus; ++i) cluster.create("low-" + std::to_string(i), 1, "");
        cluster.create("high", wanted, std::string(high));
        RC_ASSERT(cluster.find("high")->status.rest->nominatedNodeName == "n");
        cluster.create("highest", taken, std::string(highest));
        for (int i = 0; i < gpus; ++i) cluster.end("low-" + std::to_string(i));
        for (int i = taken; i < gpus; ++i) cluster.create("late-" + std::to_string(i), 1, "");
        cluster.rest(5min);
        RC_ASSERT(cluster.is_placed("highest"));
        RC_ASSERT(!cluster.is_placed("high"));
        RC_ASSERT(cluster.find("high")->status.rest->nominatedNodeName.empty());
        for (int i = taken; i < gpus; ++i)
          RC_ASSERT(cluster.is_placed("late-" + std::to_string(i)));
      },
      4);
}

// Somebody else's pod that ends on the node it was promised is no reason to wait: another took the
// room that its own victims left, so it looks for new ones (kubernetes#104266).
TEST(PreemptionProperties, OnlyItsOwnVictimsKeepAPreemptorWaiting) {
  holds(
      [] {
        const int gpus = *gen::inRange(3, 7).as("GPUs");
        const int wanted = *gen::inRange(1, gpus - 1).as("the preemptor wants");
        SchedulerRun run(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        const std::vector<std::string> nodes{"n", "m"};
        for (const std::string& node : nodes)
          run.add_node({.name = node, .capacity = {{gpu, Quantity::of(gpus)}}});
        run.rest(2s);
        const auto create = [&](const std::string& name, int count, std::string_view priority,
                                const std::string& node = {}) {
          const auto pod = pod_asking(name, {{gpu, Quantity::of(count)}});
          pod->spec.edit().rest.edit().priorityClassName = std::string(priority);
          pod->spec.edit().nodeName = node;
          run.call(api::create(pod));
          run.rest(2s);
        };
        for (int i = 0; i < 2 * gpus; ++i) create("low-" + std::to_string(i), 1, "");
        create("high", wanted, high);
        const std::string promised = run.pod("high")->status.rest->nominatedNodeName.str();
        RC_ASSERT(!promised.empty());
        const auto ending = [&] {
          std::vector<std::shared_ptr<const Pod>> found;
          for (const auto& pod : run.pods())
            if (pod->metadata.deletionTimestamp) found.push_back(pod);
          return found;
        };
        const auto victims = ending();
        RC_ASSERT(victims.size() == static_cast<std::size_t>(wanted));
        create("intruder", wanted, highest, promised);
        // One that is not a victim is deleted, and takes its time.
        for (const auto& pod : run.pods()) {
          if (pod->spec->nodeName != promised || pod->metadata.deletionTimestamp ||
              !pod->metadata.name.starts_with("low-"))
            continue;
          run.call(api::remove(*pod));
          break;
        }
        for (const auto& pod : victims) run.end(*pod);
        run.rest(5min);
        std::size_t pushed_aside = 0;
        for (const auto& pod : ending())
          if (pod->status.condition("DisruptionTarget") != nullptr) ++pushed_aside;
        RC_ASSERT(pushed_aside > 0U);
      },
      4);
}

// --- a promise that comes to nothing before it is kept

struct Deed {
  const char* text;
  // Whether nobody's end could help whom it was promised, by what that one tolerates and selects.
  bool (*loses)(bool tolerates, bool selects);
  void (*change)(Node& node, int wanted);  // null: the node goes
  bool of_status = false;
};

void put_taint(Node& node, const char* effect) {
  node.spec.taints.push_back({"ddptwin.test/t", "yes", effect, std::nullopt});
}

const std::vector<Deed> deeds{
    {"goes", [](bool, bool) { return true; }, nullptr},
    {"is cordoned", [](bool, bool) { return true; },
     [](Node& node, int) { node.spec.unschedulable = true; }},
    {"is tainted NoSchedule", [](bool tolerates, bool) { return !tolerates; },
     [](Node& node, int) { put_taint(node, "NoSchedule"); }},
    {"is tainted NoExecute", [](bool tolerates, bool) { return !tolerates; },
     [](Node& node, int) { put_taint(node, "NoExecute"); }},
    {"is tainted PreferNoSchedule", [](bool, bool) { return false; },
     [](Node& node, int) { put_taint(node, "PreferNoSchedule"); }},
    {"is of another zone", [](bool, bool selects) { return selects; },
     [](Node& node, int) {
       node.metadata.labels = StringMap{{"zone", "b"}};
     }},
    {"has another label", [](bool, bool) { return false; },
     [](Node& node, int) {
       node.metadata.labels = StringMap{{"zone", "a"}, {"other", "b"}};
     }},
    {"has less than it wants", [](bool, bool) { return true; },
     [](Node& node, int wanted) { node.status.allocatable.edit()[gpu] = Quantity::of(wanted - 1); },
     true},
};

// Whom nobody's end there can help any more looks for other victims, though its own still end; all
// others wait for them (kubernetes#92600, upstream PodEligibleToPreemptOthers).
TEST(PreemptionProperties, WhoHasLostItsPromisedNodeLooksElsewhere) {
  holds(
      [] {
        const auto any = [](int begin, int end) {
          return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
        };
        const int gpus = *any(2, 5).as("GPUs"), count = *any(2, 4).as("nodes");
        const int wanted = *any(1, gpus + 1).as("the preemptor wants");
        const bool tolerates = *gen::arbitrary<bool>().as("it tolerates the taint");
        const bool selects = *gen::arbitrary<bool>().as("it selects the zone");
        const Deed& deed =
            deeds[static_cast<std::size_t>(*any(0, static_cast<int>(deeds.size())).as("deed"))];
        const bool of_promised =
            *gen::weightedElement<bool>({{3, true}, {1, false}}).as("of the promised node");
        // A pod that the taint evicts is nobody's victim any more, and nobody knows what waits.
        const bool evicts = std::string_view(deed.text) == "is tainted NoExecute";
        RC_PRE(!evicts || !tolerates);
        SchedulerRun run(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        std::vector<std::string> nodes;
        for (int i = 0; i < count; ++i) {
          nodes.push_back("n" + std::to_string(i));
          run.add_node({.name = nodes.back(),
                        .capacity = {{gpu, Quantity::of(gpus)}},
                        .labels = {{"zone", "a"}}});
        }
        run.rest(2s);
        for (int i = 0; i < count * gpus; ++i) {
          run.call(api::create(pod_asking("low-" + std::to_string(i), {{gpu, Quantity::of(1)}})));
          run.rest(1s);
        }
        const auto preemptor = pod_asking("high", {{gpu, Quantity::of(wanted)}});
        PodSpec& spec = preemptor->spec.edit();
        spec.rest.edit().priorityClassName = std::string(high);
        if (tolerates) spec.tolerations = {{"ddptwin.test/t", "Exists", {}, {}, std::nullopt}};
        if (selects) spec.nodeSelector = {{"zone", "a"}};
        run.call(api::create(preemptor));
        run.rest(2s);
        const std::string promised = run.pod("high")->status.rest->nominatedNodeName.str();
        RC_ASSERT(!promised.empty());
        const auto victims_on = [&run](bool there, const std::string& node) {
          std::vector<std::shared_ptr<const Pod>> found;
          for (const auto& pod : run.pods()) {
            const auto* why = pod->status.condition("DisruptionTarget");
            if (pod->metadata.deletionTimestamp && why != nullptr &&
                why->reason == "PreemptionByScheduler" && (pod->spec->nodeName == node) == there)
              found.push_back(pod);
          }
          return found;
        };
        const auto victims = victims_on(true, promised);
        RC_ASSERT(std::ssize(victims) == wanted);
        for (int ended = *any(0, wanted).as("that have ended"); ended > 0; --ended)
          run.end(*victims[static_cast<std::size_t>(ended) - 1]);
        const std::string changed = of_promised ? promised : nodes[nodes[0] == promised ? 1U : 0U];
        RC_LOG() << changed << " " << deed.text << "\n";
        const auto node =
            std::static_pointer_cast<Node>(run.world().find(Node::info(), {}, changed)->clone());
        if (deed.change == nullptr) {
          run.call(api::remove(*node));
        } else {
          deed.change(*node, wanted);
          run.call(api::update(node, deed.of_status ? "status" : ""));
        }
        // Nothing of it wakes whom the resources alone had refused: it is tried after five minutes.
        run.rest(6min);
        const std::string now = run.pod("high")->status.rest->nominatedNodeName.str();
        RC_LOG() << "promised " << promised << ", now " << now << "\n";
        const bool lost = of_promised && deed.loses(tolerates, selects);
        RC_ASSERT((now != promised) == lost);
        RC_ASSERT(!now.empty());
        const auto others = victims_on(false, promised);
        RC_ASSERT(std::ssize(others) == (lost ? wanted : 0));
        for (const auto& pod : others) RC_ASSERT(pod->spec->nodeName == now);
      },
      1);
}

// --- those who come at once

struct Arrival {
  int gpus = 1;
  std::string priority_class{};
  int ms = 0;  // until the next
};

void showValue(const Arrival& one, std::ostream& out) {
  out << one.gpus << " GPUs " << one.priority_class << ", then " << one.ms << " ms";
}

// Who is where, who is promised what and who has to go.
std::map<std::string, std::string> outcome_of(const SchedulerRun& run) {
  std::map<std::string, std::string> found;
  for (const auto& pod : run.pods())
    found[pod->metadata.name.str()] = (pod->metadata.deletionTimestamp ? "ends on " : "is on ") +
                                      pod->spec->nodeName + ", promised " +
                                      pod->status.rest->nominatedNodeName.str();
  return found;
}

// What the scheduler has decided it knows at once, and not when the server has told it again
// (kubernetes#72124): those who come one right after the other, the most urgent first, get what
// they would have got with time between them.
TEST(PreemptionProperties, HowFastTheyComeOneAfterTheOtherChangesNothing) {
  holds(
      [] {
        const auto any = [](int begin, int end) {
          return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
        };
        const int gpus = *any(2, 7).as("GPUs"), count = *any(1, 3).as("nodes");
        const int low = *any(0, count * gpus + 1).as("low ones, of 1 GPU");
        const std::vector<std::string> classes{std::string(highest), std::string(high), ""};
        const auto arrival =
            gen::build<Arrival>(gen::set(&Arrival::gpus, any(1, gpus + 1)),
                                gen::set(&Arrival::priority_class, gen::elementOf(classes)),
                                gen::set(&Arrival::ms, gen::element(0, 0, 0, 1, 20)));
        auto arrivals = *gen::resize(6, gen::vector_of(arrival));
        const auto rank = [&classes](const Arrival& one) {
          return std::find(classes.begin(), classes.end(), one.priority_class);
        };
        std::stable_sort(arrivals.begin(), arrivals.end(),
                         [&rank](const Arrival& a, const Arrival& b) { return rank(a) < rank(b); });
        RC_LOG() << rc::toString(arrivals) << "\n";
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        SchedulerRun slow(seed), fast(seed);
        for (SchedulerRun* run : {&slow, &fast}) {
          for (int i = 0; i < count; ++i)
            run->add_node(
                {.name = "n" + std::to_string(i), .capacity = {{gpu, Quantity::of(gpus)}}});
          run->rest(2s);
          const auto create = [run](const std::string& name, int wants, const std::string& of) {
            const auto pod = pod_asking(name, {{gpu, Quantity::of(wants)}});
            pod->spec.edit().rest.edit().priorityClassName = of;
            run->call(api::create(pod));
          };
          for (int i = 0; i < low; ++i) {
            create("low-" + std::to_string(i), 1, "");
            run->rest(1s);
          }
          for (std::size_t i = 0; i < arrivals.size(); ++i) {
            create("p" + std::to_string(i), arrivals[i].gpus, arrivals[i].priority_class);
            // Any rest lets all happen that takes no time.
            const bool at_once = run == &fast && arrivals[i].ms == 0;
            if (!at_once) run->rest(run == &slow ? 2s : std::chrono::milliseconds(arrivals[i].ms));
          }
          run->rest(2s);
        }
        RC_ASSERT(outcome_of(fast) == outcome_of(slow));
      },
      1);
}

// --- whom a preemptor pushes aside: the least important of each node, and the node that loses
// least

constexpr int preemptor_priority = 10;

struct Held {
  std::string name{};
  std::int64_t priority = 0;
  int gpus = 1;
  int started = 0;  // seconds; later than all others: it has not
};
using Pods = std::vector<Held>;
constexpr int not_started = 1'000;

void showValue(const Held& pod, std::ostream& out) {
  out << pod.name << " priority " << pod.priority << " gpus " << pod.gpus << " started "
      << pod.started;
}

int any_start() { return *gen::element(1, 2, 3, not_started); }

// Few priorities and times, so that many nodes differ in one thing alone.
Held any_held() {
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min();
  return {.priority = *gen::element(lowest, -7, -7, -7, -7, 0, 0, 0, preemptor_priority, 20),
          .gpus = *gen::element(1, 1, 2),
          .started = any_start()};
}

// What one node holds: now and then as the one before, but for the times.
Pods any_pods(const Pods& before) {
  Pods pods = before;
  if (before.empty() || *gen::element(true, true, false))
    pods = *gen::container<Pods>(4, gen::exec(any_held));
  for (Held& pod : pods) pod.started = any_start();
  return pods;
}

// Empty: nothing would help. All below go; the most important of them come back as long as there
// is room, of equals those who started first.
Pods victims_of(const Pods& pods, int has, int wanted) {
  Pods lower, victims;
  int room = has - wanted;
  for (const Held& pod : pods)
    if (pod.priority < preemptor_priority)
      lower.push_back(pod);
    else
      room -= pod.gpus;
  if (room < 0) return {};
  std::sort(lower.begin(), lower.end(), [](const Held& a, const Held& b) {
    return a.priority != b.priority ? a.priority > b.priority
           : a.started != b.started ? a.started < b.started
                                    : a.name < b.name;
  });
  for (const Held& pod : lower)
    if (pod.gpus <= room)
      room -= pod.gpus;
    else
      victims.push_back(pod);
  return victims;
}

// Each counts as what it lies above the lowest priority there is, so that one more victim is never
// less, however low it is.
std::int64_t sum_of(const Pods& victims) {
  std::int64_t sum = 0;
  for (const Held& pod : victims) sum += pod.priority + 2'147'483'648;
  return sum;
}
std::int64_t first_start(const Pods& victims) {
  std::int64_t first = not_started;
  for (const Held& pod : victims)
    if (pod.priority == victims.front().priority)
      first = std::min<std::int64_t>(first, pod.started);
  return first;
}

// Of some nodes by name those of which this is least.
using Candidates = std::map<std::string, Pods>;
Candidates least(const Candidates& nodes, const std::function<std::int64_t(const Pods&)>& loss) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, victims] : nodes) smallest = std::min(smallest, loss(victims));
  Candidates left;
  for (const auto& [name, victims] : nodes)
    if (loss(victims) == smallest) left[name] = victims;
  return left;
}

std::shared_ptr<Pod> with_priority(std::shared_ptr<Pod> pod, std::int64_t priority) {
  pod->spec.edit().priority = static_cast<std::int32_t>(priority);
  return pod;
}

TEST(PreemptionProperties, TheNodeIsTakenThatLosesLeast) {
  holds([] {
    const int has = *gen::inRange(2, 4).as("GPUs");
    const int wanted = *gen::element(1, has, has, has).as("the preemptor wants");
    scheduler::ClusterView view;
    Candidates candidates;
    bool fits = false;
    Pods drawn;
    for (const std::string name : {"n0", "n1", "n2", "n3"}) {
      const auto node = std::make_shared<Node>();
      node->metadata.name = name;
      node->status.allocatable = {{"pods", Quantity::of(110)}, {gpu, Quantity::of(has)}};
      view.put_node(node);
      Pods pods;
      int room = has;
      drawn = *gen::resize(rc::kNominalSize, gen::exec([&] { return any_pods(drawn); })).as(name);
      for (Held pod : drawn) {
        if (pod.gpus > room) continue;
        room -= pod.gpus;
        pod.name = name + "-" + std::to_string(pods.size());
        pods.push_back(pod);
        const auto object =
            with_priority(pod_asking(pod.name, {{gpu, Quantity::of(pod.gpus)}}), pod.priority);
        object->spec.edit().nodeName = name;
        if (pod.started != not_started)
          object->status.rest.edit().startTime = Time(std::chrono::seconds(pod.started));
        view.put_pod(object);
      }
      fits = fits || wanted <= room;
      if (Pods victims = victims_of(pods, has, wanted); !victims.empty())
        candidates[name] = std::move(victims);
    }
    const scheduler::PodInfo preemptor(
        with_priority(pod_asking("preemptor", {{gpu, Quantity::of(wanted)}}), preemptor_priority));
    const auto decision = scheduler::decide(preemptor, view);
    RC_ASSERT(decision.node.empty() == !fits);
    RC_PRE(!fits);
    for (const auto& loss : std::vector<std::function<std::int64_t(const Pods&)>>{
             [](const Pods& victims) { return victims.front().priority; }, sum_of,
             [](const Pods& victims) { return std::ssize(victims); },
             [](const Pods& victims) { return -first_start(victims); }})
      candidates = least(candidates, loss);
    const auto answer = scheduler::preempt(preemptor, decision.refusals, view);
    RC_ASSERT(answer.node.empty() == candidates.empty());
    if (candidates.empty()) return;
    RC_ASSERT(candidates.contains(answer.node));
    std::vector<std::string> wanted_victims, victims;
    for (const Held& pod : candidates[answer.node]) wanted_victims.push_back(pod.name);
    for (const auto& pod : answer.victims) victims.push_back(pod->metadata.name.str());
    RC_ASSERT(victims == wanted_victims);
  });
}

}  // namespace
}  // namespace ddptwin::property::preemption_properties_test
