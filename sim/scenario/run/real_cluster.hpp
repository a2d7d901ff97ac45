// A cluster in real time: processes in sandboxes, a DNS server on the cluster's own network.
#pragma once

#include <memory>

#include "core/real_loop.hpp"
#include "runtime/process/process_runtime.hpp"
#include "scenario/run/images.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario {

class RealCluster {
 public:
  // Nothing runs before start(). Reason::unsupported_machine where this machine cannot. With
  // `warm_workers` the built-in worker is loaded first, so that its pods start by fork from the
  // first one on.
  static Result<std::unique_ptr<RealCluster>> make(RealLoop& loop, WorldOptions options,
                                                   const std::vector<NamedImage>& images,
                                                   bool warm_workers);
  ~RealCluster();

  Status start();
  World& world();
  ProcessRuntime& runtime();

 private:
  struct Parts;
  explicit RealCluster(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace ddptwin::scenario
