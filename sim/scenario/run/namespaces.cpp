#include "scenario/run/namespaces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "objects/object_reference.hpp"
#include "objects/volumes.hpp"
#include "scenario/run/images.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

template <class Visit>
void each_manifest(const Scenario& scenario, const Visit& visit) {
  for (const Manifest& manifest : scenario.manifests) visit(manifest);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action); apply != nullptr && !step.refused)
      for (const Manifest& manifest : apply->manifests) visit(manifest);
}

bool has_namespace(const World& world, std::string_view name) {
  return world.find(Namespace::info(), "", name) != nullptr;
}

// The first object in each namespace that is not there, by its name.
std::map<std::string, const Manifest*> missing_namespaces(const World& world,
                                                          const Scenario& scenario) {
  std::map<std::string, const Manifest*> missing;
  each_manifest(scenario, [&](const Manifest& manifest) {
    const std::string name = manifest.object->metadata.namespace_.str();
    if (!name.empty() && !has_namespace(world, name) && where_made(scenario, name).empty())
      missing.try_emplace(name, &manifest);
  });
  return missing;
}

}  // namespace

std::string where_made(const Scenario& scenario, std::string_view name) {
  std::string where;
  each_manifest(scenario, [&](const Manifest& manifest) {
    if (&manifest.object->kind() == &Namespace::info() && manifest.object->metadata.name == name &&
        where.empty())
      where = manifest.document->where(manifest.base);
  });
  return where;
}

Status add_namespaces(World& world, const Scenario& scenario) {
  if (!has_namespace(world, scenario.namespace_))
    TRY_VOID(world.add_namespace(scenario.namespace_));
  if (scenario.strict_namespaces) return {};
  for (const auto& [name, manifest] : missing_namespaces(world, scenario)) {
    const std::string where = manifest->document->where(
        manifest->base + (manifest->base.empty() ? "" : ".") + "metadata.namespace");
    write_note(world.trace(), "user", "namespace/" + name,
               fmt::format("{}: no document makes it: made at the start, as by kubectl create "
                           "namespace {}",
                           where, name));
    if (auto made = world.add_namespace(name); !made)
      return fail(Reason::bad_input, std::move(made).error().message, where);
  }
  return {};
}

namespace {

// That of a claim which is there from the start, though a document may make it later on.
Status add_namespace_of_claim(World& world, const Scenario& scenario, const std::string& name) {
  if (has_namespace(world, name)) return {};
  const std::string made = where_made(scenario, name);
  if (made.empty())
    return fail(Reason::bad_input,
                fmt::format("no document is in the namespace {} or makes it", name));
  write_note(world.trace(), "user", "namespace/" + name,
             fmt::format("{} makes it: made at the start, for a claim that is a folder", made));
  return world.add_namespace(name);
}

std::shared_ptr<PersistentVolumeClaim> claim_of_folder(const std::string& key,
                                                       const std::string& volume) {
  const std::size_t slash = key.find('/');
  auto claim = std::make_shared<PersistentVolumeClaim>();
  claim->metadata.namespace_ = key.substr(0, slash);
  claim->metadata.name = key.substr(slash + 1);
  claim->metadata.annotations.edit()[bind_completed] = "yes";
  claim->spec.accessModes = {"ReadWriteMany"};
  claim->spec.resources.requests.edit().emplace("storage", *Quantity::parse("1Ti"));
  claim->spec.storageClassName = "";
  claim->spec.volumeName = volume;
  return claim;
}

std::shared_ptr<PersistentVolume> volume_of_folder(const PersistentVolumeClaim& claim,
                                                   const std::string& folder) {
  auto volume = std::make_shared<PersistentVolume>();
  volume->metadata.name = claim.spec.volumeName;
  volume->spec.accessModes = claim.spec.accessModes;
  volume->spec.capacity = claim.spec.resources.requests;
  volume->spec.hostPath.emplace().path = folder;
  volume->spec.claimRef = object_reference(claim);
  return volume;
}

// Both as the binder leaves them: no class, no binder and no provisioner is needed.
Status add_bound(World& world, const std::string& key, const std::string& folder) {
  write_note(world.trace(), "user", short_name(*claim_of_folder(key, {})),
             fmt::format("no document makes it: made at the start, for the folder {}", folder));
  std::string name = "folder-" + key;
  std::replace(name.begin(), name.end(), '/', '-');
  TRY(const auto claim, world.call(api::create(claim_of_folder(key, name)), "user"));
  const auto& made = static_cast<const PersistentVolumeClaim&>(*claim.object);
  TRY(const auto volume, world.call(api::create(volume_of_folder(made, folder)), "user"));
  auto lies_in =
      std::make_shared<PersistentVolume>(static_cast<const PersistentVolume&>(*volume.object));
  lies_in->status.phase = "Bound";
  TRY_VOID(world.call(api::update(lies_in, "status"), "user"));
  auto bound = std::make_shared<PersistentVolumeClaim>(made);
  bound->status.phase = "Bound";
  bound->status.accessModes = lies_in->spec.accessModes;
  bound->status.capacity = lies_in->spec.capacity;
  TRY_VOID(world.call(api::update(std::move(bound), "status"), "user"));
  return {};
}

}  // namespace

Status add_claims(World& world, const Scenario& scenario) {
  std::set<std::string> written;
  each_manifest(scenario, [&written](const Manifest& manifest) {
    if (&manifest.object->kind() == &PersistentVolumeClaim::info())
      written.insert(key_of(manifest.object->metadata));
  });
  for (const auto& [key, one] : scenario.claim_folders) {
    if (written.contains(key)) continue;
    const ContextScope of_this_claim(world.loop());
    Status made = add_namespace_of_claim(world, scenario, key.substr(0, key.find('/')));
    if (made) made = add_bound(world, key, one.folder);
    if (!made) return fail(Reason::bad_input, std::move(made).error().message, one.where);
  }
  return {};
}

}  // namespace ddptwin::scenario
