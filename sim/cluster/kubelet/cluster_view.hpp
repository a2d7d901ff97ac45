// What the kubelets of a world read besides their own pods, from one cache for all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/informer.hpp"
#include "cluster/kubelet/pod_context.hpp"
#include "cluster/kubelet/spec_facts.hpp"
#include "core/text_table.hpp"
#include "objects/core_v1.hpp"
#include "objects/interner.hpp"
#include "objects/volumes.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// Nodes, Services, ConfigMaps and Secrets, claims where there are volumes for them; and the events
// of a runtime that is shared, brought to the kubelet whose pod they are about.
class ClusterView {
 public:
  ClusterView(Loop& loop, api::ApiClient& client, PodRuntime& runtime);

  void start();  // later calls do nothing

  std::shared_ptr<const Node> node(std::string_view name) const;
  std::shared_ptr<const ConfigMap> config_map(std::string_view namespace_,
                                              std::string_view name) const;
  std::shared_ptr<const Secret> secret(std::string_view namespace_, std::string_view name) const;
  bool has_claims() const { return claims_ != nullptr; }
  // Preconditions: has_claims().
  ClaimPtr claim(std::string_view namespace_, std::string_view name) const;
  VolumePtr volume(std::string_view name) const;
  // Those with an address, which are what a pod's environment tells of: of that namespace, and
  // default/kubernetes.
  Cow<std::vector<LinkedService>> services(std::string_view namespace_);

  // Whether the first lists are all in.
  bool synced() const;
  // Called when a ConfigMap, Secret, claim or volume comes, changes or goes, until the returned
  // token ends.
  using Listener = std::function<void(const Object&)>;
  std::shared_ptr<void> listen(Listener listener);

  using EventSink = std::function<void(const RuntimeEvent&)>;
  void route(const SharedText& pod_uid, EventSink sink);
  void unroute(const SharedText& pod_uid) { sinks_.erase(pod_uid); }

  // Pods that start together have the same conditions, whatever their nodes.
  Interner<std::vector<PodCondition>>& conditions() { return conditions_; }
  // So do their specifications say mostly the same.
  KnownFacts& facts() { return facts_; }

 private:
  void tell(const Object& object);
  void on_service(const ObjectPtr& before, const ObjectPtr& after);
  std::unique_ptr<api::Informer> watch(std::string_view kind);

  Loop& loop_;
  api::ApiClient& client_;
  std::unique_ptr<api::Informer> nodes_, services_, config_maps_, secrets_;
  std::unique_ptr<api::Informer> claims_, volumes_;           // null: there are no volumes
  using Services = std::map<std::string, LinkedService>;      // by name
  std::map<std::string, Services, std::less<>> addressed_{};  // by namespace
  // What services() has said since one last changed, by namespace.
  std::map<std::string, Cow<std::vector<LinkedService>>, std::less<>> told_services_{};
  std::map<std::uint64_t, Listener> listeners_{};
  std::uint64_t last_listener_ = 0;
  // By the pod's uid. Nobody walks it: its order cannot be seen.
  std::unordered_map<SharedText, EventSink, TextHash, std::equal_to<>> sinks_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  bool started_ = false;
  static constexpr std::size_t stages_of_a_start = 16;  // guessed: of pods of two seconds
  Interner<std::vector<PodCondition>> conditions_{stages_of_a_start};
  KnownFacts facts_{};
};

}  // namespace ddptwin::kubelet
