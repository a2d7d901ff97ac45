// JobSet as a row: all that the rest of the twin knows of it (spec/trainjob.md §5).
#include "objects/jobset.hpp"

#include <fmt/format.h>

#include <array>

#include "cluster/store/store.hpp"
#include "controller/jobset/controller.hpp"
#include "controller/jobset/pod_webhook.hpp"
#include "controller/jobset/profile.hpp"
#include "controller/jobset/rules.hpp"
#include "controller/jobset/webhook.hpp"
#include "objects/jobset_definition.hpp"
#include "objects/schema.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/jobset/parts.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

namespace jobset = controller::jobset;

// ---- versions ----------------------------------------------------------------------------------

std::vector<std::string_view> jobset_versions() {
  std::vector<std::string_view> versions;
  for (const auto& profile : jobset::profiles()) versions.push_back(profile.version);
  return versions;
}

std::string_view find_jobset_version(std::string_view text) {
  const jobset::Profile* profile = jobset::find_profile(text);
  return profile != nullptr ? profile->version : std::string_view();
}

std::string_view default_jobset_version() { return jobset::default_profile().version; }

const jobset::Profile& jobset_profile_of(std::string_view version) {
  const jobset::Profile* profile = jobset::find_profile(version);
  DDPTWIN_ASSERT(profile != nullptr);  // find_jobset_version() gave it
  return *profile;
}

// ---- installation ------------------------------------------------------------------------------

// Compiled once a process and shared by its worlds, which only read it.
template <bool groups, bool message_patterns, bool claim_policies, bool job_restarts>
std::shared_ptr<const Schema> jobset_definition() {
  static const std::shared_ptr<const Schema> compiled = [] {
    const RawJson source = jobset_schema({.groups = groups,
                                          .message_patterns = message_patterns,
                                          .claim_policies = claim_policies,
                                          .job_restarts = job_restarts});
    auto schema = Schema::compile(*source.get());
    DDPTWIN_ASSERT(schema.has_value());  // our own text
    return std::make_shared<const Schema>(std::move(*schema));
  }();
  return compiled;
}

// Each release knows what the one before it knew.
std::shared_ptr<const Schema> jobset_definition_of(const jobset::Profile& profile) {
  if (profile.tells_restarting) return jobset_definition<true, true, true, true>();
  if (profile.claim_policies) return jobset_definition<true, true, true, false>();
  if (profile.message_patterns) return jobset_definition<true, true, false, false>();
  return jobset_definition<false, false, false, false>();
}

using Warnings = std::vector<std::string>;

Result<Warnings> fill_in_jobset(const AdmissionRequest& request) {
  jobset::fill_in(static_cast<JobSet&>(*request.object));
  return Warnings();
}

AdmissionHook review_jobset(const jobset::Profile& profile, const Store& store) {
  return [profile, &store](const AdmissionRequest& request) -> Result<Warnings> {
    if (!request.subresource.empty() || !request.object) return Warnings();
    const JobSet& set = static_cast<const JobSet&>(*request.object);
    const auto find = [&](std::string_view name) {
      return as<PersistentVolumeClaim>(
          store.find(PersistentVolumeClaim::info(), set.metadata.namespace_, name));
    };
    auto refused =
        request.old ? jobset::review_change(set, static_cast<const JobSet&>(*request.old), profile)
                    : jobset::review_new(set, profile, find);
    if (refused) return fail(std::move(*refused));
    return Warnings();
  };
}

jobset::Surroundings surroundings_in(const Store& store) {
  return {
      .pods =
          [&store](std::string_view namespace_) {
            std::vector<std::shared_ptr<const Pod>> pods;
            for (const ObjectPtr& one : store.objects(Pod::info()).of_namespace(namespace_))
              pods.push_back(as<Pod>(one));
            return pods;
          },
      .node =
          [&store](std::string_view name) { return as<Node>(store.find(Node::info(), {}, name)); }};
}

// Of a pod's creation.
template <class Judge>
AdmissionHook about_new_pods(Judge judge) {
  return [judge](const AdmissionRequest& request) -> Result<Warnings> {
    if (auto done = judge(static_cast<Pod&>(*request.object)); !done)
      return fail(std::move(done).error());
    return Warnings();
  };
}

bool takes_gates(std::string_view gates) {
  jobset::Profile profile = jobset::default_profile();
  return jobset::set_gates(gates, profile);
}

constexpr std::string_view gates_flag = "feature-gates";
constexpr std::array jobset_flags{
    SystemFlag{gates_flag, "a list of GATE=true and GATE=false, with commas between",
               "its feature gates RestartJob and ElasticJobSet, both off by default and of v0.12",
               &takes_gates}};

void install_jobset(Installer& into, const InstalledSystem& told) {
  jobset::Profile profile = jobset_profile_of(told.version);
  if (const auto gates = told.flags.find(gates_flag);
      gates != told.flags.end() && profile.tells_restarting)  // older ones have none
    jobset::set_gates(gates->second, profile);
  const Store& store = into.cluster();
  into.define(JobSet::info(), jobset_definition_of(profile));
  into.admit(AdmissionPhase::mutating, &fill_in_jobset, JobSet::info(), api::Verb::create);
  into.admit(AdmissionPhase::validating, review_jobset(profile, store), JobSet::info());
  const auto around = surroundings_in(store);
  into.admit(AdmissionPhase::mutating, about_new_pods([profile, around](Pod& pod) {
               return jobset::place(pod, around, profile);
             }),
             Pod::info(), api::Verb::create);
  into.admit(AdmissionPhase::validating,
             about_new_pods([around](Pod& pod) { return jobset::review_placement(pod, around); }),
             Pod::info(), api::Verb::create);
  into.host(jobset_actor,
            [profile] { return std::make_unique<controller::JobSetController>(profile); });
}

// ---- what its sets tell ------------------------------------------------------------------------

std::vector<scenario::ToldCondition> conditions_of_jobset(const Object& object) {
  std::vector<scenario::ToldCondition> found;
  const JobSet& set = *as<JobSet>(object);
  if (!set.status) return found;
  for (const JobSetCondition& one : set.status->conditions)
    found.push_back({one.type_, one.status, one.reason, one.message});
  return found;
}

constexpr std::array<std::string_view, 2> set_suspend{"spec", "suspend"};
constexpr std::array set_rows{scenario::JobKind{&JobSet::info, &conditions_of_jobset, "Completed",
                                                "Failed", "Suspended", set_suspend}};

// spec/trainjob.md §5.11.
constexpr std::array<std::string_view, 6> set_conditions{"Completed",
                                                         "Failed",
                                                         "Suspended",
                                                         "RestartingJobSet",
                                                         "StartupPolicyInProgress",
                                                         "StartupPolicyCompleted"};
constexpr std::array set_words{
    scenario::StatusWords{.info = &JobSet::info, .conditions = set_conditions}};

constexpr std::array set_readers{&scenario::jobset_reader};
constexpr std::array set_controllers{SystemController{"jobset", "jobset"}};
constexpr std::array<KindOf, 1> set_kinds{&JobSet::info};
constexpr std::array<KindOf, 2> set_makes{&Job::info, &PersistentVolumeClaim::info};

}  // namespace

constinit const System jobset_system{
    .name = jobset_actor,
    .title = "JobSet controller",
    .versions = &jobset_versions,
    .find_version = &find_jobset_version,
    .default_version = &default_jobset_version,
    .controllers = set_controllers,
    .rules = &jobset::rules::all,
    .kinds = set_kinds,
    .makes = set_makes,
    .jobs = set_rows,
    .states = set_words,
    .readers = set_readers,
    .invariants = &scenario::jobset_invariants,
    .flags = jobset_flags,
    .install = &install_jobset,
};

}  // namespace ddptwin
