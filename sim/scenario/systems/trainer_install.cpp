#include "scenario/systems/trainer_install.hpp"

#include <array>
#include <utility>

#include "cluster/store/store.hpp"
#include "controller/jobset/profile.hpp"
#include "controller/trainer/stock_runtimes.hpp"
#include "controller/trainer/webhook.hpp"
#include "objects/schema.hpp"
#include "objects/trainer_definition.hpp"

namespace ddptwin::scenario {
namespace {

namespace trainer = controller::trainer;

// ---- definitions -------------------------------------------------------------------------------

JobSetSchemaOptions jobset_options_of(const trainer::Profile& profile) {
  const controller::jobset::Profile* set = controller::jobset::find_profile(profile.jobset);
  DDPTWIN_ASSERT(set != nullptr);
  return {.groups = set->groups,
          .message_patterns = set->message_patterns,
          .claim_policies = set->claim_policies,
          .job_restarts = set->tells_restarting};
}

struct Definitions {
  std::shared_ptr<const Schema> job, runtime;
};

std::shared_ptr<const Schema> compiled(const RawJson& source) {
  auto schema = Schema::compile(*source.get());
  DDPTWIN_ASSERT(schema.has_value());  // our own text
  return std::make_shared<const Schema>(std::move(*schema));
}

// Compiled once a process and shared by its worlds, which only read it.
template <std::size_t row>
const Definitions& definitions_of_row() {
  static const Definitions made = [] {
    const TrainerSchemaOptions options = schema_options(trainer::profiles()[row]);
    return Definitions{compiled(trainjob_schema(options)),
                       compiled(training_runtime_schema(options))};
  }();
  return made;
}
template <std::size_t... rows>
constexpr auto all_definitions(std::index_sequence<rows...>) {
  return std::array{&definitions_of_row<rows>...};
}

const Definitions& definitions_of(const trainer::Profile& profile) {
  constexpr auto all = all_definitions(std::make_index_sequence<trainer::profile_count>());
  return all[static_cast<std::size_t>(&profile - trainer::profiles().data())]();
}

// ---- webhooks ----------------------------------------------------------------------------------

using Warnings = std::vector<std::string>;

bool is_of_object(const AdmissionRequest& request) {
  return request.subresource.empty() && request.object != nullptr;
}

AdmissionHook filler(const trainer::Profile& profile) {
  return [&profile](const AdmissionRequest& request) -> Result<Warnings> {
    if (!is_of_object(request)) return Warnings();
    return trainer::fill_in(static_cast<TrainJob&>(*request.object),
                            static_cast<const TrainJob*>(request.old.get()), request.now, profile);
  };
}

Result<Warnings> answer_of_verdict(trainer::Verdict verdict) {
  if (!verdict.refused) return std::move(verdict.warnings);
  verdict.refused->warnings = std::move(verdict.warnings);
  return fail(std::move(*verdict.refused));
}

AdmissionHook reviewer(const trainer::Profile& profile, const Store& store) {
  const trainer::Surroundings around{
      [&store](const KindInfo& kind, std::string_view namespace_, std::string_view name) {
        return store.find(kind, namespace_, name);
      }};
  return [&profile, around](const AdmissionRequest& request) -> Result<Warnings> {
    if (!is_of_object(request)) return Warnings();
    return answer_of_verdict(trainer::review(static_cast<const TrainJob&>(*request.object),
                                             static_cast<const TrainJob*>(request.old.get()),
                                             around, profile));
  };
}

AdmissionHook runtime_reviewer(const trainer::Profile& profile) {
  return [&profile](const AdmissionRequest& request) -> Result<Warnings> {
    if (!is_of_object(request)) return Warnings();
    return answer_of_verdict(trainer::review_runtime(*request.object, request.old.get(), profile));
  };
}

}  // namespace

TrainerSchemaOptions schema_options(const trainer::Profile& profile) {
  const auto has = [&profile](trainer::Overrides overrides) {
    return profile.overrides == overrides || profile.normalises;
  };
  return {.pod_spec_overrides = has(trainer::Overrides::pod_spec),
          .pod_template_overrides = has(trainer::Overrides::pod_template),
          .runtime_patches = has(trainer::Overrides::runtime_patches),
          .proc_words = profile.proc_words,
          .torch_policy = profile.elastic_policy,
          .job_labels = profile.job_labels,
          .deadline = profile.deadline,
          .keeps_trainer = profile.keeps_trainer,
          .frameworks = profile.frameworks,
          .volcano = profile.volcano,
          .env_injection = profile.env_injection,
          .grace_period = profile.env_injection,
          .names = profile.judges_names,
          .uris = profile.judges_uris,
          .counts = profile.judges_counts,
          .needs_template = !profile.volcano,
          .longest_word = profile.longest_word,
          .jobset = jobset_options_of(profile)};
}

void install_trainer_api(Installer& into, const trainer::Profile& profile) {
  const Definitions& definitions = definitions_of(profile);
  into.define(TrainJob::info(), definitions.job);
  into.admit(AdmissionPhase::mutating, filler(profile), TrainJob::info());
  into.admit(AdmissionPhase::validating, reviewer(profile, into.cluster()), TrainJob::info());
  for (const KindInfo* kind : {&TrainingRuntime::info(), &ClusterTrainingRuntime::info()}) {
    into.define(*kind, definitions.runtime);
    into.admit(AdmissionPhase::validating, runtime_reviewer(profile), *kind);
  }
  for (auto& runtime : trainer::stock_runtimes(profile)) into.provide(std::move(runtime));
}

}  // namespace ddptwin::scenario
