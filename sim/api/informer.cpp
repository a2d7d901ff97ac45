#include "api/informer.hpp"

#include <algorithm>
#include <charconv>

namespace ddptwin::api {
namespace {

constexpr Duration relist_delay =
    1s;  // client-go's reflector waits 0.8 to 1.6 s after a failed list

// The options of the watch that goes on where a list of that version has ended.
ListOptions resumed(const Cow<ListOptions>& options, const std::string& version) {
  ListOptions from;
  if (!options.untouched()) from = *options;
  from.resource_version = version;
  return from;
}

}  // namespace

std::uint64_t version_of(std::string_view resource_version) {
  std::uint64_t number = 0;
  const char* const end = resource_version.data() + resource_version.size();
  const auto read = std::from_chars(resource_version.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : 0;
}

Informer::Informer(Loop& loop, ApiClient& client, Target target, Cow<ListOptions> options)
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
  by_labels_.clear();
  by_selector_.reset();
  synced_ = false;
  version_ = 0;
  relist();
}

void Informer::relist() {
  std::unique_ptr<Asked> asked(
      new Asked{{.verb = Verb::list, .target = target_, .list = options_}, {}});
  asked->done.emplace(
      [this, era = era_, alive = std::weak_ptr<int>(alive_)](const Result<Response>& result) {
        if (!alive.expired() && era == era_) on_list(result);
      });
  client_.post(std::move(asked));
}

void Informer::on_list(const Result<Response>& result) {
  if (!result) {
    retry_ = loop_.after(lane_, relist_delay, [this] { relist(); });
    return;
  }
  listing_ = true;
  if (!objects_.empty()) drop_all_but(result->items);
  for (const ObjectPtr& object : result->items) put(object);
  listing_ = false;
  synced_ = true;
  saw(result->resource_version);
  if (listed_) listed_();
  watch_ = client_.watch(target_, resumed(options_, result->resource_version),
                         [this](const WatchEvent& event) { on_event(event); });
}

void Informer::on_event(const WatchEvent& event) {
  switch (event.type) {
    case WatchEventType::added:
    case WatchEventType::modified:
      saw(event.object->metadata.resourceVersion.view());
      return put(event.object);
    case WatchEventType::removed:
      version_ = std::max(version_, event.removed_at);
      saw(event.object->metadata.resourceVersion.view());
      return drop(*event.object);
    case WatchEventType::bookmark:
      return saw(event.object->metadata.resourceVersion.view());
    case WatchEventType::error:
      // The watch calls us: it may not end inside its own callback.
      retry_ = loop_.after(lane_, Duration::zero(), [this] {
        watch_.reset();
        relist();
      });
      return;
  }
}

void Informer::saw(std::string_view version) { version_ = std::max(version_, version_of(version)); }

void Informer::drop_all_but(const std::vector<ObjectPtr>& listed) {
  ObjectMap there;
  for (const ObjectPtr& object : listed) there.put(object);
  std::vector<ObjectPtr> gone;
  for (const auto& [key, object] : objects_)
    if (there.find(key) == nullptr) gone.push_back(object);
  for (const ObjectPtr& object : gone) drop(*object);
}

void Informer::put(const ObjectPtr& object) {
  const ObjectMeta& meta = object->metadata;
  ObjectPtr* place = &objects_.place_for(*object);
  if (*place != nullptr) {
    const ObjectMeta& known = (*place)->metadata;
    if (known.uid != meta.uid) {
      // Deleted and made anew between two looks: two changes, not one.
      drop(*object);
      place = &objects_.place_for(*object);
    } else if (known.resourceVersion == meta.resourceVersion) {
      return;
    }
  }
  notify(keep(object, *place), object);
}

void Informer::drop(const Object& named) {
  if (!by_labels_.empty() || by_selector_)
    if (const ObjectPtr& there = objects_.find(named); there != nullptr) {
      for (LabelIndex& index : by_labels_) index.drop(*there);
      if (by_selector_) by_selector_->drop(*there);
    }
  if (const ObjectPtr gone = objects_.take(named); gone != nullptr) notify(gone, nullptr);
}

void Informer::notify(const ObjectPtr& before, const ObjectPtr& after) {
  for (const InformerHandler& handler : handlers_) {
    const ContextScope of_this_change(loop_);
    handler(before, after);
  }
}

void Informer::replace_cached(ObjectPtr object) { keep(object, objects_.place_for(*object)); }

// The indices know the place: nothing changes for them unless what they go by has changed.
ObjectPtr Informer::keep(const ObjectPtr& object, ObjectPtr& place) {
  ObjectPtr before = std::exchange(place, object);
  if (!before || !before->metadata.labels.same_as(object->metadata.labels))
    for (LabelIndex& index : by_labels_) {
      if (before) index.drop(*before);
      index.put(place);
    }
  if (by_selector_ && (!before || by_selector_->tells_apart(*before, *object))) {
    if (before) by_selector_->drop(*before);
    by_selector_->put(place);
  }
  return before;
}

const LabelIndex& Informer::new_index(std::vector<Text> keys) const {
  LabelIndex& index = by_labels_.emplace_back(std::move(keys));
  for (const auto& [key, object] : objects_) index.put(object);
  return index;
}

const LabelIndex& Informer::new_index(const StringMap& labels) const {
  std::vector<Text> keys;
  for (const auto& [key, value] : labels) keys.push_back(key);
  return new_index(std::move(keys));
}

LabelIndex::Places Informer::select(std::string_view namespace_, const StringMap& labels) const {
  for (const LabelIndex& index : by_labels_)
    if (const auto places = index.find_exactly(namespace_, labels)) return *places;
  return new_index(labels).find(namespace_, labels);
}

LabelIndex::Places Informer::select(const LabelQuery& query) const {
  for (const LabelIndex& index : by_labels_)
    if (const auto places = index.find_exactly(query)) return *places;
  return new_index(query.labels()).find(query.name_space(), query.labels());
}

LabelIndex::Places Informer::select(std::string_view namespace_, std::string_view label,
                                    std::string_view value) const {
  for (const LabelIndex& index : by_labels_)
    if (index.keys().size() == 1 && index.keys().front() == label)
      return index.find(namespace_, value);
  return new_index({std::string(label)}).find(namespace_, value);
}

const SelectorIndex::Places& Informer::selecting(std::string_view namespace_,
                                                 const Cow<StringMap>& labels) const {
  if (!by_selector_) {
    by_selector_ = std::make_unique<SelectorIndex>();
    for (const auto& [key, object] : objects_) by_selector_->put(object);
  }
  return by_selector_->selecting(namespace_, labels);
}

}  // namespace ddptwin::api
