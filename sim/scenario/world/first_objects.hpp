// What stands in a world before anybody has applied anything.
#pragma once

#include <memory>
#include <string>

#include "core/time.hpp"
#include "objects/volumes.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin {

// As its kubelet registers it, with the capacity of the recordings' nodes where the options name
// none.
std::shared_ptr<Node> node_object(const NodeOptions& options, Time now);
// Its kubelet posts that all is well: what was otherwise changes now. Whether anything was.
bool make_healthy(Node& node, Time now);
// As a kubelet posts it that is told of a shutdown: Ready is False. False: it was so.
bool make_stopping(Node& node, Time now);
// resolv.conf of a node, which the kubelet hands to pods.
std::string resolv_conf(const DnsConfig& dns);
// The Service of the API server itself, which every pod's environment names.
std::shared_ptr<Service> api_service();
// The Service of the cluster's DNS, kube-system/kube-dns. Nothing stands behind it but the twin's
// own server, so it selects no pods.
std::shared_ptr<Service> dns_service(const std::string& address);
// The default StorageClass.
std::shared_ptr<StorageClass> standard_class();

}  // namespace ddptwin
