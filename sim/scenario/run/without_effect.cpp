#include "scenario/run/without_effect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "scenario/language/narrator.hpp"
#include "scenario/run/manifest_walk.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

struct Heeded {
  std::string_view member;
  bool in_real, in_virtual;
  std::string_view but_for{};  // what it has an effect on nevertheless
};
// All other members of securityContext have no effect. runAsNonRoot is the kubelet's; the root file
// system is made read-only by the process runtime alone.
constexpr std::array heeded{
    Heeded{"runAsNonRoot", true, true},
    Heeded{"runAsUser", false, false, "runAsNonRoot's check"},
    Heeded{"readOnlyRootFilesystem", true, false},
};

// How it is named among those that have no effect; empty: it has one.
std::string idle_name(std::string_view member, Mode mode) {
  const auto row = std::find_if(heeded.begin(), heeded.end(),
                                [&](const Heeded& one) { return one.member == member; });
  if (row == heeded.end()) return std::string(member);
  if (mode == Mode::real ? row->in_real : row->in_virtual) return {};
  return row->but_for.empty() ? std::string(member)
                              : fmt::format("{} (but for {})", member, row->but_for);
}

void tell(const json::object& context, const std::string& path, const Manifest& manifest, Mode mode,
          std::vector<WithoutEffect>& found) {
  std::vector<std::string> named;
  for (const auto& member : context)
    if (std::string name = idle_name(member.key(), mode); !name.empty())
      named.push_back(std::move(name));
  if (named.empty()) return;
  found.push_back({short_name(*manifest.object),
                   fmt::format("{}: no effect here: {}; every program is root in its sandbox",
                               manifest.document->where(path), fmt::join(named, ", "))});
}

}  // namespace

std::vector<WithoutEffect> without_effect(const Scenario& scenario, Mode mode) {
  std::vector<WithoutEffect> found;
  const auto add = [&found, mode](const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests)
      walk(manifest, [&](const Place& place) {
        const bool is_context = place.path.ends_with("securityContext");
        if (is_context) tell(place.value->get_object(), place.path, manifest, mode, found);
        return !is_context;
      });
  };
  add(scenario.manifests);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
  return found;
}

}  // namespace ddptwin::scenario
