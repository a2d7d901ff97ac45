// Everything of one cluster, owned and wired in one place: the only one that names concrete
// classes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/faulty_client.hpp"
#include "cluster/kubelet/options.hpp"
#include "core/random.hpp"
#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "runtime/runtime.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/world/manager_version.hpp"

namespace ddptwin {

class Store;
namespace controller::pod_autoscaler {
class MetricsApi;
}
namespace dns {
class Resolver;
}

struct NodeOptions {
  std::string name{};
  std::string address{"192.168.0.1"};  // hostIP of its pods
  // Capacity and allocatable alike; what is absent comes from the default node of the recordings:
  // 32 cpu, 256Gi, 110 pods, 8 nvidia.com/gpu, 1Ti ephemeral-storage.
  ResourceList capacity{};
  StringMap labels{};
  std::vector<Taint> taints{};
  bool unschedulable = false;
  bool kubelet =
      true;  // whether the twin's kubelet runs its pods; otherwise somebody else plays them
  // The control plane has known it long before: no event tells of its registration.
  bool is_known = true;
};

struct ClusterDns {
  std::string address = "10.0.0.10";
  std::string domain = "cluster.local";
  // What names outside the cluster are: NAME to addresses. All others do not exist.
  std::map<std::string, std::vector<std::string>, std::less<>> outside_names{};
  // The resolv.conf of the nodes, which pods inherit.
  DnsConfig host{};
};

// Flags of kube-controller-manager and, but for the last, of the training operator (upstream's from
// v1.9.1 on, here of each version), with the values they have where nobody sets them. A cluster of
// thousands of pods needs others: with these an operator makes ten pods a second, and once 12,500
// have finished before their jobs were looked at again, the pod garbage collector deletes what the
// operator then makes anew, for ever.
struct ControlPlaneFlags {
  // Of the controllers of endpoints and of the operator, each with a client of its own. Below 0:
  // not limited, as client-go has it.
  int kube_api_qps = 20;
  int kube_api_burst = 30;
  std::size_t terminated_pod_gc_threshold = 12'500;  // 0: none are deleted
  const ManagerVersion* manager = &default_manager_version();
  // Of switchable_controllers(): those that kube-controller-manager does not run.
  std::set<std::string, std::less<>> without{};
};

// The controllers of kube-controller-manager that ControlPlaneFlags may leave out, as its flag
// --controllers calls them. Without persistentvolume-binder-controller claims are bound by nobody:
// there is no default class either.
std::vector<std::string_view> switchable_controllers();
inline constexpr std::string_view volume_binder_flag = "persistentvolume-binder-controller";
inline constexpr std::string_view node_lifecycle_flag = "node-lifecycle-controller";
inline constexpr std::string_view autoscaler_flag = "horizontal-pod-autoscaler-controller";
inline constexpr std::string_view taint_eviction_flag = "taint-eviction-controller";

// The StorageClass of a cluster whose manifests bring no default class.
inline constexpr std::string_view default_class_name = "standard";
inline constexpr std::string_view default_class_provisioner = "ddptwin/folder";

// Where a plan of faults may act in a world (faults/injector.hpp), beside the processes that World
// itself ends and begins.
class WorldFaults : public api::FaultPort {
 public:
  // Stands between the kubelets and their runtime; both outlive the world.
  virtual PodRuntime& wrap(PodRuntime& runtime) = 0;
};

struct WorldOptions {
  std::uint64_t seed = 1;
  bool scheduler = false;
  bool controller_manager = true;  // garbage collector, namespaces, pod garbage, taints, endpoints
  // ServiceAccount and RuntimeClass admission, which recordings of a bare control plane lack.
  bool pod_references = true;
  // Kinds of which there may be objects. Those that not every world has (StatefulSet, ...) are
  // served only where they are named here: nobody lists and watches in vain.
  std::vector<const KindInfo*> kinds{};
  // Where claims are bound: make the default StorageClass, since nobody else brings one.
  bool default_class = true;
  ControlPlaneFlags flags{};
  std::vector<InstalledSystem> systems{};  // installed in their order
  std::vector<NodeOptions> nodes{};
  ClusterDns dns{};
  // Of every kubelet; names, addresses and chance are filled in for each.
  kubelet::KubeletOptions kubelet{};
  // Asked at every port of every component; outlives the world. Null: nothing stands between a
  // component and what it talks to.
  WorldFaults* faults = nullptr;
};

// A world is driven by its loop: start() begins, nothing runs inside a call. `runtime` may be null
// where no node has a kubelet, and must outlive the world.
class World {
 public:
  World(Loop& loop, WorldOptions options, PodRuntime* runtime);
  ~World();

  // The error of a node that the API refuses.
  Status start();
  // What the manifests of its systems install beside them, which start() does too: for who asks the
  // API and starts nothing.
  Status create_provided();

  Loop& loop();
  Trace& trace();
  Store& store();
  const Store& store() const;
  dns::Resolver& resolver();  // the cluster's DNS, to be asked directly or served
  // What the nodes' own resolv.conf leads to: it knows no name, the cluster's least of all.
  dns::Resolver& node_resolver();
  // What its metrics APIs answer: nothing, until something is measured.
  controller::pod_autoscaler::MetricsApi& metrics();
  const KindRegistry& kinds() const;
  const WorldOptions& options() const;
  // A client of one's own for a new actor (a literal). It must end before the world.
  std::unique_ptr<api::ApiClient> client(const char* actor);

  // The user's own calls, done at once.
  Result<api::Response> call(const api::Request& request, std::string_view actor);
  ObjectPtr find(const KindInfo& kind, std::string_view namespace_, std::string_view name) const;
  // In the order of their keys; an empty namespace means all.
  std::vector<ObjectPtr> objects(const KindInfo& kind, std::string_view namespace_) const;

  Status add_namespace(const std::string& name);
  // A Node, Ready, and its kubelet where it has one. Before or after start().
  Status add_node(const NodeOptions& node);
  // The kubelets' processes are replaced; containers live on.
  void restart_kubelets();

  // The processes of the control plane and of the nodes, to be ended and begun. A `process` is a
  // controller ("pytorchjob-controller") or all of one actor ("training-operator"). False: there is
  // none of that name.
  std::vector<std::string> controllers() const;
  // What the memory of each process says something of, by key or uid (ControllerHost::remembered()
  // and its like): for who checks that at rest nobody remembers what is gone.
  struct Remembered {
    std::string process{};  // "training-operator"
    std::string part{};     // a controller of it, or the node of a kubelet
    std::string key{};
    bool is_gone = false;  // nothing in the cluster is called so
    bool operator==(const Remembered&) const = default;
  };
  std::vector<Remembered> remembered() const;
  // Everyone who has a client of this world, where faults may act in it.
  const std::vector<api::Caller>& callers() const;
  // Ends now, perhaps between two writes, and stays away until started. kube-controller-manager as
  // a whole takes its garbage collectors, namespace and taint eviction controllers with it; one of
  // its controllers alone leaves the informers that they share to the others.
  bool crash_controller(std::string_view process);
  bool start_controller(std::string_view process);
  // A second process of the same controller beside the first, as with two leaders (of
  // kube-controller-manager its endpoint controllers); crashed by
  // end_second_controller(), which takes what this returns. 0: there is none of that name.
  int begin_second_controller(std::string_view process);
  void end_second_controller(int second);
  // Not to be called by what the scheduler itself calls.
  void stop_scheduler();
  void start_scheduler();
  // Nothing is heard of the node's kubelet any more: the node lifecycle controller will say so.
  void silence_node(const std::string& node);
  // It is heard of again, and posts what it has to say: the Node's conditions, or a new Node where
  // it is gone. The error of a node that the API refuses.
  Status hear_node(const std::string& node);
  bool shut_down_kubelet(std::string_view node, std::int64_t grace);  // Kubelet::shut_down
  bool stop_kubelet(std::string_view node);                           // containers go on
  bool start_kubelet(std::string_view node);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ddptwin
