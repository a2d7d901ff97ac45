// Everything that the kubelet's pure functions know of one pod when they work out what to ask of
// the runtime (spec/kubernetes.md §2.9 to §2.11).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/kubelet/devices.hpp"
#include "cluster/kubelet/node_settings.hpp"
#include "core/result.hpp"
#include "objects/core_v1.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::kubelet {

// What lies at a hostPath volume's path on the node.
enum class PathKind : std::uint8_t {
  absent,
  directory,
  file,
  socket,
  char_device,
  block_device,
  unseen,  // below what pods write: whatever is wanted may be there
};

// Names and values of variables.
using EnvValues = std::vector<std::pair<std::string, std::string>>;

// A Service, and the variables of which it tells pods (env.hpp): made when a configuration first
// shows them, which not every runtime asks for. All copies share them.
struct LinkedService {
  std::shared_ptr<const Service> service{};
  std::shared_ptr<std::optional<EnvValues>> variables{};
};

struct PodContext {
  std::shared_ptr<const Pod> pod{};
  std::shared_ptr<const Node> node{};  // its capacity and allocatable
  std::string node_ip{};
  Cow<std::vector<std::string>> pod_ips{};  // empty before the sandbox is there
  // Of the pod's namespace, and default/kubernetes. Others are left out of account.
  Cow<std::vector<LinkedService>> services{};
  // In the pod's namespace; null: there is none.
  std::function<std::shared_ptr<const ConfigMap>(std::string_view name)> find_config_map{};
  std::function<std::shared_ptr<const Secret>(std::string_view name)> find_secret{};
  // Absent: there are no claims.
  std::function<ClaimPtr(std::string_view name)> find_claim{};
  std::function<VolumePtr(std::string_view name)> find_volume{};

  Cow<NodeSettings> settings{};
  const Devices* devices = nullptr;  // null: no plugin announces any
  Time config_seen{};                // when the kubelet first saw this version of the pod

  // Absent: every hostPath is what its volume says it should be.
  std::function<PathKind(const std::string& path)> path_kind{};
  // A volume of the path has passed, and what is mounted is of that kind. Absent: nobody asks.
  std::function<void(const std::string& path, PathKind kind)> path_passed{};
  // The token of a serviceAccountToken projection. Absent: an empty file.
  std::function<std::string(std::string_view audience, std::int64_t expiration_seconds)>
      service_account_token{};
};

// Makes the context of a pod as things are at that moment. What few need is made where it is
// needed.
using MakePodContext = std::function<PodContext()>;

// An Event that the kubelet records about the pod beside its result. A Warning all of them.
struct Notice {
  std::string reason{};
  std::string message{};
};
using Notices = std::vector<Notice>;

// "name_namespace(uid)", as kubelet messages call a pod (upstream's format.Pod).
std::string pod_label(const Pod& pod);

}  // namespace ddptwin::kubelet
