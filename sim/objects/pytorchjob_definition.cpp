#include "objects/pytorchjob_definition.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/pod_schema_notes.hpp"
#include "objects/pytorchjob.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {
namespace {

using What = SchemaNote::What;

constexpr std::array common_notes{
    SchemaNote{"v1.PyTorchJobSpec", "", What::required, "pytorchReplicaSpecs"},
    SchemaNote{"v1.RunPolicy", "suspend", What::fallback, "false"},
    SchemaNote{"v1.JobCondition", "", What::required, "status,type"},
};

constexpr SchemaNote queue_note{"v1.SchedulingPolicy", "queue", What::immutable,
                                "spec.runPolicy.schedulingPolicy.queue is immutable"};
constexpr SchemaNote no_managed_by{"v1.RunPolicy", "managedBy", What::absent, ""};

}  // namespace

RawJson pytorchjob_schema(const PyTorchJobSchemaOptions& options) {
  std::vector<SchemaNote> notes(common_notes.begin(), common_notes.end());
  const auto of_pods = pod_schema_notes();
  notes.insert(notes.end(), of_pods.begin(), of_pods.end());
  if (options.keyed_lists) {
    const auto of_lists = keyed_pod_list_notes();
    notes.insert(notes.end(), of_lists.begin(), of_lists.end());
  }
  if (options.immutable_queue) notes.push_back(queue_note);
  if (!options.managed_by) notes.push_back(no_managed_by);
  Json out = schema_of(PyTorchJob::type(), notes);
  out.get_object()["properties"].get_object().erase("metadata");
  return RawJson(std::move(out));
}

}  // namespace ddptwin
