#include "scenario/without_effect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "scenario/report/narrator.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// The members of securityContext that are not among these are heeded: runAsNonRoot by the kubelet,
// readOnlyRootFilesystem by the process runtime.
constexpr std::array<std::string_view, 14> not_heeded{"runAsUser",       "runAsGroup",
                                                      "fsGroup",         "fsGroupChangePolicy",
                                                      "capabilities",    "supplementalGroups",
                                                      "privileged",      "supplementalGroupsPolicy",
                                                      "seccompProfile",  "seLinuxOptions",
                                                      "procMount",       "allowPrivilegeEscalation",
                                                      "appArmorProfile", "sysctls"};

// Looks for securityContext in a document, at any depth: so in any kind of workload.
class Search {
 public:
  explicit Search(const Manifest& manifest) : manifest_(manifest) {}

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
    std::vector<std::string_view> named;
    for (const auto& member : context)
      if (std::find(not_heeded.begin(), not_heeded.end(), member.key()) != not_heeded.end())
        named.emplace_back(member.key());
    if (named.empty()) return;
    found_.push_back({short_name(*manifest_.object),
                      fmt::format("{}: no effect here: {}; every program is root in its sandbox",
                                  manifest_.document->where(path), fmt::join(named, ", "))});
  }

  const Manifest& manifest_;
  std::vector<WithoutEffect> found_{};
};

}  // namespace

std::vector<WithoutEffect> without_effect(const Scenario& scenario) {
  std::vector<WithoutEffect> found;
  const auto add = [&found](const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      auto more = Search(manifest).run();
      std::move(more.begin(), more.end(), std::back_inserter(found));
    }
  };
  add(scenario.manifests);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
  return found;
}

}  // namespace ddptwin::scenario
