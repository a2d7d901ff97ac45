#include "controller/manager/volume_binder/binder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "controller/manager/volume_binder/rules.hpp"
#include "objects/codec.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::controller::volume_binder {

namespace {

constexpr std::string_view yes = "yes";

bool is_claimed_by(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.spec.claimRef && volume.spec.claimRef->uid == claim.metadata.uid;
}

// One pass over a claim or over a volume.
class BinderPass {
 public:
  explicit BinderPass(const Cache& cache) : cache_(cache) {}
  Plan of_claim(ClaimPtr claim);
  Plan of_volume(VolumePtr volume);

 private:
  void bind_unbound();
  void bind_named();
  void check_bound();
  void find_or_provision();
  void provision();
  void bind_to(const PersistentVolume& volume);
  void wait(const Rule& rule, std::string_view type, std::string_view reason, std::string message);
  void lose(std::string_view reason, std::string message);
  void settle_orphan();
  void release();
  void let_go();
  void phase_of_volume(const Rule& rule, std::string_view phase, std::string message = {});
  Step& add(const Rule& rule);
  StorageClassPtr class_named(std::string_view name) const {
    return cache_.find<StorageClass>({}, name);
  }

  const Cache& cache_;
  Plan plan_{};
  ClaimPtr claim_{};
  VolumePtr volume_{};
};

Step& BinderPass::add(const Rule& rule) {
  Step& step = plan_.steps.emplace_back();
  step.rule = &rule;
  return step;
}

// ---- claims -------------------------------------------------------------------------------------

Plan BinderPass::of_claim(ClaimPtr claim) {
  claim_ = std::move(claim);
  plan_.about = claim_;
  if (is_fully_bound(*claim_))
    check_bound();
  else if (!claim_->metadata.deletionTimestamp)
    bind_unbound();
  return std::move(plan_);
}

void BinderPass::bind_unbound() {
  if (!claim_->spec.volumeName.empty()) return bind_named();
  if (!claim_->spec.storageClassName) {
    // It came before its class did; a server with a default class fills it in at once.
    if (const auto found = default_class(cache_.list<StorageClass>({}))) {
      auto changed = std::make_shared<PersistentVolumeClaim>(*claim_);
      changed->spec.storageClassName = found->metadata.name.str();
      add(rules::set_default_class).request = api::update(std::move(changed));
      return;
    }
  }
  find_or_provision();
}

void BinderPass::find_or_provision() {
  const StorageClassPtr its_class = class_named(class_of(*claim_));
  const bool waits = waits_for_consumer(its_class.get());
  const VolumePtr found =
      find_volume(*claim_, cache_.list<PersistentVolume>({}), {.kept_only = waits});
  if (found) return bind_to(*found);
  if (waits && annotation(*claim_, selected_node) == nullptr)
    return wait(rules::wait_for_consumer, "Normal", "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding");
  if (class_of(*claim_).empty())
    return wait(rules::no_volume_and_no_class, "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
  provision();
}

void BinderPass::provision() {
  const std::string name(class_of(*claim_));
  const StorageClassPtr its_class = class_named(name);
  if (!its_class)
    return wait(rules::cannot_provision, "Warning", "ProvisioningFailed",
                fmt::format("storageclass.storage.k8s.io \"{}\" not found", name));
  const std::string& provisioner = its_class->provisioner;
  if (provisioner == no_provisioner)
    return wait(rules::cannot_provision, "Warning", "ProvisioningFailed",
                fmt::format("no volume plugin matched name: {}", provisioner));
  const Text* asked = annotation(*claim_, storage_provisioner);
  if (asked != nullptr && *asked == provisioner) return;
  auto changed = std::make_shared<PersistentVolumeClaim>(*claim_);
  changed->metadata.annotations.edit()[std::string(storage_provisioner)] = provisioner;
  Step& step = add(rules::ask_provisioner);
  step.request = api::update(std::move(changed));
  step.event = EventText{
      "Normal", "ExternalProvisioning",
      fmt::format("Waiting for a volume to be created either by the external provisioner '{}' or "
                  "manually by the system administrator. If volume creation is delayed, please "
                  "verify that the provisioner is running and correctly registered.",
                  provisioner)};
}

// The claim asks for one volume by name. One that is kept for it is its own, whatever it is like.
void BinderPass::bind_named() {
  const std::string& name = claim_->spec.volumeName;
  const auto volume = cache_.find<PersistentVolume>({}, name);
  if (!volume) {
    add(rules::requested_volume_is_missing).text = name;
    return;
  }
  if (is_kept_for(*volume, *claim_)) return bind_to(*volume);
  if (volume->spec.claimRef)
    return wait(rules::requested_volume_is_taken, "Warning", "FailedBinding",
                fmt::format("volume \"{}\" already bound to a different claim.", name));
  if (const std::string problem = mismatch_of(*volume, *claim_); !problem.empty())
    return wait(rules::requested_volume_mismatches, "Warning", "VolumeMismatch",
                fmt::format("Cannot bind to requested volume \"{}\": {}", name, problem));
  bind_to(*volume);
}

// The next of the four writes: the volume's claim, its phase, the claim's volume, its phase.
void BinderPass::bind_to(const PersistentVolume& volume) {
  if (!is_claimed_by(volume, *claim_)) {
    add(rules::keep_volume_for_claim).request = api::update(kept_for(volume, *claim_));
    return;
  }
  if (volume.status.phase != "Bound") {
    auto bound = std::make_shared<PersistentVolume>(volume);
    bound->status = PersistentVolumeStatus{.phase = "Bound"};
    add(rules::volume_is_bound).request = api::update(std::move(bound), "status");
    return;
  }
  auto claim = std::make_shared<PersistentVolumeClaim>(*claim_);
  if (!is_fully_bound(*claim_) || claim_->spec.volumeName != volume.metadata.name) {
    StringMap& annotations = claim->metadata.annotations.edit();
    if (claim_->spec.volumeName.empty()) annotations[bound_by_controller] = yes;
    annotations[bind_completed] = yes;
    claim->spec.volumeName = volume.metadata.name.str();
    add(rules::name_volume_in_claim).request = api::update(std::move(claim));
    return;
  }
  const PersistentVolumeClaimStatus& status = claim_->status;
  if (status.phase == "Bound" && status.accessModes == volume.spec.accessModes &&
      *status.capacity == *volume.spec.capacity)
    return;
  claim->status.phase = "Bound";
  claim->status.accessModes = volume.spec.accessModes;
  claim->status.capacity = volume.spec.capacity;
  add(rules::claim_is_bound).request = api::update(std::move(claim), "status");
}

void BinderPass::check_bound() {
  const auto volume = cache_.find<PersistentVolume>({}, claim_->spec.volumeName);
  if (!volume)
    return lose("ClaimLost",
                "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  if (volume->spec.claimRef && !is_claimed_by(*volume, *claim_))
    return lose("ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly");
  bind_to(*volume);
}

void BinderPass::lose(std::string_view reason, std::string message) {
  if (claim_->status.phase == "Lost") return;
  auto lost = std::make_shared<PersistentVolumeClaim>(*claim_);
  lost->status.phase = "Lost";
  Step& step = add(rules::claim_is_lost);
  step.request = api::update(std::move(lost), "status");
  step.event = EventText{"Warning", Text(reason), std::move(message)};
}

void BinderPass::wait(const Rule& rule, std::string_view type, std::string_view reason,
                      std::string message) {
  Step& step = add(rule);
  step.text = message;
  step.event = EventText{type, Text(reason), std::move(message)};
}

// ---- volumes ------------------------------------------------------------------------------------

Plan BinderPass::of_volume(VolumePtr volume) {
  volume_ = std::move(volume);
  plan_.about = volume_;
  const auto& kept = volume_->spec.claimRef;
  if (!kept || kept->uid.empty()) {
    phase_of_volume(rules::volume_is_available, "Available");
    return std::move(plan_);
  }
  claim_ = cache_.find<PersistentVolumeClaim>(kept->namespace_, kept->name);
  if (!claim_ || claim_->metadata.uid != kept->uid) {
    settle_orphan();
    return std::move(plan_);
  }
  if (claim_->spec.volumeName == volume_->metadata.name)
    phase_of_volume(rules::volume_is_bound, "Bound");
  else if (!claim_->spec.volumeName.empty())
    let_go();
  return std::move(plan_);
}

// Its claim is gone. Released by hand of the claim's end only once: what was released is reclaimed.
void BinderPass::settle_orphan() {
  const std::string& phase = volume_->status.phase;
  if (phase != "Released" && phase != "Failed") return release();
  const bool has_provisioner = annotation(*volume_, provisioned_by) != nullptr;
  if (phase == "Failed" || volume_->spec.persistentVolumeReclaimPolicy == "Retain") return;
  if (volume_->spec.persistentVolumeReclaimPolicy == "Recycle") {
    phase_of_volume(rules::nobody_deletes_volume, "Failed",
                    "No recycler plugin found for the volume!");
    plan_.steps.back().event =
        EventText{"Warning", "VolumeFailedRecycle", "No recycler plugin found for the volume!"};
  } else if (!has_provisioner) {
    const std::string message = fmt::format(
        "error getting deleter volume plugin for volume \"{}\": no deletable volume plugin matched",
        volume_->metadata.name);
    phase_of_volume(rules::nobody_deletes_volume, "Failed", message);
    plan_.steps.back().event = EventText{"Warning", "VolumeFailedDelete", message};
  }
}

// A claim that this cache does not hold may only be too new for it: the server is asked.
void BinderPass::release() {
  phase_of_volume(rules::volume_is_released, "Released");
  if (claim_) return;
  const ObjectReference& kept = *volume_->spec.claimRef;
  Step ask{.rule = &rules::volume_is_released,
           .request = api::get(PersistentVolumeClaim::info(), kept.namespace_, kept.name)};
  ask.instead.emplace() = std::move(plan_.steps);
  ask.instead_of = Reason::not_found;
  plan_.steps.clear();
  plan_.steps.push_back(std::move(ask));
}

// The claim has another volume.
void BinderPass::let_go() {
  if (annotation(*volume_, provisioned_by) != nullptr &&
      volume_->spec.persistentVolumeReclaimPolicy == "Delete")
    return phase_of_volume(rules::volume_is_released, "Released");
  auto freed = std::make_shared<PersistentVolume>(*volume_);
  if (annotation(*volume_, bound_by_controller) != nullptr) {
    freed->spec.claimRef.reset();
    freed->metadata.annotations.edit().erase(std::string(bound_by_controller));
  } else {
    freed->spec.claimRef->uid = {};
  }
  add(rules::free_volume).request = api::update(std::move(freed));
}

void BinderPass::phase_of_volume(const Rule& rule, std::string_view phase, std::string message) {
  if (volume_->status.phase == phase) return;
  auto changed = std::make_shared<PersistentVolume>(*volume_);
  changed->status =
      PersistentVolumeStatus{.phase = std::string(phase), .message = std::move(message)};
  add(rule).request = api::update(std::move(changed), "status");
}

// Claims that a volume or a class that comes or changes may help.
void wake_unbound(const Cache& cache, Reaction& reaction) {
  for (const ObjectPtr& claim : cache.list(PersistentVolumeClaim::info(), {}))
    if (!is_fully_bound(static_cast<const PersistentVolumeClaim&>(*claim)))
      reaction.wake.push_back(parts_of(*claim));
}

void wake_volume_of(const PersistentVolumeClaim& claim, const Cache& cache, Reaction& reaction) {
  if (const ObjectPtr volume = cache.find(PersistentVolume::info(), {}, claim.spec.volumeName))
    reaction.wake.push_back(parts_of(*volume));
}

void wake_claim_of(const PersistentVolume& volume, const Cache& cache, Reaction& reaction) {
  if (!volume.spec.claimRef) return;
  if (const ObjectPtr claim =
          cache.find(PersistentVolumeClaim::info(), volume.spec.claimRef->namespace_,
                     volume.spec.claimRef->name))
    reaction.wake.push_back(parts_of(*claim));
}

// Volumes that were kept for a claim which is gone, whatever the claim said.
void wake_kept_for(const PersistentVolumeClaim& claim, const Cache& cache, Reaction& reaction) {
  for (const ObjectPtr& one : cache.list(PersistentVolume::info(), {})) {
    const auto& volume = static_cast<const PersistentVolume&>(*one);
    if (is_claimed_by(volume, claim)) reaction.wake.push_back(parts_of(*one));
  }
}

}  // namespace

std::vector<Watched> Binder::watches(const KindRegistry&) const {
  return {{&PersistentVolumeClaim::info(), {}},
          {&PersistentVolume::info(), {}},
          {&StorageClass::info(), {}}};
}

Reaction Binder::observe(const Change& change, const Cache& cache, Expectations&, Time) {
  Reaction reaction;
  const Object& object = change.object();
  if (const auto* claim = as<PersistentVolumeClaim>(object)) {
    if (!change.after) {
      wake_kept_for(*claim, cache, reaction);
      return reaction;
    }
    reaction.wake.push_back(parts_of(object));
    wake_volume_of(*claim, cache, reaction);
  } else if (const auto* volume = as<PersistentVolume>(object)) {
    if (change.after) reaction.wake.push_back(parts_of(object));
    wake_claim_of(*volume, cache, reaction);
    const bool is_free = change.after && volume->status.phase == "Available";
    if (is_free) wake_unbound(cache, reaction);
  } else {
    wake_unbound(cache, reaction);
  }
  return reaction;
}

Plan Binder::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  if (parts.namespace_.empty()) {
    auto volume = seen.cache.find<PersistentVolume>({}, parts.name);
    return volume ? BinderPass(seen.cache).of_volume(std::move(volume)) : Plan();
  }
  auto claim = seen.cache.find<PersistentVolumeClaim>(parts.namespace_, parts.name);
  return claim ? BinderPass(seen.cache).of_claim(std::move(claim)) : Plan();
}

}  // namespace ddptwin::controller::volume_binder
