// What a store tells of its past: lists page by page and watches that resume are the state of one
// version, whole, or refused once that is forgotten (spec/kubernetes.md §1.9, §1.10).
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::history_properties_test {
namespace {

// Who lists or watches asks for this much of the ConfigMaps.
struct Scope {
  std::string namespace_{};  // "": all
  bool marked = false;       // those with the label alone
  std::string name{};        // "=a", "!=a"; "": any
  bool is_selective() const { return marked || !name.empty(); }
  // One object at most, which is told whatever the limit.
  bool names_one() const { return !namespace_.empty() && name.starts_with("="); }
  bool operator==(const Scope&) const = default;
};

struct HistoryOp {
  enum class Kind : std::uint8_t { put, remove, list, turn_page, watch };
  Kind kind = Kind::put;
  std::string namespace_{};
  std::string name{};
  bool marked = false;
  int value = 0;
  // Of those who read:
  Scope scope{};
  int limit = 0;
  int back = 0;  // the state before so many changes; -1: the present one
};
constexpr const char* kind_names[] = {"put", "remove", "list", "turn the page", "watch"};

void showValue(const HistoryOp& op, std::ostream& out) {
  out << kind_names[static_cast<int>(op.kind)];
  if (op.kind == HistoryOp::Kind::put || op.kind == HistoryOp::Kind::remove)
    out << " " << op.namespace_ << "/" << op.name << (op.marked ? " marked" : "")
        << " k=" << op.value;
  else
    out << " '" << op.scope.namespace_ << "'" << (op.scope.marked ? " of the marked" : "")
        << (op.scope.name.empty() ? "" : " name") << op.scope.name << ", limit " << op.limit << ", "
        << op.back << " back";
}

rc::Gen<HistoryOp> history_op() {
  using Kind = HistoryOp::Kind;
  using gen::element;
  using gen::set;
  return gen::build<HistoryOp>(
      set(&HistoryOp::kind, gen::weightedElement<Kind>({{8, Kind::put},
                                                        {3, Kind::remove},
                                                        {2, Kind::list},
                                                        {4, Kind::turn_page},
                                                        {2, Kind::watch}})),
      set(&HistoryOp::namespace_, element<std::string>("default", "kube-public")),
      set(&HistoryOp::name, element<std::string>("a", "b", "c", "d")),
      set(&HistoryOp::marked, gen::arbitrary<bool>()), set(&HistoryOp::value, element(0, 1, 2)),
      set(&HistoryOp::scope,
          gen::build<Scope>(
              set(&Scope::namespace_, element<std::string>("", "default")),
              set(&Scope::marked, gen::weightedElement<bool>({{3, false}, {1, true}})),
              set(&Scope::name,
                  gen::weightedElement<std::string>({{4, ""}, {1, "=b"}, {1, "!=b"}})))),
      set(&HistoryOp::limit, element(0, 1, 2, 3)),
      set(&HistoryOp::back, element(-1, -1, 0, 1, 2, 3, 4, 5, 6, 7)));
}

struct Entry {
  bool marked = false;
  std::string version{};
  bool operator==(const Entry&) const = default;
};
using State = std::map<std::string, Entry>;  // "namespace/name", which is their order

Entry entry_of(const Object& object) {
  return {object.metadata.labels->contains("mark"), object.metadata.resourceVersion.str()};
}
State part_of(const State& state, const Scope& scope) {
  State part;
  for (const auto& [key, entry] : state) {
    const bool is_b = key.ends_with("/b");
    if ((scope.namespace_.empty() || key.starts_with(scope.namespace_ + "/")) &&
        (!scope.marked || entry.marked) &&
        (scope.name.empty() || is_b == scope.name.starts_with("=")))
      part.emplace(key, entry);
  }
  return part;
}

api::ListOptions options_of(const Scope& scope) {
  api::ListOptions options;
  if (scope.marked) options.label_selector = "mark";
  if (!scope.name.empty()) options.field_selector = "metadata.name" + scope.name;
  return options;
}

// A list that is read page by page.
struct Reading {
  Scope scope{};
  int limit = 0;
  std::uint64_t version = 0;
  std::string next{};
  State seen{};
};

// Who was told of one version and hears what came after it.
class Resumed {
 public:
  Resumed(Store& store, Scope scope, std::uint64_t from, State contents)
      : scope_(std::move(scope)), contents_(part_of(contents, scope_)) {
    api::ListOptions options = options_of(scope_);
    options.resource_version = std::to_string(from);
    watch_ = store.watch({&ConfigMap::info(), scope_.namespace_, {}, {}}, options,
                         [this](const api::WatchEvent& event) { take(event); });
  }
  void check(bool forgotten, const State& now) const {
    RC_ASSERT(expired_ == forgotten);
    RC_ASSERT(sound_);
    if (forgotten)
      RC_ASSERT(events_ == 0);
    else
      RC_ASSERT(contents_ == part_of(now, scope_));
  }

 private:
  void take(const api::WatchEvent& event) {
    if (event.type == api::WatchEventType::error) {
      sound_ = sound_ && !expired_ && event.error->reason == Reason::expired;
      expired_ = true;
      return;
    }
    ++events_;
    const std::string key = key_of(event.object->metadata);
    const bool known = contents_.contains(key);
    sound_ = sound_ && known == (event.type != api::WatchEventType::added);
    if (event.type == api::WatchEventType::removed)
      contents_.erase(key);
    else
      contents_[key] = entry_of(*event.object);
  }

  Scope scope_;
  State contents_;
  int events_ = 0;
  bool expired_ = false;
  bool sound_ = true;
  std::unique_ptr<api::Watch> watch_{};
};

class Past {
 public:
  explicit Past(std::size_t history)
      : history_(history), store_(loop_, Random(7), trace_, kinds_, {.history = history}) {
    store_.seal();
    states_[store_.revision()] = {};
  }

  void apply(const HistoryOp& op) {
    using Kind = HistoryOp::Kind;
    if (op.kind == Kind::put) put(op);
    if (op.kind == Kind::remove) remove(op);
    if (op.kind == Kind::list) list(op);
    if (op.kind == Kind::turn_page && reading_) turn_page();
    if (op.kind == Kind::watch) watch(op);
  }
  void finish() {
    loop_.drain();
    for (const auto& [resumed, forgotten] : watches_) resumed->check(forgotten, now());
  }

 private:
  const State& now() const { return states_.rbegin()->second; }
  // The store remembers so many changes, each one version.
  bool forgotten(std::uint64_t version) const { return store_.revision() - version > history_; }
  std::uint64_t version_of(const HistoryOp& op) const {
    const auto oldest = states_.begin()->first;
    const auto back = static_cast<std::uint64_t>(std::max(op.back, 0));
    return std::max(oldest, store_.revision() - std::min(back, store_.revision()));
  }

  void put(const HistoryOp& op) {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = op.name;
    object->metadata.namespace_ = op.namespace_;
    if (op.marked) object->metadata.labels = StringMap{{"mark", "1"}};
    object->data = StringMap{{"k", std::to_string(op.value)}};
    const bool known = now().contains(key_of(object->metadata));
    const auto answer = store_.call(known ? api::update(object) : api::create(object), "test");
    RC_ASSERT(answer.has_value());
    State next = now();
    next[key_of(object->metadata)] = entry_of(*answer->object);
    become(std::move(next));
  }
  void remove(const HistoryOp& op) {
    const ObjectPtr known = store_.find(ConfigMap::info(), op.namespace_, op.name);
    if (known == nullptr) return;
    RC_ASSERT(store_.call(api::remove(*known), "test").has_value());
    State next = now();
    next.erase(key_of(known->metadata));
    become(std::move(next));
  }
  void become(State next) {
    if (next == now()) return;
    RC_ASSERT(store_.revision() == states_.rbegin()->first + 1);
    states_[store_.revision()] = std::move(next);
  }

  void list(const HistoryOp& op) {
    reading_ = Reading{.scope = op.scope, .limit = op.limit, .version = version_of(op)};
    api::ListOptions options = options_of(op.scope);
    options.limit = op.limit;
    if (op.back >= 0) {
      options.resource_version = std::to_string(reading_->version);
      options.resource_version_match = "Exact";
    }
    read(options);
  }
  void turn_page() {
    api::ListOptions options = options_of(reading_->scope);
    options.limit = reading_->limit;
    options.continue_ = reading_->next;
    read(options);
  }
  void read(const api::ListOptions& options) {
    const auto answer =
        store_.call(api::list(ConfigMap::info(), reading_->scope.namespace_, options), "test");
    if (forgotten(reading_->version)) {
      RC_ASSERT(!answer.has_value());
      RC_ASSERT(answer.error().reason == Reason::expired);
      reading_.reset();
      return;
    }
    RC_ASSERT(answer.has_value());
    RC_ASSERT(answer->resource_version == std::to_string(reading_->version));
    for (const ObjectPtr& object : answer->items) {
      if (!reading_->seen.empty())
        RC_ASSERT(reading_->seen.rbegin()->first < key_of(object->metadata));
      reading_->seen[key_of(object->metadata)] = entry_of(*object);
    }
    const State whole = part_of(states_.at(reading_->version), reading_->scope);
    const auto left = static_cast<std::int64_t>(whole.size() - reading_->seen.size());
    // Whether there is more is asked before the selector: a last page may be empty.
    const Scope& scope = reading_->scope;
    if (left > 0 || !scope.is_selective() || scope.names_one())
      RC_ASSERT(answer->continue_.empty() == (left == 0));
    if (answer->continue_.empty()) {
      RC_ASSERT(reading_->seen == whole);
      reading_.reset();
      return;
    }
    if (left > 0) RC_ASSERT(static_cast<int>(answer->items.size()) == reading_->limit);
    RC_ASSERT(answer->remaining == (scope.is_selective() ? std::nullopt : std::optional(left)));
    reading_->next = answer->continue_;
  }

  void watch(const HistoryOp& op) {
    const std::uint64_t from = version_of(op);
    watches_.emplace_back(std::make_unique<Resumed>(store_, op.scope, from, states_.at(from)),
                          forgotten(from));
  }

  VirtualLoop loop_{Random(1), virtual_start};
  Trace trace_{loop_};
  KindRegistry kinds_{};
  std::size_t history_;
  Store store_;
  std::map<std::uint64_t, State> states_{};  // each version's
  std::optional<Reading> reading_{};
  std::vector<std::pair<std::unique_ptr<Resumed>, bool>> watches_{};
};

TEST(HistoryProperties, AStateOfThePastIsToldWholeOrRefused) {
  holds(
      [] {
        const auto history = *gen::element<std::size_t>(1, 3, 5, 1000).as("changes remembered");
        const auto ops = *gen::resize(60, gen::vector_of(history_op())).as("operations");
        Past past(history);
        for (const HistoryOp& op : ops) past.apply(op);
        past.finish();
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::history_properties_test
