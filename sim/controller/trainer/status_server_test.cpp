// The gate TrainJobStatus: off nothing is made of it, on the training's containers alone hear of
// it.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/plugins.hpp"
#include "objects/codec.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::controller::trainer::status_server_test {
namespace {

namespace json = boost::json;

template <class T>
T read(std::string_view yaml) {
  const auto documents = parse_yaml(yaml, "test");
  EXPECT_TRUE(documents.has_value()) << yaml;
  auto value = from_json<T>(documents->front().value);
  EXPECT_TRUE(value.has_value()) << value.error().text();
  return *value;
}

constexpr std::string_view runtime = R"(
mlPolicy: {numNodes: 2}
template:
  spec:
    replicatedJobs:
    - name: dataset-initializer
      template:
        metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
        spec: {template: {spec: {containers: [{name: dataset-initializer, image: d}]}}}
    - name: node
      template:
        metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
        spec: {template: {spec: {containers: [{name: node, image: i}, {name: side, image: s}]}}}
)";

std::vector<Applied> built(const Profile& profile) {
  TrainJob job;
  job.metadata.name = "t";
  job.metadata.namespace_ = "team";
  job.metadata.uid = "u";
  job.spec = read<TrainJobSpec>("runtimeRef: {name: r}\ntrainer: {}\n");
  auto info = assemble(job, read<TrainingRuntimeSpec>(runtime), profile);
  EXPECT_TRUE(info.has_value());
  EXPECT_TRUE(run_plugins(*info, job).has_value());
  return build(std::move(*info), job, {}, Random(1));
}

std::string text_of(const std::vector<Applied>& objects, const KindInfo& kind) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&kind](const Applied& one) { return one.kind == &kind; });
  return found == objects.end() ? std::string() : json::serialize(found->body);
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(StatusServer, is_off_by_default) {
  const auto objects = built(default_profile());
  EXPECT_EQ(text_of(objects, ConfigMap::info()), "");
  EXPECT_EQ(text_of(objects, JobSet::info()).find("KUBEFLOW_TRAINER"), std::string::npos);
}

TEST(StatusServer, tells_each_container_of_the_training_where_to_report) {
  Profile profile = default_profile();
  ASSERT_TRUE(set_gates("TrainJobStatus=true", profile));
  const auto objects = built(profile);
  const std::string config = text_of(objects, ConfigMap::info());
  EXPECT_NE(config.find(R"("name":"t-tls-config","namespace":"team")"), std::string::npos)
      << config;
  EXPECT_NE(config.find(R"("data":{"ca.crt":"-----BEGIN CERTIFICATE-----)"), std::string::npos);
  const std::string set = text_of(objects, JobSet::info());
  EXPECT_EQ(times(set, R"({"name":"KUBEFLOW_TRAINER_SERVER_URL","value":"https://)"
                       "kubeflow-trainer-controller-manager.kubeflow-system.svc:10443/apis/"
                       R"(trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/t/status"})"),
            2U)
      << set;
  EXPECT_EQ(times(set, R"({"name":"KUBEFLOW_TRAINER_SERVER_CA_CERT","value":)"
                       R"("/var/run/secrets/kubeflow/trainer/ca.crt"})"),
            2U);
  EXPECT_EQ(times(set, R"({"name":"kubeflow-trainer-token","mountPath":)"
                       R"("/var/run/secrets/kubeflow/trainer","readOnly":true})"),
            2U);
  EXPECT_EQ(times(set, R"("audience":"trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/t/)"
                       R"(status","expirationSeconds":3600,"path":"token")"),
            1U);
}

TEST(StatusServer, is_of_v2_2_and_later) {
  for (const auto& [version, has] :
       {std::pair{"v2.0", false}, {"v2.1", false}, {"v2.2", true}, {"v2.3", true}}) {
    Profile profile = *find_profile(version);
    EXPECT_TRUE(set_gates("TrainJobStatus=true", profile));
    EXPECT_EQ(profile.serves_status, has) << version;
    EXPECT_TRUE(set_gates("TrainJobStatus=true,TrainJobStatus=false", profile));
    EXPECT_FALSE(profile.serves_status);
  }
  Profile profile = default_profile();
  for (const char* wrong : {"Nope=true", "TrainJobStatus", "TrainJobStatus=yes"})
    EXPECT_FALSE(set_gates(wrong, profile)) << wrong;
}

}  // namespace
}  // namespace ddptwin::controller::trainer::status_server_test
