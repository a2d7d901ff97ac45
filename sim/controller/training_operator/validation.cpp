#include "controller/training_operator/validation.hpp"

#include <algorithm>

#include "controller/training_operator/names.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr std::size_t label_length_max = 63;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alphanumeric(char c) { return is_lower(c) || (c >= '0' && c <= '9'); }

tl::unexpected<Error> invalid(std::string message) {
  return fail(Reason::invalid, std::move(message));
}

Status validate_replica(const std::string& type, const ReplicaSpec& spec) {
  const std::string start = "PyTorchJobSpec is not valid: ";
  const auto& containers = spec.template_.spec->containers;
  if (containers.empty()) return invalid(start + "containers definition expected in " + type);
  if (type != master_type && type != worker_type)
    return invalid("PyTorchReplicaType is " + type + " but must be one of [Master Worker]");
  for (const Container& container : containers)
    if (container.image.empty())
      return invalid(start + "Image is undefined in the container of " + type);
  if (std::none_of(containers.begin(), containers.end(),
                   [](const Container& c) { return c.name == container_name; }))
    return invalid(start + "There is no container named pytorch in " + type);
  if (type == master_type && spec.replicas.value_or(1) != 1)
    return invalid(start + "There must be only 1 master replica");
  return {};
}

}  // namespace

std::vector<std::string> dns_label_errors(std::string_view name) {
  std::vector<std::string> errors;
  if (name.size() > label_length_max) errors.emplace_back("must be no more than 63 characters");
  const bool matches =
      !name.empty() && is_lower(name.front()) && is_alphanumeric(name.back()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
  if (!matches)
    errors.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return errors;
}

Status validate(const PyTorchJob& job) {
  std::string errors;
  for (const std::string& error : dns_label_errors(job.metadata.name))
    errors += (errors.empty() ? "" : " ") + error;
  if (!errors.empty()) return invalid("PyTorchJob name is invalid: [" + errors + "]");
  if (!job.spec->pytorchReplicaSpecs) return invalid("PyTorchJobSpec is not valid");
  for (const auto& [type, spec] : *job.spec->pytorchReplicaSpecs)
    TRY_VOID(validate_replica(type, spec));
  if (job.spec->nprocPerNode && job.spec->elasticPolicy && job.spec->elasticPolicy->nProcPerNode)
    return invalid(
        ".spec.elasticPolicy.nProcPerNode is deprecated, use .spec.nprocPerNode instead");
  return {};
}

}  // namespace ddptwin::controller::pytorchjob
