#include "controller/trainer/snapshot.hpp"

#include <fmt/format.h>

#include "controller/toolkit/ownership.hpp"
#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"
#include "objects/yaml.hpp"
#include "objects/yaml_text.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

// As Go writes it: what is not omitted where it is empty stands there, too.
Json go_value_of(const Object& runtime) {
  Json all = encode(runtime);
  // The operator's cache is without it.
  all.get_object()["metadata"].get_object().erase("managedFields");
  all.get_object()["spec"] = to_json(spec_of_runtime(runtime));
  return all;
}

tl::unexpected<Error> invalid_snapshot(std::string_view why) {
  return fail(Reason::bad_input, fmt::format("invalid runtime snapshot: {}", why));
}

struct Named {
  std::string name, group, kind;
};
Named named_in(const json::object& runtime) {
  const std::string_view version = text_in(runtime, "apiVersion");
  const json::value* metadata = runtime.if_contains("metadata");
  Named named;
  if (metadata != nullptr && metadata->is_object())
    named.name = text_in(metadata->get_object(), "name");
  if (const std::size_t slash = version.find('/'); slash != version.npos)
    named.group = version.substr(0, slash);
  named.kind = text_in(runtime, "kind");
  return named;
}

}  // namespace

const TrainingRuntimeSpec& spec_of_runtime(const Object& runtime) {
  if (const auto* of_cluster = as<ClusterTrainingRuntime>(runtime)) return *of_cluster->spec;
  return *as<TrainingRuntime>(runtime)->spec;
}

const KindInfo* runtime_kind_of(const TrainJob& job) {
  const RuntimeRef& ref = job.spec->runtimeRef;
  for (const KindInfo* kind : {&TrainingRuntime::info(), &ClusterTrainingRuntime::info()})
    if (ref.kind.value_or("") == kind->kind && ref.apiGroup.value_or("") == kind->group)
      return kind;
  return nullptr;
}

std::string runtime_name_of_kind(const TrainJob& job) {
  const RuntimeRef& ref = job.spec->runtimeRef;
  const std::string group = ref.apiGroup.value_or("");
  return ref.kind.value_or("") + (group.empty() ? "" : "." + group);
}

Applied snapshot_of(const TrainJob& job, const Object& runtime) {
  json::object body = new_body(ConfigMap::info(),
                               fmt::format("{}{}", job.metadata.name.view(), snapshot_suffix), job);
  body["data"] = json::object{{snapshot_key, to_yaml_text(go_value_of(runtime))}};
  return {&ConfigMap::info(), std::move(body), nullptr};
}

Result<TrainingRuntimeSpec> read_snapshot(const TrainJob& job, const ConfigMap& snapshot) {
  if (!is_controlled_by(snapshot, job))
    return invalid_snapshot("a snapshot configmap exists but is owned by another object");
  const auto found = snapshot.data->find(snapshot_key);
  if (found == snapshot.data->end())
    return invalid_snapshot(
        fmt::format("snapshot ConfigMap missing \"{}\" data key", snapshot_key));
  const auto documents = parse_yaml(found->second.view(), "runtime");
  if (!documents || documents->size() != 1 || !documents->front().value.is_object())
    return invalid_snapshot(fmt::format("unable to unmarshal the snapshot: {}",
                                        documents ? "it is no object" : documents.error().text()));
  const json::object& runtime = documents->front().value.get_object();
  const Named is = named_in(runtime);
  const RuntimeRef& ref = job.spec->runtimeRef;
  if (is.name != ref.name || is.kind != ref.kind.value_or(is.kind) ||
      is.group != ref.apiGroup.value_or(is.group))
    return invalid_snapshot(fmt::format(
        "the snapshot refers to the wrong runtime: expecting a runtime with name, api group and "
        "kind of \"{}\", \"{}\", \"{}\" but found runtime with name, api group and kind of \"{}\", "
        "\"{}\", \"{}\"",
        ref.name, ref.apiGroup.value_or("<any>"), ref.kind.value_or("<any>"), is.name, is.group,
        is.kind));
  const json::value* spec = runtime.if_contains("spec");
  if (spec == nullptr) return TrainingRuntimeSpec();
  auto read = from_json<TrainingRuntimeSpec>(*spec);
  if (!read)
    return invalid_snapshot(
        fmt::format("unable to unmarshal the snapshot: {}", read.error().text()));
  return read;
}

}  // namespace ddptwin::controller::trainer
