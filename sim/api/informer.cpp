#include "api/informer.hpp"

namespace ddptwin::api {
namespace {

constexpr Duration relist_delay =
    1s;  // client-go's reflector waits 0.8 to 1.6 s after a failed list

}  // namespace

Informer::Informer(Loop& loop, ApiClient& client, Target target, ListOptions options)
    : loop_(loop),
      client_(client),
      target_(std::move(target)),
      options_(std::move(options)),
      lane_(loop.new_lane()),
      alive_(std::make_shared<int>(0)) {}

Informer::~Informer() = default;

void Informer::start() { relist(); }

void Informer::restart() {
  ++era_;
  watch_.reset();
  objects_.clear();
  synced_ = false;
  relist();
}

void Informer::relist() {
  Request request;
  request.verb = Verb::list;
  request.target = target_;
  request.list = options_;
  client_.call(std::move(request),
               [this, era = era_, alive = std::weak_ptr<int>(alive_)](Result<Response> result) {
                 if (!alive.expired() && era == era_) on_list(std::move(result));
               });
}

void Informer::on_list(Result<Response> result) {
  if (!result) {
    retry_ = loop_.after(lane_, relist_delay, [this] { relist(); });
    return;
  }
  std::map<std::string, ObjectPtr, std::less<>> listed;
  for (ObjectPtr& object : result->items)
    listed.emplace(key_of(object->metadata), std::move(object));
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects_)
    if (!listed.contains(key)) gone.push_back(key);
  for (const std::string& key : gone) drop(key);
  for (auto& [key, object] : listed) put(object);
  synced_ = true;
  ListOptions options = options_;
  options.resource_version = result->resource_version;
  watch_ = client_.watch(target_, std::move(options),
                         [this](const WatchEvent& event) { on_event(event); });
}

void Informer::on_event(const WatchEvent& event) {
  switch (event.type) {
    case WatchEventType::added:
    case WatchEventType::modified:
      return put(event.object);
    case WatchEventType::removed:
      return drop(key_of(event.object->metadata));
    case WatchEventType::bookmark:
      return;
    case WatchEventType::error:
      // The watch calls us: it may not end inside its own callback.
      retry_ = loop_.after(lane_, Duration::zero(), [this] {
        watch_.reset();
        relist();
      });
      return;
  }
}

void Informer::put(ObjectPtr object) {
  const std::string key = key_of(object->metadata);
  ObjectPtr before = find(key);
  // Deleted and made anew between two looks: two changes, not one.
  if (before && before->metadata.uid != object->metadata.uid) {
    drop(key);
    before = nullptr;
  }
  if (before && before->metadata.resourceVersion == object->metadata.resourceVersion) return;
  objects_[key] = object;
  notify(before, object);
}

void Informer::drop(const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  const ObjectPtr before = found->second;
  objects_.erase(found);
  notify(before, nullptr);
}

void Informer::notify(const ObjectPtr& before, const ObjectPtr& after) {
  for (const InformerHandler& handler : handlers_) handler(before, after);
}

ObjectPtr Informer::find(std::string_view namespace_, std::string_view name) const {
  return find(namespace_.empty() ? std::string(name)
                                 : std::string(namespace_) + "/" + std::string(name));
}

ObjectPtr Informer::find(std::string_view key) const {
  const auto found = objects_.find(key);
  return found != objects_.end() ? found->second : nullptr;
}

void Informer::replace_cached(ObjectPtr object) {
  objects_[key_of(object->metadata)] = std::move(object);
}

}  // namespace ddptwin::api
