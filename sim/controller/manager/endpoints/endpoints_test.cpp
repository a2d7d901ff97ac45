// What the three controllers of this folder write, as text: a service and its pods in, API calls
// out. The ids are those of spec/kubernetes.md §8.7.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "controller/manager/endpoints/endpoints_controller.hpp"
#include "controller/manager/endpoints/mirroring_controller.hpp"
#include "controller/manager/endpoints/slice_controller.hpp"
#include "objects/codec.hpp"
#include "objects/discovery_v1.hpp"

namespace ddptwin::controller::endpoints_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FakeCache final : public Cache {
 public:
  using Cache::find;
  using Cache::list;
  void put(const std::shared_ptr<Object>& object) {
    if (object->metadata.uid.empty()) object->metadata.uid = "uid-" + object->metadata.name;
    objects_[&object->kind()][key_of(object->metadata)] = object;
  }
  void drop(const Object& object) { objects_[&object.kind()].erase(key_of(object.metadata)); }
  ObjectPtr find(const KindInfo& kind, std::string_view namespace_,
                 std::string_view name) const override {
    const std::string key =
        namespace_.empty() ? std::string(name) : fmt::format("{}/{}", namespace_, name);
    for (const ObjectPtr& object : list(kind, namespace_))
      if (key_of(object->metadata) == key) return object;
    return nullptr;
  }
  std::vector<ObjectPtr> list(const KindInfo& kind, std::string_view namespace_) const override {
    std::vector<ObjectPtr> found;
    const auto of_kind = objects_.find(&kind);
    if (of_kind == objects_.end()) return found;
    for (const auto& [key, object] : of_kind->second)
      if (namespace_.empty() || object->metadata.namespace_ == namespace_) found.push_back(object);
    return found;
  }

  std::vector<const KindInfo*> kinds() const override {
    std::vector<const KindInfo*> found;
    for (const auto& [kind, objects] : objects_) found.push_back(kind);
    return found;
  }

 private:
  std::map<const KindInfo*, std::map<std::string, ObjectPtr>> objects_{};
};

std::shared_ptr<Service> service() {
  auto object = std::make_shared<Service>();
  object->metadata.namespace_ = "ns";
  object->metadata.name = "h";
  ServiceSpec& spec = object->spec.edit();
  spec.clusterIP = "None";
  spec.selector = {{"app", "h"}};
  spec.ports = {{.name = "ddp", .protocol = "TCP", .port = 29500}};
  return object;
}

struct PodShape {
  std::string ip{};
  bool ready = true;
  std::string phase = "Running";
  bool terminating = false;
  std::string hostname{};
  std::string subdomain{};
  std::string app = "h";
  std::int32_t named_port = 0;
};

std::shared_ptr<Pod> pod(const std::string& name, const PodShape& shape) {
  auto object = std::make_shared<Pod>();
  object->metadata.namespace_ = "ns";
  object->metadata.name = name;
  object->metadata.labels = StringMap{{"app", shape.app}};
  if (shape.terminating) object->metadata.deletionTimestamp = Time(1s);
  PodSpec& spec = object->spec.edit();
  spec.nodeName = "node-0";
  spec.rest.edit().hostname = shape.hostname;
  spec.rest.edit().subdomain = shape.subdomain;
  spec.containers = {{.name = "c"}};
  if (shape.named_port != 0)
    spec.containers.edit()[0].ports = {
        {.name = "ddp", .containerPort = shape.named_port, .protocol = "TCP"}};
  object->status.phase = shape.phase;
  object->status.rest.edit().podIP = shape.ip;
  if (!shape.ip.empty()) object->status.rest.edit().podIPs = {{shape.ip}};
  PodCondition& ready = object->status.conditions.edit().emplace_back();
  ready.type_ = "Ready";
  ready.status = shape.ready ? "True" : "False";
  return object;
}

std::string text_of(const Endpoint& endpoint) {
  const auto flag = [](const std::optional<bool>& value, const char* name) {
    return !value ? std::string() : fmt::format(" {}{}", *value ? "" : "!", name);
  };
  return fmt::format("{}{}{}{}{}", endpoint.addresses.at(0).view(),
                     endpoint.hostname ? " " + *endpoint.hostname : "",
                     flag(endpoint.conditions.ready, "ready"),
                     flag(endpoint.conditions.serving, "serving"),
                     flag(endpoint.conditions.terminating, "terminating"));
}

std::string text_of(const EndpointAddress& address) {
  return address.ip.str() + (address.hostname.empty() ? "" : " " + address.hostname.str());
}

std::string body_of(const Object& object) {
  std::string out;
  if (const auto* slice = as<EndpointSlice>(object)) {
    for (const SlicePort& port : slice->ports) out += fmt::format(" {}:{}", *port.name, *port.port);
    for (const Endpoint& endpoint : slice->endpoints) out += " | " + text_of(endpoint);
  } else if (const auto* endpoints = as<Endpoints>(object)) {
    for (const EndpointSubset& subset : endpoints->subsets) {
      out += " {";
      for (const EndpointPort& port : subset.ports)
        out += fmt::format(" {}:{}", port.name, port.port);
      for (const EndpointAddress& a : subset.addresses) out += " | " + text_of(a);
      for (const EndpointAddress& a : subset.notReadyAddresses) out += " | not ready " + text_of(a);
      out += " }";
    }
  }
  return out;
}

// Each step as a line, and its effect brought into the cache, but where a watch is late.
enum class Watch : std::uint8_t { prompt, late };
std::vector<std::string> run(Controller& controller, FakeCache& cache,
                             Watch watch = Watch::prompt) {
  const Expectations expectations;
  const Plan plan = controller.plan("ns/h", Observed{cache, expectations, Random(1)}, Time(100s));
  std::vector<std::string> lines;
  int made = 0;
  for (const Step& step : plan.steps) {
    if (!step.request) {
      lines.push_back(step.text.str());
      continue;
    }
    const api::Request& request = *step.request;
    std::string line = fmt::format("{} {}", to_string(request.verb), request.target.kind->kind);
    if (request.verb == api::Verb::remove) {
      controller.accepted("ns/h", step, {});
      line += " " + request.target.name;
      if (watch == Watch::prompt)
        cache.drop(
            *cache.find(*request.target.kind, request.target.namespace_, request.target.name));
    } else {
      auto object = request.object->clone();
      line += " " + object->metadata.name + object->metadata.rest->generateName.str() +
              body_of(*object);
      if (object->metadata.name.empty())
        object->metadata.name =
            fmt::format("{}{}", object->metadata.rest->generateName.view(), ++made);
      object->metadata.rest.edit().generateName = {};
      if (object->metadata.uid.empty()) object->metadata.uid = "uid-" + object->metadata.name;
      ++object->metadata.generation;
      controller.accepted("ns/h", step, {.object = object});
      if (watch == Watch::prompt) cache.put(object);
    }
    lines.push_back(line);
  }
  return lines;
}

// A second slice of the same endpoints as the one that is there.
ObjectPtr put_twin(FakeCache& cache) {
  const auto twin = cache.list<EndpointSlice>("ns").at(0)->clone();
  twin->metadata.name = "h-2";
  twin->metadata.uid = "uid-h-2";
  cache.put(twin);
  return twin;
}

class EndpointControllers : public testing::Test {
 protected:
  EndpointsController endpoints_controller{};
  EndpointSliceController slice_controller{};
  EndpointSliceMirroringController mirroring_controller{};
};

TEST_F(EndpointControllers, a_service_without_pods_has_both_objects_empty) {
  FakeCache cache;
  cache.put(service());
  EXPECT_THAT(run(endpoints_controller, cache), ElementsAre("create Endpoints h"));
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("create EndpointSlice h-"));
  // And nothing more, as long as nothing changes.
  EXPECT_THAT(run(endpoints_controller, cache), IsEmpty());
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());
}

TEST_F(EndpointControllers, a_services_labels_are_theirs_too) {
  FakeCache cache;
  auto labelled = service();
  labelled->metadata.labels = StringMap{{"job", "mnist"}};
  cache.put(labelled);
  run(endpoints_controller, cache);
  run(slice_controller, cache);
  EXPECT_EQ(*cache.find<Endpoints>("ns", "h")->metadata.labels,
            (StringMap{{"endpoints.kubernetes.io/managed-by", "endpoint-controller"},
                       {"job", "mnist"},
                       {"service.kubernetes.io/headless", ""}}));
  const auto slice = cache.list<EndpointSlice>("ns").at(0);
  EXPECT_EQ(
      *slice->metadata.labels,
      (StringMap{{"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"},
                 {"job", "mnist"},
                 {"kubernetes.io/service-name", "h"},
                 {"service.kubernetes.io/headless", ""}}));
  EXPECT_EQ(slice->metadata.ownerReferences->at(0).uid, "uid-h");
  labelled = service();
  labelled->spec.edit().clusterIP = "10.0.0.7";
  cache.put(labelled);
  EXPECT_THAT(run(endpoints_controller, cache), ElementsAre("update Endpoints h"));
  EXPECT_EQ(*cache.find<Endpoints>("ns", "h")->metadata.labels,
            (StringMap{{"endpoints.kubernetes.io/managed-by", "endpoint-controller"}}));
}

struct Row {
  const char* name;
  PodShape pod;
  bool publish_not_ready;
  std::vector<std::string> endpoints;  // the writes of each controller
  std::vector<std::string> slices;
};

// One pod in each state that it can be in; C189 to C192.
TEST_F(EndpointControllers, each_state_of_a_pod_has_its_place) {
  const std::string empty_endpoints = "create Endpoints h", empty_slice = "create EndpointSlice h-";
  const std::string e = empty_endpoints + " { ddp:29500 | ", s = empty_slice + " ddp:29500 | ";
  const Row rows[] = {
      {"ready",
       {.ip = "1.1.1.1"},
       false,
       {e + "1.1.1.1 }"},
       {s + "1.1.1.1 ready serving !terminating"}},
      {"C189 not ready",
       {.ip = "1.1.1.1", .ready = false},
       false,
       {e + "not ready 1.1.1.1 }"},
       {s + "1.1.1.1 !ready !serving !terminating"}},
      {"C190 not ready, published",
       {.ip = "1.1.1.1", .ready = false},
       true,
       {e + "1.1.1.1 }"},
       {s + "1.1.1.1 ready !serving !terminating"}},
      {"C191 terminating",
       {.ip = "1.1.1.1", .terminating = true},
       false,
       {empty_endpoints},
       {s + "1.1.1.1 !ready serving terminating"}},
      {"C191 terminating, published",
       {.ip = "1.1.1.1", .terminating = true},
       true,
       {e + "1.1.1.1 }"},
       {s + "1.1.1.1 ready serving terminating"}},
      {"no address yet", {}, true, {empty_endpoints}, {empty_slice}},
      {"succeeded",
       {.ip = "1.1.1.1", .phase = "Succeeded"},
       true,
       {empty_endpoints},
       {empty_slice}},
      {"failed", {.ip = "1.1.1.1", .phase = "Failed"}, false, {empty_endpoints}, {empty_slice}},
      {"another's", {.ip = "1.1.1.1", .app = "db"}, false, {empty_endpoints}, {empty_slice}},
      {"C192 hostname and subdomain",
       {.ip = "1.1.1.1", .hostname = "m", .subdomain = "h"},
       false,
       {e + "1.1.1.1 m }"},
       {s + "1.1.1.1 m ready serving !terminating"}},
      {"C192 another subdomain",
       {.ip = "1.1.1.1", .hostname = "m", .subdomain = "h2"},
       false,
       {e + "1.1.1.1 }"},
       {s + "1.1.1.1 ready serving !terminating"}},
      {"C192 no hostname",
       {.ip = "1.1.1.1", .subdomain = "h"},
       false,
       {e + "1.1.1.1 }"},
       {s + "1.1.1.1 ready serving !terminating"}},
  };
  for (const Row& row : rows) {
    FakeCache cache;
    auto with = service();
    with->spec.edit().publishNotReadyAddresses = row.publish_not_ready;
    cache.put(with);
    cache.put(pod("p", row.pod));
    EXPECT_EQ(run(endpoints_controller, cache), row.endpoints) << row.name;
    slice_controller.reset();
    EXPECT_EQ(run(slice_controller, cache), row.slices) << row.name;
  }
}

TEST_F(EndpointControllers, the_empty_slice_is_filled_and_emptied_again) {
  FakeCache cache;
  cache.put(service());
  run(slice_controller, cache);
  cache.put(pod("p", {.ip = "1.1.1.1"}));
  EXPECT_THAT(
      run(slice_controller, cache),
      ElementsAre("update EndpointSlice h-1 ddp:29500 | 1.1.1.1 ready serving !terminating"));
  cache.put(pod("p", {.ip = "1.1.1.1", .phase = "Failed"}));
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("update EndpointSlice h-1"));
}

TEST_F(EndpointControllers, a_named_port_is_looked_up_in_each_pod) {
  FakeCache cache;
  auto named = service();
  named->spec.edit().ports = {
      {.name = "ddp",
       .protocol = "TCP",
       .port = 29500,
       .targetPort = IntOrString{.text = "ddp", .is_text = true}},
      {.name = "m", .protocol = "TCP", .port = 90, .targetPort = IntOrString{.number = 91}}};
  cache.put(named);
  cache.put(pod("a", {.ip = "1.1.1.1", .named_port = 500}));
  cache.put(pod("b", {.ip = "1.1.1.2", .named_port = 501}));
  cache.put(pod("x", {.ip = "1.1.1.3"}));
  EXPECT_THAT(run(endpoints_controller, cache),
              ElementsAre("create Endpoints h { ddp:500 | 1.1.1.1 }"
                          " { m:91 | 1.1.1.1 | 1.1.1.2 | 1.1.1.3 } { ddp:501 | 1.1.1.2 }"));
  const std::string state = " ready serving !terminating";
  EXPECT_THAT(run(slice_controller, cache),
              ElementsAre("create EndpointSlice h- ddp:500 m:91 | 1.1.1.1" + state,
                          "create EndpointSlice h- ddp:501 m:91 | 1.1.1.2" + state,
                          "create EndpointSlice h- m:91 | 1.1.1.3" + state));
}

TEST_F(EndpointControllers, a_headless_service_needs_no_ports) {
  FakeCache cache;
  auto bare = service();
  bare->spec.edit().ports.clear();
  cache.put(bare);
  cache.put(pod("a", {.ip = "1.1.1.1"}));
  EXPECT_THAT(run(endpoints_controller, cache), ElementsAre("create Endpoints h { | 1.1.1.1 }"));
  EXPECT_THAT(run(slice_controller, cache),
              ElementsAre("create EndpointSlice h- | 1.1.1.1 ready serving !terminating"));
}

TEST_F(EndpointControllers, a_slice_has_a_hundred_endpoints_at_most) {
  FakeCache cache;
  cache.put(service());
  for (int i = 0; i < 150; ++i)
    cache.put(pod(fmt::format("p-{:03}", i), {.ip = fmt::format("1.1.1.{}", i)}));
  EXPECT_EQ(run(slice_controller, cache).size(), 2U);
  EXPECT_EQ(cache.list<EndpointSlice>("ns").at(0)->endpoints.size(), 100U);
  // What leaves makes room where it was, and what comes goes there.
  cache.drop(*cache.find<Pod>("ns", "p-003"));
  cache.put(pod("z", {.ip = "2.2.2.2"}));
  const auto lines = run(slice_controller, cache);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::AllOf(HasSubstr("update EndpointSlice h-1"), HasSubstr("2.2.2.2"),
                                       testing::Not(HasSubstr("1.1.1.3 "))));
}

TEST_F(EndpointControllers, slices_that_overlap_become_one) {
  FakeCache cache;
  cache.put(service());
  cache.put(pod("a", {.ip = "1.1.1.1"}));
  run(slice_controller, cache);
  put_twin(cache);
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("delete EndpointSlice h-2"));
}

// A lost or late watch must not make a second slice, nor a write that is refused.
TEST_F(EndpointControllers, an_own_write_not_seen_yet_is_waited_for) {
  FakeCache cache;
  cache.put(service());
  EXPECT_THAT(run(slice_controller, cache, Watch::late), ElementsAre("create EndpointSlice h-"));
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("what it wrote is not seen yet"));
  slice_controller.reset();
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("create EndpointSlice h-"));
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());
  cache.put(pod("p", {.ip = "1.1.1.1"}));
  EXPECT_THAT(run(slice_controller, cache, Watch::late), ElementsAre(HasSubstr("update")));
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("what it wrote is not seen yet"));
  // Somebody else's write that came after it shows it too.
  auto edited =
      std::static_pointer_cast<EndpointSlice>(cache.list<EndpointSlice>("ns")[0]->clone());
  edited->metadata.generation = 3;
  cache.put(edited);
  EXPECT_THAT(run(slice_controller, cache), ElementsAre(HasSubstr("update")));
}

TEST_F(EndpointControllers, an_own_removal_not_seen_yet_is_waited_for) {
  FakeCache cache;
  cache.put(service());
  run(slice_controller, cache);
  const ObjectPtr twin = put_twin(cache);
  EXPECT_THAT(run(slice_controller, cache, Watch::late), ElementsAre("delete EndpointSlice h-2"));
  EXPECT_THAT(run(slice_controller, cache), ElementsAre("what it wrote is not seen yet"));
  cache.drop(*twin);
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());
}

TEST_F(EndpointControllers, slices_of_an_earlier_service_are_not_used_again) {
  FakeCache cache;
  cache.put(service());
  run(slice_controller, cache);
  auto again = service();
  again->metadata.uid = "another";
  cache.put(again);
  cache.put(pod("p", {.ip = "1.1.1.1"}));
  slice_controller.reset();
  EXPECT_THAT(run(slice_controller, cache, Watch::late),
              ElementsAre("create EndpointSlice h- ddp:29500 | 1.1.1.1 ready serving !terminating",
                          "delete EndpointSlice h-1"));
}

// Also where its labels and its specification are those of the earlier one, the same memory.
TEST_F(EndpointControllers, a_slice_names_the_service_that_is_there_as_its_owner) {
  FakeCache cache;
  Expectations none;
  const auto first = service();
  cache.put(first);
  run(slice_controller, cache);
  const ObjectPtr collected = cache.list<EndpointSlice>("ns").at(0);
  cache.drop(*collected);
  slice_controller.observe({collected, nullptr}, cache, none, Time());
  auto again = std::make_shared<Service>(*first);
  again->metadata.uid = "another";
  cache.put(again);
  run(slice_controller, cache);
  const auto slices = cache.list<EndpointSlice>("ns");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0]->metadata.ownerReferences->at(0).uid, "another");
}

// Else each write is followed by a plan that finds nothing to do.
TEST_F(EndpointControllers, only_what_others_do_to_a_slice_wakes_its_controller) {
  FakeCache cache;
  Expectations none;
  cache.put(service());
  run(slice_controller, cache);
  const auto woken = [&](const ObjectPtr& before, const ObjectPtr& after) {
    std::vector<std::string> keys;
    const Reaction reaction = slice_controller.observe({before, after}, cache, none, Time());
    for (const KeyParts& key : reaction.wake)
      keys.push_back(fmt::format("{} after {} s", joined_key(key), reaction.wake_after / 1s));
    return keys;
  };
  const auto changed = [](const ObjectPtr& slice, std::int64_t generation) {
    auto copy = slice->clone();
    copy->metadata.generation = generation;
    return copy;
  };
  const auto with_label = [&](const ObjectPtr& slice, std::string_view name,
                              std::string_view value) {
    auto copy = changed(slice, slice->metadata.generation + 1);
    StringMap labels = *copy->metadata.labels;
    labels.insert_or_assign(std::string(name), std::string(value));
    copy->metadata.labels = std::move(labels);
    return copy;
  };
  const ObjectPtr own = cache.list<EndpointSlice>("ns").at(0);
  EXPECT_THAT(woken(nullptr, own), IsEmpty());
  EXPECT_THAT(woken(own, own), IsEmpty());
  EXPECT_THAT(woken(own, changed(own, 2)), ElementsAre("ns/h after 1 s"));
  EXPECT_THAT(woken(own, with_label(own, "kubernetes.io/service-name", "other")),
              ElementsAre("ns/other after 1 s", "ns/h after 1 s"));
  const auto foreign = with_label(own, "endpointslice.kubernetes.io/managed-by", "me");
  EXPECT_THAT(woken(own, foreign), ElementsAre("ns/h after 1 s"));
  EXPECT_THAT(woken(foreign, changed(foreign, 3)), IsEmpty());
  EXPECT_THAT(woken(foreign, nullptr), IsEmpty());
  EXPECT_THAT(woken(own, nullptr), ElementsAre("ns/h after 1 s"));
  EXPECT_THAT(woken(own, nullptr), IsEmpty()) << "it is forgotten";
  EXPECT_THAT(woken(nullptr, own), ElementsAre("ns/h after 1 s"));
}

TEST_F(EndpointControllers, an_own_removal_wakes_nobody) {
  FakeCache cache;
  Expectations none;
  cache.put(service());
  run(slice_controller, cache);
  const ObjectPtr twin = put_twin(cache);
  run(slice_controller, cache);
  EXPECT_TRUE(slice_controller.observe({twin, nullptr}, cache, none, Time()).wake.empty());
}

TEST_F(EndpointControllers, services_that_choose_no_pods_are_left_alone) {
  FakeCache cache;
  auto without = service();
  without->spec.edit().selector = {};
  cache.put(without);
  EXPECT_THAT(run(endpoints_controller, cache), IsEmpty());
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());
  auto external = service();
  external->spec.edit().type_ = "ExternalName";
  cache.put(external);
  EXPECT_THAT(run(endpoints_controller, cache), IsEmpty());
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());
}

TEST_F(EndpointControllers, endpoints_go_with_their_service) {
  FakeCache cache;
  cache.put(service());
  run(endpoints_controller, cache);
  run(slice_controller, cache);
  cache.drop(*service());
  EXPECT_THAT(run(endpoints_controller, cache), ElementsAre("delete Endpoints h"));
  EXPECT_THAT(run(slice_controller, cache), IsEmpty());  // the garbage collector's work
}

// Upstream syncService deletes without a look at its cache; checkLeftoverEndpoints looks once, as
// the process begins, and leaves leader elections alone.
TEST_F(EndpointControllers, endpoints_without_a_service_go_when_a_process_begins) {
  FakeCache cache;
  EndpointsController controller;
  const auto deleted_unseen = controller.plan("ns/h", {cache, Expectations(), Random(1)}, Time());
  ASSERT_EQ(deleted_unseen.steps.size(), 1U);
  EXPECT_EQ(deleted_unseen.steps[0].tolerated, Reason::not_found);
  Expectations none;
  const auto woken = [&](const Change& change) {
    return controller.observe(change, cache, none, Time()).wake.size();
  };
  const auto by_hand = std::make_shared<Endpoints>(), lock = std::make_shared<Endpoints>();
  by_hand->metadata.namespace_ = lock->metadata.namespace_ = "ns";
  by_hand->metadata.name = lock->metadata.name = "h";
  lock->metadata.annotations = StringMap{{"control-plane.alpha.kubernetes.io/leader", "{}"}};
  EXPECT_EQ(woken({nullptr, by_hand, true}), 1U);
  EXPECT_EQ(woken({nullptr, by_hand}), 0U);  // its service may come yet
  EXPECT_EQ(woken({by_hand, by_hand}), 0U);
  EXPECT_EQ(woken({by_hand, nullptr}), 1U);
  EXPECT_EQ(woken({nullptr, lock, true}), 0U);
}

TEST_F(EndpointControllers, addresses_are_in_the_order_of_their_text) {
  FakeCache cache;
  cache.put(service());
  cache.put(pod("a", {.ip = "1.1.1.2"}));
  cache.put(pod("b", {.ip = "1.1.1.10"}));
  EXPECT_THAT(run(endpoints_controller, cache),
              ElementsAre("create Endpoints h { ddp:29500 | 1.1.1.10 | 1.1.1.2 }"));
}

TEST_F(EndpointControllers, endpoints_written_by_hand_are_mirrored) {
  FakeCache cache;
  auto without = service();
  without->spec.edit().selector = {};
  cache.put(without);
  auto manual = std::make_shared<Endpoints>();
  manual->metadata.namespace_ = "ns";
  manual->metadata.name = "h";
  manual->metadata.labels = StringMap{{"own", "label"}};
  manual->metadata.annotations =
      StringMap{{"endpoints.kubernetes.io/last-change-trigger-time", "x"}, {"note", "y"}};
  manual->subsets = {{.addresses = {{.ip = "9.9.9.1", .hostname = "m"}},
                      .notReadyAddresses = {{.ip = "9.9.9.3"}},
                      .ports = {{.name = "ddp", .port = 29500, .protocol = "TCP"}}}};
  cache.put(manual);
  EXPECT_THAT(run(mirroring_controller, cache),
              ElementsAre("create EndpointSlice h- ddp:29500 | 9.9.9.1 m ready | 9.9.9.3 !ready"));
  const auto slice = cache.list<EndpointSlice>("ns").at(0);
  EXPECT_EQ(*slice->metadata.labels, (StringMap{{"endpointslice.kubernetes.io/managed-by",
                                                 "endpointslicemirroring-controller.k8s.io"},
                                                {"kubernetes.io/service-name", "h"},
                                                {"own", "label"}}));
  EXPECT_EQ(*slice->metadata.annotations, (StringMap{{"note", "y"}}));
  EXPECT_EQ(slice->metadata.ownerReferences->at(0).kind, "Endpoints");
  EXPECT_THAT(run(mirroring_controller, cache), IsEmpty());
  cache.put(service());  // with a selector they are not by hand any more
  EXPECT_THAT(run(mirroring_controller, cache), ElementsAre("delete EndpointSlice h-1"));
}

TEST_F(EndpointControllers, a_pod_wakes_the_services_that_choose_it_or_did) {
  FakeCache cache;
  cache.put(service());
  EndpointsController controller;
  Expectations none;
  const auto woken = [&](const ObjectPtr& before, const ObjectPtr& after) {
    std::vector<std::string> keys;
    for (const KeyParts& key : controller.observe({before, after}, cache, none, Time()).wake)
      keys.push_back(joined_key(key));
    return keys;
  };
  const auto p = pod("p", {.ip = "1.1.1.1"}), moved = pod("p", {.ip = "1.1.1.1", .app = "db"});
  auto annotated = pod("p", {.ip = "1.1.1.1"});
  annotated->metadata.annotations = StringMap{{"a", "b"}};
  EXPECT_THAT(woken(nullptr, p), ElementsAre("ns/h"));
  EXPECT_THAT(woken(p, moved), ElementsAre("ns/h"));
  EXPECT_THAT(woken(p, nullptr), ElementsAre("ns/h"));
  EXPECT_THAT(woken(p, pod("p", {.ip = "1.1.1.1", .ready = false})), ElementsAre("ns/h"));
  EXPECT_THAT(woken(p, annotated), IsEmpty());
  // Eviction by a kubelet changes the phase alone.
  EXPECT_THAT(woken(p, pod("p", {.ip = "1.1.1.1", .phase = "Failed"})), IsEmpty());
  EXPECT_THAT(woken(nullptr, moved), IsEmpty());
}

}  // namespace
}  // namespace ddptwin::controller::endpoints_test
