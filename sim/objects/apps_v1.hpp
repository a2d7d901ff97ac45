// apps/v1: StatefulSet, ControllerRevision (spec/kubernetes.md §4).
#pragma once

#include "objects/volume_claims.hpp"

namespace ddptwin {

struct RollingUpdateStatefulSetStrategy {
  std::optional<std::int32_t> partition{};
  // Gate MaxUnavailableStatefulSet, off by default: whatever it says is dropped when it is stored.
  RawJson maxUnavailable{};
  static const Type& type();
};
struct StatefulSetUpdateStrategy {
  std::string type_{};  // RollingUpdate, OnDelete
  std::optional<RollingUpdateStatefulSetStrategy> rollingUpdate{};
  static const Type& type();
};
struct ClaimRetentionPolicy {
  std::string whenDeleted{};  // Retain, Delete
  std::string whenScaled{};
  static const Type& type();
};
struct StatefulSetOrdinals {
  std::int32_t start = 0;
  static const Type& type();
};
struct StatefulSetSpec {
  std::optional<std::int32_t> replicas{};
  std::optional<LabelSelector> selector{};
  PodTemplateSpec template_{};
  std::vector<ClaimTemplate> volumeClaimTemplates{};
  std::string serviceName{};
  std::string podManagementPolicy{};  // OrderedReady, Parallel
  StatefulSetUpdateStrategy updateStrategy{};
  std::optional<std::int32_t> revisionHistoryLimit{};
  std::int32_t minReadySeconds = 0;
  std::optional<ClaimRetentionPolicy> persistentVolumeClaimRetentionPolicy{};
  std::optional<StatefulSetOrdinals> ordinals{};
  static const Type& type();
};
struct StatefulSetStatus {
  std::int64_t observedGeneration = 0;
  std::int32_t replicas = 0;
  std::int32_t readyReplicas = 0;
  std::int32_t currentReplicas = 0;
  std::int32_t updatedReplicas = 0;
  std::string currentRevision{};
  std::string updateRevision{};
  std::optional<std::int32_t> collisionCount{};
  std::vector<Condition> conditions{};
  std::int32_t availableReplicas = 0;
  static const Type& type();
  bool operator==(const StatefulSetStatus& other) const;
};
struct StatefulSet final : ObjectOf<StatefulSet> {
  Cow<StatefulSetSpec> spec{};
  StatefulSetStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

struct ControllerRevision final : ObjectOf<ControllerRevision> {
  RawJson data{};
  std::int64_t revision = 0;
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
