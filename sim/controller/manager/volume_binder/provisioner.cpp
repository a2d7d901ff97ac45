#include "controller/manager/volume_binder/provisioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "controller/manager/volume_binder/rules.hpp"
#include "objects/object_reference.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::controller::volume_binder {

namespace {

constexpr std::array<std::string_view, 7> local_provisioners{
    "hostpath.csi.k8s.io",   "local.csi.openebs.io", "microk8s.io/hostpath", "openebs.io/local",
    "rancher.io/local-path", "topolvm.cybozu.com",   "topolvm.io",
};

// Whether volumes of that provisioner lie on one node and are used nowhere else.
bool provisions_on_node(std::string_view provisioner) {
  return std::find(local_provisioners.begin(), local_provisioners.end(), provisioner) !=
         local_provisioners.end();
}

std::string name_of_volume(const PersistentVolumeClaim& claim) {
  return fmt::format("pvc-{}", claim.metadata.uid.view());
}

VolumeNodeAffinity only_on(const std::string& node) {
  NodeSelectorTerm term;
  term.matchExpressions.push_back({"kubernetes.io/hostname", "In", {node}});
  return {NodeSelector{{std::move(term)}}};
}

std::shared_ptr<PersistentVolume> new_volume(const PersistentVolumeClaim& claim,
                                             const StorageClass& its_class,
                                             const std::string& node) {
  auto volume = std::make_shared<PersistentVolume>();
  volume->metadata.name = name_of_volume(claim);
  volume->metadata.annotations.edit()[provisioned_by] = its_class.provisioner;
  PersistentVolumeSpec& spec = volume->spec;
  spec.capacity = claim.spec.resources.requests;
  spec.accessModes = claim.spec.accessModes;
  spec.csi = RawJson(boost::json::object{{"driver", its_class.provisioner},
                                         {"volumeHandle", volume->metadata.name.view()}});
  spec.persistentVolumeReclaimPolicy = its_class.reclaimPolicy.value_or("Delete");
  spec.storageClassName = its_class.metadata.name.str();
  spec.mountOptions = its_class.mountOptions;
  spec.volumeMode = claim.spec.volumeMode;
  spec.claimRef = object_reference(claim);
  if (!node.empty() && provisions_on_node(its_class.provisioner)) spec.nodeAffinity = only_on(node);
  return volume;
}

// The binder has asked for it, and a class that waits for a node has one.
bool is_asked(const PersistentVolumeClaim& claim, const StorageClass& its_class) {
  const Text* asked = annotation(claim, storage_provisioner);
  return claim.spec.volumeName.empty() && !claim.metadata.deletionTimestamp && asked != nullptr &&
         *asked == its_class.provisioner &&
         (!waits_for_consumer(&its_class) || annotation(claim, selected_node) != nullptr);
}

Plan provision(ClaimPtr claim, const Cache& cache) {
  Plan plan;
  const auto its_class = cache.find<StorageClass>({}, class_of(*claim));
  if (!its_class || !is_asked(*claim, *its_class) ||
      cache.find<PersistentVolume>({}, name_of_volume(*claim)))
    return plan;
  plan.about = claim;
  const Text* chosen = annotation(*claim, selected_node);
  std::string node = chosen != nullptr ? chosen->str() : std::string();
  if (!node.empty() && !cache.find<Node>({}, node)) {
    auto freed = std::make_shared<PersistentVolumeClaim>(*claim);
    freed->metadata.annotations.edit().erase(std::string(selected_node));
    Step& step = plan.steps.emplace_back();
    step.rule = &rules::choose_node_again;
    step.request = api::update(std::move(freed));
    step.event = EventText{"Warning", "ProvisioningFailed",
                           fmt::format("failed to get target node: node \"{}\" not found", node)};
    return plan;
  }
  if (node.empty())
    if (const auto nodes = cache.list<Node>({}); !nodes.empty())
      node = nodes.front()->metadata.name.str();
  Step& told = plan.steps.emplace_back();
  told.rule = &rules::provision_volume;
  told.text = name_of_volume(*claim);
  told.event =
      EventText{"Normal", "Provisioning",
                fmt::format("External provisioner is provisioning volume for claim \"{}/{}\"",
                            claim->metadata.namespace_, claim->metadata.name)};
  Step& made = plan.steps.emplace_back();
  made.rule = &rules::provision_volume;
  made.request = api::create(new_volume(*claim, *its_class, node));
  made.event = EventText{"Normal", "ProvisioningSucceeded", name_of_volume(*claim),
                         "Successfully provisioned volume "};
  made.tolerated = Reason::already_exists;
  return plan;
}

Plan reclaim(VolumePtr volume) {
  Plan plan;
  if (volume->status.phase != "Released" || volume->metadata.deletionTimestamp ||
      volume->spec.persistentVolumeReclaimPolicy != "Delete" ||
      annotation(*volume, provisioned_by) == nullptr)
    return plan;
  plan.about = volume;
  Step& step = plan.steps.emplace_back();
  step.rule = &rules::delete_volume;
  step.request = api::remove(*volume);
  step.tolerated = Reason::not_found;
  return plan;
}

}  // namespace

std::vector<Watched> Provisioner::watches(const KindRegistry&) const {
  return {{&PersistentVolumeClaim::info(), {}},
          {&PersistentVolume::info(), {}},
          {&StorageClass::info(), {}},
          {&Node::info(), {}}};
}

Reaction Provisioner::observe(const Change& change, const Cache& cache, Expectations&, Time) {
  Reaction reaction;
  const Object& object = change.object();
  const bool is_claim_or_volume =
      as<PersistentVolumeClaim>(object) != nullptr || as<PersistentVolume>(object) != nullptr;
  if (is_claim_or_volume) {
    if (change.after) reaction.wake.push_back(parts_of(object));
    return reaction;
  }
  // A class that comes late, or a node that goes while a volume is made for it.
  const bool may_matter = as<Node>(object) != nullptr ? !change.after : !change.before;
  if (!may_matter) return reaction;
  for (const ObjectPtr& claim : cache.list(PersistentVolumeClaim::info(), {}))
    if (static_cast<const PersistentVolumeClaim&>(*claim).spec.volumeName.empty())
      reaction.wake.push_back(parts_of(*claim));
  return reaction;
}

Plan Provisioner::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  if (parts.namespace_.empty()) {
    auto volume = seen.cache.find<PersistentVolume>({}, parts.name);
    return volume ? reclaim(std::move(volume)) : Plan();
  }
  auto claim = seen.cache.find<PersistentVolumeClaim>(parts.namespace_, parts.name);
  return claim ? provision(std::move(claim), seen.cache) : Plan();
}

}  // namespace ddptwin::controller::volume_binder
