#include "controller/jobset/profile.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ddptwin::controller::jobset {
namespace {

constexpr std::array all_jobset_profiles{
    Profile{.version = "v0.8.2",
            .finds_jobs_by_uid = false,
            .groups = false,
            .message_patterns = false,
            .claim_policies = false,
            .priority_label = false,
            .tells_restarting = false,
            .writes_status_again = false,
            .refuses_as_invalid = false},
    Profile{.version = "v0.10.1",
            .finds_jobs_by_uid = false,
            .claim_policies = false,
            .priority_label = false,
            .tells_restarting = false,
            .writes_status_again = false,
            .refuses_as_invalid = false},
    Profile{.version = "v0.11.1",
            .tells_restarting = false,
            .writes_status_again = false,
            .refuses_as_invalid = false},
    Profile{.version = "v0.12.0"},
};
constexpr std::size_t v0_12_0 = 3;
static_assert(all_jobset_profiles[v0_12_0].version == "v0.12.0");

// Releases, and tags that changed nothing in the controller.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> jobset_aliases{{
    {"0.8", "0.8.2"},
    {"0.10", "0.10.1"},
    {"0.10.0", "0.10.1"},
    {"0.11", "0.11.1"},
    {"0.11.0", "0.11.1"},
    {"0.12", "0.12.0"},
}};

// "v0.12.0" and "0.12.0" are the same tag.
constexpr std::string_view bare_tag(std::string_view tag) {
  return tag.starts_with('v') ? tag.substr(1) : tag;
}

struct GateRow {
  std::string_view name;
  bool Profile::*on;  // null: it makes no difference here
};
// InPlaceRestart, which needs an agent in each pod, may only be off.
constexpr std::array gates_known{
    GateRow{"RestartJob", &Profile::restart_job}, GateRow{"ElasticJobSet", &Profile::elastic},
    GateRow{"InPlaceRestart", nullptr}, GateRow{"TLSOptions", nullptr}};

bool set_gate(std::string_view one, Profile& to) {
  const std::size_t equals = one.find('=');
  const std::string_view name = one.substr(0, equals);
  const std::string_view value = equals == one.npos ? std::string_view() : one.substr(equals + 1);
  if (value != "true" && value != "false") return false;
  for (const GateRow& row : gates_known) {
    if (row.name != name) continue;
    if (row.on != nullptr) to.*row.on = value == "true";
    return name != "InPlaceRestart" || value == "false";
  }
  return false;
}

}  // namespace

bool set_gates(std::string_view gates, Profile& to) {
  while (!gates.empty()) {
    const std::string_view one = gates.substr(0, gates.find(','));
    if (!set_gate(one, to)) return false;
    gates.remove_prefix(std::min(one.size() + 1, gates.size()));
  }
  return true;
}

std::span<const Profile> profiles() { return all_jobset_profiles; }

const Profile* find_profile(std::string_view version) {
  std::string_view tag = bare_tag(version);
  for (const auto& [alias, known] : jobset_aliases)
    if (alias == tag) {
      tag = known;
      break;
    }
  for (const Profile& profile : all_jobset_profiles)
    if (bare_tag(profile.version) == tag) return &profile;
  return nullptr;
}

const Profile& default_profile() { return all_jobset_profiles[v0_12_0]; }

}  // namespace ddptwin::controller::jobset
