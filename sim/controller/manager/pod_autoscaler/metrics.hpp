// What a cluster's metrics APIs answer the autoscaler: in the twin what a scenario's steps play.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::controller::pod_autoscaler {

// What is measured from now on, of all objects that it is about: those that come later too.
struct Measured {
  std::function<bool(const Object&)> of{};  // null: of nothing in the cluster (an external metric)
  std::string container{};                  // of a pod that uses it; empty: the first
  std::map<std::string, Quantity, std::less<>> resources{};  // cpu, memory
  std::map<std::string, Quantity, std::less<>> values{};     // of other metrics, by name
};

// By a pod's name, in thousandths.
using PodValues = std::map<std::string, std::int64_t>;
using Pods = std::vector<std::shared_ptr<const Pod>>;

// A cluster has none of these APIs until something of theirs is measured. What came last holds.
// Errors are in the words of the autoscaler's own client (pkg/controller/podautoscaler/metrics).
class MetricsApi {
 public:
  void measure(Measured row) { rows_.push_back(std::move(row)); }

  // Of those of the pods that run. An empty container means all of a pod.
  Result<PodValues> of_resource(const Pods& pods, std::string_view resource,
                                std::string_view container) const;
  Result<PodValues> of_pods(const Pods& pods, std::string_view metric) const;
  Result<std::int64_t> of_object(const Object* object, std::string_view resource,
                                 std::string_view name, std::string_view metric) const;
  Result<std::int64_t> of_nothing(std::string_view metric) const;

 private:
  bool any(const std::function<bool(const Measured&)>& is) const;
  std::optional<std::int64_t> value_of(const Object* object, std::string_view metric) const;

  std::vector<Measured> rows_{};
};

}  // namespace ddptwin::controller::pod_autoscaler
