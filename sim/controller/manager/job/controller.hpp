// The Job controllers of kube-controller-manager (spec/trainjob.md §6): the Job controller itself,
// who lets go of pods whose Job is gone, and who deletes finished Jobs whose time is over.
#pragma once

#include <map>
#include <set>

#include "controller/controller.hpp"
#include "controller/manager/job/policies.hpp"

namespace ddptwin::controller {

// Keys are Jobs. What happens to pods, and what changes a status only, is looked at a second later,
// so that several things come together (§6.3). A crash loses the back-off of replacements and the
// finalizers whose removal has not been seen.
class JobController final : public Controller {
 public:
  static constexpr Duration batch_period = std::chrono::seconds(1);

  std::string_view name() const override { return "job-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  RateLimits retries() const override {
    return {.base_delay = std::chrono::seconds(1),
            .max_delay = std::chrono::seconds(60),
            .per_second = 0};
  }
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
  void accepted(const Key& key, const Step& step, const api::Response& answer) override;
  void reset() override;
  std::vector<Key> remembered() const override;

 private:
  Reaction pod_changed(const Change& change, const Cache& cache, Expectations& expectations);

  std::set<std::string> released_{};  // uids of pods, until the cache shows it
  std::map<Key, job::BackOffRecord, std::less<>> back_off_{};
  // What a record becomes once the counts of the plan in hand are written.
  mutable std::map<Key, job::BackOffRecord, std::less<>> next_back_off_{};
};

// Keys are pods that a Job's finalizer holds, and that Job is no more.
class JobOrphanController final : public Controller {
 public:
  std::string_view name() const override { return "job-orphan-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

// Keys are Jobs with ttlSecondsAfterFinished.
class TtlAfterFinishedController final : public Controller {
 public:
  std::string_view name() const override { return "ttl-after-finished-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
