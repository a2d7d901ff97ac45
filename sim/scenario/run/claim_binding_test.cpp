// Claims, volumes and pods in a cluster of two nodes that nobody runs pods on: what becomes of
// them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/volumes.hpp"
#include "objects/yaml.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario::claim_binding_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view claim_text =
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}}}\nspec: {{accessModes: "
    "[{}], resources: {{requests: {{storage: {}}}}}{}}}\n---\n";
std::string claim(std::string_view name, std::string_view more = {}, std::string_view size = "1Gi",
                  std::string_view mode = "ReadWriteOnce") {
  return fmt::format(fmt::runtime(claim_text), name, mode, size, more);
}
std::string pod(std::string_view name, std::string_view claim_name) {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec: {{containers: [{{name: c, image: "
      "i}}], volumes: [{{name: v, persistentVolumeClaim: {{claimName: {}}}}}]}}\n---\n",
      name, claim_name);
}
std::string volume(std::string_view name, std::string_view more = {},
                   std::string_view size = "1Gi") {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}, labels: {{is: {}}}}}\nspec: "
      "{{accessModes: [ReadWriteOnce], capacity: {{storage: {}}}{}}}\n---\n",
      name, name, size, more);
}
constexpr std::string_view host_path = ", hostPath: {path: /srv}";

// While it is ill nobody hears of new claims, and who asks for one is refused.
class IllServer final : public WorldFaults {
 public:
  PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }
  api::CallVerdict on_call(const api::Caller&, const api::Request& request) override {
    const bool asks = request.verb == api::Verb::get;
    if (!is_ill || !asks || request.target.kind != &PersistentVolumeClaim::info()) return {};
    ++refused;
    return {.refuse = api::injected_error(500, "")};
  }
  void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {}
  api::EventVerdict on_event(const api::Caller&, const KindInfo& kind,
                             const api::WatchEvent&) override {
    if (!is_ill || &kind != &PersistentVolumeClaim::info()) return {};
    return {.delay = std::chrono::seconds(20)};
  }
  bool is_ill = false;
  int refused = 0;
};

class ClaimBinding : public testing::Test {
 protected:
  // The cluster that a run of these manifests has.
  void begin(const std::string& text) {
    static const KindRegistry kinds;
    auto parsed = parse_scenario("s.yaml", kinds,
                                 [&](const std::string&) { return Result<std::string>(text); });
    ASSERT_TRUE(parsed) << parsed.error().text();
    WorldOptions options = cluster_options(*parsed, 1);
    options.systems.clear();
    options.nodes.clear();
    options.faults = &server;
    for (const char* name : {"a", "b"}) {
      NodeOptions& one = options.nodes.emplace_back();
      one.name = name;
      one.kubelet = false;
    }
    world = std::make_unique<World>(loop, std::move(options), nullptr);
    world->trace().add_sink([this](const Record& record) {
      const auto event = as<Event>(record.after);
      if (event && !record.before)
        events.push_back(fmt::format("{}/{} {} {}: {}", event->involvedObject->kind,
                                     event->involvedObject->name, event->type_, event->reason,
                                     event->message));
    });
    ASSERT_TRUE(world->start());
    add(text);
  }
  void add(const std::string& text) {
    static const KindRegistry kinds;
    auto parsed = parse_scenario("s.yaml", kinds,
                                 [&](const std::string&) { return Result<std::string>(text); });
    ASSERT_TRUE(parsed) << parsed.error().text();
    for (const Manifest& manifest : parsed->manifests) {
      const auto made = world->call(api::create(manifest.object), "test");
      ASSERT_TRUE(made) << made.error().message;
    }
    settle();
  }
  void settle(Duration time = std::chrono::seconds(2)) { loop.run_until(loop.now() + time); }
  std::shared_ptr<const PersistentVolumeClaim> claim_named(const std::string& name) {
    return as<PersistentVolumeClaim>(world->find(PersistentVolumeClaim::info(), "default", name));
  }
  std::shared_ptr<const PersistentVolume> volume_named(const std::string& name) {
    return as<PersistentVolume>(world->find(PersistentVolume::info(), "", name));
  }
  std::string phase(const std::string& name) { return claim_named(name)->status.phase; }
  std::string node_of(const std::string& name) {
    return as<Pod>(world->find(Pod::info(), "default", name))->spec->nodeName;
  }
  std::string unscheduled(const std::string& name) {
    const auto found = as<Pod>(world->find(Pod::info(), "default", name));
    const PodCondition* condition = found->status.condition("PodScheduled");
    return condition == nullptr || condition->status == "True" ? "" : condition->message.str();
  }
  void remove(const Object& object) {
    ASSERT_TRUE(world->call(api::remove(object), "test"));
    settle();
  }

  IllServer server{};
  VirtualLoop loop{Random(3), virtual_start};
  std::unique_ptr<World> world{};
  std::vector<std::string> events{};
};

TEST_F(ClaimBinding, a_claim_waits_for_its_first_pod_and_is_provisioned_where_that_goes) {
  begin(claim("data"));
  EXPECT_EQ(phase("data"), "Pending");
  EXPECT_EQ(claim_named("data")->spec.storageClassName, "standard");
  EXPECT_THAT(events, ElementsAre("PersistentVolumeClaim/data Normal WaitForFirstConsumer: waiting "
                                  "for first consumer to be created before binding"));
  add(pod("p", "data"));
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_EQ(node_of("p"), "a");
  const auto made = volume_named(claim_named("data")->spec.volumeName);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->metadata.name.str(), "pvc-" + claim_named("data")->metadata.uid.str());
  EXPECT_EQ(made->status.phase, "Bound");
  EXPECT_EQ(made->spec.persistentVolumeReclaimPolicy, "Delete");
  EXPECT_FALSE(made->spec.nodeAffinity);
  EXPECT_EQ(claim_named("data")->status.capacity.at("storage").str(), "1Gi");
  EXPECT_THAT(events,
              Contains(HasSubstr("Normal ProvisioningSucceeded: Successfully provisioned")));
  EXPECT_THAT(events, Not(Contains(HasSubstr("FailedScheduling"))));
}

TEST_F(ClaimBinding, a_claim_that_nobody_made_keeps_its_pod_until_it_comes) {
  begin(pod("p", "data"));
  EXPECT_EQ(unscheduled("p"),
            "0/2 nodes are available: persistentvolumeclaim \"data\" not found. no new claims to "
            "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
            "scheduling.");
  EXPECT_THAT(events, ElementsAre(AllOf(StartsWith("Pod/p Warning FailedScheduling"),
                                        HasSubstr("persistentvolumeclaim \"data\" not found"))));
}

TEST_F(ClaimBinding, it_is_tried_again_when_the_claim_comes) {
  begin(pod("p", "data") + claim("other"));
  EXPECT_THAT(unscheduled("p"), HasSubstr("\"data\" not found"));
  add(claim("data"));
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(phase("other"), "Pending");
}

TEST_F(ClaimBinding, an_immediate_class_provisions_at_once) {
  begin(
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: "
      "ebs.csi.aws.com\nreclaimPolicy: Retain\n---\n" +
      claim("data", ", storageClassName: fast"));
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_EQ(volume_named(claim_named("data")->spec.volumeName)->spec.persistentVolumeReclaimPolicy,
            "Retain");
}

TEST_F(ClaimBinding, a_local_provisioner_ties_the_pod_to_its_node) {
  begin(
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: standard}\nprovisioner: "
      "rancher.io/local-path\nvolumeBindingMode: WaitForFirstConsumer\n---\n" +
      claim("data", ", storageClassName: standard") + pod("p", "data"));
  ASSERT_EQ(node_of("p"), "a");
  remove(*world->find(Pod::info(), "default", "p"));
  // Its node goes; the volume is still there, and reached from no other.
  remove(*world->find(Node::info(), "", "a"));
  add(pod("q", "data"));
  EXPECT_THAT(unscheduled("q"),
              HasSubstr("1 node(s) didn't match PersistentVolume's node affinity"));
}

TEST_F(ClaimBinding, no_class_and_no_volume) {
  begin(claim("data", ", storageClassName: \"\"") + pod("p", "data"));
  EXPECT_THAT(events, Contains("PersistentVolumeClaim/data Normal FailedBinding: no persistent "
                               "volumes available for this claim and no storage class is set"));
  EXPECT_THAT(unscheduled("p"), HasSubstr("pod has unbound immediate PersistentVolumeClaims"));
  add(volume("v", host_path));
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_EQ(claim_named("data")->spec.volumeName, "v");
  EXPECT_EQ(node_of("p"), "a");
}

TEST_F(ClaimBinding, a_class_that_nobody_made) {
  begin(claim("data", ", storageClassName: gone") + pod("p", "data"));
  EXPECT_THAT(events, Contains("PersistentVolumeClaim/data Warning ProvisioningFailed: "
                               "storageclass.storage.k8s.io \"gone\" not found"));
  EXPECT_THAT(unscheduled("p"), HasSubstr("pod has unbound immediate PersistentVolumeClaims"));
}

TEST_F(ClaimBinding, of_free_volumes_the_smallest_that_suits_is_taken) {
  const std::string bare(host_path);
  begin(volume("small", bare) + volume("large", bare, "9Gi") + volume("enough", bare, "3Gi") +
        volume("of-a-class", bare + ", storageClassName: other", "2Gi") +
        claim("data", ", storageClassName: \"\"", "2Gi") +
        claim("chosen", ", storageClassName: \"\", selector: {matchLabels: {is: large}}"));
  EXPECT_EQ(claim_named("data")->spec.volumeName, "enough");
  EXPECT_EQ(claim_named("chosen")->spec.volumeName, "large");
  EXPECT_EQ(volume_named("small")->status.phase, "Available");
}

TEST_F(ClaimBinding, each_pod_of_a_stateful_set_has_the_claim_that_its_containers_mount) {
  begin(
      "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec: {serviceName: s, "
      "replicas: "
      "2, podManagementPolicy: Parallel, selector: {matchLabels: {a: b}}, template: {metadata: "
      "{labels: {a: b}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, "
      "mountPath: /data}]}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: "
      "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}\n");
  for (const char* name : {"s-0", "s-1"}) {
    const std::string its_claim = std::string("data-") + name;
    ASSERT_NE(claim_named(its_claim), nullptr);
    EXPECT_EQ(phase(its_claim), "Bound");
    EXPECT_EQ(node_of(name), "a");
  }
}

TEST_F(ClaimBinding, a_volume_that_is_kept_for_a_claim_waits_for_it) {
  const std::string kept = std::string(host_path) +
                           ", claimRef: {namespace: default, name: mine}, storageClassName: slow";
  begin(volume("v", kept) + claim("other", ", storageClassName: \"\"") +
        claim("mine", ", storageClassName: slow"));
  EXPECT_EQ(claim_named("mine")->spec.volumeName, "v");
  EXPECT_EQ(phase("other"), "Pending");
}

TEST_F(ClaimBinding, a_claim_that_names_its_volume_is_told_why_it_does_not_get_it) {
  const std::string bare(host_path);
  begin(volume("v", bare) + claim("large", ", storageClassName: \"\", volumeName: v", "5Gi") +
        claim("late", ", storageClassName: \"\", volumeName: w"));
  EXPECT_THAT(events, Contains("PersistentVolumeClaim/large Warning VolumeMismatch: Cannot bind to "
                               "requested volume \"v\": requested PV is too small"));
  add(volume("w", bare));
  EXPECT_EQ(phase("late"), "Bound");
  add(claim("second", ", storageClassName: \"\", volumeName: w"));
  EXPECT_THAT(events, Contains("PersistentVolumeClaim/second Warning FailedBinding: volume \"w\" "
                               "already bound to a different claim."));
}

TEST_F(ClaimBinding, a_volume_that_is_kept_for_the_claim_by_name_need_not_suit) {
  const std::string kept = std::string(host_path) + ", claimRef: {namespace: default, name: data}";
  // The claim gets the default class, the volume has none, and is too small.
  begin(volume("v", kept) + claim("data", ", volumeName: v", "5Gi"));
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_EQ(claim_named("data")->spec.storageClassName, "standard");
  EXPECT_EQ(volume_named("v")->status.phase, "Bound");
  EXPECT_THAT(events, Not(Contains(HasSubstr("VolumeMismatch"))));
}

TEST_F(ClaimBinding, a_volume_that_is_being_deleted_is_given_to_nobody) {
  begin(volume("v", host_path) + claim("other", ", storageClassName: slow"));
  auto held = std::make_shared<PersistentVolume>(*volume_named("v"));
  held->metadata.finalizers.edit().emplace_back("example.com/held");
  ASSERT_TRUE(world->call(api::update(held), "test"));
  remove(*volume_named("v"));
  add(claim("data", ", storageClassName: \"\", volumeName: v", "5Gi") +
      claim("any", ", storageClassName: \"\""));
  EXPECT_THAT(events, Contains("PersistentVolumeClaim/data Warning VolumeMismatch: Cannot bind to "
                               "requested volume \"v\": the volume is marked for deletion \"v\""));
  EXPECT_EQ(phase("any"), "Pending");
}

TEST_F(ClaimBinding, where_a_volume_lies_cannot_change) {
  begin(volume("v", std::string(host_path) +
                        ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                        "kubernetes.io/hostname, operator: In, values: [a]}]}]}}") +
        volume("free", host_path));
  const auto patched = [this](const std::string& name, const char* spec) {
    const auto answer =
        world->call(api::patch(*volume_named(name), api::PatchType::merge,
                               boost::json::parse(fmt::format("{{\"spec\": {}}}", spec))),
                    "test");
    return answer ? std::string() : answer.error().message;
  };
  for (const char* spec : {R"({"nodeAffinity": null})", R"({"nodeAffinity": {"required": null}})"})
    EXPECT_EQ(patched("v", spec),
              "PersistentVolume \"v\" is invalid: spec.nodeAffinity: Forbidden: field is immutable")
        << spec;
  EXPECT_EQ(patched("v", R"({"nodeAffinity": {}, "persistentVolumeReclaimPolicy": "Delete"})"), "");
  EXPECT_EQ(patched("free", R"({"nodeAffinity": null})"), "");
}

// Nothing is known of a claim whose server gives no answer.
TEST_F(ClaimBinding, a_volume_is_not_released_because_the_server_is_ill) {
  begin(claim("other"));
  server.is_ill = true;
  add(claim("data", ", storageClassName: \"\""));
  const std::string uid = claim_named("data")->metadata.uid.str();
  std::vector<std::string> phases;
  world->trace().add_sink([&phases](const Record& record) {
    if (const auto volume = as<PersistentVolume>(record.after))
      phases.push_back(volume->status.phase);
  });
  add(volume("v", std::string(host_path) +
                      ", persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: default, "
                      "name: data, uid: " +
                      uid + "}"));
  settle(std::chrono::seconds(10));
  EXPECT_GT(server.refused, 1);  // asked again
  server.is_ill = false;
  settle(std::chrono::seconds(60));
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_THAT(phases, Not(Contains("Released")));
}

TEST_F(ClaimBinding, what_is_deleted_is_reclaimed_as_its_policy_says) {
  const std::string keep = std::string(host_path) + ", storageClassName: s";
  const std::string drop = keep + ", persistentVolumeReclaimPolicy: Delete";
  begin(claim("made") + pod("p", "made") + volume("kept", keep) +
        claim("one", ", storageClassName: s, volumeName: kept") + volume("dropped", drop) +
        claim("two", ", storageClassName: s, volumeName: dropped"));
  const std::string provisioned = claim_named("made")->spec.volumeName;
  ASSERT_NE(volume_named(provisioned), nullptr);
  remove(*claim_named("made"));
  EXPECT_NE(claim_named("made"), nullptr);  // a pod uses it
  ASSERT_TRUE(world->call(api::remove(*world->find(Pod::info(), "default", "p"),
                                      api::DeleteOptions{.grace_period_seconds = 0}),
                          "test"));
  settle();
  EXPECT_EQ(claim_named("made"), nullptr);
  EXPECT_EQ(volume_named(provisioned), nullptr);
  remove(*claim_named("one"));
  EXPECT_EQ(volume_named("kept")->status.phase, "Released");
  remove(*claim_named("two"));
  EXPECT_EQ(volume_named("dropped")->status.phase, "Failed");
  EXPECT_THAT(events, Contains(HasSubstr("PersistentVolume/dropped Warning VolumeFailedDelete")));
}

TEST_F(ClaimBinding, a_claim_whose_volume_is_gone_is_lost) {
  begin(volume("v", host_path) + claim("data", ", storageClassName: \"\""));
  ASSERT_EQ(phase("data"), "Bound");
  auto freed = std::make_shared<PersistentVolume>(*volume_named("v"));
  freed->metadata.finalizers.edit().clear();
  ASSERT_TRUE(world->call(api::update(freed), "test"));
  remove(*volume_named("v"));
  EXPECT_EQ(phase("data"), "Lost");
  EXPECT_THAT(events, Contains(HasSubstr("Warning ClaimLost: Bound claim has lost its")));
  add(pod("p", "data"));
  EXPECT_THAT(unscheduled("p"), HasSubstr("persistentvolumeclaim \"data\" bound to non-existent "
                                          "persistentvolume \"v\""));
}

TEST_F(ClaimBinding, a_cluster_without_the_binder_binds_nothing) {
  begin(
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {cluster: "
      "{flags: {controllers: ['*', -persistentvolume-binder-controller]}}}\n---\n" +
      claim("data") + pod("p", "data"));
  EXPECT_EQ(phase("data"), "Pending");
  EXPECT_FALSE(claim_named("data")->spec.storageClassName);
  EXPECT_THAT(unscheduled("p"), HasSubstr("pod has unbound immediate PersistentVolumeClaims"));
  const auto running = world->controllers();
  EXPECT_THAT(running, Not(Contains("persistentvolume-controller")));
  EXPECT_THAT(running, Not(Contains("external-provisioner")));
}

TEST_F(ClaimBinding, a_cluster_without_claims_has_nobody_who_binds_them) {
  begin("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  EXPECT_THAT(world->controllers(), Not(Contains("persistentvolume-controller")));
  EXPECT_EQ(world->kinds().find("v1", "PersistentVolumeClaim"), nullptr);
}

TEST_F(ClaimBinding, the_provisioner_may_be_away_for_a_while) {
  begin(claim("data"));
  ASSERT_TRUE(world->crash_controller("external-provisioner"));
  add(pod("p", "data"));
  EXPECT_EQ(phase("data"), "Pending");
  EXPECT_EQ(node_of("p"), "");
  ASSERT_TRUE(world->start_controller("external-provisioner"));
  settle();
  EXPECT_EQ(phase("data"), "Bound");
  EXPECT_EQ(node_of("p"), "a");
}

TEST_F(ClaimBinding, a_node_that_goes_while_the_volume_is_made_is_chosen_anew) {
  begin(claim("data"));
  ASSERT_TRUE(world->crash_controller("external-provisioner"));
  add(pod("p", "data"));
  remove(*world->find(Node::info(), "", "a"));
  ASSERT_TRUE(world->start_controller("external-provisioner"));
  settle(std::chrono::seconds(30));
  EXPECT_EQ(node_of("p"), "b");
}

}  // namespace
}  // namespace ddptwin::scenario::claim_binding_test
