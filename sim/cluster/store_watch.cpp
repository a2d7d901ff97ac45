// Watches: the past replayed, the present passed on (spec/kubernetes.md section 1.10).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cluster/store.hpp"
#include "cluster/store_errors.hpp"
#include "objects/strategy.hpp"

namespace ddptwin {

using api::WatchEventType;

struct Store::WatchState {
  Lane lane;
  ObjectFilter filter;
  api::WatchSink sink;
  std::uint64_t after = 0;  // changes up to here are known to the watcher
  bool open = true;
};

// Closes the stream; the table lets go of closed ones at its next change.
class Store::WatchHandle final : public api::Watch {
 public:
  explicit WatchHandle(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  ~WatchHandle() override {
    state_->open = false;
    state_->sink = nullptr;
  }
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;

 private:
  std::shared_ptr<WatchState> state_;
};

namespace {

ObjectPtr with_version(const ObjectPtr& object, std::uint64_t revision) {
  std::string version = std::to_string(revision);
  if (object->metadata.resourceVersion == version) return object;
  auto copy = object->clone();
  copy->metadata.resourceVersion = std::move(version);
  return copy;
}

Error expired(std::uint64_t asked, std::uint64_t oldest) {
  return {Reason::expired,
          {},
          fmt::format("too old resource version: {} ({})", asked, oldest),
          nullptr,
          0};
}

}  // namespace

std::unique_ptr<api::Watch> Store::watch(const api::Target& target, const api::ListOptions& options,
                                         api::WatchSink sink) {
  DDPTWIN_ASSERT(target.kind != nullptr);
  auto filter = ObjectFilter::parse(*target.kind, target, options);
  auto state = std::make_shared<WatchState>(WatchState{loop_.new_lane(),
                                                       filter ? std::move(*filter) : ObjectFilter(),
                                                       std::move(sink), revision_, true});
  if (!filter) {
    post_error(state, std::move(filter.error()));
    return std::make_unique<WatchHandle>(std::move(state));
  }
  Table& rows = table(*target.kind);
  rows.watches.push_back(state);
  start_watch(state, options.resource_version);
  if (state->open && (options.resource_version.empty() || options.resource_version == "0")) {
    for (const auto& [key, object] : rows.objects)
      if (state->filter.matches(*object)) post_event(state, WatchEventType::added, 0, object);
  } else if (state->open) {
    for (const Change& change : history_)
      if (change.table == &rows) deliver(state, change.revision, change.before, change.after);
  }
  return std::make_unique<WatchHandle>(std::move(state));
}

// Reads the version to resume from; closes the watch where that is not possible.
void Store::start_watch(const std::shared_ptr<WatchState>& watch, const std::string& from) {
  if (from.empty() || from == "0") return;
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), version);
  if (error != std::errc() || end != from.data() + from.size())
    return post_error(watch, plain_error(fmt::format("resourceVersion: Invalid value: \"{}\": "
                                                     "strconv.ParseUint: parsing \"{}\": invalid "
                                                     "syntax",
                                                     from, from)));
  if (version < compacted_) return post_error(watch, expired(version, compacted_));
  watch->after = version;
}

void Store::publish(Table& rows, std::uint64_t revision, const ObjectPtr& before,
                    const ObjectPtr& after) {
  std::erase_if(rows.watches, [](const auto& watch) { return !watch->open; });
  for (const auto& watch : rows.watches) deliver(watch, revision, before, after);
  history_.push_back(Change{revision, &rows, before, after});
  while (history_.size() > options_.history) {
    compacted_ = history_.front().revision;
    history_.pop_front();
  }
}

// An update that brings an object into a selector is its beginning, one that takes it out its end.
void Store::deliver(const std::shared_ptr<WatchState>& watch, std::uint64_t revision,
                    const ObjectPtr& before, const ObjectPtr& after) {
  if (revision <= watch->after || !watch->open) return;
  const bool was = before != nullptr && watch->filter.matches(*before);
  const bool is = after != nullptr && watch->filter.matches(*after);
  if (is)
    return post_event(watch, was ? WatchEventType::modified : WatchEventType::added, revision,
                      after);
  if (was) post_event(watch, WatchEventType::removed, revision, with_version(before, revision));
}

void Store::post_event(const std::shared_ptr<WatchState>& watch, WatchEventType type, std::uint64_t,
                       ObjectPtr object) {
  loop_.post(watch->lane, [watch, object = std::move(object), type] {
    if (!watch->open) return;
    api::WatchEvent event;
    event.type = type;
    event.resource_version = object->metadata.resourceVersion;
    event.object = object;
    watch->sink(event);
  });
}

void Store::post_error(const std::shared_ptr<WatchState>& watch, Error error) {
  // No more events are accepted, those already posted still come.
  watch->after = std::numeric_limits<std::uint64_t>::max();
  loop_.post(watch->lane, [watch, error = std::move(error)] {
    if (!watch->open) return;
    watch->open = false;
    api::WatchEvent event;
    event.type = WatchEventType::error;
    event.error = error;
    watch->sink(event);
  });
}

void Store::compact() {
  compacted_ = revision_;
  history_.clear();
}

void Store::expire_watches(const KindInfo* kind) {
  for (const auto& [name, rows] : tables_) {
    if (kind != nullptr && rows.get() != &table(*kind)) continue;
    for (const auto& watch : rows->watches)
      if (watch->open) post_error(watch, expired(watch->after, revision_));
    rows->watches.clear();
  }
}

Result<ObjectFilter> ObjectFilter::parse(const KindInfo& kind, const api::Target& target,
                                         const api::ListOptions& options) {
  ObjectFilter out;
  out.namespace_ = target.namespace_;
  TRY(out.labels_, LabelMatcher::parse(options.label_selector));
  TRY(out.fields_, FieldMatcher::parse(options.field_selector));
  for (const FieldRequirement& r : out.fields_.requirements()) {
    const auto& known = kind.strategy.fields;
    if (r.field == "metadata.name" || r.field == "metadata.namespace" ||
        std::find(known.begin(), known.end(), r.field) != known.end())
      continue;
    if (known.empty() && !kind.custom)
      return fail(Reason::bad_request,
                  fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", "
                              "\"metadata.namespace\"",
                              r.field));
    return fail(Reason::bad_request, "field label not supported: " + r.field);
  }
  return out;
}

bool ObjectFilter::matches(const Object& object) const {
  if (!namespace_.empty() && object.metadata.namespace_ != namespace_) return false;
  if (!labels_.empty() && !labels_.matches(*object.metadata.labels)) return false;
  if (fields_.empty()) return true;
  return fields_.matches([&](std::string_view field) -> std::string {
    if (field == "metadata.name") return object.metadata.name;
    if (field == "metadata.namespace") return object.metadata.namespace_;
    return object.kind().strategy.field(object, field).value_or(std::string());
  });
}

}  // namespace ddptwin
