// Deletion: grace, finalizers, propagation. Source of the rules: spec/kubernetes.md section 1.8.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "api/status.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/core_v1.hpp"
#include "objects/strategy.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view orphan_finalizer = "orphan";
constexpr std::string_view foreground_finalizer = "foregroundDeletion";

std::chrono::seconds seconds(std::int64_t n) { return std::chrono::seconds(n); }

// How the first look at a deletion ends (upstream: rest.BeforeDelete).
enum class Grace : std::uint8_t {
  none,     // the kind knows no grace, or its time is over
  pending,  // it is being deleted, and this request changes nothing about when
  marked,   // the object now says when it will be gone
};

Grace shorten(ObjectMeta& meta, std::optional<std::int64_t> asked, Time now) {
  if (meta.deletionGracePeriodSeconds.value_or(0) == 0) return Grace::none;
  const std::int64_t current = *meta.deletionGracePeriodSeconds;
  if (!asked || *asked >= current) return Grace::pending;
  std::int64_t period = *asked;
  Time when = *meta.deletionTimestamp - seconds(current) + seconds(period);
  // Shortened into the past: now, and one second of grace unless none was asked.
  if (when < now) {
    when = now;
    if (period != 0) period = 1;
  }
  meta.deletionTimestamp = when.floor_seconds();
  meta.deletionGracePeriodSeconds = period;
  return Grace::marked;
}

Grace begin_grace(Object& object, const api::DeleteOptions& options, Time now) {
  const auto grace_period = object.kind().strategy.grace_period;
  ObjectMeta& meta = object.metadata;
  if (grace_period == nullptr) return Grace::none;
  std::optional<std::int64_t> asked = options.grace_period_seconds;
  if (asked && *asked < 0) asked = 1;
  if (meta.deletionTimestamp) return shorten(meta, asked, now);
  const auto period = grace_period(object, asked);
  if (!period) return Grace::none;
  meta.deletionTimestamp = (now + seconds(*period)).floor_seconds();
  meta.deletionGracePeriodSeconds = *period;
  if (meta.generation > 0) ++meta.generation;
  return Grace::marked;
}

void mark_as_deleting(ObjectMeta& meta, Time now) {
  if (!meta.deletionTimestamp && meta.generation > 0) ++meta.generation;
  if (!meta.deletionTimestamp || *meta.deletionTimestamp > now)
    meta.deletionTimestamp = now.floor_seconds();
  meta.deletionGracePeriodSeconds = 0;
}

bool says_nothing_of_dependants(const api::DeleteOptions& options) {
  return !options.propagation && !options.orphan_dependents;
}

// The finalizers after the propagation policy had its say.
using Finalizers = Cow<std::vector<std::string>>;
Finalizers finalizers_for(const ObjectMeta& meta, const api::DeleteOptions& options,
                          bool orphans_unasked = false) {
  const auto has = [&](std::string_view name) {
    return std::find(meta.finalizers.begin(), meta.finalizers.end(), name) != meta.finalizers.end();
  };
  const bool background =
      options.propagation.value_or(api::Propagation::background) == api::Propagation::background;
  const bool by_default = orphans_unasked && says_nothing_of_dependants(options);
  if (meta.finalizers.empty() && background && !options.orphan_dependents && !by_default) return {};
  bool orphan = has(orphan_finalizer), foreground = has(foreground_finalizer);
  if (options.orphan_dependents) {
    orphan = true;
    foreground = false;
  } else if (options.propagation) {
    orphan = *options.propagation == api::Propagation::orphan;
    foreground = *options.propagation == api::Propagation::foreground;
  } else if (by_default && !foreground) {
    orphan = true;
  }
  std::vector<std::string> out;
  for (const std::string& name : meta.finalizers)
    if (name != orphan_finalizer && name != foreground_finalizer) out.push_back(name);
  if (orphan) out.emplace_back(orphan_finalizer);
  if (foreground) out.emplace_back(foreground_finalizer);
  // Only another set is a change: a finalizer keeps its place.
  const auto sorted = [](std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  return sorted(out) == sorted(meta.finalizers) ? meta.finalizers : Finalizers(std::move(out));
}

// Kinds whose deletion answers with the object, not with a Status.
bool returns_object(const KindInfo& kind) {
  static constexpr std::string_view kinds[] = {"Pod", "Service", "ServiceAccount",
                                               "PersistentVolumeClaim"};
  return kind.group.empty() &&
         std::find(std::begin(kinds), std::end(kinds), kind.kind) != std::end(kinds);
}

// Made when it is read: controllers do not.
RawJson success_status(const ObjectPtr& gone) {
  return RawJson::later([gone] {
    const KindInfo& kind = gone->kind();
    boost::json::object details{{"name", gone->metadata.name}};
    if (!kind.group.empty()) details["group"] = kind.group;
    details["kind"] = kind.plural;
    details["uid"] = gone->metadata.uid.view();
    return Json(boost::json::object{{"kind", "Status"},
                                    {"apiVersion", "v1"},
                                    {"metadata", boost::json::object()},
                                    {"status", "Success"},
                                    {"details", std::move(details)}});
  });
}

}  // namespace

Status Store::check_preconditions(const Context& context, const Object& object) const {
  const api::DeleteOptions& options = *context.request.remove;
  const ObjectMeta& meta = object.metadata;
  const auto refuse = [&](std::string_view what, std::string_view sent, std::string_view stored,
                          std::string_view hint) {
    Error error = conflict_error(context.kind, meta.name, {});
    auto details = std::make_shared<ErrorDetails>(*error.details);
    details->kind = context.kind.kind;
    error.details = std::move(details);
    error.message = fmt::format(
        "Operation cannot be fulfilled on {} \"{}\": the {} in the precondition ({}) does not "
        "match the {} in record ({}). The object might have been {}",
        context.kind.group.empty() ? context.kind.kind
                                   : context.kind.kind + "." + context.kind.group,
        meta.name, what, sent, what, stored, hint);
    return fail(std::move(error));
  };
  if (!options.precondition_uid.empty() && options.precondition_uid != meta.uid)
    return refuse("UID", options.precondition_uid, meta.uid, "deleted and then recreated");
  if (!options.precondition_resource_version.empty() &&
      options.precondition_resource_version != meta.resourceVersion)
    return refuse("ResourceVersion", options.precondition_resource_version, meta.resourceVersion,
                  "modified");
  return {};
}

void Store::warn_of_orphans(Context& context) {
  const std::string_view told = context.kind.strategy.orphans_unasked;
  if (!told.empty() && says_nothing_of_dependants(*context.request.remove))
    context.warn({std::string(told)});
}

Store::Answer Store::remove(Context& context) {
  const api::DeleteOptions& options = *context.request.remove;
  if (options.orphan_dependents && options.propagation)
    return fail(api::invalid_options(
        "DeleteOptions", {invalid("propagationPolicy", quoted(api::to_string(*options.propagation)),
                                  "orphanDependents and deletionPropagation cannot be both set")}));
  ObjectPtr object = existing(context);
  if (object == nullptr) return absent(context);
  TRY_VOID(check_preconditions(context, *object));
  warn_of_orphans(context);
  return remove_one(context, std::move(object));
}

Store::Answer Store::remove_collection(Context& context) {
  const api::Request& request = context.request;
  TRY(api::Response found, list(context));
  api::Response response;
  response.resource_version = found.resource_version;
  warn_of_orphans(context);
  for (ObjectPtr& object : found.items) {
    if (request.list->limit > 0 &&
        static_cast<std::int64_t>(response.items.size()) == request.list->limit)
      break;
    const ContextScope of_this_object(loop_);
    TRY_VOID(remove_one(context, object));
    response.items.push_back(std::move(object));
  }
  return response;
}

Store::Answer Store::removed_answer(Context& context, const ObjectPtr& last) const {
  if (returns_object(context.kind)) return answer_of(last);
  Answer answer;
  answer->body = success_status(last);
  return answer;
}

Store::Answer Store::remove_one(Context& context, ObjectPtr object) {
  const api::DeleteOptions& options = *context.request.remove;
  const bool dry_run = context.request.dry_run;
  TRY_VOID(admit(AdmissionPhase::validating, context, api::Verb::remove, nullptr, object));
  if (&context.kind == &info_of<Namespace>()) return remove_namespace(context, object);

  Finalizers finalizers =
      finalizers_for(object->metadata, options, !context.kind.strategy.orphans_unasked.empty());
  const bool held = !finalizers.empty();
  ObjectPtr last = object;
  if (held || context.kind.strategy.grace_period != nullptr) {
    const std::shared_ptr<Object> marked = object->clone();
    const Grace grace = begin_grace(*marked, options, loop_.now());
    if (grace == Grace::pending) return answer_of(std::move(object));
    marked->metadata.finalizers = std::move(finalizers);
    if (grace == Grace::none && held) mark_as_deleting(marked->metadata, loop_.now());
    // A graceful deletion is visible even when it is over at once: watchers see it marked first.
    if (grace == Grace::marked || (held && !same_content(*marked, *object))) {
      if (!dry_run) commit(context, object, marked);
      last = marked;
    }
  }
  if (held || last->metadata.deletionGracePeriodSeconds.value_or(0) > 0)
    return answer_of(std::move(last));
  if (!dry_run) erase(context, last);
  return removed_answer(context, last);
}

// Namespaces have finalizers in their spec, and a phase.
Store::Answer Store::remove_namespace(Context& context, const ObjectPtr& object) {
  static constexpr std::string_view immortal[] = {"default", "kube-system", "kube-public"};
  const Text& name = object->metadata.name;
  if (std::find(std::begin(immortal), std::end(immortal), name) != std::end(immortal))
    return fail(forbidden_error(context.kind, name, "this namespace may not be deleted"));
  auto marked = std::static_pointer_cast<Namespace>(object->clone());
  marked->metadata.finalizers = finalizers_for(object->metadata, *context.request.remove);
  const bool held = !marked->spec.finalizers.empty() || !marked->metadata.finalizers.empty();
  if (!held) {
    if (!context.request.dry_run) erase(context, object);
    return removed_answer(context, object);
  }
  if (!marked->metadata.deletionTimestamp)
    marked->metadata.deletionTimestamp = loop_.now().floor_seconds();
  marked->status.phase = "Terminating";
  api::Response response;
  response.object = object;
  if (same_content(*marked, *object)) return response;
  response.object = marked;
  if (context.request.dry_run) return response;
  commit(context, object, marked);
  return response;
}

void Store::erase(Context& context, const ObjectPtr& last) {
  context.place = nullptr;
  take_out(context.rows, last, context.actor);
}

void Store::take_out(Table& rows, const ObjectPtr& last, std::string_view actor) {
  ++revision_;
  const KindInfo& kind = *rows.kind;
  if (&kind == &info_of<Pod>()) note_node(rows, last, nullptr);
  if (&kind == &info_of<Namespace>()) last_namespace_ = nullptr;
  const ObjectPtr taken = rows.objects.take(*last);
  DDPTWIN_ASSERT(taken == last);  // which the history goes by
  require_whole(last);
  Record record;
  record.kind = RecordKind::object_deleted;
  record.actor = actor;
  record.before = last;
  trace_.write(std::move(record));
  publish(rows, revision_, last, nullptr);
}

// Whoever asks for the kind finds what a server with leases has. No timer runs for them: a world in
// which nothing happens any more stands still. It is the clock's doing, and not of who asks.
void Store::end_leases(Table& rows) {
  auto& leases = *rows.leases;
  while (!leases.empty() && leases.front().first <= loop_.now()) {
    const ObjectPtr last = std::move(leases.front().second);
    leases.pop_front();
    const ContextScope of_nothing(loop_, 0);
    if (rows.objects.find(last->metadata.namespace_, last->metadata.name) == last)
      take_out(rows, last, "etcd");
  }
}

}  // namespace ddptwin
