// What a runtime and a TrainJob come to before an object is made of them: the JobSet's
// specification as it is to be applied, and a view of its pods that plugins write in
// (spec/trainjob.md §2.4; upstream: runtime.Info).
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/trainer/profile.hpp"
#include "objects/trainjob.hpp"

namespace ddptwin::controller::trainer {

struct PodContainer {
  std::string name{};
  boost::json::array env{};
  boost::json::array ports{};
  boost::json::array mounts{};
};
// The pods of one replicated job. What stands here is written into the specification at the end:
// until then the two may differ.
struct PodSet {
  std::string name{};
  std::optional<std::string> ancestor{};
  std::int32_t count = 1;
  std::vector<PodContainer> init_containers{};
  std::vector<PodContainer> containers{};
  boost::json::array volumes{};
  std::vector<std::string> endpoints{};  // DNS names of its pods
  ResourceList requests{};               // of one pod
};

struct Info {
  StringMap labels{};  // of the JobSet alone
  StringMap annotations{};
  std::optional<MLPolicy> ml{};
  std::optional<PodGroupPolicy> pod_group{};
  StringMap pod_labels{};  // of every pod template
  StringMap pod_annotations{};
  boost::json::object spec{};      // of the JobSet, to be applied
  std::vector<PodSet> pod_sets{};  // in the order of its replicated jobs
  // What the training's container runs instead of the TrainJob's command; absent: that.
  std::optional<std::vector<std::string>> command{};
  bool serves_status = false;       // the gate TrainJobStatus is on
  bool counts_own_amounts = false;  // processes by what the TrainJob itself has for a node (v2.0)

  PodSet* trainer();  // the first of them; null: there is none
  PodSet* named(std::string_view pod_set);
  PodContainer* trainer_container();
  // Of a pod set, containers before init containers.
  PodContainer* container(std::string_view pod_set, std::string_view name);
};

// Labels, patches, resources and pod sets. The error of a patch that does not fit.
Result<Info> assemble(const TrainJob& job, const TrainingRuntimeSpec& runtime,
                      const Profile& profile);

// The pod specification of a replicated job; made where it is missing.
boost::json::object& pod_spec_of(boost::json::object& replicated_job);
boost::json::object& pod_template_of(boost::json::object& replicated_job);
// Empty where it is of none.
std::string_view ancestor_of(const boost::json::object& replicated_job);

// What one node has for its processes: the TrainJob says it, or else the runtime.
ResourceRequirements resources_per_node(const Info& info, const TrainJob& job);
// Of any vendor, by the name alone; requests before limits.
std::int64_t gpus_of(const ResourceRequirements& resources);
std::int64_t cpus_of(const ResourceRequirements& resources);  // rounded up

}  // namespace ddptwin::controller::trainer
