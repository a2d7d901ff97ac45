// Which container of a pod is the training, and which only serve it. What a system calls its own is
// one row.
#pragma once

#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin {

// A variable by which a container knows which of a group it is, or how many they are.
bool tells_of_a_group(std::string_view variable);

// What is known of the containers of a pod's template that stands in an object of that kind, or
// whose pods such an object owns.
struct TemplateFacts {
  std::string_view kind{};
  bool restarts_always = false;               // restartPolicy: Always
  std::vector<std::string_view> names{};      // of its containers, in their order
  std::vector<std::string_view> with_rank{};  // of those whose own variables name a rank
};

// Of one that is no init container. The training is the one that the kind's system looks for, else
// the first; but what is restarted for ever, and is of no such system and no rank, trains nothing.
ContainerRole container_role(const TemplateFacts& facts, std::string_view name);
// `container` is one of the pod's. An init container that is restarted always is a sidecar.
ContainerRole container_role(const Pod& pod, const Container& container);

}  // namespace ddptwin
