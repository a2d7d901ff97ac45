#include "pytorchjob_functions.hpp"

#include <algorithm>
#include <array>

#include "controller/training_operator/cleanup.hpp"
#include "controller/training_operator/controller.hpp"
#include "controller/training_operator/defaults.hpp"
#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/limits.hpp"
#include "controller/training_operator/plan.hpp"
#include "controller/training_operator/pods.hpp"
#include "controller/training_operator/webhook.hpp"

namespace ddptwin::conformance {
namespace {

namespace pj = controller::pytorchjob;

// Collects what does not hold of one row.
class Row {
 public:
  void that(bool holds, std::string_view claim) {
    if (!holds && why_.empty()) why_ = std::string(claim);
  }
  const std::string& why() const { return why_; }

 private:
  std::string why_;
};

ReplicaSpec replica(std::optional<int> replicas, std::string policy = "OnFailure") {
  ReplicaSpec spec;
  spec.replicas = replicas;
  spec.restartPolicy = std::move(policy);
  Container container;
  container.name = "pytorch";
  container.image = "train";
  spec.template_.spec.edit().containers.edit().push_back(container);
  return spec;
}

PyTorchJobSpec spec_of(std::optional<int> master, std::optional<int> worker) {
  PyTorchJobSpec spec;
  spec.pytorchReplicaSpecs.emplace();
  if (master) (*spec.pytorchReplicaSpecs)["Master"] = replica(master);
  if (worker) (*spec.pytorchReplicaSpecs)["Worker"] = replica(worker);
  return spec;
}

PyTorchJob job_of(PyTorchJobSpec spec) {
  PyTorchJob job;
  job.metadata.name = "j";
  job.metadata.namespace_ = "ns";
  job.spec = std::move(spec);
  return job;
}

std::shared_ptr<const Pod> pod_of(std::string phase, int index = 0, int restarts = 0) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.labels.edit() = {{std::string(pj::label::replica_type), "worker"},
                                 {std::string(pj::label::replica_index), std::to_string(index)}};
  pod->status.phase = std::move(phase);
  pod->status.containerStatuses.edit().emplace_back().restartCount = restarts;
  return pod;
}

JobStatus finished_with(std::string_view type, Time now, std::optional<Time> completion = {}) {
  JobStatus status;
  pj::set_condition(status, {type, true, "Because", ""}, now);
  status.completionTime = completion;
  return status;
}

std::string value_of(const std::vector<pj::InjectedVariable>& variables, std::string_view name) {
  for (const auto& variable : variables)
    if (variable.name == name) return variable.value;
  return "(absent)";
}

const Time noon = *parse_rfc3339("2026-01-01T12:00:00Z");

void c12(Row& row) {
  const auto variables = pj::elastic_environment(job_of(spec_of({}, 1)));
  row.that(variables && variables->empty(), "no elasticPolicy: no variables");
}

void c13(Row& row) {
  PyTorchJobSpec spec = spec_of({}, 1);
  spec.elasticPolicy = ElasticPolicy{.minReplicas = 1,
                                     .maxReplicas = 3,
                                     .rdzvBackend = "c10d",
                                     .rdzvPort = 1234,
                                     .rdzvHost = "localhost",
                                     .rdzvId = "rdzv-id",
                                     .rdzvConf = {{{"rdzv-conf-name", "rdzv-conf-value"},
                                                   {"rdzv-conf-name-1", "rdzv-conf-value-1"}}},
                                     .maxRestarts = 3};
  const auto variables = pj::elastic_environment(job_of(spec));
  row.that(variables.has_value(), "made");
  row.that(variables->size() == 6, "six variables and nothing else");
  row.that(value_of(*variables, "PET_RDZV_ENDPOINT") == "localhost:1234", "endpoint");
  row.that(value_of(*variables, "PET_RDZV_ID") == "rdzv-id", "id");
  row.that(value_of(*variables, "PET_RDZV_CONF") ==
               "rdzv-conf-name=rdzv-conf-value,rdzv-conf-name-1=rdzv-conf-value-1",
           "conf");
  row.that(value_of(*variables, "PET_NNODES") == "1:3", "nodes");
  row.that(value_of(*variables, "PET_RDZV_BACKEND") == "c10d", "backend");
  row.that(value_of(*variables, "PET_MAX_RESTARTS") == "3", "restarts");
}

void c14(Row& row) {
  const pj::InitContainerFlags flags;
  const auto count = [&](const PyTorchJob& job, std::string_view type) {
    return pj::init_containers(job, type, flags)->size();
  };
  row.that(count(job_of(spec_of({}, 1)), "Worker") == 0, "worker-only: none");
  row.that(count(job_of(spec_of(1, 1)), "Worker") == 1, "a worker beside a master: one");
  row.that(count(job_of(spec_of(1, 1)), "Master") == 0, "a master: none");
}

void c15(Row& row) {
  using Bounds = std::pair<std::optional<int>, std::optional<int>>;
  for (const auto& [min, max] : {Bounds{}, Bounds{1, 1}, Bounds{{}, 1}, Bounds{1, {}}}) {
    PyTorchJobSpec spec = spec_of({}, 1);
    spec.elasticPolicy = ElasticPolicy{.minReplicas = min, .maxReplicas = max};
    const auto out = pj::defaulted(spec);
    row.that(out && out->elasticPolicy->minReplicas == 1 && out->elasticPolicy->maxReplicas == 1,
             "min and max are 1");
  }
}

void c16(Row& row) {
  PyTorchJobSpec spec = spec_of(1, 1);
  row.that(pj::defaulted(spec)->nprocPerNode == "auto", "auto without elasticPolicy");
  spec.elasticPolicy.emplace();
  row.that(pj::defaulted(spec)->nprocPerNode == "auto", "auto with an elasticPolicy without it");
  spec.elasticPolicy->nProcPerNode = 2;
  row.that(!pj::defaulted(spec)->nprocPerNode, "nil beside elasticPolicy.nProcPerNode");
}

void c25(Row& row) {
  PyTorchJobSpec before = spec_of(1, 1), after = before;
  before.runPolicy.managedBy = "kueue.x-k8s.io/multikueue";
  after.runPolicy.managedBy = "kubeflow.org/training-operator";
  const PyTorchJob old = job_of(before);
  const auto review = pj::review(job_of(after), &old, pj::default_profile());
  row.that(
      review.refused && review.refused->message.find("spec.runPolicy.managedBy: Invalid value: "
                                                     "\"kubeflow.org/training-operator\": "
                                                     "field is immutable") != std::string::npos,
      "the validator by itself refuses the change");
}

void c34(Row& row) {
  RunPolicy policy;
  policy.cleanPodPolicy = "None";
  row.that(pj::is_cleaned_up(*pod_of("Running"), policy, JobStatus{}), "an unfinished job: all go");
}

void c37(Row& row) {
  const PyTorchJob job = job_of(spec_of({}, 2));
  const auto running = pod_of("Running"), over = pod_of("Succeeded", 1);
  row.that(!pj::past_backoff_limit(job, std::array{running.get(), over.get()}, 0), "no");
}

void c38(Row& row) {
  const auto restarted = pod_of("Running", 0, 3);
  row.that(pj::past_backoff_limit(job_of(spec_of({}, 1)), std::array{restarted.get()}, 3), "yes");
}

void c40(Row& row) {
  RunPolicy policy;
  JobStatus status;
  status.startTime = noon;
  policy.activeDeadlineSeconds = 0;
  row.that(pj::past_deadline(policy, status, noon), "0 is past");
  policy.activeDeadlineSeconds = 2;
  row.that(!pj::past_deadline(policy, status, noon), "2 is not");
}

void c42(Row& row) {
  using Case = std::pair<std::optional<std::string>, bool>;
  for (const auto& [by, external] :
       {Case{{}, false}, Case{"", true}, Case{"kubeflow.org/training-operator", false},
        Case{"kueue.x-k8s.io/multikueue", true}, Case{"other", true}})
    row.that(pj::is_managed_elsewhere(RunPolicy{.managedBy = by}) == external,
             by.value_or("(nil)"));
}

void c43(Row& row) {
  using Case = std::pair<std::string, std::string>;
  for (const auto& [replica_policy, pod_policy] :
       {Case{"ExitCode", "Never"}, Case{"Never", "Never"}, Case{"Always", "Always"},
        Case{"OnFailure", "OnFailure"}})
    row.that(pj::pod_restart_policy(replica_policy) == pod_policy, replica_policy);
}

void c44(Row& row) {
  PyTorchJobSpec spec = spec_of(1, 1);
  row.that(!pj::has_foreign_scheduler(job_of(spec), "gang"), "none");
  const auto set = [&](const char* type, const char* name) {
    (*spec.pytorchReplicaSpecs)[type].template_.spec.edit().rest.edit().schedulerName = name;
  };
  set("Master", "other");
  row.that(pj::has_foreign_scheduler(job_of(spec), "gang"), "one");
  set("Worker", "other");
  row.that(pj::has_foreign_scheduler(job_of(spec), "gang"), "all");
  set("Master", "gang");
  set("Worker", "gang");
  row.that(!pj::has_foreign_scheduler(job_of(spec), "gang"), "the gang's own name is none");
}

void c45(Row& row) {
  using Pods = boost::container::small_vector<const Pod*, 8>;
  const std::array pods{pod_of("Running", 0), pod_of("Running", 1), pod_of("Running", 2),
                        pod_of("Running", 4)};
  const Pods three{pods[0].get(), pods[1].get(), pods[2].get()};
  const auto size = [](const Pods& of, int n) {
    pj::KnownLabels none;
    return pj::by_index(pj::labelled<Pod>(of, none), "worker", n).size();
  };
  row.that(size(three, 3) == 3, "three of three");
  row.that(size(three, 4) == 4, "three of four");
  row.that(size(three, 2) == 3, "three of two");
  Pods four = three;
  four.push_back(pods[3].get());
  row.that(size(four, 3) == 5, "index 4 of three");
}

void c46(Row& row) {
  auto ending = std::make_shared<Pod>(*pod_of("Running"));
  ending->metadata.deletionTimestamp = noon;
  ReplicaStatus counters;
  for (const auto& pod :
       {pod_of("Failed"), pod_of("Failed"), pod_of("Succeeded"), pod_of("Succeeded"),
        pod_of("Succeeded"), pod_of("Running"), std::shared_ptr<const Pod>(ending)})
    pj::count(counters, *pod);
  row.that(counters.failed == 3 && counters.succeeded == 3 && counters.active == 1, "3, 3, 1");
}

void c47(Row& row) {
  row.that(pj::replica_name("1/2/3/4/5", "WORKER", 1) == "1-2-3-4-5-worker-1", "the name");
}

void c48(Row& row) {
  JobStatus status;
  const auto set = [&](std::string_view type, std::string_view reason) {
    pj::set_condition(status, {type, true, reason, ""}, noon);
  };
  set("Created", "PyTorchJobCreated");
  for (const std::string_view type : {"Running", "Restarting", "Running"}) {
    set(type, type);
    row.that(status.conditions.size() == 2 && status.conditions[1].type_ == type,
             "index 1 alternates");
  }
  set("Failed", "PyTorchJobFailed");
  row.that(status.conditions.size() == 3 && status.conditions[1].status == "False" &&
               status.conditions[2].type_ == "Failed",
           "Running is false and Failed follows");
}

void c49(Row& row) {
  row.that(pj::is_finished(finished_with("Succeeded", noon)), "Succeeded");
  row.that(pj::is_finished(finished_with("Failed", noon)), "Failed");
  row.that(!pj::is_finished(finished_with("Suspended", noon)), "not Suspended");
}

void c50(Row& row) {
  for (const int code : {1, 2, 3}) row.that(!pj::is_retryable(code), "1, 2, 3 are permanent");
  for (const int code : {130, 138}) row.that(pj::is_retryable(code), "130, 138 are not");
}

void c51(Row& row) {
  PyTorchJobSpec spec = spec_of(1, 1);
  row.that(!pj::is_suspended(job_of(spec)), "no policy");
  spec.runPolicy.suspend = false;
  row.that(!pj::is_suspended(job_of(spec)), "false");
  spec.runPolicy.suspend = true;
  row.that(pj::is_suspended(job_of(spec)), "true");
}

void c52(Row& row) {
  RunPolicy five;
  five.ttlSecondsAfterFinished = 5;
  const auto left = [&](const RunPolicy& policy, const JobStatus& status) {
    return pj::time_to_expiry(policy, status, noon);
  };
  row.that(left(five, JobStatus{}) && !*left(five, JobStatus{}), "running: never");
  row.that(**left(five, finished_with("Succeeded", noon, noon - 1s)) == 4s, "four seconds left");
  row.that(**left(five, finished_with("Succeeded", noon, noon - 9s)) == 0s, "past: zero");
  row.that(!*left(RunPolicy{}, finished_with("Succeeded", noon, noon)), "no TTL: never");
  const auto error = left(five, finished_with("Failed", noon));
  row.that(!error && error.error().message == "job completion time is nil, cannot cleanup",
           "no completionTime: the error");
}

void c55(Row& row) {
  controller::Expectations expectations;
  expectations.set("k", 10, 30, noon);
  row.that(!expectations.satisfied("k", noon), "not at once");
  expectations.lower("k", 11, 0);
  row.that(!expectations.satisfied("k", noon), "not after the creations alone");
  row.that(expectations.satisfied("k", noon + 301s), "after five minutes");
  expectations.lower("k", 0, 31);
  row.that(expectations.satisfied("k", noon), "after both");
}

// No object at all behind the reference that the events name.
struct NoCache final : controller::Cache {
  ObjectPtr find(const KindInfo&, std::string_view, std::string_view) const override { return {}; }
  std::vector<ObjectPtr> list(const KindInfo&, std::string_view) const override { return {}; }
  std::vector<const KindInfo*> kinds() const override { return {}; }
};

void c56(Row& row) {
  pj::PyTorchJobController controller;
  controller::Expectations expectations;
  const auto wakes = [&](const std::shared_ptr<Object>& object) {
    object->metadata.namespace_ = "ns";
    object->metadata.ownerReferences = std::vector{pj::owner_of(job_of(spec_of(1, 1)))};
    return !controller.observe({nullptr, object}, NoCache(), expectations, noon).wake.empty();
  };
  row.that(wakes(std::make_shared<Pod>(*pod_of("Pending"))), "a pod with the label passes");
  row.that(!wakes(std::make_shared<Service>()), "a service without it does not");
  // A ConfigMap is not watched at all.
  const auto watched = controller.watches(KindRegistry());
  row.that(std::none_of(watched.begin(), watched.end(),
                        [](const auto& w) { return w.kind == &ConfigMap::info(); }),
           "no ConfigMap is watched");
}

void c58(Row& row) {
  row.that(pj::replica_index(pod_of("Running", 2)->metadata) == 2, "the index");
  row.that(!pj::replica_index(ObjectMeta{}), "missing");
  row.that(pj::is_of_type(pod_of("Running")->metadata, "Worker"), "the type");
}

struct FunctionRow {
  std::string_view id;
  void (*check)(Row&);
};
constexpr std::array rows{
    FunctionRow{"C12", &c12}, FunctionRow{"C13", &c13}, FunctionRow{"C14", &c14},
    FunctionRow{"C15", &c15}, FunctionRow{"C16", &c16}, FunctionRow{"C25", &c25},
    FunctionRow{"C34", &c34}, FunctionRow{"C37", &c37}, FunctionRow{"C38", &c38},
    FunctionRow{"C40", &c40}, FunctionRow{"C42", &c42}, FunctionRow{"C43", &c43},
    FunctionRow{"C44", &c44}, FunctionRow{"C45", &c45}, FunctionRow{"C46", &c46},
    FunctionRow{"C47", &c47}, FunctionRow{"C48", &c48}, FunctionRow{"C49", &c49},
    FunctionRow{"C50", &c50}, FunctionRow{"C51", &c51}, FunctionRow{"C52", &c52},
    FunctionRow{"C55", &c55}, FunctionRow{"C56", &c56}, FunctionRow{"C58", &c58},
};

}  // namespace

std::vector<Verdict> pytorchjob_functions() {
  std::vector<Verdict> verdicts;
  for (const FunctionRow& entry : rows) {
    Row row;
    entry.check(row);
    verdicts.push_back({std::string(entry.id), "function", row.why().empty(), row.why()});
  }
  return verdicts;
}

}  // namespace ddptwin::conformance
