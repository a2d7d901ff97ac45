// What pods, Services and the rest look like (spec/t9k.md §3, §4, §11, §12).
#include "controller/t9k/render.hpp"

#include <gmock/gmock.h>

namespace ddptwin::controller::t9k::render_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<PyTorchTrainingJob> two_groups() {
  auto job = std::make_shared<PyTorchTrainingJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "ml";
  job->metadata.uid = "u-j";
  PyTorchTrainingJobSpec& spec = job->spec.edit();
  for (const auto& [type, replicas] : {std::pair{"ps", 2}, {"worker", 3}}) {
    PyTorchTrainingJobReplicas& group = spec.replicaSpecs.emplace_back();
    group.type_ = type;
    group.replicas = replicas;
    PodSpec& pod = group.template_.spec.edit();
    pod.restartPolicy = "Always";
    Container container{.name = "pytorch", .image = "train"};
    container.command = std::vector<std::string>{"python"};
    container.args = std::vector<std::string>{"train.py", "--fast"};
    container.env.resize(2);
    container.env[0].name = "RANK";
    container.env[0].value = "9";
    container.env[1].name = "OWN";
    container.env[1].value = "$(MASTER_ADDR)";
    pod.containers = std::vector{container};
    pod.initContainers = std::vector{Container{.name = "init", .image = "train"}};
  }
  return job;
}

std::vector<std::string> variables(const Container& container) {
  std::vector<std::string> told;
  for (const EnvVar& one : container.env) told.push_back(one.name + "=" + one.value.str());
  return told;
}

TEST(PyTorchTrainingJobRender, a_pod) {
  const auto job = two_groups();
  const auto pod = pod_of(*job, {1, 1}, false);
  const std::string base = base_name(*job);
  EXPECT_EQ(base.size(), std::string("j-12345").size());
  EXPECT_EQ(pod->metadata.name, base + "-worker-1");
  EXPECT_EQ(pod->spec->restartPolicy, "Never");
  EXPECT_THAT(variables(pod->spec->containers[0]),
              ElementsAre("MASTER_ADDR=" + base + "-ps-0", "MASTER_PORT=23456", "WORLD_SIZE=5",
                          "RANK=3", "OWN=$(MASTER_ADDR)"));
  EXPECT_THAT(pod->spec->initContainers[0].env, IsEmpty());
  EXPECT_EQ(pod->metadata.label("job-role"), nullptr);
  EXPECT_EQ(*pod->metadata.label("replica-type"), "worker");
  EXPECT_EQ(*pod->metadata.label("replica-index"), "1");
  EXPECT_EQ(*pod_of(*job, {0, 0}, false)->metadata.label("job-role"), "master");
  EXPECT_EQ(pod_of(*job, {0, 1}, false)->metadata.label("job-role"), nullptr);
}

TEST(PyTorchTrainingJobRender, a_suffix_is_of_the_uid) {
  EXPECT_EQ(suffix_of("u-j"), suffix_of("u-j"));
  EXPECT_NE(suffix_of("u-j"), suffix_of("v-j"));
  for (const char c : suffix_of("u-j")) EXPECT_TRUE(std::isxdigit(c) != 0 && !std::isupper(c));
}

// G11, G23: debug before resume, that before torchrun.
TEST(PyTorchTrainingJobRender, which_entry_point) {
  const auto job = two_groups();
  PyTorchTrainingJobSpec& spec = job->spec.edit();
  spec.torchrunConfig.emplace().enabled = true;
  const auto entry = [&job](bool resumed) {
    const Container container = pod_of(*job, {1, 0}, resumed)->spec->containers[0];
    std::vector<std::string> all = *container.command;
    for (const std::string& one : *container.args) all.push_back(one);
    return all;
  };
  EXPECT_THAT(entry(false),
              ElementsAre("torchrun", "--nnodes", "5", "--nproc_per_node", "1", "--rdzv_backend",
                          "c10d", "--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)", "--role",
                          "worker", "train.py", "--fast"));
  ResumeReplicas& resume =
      spec.runMode.emplace().pause.emplace().resumeSpecs.emplace().emplace_back();
  resume.type_ = "worker";
  resume.args = std::vector<std::string>{"resume.py"};
  EXPECT_EQ(entry(false).back(), "--fast");
  EXPECT_EQ(entry(true).front(), "torchrun");
  EXPECT_EQ(entry(true).back(), "resume.py");
  resume.command = std::vector<std::string>{"/usr/bin/sshd"};
  EXPECT_THAT(entry(true), ElementsAre("/usr/bin/sshd", "resume.py"));
  resume.args.reset();
  EXPECT_THAT(entry(true), ElementsAre("/usr/bin/sshd", "train.py", "--fast"));
  resume.skipInitContainer = true;
  EXPECT_THAT(*pod_of(*job, {1, 0}, true)->spec->initContainers, IsEmpty());
  EXPECT_EQ(pod_of(*job, {1, 0}, false)->spec->initContainers.size(), 1U);
  spec.runMode->debug.emplace().enabled = true;
  EXPECT_THAT(entry(true), ElementsAre("sleep", "inf"));
  EXPECT_EQ(pod_of(*job, {1, 0}, true)->spec->initContainers.size(), 1U);
}

TEST(PyTorchTrainingJobRender, options_of_torchrun) {
  const auto job = two_groups();
  PyTorchTrainingJobSpec& spec = job->spec.edit();
  TorchrunConfig& config = spec.torchrunConfig.emplace();
  config.enabled = true;
  config.maxRestarts = 0;
  config.procPerNode = "gpu";
  config.rdzvBackend = "etcd";
  config.extraOptions = {"--rdzv_endpoint", "etcd:2379"};
  ElasticConfig& elastic = spec.elastic.emplace();
  elastic.enabled = true;
  elastic.minReplicas = 4;
  elastic.maxReplicas = 10;
  elastic.expectedReplicas = 7;
  EXPECT_THAT(torchrun_arguments(spec, spec.replicaSpecs[0], {"-m", "training.module"}),
              ElementsAre("--nnodes", "4:10", "--nproc_per_node", "gpu", "--rdzv_backend", "etcd",
                          "--rdzv_endpoint", "$(MASTER_ADDR):$(MASTER_PORT)", "--max_restarts", "0",
                          "--role", "ps", "--rdzv_endpoint", "etcd:2379", "-m", "training.module"));
  EXPECT_EQ(pod_group_of(([&] {
              spec.scheduler.emplace().t9kScheduler.emplace();
              return *job;
            })())
                ->spec.minMember,
            4);
}

TEST(PyTorchTrainingJobRender, the_container_python_trains) {
  PodSpec pod;
  pod.containers = {{.name = "a"}, {.name = "b"}};
  EXPECT_EQ(training_container(pod), 0U);
  pod.containers = {{.name = "a"}, {.name = "python"}};
  EXPECT_EQ(training_container(pod), 1U);
  pod.containers = {};
  EXPECT_EQ(training_container(pod), std::nullopt);
}

TEST(PyTorchTrainingJobRender, a_service_for_each_pod) {
  const auto job = two_groups();
  const auto service = service_of(*job, {1, 2});
  EXPECT_EQ(service->metadata.name, base_name(*job) + "-worker-2");
  EXPECT_EQ(service->spec->clusterIP, "None");
  EXPECT_TRUE(service->spec->publishNotReadyAddresses);
  const auto pod = pod_of(*job, {1, 2}, false);
  for (const auto& [key, value] : *service->spec->selector) {
    ASSERT_NE(pod->metadata.label(key), nullptr) << key;
    EXPECT_EQ(*pod->metadata.label(key), value);
  }
}

}  // namespace
}  // namespace ddptwin::controller::t9k::render_test
