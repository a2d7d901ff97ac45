#include "objects/ddptask.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {

const Type& DDPTaskWorker::type() {
  using S = DDPTaskWorker;
  static const Type t = structure<S>("aistudio.WorkerSpec", {F(gpus), F(cpu), F(memory)});
  return t;
}
const Type& DDPTaskVariable::type() {
  using S = DDPTaskVariable;
  static const Type t = structure<S>("aistudio.Variable", {F(name), F(value)});
  return t;
}
const Type& DDPTaskMount::type() {
  using S = DDPTaskMount;
  static const Type t = structure<S>("aistudio.Mount", {F(name), F(path), F(readOnly)});
  return t;
}
const Type& DDPTaskSelfCheck::type() {
  using S = DDPTaskSelfCheck;
  static const Type t =
      structure<S>("aistudio.SelfCheck", {F(enabled), F(items), F(onFailure), F(timeoutSeconds)});
  return t;
}
const Type& DDPTaskFaultTolerance::type() {
  using S = DDPTaskFaultTolerance;
  static const Type t = structure<S>("aistudio.FaultTolerance", {F(enabled), F(maxRetries)});
  return t;
}
const Type& DDPTaskSpec::type() {
  using S = DDPTaskSpec;
  static const Type t =
      structure<S>("aistudio.DDPTaskSpec",
                   {F(framework), F(workers), F(workerSpec), F(image), F(entrypoint), F(env),
                    F(mounts), F(selfCheck), F(faultTolerance), F(debug), F(stop)});
  return t;
}
const Type& DDPTaskWorkerStatus::type() {
  using S = DDPTaskWorkerStatus;
  static const Type t = structure<S>(
      "aistudio.WorkerStatus",
      {F(name), F(rank, .always = true), F(phase, .always = true), F(exitCode), F(node), F(uid)});
  return t;
}
const Type& DDPTaskFinding::type() {
  using S = DDPTaskFinding;
  static const Type t = structure<S>(
      "aistudio.Finding",
      {F(item), F(worker, .always = true), F(peer), F(ok, .always = true), F(message)});
  return t;
}
const Type& DDPTaskCheckStatus::type() {
  using S = DDPTaskCheckStatus;
  static const Type t =
      structure<S>("aistudio.SelfCheckStatus", {F(state), F(startTime), F(results)});
  return t;
}
const Type& DDPTaskStatus::type() {
  using S = DDPTaskStatus;
  static const Type t =
      structure<S>("aistudio.DDPTaskStatus",
                   {F(phase, .always = true), F(reason), F(message), F(attempt, .always = true),
                    F(workers), F(selfCheck), F(startTime), F(finishTime), F(excludedNodes)});
  return t;
}
const Type& DDPTask::type() {
  using S = DDPTask;
  static const Type t = structure<S>("aistudio.DDPTask", {F(metadata), F(spec), F(status)});
  return t;
}

// ---- the definition ----------------------------------------------------------------------------

namespace {

namespace json = boost::json;
using What = SchemaNote::What;

// spec/aistudio.md §2.
constexpr std::array task_notes{
    SchemaNote{"aistudio.DDPTaskSpec", "", What::required, "image,entrypoint"},
    SchemaNote{"aistudio.DDPTaskSpec", "framework", What::fallback, "\"PytorchDDP\""},
    SchemaNote{"aistudio.DDPTaskSpec", "framework", What::allowed, "PytorchDDP"},
    SchemaNote{"aistudio.DDPTaskSpec", "workers", What::fallback, "1"},
    SchemaNote{"aistudio.DDPTaskSpec", "workers", What::minimum, "1"},
    SchemaNote{"aistudio.DDPTaskSpec", "workerSpec", What::fallback, "{}"},
    SchemaNote{"aistudio.DDPTaskSpec", "selfCheck", What::fallback, "{}"},
    SchemaNote{"aistudio.DDPTaskSpec", "faultTolerance", What::fallback, "{}"},
    SchemaNote{"aistudio.DDPTaskSpec", "image", What::min_length, "1"},
    SchemaNote{"aistudio.DDPTaskSpec", "entrypoint", What::min_length, "1"},
    SchemaNote{"aistudio.WorkerSpec", "gpus", What::fallback, "0"},
    SchemaNote{"aistudio.WorkerSpec", "gpus", What::minimum, "0"},
    SchemaNote{"aistudio.Variable", "", What::required, "name"},
    SchemaNote{"aistudio.Mount", "", What::required, "name,path"},
    SchemaNote{"aistudio.SelfCheck", "enabled", What::fallback, "true"},
    SchemaNote{"aistudio.SelfCheck", "items", What::fallback, R"(["network","gpu","storage"])"},
    SchemaNote{"aistudio.SelfCheck", "onFailure", What::fallback, "\"Block\""},
    SchemaNote{"aistudio.SelfCheck", "onFailure", What::allowed, "Block,Report"},
    SchemaNote{"aistudio.SelfCheck", "timeoutSeconds", What::fallback, "300"},
    SchemaNote{"aistudio.SelfCheck", "timeoutSeconds", What::minimum, "1"},
    SchemaNote{"aistudio.FaultTolerance", "enabled", What::fallback, "false"},
    SchemaNote{"aistudio.FaultTolerance", "maxRetries", What::fallback, "0"},
    SchemaNote{"aistudio.FaultTolerance", "maxRetries", What::minimum, "0"},
};

}  // namespace

RawJson ddptask_schema() {
  Json out = schema_of(DDPTask::type(), task_notes);
  json::object& whole = out.get_object();
  whole["properties"].as_object().erase("metadata");
  whole["required"] = json::array{"spec"};
  return RawJson(std::move(out));
}

const KindInfo& DDPTask::info() {
  static const KindInfo kind{
      .group = "aistudio.twin",
      .version = "v1",
      .kind = "DDPTask",
      .plural = "ddptasks",
      .singular = "ddptask",
      .status = true,
      .custom = true,
      .schema = ddptask_schema(),
      .type = &DDPTask::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<DDPTask>(); },
      .columns = {{.name = "Phase", .type = "string", .json_path = ".status.phase"},
                  {.name = "Reason", .type = "string", .json_path = ".status.reason"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
