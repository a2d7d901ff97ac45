// What is told to whoever watches some of the pods, and how long Events last
// (spec/kubernetes.md §1.10, §1.18).
#include <deque>
#include <map>
#include <ostream>
#include <set>

#include "bare_store.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::watch_properties_test {
namespace {

// --- pods that come under a selector and leave it ---

struct Deed {
  enum class Kind : std::uint8_t { create, bind, relabel, end, remove };
  Kind kind = Kind::create;
  std::string name{};
  std::string node{};   // of create ("": none yet) and bind
  std::string label{};  // of create and relabel ("": none)
};
constexpr const char* deed_names[] = {"create ", "bind ", "relabel ", "end ", "remove "};

void showValue(const Deed& deed, std::ostream& out) {
  out << deed_names[static_cast<int>(deed.kind)] << deed.name << " node=" << deed.node
      << " app=" << deed.label;
}

rc::Gen<Deed> any_deed() {
  using Kind = Deed::Kind;
  return gen::build<Deed>(gen::set(&Deed::kind, gen::weightedElement<Kind>({{3, Kind::create},
                                                                            {3, Kind::bind},
                                                                            {3, Kind::relabel},
                                                                            {2, Kind::end},
                                                                            {2, Kind::remove}})),
                          gen::set(&Deed::name, gen::element<std::string>("p", "q", "r")),
                          gen::set(&Deed::node, gen::element<std::string>("", "n0", "n1")),
                          gen::set(&Deed::label, gen::element<std::string>("", "a", "b")));
}

// What a watcher asks for, and the same in words of our own.
struct Wanted {
  const char* labels;
  const char* fields;
  bool (*is)(const Pod& pod);
};
const Text* app_of(const Pod& pod) { return pod.metadata.label("app"); }
bool is_on(const Pod& pod, std::string_view node) { return pod.spec->nodeName == node; }
constexpr Wanted wanted[] = {
    {"", "", [](const Pod&) { return true; }},
    {"", "spec.nodeName=", [](const Pod& pod) { return is_on(pod, ""); }},
    {"", "spec.nodeName=n0", [](const Pod& pod) { return is_on(pod, "n0"); }},
    {"", "spec.nodeName!=n0", [](const Pod& pod) { return !is_on(pod, "n0"); }},
    {"", "status.phase=Failed", [](const Pod& pod) { return pod.status.phase == "Failed"; }},
    {"", "spec.nodeName=n1,status.phase!=Failed",
     [](const Pod& pod) { return is_on(pod, "n1") && pod.status.phase != "Failed"; }},
    {"app=a", "", [](const Pod& pod) { return app_of(pod) != nullptr && *app_of(pod) == "a"; }},
    {"app", "spec.nodeName=n0",
     [](const Pod& pod) { return app_of(pod) != nullptr && is_on(pod, "n0"); }},
    {"!app", "", [](const Pod& pod) { return app_of(pod) == nullptr; }},
};

using Versions = std::map<std::string, std::string>;  // resourceVersion by name

class Watcher {
 public:
  Watcher(BareStore& cluster, const Wanted& what) : what_(what) {
    api::ListOptions options;
    options.label_selector = what.labels;
    options.field_selector = what.fields;
    watch_ = cluster.client.watch({&Pod::info(), "default", {}, {}}, options,
                                  [this](const api::WatchEvent& event) { take(event); });
  }

  void check(const BareStore& cluster) const {
    Versions there;
    for (const auto& [key, object] : cluster.store.objects(Pod::info()))
      if (what_.is(*as<Pod>(*object)))
        there.emplace(object->metadata.name, object->metadata.resourceVersion);
    RC_LOG() << "labels '" << what_.labels << "', fields '" << what_.fields << "'\n";
    RC_ASSERT(sound_);
    RC_ASSERT(told_ == there);
  }

 private:
  // Who is known changes or goes, who is not comes; who leaves is told as it was when it was there.
  void take(const api::WatchEvent& event) {
    const std::string name = event.object->metadata.name.str();
    sound_ = sound_ && told_.contains(name) == (event.type != api::WatchEventType::added);
    sound_ = sound_ && what_.is(*as<Pod>(*event.object));
    if (event.type == api::WatchEventType::removed)
      told_.erase(name);
    else
      told_[name] = event.object->metadata.resourceVersion;
  }

  const Wanted& what_;
  Versions told_{};
  bool sound_ = true;
  std::unique_ptr<api::Watch> watch_{};
};

void call(BareStore& cluster, const api::Request& request) {
  RC_ASSERT(cluster.store.call(request, "test").has_value());
}

void label(Pod& pod, const std::string& app) {
  StringMap labels;
  if (!app.empty()) labels["app"] = app;
  pod.metadata.labels = labels;
}

void apply(BareStore& cluster, const Deed& deed) {
  using Kind = Deed::Kind;
  const auto there = cluster.store.find<Pod>("default", deed.name);
  if (deed.kind == Kind::create) {
    if (there) return;
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = deed.name;
    pod->metadata.namespace_ = "default";
    label(*pod, deed.label);
    pod->spec.edit().nodeName = deed.node;
    pod->spec.edit().containers = {{.name = "c", .image = "busybox"}};
    return call(cluster, api::create(pod));
  }
  if (!there) return;
  auto pod = std::static_pointer_cast<Pod>(there->clone());
  if (deed.kind == Kind::bind && there->spec->nodeName.empty() && !deed.node.empty())
    call(cluster, api::bind(*there, deed.node));
  if (deed.kind == Kind::relabel) {
    label(*pod, deed.label);
    call(cluster, api::update(pod));
  }
  if (deed.kind == Kind::end) {
    pod->status.phase = "Failed";
    call(cluster, api::update(pod, "status"));
  }
  if (deed.kind == Kind::remove) {
    api::DeleteOptions now;
    now.grace_period_seconds = 0;
    call(cluster, api::remove(*there, now));
  }
}

TEST(WatchProperties, WhoWatchesSomeHearsWhenTheyComeAndLeave) {
  holds([] {
    const auto deeds = *gen::vector_of(any_deed()).as("deeds");
    const auto late = *gen::inRange<std::size_t>(0, deeds.size() + 1).as("late watchers after");
    BareStore cluster;
    std::deque<Watcher> watchers;
    for (const Wanted& what : wanted) watchers.emplace_back(cluster, what);
    for (std::size_t i = 0; i < deeds.size(); ++i) {
      if (i == late)
        for (const Wanted& what : wanted) watchers.emplace_back(cluster, what);
      apply(cluster, deeds[i]);
      cluster.rest(1s);
      for (const Watcher& watcher : watchers) watcher.check(cluster);
    }
  });
}

// --- Events ---

struct Telling {
  std::string name{};
  int minutes = 0;  // afterwards
};

void showValue(const Telling& telling, std::ostream& out) {
  out << telling.name << ", then " << telling.minutes << " min";
}

TEST(WatchProperties, AnEventGoesAnHourAfterItsLastWrite) {
  holds([] {
    const auto telling =
        gen::build<Telling>(gen::set(&Telling::name, gen::element<std::string>("x", "y", "z")),
                            gen::set(&Telling::minutes, gen::element(0, 1, 20, 45, 59, 61)));
    const auto tellings = *gen::vector_of(telling).as("tellings");
    BareStore cluster;
    std::map<std::string, Time> written;
    for (const Telling& one : tellings) {
      auto event = std::make_shared<ddptwin::Event>();
      event->metadata.name = one.name;
      event->metadata.namespace_ = "default";
      event->involvedObject.edit().namespace_ = "default";
      std::erase_if(written,
                    [&](const auto& known) { return cluster.loop.now() - known.second >= 1h; });
      if (written.contains(one.name)) {
        const auto known = cluster.store.find<ddptwin::Event>("default", one.name);
        RC_ASSERT(known != nullptr);
        event = std::static_pointer_cast<ddptwin::Event>(known->clone());
        ++event->count;
        call(cluster, api::update(event));
      } else {
        call(cluster, api::create(event));
      }
      written[one.name] = cluster.loop.now();
      cluster.rest(std::chrono::minutes(one.minutes));
      std::set<std::string> there, wanted_there;
      const auto listed = cluster.store.call(api::list(ddptwin::Event::info(), "default"), "test");
      RC_ASSERT(listed.has_value());
      for (const ObjectPtr& object : listed->items) there.insert(object->metadata.name.str());
      for (const auto& [name, at] : written)
        if (cluster.loop.now() - at < 1h) wanted_there.insert(name);
      RC_ASSERT(there == wanted_there);
    }
  });
}

// A watch that asks for bookmarks is told each minute how far it has come, however quiet it is.
TEST(WatchProperties, ABookmarkComesEachMinute) {
  holds([] {
    const auto deeds = *gen::resize(9, gen::vector_of(any_deed())).as("deeds");
    const auto pauses = *gen::vector_of(deeds.size(), gen::element(0, 1, 20, 61, 200)).as("pauses");
    BareStore cluster;
    const Time begun = cluster.loop.now();
    std::size_t marks = 0;
    std::int64_t last = 0;
    bool ordered = true;
    api::ListOptions options;
    options.allow_bookmarks = true;
    const auto watch = cluster.client.watch(
        {&Pod::info(), "default", {}, {}}, options, [&](const api::WatchEvent& event) {
          const std::int64_t version = std::stoll(event.told()->metadata.resourceVersion.str());
          ordered = ordered && version >= last;
          last = version;
          if (event.type == api::WatchEventType::bookmark) ++marks;
        });
    cluster.rest(500ms);
    for (std::size_t i = 0; i < deeds.size(); ++i) {
      apply(cluster, deeds[i]);
      cluster.rest(std::chrono::seconds(pauses[i]));
    }
    const Duration lasted = cluster.loop.now() - begun;
    RC_ASSERT(ordered);
    RC_ASSERT(marks == static_cast<std::size_t>(lasted / Duration(1min)));
  });
}

}  // namespace
}  // namespace ddptwin::property::watch_properties_test
