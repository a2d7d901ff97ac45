// What a controller is: rules that look at a cache and propose API calls. It does no I/O, reads no
// clock and keeps nothing that it does not declare (design.md §4).
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"
#include "api/object_index.hpp"
#include "controller/expectations.hpp"
#include "controller/key_table.hpp"
#include "controller/work_queue.hpp"
#include "core/random.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::controller {

// A variable that a rule puts into containers, and in words where its value comes from.
struct VariableRow {
  std::string_view name;
  std::string_view rule;
};

// Why something is done. Rules are constants of their controller and live for ever.
struct Rule {
  std::string_view name;    // "create_missing_pod", as the trace shows it
  std::string_view source;  // "spec/pytorchjob.md §4.3"
  // What it may put into the containers of what it makes, for who asks where a variable comes from
  // (scenario/run/rehearsal.hpp).
  std::span<const VariableRow> variables{};
};

// A Kubernetes Event about the plan's object. Type and lead are literals; the reason may be a
// pod's, which can be gone when its step's turn comes. It tells the lead and the message: "Created
// pod: " and the pod's name, which nobody has to put together before.
struct EventText {
  std::string_view type{};  // Normal or Warning
  Text reason{};
  Text message{};
  std::string_view lead{};
  // The message is the name in the call's answer, which the server has drawn.
  bool names_answer = false;
};

// A Warning about a refused call, whose error is appended to the message. Literals; rules of their
// controllers, which live for ever.
struct RefusalText {
  std::string_view reason{};
  std::string_view message{};
};

// The same in words of its own, that name objects.
struct Refusal {
  Text reason{};
  std::string message{};
  std::optional<Reason> untold{};  // of a call that is refused for it nothing is said
  std::size_t longest_error = 0;   // of a longer one the beginning and " ..."; 0: all of any
};

// A change of an expectation, made by the host around a call.
struct Expected {
  enum class When : std::uint8_t {
    before_call,     // taken back when the call is refused
    after_call,      // made when the call was accepted (also when its guard left it out)
    reset,           // set, not added, before the call
    unless_refused,  // as before_call; a refusal that is tolerated takes it back, too
  };
  When when = When::before_call;
  Cow<std::string> key{};
  int adds = 0;
  int dels = 0;
};

// One API call, or an event, or merely the fact that a rule was taken. The host does one a loop
// step, in order. A large job's plan has hundreds, so what they say lies in them or lives for ever.
struct Step {
  const Rule* rule = nullptr;
  Text text{};  // for the trace, where the request does not say it
  std::optional<api::Request> request{};
  boost::container::small_vector<Expected, 1> expected{};
  std::optional<EventText> event{};  // after the call was accepted; at once without a call
  const RefusalText* refused = nullptr;
  Rare<Refusal> refusal{};
  // Read the target first, past the cache; when it is gone or being deleted the call and its events
  // are left out and the plan goes on.
  bool only_if_alive = false;
  // The plan's own object, as an earlier step of this plan has left it, where one has: its version
  // is that of the answer.
  bool follows = false;
  // The refusal after which the plan goes on as if the call had been accepted (`refused` is still
  // told, `event` is not).
  std::optional<Reason> tolerated{};
  // What is done instead of the rest when the call is refused: for `instead_of`, or, where that
  // says nothing, for whatever reason. Otherwise the rest is dropped and the key is queued again
  // with back-off.
  std::optional<Reason> instead_of{};
  std::optional<Reason> instead_unless{};  // but not for this one
  Rare<std::vector<Step>> instead{};
  // The same, where it repeats the refusal's words; `instead` is not looked at then.
  Rare<std::function<std::vector<Step>(const Error&)>> instead_for{};
  bool instead_fails = false;  // after `instead` the refusal stands, as without it
  // What the call removes, where Controller::accepted() has to know it.
  ObjectPtr removes{};
};

// A proposal made on a possibly stale cache.
struct Plan {
  ObjectPtr about{};  // what its events involve and the trace names
  std::vector<Step> steps{};
  // After all steps. An error, or `requeue`: again with back-off. requeue_after: again then, with
  // the back-off forgotten. None: the back-off is forgotten.
  std::optional<Error> error{};
  bool requeue = false;
  std::optional<Duration> requeue_after{};
  // The real program would crash here: after the steps its process ends and is started again.
  std::optional<std::string> panic{};
};

// A change that an informer reports, whose objects outlive it. `before` is null for a new object,
// `after` for one that is gone; both are the same for a resync.
struct Change {
  const ObjectPtr& before;
  const ObjectPtr& after;
  // It was there before this process began to watch (client-go's isInInitialList).
  bool listed = false;
  const Object& object() const { return after ? *after : *before; }
};

// What a change leads to.
struct Reaction {
  // Queues one key.
  static Reaction to_wake(const KeyParts& key) {
    Reaction reaction;
    reaction.wake.push_back(key);
    return reaction;
  }
  // The keys that are queued. They refer to the change's objects, or to what the cache holds.
  boost::container::small_vector<KeyParts, 1> wake{};
  Duration wake_after{};               // so long after the change
  ObjectPtr replace_cached{};          // the cache's own copy is changed, as upstream does (Q23)
  std::optional<std::string> panic{};  // as Plan::panic
};

// The local copies that a plan looks at. They may lag behind the cluster.
class Cache {
 public:
  virtual ~Cache() = default;
  virtual ObjectPtr find(const KindInfo& kind, std::string_view namespace_,
                         std::string_view name) const = 0;
  // In the order of their keys. An empty namespace means all.
  virtual std::vector<ObjectPtr> list(const KindInfo& kind, std::string_view namespace_) const = 0;
  // Those of the namespace that carry all these labels (at least one), in the order of their names.
  using Visitor = std::function<void(const ObjectPtr&)>;
  virtual void each(const KindInfo& kind, std::string_view namespace_, const StringMap& labels,
                    const Visitor& visitor) const;
  virtual void each(const KindInfo& kind, const api::LabelQuery& query,
                    const Visitor& visitor) const;
  // The same of one label.
  virtual void each(const KindInfo& kind, std::string_view namespace_, std::string_view label,
                    std::string_view value, const Visitor& visitor) const;
  // The Services of the namespace that have endpoints made for them and whose selector these labels
  // satisfy, in the order of their names.
  using ServiceVisitor = std::function<void(const Service&)>;
  virtual void each_selecting(std::string_view namespace_, const Cow<StringMap>& labels,
                              const ServiceVisitor& visitor) const;
  // The kinds it holds: those of watches() that the cluster knows.
  virtual std::vector<const KindInfo*> kinds() const = 0;

  template <class T>
  std::shared_ptr<const T> find(std::string_view namespace_, std::string_view name) const {
    return std::static_pointer_cast<const T>(find(T::info(), namespace_, name));
  }
  template <class T>
  std::vector<std::shared_ptr<const T>> list(std::string_view namespace_) const {
    std::vector<std::shared_ptr<const T>> found;
    for (ObjectPtr& object : list(T::info(), namespace_))
      found.push_back(std::static_pointer_cast<const T>(std::move(object)));
    return found;
  }
  // `visit` takes each as a T, which stays as long as the cache does.
  template <class T, class Visit>
  void each(std::string_view namespace_, const StringMap& labels, const Visit& visit) const {
    each(T::info(), namespace_, labels,
         [&](const ObjectPtr& object) { visit(static_cast<const T&>(*object)); });
  }
  template <class T, class Visit>
  void each(const api::LabelQuery& query, const Visit& visit) const {
    each(T::info(), query, [&](const ObjectPtr& object) { visit(static_cast<const T&>(*object)); });
  }
  template <class T, class Visit>
  void each(std::string_view namespace_, std::string_view label, std::string_view value,
            const Visit& visit) const {
    each(T::info(), namespace_, label, value,
         [&](const ObjectPtr& object) { visit(static_cast<const T&>(*object)); });
  }
};

// Everything that a plan depends on beside the time.
struct Observed {
  const Cache& cache;
  const Expectations& expectations;
  Random random;  // a stream of this one plan
};

// What a controller wants to hear of. Kinds that the cluster does not know are left out.
struct Watched {
  const KindInfo* kind = nullptr;
  std::optional<Duration> resync{};  // every so long each cached object is reported as changed
};

// Of a table by key, in any order.
template <class Table>
std::vector<Key> keys_of(const Table& table) {
  std::vector<Key> keys;
  for (const auto& [key, row] : table) keys.push_back(key);
  return keys;
}

class Controller {
 public:
  virtual ~Controller() = default;

  // Of its events (source.component) and in the trace; a literal.
  virtual std::string_view name() const = 0;
  // What it does when it tells of something. With one its events are those of events.k8s.io, where
  // an equal one joins a series; empty: as core/v1 has them. A literal.
  virtual std::string_view event_action() const { return {}; }
  virtual std::vector<Watched> watches(const KindRegistry& kinds) const = 0;
  // How often and when what failed is tried again; by default as controller-runtime does.
  virtual RateLimits retries() const { return {}; }
  // Maps a change, which `cache` already shows, to the keys to plan. May note in `expectations`
  // what was seen, and in its own declared memory what reset() clears.
  virtual Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                           Time now) = 0;
  // Pure: the same observations, declared memory and time give the same plan.
  virtual Plan plan(const Key& key, const Observed& seen, Time now) const = 0;
  // The call of a step of the key's plan was accepted, and nothing has been heard of it yet. May
  // note in declared memory what it came to. The step's request is spent.
  virtual void accepted(const Key&, const Step&, const api::Response&) {}
  // The controller crashed: what it kept in memory is lost.
  virtual void reset() {}
  // The keys, or uids, of which its declared memory says something, in any order: none after
  // reset(), and none of what is gone once that has been planned.
  virtual std::vector<Key> remembered() const { return {}; }
};

}  // namespace ddptwin::controller
