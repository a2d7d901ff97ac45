// The versions of Kubeflow Trainer that the twin can be, and in what they differ
// (spec/trainjob.md §0.1-0.3). All of them serve trainer.kubeflow.org/v1alpha1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ddptwin::controller::trainer {

// How a TrainJob changes its runtime's pods.
enum class Overrides : std::uint8_t { pod_spec, pod_template, runtime_patches };

struct Profile {
  std::string_view version;  // "v2.3.0", "lenient"
  std::string_view jobset;   // the JobSet that it is released with

  // What its definitions know.
  Overrides overrides = Overrides::runtime_patches;
  bool proc_words = false;      // auto, cpu and gpu, in trainer.numProcPerNode too; up to v2.1
  bool elastic_policy = false;  // torch.elasticPolicy, which nothing obeys; up to v2.1
  bool job_labels = false;      // spec.labels and spec.annotations; up to v2.1
  bool frameworks = true;       // jax, xgboost and flux; from v2.2
  bool volcano = true;          // from v2.1
  bool env_injection = true;    // from v2.3
  bool deadline = true;         // activeDeadlineSeconds; from v2.2
  bool keeps_trainer = true;    // trainer and initializer are immutable; from v2.2
  bool judges_names = true;     // by the definition; from v2.1, before by the webhook
  bool judges_uris = true;      // storageUri; from v2.3
  bool judges_counts = false;   // numNodes >= 0, numProcPerNode >= 1; after v2.3
  std::uint32_t longest_word = 1048576;  // of command and args

  // What its webhooks do.
  bool stamps_patches = true;     // there is a mutating webhook; from v2.2
  bool judges_containers = true;  // the container of a runtime's ancestor; from v2.1
  bool judges_mounts = true;      // an initializer's volume; from v2.3
  bool before_or_after = true;    // patches may change where either of both is suspended; from
                                  // v2.2.1, before only where the new one is
  // torch is judged only where trainer.numProcPerNode is said; up to v2.1
  bool needs_proc_to_judge = false;
  bool normalises = false;  // fields of older releases are taken for today's

  // What its controller does.
  bool writes_jobs_status = true;    // from v2.1
  bool obeys_managed_by = true;      // from v2.3
  bool takes_snapshots = true;       // from v2.3; before runtimes have a finalizer while in use
  bool merges_resources = true;      // by key; from v2.3, before a TrainJob's replace all
  bool counts_own_amounts = false;   // processes by trainer.resourcesPerNode alone; v2.0
  bool groups_ask_for_nodes = true;  // PodGroups count trainer.resourcesPerNode; from v2.2
  bool remakes_complete = false;     // v2.1: a finished TrainJob's objects are applied again
  bool leaves_failed = false;        // v2.0 and after v2.3: what has failed is left alone
  bool has_status_server = true;     // the gate TrainJobStatus is there; from v2.2

  // Its gates, which a cluster may switch on.
  bool serves_status = false;  // TrainJobStatus: a training's pods are told where to report
};

inline constexpr std::size_t profile_count = 7;

// Oldest first.
std::span<const Profile> profiles();
// By tag ("v2.3.0"), release ("v2.3") or name ("master", "lenient"); null when there is none such.
const Profile* find_profile(std::string_view version);
// Switches the gates of "TrainJobStatus=true" on or off, as far as the release has them. False:
// there is none such, or another value.
bool set_gates(std::string_view gates, Profile& to);
// v2.3.0: what a scenario gets that names none.
const Profile& default_profile();

}  // namespace ddptwin::controller::trainer
