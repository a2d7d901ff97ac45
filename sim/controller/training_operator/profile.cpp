#include "controller/training_operator/profile.hpp"

#include <array>
#include <utility>

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr std::array all{
    Profile{.version = "v1.7.0",
            .validates_in_reconcile = true,
            .permanent_exit_code_fails = false,
            .nproc_without_master = false,
            .first_worker_is_master = false,
            .set_event_reasons = false,
            .default_queue = "",
            .keeps_queue = false,
            .suspended_keeps_ttl = false,
            .managed_by = false,
            .elastic_needs_worker = false,
            .keyed_lists = false,
            .immutable_queue = false,
            .recovers_panics = false},
    Profile{.version = "v1.8.0",
            .suspended_keeps_ttl = false,
            .managed_by = false,
            .elastic_needs_worker = false,
            .keyed_lists = false,
            .recovers_panics = false},
    Profile{.version = "v1.8.1",
            .managed_by = false,
            .elastic_needs_worker = false,
            .keyed_lists = false,
            .recovers_panics = false},
    Profile{.version = "v1.9.0"},
    Profile{.version = "v1.9.4", .limit_honours_clean_pod_policy = true},
};
constexpr std::size_t v1_9_0 = 3;
static_assert(all[v1_9_0].version == "v1.9.0");

// Releases, and tags that changed nothing in the controller.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> aliases{{
    {"v1.7", "v1.7.0"},
    {"v1.8", "v1.8.1"},
    {"v1.9", "v1.9.0"},
    {"v1.9.1", "v1.9.0"},
    {"v1.9.2", "v1.9.0"},
    {"v1.9.3", "v1.9.0"},
}};

// "v1.9.0" and "1.9.0" are the same tag.
constexpr std::string_view bare(std::string_view tag) {
  return tag.starts_with('v') ? tag.substr(1) : tag;
}

}  // namespace

std::span<const Profile> profiles() { return all; }

const Profile* find_profile(std::string_view version) {
  for (const auto& [alias, tag] : aliases)
    if (bare(alias) == bare(version)) return find_profile(tag);
  for (const Profile& profile : all)
    if (bare(profile.version) == bare(version)) return &profile;
  return nullptr;
}

const Profile& default_profile() { return all[v1_9_0]; }

}  // namespace ddptwin::controller::pytorchjob
