// What of a node's kubelet its pods are told of.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ddptwin::kubelet {

struct NodeSettings {
  std::vector<std::string> cluster_dns{};
  std::string cluster_domain = "cluster.local";
  std::string host_resolv_conf{};                     // the node's file as text
  std::string host_hosts = "127.0.0.1\tlocalhost\n";  // its /etc/hosts, for hostNetwork pods
  std::string root_dir = "/var/lib/kubelet";          // beginning of the host paths of mounts
  std::string log_dir = "/var/log/pods";
  // A claim is mounted once it is bound, from where its volume lies; otherwise, as long as nobody
  // binds claims, at once, from a folder of its own name.
  bool binds_claims = false;
  // Folders of the host that stand for claims, by "namespace/name", whatever their volumes say.
  std::map<std::string, std::string, std::less<>> claim_folders{};
  bool gpu_plugin = true;  // grants the node's nvidia.com/gpu, where it has any
};

}  // namespace ddptwin::kubelet
