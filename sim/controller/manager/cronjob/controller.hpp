// kube-controller-manager's CronJob controller: a Job whenever the schedule says so
// (upstream: pkg/controller/cronjob, cronjob_controllerv2.go).
#pragma once

#include <span>

#include "controller/controller.hpp"
#include "objects/cronjob.hpp"

namespace ddptwin::controller {

// Keys are CronJobs. It remembers nothing: what was scheduled last stands in the status.
class CronJobController final : public Controller {
 public:
  std::string_view name() const override { return "cronjob-controller"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

namespace cronjob {

// Every rule by name, with its source.
std::span<const Rule* const> rules();

// The name of the Job of that time, which is a whole minute.
std::string job_name(std::string_view cron_job, Time scheduled);
// As the template says, of that time.
std::shared_ptr<Job> make_job(const CronJob& of, Time scheduled);

}  // namespace cronjob
}  // namespace ddptwin::controller
