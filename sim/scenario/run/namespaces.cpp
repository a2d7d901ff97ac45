#include "scenario/run/namespaces.hpp"

#include <fmt/format.h>

#include "scenario/run/images.hpp"

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

}  // namespace ddptwin::scenario
