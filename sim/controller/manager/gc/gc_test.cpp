// The garbage collector, the namespace controller and the pod garbage collector on a store.
#include "controller/manager/gc/gc.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/store_client.hpp"
#include "controller/manager/namespace_lifecycle.hpp"
#include "controller/manager/pod_gc.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::gc_test {
namespace {

constexpr Time start{std::chrono::hours(24 * 365 * 50)};

struct Fixture {
  VirtualLoop loop{Random(3), start};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(5), trace, kinds};
  StoreClient gc_client{loop, store, "generic-garbage-collector"};
  StoreClient namespace_client{loop, store, "namespace-controller"};
  StoreClient pod_client{loop, store, "pod-garbage-collector"};
  api::SharedInformers informers{loop, gc_client};
  GarbageCollector collector{loop, gc_client, informers};
  NamespaceLifecycle lifecycle{loop, namespace_client, informers};
  PodGarbageCollector pods{loop, pod_client, informers};

  Fixture() {
    collector.start();
    lifecycle.start();
    pods.start();
    run(1s);
  }
  void run(Duration time) { loop.run_until(loop.now() + time); }
  ObjectPtr must(const api::Request& request) {
    auto answer = store.call(request, "test");
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? answer->object : nullptr;
  }
  ObjectPtr map(std::string name, std::vector<OwnerReference> owners = {},
                std::vector<std::string> finalizers = {}, std::string space = "default") {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = std::move(name);
    object->metadata.namespace_ = std::move(space);
    object->metadata.ownerReferences = std::move(owners);
    object->metadata.finalizers = std::move(finalizers);
    return must(api::create(object));
  }
  void remove(const Object& object, api::Propagation propagation) {
    api::DeleteOptions options;
    options.propagation = propagation;
    must(api::remove(object, options));
    run(5s);
  }
  std::shared_ptr<const ConfigMap> find(std::string_view name) const {
    return store.find<ConfigMap>("default", name);
  }
};

OwnerReference owner(const Object& object, bool blocks = false) {
  OwnerReference reference;
  reference.apiVersion = object.kind().api_version();
  reference.kind = object.kind().kind;
  reference.name = object.metadata.name;
  reference.uid = object.metadata.uid;
  reference.blockOwnerDeletion = blocks;
  return reference;
}

TEST(GarbageCollector, DependentsFollowTheirOwner) {
  Fixture f;
  const ObjectPtr a = f.map("a");
  const ObjectPtr b = f.map("b", {owner(*a)});
  f.map("c", {owner(*b)});
  f.run(2s);
  f.remove(*a, api::Propagation::background);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(f.find(name), nullptr) << name;
}

TEST(GarbageCollector, AnotherLivingOwnerKeepsTheDependent) {
  Fixture f;
  const ObjectPtr a1 = f.map("a1"), a2 = f.map("a2");
  f.map("b", {owner(*a1), owner(*a2)});
  f.run(2s);
  f.remove(*a1, api::Propagation::background);
  ASSERT_NE(f.find("b"), nullptr);
  ASSERT_EQ(f.find("b")->metadata.ownerReferences->size(), 1u);
  EXPECT_EQ(f.find("b")->metadata.ownerReferences->front().name, "a2");
  f.remove(*a2, api::Propagation::background);
  EXPECT_EQ(f.find("b"), nullptr);
}

TEST(GarbageCollector, OrphansLoseTheirReference) {
  Fixture f;
  const ObjectPtr a = f.map("a");
  f.map("b", {owner(*a)});
  f.run(2s);
  f.remove(*a, api::Propagation::orphan);
  EXPECT_EQ(f.find("a"), nullptr);
  ASSERT_NE(f.find("b"), nullptr);
  EXPECT_TRUE(f.find("b")->metadata.ownerReferences->empty());
}

TEST(GarbageCollector, ForegroundWaitsForWhatBlocks) {
  Fixture f;
  const ObjectPtr a = f.map("a");
  const ObjectPtr b = f.map("b", {owner(*a, true)});
  const ObjectPtr c = f.map("c", {owner(*b, true)}, {"example.com/hold"});
  f.run(2s);
  f.remove(*a, api::Propagation::foreground);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_NE(f.find(name), nullptr) << name;
    EXPECT_TRUE(f.find(name)->metadata.deletionTimestamp.has_value()) << name;
  }
  f.must(api::patch(*c, api::PatchType::merge,
                    boost::json::parse(R"({"metadata":{"finalizers":null}})")));
  f.run(5s);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(f.find(name), nullptr) << name;
}

TEST(GarbageCollector, TwoThatOwnEachOtherGoTogether) {
  for (const auto propagation : {api::Propagation::background, api::Propagation::foreground}) {
    Fixture f;
    const ObjectPtr a = f.map("a");
    const ObjectPtr b = f.map("b", {owner(*a, true)});
    auto closed = std::static_pointer_cast<ConfigMap>(a->clone());
    closed->metadata.ownerReferences = std::vector{owner(*b, true)};
    f.must(api::update(closed));
    f.run(2s);
    f.remove(*a, propagation);
    EXPECT_EQ(f.find("a"), nullptr);
    EXPECT_EQ(f.find("b"), nullptr);
  }
}

TEST(GarbageCollector, AReferenceToNothingIsAnEnd) {
  Fixture f;
  const ObjectPtr a = f.map("a");
  OwnerReference absent = owner(*a), wrong_name = owner(*a), unknown = owner(*a);
  absent.uid = "00000000-0000-4000-8000-000000000001";
  wrong_name.name = "other";
  unknown.apiVersion = "foo.io/v1";
  unknown.kind = "Foo";
  unknown.uid = "00000000-0000-4000-8000-000000000002";
  f.map("absent", {absent});
  f.map("wrong-name", {wrong_name});
  f.map("unknown", {unknown});
  f.run(5s);
  EXPECT_EQ(f.find("absent"), nullptr);
  EXPECT_EQ(f.find("wrong-name"), nullptr);
  EXPECT_NE(f.find("unknown"), nullptr);
}

TEST(GarbageCollector, AnOwnerElsewhereIsNone) {
  Fixture f;
  const ObjectPtr far = f.map("far", {}, {}, "kube-public");
  f.run(2s);
  f.map("b", {owner(*far)});
  f.run(2s);
  EXPECT_EQ(f.find("b"), nullptr);
  const auto& events = f.store.objects(Event::info());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(static_cast<const Event&>(*(*events.begin()).object).message,
            "ownerRef [v1/ConfigMap, namespace: default, name: far, uid: " +
                far->metadata.uid.str() + "] does not exist in namespace \"default\"");
}

TEST(GarbageCollector, WhatHappensInAStallIsDoneAfterIt) {
  Fixture f;
  const ObjectPtr a = f.map("a");
  f.map("b", {owner(*a)});
  f.run(2s);
  f.collector.stall(true);
  f.remove(*a, api::Propagation::background);
  EXPECT_NE(f.find("b"), nullptr);
  f.collector.stall(false);
  f.run(1s);
  EXPECT_EQ(f.find("b"), nullptr);
}

ObjectPtr make_namespace(Fixture& f) {
  auto space = std::make_shared<Namespace>();
  space->metadata.name = "t";
  return f.must(api::create(space));
}

TEST(NamespaceLifecycle, EmptiesTheNamespaceAndLetsItGo) {
  Fixture f;
  const ObjectPtr space = make_namespace(f);
  f.map("a", {}, {}, "t");
  f.must(api::remove(*space));
  f.run(4s);
  EXPECT_NE(f.store.find<ConfigMap>("t", "a"), nullptr);
  f.run(2s);
  EXPECT_EQ(f.store.find<ConfigMap>("t", "a"), nullptr);
  EXPECT_EQ(f.store.find<Namespace>({}, "t"), nullptr);
}

TEST(NamespaceLifecycle, TellsWhatHoldsIt) {
  Fixture f;
  const ObjectPtr space = make_namespace(f);
  const ObjectPtr keep = f.map("keep", {}, {"example.com/hold"}, "t");
  f.must(api::remove(*space));
  f.run(6s);
  const auto waiting = f.store.find<Namespace>({}, "t");
  ASSERT_NE(waiting, nullptr);
  ASSERT_EQ(waiting->status.conditions.size(), 5u);
  EXPECT_EQ(waiting->status.conditions[3].message,
            "Some resources are remaining: configmaps. has 1 resource instances");
  EXPECT_EQ(waiting->status.conditions[4].message,
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 "
            "resource instances");
  f.must(api::patch(*keep, api::PatchType::merge,
                    boost::json::parse(R"({"metadata":{"finalizers":null}})")));
  f.run(10s);
  EXPECT_EQ(f.store.find<Namespace>({}, "t"), nullptr);
}

std::shared_ptr<Pod> make_pod(std::string node) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_ = "default";
  pod->metadata.finalizers = {"example.com/hold"};
  PodSpec& spec = pod->spec.edit();
  spec.nodeName = std::move(node);
  spec.containers = {{.name = "c", .image = "i"}};
  return pod;
}

// Nobody ends the pod: there is no kubelet here.
void make_pod_in_t(Fixture& f, std::int64_t grace, std::string phase,
                   std::vector<std::string> finalizers) {
  auto pod = make_pod("n");
  pod->metadata.namespace_ = "t";
  pod->metadata.finalizers = std::move(finalizers);
  pod->spec.edit().terminationGracePeriodSeconds = grace;
  const ObjectPtr made = f.must(api::create(pod));
  auto with_status = std::static_pointer_cast<Pod>(made->clone());
  with_status->status.phase = std::move(phase);
  f.must(api::update(with_status, "status"));
}

// The second look comes at 10 s, for its own write of the conditions, the third at 31.
TEST(NamespaceLifecycle, LooksAgainAfterHalfTheGraceOfThePodsThatRun) {
  Fixture f;
  const ObjectPtr space = make_namespace(f);
  make_pod_in_t(f, 40, "Running", {});
  f.map("a", {}, {}, "t");
  f.must(api::remove(*space));
  f.run(11s);
  // While a pod is left nothing else goes, and no condition says so.
  EXPECT_EQ(f.store.find<Namespace>({}, "t")->status.conditions[3].status, "False");
  f.must(api::remove(*f.store.find<Pod>("t", "p"), api::DeleteOptions{.grace_period_seconds = 0}));
  f.run(19s);
  EXPECT_NE(f.store.find<ConfigMap>("t", "a"), nullptr);
  f.run(2s);
  EXPECT_EQ(f.store.find<Namespace>({}, "t"), nullptr);
}

// A pod that has ended needs no grace: what holds it is its finalizer, looked at at 5, 10 and 18 s.
TEST(NamespaceLifecycle, AnEndedPodNeedsNoGrace) {
  Fixture f;
  const ObjectPtr space = make_namespace(f);
  make_pod_in_t(f, 400, "Succeeded", {"example.com/hold"});
  f.must(api::remove(*space));
  f.run(11s);
  ASSERT_NE(f.store.find<Pod>("t", "p"), nullptr);
  f.must(api::patch(*f.store.find<Pod>("t", "p"), api::PatchType::merge,
                    boost::json::parse(R"({"metadata":{"finalizers":null}})")));
  f.run(6s);
  EXPECT_NE(f.store.find<Namespace>({}, "t"), nullptr);
  f.run(2s);
  EXPECT_EQ(f.store.find<Namespace>({}, "t"), nullptr);
}

// After its grace a pod that is there still is an error, asked after with a growing pause.
TEST(NamespaceLifecycle, SaysWhatStaysWithoutReason) {
  Fixture f;
  const ObjectPtr space = make_namespace(f);
  make_pod_in_t(f, 4, "Running", {});
  f.must(api::remove(*space));
  f.run(6s);
  const auto waiting = f.store.find<Namespace>({}, "t");
  ASSERT_NE(waiting, nullptr);
  EXPECT_EQ(waiting->status.conditions[2].reason, "ContentDeletionFailed");
  EXPECT_EQ(waiting->status.conditions[2].message,
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in "
            "namespace: t for gvr: /v1, Resource=pods");
  f.must(api::remove(*f.store.find<Pod>("t", "p"), api::DeleteOptions{.grace_period_seconds = 0}));
  f.run(2s);
  EXPECT_EQ(f.store.find<Namespace>({}, "t"), nullptr);
}

TEST(PodGarbageCollector, FailsAPodThatWasNeverPlaced) {
  Fixture f;
  const ObjectPtr pod = f.must(api::create(make_pod({})));
  f.must(api::remove(*pod));
  f.run(25s);
  const auto failed = f.store.find<Pod>("default", "p");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->status.phase, "Failed");
  EXPECT_EQ(failed->status.observedGeneration, 2);
}

TEST(PodGarbageCollector, WaitsBeforeItCallsANodeGone) {
  Fixture f;
  f.must(api::create(make_pod("gone")));
  f.run(39s);
  EXPECT_EQ(f.store.find<Pod>("default", "p")->status.phase, "Pending");
  f.run(45s);
  const auto failed = f.store.find<Pod>("default", "p");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->status.phase, "Failed");
  EXPECT_EQ(failed->status.condition("DisruptionTarget")->reason, "DeletionByPodGC");
  EXPECT_TRUE(failed->metadata.deletionTimestamp.has_value());
}

// A name is remembered, not a node [G:node-deleted-pods-collected].
TEST(PodGarbageCollector, GivesANodeThatGoesAgainLessTime) {
  Fixture f;
  const auto make = [&](const char* name) {
    auto pod = make_pod("gone");
    pod->metadata.name = name;
    pod->metadata.finalizers.edit().clear();
    f.must(api::create(pod));
  };
  make("p");
  f.run(65s);  // looked at after 20, 40 and 60 seconds
  EXPECT_EQ(f.store.find<Pod>("default", "p"), nullptr);
  auto node = std::make_shared<Node>();
  node->metadata.name = "gone";
  const ObjectPtr back = f.must(api::create(node));
  make("q");
  f.run(30s);
  EXPECT_NE(f.store.find<Pod>("default", "q"), nullptr);
  f.must(api::remove(*back));
  f.run(10s);
  EXPECT_EQ(f.store.find<Pod>("default", "q"), nullptr);
}

// [G:node-out-of-service-force-deletes]
TEST(PodGarbageCollector, TakesWhatEndsFromANodeOutOfService) {
  Fixture f;
  auto node = std::make_shared<Node>();
  node->metadata.name = "n";
  node->spec.taints = {{.key = "node.kubernetes.io/out-of-service", .effect = "NoExecute"}};
  const auto says = [&](const char* ready) {
    auto now = std::static_pointer_cast<Node>(f.store.find<Node>({}, "n")->clone());
    now->status.conditions = {{.type_ = "Ready", .status = ready}};
    f.must(api::update(now, "status"));
  };
  f.must(api::create(node));
  says("True");
  for (const char* name : {"ending", "running"}) {
    auto pod = make_pod("n");
    pod->metadata.name = name;
    f.must(api::create(pod));
  }
  const auto ending = [&] { return f.store.find<Pod>("default", "ending"); };
  f.must(api::remove(*ending()));
  f.run(45s);
  EXPECT_EQ(ending()->status.phase, "Pending") << "the node is Ready";
  says("Unknown");
  f.run(25s);
  EXPECT_EQ(ending()->status.phase, "Failed");
  EXPECT_EQ(ending()->status.observedGeneration, 2);
  EXPECT_EQ(ending()->status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(ending()->metadata.deletionGracePeriodSeconds, 0);
  EXPECT_EQ(f.store.find<Pod>("default", "running")->status.phase, "Pending");
}

}  // namespace
}  // namespace ddptwin::gc_test
