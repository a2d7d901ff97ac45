#include "scenario/run/without_effect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "scenario/language/narrator.hpp"

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

// Looks for securityContext in a document, at any depth: so in any kind of workload.
class SecuritySearch {
 public:
  SecuritySearch(const Manifest& manifest, Mode mode) : manifest_(manifest), mode_(mode) {}

  std::vector<WithoutEffect> run() {
    look_at(*manifest_.value, manifest_.base);
    return std::move(found_);
  }

 private:
  void look_at(const json::value& value, const std::string& path) {
    if (const auto* list = value.if_array()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        look_at((*list)[i], fmt::format("{}[{}]", path, i));
    } else if (const auto* object = value.if_object()) {
      for (const auto& member : *object) {
        const std::string key(member.key());
        const std::string here = path.empty() ? key : path + "." + key;
        if (key == "securityContext" && member.value().is_object())
          tell(member.value().get_object(), here);
        else
          look_at(member.value(), here);
      }
    }
  }

  void tell(const json::object& context, const std::string& path) {
    std::vector<std::string> named;
    for (const auto& member : context)
      if (std::string name = idle_name(member.key(), mode_); !name.empty())
        named.push_back(std::move(name));
    if (named.empty()) return;
    found_.push_back({short_name(*manifest_.object),
                      fmt::format("{}: no effect here: {}; every program is root in its sandbox",
                                  manifest_.document->where(path), fmt::join(named, ", "))});
  }

  const Manifest& manifest_;
  Mode mode_;
  std::vector<WithoutEffect> found_{};
};

}  // namespace

std::vector<WithoutEffect> without_effect(const Scenario& scenario, Mode mode) {
  std::vector<WithoutEffect> found;
  const auto add = [&found, mode](const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      auto more = SecuritySearch(manifest, mode).run();
      std::move(more.begin(), more.end(), std::back_inserter(found));
    }
  };
  add(scenario.manifests);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
  return found;
}

}  // namespace ddptwin::scenario
