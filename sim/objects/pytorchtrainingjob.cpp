#include "objects/pytorchtrainingjob.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_schema_notes.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {

const Type& PyTorchTrainingJobReplicas::type() {
  using S = PyTorchTrainingJobReplicas;
  static const Type t =
      structure<S>("v1beta1.PyTorchTrainingJobReplicaSpec",
                   {F(replicas), F(restartPolicy), F(scalingWeight), F(template_), F(type_)});
  return t;
}
const Type& TorchrunConfig::type() {
  using S = TorchrunConfig;
  static const Type t =
      structure<S>("v1beta1.TorchrunConfig",
                   {F(enabled), F(maxRestarts), F(procPerNode), F(rdzvBackend), F(extraOptions)});
  return t;
}
const Type& ElasticConfig::type() {
  using S = ElasticConfig;
  static const Type t = structure<S>(
      "v1beta1.ElasticConfig", {F(enabled), F(minReplicas), F(maxReplicas), F(expectedReplicas)});
  return t;
}
const Type& DebugReplicas::type() {
  using S = DebugReplicas;
  static const Type t =
      structure<S>("v1beta1.DebugReplicaSpec", {F(type_), F(skipInitContainer), F(command)});
  return t;
}
const Type& DebugMode::type() {
  using S = DebugMode;
  static const Type t = structure<S>("v1beta1.DebugMode", {F(enabled), F(replicaSpecs)});
  return t;
}
const Type& ResumeReplicas::type() {
  using S = ResumeReplicas;
  static const Type t =
      structure<S>("v1beta1.ResumeSpec", {F(type_), F(skipInitContainer), F(command), F(args)});
  return t;
}
const Type& PauseMode::type() {
  using S = PauseMode;
  static const Type t = structure<S>("v1beta1.PauseMode", {F(enabled), F(resumeSpecs)});
  return t;
}
const Type& TrainingRunMode::type() {
  using S = TrainingRunMode;
  static const Type t = structure<S>("v1beta1.RunMode", {F(debug), F(pause)});
  return t;
}
const Type& TrainingRunPolicy::type() {
  using S = TrainingRunPolicy;
  static const Type t = structure<S>("v1beta1.RunPolicy",
                                     {F(activeDeadlineSeconds), F(backoffLimit), F(cleanUpPolicy)});
  return t;
}
const Type& T9kSchedulerChoice::type() {
  using S = T9kSchedulerChoice;
  static const Type t = structure<S>("v1beta1.T9kScheduler", {F(queue), F(priority)});
  return t;
}
const Type& TrainingScheduler::type() {
  using S = TrainingScheduler;
  static const Type t = structure<S>("v1beta1.SchedulePolicy", {F(t9kScheduler)});
  return t;
}
const Type& PyTorchTrainingJobSpec::type() {
  using S = PyTorchTrainingJobSpec;
  static const Type t = structure<S>("v1beta1.PyTorchTrainingJobSpec",
                                     {F(replicaSpecs), F(torchrunConfig), F(elastic), F(runMode),
                                      F(runPolicy), F(tensorboardSpec), F(scheduler)});
  return t;
}
const Type& TrainingCondition::type() {
  using S = TrainingCondition;
  static const Type t =
      structure<S>("v1beta1.JobCondition", {F(lastTransitionTime), F(message), F(reason),
                                            F(status, .always = true), F(type_, .always = true)});
  return t;
}
const Type& TaskContainer::type() {
  using S = TaskContainer;
  static const Type t = structure<S>("v1beta1.ContainerStatus", {F(exitCode), F(name), F(state)});
  return t;
}
const Type& TaskReplica::type() {
  using S = TaskReplica;
  static const Type t =
      structure<S>("v1beta1.ReplicaStatus",
                   {F(containers), F(lastRestartedUID), F(name), F(phase, .always = true), F(uid)});
  return t;
}
const Type& TrainingTask::type() {
  using S = TrainingTask;
  static const Type t =
      structure<S>("v1beta1.Task", {F(replicas), F(restartCount), F(type_, .always = true)});
  return t;
}
const Type& TaskAggregate::type() {
  using S = TaskAggregate;
  static const Type t =
      structure<S>("v1beta1.Aggregate", {F(creating, .always = true), F(deleted, .always = true),
                                         F(failed, .always = true), F(pending, .always = true),
                                         F(running, .always = true), F(succeeded, .always = true),
                                         F(unknown, .always = true)});
  return t;
}
const Type& DependentReference::type() {
  using S = DependentReference;
  static const Type t = structure<S>("v1beta1.DependentReference",
                                     {F(apiVersion), F(kind), F(name), F(namespace_), F(uid)});
  return t;
}
const Type& DependentStatus::type() {
  using S = DependentStatus;
  static const Type t = structure<S>(
      "v1beta1.DependentStatus",
      {F(action), F(dependent), F(note), F(ready, .always = true), F(reason), F(type_)});
  return t;
}
const Type& PyTorchTrainingJobStatus::type() {
  using S = PyTorchTrainingJobStatus;
  static const Type t =
      structure<S>("v1beta1.PyTorchTrainingJobStatus",
                   {F(aggregate, .always = true), F(backoffCount), F(conditions),
                    F(phase, .always = true), F(startTime), F(tasks), F(tensorboard)});
  return t;
}
const TrainingCondition* PyTorchTrainingJobStatus::condition(std::string_view wanted) const {
  for (const TrainingCondition& one : conditions)
    if (one.type_ == wanted) return &one;
  return nullptr;
}
bool PyTorchTrainingJobStatus::is_true(std::string_view wanted) const {
  const TrainingCondition* one = condition(wanted);
  return one != nullptr && one->status == "True";
}
const TrainingTask* PyTorchTrainingJobStatus::task(std::string_view wanted) const {
  for (const TrainingTask& one : tasks)
    if (one.type_ == wanted) return &one;
  return nullptr;
}
const Type& PyTorchTrainingJob::type() {
  using S = PyTorchTrainingJob;
  static const Type t =
      structure<S>("v1beta1.PyTorchTrainingJob", {F(metadata), F(spec), F(status)});
  return t;
}
const Type& TensorBoardSpec::type() {
  using S = TensorBoardSpec;
  static const Type t = structure<S>("v1beta1.TensorBoardSpec", {F(suspend)});
  return t;
}
const Type& TensorBoardStatus::type() {
  using S = TensorBoardStatus;
  static const Type t = structure<S>("v1beta1.TensorBoardStatus", {F(ready, .always = true)});
  return t;
}
const Type& TensorBoard::type() {
  using S = TensorBoard;
  static const Type t = structure<S>("v1beta1.TensorBoard", {F(metadata), F(spec), F(status)});
  return t;
}

// ---- the definition
// ------------------------------------------------------------------------------

namespace {

namespace json = boost::json;
using What = SchemaNote::What;

constexpr std::array training_notes{
    SchemaNote{"v1beta1.PyTorchTrainingJobSpec", "", What::required, "replicaSpecs"},
    SchemaNote{"v1beta1.PyTorchTrainingJobSpec", "runPolicy", What::fallback, "{}"},
    SchemaNote{"v1beta1.PyTorchTrainingJobReplicaSpec", "", What::required, "template,type"},
    SchemaNote{"v1beta1.PyTorchTrainingJobReplicaSpec", "replicas", What::fallback, "1"},
    SchemaNote{"v1beta1.PyTorchTrainingJobReplicaSpec", "scalingWeight", What::fallback, "1"},
    SchemaNote{"v1beta1.DebugReplicaSpec", "", What::required, "type"},
    SchemaNote{"v1beta1.ResumeSpec", "", What::required, "type"},
    SchemaNote{"v1beta1.RunPolicy", "backoffLimit", What::fallback, "3"},
    SchemaNote{"v1beta1.JobCondition", "", What::required, "status,type"},
};

// What a schema says of a field beyond its type: the structures and the field by their names.
struct Bound {
  std::string_view path;  // of members, "[]" stands for a list's items
  std::string_view key;
  std::string value;  // JSON
};

std::string text(std::string_view value) { return fmt::format("\"{}\"", value); }

// spec/t9k.md §2.1.
std::vector<Bound> bounds() {
  return {
      {"replicaSpecs", "minItems", "1"},  // PROPOSED
      {"replicaSpecs[].replicas", "minimum", "0"},
      {"replicaSpecs[].scalingWeight", "minimum", "0"},
      {"replicaSpecs[].restartPolicy", "enum", R"(["Never","OnFailure","Always","ExitCode"])"},
      {"replicaSpecs[].restartPolicy", "default", text(training_restart_policy)},
      {"torchrunConfig.maxRestarts", "minimum", "0"},
      {"torchrunConfig.procPerNode", "pattern", text("^([1-9][0-9]*|gpu)$")},  // PROPOSED
      {"torchrunConfig.procPerNode", "default", text(training_processes)},
      {"torchrunConfig.rdzvBackend", "enum", R"(["c10d","etcd","etcd-v2"])"},
      {"torchrunConfig.rdzvBackend", "default", text("c10d")},
      {"elastic.minReplicas", "minimum", "1"},
      {"elastic.maxReplicas", "minimum", "1"},
      {"runPolicy.activeDeadlineSeconds", "minimum", "1"},
      {"runPolicy.backoffLimit", "minimum", "0"},
      {"runPolicy.cleanUpPolicy", "enum", R"(["None","All","Unfinished"])"},
      {"runPolicy.cleanUpPolicy", "default", text(training_clean_up)},
      {"scheduler.t9kScheduler.priority", "minimum", "0"},
      {"scheduler.t9kScheduler.priority", "maximum", "100"},
      {"scheduler.t9kScheduler.priority", "default", std::to_string(training_priority)},
      {"scheduler.t9kScheduler.queue", "default", text(training_queue)},
  };
}

json::object& schema_at(json::object& spec, std::string_view path) {
  json::object* at = &spec;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view name = path.substr(0, dot);
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
    const bool items = name.ends_with("[]");
    if (items) name.remove_suffix(2);
    at = &at->at("properties").as_object().at(name).as_object();
    if (items) at = &at->at("items").as_object();
  }
  return *at;
}

std::shared_ptr<Object> make_tensorboard() { return std::make_shared<TensorBoard>(); }
std::shared_ptr<Object> make_training_job() { return std::make_shared<PyTorchTrainingJob>(); }

}  // namespace

RawJson pytorchtrainingjob_schema() {
  std::vector<SchemaNote> notes(training_notes.begin(), training_notes.end());
  const auto of_pods = pod_schema_notes();
  notes.insert(notes.end(), of_pods.begin(), of_pods.end());
  Json out = schema_of(PyTorchTrainingJob::type(), notes);
  json::object& whole = out.get_object();
  json::object& properties = whole["properties"].as_object();
  properties.erase("metadata");
  json::object& spec = properties["spec"].as_object();
  for (const Bound& one : bounds()) schema_at(spec, one.path)[one.key] = json::parse(one.value);
  whole["required"] = json::array{"spec"};
  return RawJson(std::move(out));
}

const KindInfo& PyTorchTrainingJob::info() {
  static const KindInfo kind{
      .group = "batch.tensorstack.dev",
      .version = "v1beta1",
      .kind = "PyTorchTrainingJob",
      .plural = "pytorchtrainingjobs",
      .singular = "pytorchtrainingjob",
      .status = true,
      .custom = true,
      .schema = pytorchtrainingjob_schema(),
      .type = &PyTorchTrainingJob::type,
      .make = &make_training_job,
      .columns = {{.name = "Phase", .type = "string", .json_path = ".status.phase"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

const KindInfo& TensorBoard::info() {
  static const KindInfo kind{
      .group = "tensorstack.dev",
      .version = "v1beta1",
      .kind = "TensorBoard",
      .plural = "tensorboards",
      .singular = "tensorboard",
      .status = true,
      .custom = true,
      .type = &TensorBoard::type,
      .make = &make_tensorboard,
      .columns = {{.name = "Ready", .type = "boolean", .json_path = ".status.ready"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
