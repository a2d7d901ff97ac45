// The PyTorchJob controller of Kubeflow's training-operator v1 under its host: what wakes it, what
// it sees, what it keeps in memory (spec/pytorchjob.md §4.1). plan.hpp decides.
#pragma once

#include "controller/controller.hpp"
#include "controller/training_operator/pass.hpp"
#include "core/text_table.hpp"

namespace ddptwin::controller::pytorchjob {

class PyTorchJobController final : public Controller {
 public:
  explicit PyTorchJobController(Settings settings = {}) : settings_(std::move(settings)) {}

  std::string_view name() const override { return controller_name; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;

  const Settings& settings() const { return settings_; }

  void reset() override { known_.clear(); }
  std::vector<Key> remembered() const override { return keys_of(known_); }

 private:
  const JobFacts& facts(const Key& key, const PyTorchJob& job) const;

  Settings settings_;
  mutable TextTable<JobFacts> known_{};  // by job
};

}  // namespace ddptwin::controller::pytorchjob
