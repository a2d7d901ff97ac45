// The gate TrainJobStatus (KEP-2779, alpha and off): a training's containers are told where they
// may report how far they are, and by which token and certificate (spec/trainjob.md §4.5; upstream:
// pkg/runtime/framework/plugins/trainjobstatus). Who answers there is not here: a report is an
// apply of the TrainJob's status by `trainer-status`, which a scenario's step may make.
#include <fmt/format.h>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

constexpr std::string_view folder = "/var/run/secrets/kubeflow/trainer";
constexpr std::string_view volume_name = "kubeflow-trainer-token";
constexpr std::string_view certificate = "ca.crt", token = "token";
constexpr std::int64_t token_seconds = 3600;
// The Service of the webhooks, and the port of StatusServer, as the manifests have them.
constexpr std::string_view server =
    "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443";
// Of nobody: no server of the twin has a certificate.
constexpr std::string_view no_certificate =
    "-----BEGIN CERTIFICATE-----\nZGRwdHdpbg==\n-----END CERTIFICATE-----\n";

std::string path_of(const TrainJob& job) {
  return fmt::format("trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs/{}/status",
                     job.metadata.namespace_.view(), job.metadata.name.view());
}

std::string config_of(const TrainJob& job) {
  return fmt::format("{}{}", job.metadata.name.view(), status_server_suffix);
}

json::object volume_of(const TrainJob& job) {
  const json::object its_token{
      {"audience", path_of(job)}, {"expirationSeconds", token_seconds}, {"path", token}};
  const json::object its_certificate{
      {"name", config_of(job)},
      {"items", json::array{json::object{{"key", certificate}, {"path", certificate}}}}};
  return json::object{
      {"name", volume_name},
      {"projected",
       json::object{{"sources", json::array{json::object{{"serviceAccountToken", its_token}},
                                            json::object{{"configMap", its_certificate}}}}}}};
}

}  // namespace

Status enforce_status_server(Info& info, const TrainJob& job) {
  PodSet* set = info.serves_status ? info.trainer() : nullptr;
  if (set == nullptr) return {};
  for (PodContainer& container : set->containers) {
    upsert_variable(container.env, variable("KUBEFLOW_TRAINER_SERVER_URL",
                                            fmt::format("{}/apis/{}", server, path_of(job))));
    upsert_variable(container.env, variable("KUBEFLOW_TRAINER_SERVER_CA_CERT",
                                            fmt::format("{}/{}", folder, certificate)));
    upsert_variable(container.env,
                    variable("KUBEFLOW_TRAINER_SERVER_TOKEN", fmt::format("{}/{}", folder, token)));
    upsert_mount(container.mounts,
                 json::object{{"name", volume_name}, {"mountPath", folder}, {"readOnly", true}});
  }
  upsert_volume(set->volumes, volume_of(job));
  return {};
}

void build_status_server(Info& info, const TrainJob& job, const Existing& there, Random,
                         std::vector<Applied>& objects) {
  if (!info.serves_status) return;
  json::object body = new_body(ConfigMap::info(), config_of(job), job);
  body["data"] = json::object{{certificate, no_certificate}};
  objects.push_back({&ConfigMap::info(), std::move(body), there.status_server});
}

}  // namespace ddptwin::controller::trainer
