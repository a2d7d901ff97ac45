// What is wrong with the pods' network, said to the kernel's nf_tables by netlink: cuts on the
// bridge that all pods hang on, refusals in the refusing pod's own namespace. Everything of it ends
// with the namespaces. Sources: the kernel's include/uapi/linux/netfilter/nf_tables.h, measured in
// spec/ddp-semantics.md §3.5 and §6.4.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/process/protocol.hpp"
#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

class Firewall {
 public:
  using Link = SetLinks::Link;
  // The network namespace of a pod or node by its address; -1: nobody has it.
  using NetworkAt = std::function<int(const std::string& address)>;

  // In the network namespace of the bridge, whose address it is.
  Status set_up(const std::string& gateway);
  // In the place of what was set before. The bridge's own address is never cut off: it is the
  // nodes' kubelets, which reach their own pods whatever is wrong between them and others.
  Status set(std::vector<Link> links, const NetworkAt& network_at);
  // A pod that has come now: what is wrong with its address is so for it too.
  Status joins(const std::string& address, int network) const;

 private:
  Status refuse_in(const std::string& address, int network) const;

  Fd own_namespace_;
  std::string gateway_;
  std::vector<Link> links_;
  bool cuts_ = false;               // something is installed on the bridge
  std::set<std::string> refusing_;  // addresses of those whose namespaces have a table
};

}  // namespace ddptwin::sandbox
