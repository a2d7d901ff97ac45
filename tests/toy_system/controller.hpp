// Makes the pods of Squads, and says how they end.
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::toy {

std::span<const controller::Rule* const> squad_rules();

class SquadController final : public controller::Controller {
 public:
  // Its first release forgot the last pod of a squad.
  explicit SquadController(bool forgets_the_last) : forgets_the_last_(forgets_the_last) {}

  std::string_view name() const override { return "squad-controller"; }
  std::vector<controller::Watched> watches(const KindRegistry& kinds) const override;
  controller::Reaction observe(const controller::Change& change, const controller::Cache& cache,
                               controller::Expectations& expectations, Time now) override;
  controller::Plan plan(const controller::Key& key, const controller::Observed& seen,
                        Time now) const override;

 private:
  bool forgets_the_last_;
};

}  // namespace ddptwin::toy
