// A cluster whose scheduler binds pods that nobody runs: what is bound stays as the test leaves it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

class SchedulerRun {
 public:
  using PodPtr = std::shared_ptr<const Pod>;

  explicit SchedulerRun(std::uint64_t seed);

  World& world() { return world_; }
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  // A user's call, which has to be accepted.
  void call(const api::Request& request);
  // A node without a kubelet.
  void add_node(NodeOptions node);
  // Its object goes at once, whatever its grace.
  void end(const Pod& pod);

  // Of the namespace default.
  std::vector<PodPtr> pods() const;
  PodPtr pod(const std::string& name) const;

 private:
  VirtualLoop loop_;
  World world_;
};

// A pod of the namespace default with one container, which asks for that much and may have no more.
std::shared_ptr<Pod> pod_asking(const std::string& name, ResourceList resources);

}  // namespace ddptwin::property
