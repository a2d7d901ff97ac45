#include "cluster/kubelet/container_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/kubelet/test_cluster.hpp"
#include "runtime/cri_json.hpp"

namespace ddptwin::kubelet::container_config_test {
namespace {

const ImageStatus image{"busybox@sha256:0", 1};

Result<ContainerConfig> config_of(const TestCluster& cluster, std::uint32_t attempt = 0) {
  const PodContext context = cluster.context();
  auto sources = volumes(context);
  if (!sources) return tl::make_unexpected(sources.error());
  return container_config(context, cluster.container(), attempt, image, *sources);
}

const std::string conf =
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: '1', b: '2'}\n";

const RuntimeMount* mount_at(const ContainerConfig& config, std::string_view path) {
  for (const RuntimeMount& mount : config.mounts)
    if (mount.container_path == path) return &mount;
  return nullptr;
}

TEST(ContainerConfig, ASubPathShowsOnePartOfAVolume) {
  const TestCluster cluster(
      pod_yaml("env: [{name: RANK, value: '3'}], volumeMounts: [{name: v, mountPath: /a, subPath: "
               "a}, {name: d, mountPath: out, subPathExpr: 'rank-$(RANK)'}]",
               "volumes: [{name: v, configMap: {name: conf}}, {name: d, emptyDir: {}}]") +
      conf);
  const auto config = config_of(cluster);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->mounts[0].sub_path, "a");
  EXPECT_EQ(config->mounts[0].host_path, "/root/pods/uid-p/volume-subpaths/v/c/0");
  EXPECT_TRUE(config->mounts[0].readonly);
  EXPECT_EQ(config->mounts[1].sub_path, "rank-3");
  EXPECT_EQ(config->mounts[1].container_path, "/out") << "a relative path begins at the root";
  EXPECT_EQ(config->mounts[1].host_path, "/root/pods/uid-p/volume-subpaths/d/c/1");
  const Json files = cri_json(*config).at("files");
  EXPECT_EQ(files.at("/a").at("content").as_string(), "1");
  EXPECT_FALSE(files.as_object().contains("/a/b"));
}

TEST(ContainerConfig, WhatCannotBeMountedStopsTheContainer) {
  const std::pair<std::string, std::string> rows[] = {
      {"{name: nope, mountPath: /x}", "cannot find volume \"nope\" to mount into container \"c\""},
      {"{name: d, mountPath: /x, subPathExpr: '$(NOPE)/$(EMPTY)'}",
       "missing value for EMPTY, NOPE"},
      {"{name: d, mountPath: /x, subPath: /abs}",
       "error SubPath `/abs` must not be an absolute path"},
      {"{name: d, mountPath: /x, subPath: a/../..}",
       "unable to provision SubPath `a/../..`: must not contain '..'"},
  };
  for (const auto& [mount, want] : rows) {
    const TestCluster cluster(pod_yaml("env: [{name: EMPTY}], volumeMounts: [" + mount + "]",
                                       "volumes: [{name: d, emptyDir: {}}]"));
    const auto config = config_of(cluster);
    ASSERT_FALSE(config) << mount;
    EXPECT_EQ(config.error().message, want);
  }
}

TEST(ContainerConfig, AMountOfItsOwnAtEtcHostsReplacesTheKubelets) {
  const TestCluster cluster(pod_yaml("volumeMounts: [{name: v, mountPath: /etc/hosts, subPath: a}]",
                                     "volumes: [{name: v, configMap: {name: conf}}]") +
                            conf);
  const auto config = config_of(cluster);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->mounts.size(), 1U);
  EXPECT_NE(mount_at(*config, "/etc/hosts")->source, nullptr);
}

TEST(ContainerConfig, ContainersOfAPodShareAVolume) {
  const TestCluster cluster(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{name: d, emptyDir: {}}], "
      "containers: [{name: a, image: i, volumeMounts: [{name: d, mountPath: /d}]}, {name: b, "
      "image: i, volumeMounts: [{name: d, mountPath: /e}]}]}\n");
  const PodContext context = cluster.context();
  const auto sources = volumes(context);
  ASSERT_TRUE(sources);
  const auto& containers = context.pod->spec->containers;
  const auto a = container_config(context, containers[0], 0, image, *sources);
  const auto b = container_config(context, containers[1], 0, image, *sources);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(mount_at(*a, "/d")->source, mount_at(*b, "/e")->source);
}

TEST(ContainerConfig, ALaterAttemptHasItsOwnLogAndTerminationLog) {
  const TestCluster cluster(pod_yaml("terminationMessagePath: /dev/termination-log"));
  const auto first = config_of(cluster, 0);
  const auto third = config_of(cluster, 2);
  ASSERT_TRUE(first && third);
  EXPECT_EQ(third->log_path, "c/2.log");
  EXPECT_EQ(third->annotations.get()->at("io.kubernetes.container.restartCount"), "2");
  EXPECT_NE(mount_at(*first, "/dev/termination-log")->host_path,
            mount_at(*third, "/dev/termination-log")->host_path);
}

TEST(ContainerConfig, CarriesHandlersPortsAndSignalsAsTheRuntimeKeepsThem) {
  const TestCluster cluster(
      pod_yaml("lifecycle: {stopSignal: SIGUSR1, preStop: {exec: {command: [sync]}}}, ports: "
               "[{containerPort: "
               "29500, name: rdzv, protocol: TCP}], stdin: true, tty: true, workingDir: /w",
               "terminationGracePeriodSeconds: 7"));
  const auto config = config_of(cluster);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->annotations.get()->at("io.kubernetes.container.preStopHandler"),
            R"({"exec":{"command":["sync"]}})");
  EXPECT_EQ(config->annotations.get()->at("io.kubernetes.container.ports"),
            R"([{"name":"rdzv","containerPort":29500,"protocol":"TCP"}])");
  EXPECT_EQ(config->annotations.get()->at("io.kubernetes.pod.terminationGracePeriod"), "7");
  EXPECT_EQ(config->stop_signal, "SIGUSR1");
  EXPECT_TRUE(config->stdin_ && config->tty);
  EXPECT_EQ(config->working_dir, "/w");
}

std::string variable_of(const ContainerConfig& config, std::string_view name) {
  for (const auto& [key, value] : config.env)
    if (key == name) return value;
  return "";
}

TEST(ContainerConfig, TellsOfTheGpusThatTheLimitGrants) {
  const auto devices_of = [](const std::string& container, const char* on_node) {
    const TestCluster cluster(pod_yaml(container));
    PodContext context = cluster.context();
    auto node = std::make_shared<Node>(*context.node);
    node->status.allocatable.edit()["nvidia.com/gpu"] = *Quantity::parse(on_node);
    node->status.capacity = node->status.allocatable;
    context.node = node;
    Devices devices("n");
    EXPECT_FALSE(devices.allocate(*context.pod, *node, [](std::string_view) { return true; }));
    context.devices = &devices;
    const auto config = container_config(context, cluster.container(), 0, image, {});
    return config ? variable_of(*config, "NVIDIA_VISIBLE_DEVICES") : config.error().message;
  };
  const std::string two = "resources: {limits: {nvidia.com/gpu: 2}}";
  EXPECT_EQ(devices_of(two, "8"), Devices("n").uuid(0) + "," + Devices("n").uuid(1));
  EXPECT_EQ(devices_of(two, "0"), "");
  EXPECT_EQ(devices_of("resources: {limits: {cpu: 2}}", "8"), "");
  EXPECT_EQ(devices_of(two + ", env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]", "8"), "none");
}

TEST(ContainerConfig, RunAsNonRootNeedsAUserWhoIsNotRoot) {
  const std::pair<std::string, std::string> rows[] = {
      {"securityContext: {runAsNonRoot: true}",
       "container has runAsNonRoot and image will run as root (pod: \"p_default(uid-p)\", "
       "container: c)"},
      {"securityContext: {runAsNonRoot: true, runAsUser: 0}",
       "container's runAsUser breaks non-root policy (pod: \"p_default(uid-p)\", container: c)"},
      {"securityContext: {runAsNonRoot: true, runAsUser: 1000}", ""},
      {"securityContext: {runAsNonRoot: false}", ""},
  };
  for (const auto& [container, want] : rows) {
    const auto config = config_of(TestCluster(pod_yaml(container)));
    EXPECT_EQ(config ? "" : config.error().message, want) << container;
  }
}

TEST(SecurityContext, OfTheContainerComesBeforeThatOfThePod) {
  const TestCluster cluster(pod_yaml(
      "securityContext: {runAsUser: 7, privileged: true, allowPrivilegeEscalation: false, "
      "readOnlyRootFilesystem: true, capabilities: {add: [SYS_PTRACE]}}",
      "hostNetwork: true, hostIPC: true, shareProcessNamespace: true, securityContext: {runAsUser: "
      "5, runAsGroup: 6, fsGroup: 9, seccompProfile: {type: RuntimeDefault}}"));
  const PodSpec& spec = *cluster.context().pod->spec;
  EXPECT_EQ(container_security(spec, cluster.container()), boost::json::parse(R"({
    "namespaceOptions": {"network": "NODE", "ipc": "NODE", "usernsOptions": {"mode": "NODE"}},
    "runAsUser": {"value": "7"}, "runAsGroup": {"value": "6"}, "seccomp": {},
    "supplementalGroups": ["9"], "privileged": true, "readonlyRootfs": true, "noNewPrivs": true,
    "capabilities": {"addCapabilities": ["SYS_PTRACE"]}})"));
  EXPECT_EQ(sandbox_security(spec).at("runAsUser"), boost::json::parse(R"({"value": "5"})"));
}

TEST(SandboxConfig, ShowsPortsAnnotationsAndTheTimeItSawThePod) {
  const TestCluster cluster(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: b}, labels: {l: m}}\nspec: "
      "{nodeName: node-1, containers: [{name: c, image: i, ports: [{containerPort: 80, protocol: "
      "TCP}, "
      "{containerPort: 53, protocol: UDP, hostPort: 5353, hostIP: 127.0.0.1}]}]}\n");
  PodContext context = cluster.context();
  context.config_seen = Time(1'700'000'000s + 120ms);
  const auto config = sandbox_config(context, 2);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->node, "node-1");
  const Json json = cri_json(*config);
  EXPECT_EQ(json.at("annotations"), boost::json::parse(R"({"a": "b",
    "kubernetes.io/config.seen": "2023-11-14T22:13:20.12Z",
    "kubernetes.io/config.source": "api"})"));
  EXPECT_EQ(json.at("labels").at("l"), "m");
  EXPECT_EQ(json.at("metadata").at("attempt").as_uint64(), 2U);
  EXPECT_EQ(json.at("portMappings"), boost::json::parse(R"([{"containerPort": 80},
    {"protocol": "UDP", "containerPort": 53, "hostPort": 5353, "hostIp": "127.0.0.1"}])"));
}

TEST(SandboxConfig, AHostNetworkPodHasTheNodesName) {
  const TestCluster cluster(pod_yaml("", "hostNetwork: true, nodeName: node-3"));
  const auto config = sandbox_config(cluster.context(), 0);
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->host_network);
  EXPECT_EQ(config->hostname, "node-3");
  EXPECT_EQ(config->node_address, "192.168.0.1");
  EXPECT_FALSE(cri_json(*config).as_object().contains("hostname"));
}

}  // namespace
}  // namespace ddptwin::kubelet::container_config_test
