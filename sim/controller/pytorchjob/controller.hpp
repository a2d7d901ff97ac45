// The PyTorchJob controller of Kubeflow's training-operator v1 under its host: what wakes it, what
// it sees, what it keeps in memory (spec/pytorchjob.md §4.1). plan.hpp decides.
#pragma once

#include <map>

#include "controller/controller.hpp"
#include "controller/pytorchjob/pass.hpp"

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

 private:
  // What functions of a job's name and spec have answered, so that they need not be asked at each
  // plan.
  struct Known {
    Cow<PyTorchJobSpec> spec;
    std::optional<Verbatim<PyTorchJobSpec>> defaulted;  // none where upstream crashes over it
    StringMap labels;                                   // that all of its pods and Services carry
    std::vector<std::string> expectation_keys;
  };
  const Known& known(const Key& key, const PyTorchJob& job) const;

  Settings settings_;
  mutable std::map<Key, Known> known_{};  // by job
};

}  // namespace ddptwin::controller::pytorchjob
