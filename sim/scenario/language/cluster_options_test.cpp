#include "scenario/language/cluster_options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objects/volumes.hpp"
#include "scenario/language/reference.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::cluster_options_test {
namespace {

struct Outcome {
  Duration lasted{};
  std::size_t pods = 0;  // at the end, of three jobs of one pod that keep theirs
};

Outcome run_with(std::string_view flags) {
  std::string text = fmt::format(
      "apiVersion: ddptwin.dev/v1alpha1\n"
      "kind: Scenario\n"
      "metadata: {{name: flags}}\n"
      "spec: {{modes: [virtual], cluster: {{flags: {{{}}}}}}}\n",
      flags);
  for (int i = 0; i < 3; ++i)
    text += fmt::format(R"(---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: job-{}}}
spec:
  runPolicy: {{cleanPodPolicy: None}}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers: [{{name: pytorch, image: ddptwin-worker, args: [--steps, "1"]}}]
)",
                        i);
  const KindRegistry kinds;
  const auto scenario = parse_scenario(
      "flags.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
  if (!scenario) {
    ADD_FAILURE() << scenario.error().text();
    return {};
  }
  VirtualRun run(*scenario, {});
  const Status started = run.start();
  EXPECT_TRUE(started) << started.error().text();
  const auto result = run.finish();
  if (!result) {
    ADD_FAILURE() << result.error().text();
    return {};
  }
  EXPECT_TRUE(result->passed());
  return {run.engine().ended_at() - run.engine().started_at(),
          run.world().objects(Pod::info(), "").size()};
}

Result<Scenario> parse(const std::string& cluster) {
  static const KindRegistry kinds;
  const std::string text = fmt::format(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {{cluster: "
      "{{{}}}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: "
      "[{{name: c, image: ddptwin-worker, command: [sleep, '1']}}], restartPolicy: Never, "
      "volumes: [{{name: v, persistentVolumeClaim: {{claimName: data}}}}]}}\n",
      cluster);
  return parse_scenario("s.yaml", kinds,
                        [&](const std::string&) { return Result<std::string>(text); });
}

TEST(ClusterOptions, names_outside_the_cluster_are_given_by_the_scenario) {
  const auto scenario =
      parse("outsideNames: {s3.example.org: 192.0.2.7, pair.org: [192.0.2.8, '2001:db8::1']}");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const auto names = cluster_options(*scenario, 1).dns.outside_names;
  EXPECT_EQ(names.at("s3.example.org"), std::vector<std::string>{"192.0.2.7"});
  EXPECT_EQ(names.at("pair.org"), (std::vector<std::string>{"192.0.2.8", "2001:db8::1"}));
  for (const auto& [text, problem] :
       {std::pair{"outsideNames: {a.org: nowhere}",
                  "spec.cluster.outsideNames.a.org: must be an IP address"},
        std::pair{"outsideNames: {a.org: [1.2.3]}", "must be an IP address"},
        std::pair{"outsideNames: {s.ns.svc.cluster.local: 1.2.3.4}", "is a name of the cluster"},
        std::pair{"outsideNames: {_x: 1.2.3.4}", "spec.cluster.outsideNames._x"}}) {
    const auto refused = parse(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().text().find(problem), std::string::npos) << refused.error().text();
  }
}

TEST(ClusterOptions, a_claim_may_be_a_folder_of_this_machine) {
  const std::string folder = testing::TempDir();
  const auto scenario = parse(fmt::format("claims: {{data: {}}}", folder));
  ASSERT_TRUE(scenario) << scenario.error().text();
  const WorldOptions options = cluster_options(*scenario, 1);
  EXPECT_EQ(options.kubelet.settings->claim_folders.count("default/data"), 1U);
  // Nobody else makes the claim, so it is made: the pod runs.
  VirtualRun run(*scenario, {});
  ASSERT_TRUE(run.start());
  const auto result = run.finish();
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
  for (const auto& [text, problem] :
       {std::pair{"claims: {data: /nowhere/at/all}", "No such file or directory"},
        std::pair{"claims: {data: /etc/passwd}", "must be the path of a folder"},
        std::pair{"claims: {Data: /tmp}", "spec.cluster.claims.Data"},
        std::pair{"flags: {controllers: [-statefulset]}",
                  "there is no controller \"statefulset\" that could be left out (known: "
                  "node-lifecycle-controller, taint-eviction-controller, cronjob-controller"},
        std::pair{"flags: {controllers: [statefulset-controller]}", "with - before it"}}) {
    const auto refused = parse(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().text().find(problem), std::string::npos) << refused.error().text();
  }
}

// Whatever classes the documents bring, and whoever binds claims.
TEST(ClusterOptions, a_claim_that_is_a_folder_is_bound_from_the_start) {
  const auto run_of = [](const std::string& cluster, const std::string& more) {
    const KindRegistry kinds;
    const std::string text = fmt::format(
        "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {{modes: "
        "[virtual], cluster: {{{}}}}}\n{}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, "
        "namespace: team}}\nspec: {{containers: [{{name: c, image: ddptwin-worker, command: "
        "[sleep, '1']}}], restartPolicy: Never, volumes: [{{name: v, persistentVolumeClaim: "
        "{{claimName: data}}}}]}}\n",
        cluster, more);
    const auto scenario = parse_scenario(
        "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
    if (!scenario) return scenario.error().text();
    if (const Status fits = preflight(*scenario); !fits) return fits.error().text();
    VirtualRun run(*scenario, {});
    if (const Status started = run.start(); !started) return started.error().text();
    const auto result = run.finish();
    if (!result) return result.error().text();
    const auto claim =
        as<PersistentVolumeClaim>(run.world().find(PersistentVolumeClaim::info(), "team", "data"));
    return fmt::format("{} {} {}", result->passed() ? "passed" : "failed", claim->status.phase,
                       claim->spec.volumeName);
  };
  const std::string claims = fmt::format("claims: {{team/data: {}}}", testing::TempDir());
  const std::string passed = "passed Bound folder-team-data";
  EXPECT_EQ(run_of(claims, ""), passed);
  EXPECT_EQ(
      run_of(claims,
             "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local, "
             "annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\n"
             "provisioner: kubernetes.io/no-provisioner\n"),
      passed);
  EXPECT_EQ(
      run_of(claims + ", flags: {controllers: ['*', -persistentvolume-binder-controller]}", ""),
      passed);
  // Its namespace may be one that a document makes.
  EXPECT_EQ(run_of(claims, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"),
            passed);
  EXPECT_EQ(run_of(fmt::format("claims: {{taem/data: {}}}", testing::TempDir()), ""),
            "s.yaml:4:45 spec.cluster.claims.taem/data: no document is in the namespace taem or "
            "makes it");
}

TEST(ClusterOptions, flags_reach_the_processes_of_the_control_plane) {
  const Outcome as_installed = run_with("");
  EXPECT_LT(as_installed.lasted, std::chrono::seconds(2));
  EXPECT_EQ(as_installed.pods, 3U);
  // Of three finished pods two are too many, once the pod garbage collector has looked.
  EXPECT_EQ(run_with("terminated-pod-gc-threshold: 1").pods, 1U);
  // Three pods, three Services, and the writes of their statuses.
  EXPECT_GT(run_with("kube-api-qps: 1, kube-api-burst: 1").lasted, std::chrono::seconds(5));
}

// What the reference says of a node that says nothing is what such a node has.
TEST(ClusterOptions, the_reference_names_what_a_node_has_by_default) {
  Scenario scenario;
  scenario.nodes = {NodeOptions{.name = "plain"}};
  VirtualRun run(scenario, {});
  ASSERT_TRUE(run.start());
  const ObjectPtr node = run.world().find(Node::info(), "", "plain");
  ASSERT_NE(node, nullptr);
  const ResourceList& capacity = static_cast<const Node&>(*node).status.capacity;
  EXPECT_EQ(capacity.size(), 5U);
  const std::string page = reference_page();
  const std::string section =
      page.substr(page.find("\n## Node\n"), page.find("\n## Image\n") - page.find("\n## Node\n"));
  for (const auto& [name, amount] : capacity) {
    const bool own_row = name == "cpu" || name == "memory";
    const std::string text =
        own_row ? fmt::format("| `{}` | a quantity | default: {} |", name, amount.str())
                : fmt::format("{}: {}", name, amount.str());
    EXPECT_NE(section.find(text), std::string::npos) << text << "\n" << section;
  }
}

}  // namespace
}  // namespace ddptwin::scenario::cluster_options_test
