#include "scenario/cluster_options.hpp"

#include "controller/pytorchjob/profile.hpp"

namespace ddptwin::scenario {

WorldOptions cluster_options(const Scenario& scenario, std::uint64_t seed) {
  WorldOptions world;
  world.seed = seed;
  world.scheduler = true;
  world.training_operator = *controller::pytorchjob::find_profile(scenario.training_operator);
  world.flags = scenario.flags;
  world.nodes = scenario.nodes;
  world.dns.host.servers = {"192.168.255.254"};  // of the nodes' network
  // A kubelet looks at its runtime once a second; this one hears of every change from the runtime
  // itself, so that a run in real time takes no longer than its programs.
  world.kubelet.clocks.edit().first_look = Duration::zero();
  world.kubelet.clocks.edit().relist = std::chrono::milliseconds(1);
  world.kubelet.clocks.edit().status_delay = std::chrono::milliseconds(1);
  return world;
}

}  // namespace ddptwin::scenario
