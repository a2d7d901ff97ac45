#include "runtime/container_role.hpp"

#include <algorithm>
#include <array>

namespace ddptwin {
namespace {

struct TrainingRow {
  std::string_view kind;       // of the owner
  std::string_view container;  // whose exit code the system goes by; empty: the first
};
constexpr std::array training_rows{
    TrainingRow{"PyTorchJob", "pytorch"},         // spec/pytorchjob.md §1
    TrainingRow{"DDPSet", ""},                    // spec/statefulset-platform.md §2
    TrainingRow{"PyTorchTrainingJob", "python"},  // spec/t9k.md §4.1
    TrainingRow{"DDPTask", "worker"},             // spec/aistudio.md §3
};

std::string_view owner_kind(const Pod& pod) {
  const std::vector<OwnerReference>& owners = *pod.metadata.ownerReferences;
  const auto controller = std::find_if(owners.begin(), owners.end(), [](const auto& owner) {
    return owner.controller.value_or(false);
  });
  return controller == owners.end() ? std::string_view() : controller->kind.view();
}

bool is_in(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool tells_of_a_group(std::string_view variable) {
  return variable == "RANK" || variable == "POD_NUMS";
}

ContainerRole container_role(const TemplateFacts& facts, std::string_view name) {
  const auto row = std::find_if(training_rows.begin(), training_rows.end(),
                                [&](const TrainingRow& one) { return one.kind == facts.kind; });
  const bool has_row = row != training_rows.end();
  if (!has_row && facts.restarts_always && !is_in(facts.with_rank, name))
    return ContainerRole::sidecar;
  const std::string_view trains =
      has_row && is_in(facts.names, row->container) ? row->container : facts.names.front();
  return name == trains ? ContainerRole::training : ContainerRole::sidecar;
}

ContainerRole container_role(const Pod& pod, const Container& container) {
  for (const Container& one : pod.spec->initContainers)
    if (one.name == container.name)
      return is_sidecar(one) ? ContainerRole::sidecar : ContainerRole::init;
  TemplateFacts facts{owner_kind(pod), pod.spec->restartPolicy == "Always", {}, {}};
  for (const Container& one : pod.spec->containers) {
    facts.names.push_back(one.name);
    if (std::any_of(one.env.begin(), one.env.end(),
                    [](const EnvVar& variable) { return tells_of_a_group(variable.name.view()); }))
      facts.with_rank.push_back(one.name);
  }
  return container_role(facts, container.name);
}

}  // namespace ddptwin
