// What the volumes of a pod say about its nodes, and what is still to be bound for it once it has
// one: the plugins VolumeBinding and VolumeRestrictions (spec/kubernetes.md §3.7). Pure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/volumes.hpp"

namespace ddptwin::scheduler {

// Objects of a kind by "namespace/name", or the name of what is in no namespace.
template <class T>
using Known = std::map<std::string, std::shared_ptr<const T>, std::less<>>;

// Claims, volumes and classes as the scheduler knows them, its own decisions among them. In a
// cluster that has no such kinds every claim is missing.
struct VolumeView {
  Known<PersistentVolumeClaim> claims{};
  Known<PersistentVolume> volumes{};
  Known<StorageClass> classes{};

  ClaimPtr claim(std::string_view namespace_, std::string_view name) const;
  VolumePtr volume(std::string_view name) const;
  StorageClassPtr class_named(std::string_view name) const;
};

// The names of the claims that a pod mounts.
std::vector<std::string> claims_of(const PodSpec& spec);
bool uses_claim(const Pod& pod, const PersistentVolumeClaim& claim);

// Why no node at all will do, in words; empty: that goes by the node.
std::string refusal_of_claims(const Pod& pod, const VolumeView& view);

// What one node lacks for the pod's volumes. Precondition: refusal_of_claims() is empty.
std::vector<std::string> reasons_of_volumes(const Pod& pod, const Node& node,
                                            const VolumeView& view);

// What is to be written before the pod can be bound to the node.
struct VolumeWork {
  std::vector<std::pair<ClaimPtr, VolumePtr>> bindings{};  // free volumes, each for a claim
  std::vector<ClaimPtr> provisions{};                      // to be made for that node
};
// Precondition: the node lacks nothing.
VolumeWork volume_work(const Pod& pod, const Node& node, const VolumeView& view);
// One of its volumes or claims, as the API has written it: what is older says nothing of it.
void note_written(VolumeWork& work, const ObjectPtr& written);

// How what is to be done for a pod that has its node comes along.
enum class ClaimsState : std::uint8_t { bound, waiting, failed };
struct ClaimsProgress {
  ClaimsState state = ClaimsState::bound;
  std::string problem{};
};
ClaimsProgress progress_of_work(const VolumeWork& work, const Node& node, const VolumeView& view);

// As the scheduler writes it, and as it assumes it to be until it hears of it.
std::shared_ptr<PersistentVolumeClaim> with_node(const PersistentVolumeClaim& claim,
                                                 const std::string& node);

}  // namespace ddptwin::scheduler
