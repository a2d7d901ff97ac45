#include "controller/training_operator/names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/concat.hpp"
#include "core/numbers.hpp"

namespace ddptwin::controller::pytorchjob {

namespace {

constexpr char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lowered(c);
  return out;
}

std::string replica_name(std::string_view job, std::string_view type, int index) {
  std::array<char, std::numeric_limits<int>::digits10 + 2> room;  // one more digit, and a sign
  const auto end = std::to_chars(room.begin(), room.end(), index).ptr;
  const std::string_view number(room.data(), static_cast<std::size_t>(end - room.data()));
  std::string name = concat({job, "-", type, "-", number});
  const auto type_at = name.begin() + static_cast<std::ptrdiff_t>(job.size() + 1);
  for (auto at = type_at; at != type_at + static_cast<std::ptrdiff_t>(type.size()); ++at)
    *at = lowered(*at);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

std::optional<int> replica_index(const ObjectMeta& metadata) {
  const Text* text = metadata.label(label::replica_index);
  if (text == nullptr) return std::nullopt;
  const auto index = go_integer<int>(*text);
  return index && *index >= 0 ? std::optional(*index) : std::nullopt;
}

std::string expectation_key(std::string_view job_key, std::string_view type,
                            std::string_view what) {
  return concat({job_key, "/", lower(type), "/", what});
}

OwnerReference owner_of(const PyTorchJob& job) {
  return OwnerReference{.apiVersion = "kubeflow.org/v1",
                        .kind = "PyTorchJob",
                        .name = job.metadata.name,
                        .uid = job.metadata.uid,
                        .controller = true,
                        .blockOwnerDeletion = true};
}

const ReplicaSpecs& replica_specs(const PyTorchJob& job) {
  static const ReplicaSpecs none{};
  return job.spec->pytorchReplicaSpecs ? *job.spec->pytorchReplicaSpecs : none;
}

const ReplicaSpec* replica_spec(const PyTorchJob& job, std::string_view type) {
  for (const auto& [name, spec] : replica_specs(job))  // two, mostly
    if (name == type) return &spec;
  return nullptr;
}

bool has_master(const PyTorchJob& job) { return replica_spec(job, master_type) != nullptr; }

bool is_suspended(const PyTorchJob& job) { return job.spec->runPolicy.suspend.value_or(false); }

int total_replicas(const PyTorchJob& job) {
  int total = 0;
  for (const auto& [type, spec] : replica_specs(job)) total += spec.replicas.value_or(1);
  return total;
}

std::optional<std::int32_t> job_port(const ReplicaSpec& spec) {
  for (const Container& container : spec.template_.spec->containers) {
    if (container.name != container_name) continue;
    for (const ContainerPort& port : container.ports)
      if (port.name == port_name) return port.containerPort;
  }
  return std::nullopt;
}

bool is_retryable(int exit_code) { return exit_code >= 128; }

}  // namespace ddptwin::controller::pytorchjob
