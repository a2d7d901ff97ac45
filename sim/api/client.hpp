// How anyone talks to a cluster: one verb in, one completion or a stream of events out. Two bodies:
// the store in this process, and HTTP to any API server (design.md section 4).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/loop.hpp"
#include "core/result.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::api {

enum class Verb : std::uint8_t { create, get, list, update, patch, remove, remove_collection };
std::string_view to_string(
    Verb verb);  // the API's: create, get, list, update, patch, delete, deletecollection

enum class PatchType : std::uint8_t { json, merge, strategic, apply };

enum class Propagation : std::uint8_t { background, foreground, orphan };
std::string_view to_string(Propagation propagation);  // Background, Foreground, Orphan

// A part of an object that has a path of its own (status, scale, binding, eviction, ...), by its
// name. The empty one is the object itself; all that nobody serves are the same one.
class Subresource {
 public:
  Subresource() = default;
  Subresource(std::string_view name);                                     // NOLINT: stands for it
  Subresource(const char* name) : Subresource(std::string_view(name)) {}  // NOLINT
  Subresource(const std::string& name) : Subresource(std::string_view(name)) {}  // NOLINT
  operator std::string_view() const { return *name_; }                           // NOLINT
  bool empty() const { return name_->empty(); }
  std::size_t size() const { return name_->size(); }
  bool operator==(std::string_view name) const { return *name_ == name; }

 private:
  // The first is the object itself; the last stands for all that nobody serves.
  static constexpr std::array<std::string_view, 7> names{
      "", "status", "scale", "binding", "eviction", "finalize", "unknown"};

  const std::string_view* name_ = &names.front();
};

// What a request is about. An empty namespace with list or watch means all namespaces; a create
// has no name but the one in its object.
struct Target {
  const KindInfo* kind = nullptr;
  Text namespace_{};
  Text name{};
  Subresource subresource{};
};

struct ListOptions {
  std::string label_selector{};
  std::string field_selector{};
  std::int64_t limit = 0;
  std::string continue_{};
  std::string resource_version{};
  std::string resource_version_match{};
  // Of a watch (a caller that reads them from a query sees by `watch` that one is wanted).
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events{};
  std::optional<std::int64_t> timeout_seconds{};
  bool operator==(const ListOptions&) const = default;
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds{};
  std::optional<Propagation> propagation{};
  bool orphan_dependents = false;  // the deprecated spelling of Propagation::orphan
  std::string precondition_uid{};
  std::string precondition_resource_version{};
  bool operator==(const DeleteOptions&) const = default;
};

// What only those say who speak to the API in text.
struct WriteOptions {
  std::string field_manager{};     // empty: derived from the client's name
  std::string field_validation{};  // Strict, Warn, Ignore; empty: the default (Warn)
  // Of a body that came as text: its length, and the members named twice (paths: data.a).
  std::size_t body_bytes = 0;
  std::vector<std::string> doubled_fields{};
};

// Options are shared parts: most requests have none, and requests are handed on by value.
struct Request {
  Verb verb = Verb::get;
  PatchType patch_type = PatchType::merge;
  // Its author may look at `object` again, but does not count on its staying as it is: a server in
  // this process may keep and fill that very object.
  bool gives_object = false;
  bool force = false;  // of an apply patch
  bool dry_run = false;
  Target target{};
  ObjectPtr object{};  // create, update; create on a subresource: a Binding (an Eviction is a body)
  RawJson body{};  // patch: the patch; create and update: the object as JSON, where it came as such
  // Of a patch whose author knows more than the patch says: what it makes of this stored object
  // (never null, of the target's kind), as a new one; null: apply the patch. A server may ask it
  // instead of applying `body`, which comes to the same. It may keep that very object, and fill its
  // metadata and defaults; the author may go on looking at what is neither, so that nothing else
  // changes it.
  std::function<std::shared_ptr<Object>(const ObjectPtr& stored)> patched{};
  Cow<ListOptions> list{};  // of get: its resource_version
  Cow<DeleteOptions> remove{};
  Cow<WriteOptions> write{};
};

// Of the target or, where that has none, of the object.
inline const Text& name_of(const Request& request) {
  return request.target.name.empty() && request.object ? request.object->metadata.name
                                                       : request.target.name;
}

struct Response {
  int code = 200;
  ObjectPtr
      object{};    // the object after the call; of a delete: its last state, where it still exists
  RawJson body{};  // where the answer is no stored object: a Status, Scale, ...
  std::vector<ObjectPtr> items{};  // list
  std::string resource_version{};  // list
  std::string continue_{};
  std::optional<std::int64_t> remaining{};
  std::vector<std::string> warnings{};
};

using Completion = UniqueFunction<void(Result<Response>)>;

// A request and who waits for its answer, made where they stay: they are long to move.
struct Asked {
  Request request;
  Completion done;
};

enum class WatchEventType : std::uint8_t { added, modified, removed, bookmark, error };
std::string_view to_string(WatchEventType type);  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR

struct WatchEvent {
  WatchEventType type = WatchEventType::added;
  ObjectPtr object{};            // removed: the last state that was stored
  std::uint64_t removed_at = 0;  // removed: the revision, where `object` does not say it
  Cow<Error> error{};  // of an error event; the stream ends with it (reason expired: list again)

  // The object as the API shows it: what was removed has the resourceVersion of its removal. Made
  // for who asks: most watchers go by the name alone.
  ObjectPtr told() const;
};
using WatchSink = UniqueFunction<void(const WatchEvent&)>;

// A running watch. Its end stops the events.
class Watch {
 public:
  virtual ~Watch() = default;
};

class ApiClient {
 public:
  virtual ~ApiClient() = default;

  // The completion is posted, never called inside call(). Its end cancels nothing: a write once
  // asked for may happen even when its author is gone.
  virtual void call(Request&& request, Completion done) = 0;
  // The same.
  virtual void post(std::unique_ptr<Asked> asked) {
    this->call(std::move(asked->request), std::move(asked->done));
  }
  // Events after `from` (a resourceVersion out of a list), in order, each posted on a lane of this
  // watch.
  virtual std::unique_ptr<Watch> watch(const Target& target, const ListOptions& options,
                                       WatchSink sink) = 0;
  virtual const KindRegistry& kinds() const = 0;
};

// Shorthands.
Request create(ObjectPtr object);
Request update(ObjectPtr object, Subresource subresource = {});
Request get(const KindInfo& kind, Text namespace_, Text name);
Request list(const KindInfo& kind, Text namespace_ = {}, ListOptions options = {});
Request remove(const Object& object, DeleteOptions options = {});
// A Binding of a pod to that node.
Request bind(const Object& pod, std::string_view node);
// policy/v1 Eviction of a pod, deleted then with these options.
Request evict(const Object& pod, const DeleteOptions& options = {});
Request patch(const Object& object, PatchType type, Json body, Subresource subresource = {});

}  // namespace ddptwin::api
