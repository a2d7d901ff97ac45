// kube-controller-manager's disruption controller: how many pods of a PodDisruptionBudget may be
// taken away now (spec/kubernetes.md §3.6; upstream: pkg/controller/disruption).
#pragma once

#include <map>

#include "controller/controller.hpp"

namespace ddptwin::controller {

// Counts anew with each change of a budget or of one of its pods. A pod that was evicted is out of
// the count at once; that it was is forgotten when it goes, or after two minutes.
class DisruptionController final : public Controller {
 public:
  std::string_view name() const override { return "controllermanager"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

// Its other half: warns of pods that are under several budgets, of which it counts one. By pods.
class DoubleBudgetController final : public Controller {
 public:
  std::string_view name() const override { return "controllermanager"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void reset() override { seen_.clear(); }
  std::vector<Key> remembered() const override { return keys_of(seen_); }

 private:
  // As each was when it was last heard of, and the budget that it was counted for.
  struct Seen {
    ObjectPtr pod{};
    std::string counted_for{};
  };
  mutable std::map<Key, Seen> seen_{};  // until it has been told
};

namespace disruption {

// Every rule by name, with its source.
std::span<const Rule* const> rules();

}  // namespace disruption
}  // namespace ddptwin::controller
