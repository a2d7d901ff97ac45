// Watches: the past replayed, the present passed on (spec/kubernetes.md section 1.10).
#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <optional>
#include <unordered_map>

#include "cluster/store/list_options.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "core/same_text.hpp"
#include "objects/core_v1.hpp"
#include "objects/strategy.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
using api::WatchEventType;

// What each change and each event looks at comes first.
struct Store::WatchState : cow_detail::Sharers {
  Lane lane{};
  bool open = true;
  std::uint64_t after = 0;   // changes up to here are known to the watcher
  std::uint64_t number = 0;  // in the order of their beginning
  api::WatchSink sink{};
  ObjectFilter filter{};
  std::shared_ptr<const KindInfo> kind{};
  Timer next_bookmark{};
};

void Store::let_go_of_watch(cow_detail::Sharers* watch) {
  if (watch->drop()) delete static_cast<WatchState*>(watch);
}

Store::WatchPtr Store::WatchPtr::make() { return WatchPtr(new WatchState); }

Store::WatchPtr Store::WatchPtr::of(WatchState& watch) {
  watch.add();
  return WatchPtr(&watch);
}

Store::WatchState& Store::WatchPtr::operator*() const { return static_cast<WatchState&>(*get()); }

// Closes the stream; the table lets go of closed ones at its next change.
class Store::WatchHandle final : public api::Watch {
 public:
  explicit WatchHandle(WatchPtr state) : state_(std::move(state)) {}
  ~WatchHandle() override {
    state_->open = false;
    state_->sink = nullptr;
    state_->next_bookmark.cancel();
  }
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;

 private:
  WatchPtr state_;
};

namespace {

constexpr Duration bookmark_interval = 1min;

// What an event says beside its object, in one word.
struct Said {
  Said(std::uint64_t removed_at_, WatchEventType type_)
      : removed_at(removed_at_ & ((1ULL << 56U) - 1)), type(type_) {}
  std::uint64_t removed_at : 56;
  WatchEventType type : 8;
};
static_assert(sizeof(Said) == sizeof(std::uint64_t));

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
  const WatchPtr state = WatchPtr::make();
  state->lane = loop_.new_lane();
  state->sink = std::move(sink);
  state->after = revision_;
  state->number = ++last_watch_;
  Status allowed = validate_watch_options(options);
  if (allowed && !ObjectFilter::is_everything(target, options)) {
    auto filter = ObjectFilter::parse(*target.kind, target, options);
    if (filter)
      state->filter = std::move(*filter);
    else
      allowed = fail(std::move(filter.error()));
  }
  if (!allowed) {
    post_error(state, std::move(allowed.error()));
    return std::make_unique<WatchHandle>(state);
  }
  Table& rows = table(*target.kind);
  drop_expired(rows);
  state->kind = rows.kind;
  const std::string* node = target.kind == &info_of<Pod>() ? state->filter.node() : nullptr;
  if (node != nullptr)
    rows.node_watches[Fingerprint::of(*node)].push_back(state);
  else
    rows.watches.push_back(state);
  start_watch(state, options, rows);
  return std::make_unique<WatchHandle>(state);
}

// The past that the watcher asked for; the watch is closed where there is none.
void Store::start_watch(const WatchPtr& watch, const api::ListOptions& options, const Table& rows) {
  const std::string& from = options.resource_version;
  auto version = version_number(from);
  if (!version) return post_error(watch, std::move(version.error()));
  const bool from_now = from.empty() || from == "0"sv;
  if (!from_now && *version < compacted_) return post_error(watch, expired(*version, compacted_));
  // With sendInitialEvents any state that is not older will do: the present one is.
  if (options.send_initial_events.value_or(from_now)) {
    for (const auto& [key, object] : rows.objects)
      if (watch->filter.matches(*object)) post_event(watch, WatchEventType::added, object);
  } else if (!from_now) {
    watch->after = *version;
    // Most watches follow a list of the present.
    if (*version < revision_) replay(watch, rows);
  }
  if (!options.allow_bookmarks) return;
  if (options.send_initial_events.value_or(false)) post_bookmark(watch, true);
  bookmark_later(watch);
}

// What changed behind the version that the watcher knows.
void Store::replay(const WatchPtr& watch, const Table& rows) {
  const auto is_old = [&](const Change& change) { return change.revision <= watch->after; };
  const auto first = std::partition_point(history_.begin(), history_.end(), is_old);
  // States that later changes took the place of. Only looked up in, so its order cannot be seen.
  std::unordered_map<const Object*, const ObjectPtr*> replaced;
  for (auto at = first; at != history_.end(); ++at)
    if (at->table == &rows && at->before != nullptr)
      replaced.emplace(at->before.get(), &at->before);
  const auto held = [&](const Object* state) {
    if (state == nullptr) return ObjectPtr();
    const auto found = replaced.find(state);
    return found != replaced.end() ? *found->second : rows.objects.find(*state);
  };
  for (auto at = first; at != history_.end(); ++at) {
    if (at->table != &rows) continue;
    const ContextScope of_this_change(loop_, at->record);
    deliver(watch, at->revision, at->before, held(at->after));
  }
}

// An object of the kind that says the revision up to which the watcher knows all.
void Store::post_bookmark(const WatchPtr& watch, bool ends_initial_events) {
  std::shared_ptr<Object> mark = kinds_.make(*watch->kind);
  set_version(mark->metadata, revision_);
  if (ends_initial_events)
    mark->metadata.annotations.edit().emplace("k8s.io/initial-events-end", "true");
  post_event(watch, WatchEventType::bookmark, mark);
}

void Store::bookmark_later(const WatchPtr& watch) {
  // The timer is a part of what it looks at.
  watch->next_bookmark = loop_.after(watch->lane, bookmark_interval, [this, state = &*watch] {
    if (!state->open) return;
    const WatchPtr again = WatchPtr::of(*state);
    post_bookmark(again, false);
    bookmark_later(again);
  });
}

namespace {

template <class Watches>
void drop_closed(Watches& watches) {
  const auto is_closed = [](const auto& watch) { return !watch->open; };
  watches.erase(std::remove_if(watches.begin(), watches.end(), is_closed), watches.end());
}

}  // namespace

// In the order of their beginning: the watches of all pods, and among them those of the node that a
// pod is on or was on.
void Store::publish_beside_nodes(Table& rows, std::uint64_t revision, const ObjectPtr& before,
                                 const ObjectPtr& after) {
  // Two nodes at most, of one kubelet each.
  boost::container::small_vector<const WatchPtr*, 4> of_nodes;
  const std::string* last = nullptr;
  for (const ObjectPtr* object : {&before, &after}) {
    if (*object == nullptr) continue;
    const std::string& node = static_cast<const Pod&>(**object).spec->nodeName;
    if (last != nullptr && same_text(*last, node)) continue;
    last = &node;
    auto* watches = rows.node_watches.find(Fingerprint::of(node));
    if (watches == nullptr) continue;
    drop_closed(*watches);
    for (const auto& watch : *watches) of_nodes.push_back(&watch);
  }
  const auto by_number = [](const auto* a, const auto* b) { return (*a)->number < (*b)->number; };
  std::sort(of_nodes.begin(), of_nodes.end(), by_number);
  auto next = of_nodes.begin();
  for (const auto& watch : rows.watches) {
    for (; next != of_nodes.end() && (**next)->number < watch->number; ++next)
      deliver(**next, revision, before, after);
    deliver(watch, revision, before, after);
  }
  for (; next != of_nodes.end(); ++next) deliver(**next, revision, before, after);
}

void Store::publish(Table& rows, std::uint64_t revision, const ObjectPtr& before,
                    const ObjectPtr& after) {
  if (!rows.node_watches.empty()) {
    drop_closed(rows.watches);
    publish_beside_nodes(rows, revision, before, after);
  } else {
    bool all_open = true;
    for (const auto& watch : rows.watches) {
      all_open = all_open && watch->open;
      deliver(watch, revision, before, after);
    }
    if (!all_open) drop_closed(rows.watches);
  }
  history_.emplace_back(revision, loop_.context(), &rows, before, after);
  while (history_.size() > options_.history) {
    compacted_ = history_.front().revision;
    forget_first_change();
  }
}

// An update that brings an object into a selector is its beginning, one that takes it out its end.
void Store::deliver(const WatchPtr& watch, std::uint64_t revision, const ObjectPtr& before,
                    const ObjectPtr& after) {
  if (revision <= watch->after || !watch->open) return;
  const ObjectFilter& filter = watch->filter;
  const bool is = after != nullptr && filter.matches(*after);
  const bool was =
      before != nullptr && ((is && !filter.has_selectors()) || filter.matches(*before));
  if (is)
    post_event(watch, was ? WatchEventType::modified : WatchEventType::added, after);
  else if (was)
    post_event(watch, WatchEventType::removed, before, revision);
}

void Store::post_event(const WatchPtr& watch, WatchEventType type, const ObjectPtr& object,
                       std::uint64_t removed_at) {
  // Captures of `watch` and `object` alone would be as const as the parameters, and copied where
  // they are moved.
  loop_.post(watch->lane, [watch = watch, object = object,
                           said = Said(removed_at, type)]() mutable {
    if (!watch->open) return;
    watch->sink({.type = said.type, .object = std::move(object), .removed_at = said.removed_at});
  });
}

void Store::post_error(const WatchPtr& watch, Error error) {
  // No more events are accepted, those already posted still come.
  watch->after = std::numeric_limits<std::uint64_t>::max();
  loop_.post(watch->lane, [watch = watch, error = std::move(error)] {
    if (!watch->open) return;
    watch->open = false;
    watch->sink({.type = WatchEventType::error, .error = error});
  });
}

void Store::compact() {
  compacted_ = revision_;
  while (!history_.empty()) forget_first_change();
}

void Store::expire_watches(const KindInfo* kind) {
  std::vector<Table*> tables;
  if (kind != nullptr)
    tables.push_back(&table(*kind));
  else
    for (const auto& rows : tables_) tables.push_back(rows.get());
  std::sort(tables.begin(), tables.end(), [](const Table* a, const Table* b) {
    const KindInfo &x = *a->kind, &y = *b->kind;
    return x.group + "/" + x.kind < y.group + "/" + y.kind;
  });
  for (Table* rows : tables) {
    Watches all = std::exchange(rows->watches, {});
    std::exchange(rows->node_watches, {}).each([&all](const auto& watches) {
      all.insert(all.end(), watches.begin(), watches.end());
    });
    // A table has no order.
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a->number < b->number; });
    for (const auto& watch : all)
      if (watch->open) post_error(watch, expired(watch->after, revision_));
  }
}

Result<ObjectFilter> ObjectFilter::parse(const KindInfo& kind, const api::Target& target,
                                         const api::ListOptions& options) {
  ObjectFilter out;
  if (is_everything(target, options)) return out;
  out.everything_ = false;
  out.namespace_ = target.namespace_;
  if (!selects(options)) return out;
  TRY(out.labels_, LabelMatcher::parse(options.label_selector));
  TRY(out.fields_, FieldMatcher::parse(options.field_selector));
  for (const FieldRequirement& r : out.fields_.requirements()) {
    if (r.field == "metadata.name" && !r.negated && (!kind.namespaced || !out.namespace_.empty()))
      out.names_one_ = true;
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
  out.by_node_ = &kind == &info_of<Pod>() && out.labels_.empty() && out.node() != nullptr &&
                 out.fields_.requirements().size() == 1;
  return out;
}

const std::string* ObjectFilter::node() const {
  for (const FieldRequirement& r : fields_.requirements())
    if (r.field == "spec.nodeName" && !r.negated) return &r.value;
  return nullptr;
}

bool ObjectFilter::matches_some(const Object& object) const {
  if (!namespace_.empty() && object.metadata.namespace_ != namespace_) return false;
  if (!labels_.empty() && !labels_.matches(*object.metadata.labels)) return false;
  if (fields_.empty()) return true;
  if (by_node_)
    return same_text(static_cast<const Pod&>(object).spec->nodeName,
                     fields_.requirements().front().value);
  return fields_.matches([&](std::string_view field) -> std::string {
    if (field == "metadata.name") return object.metadata.name.str();
    if (field == "metadata.namespace") return object.metadata.namespace_.str();
    return object.kind().strategy.field(object, field).value_or(std::string());
  });
}

}  // namespace ddptwin
