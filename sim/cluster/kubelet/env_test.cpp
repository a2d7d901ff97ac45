#include "cluster/kubelet/env.hpp"

#include <gtest/gtest.h>

#include "cluster/kubelet/test_cluster.hpp"

namespace ddptwin::kubelet::env_test {
namespace {

TEST(Expand, FollowsKubernetesRules) {
  struct Row {
    std::string_view text;
    std::string_view want;
  };
  const Row rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"$(A)", "a"},
      {"x$(A)y$(A)", "xaya"},
      {"$(EMPTY)", ""},
      {"$(NOPE)", "$(NOPE)"},
      {"$$(A)", "$(A)"},
      {"$$$(A)", "$a"},
      {"$$$$(A)", "$$(A)"},
      {"$$", "$"},
      {"$", "$"},
      {"$x", "$x"},
      {"$(A", "$(A"},
      {"$(A $(A)", "$(A $(A)"},  // the name is "A $(A"
      {"$()", "$()"},
      {"${A}", "${A}"},
      {"a$", "a$"},
  };
  const auto lookup = [](std::string_view name) -> std::optional<std::string> {
    if (name == "A") return "a";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  for (const Row& row : rows) EXPECT_EQ(expand(row.text, lookup), row.want) << row.text;
}

std::map<std::string, std::string> values_of(const TestCluster& cluster) {
  std::map<std::string, std::string> out;
  const auto variables = environment(cluster.context(), cluster.container());
  EXPECT_TRUE(variables) << (variables ? "" : variables.error().message);
  if (variables)
    for (const EnvVariable& variable : *variables) out[variable.name] = variable.value;
  return out;
}

std::string error_of(const TestCluster& cluster) {
  const auto variables = environment(cluster.context(), cluster.container());
  return variables ? "none" : variables.error().message;
}

constexpr std::string_view config_map =
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {k: v, K2: $(X)}\n";
constexpr std::string_view secret =
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {id: aw==}\n";

TEST(Environment, AValueOutOfAReferenceIsNotExpanded) {
  const TestCluster cluster(
      pod_yaml("env: [{name: X, value: x}, {name: A, valueFrom: {configMapKeyRef: {name: conf, "
               "key: K2}}}]") +
      std::string(config_map));
  EXPECT_EQ(values_of(cluster)["A"], "$(X)");
}

TEST(Environment, WhatIsMissingStopsTheContainerInUpstreamsWords) {
  struct Row {
    std::string env;
    std::string want;
  };
  const Row rows[] = {
      {"envFrom: [{configMapRef: {name: nope}}]", "configmap \"nope\" not found"},
      {"envFrom: [{secretRef: {name: nope}}]", "secret \"nope\" not found"},
      {"envFrom: [{secretRef: {name: nope, optional: true}}]", "none"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: nope, key: k}}}]",
       "configmap \"nope\" not found"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: conf, key: nope}}}]",
       "couldn't find key nope in ConfigMap default/conf"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: conf, key: nope, optional: true}}}]",
       "none"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: nope, key: k}}}]",
       "secret \"nope\" not found"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: key, key: nope}}}]",
       "couldn't find key nope in Secret default/key"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: nope, key: k, optional: true}}}]", "none"},
      {"env: [{name: A, valueFrom: {resourceFieldRef: {containerName: z, resource: limits.cpu}}}]",
       "container z not found"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(
        error_of(TestCluster(pod_yaml(row.env) + std::string(config_map) + std::string(secret))),
        row.want)
        << row.env;
}

TEST(Environment, AnOptionalReferenceToNothingLeavesWhatEnvFromGave) {
  const TestCluster cluster(
      pod_yaml("envFrom: [{configMapRef: {name: conf}}], env: [{name: k, valueFrom: "
               "{secretKeyRef: {name: nope, key: k, optional: true}}}]") +
      std::string(config_map));
  EXPECT_EQ(values_of(cluster)["k"], "v");
}

TEST(Environment, AnEnvFromPrefixThatMakesABadNameIsNoticedAndSkipped) {
  const TestCluster cluster(pod_yaml("envFrom: [{prefix: 'a=', configMapRef: {name: conf}}]") +
                            std::string(config_map));
  Notices notices;
  const auto variables = environment(cluster.context(), cluster.container(), &notices);
  ASSERT_TRUE(variables);
  EXPECT_TRUE(variables->empty());
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].reason, "InvalidEnvironmentVariableNames");
  EXPECT_EQ(notices[0].message,
            "Keys [a=K2, a=k] from the EnvFrom configMap default/conf were skipped since they are "
            "considered invalid environment variable names.");
}

constexpr std::string_view services =
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: kubernetes}\n"
    "spec: {clusterIP: 10.0.0.1, ports: [{name: https, port: 443, protocol: TCP}]}\n"
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: my-svc}\n"
    "spec: {clusterIP: 10.0.0.5, ports: [{name: dns-udp, port: 53, protocol: UDP}, {port: 80}]}\n"
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: headless}\n"
    "spec: {clusterIP: None, ports: [{port: 1}]}\n"
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: name-only}\nspec: {type: ExternalName, "
    "externalName: x.org}\n"
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: elsewhere, namespace: other}\n"
    "spec: {clusterIP: 10.0.0.6, ports: [{port: 1}]}\n"
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: six}\n"
    "spec: {clusterIP: 'fd00::5', ports: [{port: 9}]}\n";

TEST(Environment, ServicesWithAnAddressOfThePodsNamespaceGiveTheirVariables) {
  auto values = values_of(TestCluster(pod_yaml("") + std::string(services)));
  const std::pair<const char*, const char*> wanted[] = {
      {"MY_SVC_SERVICE_HOST", "10.0.0.5"},         {"MY_SVC_SERVICE_PORT", "53"},
      {"MY_SVC_SERVICE_PORT_DNS_UDP", "53"},       {"MY_SVC_PORT", "udp://10.0.0.5:53"},
      {"MY_SVC_PORT_53_UDP", "udp://10.0.0.5:53"}, {"MY_SVC_PORT_53_UDP_PROTO", "udp"},
      {"MY_SVC_PORT_53_UDP_PORT", "53"},           {"MY_SVC_PORT_53_UDP_ADDR", "10.0.0.5"},
      {"MY_SVC_PORT_80_TCP", "tcp://10.0.0.5:80"}, {"SIX_PORT", "tcp://[fd00::5]:9"},
      {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
  };
  for (const auto& [name, value] : wanted) EXPECT_EQ(values[name], value) << name;
  for (const auto& [name, value] : values) {
    EXPECT_FALSE(name.starts_with("HEADLESS_")) << name;
    EXPECT_FALSE(name.starts_with("NAME_ONLY_")) << name;
    EXPECT_FALSE(name.starts_with("ELSEWHERE_")) << name;
  }
}

TEST(Environment, WithoutServiceLinksOnlyTheMasterIsKnown) {
  for (const auto& [name, value] :
       values_of(TestCluster(pod_yaml("", "enableServiceLinks: false") + std::string(services))))
    EXPECT_TRUE(name.starts_with("KUBERNETES_")) << name;
}

TEST(Environment, SaysWhichRulePutEachVariableThereAndWhatItHides) {
  const TestCluster cluster(
      pod_yaml("envFrom: [{configMapRef: {name: conf}}], env: [{name: k, value: own}, {name: "
               "SIX_PORT, value: '1'}, {name: IP, valueFrom: {fieldRef: {fieldPath: "
               "status.podIP}}}, {name: ID, valueFrom: {secretKeyRef: {name: key, key: id}}}]") +
      std::string(config_map) + std::string(secret) + std::string(services));
  const auto variables = environment(cluster.context(), cluster.container());
  ASSERT_TRUE(variables);
  struct Row {
    EnvRule rule;
    std::string from;
    std::string hidden;  // of the last rule it hides
  };
  const std::map<std::string, Row> wanted{
      {"k", {EnvRule::value, "env[0]", "ConfigMap conf key k"}},
      {"K2", {EnvRule::env_from_config_map, "ConfigMap conf key K2", ""}},
      {"SIX_PORT", {EnvRule::value, "env[1]", "Service six"}},
      {"SIX_SERVICE_HOST", {EnvRule::service_link, "Service six", ""}},
      {"IP", {EnvRule::field, "field status.podIP", ""}},
      {"ID", {EnvRule::secret_key, "Secret key key id", ""}},
  };
  std::size_t seen = 0;
  for (const EnvVariable& variable : *variables) {
    const auto row = wanted.find(variable.name);
    if (row == wanted.end()) continue;
    ++seen;
    EXPECT_EQ(variable.origin.rule, row->second.rule) << variable.name;
    EXPECT_EQ(variable.origin.from, row->second.from) << variable.name;
    EXPECT_EQ(variable.hidden.empty() ? "" : variable.hidden.back().from, row->second.hidden)
        << variable.name;
  }
  EXPECT_EQ(seen, wanted.size());
}

TEST(FieldValue, KnowsTheFieldsOfTheDownwardApi) {
  const TestCluster cluster(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, labels: {app: x, b: \"q\\\"\\n\"}, "
      "annotations: {a/b: c}}\nspec: {nodeName: node-1, serviceAccountName: sa, containers: "
      "[{name: c, "
      "image: i}]}\n");
  PodContext context = cluster.context();
  context.pod_ips = {"10.1.1.1", "fd00::1"};
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"metadata.name", "p"},
      {"metadata.namespace", "default"},
      {"metadata.uid", "u"},
      {"metadata.labels['app']", "x"},
      {"metadata.labels['nope']", ""},
      {"metadata.annotations['a/b']", "c"},
      {"metadata.labels", "app=\"x\"\nb=\"q\\\"\\n\""},
      {"metadata.annotations", "a/b=\"c\""},
      {"spec.nodeName", "node-1"},
      {"spec.serviceAccountName", "sa"},
      {"status.hostIP", "192.168.0.1"},
      {"status.podIP", "10.1.1.1"},
      {"status.podIPs", "10.1.1.1,fd00::1"},
  };
  for (const auto& [path, want] : rows) {
    const auto value = field_value(context, path);
    ASSERT_TRUE(value) << path;
    EXPECT_EQ(*value, want) << path;
  }
  EXPECT_FALSE(field_value(context, "spec.restartPolicy['x']"));
  EXPECT_FALSE(field_value(context, "status.nothing"));
}

TEST(ResourceValue, DividesAndRoundsUp) {
  const TestCluster cluster(pod_yaml(
      "resources: {limits: {cpu: 1500m, memory: 100Mi}, requests: {cpu: 250m, memory: 1000}}"));
  struct Row {
    std::string resource;
    std::string divisor;
    std::string want;
  };
  const Row rows[] = {
      {"limits.cpu", "", "2"},
      {"limits.cpu", "1m", "1500"},
      {"requests.cpu", "1", "1"},
      {"limits.memory", "1Mi", "100"},
      {"requests.memory", "1k", "1"},
      {"requests.memory", "300", "4"},
      {"limits.ephemeral-storage", "1Gi", "1024"},
      {"requests.ephemeral-storage", "", "0"},
  };
  for (const Row& row : rows) {
    ResourceFieldSelector selector{"", row.resource, std::nullopt};
    if (!row.divisor.empty()) selector.divisor = *Quantity::parse(row.divisor);
    const auto value = resource_value(cluster.context(), selector, &cluster.container());
    ASSERT_TRUE(value) << row.resource;
    EXPECT_EQ(*value, row.want) << row.resource << " / " << row.divisor;
  }
  EXPECT_FALSE(resource_value(cluster.context(), {"", "limits.nvidia.com/gpu", std::nullopt},
                              &cluster.container()));
}

}  // namespace
}  // namespace ddptwin::kubelet::env_test
