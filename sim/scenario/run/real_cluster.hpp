// A cluster in real time: processes in sandboxes, a DNS server on the cluster's own network.
#pragma once

#include <memory>

#include "core/real_loop.hpp"
#include "runtime/process/process_runtime.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/run/images.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario {

// Whether this kernel can do to links what faults do.
Status can_cut_links(ProcessRuntime& runtime);

class RealCluster {
 public:
  // Nothing runs before start(). Reason::unsupported_machine where this machine cannot. With
  // `warm_workers` the built-in worker is loaded first, so that its pods start by fork from the
  // first one on. `cuts_links`: this kernel has to be able to.
  static Result<std::unique_ptr<RealCluster>> make(RealLoop& loop, WorldOptions options,
                                                   const std::vector<NamedImage>& images,
                                                   bool warm_workers, bool cuts_links);
  ~RealCluster();

  Status start();
  World& world();
  ProcessRuntime& runtime();
  // What faults may do to its pods. `failed` hears of what the kernel refuses later.
  RuntimePorts fault_ports(std::function<void(const Error&)> failed);

 private:
  struct Parts;
  explicit RealCluster(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace ddptwin::scenario
