// The API server's contract over objects: versions, conflicts, finalizers, graceful deletion,
// watches (spec/kubernetes.md section 1).
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/deque.hpp>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cluster/store/admission.hpp"
#include "core/print_table.hpp"
#include "core/random.hpp"
#include "core/trace.hpp"
#include "objects/object_map.hpp"
#include "objects/schema.hpp"
#include "objects/selector.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

class ObjectFilter;
class Seals;
struct FieldManager;
struct Namespace;

// Invariants: objects are immutable once stored; every accepted write takes the next number of one
// store-wide revision, which is the object's resourceVersion; a write that changes nothing takes
// none. Each accepted write is one trace record and each refusal is one.
class Store {
 public:
  struct Options {
    // How many past changes a watch may resume over; older ones answer "expired".
    std::size_t history = 100'000;
    // Create default, kube-system, kube-public and kube-node-lease.
    bool system_namespaces = true;
  };

  Store(Loop& loop, Random random, Trace& trace, KindRegistry& kinds, Options options);
  Store(Loop& loop, Random random, Trace& trace, KindRegistry& kinds)
      : Store(loop, random, trace, kinds, Options()) {}
  ~Store();

  // Runs to the end at once. The actor must outlive the trace (a literal).
  Result<api::Response> call(const api::Request& request, std::string_view actor);
  // The same for a request that nobody reads again: an object that it alone holds is not copied.
  Result<api::Response> call(api::Request&& request, std::string_view actor);
  // Events are posted on a lane of this watch, in the order of the revisions. A resourceVersion
  // resumes behind it; none or "0" begins with an `added` for every object. A refusal (options, a
  // version that is none) is an `error` event too, as is `expired`.
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink);

  // Hooks run in the order of their adding; one with a kind or a verb hears of that only.
  void add_admission(AdmissionPhase phase, AdmissionHook hook, const KindInfo* kind = nullptr,
                     std::optional<api::Verb> verb = std::nullopt);
  // Another definition of a custom kind than its row has, as another version of its operator brings
  // along. Worlds may share it.
  void set_schema(const KindInfo& kind, std::shared_ptr<const Schema> schema);
  // Forgets the past: every watch that resumes from before now answers "expired".
  void compact();
  // Ends every running watch of the kind (null: of all kinds) with an `expired` error event.
  void expire_watches(const KindInfo* kind = nullptr);
  // From now on the program ends where somebody has edited in place what is stored or was: looked
  // at when it is written over, when it leaves the history, and in the end. For tests: it takes
  // longer than the writes themselves.
  void seal();

  // What is stored now, without a request. Of Events those too that are past their hour and that no
  // request has asked for since.
  ObjectPtr find(const KindInfo& kind, std::string_view namespace_, std::string_view name) const;
  template <class T>
  std::shared_ptr<const T> find(std::string_view namespace_, std::string_view name) const {
    return std::static_pointer_cast<const T>(find(T::info(), namespace_, name));
  }
  // Every object of the kind, ordered by "namespace/name".
  const ObjectMap& objects(const KindInfo& kind) const;
  std::uint64_t revision() const { return revision_; }
  KindRegistry& kinds() { return kinds_; }
  const KindRegistry& kinds() const { return kinds_; }
  Loop& loop() { return loop_; }

 private:
  struct WatchState;
  class WatchHandle;
  // One word, for each event that is posted holds one.
  static void let_go_of_watch(cow_detail::Sharers* watch);
  class WatchPtr : public cow_detail::SharedPointer<&Store::let_go_of_watch> {
   public:
    static WatchPtr make();
    static WatchPtr of(WatchState& watch);
    WatchState& operator*() const;
    WatchState* operator->() const { return &**this; }

   private:
    using SharedPointer::SharedPointer;
  };
  using Watches = boost::container::small_vector<WatchPtr, 4>;
  using Leases = std::deque<std::pair<Time, ObjectPtr>>;
  struct Table {
    std::shared_ptr<const KindInfo> kind{};  // keeps the row alive, whose address is the key
    ObjectMap objects{};
    // In the order of their beginning. Those that ask for one node's pods are apart: there may be
    // thousands of them, and each change concerns two at most.
    Watches watches{};
    // By node, most of them one kubelet's.
    PrintTable<boost::container::small_vector<WatchPtr, 1>> node_watches{};
    // Of pods, by node: where `objects` keeps them. A kubelet that starts lists its own, and a node
    // has few of them.
    PrintTable<std::vector<const ObjectPtr*>> pods_of_node{};
    std::shared_ptr<const Schema> schema{};  // of a custom kind
    std::string_view deprecation{};          // what every answer about it warns of; empty: nothing
    std::array<std::uint32_t, 2> heard{};    // by phase: verbs that a hook of admission hears of
    // Of a kind whose objects go by themselves: each state written, and when it goes. Null before
    // the first.
    std::unique_ptr<Leases> leases{};
  };
  // One accepted write, kept for watches that resume. `before` null: created; `after` null:
  // deleted. `after` is not held: what was stored is until the next change of that object, which
  // holds it as its `before` and leaves the history later. So a state is let go once, when it is
  // cold, and not twice.
  struct Change {
    Change(std::uint64_t at, std::uint64_t record_, Table* rows, const ObjectPtr& was,
           const ObjectPtr& is)
        : revision(at), record(record_), table(rows), before(was), after(is.get()) {}
    std::uint64_t revision;
    std::uint64_t record;  // of the trace: what a watch that hears of it later goes on from
    Table* table;
    ObjectPtr before;
    const Object* after;
    std::string_view actor{};  // outlives the trace
    Time when{};
    bool of_status = false;  // written to /status
  };
  struct Admission {
    AdmissionHook hook;
    const KindInfo* kind;  // null: of every kind
    std::optional<api::Verb> verb;
    std::uint32_t verbs() const { return verb ? bit(*verb) : ~0U; }
  };
  static std::uint32_t bit(api::Verb verb) { return 1U << static_cast<unsigned>(verb); }
  // What few calls have to tell beside their answer.
  struct Remarks {
    std::vector<std::string> warnings{};
    std::optional<std::vector<ManagedFieldsEntry>> managers{};  // after an apply
    bool resets_managers = false;   // managedFields was sent as an empty list
    bool is_unmanaged = false;      // nobody is noted for what was written
    ErrorList definition_errors{};  // of a custom resource, told with those of its metadata
  };
  // What one call carries through its stages.
  struct Context {
    const api::Request& request;
    const KindInfo& kind;
    Table& rows;  // of that kind
    std::string_view actor;
    bool is_last_use = false;  // nobody reads the request again
    // Where `rows` keeps the object that was found, or will keep the one to be stored; null where
    // none was looked for, or it is gone.
    ObjectPtr* place = nullptr;
    std::unique_ptr<Remarks> remarks{};  // null: none so far

    Remarks& remark() {
      if (remarks == nullptr) remarks = std::make_unique<Remarks>();
      return *remarks;
    }
    void warn(std::vector<std::string> warnings) {
      for (std::string& warning : warnings) remark().warnings.push_back(std::move(warning));
    }
    void take_definition_errors(ErrorList& to) {
      if (remarks != nullptr) append(to, std::exchange(remarks->definition_errors, {}));
    }
  };
  using Answer = Result<api::Response>;

  // store.cpp
  // Kinds that are asked for often come to the front.
  Table& table(const KindInfo& kind) const {
    for (auto at = table_of_.begin(); at != table_of_.end(); ++at) {
      if (at->first != &kind) continue;
      Table& rows = *at->second;
      if (at != table_of_.begin()) std::iter_swap(at, at - 1);
      return rows;
    }
    return add_table(kind);
  }
  Table& add_table(const KindInfo& kind) const;
  Answer carry_out(const api::Request& request, std::string_view actor, bool is_last_use);
  Answer dispatch(Context& context);
  // Made where it is handed back: a response is long to move.
  static Answer answer_of(ObjectPtr object, int code = 200);
  Answer create(Context& context);
  Status check_namespace(const Context& context, Object& object) const;
  void fill_new(Object& object);
  SharedText new_uid();
  std::string generated_name(std::string_view base);
  // Whether some hook hears of it.
  static bool hears(AdmissionPhase phase, const Context& context, api::Verb verb) {
    return (context.rows.heard[static_cast<std::size_t>(phase)] & bit(verb)) != 0;
  }
  // `object`: null of a deletion; `old`: null of a creation.
  Status admit(AdmissionPhase phase, Context& context, api::Verb verb,
               const std::shared_ptr<Object>& object, const ObjectPtr& old) const {
    if (!hears(phase, context, verb)) return {};
    return ask_hooks(phase, context, verb, object, old);
  }
  Status ask_hooks(AdmissionPhase phase, Context& context, api::Verb verb,
                   const std::shared_ptr<Object>& object, const ObjectPtr& old) const;
  const std::vector<Admission>& hooks(AdmissionPhase phase) const;
  const Namespace* find_namespace(std::string_view name) const;
  Status check_create_namespace(const Context& context, std::string_view object_name) const;
  // What the target names, or null. absent() then is the answer.
  static ObjectPtr existing(Context& context);
  static tl::unexpected<Error> absent(const Context& context);

  // store_list.cpp
  struct Page;
  Answer get(Context& context);
  Answer list(Context& context);
  Answer list_all(const Context& context) const;
  Answer listed(const Context& context, const ObjectFilter& filter, const Page& page) const;
  Result<Page> page_of(const Context& context) const;
  std::vector<ObjectPtr> objects_at(const Table& rows, std::string_view namespace_,
                                    std::uint64_t revision) const;
  static std::vector<ObjectPtr> pods_on(const Table& rows, const std::string& node);
  static void note_node(Table& rows, const ObjectPtr& before, const ObjectPtr& after);

  // store_decode.cpp
  const Schema* schema_of(const KindInfo& kind) const;
  Result<std::shared_ptr<Object>> body_of(Context& context, const Object* old) const;
  void judge_again(Context& context, const Object& object, const Object* old) const;
  Result<std::shared_ptr<Object>> decode_checked(Context& context, Json sent, const Object* old,
                                                 bool from_patch) const;

  // store_write.cpp
  static void warn_of_doubled_owners(Context& context, Object& object);
  Answer insert(Context& context, std::shared_ptr<Object> object);
  void fill_in(const KindInfo& kind, Object& object);
  Answer update(Context& context);
  Answer patch(Context& context);
  Answer replace(Context& context, const ObjectPtr& old, std::shared_ptr<Object> object);
  static Status check_name(const Context& context, const Object& object);
  Status prepare(Context& context, Object& object, const Object& old) const;
  Status validate_update(Context& context, const Object& object, const Object& old) const;
  Result<Json> patched(Context& context, const Object& old) const;
  Result<std::shared_ptr<Object>> after_patch(Context& context, const ObjectPtr& old) const;
  void commit(Context& context, const ObjectPtr& before, const std::shared_ptr<Object>& after);

  // store_managers.cpp
  using FieldManagers = std::vector<FieldManager>;
  Answer apply(Context& context);
  FieldManagers managers_of(const Context& context, const ObjectPtr& stored) const;
  FieldManagers managers_by_history(const Context& context, const ObjectPtr& stored) const;
  Json nothing_of(const KindInfo& kind) const;
  // Only what comes as text names its manager. Other writes are noted once the object has managers:
  // until somebody asks, who wrote what costs nothing.
  static bool names_manager(const Context& context) {
    return !context.request.write->field_manager.empty();
  }
  void note_managers_of_new(Context& context, Object& object) const;
  void note_managers(Context& context, Object& object, const ObjectPtr& old) const {
    const Cow<ObjectMeta::Rest>&now = object.metadata.rest, &then = old->metadata.rest;
    if (!now.untouched() || !then.untouched() || names_manager(context))
      note_managers_of_known(context, object, old);
  }
  void note_managers_of_known(Context& context, Object& object, const ObjectPtr& old) const;
  static void set_managers(Context& context, Object& object,
                           std::vector<ManagedFieldsEntry> entries);

  // store_delete.cpp
  enum class Deletion : std::uint8_t { kept, removed };
  Answer remove(Context& context);
  Answer remove_collection(Context& context);
  static void warn_of_orphans(Context& context);
  Answer remove_one(Context& context, ObjectPtr object);
  Answer removed_answer(Context& context, const ObjectPtr& last) const;
  Answer remove_namespace(Context& context, const ObjectPtr& object);
  Status check_preconditions(const Context& context, const Object& object) const;
  void erase(Context& context, const ObjectPtr& last);
  void take_out(Table& rows, const ObjectPtr& last, std::string_view actor);
  void drop_expired(Table& rows) {
    if (rows.leases != nullptr) end_leases(rows);
  }
  void end_leases(Table& rows);

  // seals.hpp, where there are any.
  void require_whole(const ObjectPtr& published) const;
  void forget_first_change();

  // store_subresources.cpp
  Answer call_subresource(Context& context);
  Answer scale(Context& context);
  Answer bind(Context& context);
  Answer evict(Context& context);
  Answer finalize_namespace(Context& context);

  // store_watch.cpp
  void publish(Table& table, std::uint64_t revision, const ObjectPtr& before,
               const ObjectPtr& after);
  void publish_beside_nodes(Table& table, std::uint64_t revision, const ObjectPtr& before,
                            const ObjectPtr& after);
  void deliver(const WatchPtr& watch, std::uint64_t revision, const ObjectPtr& before,
               const ObjectPtr& after);
  void post_event(const WatchPtr& watch, api::WatchEventType type, const ObjectPtr& object,
                  std::uint64_t removed_at = 0);
  void post_error(const WatchPtr& watch, Error error);
  void start_watch(const WatchPtr& watch, const api::ListOptions& options, const Table& rows);
  void replay(const WatchPtr& watch, const Table& rows);
  void post_bookmark(const WatchPtr& watch, bool ends_initial_events);
  void bookmark_later(const WatchPtr& watch);

  Loop& loop_;
  Random random_;
  Trace& trace_;
  KindRegistry& kinds_;
  Options options_;
  std::uint64_t revision_ = 1;
  std::uint64_t compacted_ = 0;  // watches resume from here at the earliest
  std::uint64_t last_watch_ = 0;
  // Uids of objects whose managers are known to be none: a client has reset them. Of others without
  // any, the history tells.
  std::set<std::string, std::less<>> unmanaged_{};
  // In pieces that hold what a small world writes in a few of them.
  boost::container::deque<Change, void,
                          boost::container::deque_options<boost::container::block_size<64U>>::type>
      history_{};
  // Of the pod made last: what it was asked with, and what defaults made of it.
  Cow<std::vector<Container>> init_asked_{}, init_made_{};
  Cow<PodSpec::Rest> rest_asked_{}, rest_made_{};
  // One for each group and kind; and by their rows, of which a definition may bring another, in an
  // order that nothing depends on.
  mutable std::vector<std::unique_ptr<Table>> tables_{};
  mutable std::vector<std::pair<const KindInfo*, Table*>> table_of_{};
  // Where the namespace is kept that was asked for last; null once one has gone.
  mutable const ObjectPtr* last_namespace_ = nullptr;
  std::unique_ptr<Seals> seals_{};  // null: nobody looks
  std::vector<Admission> mutating_{};
  std::vector<Admission> validating_{};
};

// The selectors of a request, parsed and checked against what the kind knows.
class ObjectFilter {
 public:
  static Result<ObjectFilter> parse(const KindInfo& kind, const api::Target& target,
                                    const api::ListOptions& options);
  // Nothing is selected: what is parsed is a default filter.
  static bool is_everything(const api::Target& target, const api::ListOptions& options) {
    return target.namespace_.empty() && !selects(options);
  }
  bool matches(const Object& object) const { return everything_ || matches_some(object); }
  // The node whose pods alone it lets through, or null.
  const std::string* node() const;
  bool has_selectors() const { return !labels_.empty() || !fields_.empty(); }
  // metadata.name=x of one namespace or of a kind without: a list of at most one.
  bool names_one() const { return names_one_; }

 private:
  static bool selects(const api::ListOptions& options) {
    return !options.label_selector.empty() || !options.field_selector.empty();
  }
  bool matches_some(const Object& object) const;

  bool everything_ = true;  // no namespace, no selectors
  std::string namespace_{};
  LabelMatcher labels_{};
  FieldMatcher fields_{};
  bool names_one_ = false;
  bool by_node_ = false;  // of pods, by their node and nothing else
};

}  // namespace ddptwin
