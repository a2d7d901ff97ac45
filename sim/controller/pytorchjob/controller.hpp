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

  void reset() override { defaulted_.clear(); }

 private:
  // A spec and what it is with its defaults; none where upstream crashes over it.
  struct Defaulted {
    Cow<PyTorchJobSpec> of;
    std::optional<Verbatim<PyTorchJobSpec>> spec;
  };
  const Defaulted& defaulted_spec(const Key& key, const PyTorchJob& job) const;

  Settings settings_;
  // By job: what a function of the spec has answered, so that it need not be asked at each plan.
  mutable std::map<Key, Defaulted> defaulted_{};
};

}  // namespace ddptwin::controller::pytorchjob
