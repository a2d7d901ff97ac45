#include "scenario/run/set_aside.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenario/language/member_at.hpp"
#include "scenario/run/images.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

const SetAside* named_by(const Scenario& scenario, const json::value& reference) {
  const std::string kind = text_at(reference, {"kind"}), name = text_at(reference, {"name"});
  if (kind.empty() || name.empty()) return nullptr;
  const auto found =
      std::find_if(scenario.set_aside.begin(), scenario.set_aside.end(),
                   [&](const SetAside& one) { return one.kind == kind && one.name == name; });
  return found == scenario.set_aside.end() ? nullptr : &*found;
}

// Looks through an object for references of one kind: a map with `kind` and `name`.
Status check_references(const Scenario& scenario, const Manifest& manifest,
                        const json::value& value, const std::string& path) {
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      TRY_VOID(check_references(scenario, manifest, (*list)[i], fmt::format("{}[{}]", path, i)));
    return {};
  }
  const auto* object = value.if_object();
  if (object == nullptr) return {};
  if (const SetAside* one = named_by(scenario, value))
    return fail(Reason::bad_input,
                fmt::format("it names {} {} of {}, which cannot be set aside then: {}", one->kind,
                            one->name, one->where.substr(0, one->where.find(' ')), one->refusal),
                manifest.document->where(path));
  for (const auto& member : *object) {
    const std::string key(member.key());
    TRY_VOID(check_references(scenario, manifest, member.value(),
                              path.empty() ? key : path + "." + key));
  }
  return {};
}

}  // namespace

Status check_set_aside(const Scenario& scenario) {
  if (scenario.set_aside.empty()) return {};
  for (const Manifest& manifest : scenario.manifests)
    TRY_VOID(check_references(scenario, manifest, *manifest.value, manifest.base));
  const auto runs = std::find_if(scenario.set_aside.begin(), scenario.set_aside.end(),
                                 [](const SetAside& one) { return one.runs; });
  if (runs != scenario.set_aside.end() && image_uses(scenario).empty())
    return fail(Reason::bad_input, runs->refusal, runs->where);
  if (!scenario.manifests.empty() || !scenario.steps.empty()) return {};
  const SetAside& first = scenario.set_aside.front();
  return fail(
      Reason::bad_input,
      fmt::format("there is nothing to run, every document is set aside: {}", first.refusal),
      first.where);
}

}  // namespace ddptwin::scenario
