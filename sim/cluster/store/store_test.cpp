#include "cluster/store/store.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::store_test {
namespace {

constexpr Time start{std::chrono::hours(24 * 365 * 50)};

// A store with a trace that remembers, and the requests in their short forms.
struct Fixture {
  VirtualLoop loop{Random(1), start};
  Trace trace{loop};
  KindRegistry kinds;
  std::vector<Record> records;
  Store store;

  explicit Fixture(Store::Options options = Store::Options())
      : store(loop, Random(7), add_sink(), kinds, options) {}

  Trace& add_sink() {
    trace.add_sink([this](const Record& record) { records.push_back(record); });
    return trace;
  }

  Result<api::Response> call(const api::Request& request) { return store.call(request, "test"); }
  ObjectPtr must(const api::Request& request) {
    auto answer = call(request);
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? answer->object : nullptr;
  }
  Error refused(const api::Request& request) {
    auto answer = call(request);
    EXPECT_FALSE(answer.has_value());
    return answer ? Error{} : answer.error();
  }
  ObjectPtr config_map(std::string name, StringMap data = {}) {
    return must(api::create(make_config_map(std::move(name), std::move(data))));
  }
  static std::shared_ptr<ConfigMap> make_config_map(std::string name, StringMap data = {}) {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = std::move(name);
    object->metadata.namespace_ = "default";
    object->data = std::move(data);
    return object;
  }
  std::shared_ptr<const Pod> pod(std::string name, std::string node = {}) {
    auto object = std::make_shared<Pod>();
    object->metadata.name = std::move(name);
    object->metadata.namespace_ = "default";
    PodSpec& spec = object->spec.edit();
    spec.nodeName = std::move(node);
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c", .image = "busybox"}};
    return as<Pod>(must(api::create(object)));
  }
  api::Request merge(const Object& object, const char* patch) {
    return api::patch(object, api::PatchType::merge, boost::json::parse(patch));
  }
};

api::Request remove_with(const Object& object, api::Propagation propagation) {
  api::DeleteOptions options;
  options.propagation = propagation;
  return api::remove(object, options);
}

TEST(Store, AnObjectGetsItsIdentityFromTheServer) {
  Fixture f;
  auto sent = Fixture::make_config_map("a");
  sent->metadata.uid = "mine";
  const ObjectPtr made = f.must(api::create(sent));
  EXPECT_EQ(made->metadata.uid.size(), 36u);
  EXPECT_EQ(made->metadata.uid.view()[14], '4');
  EXPECT_EQ(made->metadata.creationTimestamp, start);
  EXPECT_EQ(made->metadata.resourceVersion, std::to_string(f.store.revision()));
  EXPECT_EQ(f.store.find<ConfigMap>("default", "a"), made);
}

TEST(Store, TheSameSeedMakesTheSameNames) {
  const auto name = [] {
    Fixture f;
    auto object = std::make_shared<ConfigMap>();
    object->metadata.rest.edit().generateName = "job-";
    object->metadata.namespace_ = "default";
    return f.must(api::create(object))->metadata.name;
  };
  EXPECT_EQ(name(), name());
  EXPECT_EQ(name().size(), 9u);
  EXPECT_TRUE(name().starts_with("job-"));
}

TEST(Store, RefusalsHaveTheApisWords) {
  Fixture f;
  const ObjectPtr a = f.config_map("a");
  auto stale = Fixture::make_config_map("a", {{"k", "v"}});
  stale->metadata.resourceVersion = "1";
  auto versioned = Fixture::make_config_map("b");
  versioned->metadata.resourceVersion = "5";
  auto elsewhere = Fixture::make_config_map("b");
  elsewhere->metadata.namespace_ = "nons";
  auto renamed = api::update(Fixture::make_config_map("b"));
  renamed.target.name = "a";
  const struct {
    api::Request request;
    Reason reason;
    const char* message;
  } rows[] = {
      {api::create(Fixture::make_config_map("a")), Reason::already_exists,
       "configmaps \"a\" already exists"},
      {api::get(ConfigMap::info(), "default", "b"), Reason::not_found,
       "configmaps \"b\" not found"},
      {api::create(elsewhere), Reason::not_found, "namespaces \"nons\" not found"},
      {api::create(versioned), Reason::unknown,
       "resourceVersion should not be set on objects to be created"},
      {api::update(stale), Reason::conflict,
       "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
       "apply your changes to the latest version and try again"},
      {renamed, Reason::bad_request,
       "the name of the object (b) does not match the name on the URL (a)"},
      {f.merge(*a, R"({"metadata":{"uid":"zz"}})"), Reason::invalid,
       "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"zz\": field is immutable"},
  };
  for (const auto& row : rows) {
    const Error error = f.refused(row.request);
    EXPECT_EQ(error.message, row.message);
    EXPECT_EQ(error.reason, row.reason);
  }
  EXPECT_EQ(f.records.back().kind, RecordKind::api_refused);
}

TEST(Store, OnlyAnObjectThatNobodyKeepsIsTakenOver) {
  Fixture f;
  const auto kept = Fixture::make_config_map("kept");
  const auto copied = f.store.call(api::create(kept), "test");
  ASSERT_TRUE(copied);
  EXPECT_NE(copied->object, kept);
  EXPECT_EQ(kept->metadata.uid, "");

  const api::Request again = api::create(Fixture::make_config_map("again"));
  const auto asked = f.store.call(again, "test");  // it may be asked once more
  ASSERT_TRUE(asked);
  EXPECT_NE(asked->object, again.object);

  api::Request last = api::create(Fixture::make_config_map("last"));
  const Object* const made = last.object.get();
  const auto taken = f.store.call(std::move(last), "test");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->object.get(), made);
}

TEST(Store, AWriteThatChangesNothingIsNotWritten) {
  Fixture f;
  const ObjectPtr a = f.config_map("a", {{"k", "v"}});
  const std::size_t before = f.records.size();
  EXPECT_EQ(f.must(f.merge(*a, R"({"data":{"k":"v"}})")), a);
  EXPECT_EQ(f.must(api::update(a)), a);
  EXPECT_EQ(f.records.size(), before);
}

TEST(Store, EveryAcceptedWriteIsARecord) {
  Fixture f;
  const ObjectPtr a = f.config_map("a");
  const ObjectPtr b = f.must(f.merge(*a, R"({"data":{"k":"v"}})"));
  f.must(api::remove(*b));
  ASSERT_GE(f.records.size(), 3u);
  const Record* last = &f.records[f.records.size() - 3];
  EXPECT_EQ(last[0].kind, RecordKind::object_added);
  EXPECT_EQ(last[0].after, a);
  EXPECT_EQ(last[1].kind, RecordKind::object_modified);
  EXPECT_EQ(last[1].before, a);
  EXPECT_EQ(last[1].after, b);
  EXPECT_EQ(last[2].kind, RecordKind::object_deleted);
  EXPECT_EQ(last[2].before, b);
  EXPECT_EQ(last[2].actor, "test");
}

TEST(Store, StatusIsWrittenOnlyThroughItsSubresource) {
  Fixture f;
  const auto pod = f.pod("p", "n");
  const auto changed = as<Pod>(
      f.must(f.merge(*pod, R"({"metadata":{"labels":{"a":"b"}},"status":{"phase":"Running"}})")));
  EXPECT_EQ(changed->status.phase, pod->status.phase);
  EXPECT_EQ(*changed->metadata.label("a"), "b");
  const auto running = as<Pod>(f.must(api::patch(
      *pod, api::PatchType::merge,
      boost::json::parse(R"({"spec":{"nodeName":"other"},"status":{"phase":"Running"}})"),
      "status")));
  EXPECT_EQ(running->status.phase, "Running");
  EXPECT_EQ(running->spec->nodeName, "n");
}

TEST(Store, AFinalizerHoldsADeletedObject) {
  Fixture f;
  auto sent = Fixture::make_config_map("a");
  sent->metadata.finalizers = {"example.com/hold"};
  const ObjectPtr a = f.must(api::create(sent));
  const ObjectPtr marked = f.must(api::remove(*a));
  EXPECT_EQ(marked->metadata.deletionTimestamp, start);
  EXPECT_EQ(marked->metadata.deletionGracePeriodSeconds, 0);
  EXPECT_EQ(f.must(api::remove(*a)), marked);
  EXPECT_EQ(f.refused(f.merge(*a, R"({"metadata":{"finalizers":["x.io/g","example.com/hold"]}})"))
                .message,
            "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be "
            "added if the object is being deleted, found new finalizers []string{\"x.io/g\"}");
  f.must(f.merge(*a, R"({"metadata":{"finalizers":null}})"));
  EXPECT_EQ(f.store.find<ConfigMap>("default", "a"), nullptr);
}

TEST(Store, PropagationIsAFinalizer) {
  const struct {
    api::Propagation propagation;
    std::vector<std::string> finalizers;
  } rows[] = {{api::Propagation::orphan, {"orphan"}},
              {api::Propagation::foreground, {"foregroundDeletion"}}};
  for (const auto& row : rows) {
    Fixture f;
    const ObjectPtr a = f.config_map("a");
    EXPECT_EQ(*f.must(remove_with(*a, row.propagation))->metadata.finalizers, row.finalizers);
    f.must(remove_with(*a, api::Propagation::background));
    EXPECT_EQ(f.store.find<ConfigMap>("default", "a"), nullptr);
  }
}

TEST(Store, ADeletedPodGetsItsGrace) {
  Fixture f;
  const auto pod = f.pod("p", "n");
  const ObjectPtr marked = f.must(api::remove(*pod));
  EXPECT_EQ(marked->metadata.deletionTimestamp, start + 30s);
  api::DeleteOptions shorter;
  shorter.grace_period_seconds = 5;
  EXPECT_EQ(f.must(api::remove(*pod, shorter))->metadata.deletionTimestamp, start + 5s);
  api::DeleteOptions longer;
  longer.grace_period_seconds = 50;
  EXPECT_EQ(f.must(api::remove(*pod, longer))->metadata.deletionTimestamp, start + 5s);
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  f.must(api::remove(*pod, now));
  EXPECT_EQ(f.store.find<Pod>("default", "p"), nullptr);
}

TEST(Store, APodWithoutANodeGoesAtOnce) {
  Fixture f;
  const auto pod = f.pod("p");
  f.must(api::remove(*pod));
  EXPECT_EQ(f.store.find<Pod>("default", "p"), nullptr);
}

// What a watch of the config maps prints: "+a k=1", "~a k=2", "-a", "!expired".
struct Watcher {
  std::vector<std::string> lines;
  std::unique_ptr<api::Watch> watch;

  Watcher(Fixture& f, api::ListOptions options) {
    watch = f.store.watch({&ConfigMap::info(), "default", {}, {}}, options,
                          [this](const api::WatchEvent& event) { lines.push_back(text(event)); });
  }
  static std::string text(const api::WatchEvent& event) {
    if (event.type == api::WatchEventType::error) return "!" + event.error->message;
    const auto map = as<ConfigMap>(event.object);
    std::string out = event.type == api::WatchEventType::added      ? "+"
                      : event.type == api::WatchEventType::modified ? "~"
                                                                    : "-";
    out += map->metadata.name;
    for (const auto& [key, value] : *map->data) out += " " + key + "=" + value;
    return out;
  }
};

TEST(Store, AWatchTellsWhatIsThereAndWhatComes) {
  Fixture f;
  const ObjectPtr a = f.config_map("a", {{"k", "1"}});
  Watcher watcher(f, {});
  f.must(f.merge(*a, R"({"data":{"k":"2"}})"));
  f.must(api::remove(*a));
  EXPECT_TRUE(watcher.lines.empty());
  f.loop.drain();
  EXPECT_EQ(watcher.lines, (std::vector<std::string>{"+a k=1", "~a k=2", "-a k=2"}));
}

TEST(Store, AWatchResumesBehindAVersion) {
  Fixture f;
  const ObjectPtr a = f.config_map("a");
  f.config_map("b");
  api::ListOptions options;
  options.resource_version = a->metadata.resourceVersion;
  Watcher watcher(f, options);
  f.loop.drain();
  EXPECT_EQ(watcher.lines, (std::vector<std::string>{"+b"}));
}

TEST(Store, AForgottenPastIsExpired) {
  Fixture f;
  f.config_map("a");
  f.store.compact();
  f.config_map("b");
  api::ListOptions options;
  options.resource_version = "2";
  Watcher watcher(f, options);
  f.config_map("c");
  f.loop.drain();
  EXPECT_EQ(watcher.lines, (std::vector<std::string>{"!too old resource version: 2 (6)"}));
}

TEST(Store, HistoryIsBounded) {
  Fixture f(Store::Options{.history = 2});
  const ObjectPtr a = f.config_map("a");
  for (const char* name : {"b", "c", "d"}) f.config_map(name);
  api::ListOptions options;
  options.resource_version = std::to_string(f.store.revision() - 2);
  Watcher resumed(f, options);
  options.resource_version = std::to_string(f.store.revision() - 3);
  Watcher expired(f, options);
  f.loop.drain();
  EXPECT_EQ(resumed.lines, (std::vector<std::string>{"+c", "+d"}));
  EXPECT_EQ(expired.lines.size(), 1u);
  EXPECT_EQ(expired.lines.front().front(), '!');
}

TEST(Store, AnEventGoesAnHourAfterItsLastWrite) {
  Fixture f;
  const auto make = [&](const char* name) {
    auto event = std::make_shared<Event>();
    event->metadata.name = name;
    event->metadata.namespace_ = "default";
    return f.must(api::create(event));
  };
  const auto names = [&] {
    std::vector<std::string> found;
    const auto answer = f.call(api::list(Event::info()));
    for (const ObjectPtr& one : answer->items) found.push_back(one->metadata.name.str());
    return found;
  };
  make("left-alone");
  const ObjectPtr counted = make("counted");
  f.loop.run_until(start + 30min);
  f.must(f.merge(*counted, R"({"count": 2})"));
  f.loop.run_until(start + 1h - 1s);
  EXPECT_EQ(names(), (std::vector<std::string>{"counted", "left-alone"}));
  f.loop.run_until(start + 1h);
  EXPECT_EQ(names(), std::vector<std::string>{"counted"});
  EXPECT_EQ(f.records.back().kind, RecordKind::object_deleted);
  EXPECT_EQ(f.records.back().before->metadata.name, "left-alone");
  EXPECT_EQ(f.refused(f.merge(*f.records.back().before, R"({"count": 2})")).reason,
            Reason::not_found);
  f.loop.run_until(start + 90min);
  EXPECT_TRUE(names().empty());
}

TEST(Store, LeavingASelectorIsADeletionForItsWatcher) {
  Fixture f;
  auto sent = Fixture::make_config_map("a", {{"k", "1"}});
  sent->metadata.labels = StringMap{{"l", "x"}};
  const ObjectPtr a = f.must(api::create(sent));
  api::ListOptions options;
  options.label_selector = "l=x";
  Watcher watcher(f, options);
  f.must(f.merge(*a, R"({"metadata":{"labels":{"l":"y"}},"data":{"k":"2"}})"));
  f.must(f.merge(*a, R"({"metadata":{"labels":{"l":"x"}}})"));
  f.loop.drain();
  EXPECT_EQ(watcher.lines, (std::vector<std::string>{"+a k=1", "-a k=1", "+a k=2"}));
}

TEST(Store, TheEndOfAWatchStopsItsEvents) {
  Fixture f;
  Watcher watcher(f, {});
  f.config_map("a");
  watcher.watch.reset();
  f.loop.drain();
  EXPECT_TRUE(watcher.lines.empty());
}

TEST(Store, ADryRunLeavesNoTrace) {
  Fixture f;
  const std::size_t before = f.records.size();
  auto request = api::create(Fixture::make_config_map("a"));
  request.dry_run = true;
  const ObjectPtr made = f.must(request);
  EXPECT_FALSE(made->metadata.uid.empty());
  EXPECT_TRUE(made->metadata.resourceVersion.empty());
  EXPECT_EQ(f.store.find<ConfigMap>("default", "a"), nullptr);
  EXPECT_EQ(f.records.size(), before);
}

TEST(Store, AdmissionMayChangeAndRefuse) {
  Fixture f;
  f.store.add_admission(AdmissionPhase::mutating,
                        [](const AdmissionRequest& request) -> Result<std::vector<std::string>> {
                          if (request.object != nullptr)
                            request.object->metadata.annotations.edit()["seen"] = "yes";
                          return std::vector<std::string>{"be careful"};
                        });
  f.store.add_admission(AdmissionPhase::validating,
                        [](const AdmissionRequest& request) -> Result<std::vector<std::string>> {
                          if (request.verb == api::Verb::remove)
                            return fail(Reason::forbidden, "it stays");
                          return std::vector<std::string>{};
                        });
  const auto made = f.call(api::create(Fixture::make_config_map("a")));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->warnings, std::vector<std::string>{"be careful"});
  EXPECT_EQ(made->object->metadata.annotations->at("seen"), "yes");
  EXPECT_EQ(f.refused(api::remove(*made->object)).message, "it stays");
}

// Who has told what becomes of the object may look at it again: a hook changes a copy.
TEST(Store, AdmissionLeavesWhatAnAuthorHasToldOfItsPatch) {
  Fixture f;
  f.store.add_admission(
      AdmissionPhase::mutating,
      [](const AdmissionRequest& request) -> Result<std::vector<std::string>> {
        static_cast<ConfigMap&>(*request.object).data.edit()["hooked"] = "yes";
        return std::vector<std::string>{};
      },
      nullptr, api::Verb::update);
  const auto made = f.call(api::create(Fixture::make_config_map("a")));
  ASSERT_TRUE(made.has_value());
  const auto told = std::static_pointer_cast<ConfigMap>(made->object->clone());
  told->data.edit()["told"] = "yes";
  api::Request request{.verb = api::Verb::patch,
                       .target = {&ConfigMap::info(), "default", "a", {}}};
  request.patched = [told](const ObjectPtr&) { return told; };
  ASSERT_TRUE(f.call(std::move(request)).has_value());
  EXPECT_EQ(*f.store.find<ConfigMap>("default", "a")->data,
            (StringMap{{"hooked", "yes"}, {"told", "yes"}}));
  EXPECT_EQ(*told->data, (StringMap{{"told", "yes"}}));
}

TEST(Store, ListsAreOrderedByName) {
  Fixture f;
  for (const char* name : {"c", "a", "b"}) f.config_map(name);
  const auto listed = f.call(api::list(ConfigMap::info(), "default"));
  ASSERT_TRUE(listed.has_value());
  std::string names;
  for (const ObjectPtr& object : listed->items) names += object->metadata.name;
  EXPECT_EQ(names, "abc");
  EXPECT_EQ(listed->resource_version, std::to_string(f.store.revision()));
}

TEST(Store, NothingNewComesIntoATerminatingNamespace) {
  Fixture f;
  auto space = std::make_shared<Namespace>();
  space->metadata.name = "t";
  const ObjectPtr made = f.must(api::create(space));
  const auto marked = as<Namespace>(f.must(api::remove(*made)));
  EXPECT_EQ(marked->status.phase, "Terminating");
  auto sent = Fixture::make_config_map("zz");
  sent->metadata.namespace_ = "t";
  const Error error = f.refused(api::create(sent));
  EXPECT_EQ(error.message,
            "configmaps \"zz\" is forbidden: unable to create new content in namespace t because "
            "it is being terminated");
  ASSERT_NE(error.details, nullptr);
  EXPECT_EQ(error.details->causes.at(0).reason, "NamespaceTerminating");
}

// As the workers of a job have them.
TEST(Store, PodsThatAreMadeWithTheSameInitContainersShareThem) {
  Fixture f;
  const Cow<std::vector<Container>> asked{
      std::vector{Container{.name = "i", .image = "busybox", .ports = {{.containerPort = 80}}}}};
  const auto made = [&](const char* name, bool host_network) {
    auto object = std::make_shared<Pod>();
    object->metadata.name = name;
    object->metadata.namespace_ = "default";
    PodSpec& spec = object->spec.edit();
    spec.hostNetwork = host_network;
    spec.containers = {{.name = "c", .image = "busybox"}};
    spec.initContainers = asked;
    return as<Pod>(f.must(api::create(object)))->spec->initContainers;
  };
  const auto a = made("a", false), b = made("b", false), on_host = made("h", true);
  EXPECT_TRUE(b.same_as(a));
  EXPECT_EQ(a[0].imagePullPolicy, "Always");
  EXPECT_EQ(asked[0].imagePullPolicy, "");
  EXPECT_EQ(a[0].ports[0].hostPort, 0);
  EXPECT_EQ(on_host[0].ports[0].hostPort, 80);
}

// What a kubelet lists is what a look at all pods would find: in order, moved and deleted ones too.
TEST(Store, APodIsListedByItsNode) {
  Fixture f;
  f.pod("z", "n1");
  f.pod("elsewhere", "n2");
  const auto waiting = f.pod("a");
  const auto on = [&](const std::string& node, std::int64_t limit = 0) {
    std::string names;
    api::ListOptions options{.field_selector = "spec.nodeName=" + node, .limit = limit};
    const auto answer = f.call(api::list(Pod::info(), "", options));
    if (!answer) return answer.error().message;
    for (const ObjectPtr& pod : answer->items) names += pod->metadata.name + " ";
    return names;
  };
  EXPECT_EQ(on("n1"), "z ");
  EXPECT_EQ(on(""), "a ");
  api::Request bind;
  bind.verb = api::Verb::create;
  bind.target = {&Pod::info(), "default", "a", "binding"};
  bind.body = RawJson(boost::json::parse(R"({"target":{"kind":"Node","name":"n1"}})"));
  ASSERT_TRUE(f.call(bind).has_value());
  EXPECT_EQ(on("n1"), "a z ");
  EXPECT_EQ(on("n1", 5), "a z ");
  EXPECT_EQ(on(""), "");
  api::DeleteOptions now;
  now.grace_period_seconds = 0;
  f.must(api::remove(*waiting, now));
  EXPECT_EQ(on("n1"), "z ");
  f.pod("a", "n2");
  EXPECT_EQ(on("n1"), "z ");
  EXPECT_EQ(on("n2"), "a elsewhere ");
}

TEST(Store, BindingIsDoneOnce) {
  Fixture f;
  const auto pod = f.pod("p");
  api::Request bind;
  bind.verb = api::Verb::create;
  bind.target = {&Pod::info(), "default", "p", "binding"};
  bind.body = RawJson(boost::json::parse(R"({"target":{"kind":"Node","name":"n1"}})"));
  ASSERT_TRUE(f.call(bind).has_value());
  const auto bound = f.store.find<Pod>("default", "p");
  EXPECT_EQ(bound->spec->nodeName, "n1");
  EXPECT_EQ(bound->status.condition("PodScheduled")->status, "True");
  EXPECT_EQ(bound->metadata.generation, pod->metadata.generation);
  EXPECT_EQ(f.refused(bind).message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n1\"");
}

// The scheduler sends the uid of the pod that it has chosen a node for.
TEST(Store, ABindingIsForThePodOfItsUidAlone) {
  Fixture f;
  const auto first = f.pod("p");
  api::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  f.must(api::remove(*first, at_once));
  const auto second = f.pod("p");
  EXPECT_EQ(f.refused(api::bind(*first, "n1")).message,
            "Operation cannot be fulfilled on pods \"p\": StorageError: invalid object, Code: 4, "
            "Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
            "failed: UID in precondition: " +
                first->metadata.uid.str() + ", UID in object meta: " + second->metadata.uid.str());
  EXPECT_EQ(f.store.find<Pod>("default", "p"), second);
  EXPECT_TRUE(f.call(api::bind(*second, "n1")).has_value());
}

TEST(StoreClient, AnswersLaterAndInOrder) {
  Fixture f;
  StoreClient client(f.loop, f.store, "someone");
  std::string order;
  for (const char* name : {"a", "b"})
    client.call(api::create(Fixture::make_config_map(name)),
                [&](Result<api::Response> answer) { order += answer->object->metadata.name; });
  EXPECT_EQ(order, "");
  f.loop.drain();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(f.records.back().actor, "someone");
}

TEST(Store, AnEvictionIsOfThePodThatItMeans) {
  Fixture f;
  const auto pod = f.pod("p", "n");
  api::DeleteOptions meant;
  meant.precondition_uid = "another";
  const Error error = f.refused(api::evict(*pod, meant));
  EXPECT_EQ(error.reason, Reason::conflict);
  EXPECT_EQ(f.store.find<Pod>("default", "p")->metadata.resourceVersion,
            pod->metadata.resourceVersion);
  meant.precondition_uid = pod->metadata.uid.view();
  meant.precondition_resource_version = "1";
  EXPECT_EQ(f.refused(api::evict(*pod, meant)).reason, Reason::conflict);
  meant.precondition_resource_version = pod->metadata.resourceVersion;
  meant.grace_period_seconds = 7;
  EXPECT_TRUE(f.call(api::evict(*pod, meant)));
  const auto told = f.store.find<Pod>("default", "p");
  EXPECT_EQ(told->metadata.deletionGracePeriodSeconds, 7);
  EXPECT_TRUE(told->metadata.deletionTimestamp);
  EXPECT_NE(told->status.condition("DisruptionTarget"), nullptr);
}

}  // namespace
}  // namespace ddptwin::store_test
