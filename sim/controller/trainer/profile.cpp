#include "controller/trainer/profile.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ddptwin::controller::trainer {
namespace {

constexpr Profile v2_1{.version = "v2.1.0",
                       .jobset = "v0.10.1",
                       .overrides = Overrides::pod_template,
                       .proc_words = true,
                       .elastic_policy = true,
                       .job_labels = true,
                       .frameworks = false,
                       .env_injection = false,
                       .deadline = false,
                       .keeps_trainer = false,
                       .judges_uris = false,
                       .longest_word = 0,
                       .stamps_patches = false,
                       .judges_mounts = false,
                       .before_or_after = false,
                       .needs_proc_to_judge = true,
                       .obeys_managed_by = false,
                       .takes_snapshots = false,
                       .merges_resources = false,
                       .groups_ask_for_nodes = false,
                       .remakes_complete = true,
                       .has_status_server = false};
constexpr Profile v2_2_1{.version = "v2.2.1",
                         .jobset = "v0.11.1",
                         .env_injection = false,
                         .judges_uris = false,
                         .longest_word = 65536,
                         .judges_mounts = false,
                         .obeys_managed_by = false,
                         .takes_snapshots = false,
                         .merges_resources = false};

// As `of`, but for what `change` does to it.
template <class Change>
constexpr Profile changed(Profile of, std::string_view version, Change change) {
  of.version = version;
  change(of);
  return of;
}

constexpr std::array all_trainer_profiles{
    changed(v2_1, "v2.0.0",
            [](Profile& p) {
              p.jobset = "v0.8.2";
              p.overrides = Overrides::pod_spec;
              p.volcano = false;
              p.judges_names = false;
              p.judges_containers = false;
              p.writes_jobs_status = false;
              p.counts_own_amounts = true;
              p.remakes_complete = false;
              p.leaves_failed = true;
            }),
    v2_1,
    changed(v2_2_1, "v2.2.0", [](Profile& p) { p.before_or_after = false; }),
    v2_2_1,
    Profile{.version = "v2.3.0", .jobset = "v0.12.0"},
    Profile{.version = "master", .jobset = "v0.12.0", .judges_counts = true, .leaves_failed = true},
    Profile{.version = "lenient",
            .jobset = "v0.12.0",
            .proc_words = true,
            .elastic_policy = true,
            .job_labels = true,
            .normalises = true},
};
constexpr std::size_t v2_3_0 = 4;
static_assert(all_trainer_profiles.size() == profile_count);
static_assert(all_trainer_profiles[v2_3_0].version == "v2.3.0");

// Releases, and tags that changed nothing in behaviour.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> trainer_aliases{{
    {"2.0", "2.0.0"},
    {"2.0.1", "2.0.0"},
    {"2.1", "2.1.0"},
    {"2.2", "2.2.1"},
    {"2.3", "2.3.0"},
}};

constexpr std::string_view bare_trainer_tag(std::string_view tag) {
  return tag.starts_with('v') ? tag.substr(1) : tag;
}

}  // namespace

std::span<const Profile> profiles() { return all_trainer_profiles; }

const Profile* find_profile(std::string_view version) {
  std::string_view tag = bare_trainer_tag(version);
  for (const auto& [alias, known] : trainer_aliases)
    if (alias == tag) {
      tag = known;
      break;
    }
  for (const Profile& profile : all_trainer_profiles)
    if (bare_trainer_tag(profile.version) == tag) return &profile;
  return nullptr;
}

bool set_gates(std::string_view gates, Profile& to) {
  constexpr std::string_view gate = "TrainJobStatus=";
  while (!gates.empty()) {
    const std::string_view one = gates.substr(0, gates.find(','));
    const std::string_view value = one.substr(std::min(gate.size(), one.size()));
    if (!one.starts_with(gate) || (value != "true" && value != "false")) return false;
    to.serves_status = to.has_status_server && value == "true";
    gates.remove_prefix(std::min(one.size() + 1, gates.size()));
  }
  return true;
}

const Profile& default_profile() { return all_trainer_profiles[v2_3_0]; }

}  // namespace ddptwin::controller::trainer
