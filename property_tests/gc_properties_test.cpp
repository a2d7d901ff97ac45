// What goes with an owner or with a namespace, and what stays (spec/kubernetes.md §1.17, §7).
#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "bare_store.hpp"
#include "controller/manager/gc/gc.hpp"
#include "controller/manager/gc/gc_rules.hpp"
#include "controller/manager/namespace_lifecycle.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::gc_properties_test {
namespace {

using api::Propagation;

constexpr std::string_view held = "ddptwin.test/held";
constexpr std::string_view user = "user";  // not the actor of the collectors

bool is_owned_by(const Object& owner, const Object& object) {
  const auto& all = *object.metadata.ownerReferences;
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& one) { return one.uid == owner.metadata.uid; });
}

bool is_blocked_by(const Object& owner, const Object& object) {
  const auto& all = *object.metadata.ownerReferences;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    return one.uid == owner.metadata.uid && one.blockOwnerDeletion.value_or(false);
  });
}

// A cluster with the two collectors, in which nobody else acts than the test.
class Cluster {
 public:
  Cluster() {
    collector_.start();
    lifecycle_.start();
    rest(1s);
  }

  void rest(Duration duration) { base_.rest(duration); }
  ObjectPtr make(std::shared_ptr<Object> object) {
    const auto made = base_.store.call(api::create(std::move(object)), user);
    RC_ASSERT(made.has_value());
    return made->object;
  }
  void remove(const Object& object, api::DeleteOptions options) {
    RC_ASSERT(base_.store.call(api::remove(object, std::move(options)), user).has_value());
  }
  // Takes the test's own finalizer off.
  void release(const ObjectPtr& object) {
    if (object == nullptr || !gc::has_finalizer(*object, held)) return;
    auto released = std::static_pointer_cast<Object>(object->clone());
    std::erase(released->metadata.finalizers.edit(), held);
    RC_ASSERT(base_.store.call(api::update(released), user).has_value());
  }
  // Owners need not wait for it any longer.
  void unblock_owners(const ObjectPtr& object) {
    if (object == nullptr) return;
    auto unblocking = std::static_pointer_cast<Object>(object->clone());
    for (OwnerReference& owner : unblocking->metadata.ownerReferences.edit())
      owner.blockOwnerDeletion = false;
    RC_ASSERT(base_.store.call(api::update(unblocking), user).has_value());
  }
  // All containers of the pod have ended well.
  void end(const Object& pod) {
    auto ended = std::static_pointer_cast<Pod>(pod.clone());
    ended->status.phase = "Succeeded";
    RC_ASSERT(base_.store.call(api::update(ended, "status"), user).has_value());
  }
  Time now() const { return base_.loop.now(); }
  ObjectPtr find(const std::string& name) const {
    return base_.store.find(ConfigMap::info(), "default", name);
  }
  std::vector<ObjectPtr> all(const KindInfo& kind, const std::string& namespace_) const {
    std::vector<ObjectPtr> out;
    for (const auto& [key, object] : base_.store.objects(kind))
      if (object->metadata.namespace_ == namespace_) out.push_back(object);
    return out;
  }
  bool exists(std::string_view uid) const {
    const auto maps = all(ConfigMap::info(), "default");
    return std::any_of(maps.begin(), maps.end(),
                       [&](const ObjectPtr& one) { return one->metadata.uid == uid; });
  }
  const KindRegistry& kinds() const { return base_.kinds; }
  // The collector goes after so many more steps of the loop, perhaps in the middle of its work, and
  // is away for a while: alone or with all of its process, whose successor lists anew.
  void crash(int steps, bool whole, Duration away) {
    while (steps-- > 0) base_.loop.step();
    collector_.crash();
    if (whole) lifecycle_.crash();
    rest(away);
    if (whole) lifecycle_.start();
    collector_.start();
  }
  void watch(std::function<void(const Record&)> sink) { base_.trace.add_sink(std::move(sink)); }

 private:
  BareStore base_{};
  GarbageCollector collector_{base_.loop, base_.client, base_.informers};
  NamespaceLifecycle lifecycle_{base_.loop, base_.client, base_.informers};
};

struct Deed {
  enum class Kind : std::uint8_t { make, remove, release, unblock, crash };
  Kind kind = Kind::make;
  int name = 0;
  std::vector<int> owners{};  // by name; those that are there and stay
  bool blocks = false, is_held = false;
  Propagation propagation = Propagation::background;
  int steps = 0;       // crash: of the loop before it
  bool whole = false;  // crash: of all of the process
  int seconds = 0;     // of rest after it, and within a crash
};
constexpr int names = 4;
constexpr const char* propagation_names[] = {"orphaning", "background", "foreground"};

void showValue(const Deed& deed, std::ostream& out) {
  if (deed.kind == Deed::Kind::make) {
    out << "make " << deed.name << (deed.is_held ? " (held)" : "") << " of";
    for (const int owner : deed.owners) out << " " << owner;
    if (deed.blocks) out << ", blocking";
  } else if (deed.kind == Deed::Kind::remove) {
    out << "remove " << deed.name << ", "
        << propagation_names[deed.propagation == Propagation::orphan       ? 0
                             : deed.propagation == Propagation::background ? 1
                                                                           : 2];
  } else if (deed.kind == Deed::Kind::crash) {
    out << "crash " << (deed.whole ? "of all" : "of the collector") << " after " << deed.steps
        << " steps";
  } else {
    out << (deed.kind == Deed::Kind::release ? "release " : "unblock owners of ") << deed.name;
  }
  out << ", then " << deed.seconds << " s";
}

rc::Gen<Deed> any_deed() {
  using Kind = Deed::Kind;
  const auto name = gen::resize(rc::kNominalSize, gen::inRange(0, names));
  return gen::build<Deed>(
      gen::set(&Deed::kind, gen::weightedElement<Kind>({{6, Kind::make},
                                                        {3, Kind::remove},
                                                        {1, Kind::release},
                                                        {2, Kind::unblock},
                                                        {1, Kind::crash}})),
      gen::set(&Deed::name, name), gen::set(&Deed::owners, gen::resize(4, gen::vector_of(name))),
      gen::set(&Deed::blocks, gen::weightedElement<bool>({{1, false}, {2, true}})),
      gen::set(&Deed::is_held, gen::weightedElement<bool>({{2, false}, {1, true}})),
      gen::set(&Deed::propagation, gen::element(Propagation::orphan, Propagation::background,
                                                Propagation::foreground, Propagation::foreground)),
      gen::set(&Deed::steps, gen::resize(rc::kNominalSize, gen::inRange(0, 8))),
      gen::set(&Deed::whole, gen::arbitrary<bool>()), gen::set(&Deed::seconds, gen::element(0, 1)));
}

// Owners and dependents, and every rule in its simplest words after every change.
class Family {
 public:
  Family() {
    cluster_.watch([this](const Record& record) { on_record(record); });
  }

  void apply(const Deed& deed) {
    const ObjectPtr there = cluster_.find(std::to_string(deed.name));
    if (deed.kind == Deed::Kind::make && there == nullptr) make(deed);
    if (deed.kind == Deed::Kind::remove && there != nullptr) remove(*there, deed.propagation);
    if (deed.kind == Deed::Kind::release) cluster_.release(there);
    if (deed.kind == Deed::Kind::unblock) cluster_.unblock_owners(there);
    if (deed.kind == Deed::Kind::crash)
      cluster_.crash(deed.steps, deed.whole, std::chrono::seconds(deed.seconds));
    cluster_.rest(std::chrono::seconds(deed.seconds));
    if (deed.seconds > 0) look_who_waits();
  }
  void release_all() {
    for (int name = 0; name < names; ++name) cluster_.release(cluster_.find(std::to_string(name)));
    cluster_.rest(1h);
  }
  // Nobody still goes, and nobody is left who has lost all of its owners.
  bool settled() const {
    for (const ObjectPtr& one : cluster_.all(ConfigMap::info(), "default")) {
      if (one->metadata.deletionTimestamp) return false;
      const auto& owners = *one->metadata.ownerReferences;
      if (!owners.empty() && std::none_of(owners.begin(), owners.end(), [&](const auto& owner) {
            return cluster_.exists(owner.uid);
          }))
        return false;
    }
    return true;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void make(const Deed& deed) {
    auto map = std::make_shared<ConfigMap>();
    map->metadata.name = std::to_string(deed.name);
    map->metadata.namespace_ = "default";
    if (deed.is_held) map->metadata.finalizers = {std::string(held)};
    std::vector<OwnerReference> owners;
    for (const int name : std::set<int>(deed.owners.begin(), deed.owners.end())) {
      const ObjectPtr owner = cluster_.find(std::to_string(name));
      if (owner == nullptr || owner->metadata.deletionTimestamp) continue;
      OwnerReference reference;
      reference.apiVersion = "v1";
      reference.kind = "ConfigMap";
      reference.name = owner->metadata.name;
      reference.uid = owner->metadata.uid;
      reference.blockOwnerDeletion = deed.blocks;
      owners.push_back(std::move(reference));
    }
    map->metadata.ownerReferences = std::move(owners);
    cluster_.make(std::move(map));
  }
  void remove(const Object& object, Propagation propagation) {
    removed_.insert(object.metadata.uid.str());
    // The last word counts. Whom it was to leave before is left already, and names it no more.
    if (propagation == Propagation::orphan)
      orphaning_.insert(object.metadata.uid.str());
    else
      orphaning_.erase(object.metadata.uid.str());
    api::DeleteOptions options;
    options.propagation = propagation;
    cluster_.remove(object, options);
  }

  // Nobody waits who has nobody to wait for, or only who stays with another owner.
  void look_who_waits() {
    const std::vector<ObjectPtr> maps = cluster_.all(ConfigMap::info(), "default");
    const auto waits_for_dependents = [](const ObjectPtr& one) {
      return one->metadata.deletionTimestamp && gc::has_finalizer(*one, gc::foreground);
    };
    for (const ObjectPtr& one : maps) {
      if (one->metadata.deletionTimestamp) continue;
      std::string stays, goes;  // an owner of it
      for (const ObjectPtr& owner : maps)
        if (is_owned_by(*owner, *one))
          (waits_for_dependents(owner) ? goes : stays) = owner->metadata.name;
      if (!stays.empty() && !goes.empty())
        wrong_ = one->metadata.name + " stays with " + stays + ", and is still that of " + goes;
    }
    for (const ObjectPtr& owner : maps)
      if (gc::has_finalizer(*owner, gc::foreground) &&
          std::none_of(maps.begin(), maps.end(),
                       [&](const ObjectPtr& one) { return is_blocked_by(*owner, *one); }))
        wrong_ = owner->metadata.name + " waits for nobody";
  }

  void on_record(const Record& record) {
    if (record.before == nullptr || as<ConfigMap>(*record.before) == nullptr) return;
    if (record.after != nullptr && gc::has_finalizer(*record.after, gc::foreground))
      waiting_.insert(record.after->metadata.uid.str());
    const Object& before = *record.before;
    const bool gone = record.after == nullptr;
    const bool goes = gone || record.after->metadata.deletionTimestamp;
    if (goes && !before.metadata.deletionTimestamp) on_going(before);
    // Who deletes again may say otherwise.
    if (record.actor != user && gc::has_finalizer(before, gc::foreground) &&
        (gone || !gc::has_finalizer(*record.after, gc::foreground)))
      on_dependents_done(before);
  }
  // Its deletion begins. The collector needs a reason: no owner that stays, and one that went
  // without leaving its dependents. An owner that has waited for its dependents does not stay, even
  // where something else still holds it.
  void on_going(const Object& object) {
    if (removed_.contains(object.metadata.uid.str())) return;
    bool left_by_one = false;
    for (const OwnerReference& owner : *object.metadata.ownerReferences) {
      const ObjectPtr there = cluster_.find(owner.name.str());
      const bool is_there = there != nullptr && there->metadata.uid == owner.uid;
      if (is_there && !waiting_.contains(owner.uid.str()))
        wrong_ = object.metadata.name + " goes, and its owner " + owner.name + " stays";
      left_by_one = left_by_one || !orphaning_.contains(owner.uid.str());
    }
    if (!left_by_one) wrong_ = object.metadata.name + " goes, and was to be left an orphan";
  }
  void on_dependents_done(const Object& owner) {
    for (const ObjectPtr& one : cluster_.all(ConfigMap::info(), "default"))
      if (is_blocked_by(owner, *one))
        wrong_ = owner.metadata.name + " does not wait for " + one->metadata.name;
  }

  Cluster cluster_{};
  std::set<std::string> removed_{}, orphaning_{};  // by the test; uids
  std::set<std::string> waiting_{};                // for their dependents, ever
  std::string wrong_{};
};

TEST(GarbageProperties, WhatHasLostItsOwnersGoesAndNothingElse) {
  holds([] {
    const auto deeds = *gen::scale(2, gen::vector_of(any_deed())).as("deeds");
    Family family;
    for (const Deed& deed : deeds) family.apply(deed);
    family.release_all();
    RC_ASSERT(family.wrong() == "");
    RC_ASSERT(family.settled());
  });
}

// What lies in a namespace, and how long after the deletion of that it can go.
struct Content {
  bool is_pod = false;  // on a node that ends it then, and otherwise a ConfigMap
  bool is_held = false;
  bool has_ended = false;  // of a pod: its containers, before
  int grace = 30;
  int seconds = 0;

  // 0.7 s later: no look of the namespace controller comes within 60 ms of it.
  double goes_at() const { return seconds + 0.7; }
};

void showValue(const Content& content, std::ostream& out) {
  if (content.is_pod)
    out << (content.has_ended ? "ended pod" : "pod") << " of grace " << content.grace;
  else
    out << "map";
  out << (content.is_held ? ", held" : "") << ", " << content.seconds << " s";
}

// When a namespace goes, in seconds after its deletion: it is looked at after five, and again after
// half of what the rest may need and one; a rest without a reason is asked after with a pause that
// grows to a minute. A look that says another thing than the one before is followed by another
// after five (upstream namespace_controller.go, namespaced_resources_deleter.go).
double goes_at(const std::vector<Content>& contents) {
  double look = 5, pause = 0.005;
  std::optional<std::pair<bool, int>> said;  // an error; how many maps are left
  for (;;) {
    int grace = 0;
    bool pods = false, held_pods = false;
    int held_maps = 0;
    for (const Content& one : contents) {
      if (one.goes_at() < look) continue;
      if (!one.is_pod) held_maps += one.is_held ? 1 : 0;
      if (!one.is_pod) continue;
      if (!one.has_ended) grace = std::max(grace, one.grace);
      pods |= one.is_held || !one.has_ended;
      held_pods |= one.is_held;
    }
    if (look >= grace) grace = 0;
    if (!pods && held_maps == 0) return look;
    const bool error = pods && grace == 0 && !held_pods;
    double next = error ? pause : grace > 0 ? grace / 2 + 1 : 8;
    if (error) pause = std::min(2 * pause, 60.0);
    const auto says = std::pair(error, pods ? 0 : held_maps);
    if (std::exchange(said, says) != says) next = std::min(next, 5.0);
    look += next;
  }
}

class Space {
 public:
  Space(const std::vector<Content>& contents, bool is_held) {
    auto space = std::make_shared<Namespace>();
    space->metadata.name = "space";
    if (is_held) space->metadata.finalizers = {std::string(held)};
    space_ = cluster_.make(std::move(space));
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const ObjectPtr made = cluster_.make(object(contents[i], std::to_string(i)));
      if (contents[i].is_pod && contents[i].has_ended) cluster_.end(*made);
    }
    cluster_.watch([this](const Record& record) {
      if (record.after == nullptr && record.before != nullptr &&
          as<Namespace>(*record.before) != nullptr) {
        left_when_gone_ = left();
        gone_at_ = record.time;
        marked_at_ = record.before->metadata.deletionTimestamp;
      }
    });
  }

  // Who holds the namespace itself lets go of it after so many seconds; after others it is asked to
  // go once more.
  void remove(const std::vector<Content>& contents, std::optional<int> held_for,
              const std::set<int>& again) {
    cluster_.remove(*space_, {});
    removed_at_ = cluster_.now();
    cluster_.rest(700ms);
    for (int second = 0; second < 400; ++second) {
      for (std::size_t i = 0; i < contents.size(); ++i)
        if (contents[i].seconds == second) finish(std::to_string(i));
      for (const ObjectPtr& one : cluster_.all(Namespace::info(), "")) {
        if (one->metadata.name != "space") continue;
        if (again.contains(second)) cluster_.remove(*one, {});
        if (held_for == second) cluster_.release(one);
      }
      cluster_.rest(1s);
    }
    cluster_.rest(1h);
  }
  std::size_t left() const {
    std::size_t count = 0;
    for (const KindInfo* kind : cluster_.kinds().all())
      count += cluster_.all(*kind, "space").size();
    return count;
  }
  // How much it still held as it went; nothing: it is there.
  std::optional<std::size_t> left_when_gone() const { return left_when_gone_; }
  Duration lasted() const { return gone_at_ - removed_at_; }
  // Its deletionTimestamp at its end is the moment of the first request.
  bool is_marked_as_asked_first() const { return marked_at_ == removed_at_.floor_seconds(); }

 private:
  static std::shared_ptr<Object> object(const Content& content, const std::string& name) {
    std::shared_ptr<Object> made;
    if (content.is_pod) {
      auto pod = std::make_shared<Pod>();
      Container container;
      container.name = "c";
      container.image = "busybox";
      pod->spec.edit().containers.edit().push_back(std::move(container));
      pod->spec.edit().nodeName = "node";
      pod->spec.edit().terminationGracePeriodSeconds = content.grace;
      made = std::move(pod);
    } else {
      made = std::make_shared<ConfigMap>();
    }
    made->metadata.name = name;
    made->metadata.namespace_ = "space";
    if (content.is_held) made->metadata.finalizers = {std::string(held)};
    return made;
  }
  void finish(const std::string& name) {
    for (const KindInfo* kind : {&Pod::info(), &ConfigMap::info()})
      for (const ObjectPtr& one : cluster_.all(*kind, "space")) {
        if (one->metadata.name != name) continue;
        api::DeleteOptions now;
        now.grace_period_seconds = 0;
        if (kind == &Pod::info()) cluster_.remove(*one, now);
        for (const ObjectPtr& still : cluster_.all(*kind, "space"))
          if (still->metadata.name == name) cluster_.release(still);
      }
  }

  Cluster cluster_{};
  ObjectPtr space_{};
  std::optional<std::size_t> left_when_gone_{};
  Time removed_at_{}, gone_at_{};
  std::optional<Time> marked_at_{};
};

TEST(GarbageProperties, ANamespaceGoesOnceAllThatWasInItIsGone) {
  holds([] {
    const auto content = gen::build<Content>(
        gen::set(&Content::is_pod, gen::arbitrary<bool>()),
        gen::set(&Content::is_held, gen::weightedElement<bool>({{2, false}, {1, true}})),
        gen::set(&Content::has_ended, gen::arbitrary<bool>()),
        gen::set(&Content::grace, gen::element(4, 30, 30, 100)),
        gen::set(&Content::seconds,
                 gen::resize(rc::kNominalSize, gen::oneOf(gen::inRange(0, 60), gen::inRange(0, 60),
                                                          gen::inRange(100, 400)))));
    auto contents = *gen::resize(6, gen::vector_of(content)).as("contents");
    // One that has not ended decides how long a look at all others waits.
    if (*gen::weightedElement<bool>({{2, false}, {1, true}}).as("all have ended"))
      for (Content& one : contents) one.has_ended = true;
    using Seconds = std::optional<int>;
    const auto held_for =
        *gen::element<Seconds>(std::nullopt, std::nullopt, 0, 30, 300).as("held itself for");
    // Who asks once more changes nothing.
    const auto again =
        *gen::resize(4,
                     gen::container<std::set<int>>(gen::resize(
                         rc::kNominalSize, gen::oneOf(gen::inRange(0, 60), gen::inRange(0, 400)))))
             .as("asked again");
    Space space(contents, held_for.has_value());
    space.remove(contents, held_for, again);
    RC_ASSERT(space.left_when_gone() == std::size_t{0});
    RC_ASSERT(space.left() == 0U);
    RC_ASSERT(space.is_marked_as_asked_first());
    // Who lets go of it earlier wakes the controller, which looks at another time then.
    const double released = held_for.value_or(0) + 0.7, content_gone = goes_at(contents);
    const double expected = std::max(content_gone, released), seen = seconds_of(space.lasted());
    RC_LOG() << "gone after " << seen << " s, expected " << expected << "\n";
    RC_ASSERT(seen > released - 0.05);
    if (!held_for || released > content_gone) RC_ASSERT(std::abs(seen - expected) < 0.05);
  });
}

// --- references ---

// A reference names its owner by uid, name, kind and namespace; who is wrong in one has no owner,
// whether that uid is there or not (garbage collector's "absent owner").
TEST(GarbageProperties, AnOwnerIsWhoTheReferenceSaysInAllItsParts) {
  holds([] {
    enum class Wrong : std::uint8_t { nothing, uid, name, kind, namespace_ };
    Cluster cluster;
    auto space = std::make_shared<Namespace>();
    space->metadata.name = "other";
    cluster.make(space);
    const auto map = [](const std::string& namespace_, const std::string& name) {
      auto made = std::make_shared<ConfigMap>();
      made->metadata.name = name;
      made->metadata.namespace_ = namespace_;
      return made;
    };
    const ObjectPtr here = cluster.make(map("default", "owner"));
    const ObjectPtr there = cluster.make(map("other", "elsewhere"));
    cluster.rest(*gen::element(0s, 5s).as("rest"));
    std::set<std::string> wanted{here->metadata.uid.str()};
    const int children = *gen::resize(rc::kNominalSize, gen::inRange(1, 6)).as("children");
    for (int i = 0; i < children; ++i) {
      const auto wrong = static_cast<Wrong>(
          *gen::resize(rc::kNominalSize, gen::inRange(0, 5)).as("what is wrong"));
      const Object& owner = wrong == Wrong::namespace_ ? *there : *here;
      OwnerReference reference;
      reference.apiVersion = "v1";
      reference.kind = wrong == Wrong::kind ? "Service" : "ConfigMap";
      reference.name = wrong == Wrong::name ? "nobody" : owner.metadata.name;
      reference.uid = wrong == Wrong::uid ? "no-such-uid" : owner.metadata.uid;
      const auto child = map("default", "child-" + std::to_string(i));
      child->metadata.ownerReferences.edit().push_back(std::move(reference));
      const ObjectPtr made = cluster.make(child);
      if (wrong == Wrong::nothing) wanted.insert(made->metadata.uid.str());
      cluster.rest(*gen::element(0s, 1s).as("and rest"));
    }
    cluster.rest(60s);
    std::set<std::string> left;
    for (const ObjectPtr& one : cluster.all(ConfigMap::info(), "default"))
      left.insert(one->metadata.uid.str());
    RC_ASSERT(left == wanted);
  });
}

}  // namespace
}  // namespace ddptwin::property::gc_properties_test
