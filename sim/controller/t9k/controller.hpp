// T9k's controllers: of PyTorchTrainingJobs, and of the TensorBoards that they ask for.
#pragma once

#include "controller/controller.hpp"
#include "core/text_table.hpp"

namespace ddptwin::controller {

class PyTorchTrainingJobController final : public Controller {
 public:
  std::string_view name() const override { return "pytorchtrainingjob-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& response) override;
  void reset() override { written_.clear(); }
  std::vector<Key> remembered() const override { return keys_of(written_); }

 private:
  // The version of each job that its last write came to. Its status is the controller's only
  // memory: a plan on an older one would forget.
  mutable TextTable<std::uint64_t> written_{};
};

// Stands in for what T9k runs behind a TensorBoard: it is ready at once, unless it is suspended.
class TensorBoardController final : public Controller {
 public:
  std::string_view name() const override { return "tensorboard-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
