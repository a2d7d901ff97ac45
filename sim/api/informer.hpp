// A local copy of one kind's objects: list, then watch, and list again after a gap.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>

#include "api/client.hpp"
#include "api/object_index.hpp"

namespace ddptwin::api {

// What changed in the cache. `before` is null for a new object, `after` for one that is gone. A
// relist that finds an object gone reports it with the last state known.
using InformerHandler = std::function<void(const ObjectPtr& before, const ObjectPtr& after)>;

// A resourceVersion as a number, by which versions are older or newer; 0 of what is none. Source:
// apimachinery resourceversion.CompareResourceVersion.
std::uint64_t version_of(std::string_view resource_version);

// Objects by key "namespace/name", as the last event of each says. It may lag behind the store, as
// a real controller's cache does. Callbacks run inside the watch's callback. Source: client-go
// reflector and shared informer semantics (spec/kubernetes.md section 1.10).
class Informer {
 public:
  Informer(Loop& loop, ApiClient& client, Target target, Cow<ListOptions> options = {});
  ~Informer();

  void add_handler(InformerHandler handler) { handlers_.push_back(std::move(handler)); }
  // For who has to see what comes together at once: called when handlers have heard of all that one
  // list has brought. Meanwhile listing() holds.
  void on_listed(std::function<void()> listener) { listed_ = std::move(listener); }
  bool listing() const { return listing_; }
  // Lists and begins to watch. Before it nothing happens.
  void start();
  // Forgets everything and begins anew, as after a crash of the process that holds it. Handlers
  // hear of every object again.
  void restart();
  bool synced() const { return synced_; }
  // The newest version that it has seen, of a list or of an event; 0: none yet. Source: client-go's
  // Store.LastStoreSyncResourceVersion.
  std::uint64_t version() const { return version_; }

  const ObjectPtr& find(std::string_view namespace_, std::string_view name) const {
    return objects_.find(namespace_, name);
  }
  const ObjectPtr& find(std::string_view key) const { return objects_.find(key); }
  const ObjectMap& objects() const { return objects_; }
  // Where those of the namespace are that carry all these labels, by name; until something changes.
  // The first question about a set of keys makes an index of it. Precondition: `labels` is not
  // empty.
  LabelIndex::Places select(std::string_view namespace_, const StringMap& labels) const;
  LabelIndex::Places select(const LabelQuery& query) const;
  // The same of one label.
  LabelIndex::Places select(std::string_view namespace_, std::string_view label,
                            std::string_view value) const;
  // Of Services: where those are whose selector these labels satisfy, by name.
  const SelectorIndex::Places& selecting(std::string_view namespace_,
                                         const Cow<StringMap>& labels) const;
  // Changes the cached copy only, as upstream code does that writes into its cache
  // (spec/pytorchjob.md Q23).
  void replace_cached(ObjectPtr object);

 private:
  void relist();
  void on_list(const Result<Response>& result);
  void on_event(const WatchEvent& event);
  void saw(std::string_view version);
  void drop_all_but(const std::vector<ObjectPtr>& listed);
  void put(const ObjectPtr& object);
  void drop(const Object& named);  // what is named as this one
  // `place` is where the object of that name is kept. What was there before, or null.
  ObjectPtr keep(const ObjectPtr& object, ObjectPtr& place);
  const LabelIndex& new_index(std::vector<Text> keys) const;
  const LabelIndex& new_index(const StringMap& labels) const;
  void notify(const ObjectPtr& before, const ObjectPtr& after);

  Loop& loop_;
  ApiClient& client_;
  Target target_;
  Cow<ListOptions> options_;
  boost::container::small_vector<InformerHandler, 1> handlers_{};
  ObjectMap objects_{};
  mutable std::vector<LabelIndex> by_labels_{};
  mutable std::unique_ptr<SelectorIndex> by_selector_{};  // null: nobody has asked
  std::unique_ptr<Watch> watch_{};
  Timer retry_{};
  Lane lane_;
  std::uint64_t era_ = 0;  // answers to questions of an earlier era are dropped
  std::shared_ptr<int>
      alive_;  // completions hold it weakly: the informer may end before the answer
  std::uint64_t version_ = 0;
  bool synced_ = false, listing_ = false;
  std::function<void()> listed_{};
};

}  // namespace ddptwin::api
