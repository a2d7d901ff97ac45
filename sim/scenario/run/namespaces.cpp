#include "scenario/run/namespaces.hpp"

#include <fmt/format.h>

#include <set>

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

Status add_claims(World& world, const Scenario& scenario) {
  std::set<std::string> written;
  each_manifest(scenario, [&written](const Manifest& manifest) {
    if (&manifest.object->kind() == &PersistentVolumeClaim::info())
      written.insert(key_of(manifest.object->metadata));
  });
  for (const auto& [key, folder] : scenario.claim_folders) {
    if (written.contains(key)) continue;
    const std::size_t slash = key.find('/');
    auto claim = std::make_shared<PersistentVolumeClaim>();
    claim->metadata.namespace_ = key.substr(0, slash);
    claim->metadata.name = key.substr(slash + 1);
    claim->spec.accessModes = {"ReadWriteMany"};
    claim->spec.resources.requests.edit().emplace("storage", *Quantity::parse("1Ti"));
    write_note(world.trace(), "user", short_name(*claim),
               fmt::format("no document makes it: made at the start, for the folder {}", folder));
    const ContextScope of_this_claim(world.loop());
    if (auto made = world.call(api::create(std::move(claim)), "user"); !made)
      return fail(Reason::bad_input, std::move(made).error().message, "spec.cluster.claims");
  }
  return {};
}

}  // namespace ddptwin::scenario
