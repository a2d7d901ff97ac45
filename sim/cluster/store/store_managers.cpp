// Server-side apply, and who owns which field after the other writes (spec/kubernetes.md
// section 1.7).
#include <fmt/format.h>

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"
#include "objects/managed_fields.hpp"
#include "objects/structured_merge.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

namespace json = boost::json;

// The manager that upstream gives all that was there before anybody was noted.
constexpr std::string_view before_first_apply = "before-first-apply";

// Who the trace calls by another name than a client of a real cluster has.
struct ManagerRow {
  std::string_view actor, manager;
};
constexpr std::array manager_names{ManagerRow{"user", "kubectl"}};

std::string_view manager_of_actor(std::string_view actor) {
  for (const ManagerRow& row : manager_names)
    if (row.actor == actor) return row.manager;
  return actor;
}

Json without_managers(const Object& object) {
  Json out = encode(object);
  if (Json* metadata = out.get_object().if_contains("metadata"))
    metadata->get_object().erase("managedFields");
  return out;
}

FieldWriter writer_of(const KindInfo& kind, std::string_view name, std::string_view subresource,
                      bool applies = false) {
  return {std::string(name), applies, kind.api_version(), std::string(subresource)};
}

FieldWriter writer_of(const api::Request& request, std::string_view actor, bool applies = false) {
  const std::string& said = request.write->field_manager;
  return writer_of(*request.target.kind, said.empty() ? manager_of_actor(actor) : said,
                   request.target.subresource, applies);
}

// What a write to that path leaves as it is: upstream's reset fields.
FieldSet left_alone(const KindInfo& kind, std::string_view subresource, const Json& object) {
  FieldSet out;
  const auto add = [&](std::string_view name) { out.insert({PathElement::field(name)}); };
  if (subresource != "status") {
    if (kind.status && subresource.empty()) add("status");
  } else if (kind.custom) {
    for (const auto& member : object.get_object())
      if (member.key() != "status") add(member.key());
  } else {
    add("spec");
    for (const auto name : {"deletionTimestamp"sv, "ownerReferences"sv})
      out.insert({PathElement::field("metadata"), PathElement::field(name)});
  }
  return out;
}

// "apps/v1, Kind=StatefulSet" and "/v1, Kind=Pod", as Go prints a GroupVersionKind.
std::string shown_kind(std::string_view api_version, std::string_view kind) {
  const bool has_group = api_version.find('/') != std::string_view::npos;
  return fmt::format("{}{}, Kind={}", has_group ? "" : "/", api_version, kind);
}

Status check_applied(const KindInfo& kind, const Json& applied) {
  if (!applied.is_object())
    return fail(Reason::bad_request,
                "error decoding YAML: error unmarshaling JSON: the configuration is no object");
  const json::object& body = applied.get_object();
  const std::string api_version = text_member(body, "apiVersion"), said = text_member(body, "kind");
  if (api_version != kind.api_version() || said != kind.kind)
    return fail(Reason::bad_request, "invalid object type: " + shown_kind(api_version, said));
  const Json* metadata = body.if_contains("metadata");
  const json::object* members = metadata != nullptr ? metadata->if_object() : nullptr;
  const Json* managers = members != nullptr ? members->if_contains("managedFields") : nullptr;
  if (managers != nullptr && !managers->is_null())
    return fail(Reason::bad_request, "metadata.managedFields must be nil");
  return {};
}

Status check_types(const KindInfo& kind, const MergeType& type, const Json& applied) {
  const auto errors = type_errors(type, applied);
  if (errors.empty()) return {};
  const json::object& body = applied.get_object();
  const Json* metadata = body.if_contains("metadata");
  static const json::object nothing;
  const json::object& members =
      metadata != nullptr && metadata->is_object() ? metadata->get_object() : nothing;
  const std::string what =
      errors.size() == 1 ? errors.front() : fmt::format("errors:\n  {}", fmt::join(errors, "\n  "));
  return fail(plain_error(fmt::format(
      "failed to create typed patch object ({}/{}; {}): {}", text_member(members, "namespace"),
      text_member(members, "name"), shown_kind(kind.api_version(), kind.kind), what)));
}

}  // namespace

void Store::set_managers(Context& context, Object& object,
                         std::vector<ManagedFieldsEntry> entries) {
  context.remark().is_unmanaged = entries.empty();
  if (entries.empty() && object.metadata.rest->managedFields.empty()) return;
  Cow<std::vector<ManagedFieldsEntry>>& managers = object.metadata.rest.edit().managedFields;
  managers = {};
  if (!entries.empty()) managers = std::move(entries);
}

// What a new object is compared with: a custom kind's has nothing, a built-in one's the members
// that its structures always have.
Json Store::nothing_of(const KindInfo& kind) const {
  if (kind.custom) return json::object{{"apiVersion", kind.api_version()}, {"kind", kind.kind}};
  return without_managers(*kinds_.make(kind));
}

// The writes of the object that the history remembers, in their order. What it had before them is
// nobody's in particular.
Store::FieldManagers Store::managers_by_history(const Context& context,
                                                const ObjectPtr& stored) const {
  std::vector<const Change*> changes;
  const Object* at = stored.get();
  for (auto change = history_.rbegin(); at != nullptr && change != history_.rend(); ++change) {
    if (change->table != &context.rows || change->after != at) continue;
    changes.push_back(&*change);
    at = change->before.get();
  }
  const KindInfo& kind = context.kind;
  const MergeType type = MergeType::of(kind, schema_of(kind));
  FieldManagers out;
  Json before = nothing_of(kind);
  const auto note = [&](const FieldWriter& writer, Time now, Json after) {
    note_update({type, writer, now, left_alone(kind, writer.subresource, after)}, before, after,
                out);
    before = std::move(after);
  };
  if (at != nullptr)
    note(writer_of(kind, before_first_apply, {}), at->metadata.creationTimestamp.value_or(Time()),
         without_managers(*at));
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto next = std::next(change);
    const Object& after = next != changes.rend() ? *(*next)->before : *stored;
    note(writer_of(kind, manager_of_actor((*change)->actor), (*change)->of_status ? "status" : ""),
         (*change)->when.floor_seconds(), without_managers(after));
  }
  return out;
}

Store::FieldManagers Store::managers_of(const Context& context, const ObjectPtr& stored) const {
  const ObjectMeta::Rest& rest = *stored->metadata.rest;
  if (rest.managedFields.empty())
    return unmanaged_.contains(stored->metadata.uid.view()) ? FieldManagers()
                                                            : managers_by_history(context, stored);
  return read_managers(*rest.managedFields).value_or(FieldManagers());
}

void Store::note_managers_of_new(Context& context, Object& object) const {
  if (context.remarks != nullptr && context.remarks->managers)
    return set_managers(context, object, *std::move(context.remarks->managers));
  if (!names_manager(context)) return;
  const Json after = without_managers(object);
  const FieldWriter writer = writer_of(context.request, context.actor);
  FieldManagers managers;
  const MergeType type = MergeType::of(context.kind, schema_of(context.kind));
  note_update({type, writer, loop_.now().floor_seconds(), left_alone(context.kind, {}, after)},
              nothing_of(context.kind), after, managers);
  set_managers(context, object, entries_of(managers));
}

// An object that has nobody noted gets nobody: so upstream, where its managers were reset.
void Store::note_managers_of_known(Context& context, Object& object, const ObjectPtr& old) const {
  if (context.remarks != nullptr && context.remarks->managers)
    return set_managers(context, object, *std::move(context.remarks->managers));
  const ObjectMeta::Rest &sent = *object.metadata.rest, &stored = *old->metadata.rest;
  const bool is_noted = !stored.managedFields.empty() || names_manager(context);
  const bool may_set = context.request.target.subresource.empty();
  const bool resets = (context.remarks != nullptr && context.remarks->resets_managers) ||
                      resets_managers(*sent.managedFields);
  if (may_set && resets) return set_managers(context, object, {});
  const bool replaces =
      may_set && !sent.managedFields.empty() && !sent.managedFields.same_as(stored.managedFields);
  if (!is_noted && !replaces) return;
  std::optional<FieldManagers> managers;
  if (replaces) managers = read_managers(*sent.managedFields);
  if (!managers || managers->empty()) managers = managers_of(context, old);
  if (!managers->empty()) {
    const Json after = without_managers(object);
    const FieldWriter writer = writer_of(context.request, context.actor);
    const MergeType type = MergeType::of(context.kind, schema_of(context.kind));
    note_update({type, writer, loop_.now().floor_seconds(),
                 left_alone(context.kind, writer.subresource, after)},
                without_managers(*old), after, *managers);
  }
  set_managers(context, object, entries_of(*managers));
}

Store::Answer Store::apply(Context& context) {
  const api::Request& request = context.request;
  const KindInfo& kind = context.kind;
  if (request.body.get() == nullptr) return fail(Reason::bad_request, "the patch has no body");
  Json applied = *request.body.get();
  TRY_VOID(check_applied(kind, applied));
  const MergeType type = MergeType::of(kind, schema_of(kind));
  TRY_VOID(check_types(kind, type, applied));
  const ObjectPtr old = existing(context);
  if (old == nullptr && !request.target.subresource.empty()) return absent(context);
  // Of an object that it makes, the version says nothing.
  if (Json* metadata = applied.get_object().if_contains("metadata");
      old == nullptr && metadata != nullptr && metadata->is_object())
    metadata->get_object().erase("resourceVersion");

  const Json live = old != nullptr ? without_managers(*old) : nothing_of(kind);
  const FieldWriter writer = writer_of(request, context.actor, true);
  const Time now = loop_.now().floor_seconds();
  FieldManagers managers;
  if (old != nullptr) managers = managers_of(context, old);
  if (old != nullptr && managers.empty()) {
    const FieldWriter earlier = writer_of(kind, before_first_apply, request.target.subresource);
    note_update({type, earlier, now, left_alone(kind, earlier.subresource, live)}, nothing_of(kind),
                live, managers);
  }
  const FieldSet kept = left_alone(kind, writer.subresource, live)
                            .united(left_alone(kind, writer.subresource, applied));
  TRY(std::optional<Json> changed,
      apply_configuration({type, writer, now, kept}, live, applied, request.force, managers));
  context.remark().managers = entries_of(managers);

  std::shared_ptr<Object> object;
  if (changed || old == nullptr) {
    TRY(object, decode_checked(context, changed ? *std::move(changed) : live, old.get(), false));
  } else {
    object = old->clone();
  }
  TRY_VOID(check_namespace(context, *object));
  TRY_VOID(check_name(context, *object));
  return old != nullptr ? replace(context, old, std::move(object))
                        : insert(context, std::move(object));
}

}  // namespace ddptwin
