// AIStudio's controller of DDPTasks.
#pragma once

#include "controller/controller.hpp"
#include "core/text_table.hpp"

namespace ddptwin::controller {

class DDPTaskController final : public Controller {
 public:
  std::string_view name() const override { return "ddptask-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& response) override;
  void reset() override { written_.clear(); }
  std::vector<Key> remembered() const override { return keys_of(written_); }

 private:
  // The version of each task that its last write came to. Its status is the controller's only
  // memory: a plan on an older one would forget.
  mutable TextTable<std::uint64_t> written_{};
};

}  // namespace ddptwin::controller
