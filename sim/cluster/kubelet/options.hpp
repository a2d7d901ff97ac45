// What differs between nodes, and the clocks of a kubelet.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/kubelet/node_settings.hpp"
#include "cluster/kubelet/prober.hpp"
#include "core/random.hpp"
#include "core/time.hpp"
#include "objects/cow.hpp"

namespace ddptwin::kubelet {

class ClusterView;

// The values of an unconfigured kubelet v1.36 (spec/kubernetes.md §2.1, §2.4, §2.7, §2.10).
struct KubeletClocks {
  Duration first_look = 50ms;    // from the sight of a pod to its first pass (cgroups, directories)
  Duration relist = 1s;          // a change in the runtime is seen at the next such tick
  Duration status_delay = 10ms;  // changes of a status within it become one write
  Duration status_sync = 10s;    // what others wrote over is put right at the next such tick
  Duration sync_retry = 10s;     // after a failed start that is no back-off
  Duration resync = 60s;         // the longest wait of a back-off without another look
  Duration back_off = 10s;       // CrashLoopBackOff and ImagePullBackOff: the first delay
  Duration back_off_max = 300s;
  Duration mount_retry = 500ms;  // of a volume that is not ready: doubles
  Duration mount_retry_max = 122s;
  Duration mount_timeout = 123s;
  Duration eviction = 10s;       // what pods take of the node is looked at each such tick
  Duration volume_update = 60s;  // a changed ConfigMap or Secret reaches mounted files
  // A retry comes that much later than its delay says: a real kubelet adds up to half by chance.
  double retry_stretch = 1.25;
  double retry_jitter = 0;  // up to this fraction more on each retry, by `random`
};

class HostPaths;

struct KubeletOptions {
  std::string node_name{};
  std::string node_ip{};  // empty: the Node's InternalIP
  Cow<NodeSettings> settings{};
  Cow<KubeletClocks> clocks{};  // of all nodes of a world
  Random random{0};
  // For TCP probes, and for those of HTTP and gRPC; absent: they succeed.
  TcpConnect connect{};
  AskPort ask{};
  // Against which the types of hostPath volumes are checked; null: all are what they are to be.
  std::shared_ptr<HostPaths> host_paths{};
  // What all kubelets of a world read from one cache; null: a cache of its own.
  std::shared_ptr<ClusterView> view{};
};

}  // namespace ddptwin::kubelet
