// A local copy of one kind's objects: list, then watch, and list again after a gap.
#pragma once

#include <map>

#include "api/client.hpp"

namespace ddptwin::api {

// What changed in the cache. `before` is null for a new object, `after` for one that is gone. A
// relist that finds an object gone reports it with the last state known.
using InformerHandler = std::function<void(const ObjectPtr& before, const ObjectPtr& after)>;

// Objects by key "namespace/name", as the last event of each says. It may lag behind the store, as
// a real controller's cache does. Callbacks run inside the watch's callback. Source: client-go
// reflector and shared informer semantics (spec/kubernetes.md section 1.10).
class Informer {
 public:
  Informer(Loop& loop, ApiClient& client, Target target, ListOptions options = {});
  ~Informer();

  void add_handler(InformerHandler handler) { handlers_.push_back(std::move(handler)); }
  // Lists and begins to watch. Before it nothing happens.
  void start();
  // Forgets everything and begins anew, as after a crash of the process that holds it. Handlers
  // hear of every object again.
  void restart();
  bool synced() const { return synced_; }

  ObjectPtr find(std::string_view namespace_, std::string_view name) const;
  ObjectPtr find(std::string_view key) const;
  const std::map<std::string, ObjectPtr, std::less<>>& objects() const { return objects_; }
  // Changes the cached copy only, as upstream code does that writes into its cache
  // (spec/pytorchjob.md Q23).
  void replace_cached(ObjectPtr object);

 private:
  void relist();
  void on_list(Result<Response> result);
  void on_event(const WatchEvent& event);
  void put(ObjectPtr object);
  void drop(const std::string& key);
  void notify(const ObjectPtr& before, const ObjectPtr& after);

  Loop& loop_;
  ApiClient& client_;
  Target target_;
  ListOptions options_;
  std::vector<InformerHandler> handlers_{};
  std::map<std::string, ObjectPtr, std::less<>> objects_{};
  std::unique_ptr<Watch> watch_{};
  Timer retry_{};
  Lane lane_;
  std::uint64_t era_ = 0;  // answers to questions of an earlier era are dropped
  std::shared_ptr<int>
      alive_;  // completions hold it weakly: the informer may end before the answer
  bool synced_ = false;
};

}  // namespace ddptwin::api
