// The room that a preemptor's victims leave is the preemptor's (spec/kubernetes.md §3.1, §3.4).
#include <algorithm>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "property.hpp"
#include "scenario/world.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;

constexpr std::string_view user = "user", gpu = "nvidia.com/gpu";
constexpr std::string_view high = "system-cluster-critical", highest = "system-node-critical";

// A scheduler and one node without a kubelet: who is to end does so when the test says so.
class Cluster {
 public:
  Cluster(std::uint64_t seed, int gpus)
      : loop_(Random(seed).split("loop"), virtual_start), world_(loop_, options(seed), nullptr) {
    DDPTWIN_ASSERT(world_.start().has_value());
    NodeOptions node{.name = "n", .kubelet = false};
    node.capacity[std::string(gpu)] = Quantity::of(gpus);
    DDPTWIN_ASSERT(world_.add_node(node).has_value());
    rest();
  }
  void rest(Duration duration = 2s) { loop_.run_until(loop_.now() + duration); }
  // Of a priority class; "": of none, and of the lowest priority.
  void create(const std::string& name, int gpus, std::string priority_class) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_ = "default";
    PodSpec& spec = pod->spec.edit();
    spec.priorityClassName = std::move(priority_class);
    Container container;
    container.name = "c";
    container.image = "busybox";
    container.resources.limits.edit()[std::string(gpu)] = Quantity::of(gpus);
    spec.containers.edit().push_back(std::move(container));
    RC_ASSERT(world_.call(api::create(pod), user).has_value());
    rest();
  }
  void end(const std::string& name) {
    api::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    RC_ASSERT(world_.call(api::remove(*find(name), at_once), user).has_value());
    rest();
  }
  std::shared_ptr<const Pod> find(const std::string& name) const {
    return as<Pod>(world_.find(Pod::info(), "default", name));
  }
  bool is_placed(const std::string& name) const { return !find(name)->spec->nodeName.empty(); }
  std::vector<std::string> victims() const {
    std::vector<std::string> names;
    for (const ObjectPtr& pod : world_.objects(Pod::info(), "default"))
      if (pod->metadata.deletionTimestamp) names.push_back(pod->metadata.name);
    return names;
  }

 private:
  static WorldOptions options(std::uint64_t seed) {
    WorldOptions options;
    options.seed = seed;
    options.scheduler = true;
    return options;
  }

  VirtualLoop loop_;
  World world_;
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
        RC_ASSERT(cluster.find("high")->status.nominatedNodeName == "n");
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
        RC_ASSERT(cluster.find("high")->status.nominatedNodeName == "n");
        cluster.create("highest", taken, std::string(highest));
        for (int i = 0; i < gpus; ++i) cluster.end("low-" + std::to_string(i));
        for (int i = taken; i < gpus; ++i) cluster.create("late-" + std::to_string(i), 1, "");
        cluster.rest(5min);
        RC_ASSERT(cluster.is_placed("highest"));
        RC_ASSERT(!cluster.is_placed("high"));
        RC_ASSERT(cluster.find("high")->status.nominatedNodeName.empty());
        for (int i = taken; i < gpus; ++i)
          RC_ASSERT(cluster.is_placed("late-" + std::to_string(i)));
      },
      4);
}

}  // namespace
}  // namespace ddptwin::property
