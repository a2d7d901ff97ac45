// T9k's kinds of scheduling: scheduler.tensorstack.dev/v1beta1 PodGroup and Queue
// (spec/t9k.md §14).
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct T9kPodGroupSpec {
  std::int32_t minMember = 0;
  std::optional<std::int32_t> priority{};
  std::string queue{};
  static const Type& type();
};

struct T9kPodGroupCondition {
  std::string type_{};  // SufficientGroupMember, GroupScheduled
  std::string status{};
  std::string reason{};
  std::string message{};
  OptionalTime lastTransitionTime{};
  static const Type& type();
  bool operator==(const T9kPodGroupCondition&) const = default;
};

struct T9kPodGroupStatus {
  std::vector<T9kPodGroupCondition> conditions{};
  static const Type& type();
  bool operator==(const T9kPodGroupStatus&) const = default;
};

struct T9kPodGroup final : ObjectOf<T9kPodGroup> {
  T9kPodGroupSpec spec{};
  std::optional<T9kPodGroupStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct T9kQueueQuota {
  Cow<ResourceList> requests{};
  static const Type& type();
};

struct T9kQueueSpec {
  std::int32_t priority = 0;
  std::optional<bool> preemptible{};  // unset: yes
  bool closed = false;
  std::optional<T9kQueueQuota> quota{};
  std::string maxDuration{};  // "1h", "1d12h"; empty: no limit
  Cow<StringMap> nodeSelector{};
  static const Type& type();
};

// Not namespaced: every project may use it.
struct T9kQueue final : ObjectOf<T9kQueue> {
  T9kQueueSpec spec{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
