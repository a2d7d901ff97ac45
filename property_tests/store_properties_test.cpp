// The store against a naive second one: a map of objects with versions and finalizers.
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "bare_store.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "generators.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::store_properties_test {
namespace {

constexpr Time start{std::chrono::hours(24 * 365 * 50)};

enum class Verb : std::uint8_t { create, update, merge_data, json_data, set_finalizers, remove };
constexpr const char* verb_names[] = {
    "create", "update", "merge patch data of", "json patch data of", "set finalizers of", "delete"};
// Which resourceVersion the writer sends.
enum class Version : std::uint8_t { none, right, stale };
constexpr const char* version_names[] = {"no version", "the right version", "a stale version"};

struct StoreOp {
  Verb verb = Verb::create;
  std::string name{};
  Version version = Version::none;
  int value = 0;       // of data.k
  int finalizers = 0;  // how many of ours
  // Of a deletion alone:
  Version uid = Version::none;
  bool forced = false;
};

void showValue(const StoreOp& op, std::ostream& out) {
  out << verb_names[static_cast<int>(op.verb)] << " " << op.name << " with "
      << version_names[static_cast<int>(op.version)] << ", k=" << op.value << ", " << op.finalizers
      << " finalizers";
  if (op.verb == Verb::remove)
    out << ", uid: " << version_names[static_cast<int>(op.uid)] << (op.forced ? ", forced" : "");
}

rc::Gen<StoreOp> store_op() {
  using gen::element;
  using gen::set;
  return gen::build<StoreOp>(
      set(&StoreOp::verb, gen::weightedElement<Verb>({{4, Verb::create},
                                                      {4, Verb::update},
                                                      {2, Verb::merge_data},
                                                      {1, Verb::json_data},
                                                      {2, Verb::set_finalizers},
                                                      {3, Verb::remove}})),
      set(&StoreOp::name, element<std::string>("a", "b", "c")),
      set(&StoreOp::version, element(Version::none, Version::right, Version::stale)),
      set(&StoreOp::value, element(0, 1, 2)),
      set(&StoreOp::finalizers, gen::weightedElement<int>({{4, 0}, {1, 1}, {1, 2}})),
      set(&StoreOp::uid, element(Version::none, Version::right, Version::stale)),
      set(&StoreOp::forced, gen::arbitrary<bool>()));
}

std::vector<std::string> finalizers_of(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back("ddptwin.test/f" + std::to_string(i));
  return out;
}

std::string value_text(int value) { return std::to_string(value); }

struct NaiveObject {
  std::string value{};
  int finalizers = 0;
  bool deleting = false;
  std::string version{};
  bool operator==(const NaiveObject&) const = default;
};

// What of an object the model speaks of.
NaiveObject seen(const ConfigMap& map) {
  const auto value = map.data->find("k");
  return {value != map.data->end() ? value->second.str() : "",
          static_cast<int>(map.metadata.finalizers.size()),
          map.metadata.deletionTimestamp.has_value(), map.metadata.resourceVersion.str()};
}
using Contents = std::map<std::string, NaiveObject>;

// Each rule in its simplest words. Answers the reason of the refusal, `unknown` where none.
class NaiveStore {
 public:
  explicit NaiveStore(std::uint64_t revision) : revision_(revision) {}

  Reason apply(const StoreOp& op, const std::string& sent_version) {
    const auto at = contents.find(op.name);
    if (op.verb == Verb::create) {
      if (at != contents.end()) return Reason::already_exists;
      contents[op.name] = {value_text(op.value), op.finalizers, false, next()};
      return Reason::unknown;
    }
    if (at == contents.end()) return Reason::not_found;
    if (op.verb == Verb::remove && op.uid == Version::stale) return Reason::conflict;
    if (!sent_version.empty() && sent_version != at->second.version) return Reason::conflict;
    if (op.verb == Verb::remove) return remove(at);
    NaiveObject wanted = at->second;
    if (op.verb != Verb::set_finalizers) wanted.value = value_text(op.value);
    if (op.verb == Verb::update || op.verb == Verb::set_finalizers)
      wanted.finalizers = op.finalizers;
    return replace(at, wanted);
  }

  Contents contents{};
  std::uint64_t revision() const { return revision_; }

 private:
  std::string next() { return std::to_string(++revision_); }
  Reason remove(Contents::iterator at) {
    if (at->second.finalizers == 0) {
      ++revision_;  // the removal is a change too
      contents.erase(at);
    } else if (!at->second.deleting) {
      at->second.deleting = true;
      at->second.version = next();
    }
    return Reason::unknown;
  }
  Reason replace(Contents::iterator at, NaiveObject wanted) {
    // Who is being deleted may let go of finalizers, and may not take on new ones.
    if (wanted.deleting && wanted.finalizers > at->second.finalizers) return Reason::invalid;
    if (wanted.deleting && wanted.finalizers == 0) {
      ++revision_;
      contents.erase(at);
    } else if (wanted != at->second) {
      wanted.version = next();
      at->second = wanted;
    }
    return Reason::unknown;
  }

  std::uint64_t revision_;
};

// What somebody knows who has only seen the events of a watch.
class Replay {
 public:
  Replay(Store& store, std::string from, Contents contents) : contents_(std::move(contents)) {
    api::ListOptions options;
    options.resource_version = std::move(from);
    watch_ = store.watch({&ConfigMap::info(), "default", {}, {}}, options,
                         [this](const api::WatchEvent& event) { take(event); });
  }
  const Contents& contents() const { return contents_; }
  // Every event was possible: nothing came twice, went twice or went back in versions.
  bool sound() const { return sound_; }

 private:
  void take(const api::WatchEvent& event) {
    const ObjectPtr told = event.object ? event.told() : nullptr;
    const auto* map = told ? as<ConfigMap>(*told) : nullptr;
    if (map == nullptr) {
      sound_ = false;
      return;
    }
    const std::string name = map->metadata.name.str();
    const std::uint64_t version = std::stoull(map->metadata.resourceVersion.str());
    const bool known = contents_.contains(name);
    sound_ = sound_ && version > last_ && known == (event.type != api::WatchEventType::added);
    last_ = version;
    if (event.type == api::WatchEventType::removed)
      contents_.erase(name);
    else
      contents_[name] = seen(*map);
  }

  Contents contents_;
  bool sound_ = true;
  std::uint64_t last_ = 0;
  std::unique_ptr<api::Watch> watch_{};
};

class Pair {
 public:
  Pair() : store_(loop_, Random(7), watched(), kinds_), naive_(store_.revision()) { store_.seal(); }

  void apply(const StoreOp& op) {
    const std::string version = version_of(op);
    const auto answer = store_.call(request(op, version), "test");
    const Reason wanted = naive_.apply(op, version);
    RC_ASSERT((answer ? Reason::unknown : answer.error().reason) == wanted);
    RC_ASSERT(store_.revision() == naive_.revision());
    RC_ASSERT(stored() == naive_.contents);
    for (const auto& [name, object] : naive_.contents)
      if (auto& known = versions_[name]; known.empty() || known.back() != object.version)
        known.push_back(object.version);
    loop_.drain();
  }
  Contents stored() const {
    Contents out;
    for (const auto& [key, object] : store_.objects(ConfigMap::info()))
      if (object->metadata.namespace_ == "default")
        out.emplace(object->metadata.name, seen(*as<ConfigMap>(object)));
    return out;
  }
  Store& store() { return store_; }
  void settle() { loop_.drain(); }
  const std::vector<std::uint64_t>& versions_written() const { return versions_written_; }

 private:
  Trace& watched() {
    trace_.add_sink([this](const Record& record) {
      const bool ours = record.after && as<ConfigMap>(*record.after) != nullptr;
      if (ours)
        versions_written_.push_back(std::stoull(record.after->metadata.resourceVersion.str()));
    });
    return trace_;
  }
  // Of an object that is not there any version is stale, and nobody knows a right one.
  std::string version_of(const StoreOp& op) const {
    const auto there = naive_.contents.find(op.name);
    if (op.version == Version::none || op.verb == Verb::create) return {};
    if (op.version == Version::right)
      return there != naive_.contents.end() ? there->second.version : "";
    const auto known = versions_.find(op.name);
    const bool older = known != versions_.end() && known->second.size() > 1;
    return older ? *std::next(known->second.rbegin()) : "1";
  }
  // A stale one is that of somebody who had the name before.
  std::string uid_of(const StoreOp& op) const {
    if (op.uid == Version::none) return {};
    const auto there = store_.find<ConfigMap>("default", op.name);
    return op.uid == Version::right && there ? there->metadata.uid.str() : "somebody-before";
  }
  api::Request request(const StoreOp& op, const std::string& version) const {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = op.name;
    object->metadata.namespace_ = "default";
    object->metadata.resourceVersion = version;
    object->metadata.finalizers = finalizers_of(op.finalizers);
    object->data = StringMap{{"k", value_text(op.value)}};
    switch (op.verb) {
      case Verb::create:
        return api::create(object);
      case Verb::update:
        return api::update(object);
      case Verb::remove: {
        api::DeleteOptions options;
        options.precondition_resource_version = version;
        options.precondition_uid = uid_of(op);
        if (op.forced) options.grace_period_seconds = 0;
        return api::remove(*object, options);
      }
      default:
        return patch(op, *object, version);
    }
  }
  static api::Request patch(const StoreOp& op, const ConfigMap& object,
                            const std::string& version) {
    namespace json = boost::json;
    if (op.verb == Verb::json_data) {
      json::array steps;
      if (!version.empty())
        steps.push_back(json::object{
            {"op", "replace"}, {"path", "/metadata/resourceVersion"}, {"value", version}});
      steps.push_back(
          json::object{{"op", "replace"}, {"path", "/data/k"}, {"value", value_text(op.value)}});
      return api::patch(object, api::PatchType::json, steps);
    }
    json::object body;
    json::object metadata;
    if (!version.empty()) metadata["resourceVersion"] = version;
    if (op.verb == Verb::set_finalizers)
      metadata["finalizers"] = json::value_from(object.metadata.finalizers);
    else
      body["data"] = json::object{{"k", value_text(op.value)}};
    body["metadata"] = std::move(metadata);
    return api::patch(object, api::PatchType::merge, body);
  }

  VirtualLoop loop_{Random(1), start};
  Trace trace_{loop_};
  KindRegistry kinds_{};
  std::vector<std::uint64_t> versions_written_{};
  Store store_;
  NaiveStore naive_;
  std::map<std::string, std::vector<std::string>> versions_{};
};

std::vector<StoreOp> some_operations() { return *gen::vector_of(store_op()).as("operations"); }

TEST(StoreProperties, ItAgreesWithANaiveMap) {
  holds(
      [] {
        const auto ops = some_operations();
        Pair pair;
        for (const StoreOp& op : ops) pair.apply(op);
        const auto& versions = pair.versions_written();
        RC_ASSERT(std::adjacent_find(versions.begin(), versions.end(), std::greater_equal<>()) ==
                  versions.end());
      },
      2);
}

// Of init containers and others together (spec/kubernetes.md §1.11).
TEST(StoreProperties, APodsContainersHaveNamesOfTheirOwn) {
  holds([] {
    const auto names =
        gen::resize(3, gen::vector_of(gen::element<std::string>("a", "b", "c", "d")));
    auto inits = *names.as("init containers"), others = *names.as("containers");
    others.push_back("e");
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    pod->metadata.namespace_ = "default";
    PodSpec& spec = pod->spec.edit();
    std::multiset<std::string> all;
    for (const auto& [list, to] :
         {std::pair(&inits, &spec.initContainers), {&others, &spec.containers}}) {
      for (const std::string& name : *list) {
        Container container;
        container.name = name;
        container.image = "busybox";
        if (to == &spec.initContainers && *gen::arbitrary<bool>().as("a sidecar"))
          container.restartPolicy = "Always";
        to->edit().push_back(std::move(container));
        all.insert(name);
      }
    }
    const bool distinct = std::set<std::string>(all.begin(), all.end()).size() == all.size();
    BareStore cluster;
    const auto answer = cluster.store.call(api::create(pod), "test");
    RC_ASSERT(answer.has_value() == distinct);
    if (!distinct) RC_ASSERT(answer.error().reason == Reason::invalid);
  });
}

// A write of somebody who has read the object so many versions ago.
struct LateWrite {
  std::string of{};  // "status" of a pod, "scale" of a job, "finalize" of a namespace
  bool patches = false;
  std::size_t late = 0;
};

void showValue(const LateWrite& write, std::ostream& out) {
  out << (write.patches ? "patch of " : "update of ") << write.of << ", " << write.late
      << " versions late";
}

// Of the version that was read; `value` is in no other.
api::Request request_of(const LateWrite& write, const Object& read, int value) {
  namespace json = boost::json;
  json::object metadata{{"resourceVersion", read.metadata.resourceVersion}};
  if (write.of == "finalize") {
    auto changed = std::static_pointer_cast<Namespace>(read.clone());
    changed->spec.finalizers = {"kubernetes", "ddptwin.test/f" + std::to_string(value)};
    return api::update(changed, "finalize");
  }
  if (write.of == "scale") {
    json::object scale{{"metadata", metadata}, {"spec", json::object{{"replicas", value}}}};
    api::Request request = api::patch(read, api::PatchType::merge, std::move(scale), "scale");
    if (!write.patches) request.verb = api::Verb::update;
    return request;
  }
  if (write.patches)
    return api::patch(read, api::PatchType::merge,
                      json::object{{"metadata", metadata},
                                   {"status", json::object{{"message", std::to_string(value)}}}},
                      "status");
  auto changed = std::static_pointer_cast<Pod>(read.clone());
  changed->status.rest.edit().message = std::to_string(value);
  return api::update(changed, "status");
}

TEST(StoreProperties, AWriteFromAnOldVersionIsRefusedAtEverySubresource) {
  holds(
      [] {
        const auto writes =
            *gen::resize(20,
                         gen::vector_of(gen::build<LateWrite>(
                             gen::set(&LateWrite::of,
                                      gen::element<std::string>("status", "scale", "finalize")),
                             gen::set(&LateWrite::patches, gen::arbitrary<bool>()),
                             gen::set(&LateWrite::late, gen::weightedElement<std::size_t>(
                                                            {{3, 0}, {1, 1}, {1, 2}, {1, 5}})))))
                 .as("writes");
        BareStore cluster;
        auto pod = std::make_shared<Pod>();
        pod->metadata.name = "p";
        pod->metadata.namespace_ = "default";
        pod->spec.edit().containers.edit().push_back({.name = "c", .image = "busybox"});
        auto space = std::make_shared<Namespace>();
        space->metadata.name = "s";
        std::map<std::string, std::vector<ObjectPtr>> versions;
        for (const auto& [of, made] : std::initializer_list<std::pair<std::string, ObjectPtr>>{
                 {"status", pod}, {"scale", job_of({})}, {"finalize", space}}) {
          const auto answer = cluster.store.call(api::create(made), "test");
          RC_ASSERT(answer.has_value());
          versions[of].push_back(answer->object);
        }
        int value = 1;
        for (const LateWrite& write : writes) {
          std::vector<ObjectPtr>& known = versions[write.of];
          const std::size_t late = std::min(write.late, known.size() - 1);
          const ObjectPtr now = known.back(), read = known[known.size() - 1 - late];
          const auto answer = cluster.store.call(request_of(write, *read, ++value), "test");
          RC_ASSERT(answer.has_value() == (late == 0));
          const ObjectPtr stored =
              cluster.store.find(now->kind(), now->metadata.namespace_, now->metadata.name);
          if (late == 0) {
            RC_ASSERT(stored->metadata.resourceVersion != now->metadata.resourceVersion);
            known.push_back(stored);
          } else {
            RC_ASSERT(answer.error().reason == Reason::conflict);
            RC_ASSERT(stored->metadata.resourceVersion == now->metadata.resourceVersion);
          }
        }
      },
      4);
}

TEST(StoreProperties, WatchEventsReplayedAreTheContents) {
  holds(
      [] {
        const auto before = some_operations();
        const auto after = some_operations();
        Pair pair;
        Replay from_the_start(pair.store(), "", {});
        for (const StoreOp& op : before) pair.apply(op);
        const std::string middle = std::to_string(pair.store().revision());
        const Contents list = pair.stored();
        for (const StoreOp& op : after) pair.apply(op);
        // A late watcher begins with a list of the middle and hears what was after it.
        Replay from_the_middle(pair.store(), middle, list);
        pair.settle();
        RC_ASSERT(from_the_start.sound());
        RC_ASSERT(from_the_start.contents() == pair.stored());
        RC_ASSERT(from_the_middle.sound());
        RC_ASSERT(from_the_middle.contents() == pair.stored());
      },
      4);
}

}  // namespace
}  // namespace ddptwin::property::store_properties_test
