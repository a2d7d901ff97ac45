// What becomes of a job that is scaled, by hand or by its autoscaler (spec/pytorchjob.md §3.5,
// §4.9).
#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <ostream>

#include "objects/autoscaling.hpp"
#include "objects/codec.hpp"
#include "running_job.hpp"

namespace ddptwin::property::job_scaling_properties_test {
namespace {

namespace json = boost::json;

// One that is scaled below what has succeeded ends once the pods beyond that are gone: more
// successes than workers are not enough (§4.9). What still runs then counts as a success (§4.2).
TEST(JobLaws, AWorkerOnlyJobScaledBelowItsSuccessesCountsThoseThatItKeeps) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.master = false;
        shape.elastic = false;
        shape.workers = *gen::inRange(3, 7).as("workers");
        if (policy_of(shape) != "OnFailure") shape.restart_policy = "OnFailure";
        const int successes = *gen::inRange(2, shape.workers).as("successes");
        const int left = *gen::inRange(1, successes).as("workers left");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        for (int i = 0; i < successes; ++i) run.exit("j-worker-" + std::to_string(i), 0);
        run.rest(5s);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        run.patch_job(
            json::object{{"spec", {{"pytorchReplicaSpecs", {{"Worker", {{"replicas", left}}}}}}}});
        run.rest(settling);
        log_job(run);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Succeeded"}));
        const auto succeeded = run.job()->status->replicaStatuses->at("Worker").succeeded;
        RC_ASSERT(succeeded >= left);
        RC_ASSERT(succeeded <= left + shape.workers - successes);
      },
      run_cost);
}

// Under policy Never a worker that is taken away fails the job (Q8).
TEST(JobLaws, ScalingMakesAndTakesTheHighestIndices) {
  holds(
      [] {
        JobShape shape = plain_shape();
        RC_PRE(policy_of(shape) != "Never" && shape.workers > 0);
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const auto before = uids_of(run.pods());
        const int workers = *gen::inRange(1, 12).as("workers");
        run.patch_job(json::object{
            {"spec", {{"pytorchReplicaSpecs", {{"Worker", {{"replicas", workers}}}}}}}});
        run.rest(settling);
        log_job(run);
        const Names wanted = expected_names(shape, workers);
        RC_ASSERT(names_of(run.pods()) == wanted);
        RC_ASSERT(names_of(run.services()) == wanted);
        for (const auto& [name, uid] : uids_of(run.pods()))
          if (const auto old = before.find(name); old != before.end())
            RC_ASSERT(uid == old->second);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        check_counters(run);
      },
      run_cost);
}

// What an elastic job says of its autoscaler. Both bounds are the number of workers where neither
// is written, and that of the other where one is.
struct Scaling {
  int least = 0, most = 0;  // 0: not written
  Json metrics{};           // null: not written
  int workers = 1;
  bool suspended = false;

  Json patch() const {
    const auto written = [](int bound) { return bound != 0 ? Json(bound) : Json(); };
    return json::object{{"spec",
                         {{"pytorchReplicaSpecs", {{"Worker", {{"replicas", workers}}}}},
                          {"runPolicy", {{"suspend", suspended}}},
                          {"elasticPolicy",
                           {{"minReplicas", written(least)},
                            {"maxReplicas", written(most)},
                            {"metrics", metrics}}}}}};
  }
  HorizontalPodAutoscalerSpec spec() const {
    HorizontalPodAutoscalerSpec spec;
    spec.scaleTargetRef = {"PyTorchJob", "j", "kubeflow.org/v1"};
    spec.minReplicas = least != 0 ? least : most != 0 ? most : workers;
    spec.maxReplicas = most != 0 ? most : least != 0 ? least : workers;
    spec.metrics = RawJson(metrics);
    return spec;
  }
};

Json any_metrics() {
  const std::string resource =
      *gen::weightedElement<std::string>({{3, "cpu"}, {2, "memory"}, {1, ""}}).as("metric");
  if (resource.empty()) return nullptr;
  const int percent = *gen::element(50, 80).as("percent");
  return json::array{
      json::object{{"type", "Resource"},
                   {"resource",
                    {{"name", resource},
                     {"target", {{"type", "Utilization"}, {"averageUtilization", percent}}}}}}};
}

// One thing of it, as a user edits it.
void change(Scaling& scaling) {
  const std::string what =
      *gen::element<std::string>("metrics", "least", "most", "most", "workers", "suspend")
           .as("edited");
  if (what == "metrics") scaling.metrics = any_metrics();
  if (what == "workers") scaling.workers = *gen::inRange(1, 7).as("workers");
  if (what == "suspend") scaling.suspended = !scaling.suspended;
  if (what == "least") scaling.least = *gen::element(0, 1, 2, 3).as("least");
  if (what == "most") scaling.most = *gen::element(0, 3, 5, 7).as("most");
  // More at least than at most the API takes of no autoscaler.
  if (scaling.most != 0) scaling.least = std::min(scaling.least, scaling.most);
}

// Also in a job that is made suspended, and after it is resumed. Of a job without metrics the
// autoscaler is left as it is (§3.5, Q26).
TEST(JobLaws, AnAutoscalerFollowsItsJobAndStandsWhileThatIsNotSuspended) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.elastic = true;
        shape.elastic_nproc = false;  // v1.7 crashes over it (Q12)
        shape.workers = std::max(1, shape.workers);
        Scaling scaling{.metrics = any_metrics(), .workers = shape.workers};
        scaling.suspended = *gen::arbitrary<bool>().as("made suspended");
        ClusterRun run(any_seed(), *any_profile().as("version"));
        RC_ASSERT(run.create(shape, {}, [&](PyTorchJob& job) {
          ElasticPolicy& elastic = *job.spec.edit().elasticPolicy;
          scaling.least = elastic.minReplicas.value_or(0);
          scaling.most = elastic.maxReplicas.value_or(0);
          if (!scaling.metrics.is_null()) elastic.metrics = RawJson(scaling.metrics);
          job.spec.edit().runPolicy.suspend = scaling.suspended;
        }));
        std::optional<HorizontalPodAutoscalerSpec> wanted;
        int made = 0;
        for (int edits = *gen::inRange(0, 12).as("edits"); edits >= 0; --edits) {
          run.rest(10s);
          if (!scaling.metrics.is_null()) {
            made += !wanted && !scaling.suspended ? 1 : 0;
            wanted = scaling.suspended ? std::nullopt : std::optional(scaling.spec());
          }
          const auto scaler = as<HorizontalPodAutoscaler>(
              run.world().find(HorizontalPodAutoscaler::info(), "default", "j"));
          RC_ASSERT((scaler != nullptr) == wanted.has_value());
          if (scaler != nullptr) RC_ASSERT(equal(scaler->spec, *wanted));
          RC_ASSERT(run.creations("horizontalpodautoscalers", "default/j") == made);
          change(scaling);
          run.patch_job(scaling.patch());
        }
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property::job_scaling_properties_test
