// Create, update and patch: the stages that a new state of an object passes.
#include <boost/json.hpp>

#include "cluster/store/list_options.hpp"
#include "cluster/store/seals.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "core/numbers.hpp"
#include "core/same_text.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/managed_fields.hpp"
#include "objects/patch.hpp"
#include "objects/strategy.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

bool is_status(const api::Request& request) { return request.target.subresource == "status"sv; }

// An object that is being deleted and that nothing holds any longer. Namespaces are held by their
// spec.
bool should_vanish(const Object& object) {
  const ObjectMeta& meta = object.metadata;
  if (!meta.deletionTimestamp || !meta.finalizers.empty()) return false;
  const Namespace* space = as<Namespace>(object);
  if (space != nullptr && !space->spec.finalizers.empty()) return false;
  return meta.deletionGracePeriodSeconds.value_or(0) == 0;
}

// What etcd takes at once.
constexpr std::size_t stored_bytes_max = 1536 * 1024;

// Only what came as text is measured: a small text cannot make a large object, but a patch can.
bool may_be_measured(const api::Request& request) { return !request.write.untouched(); }
Status check_size(const api::Request& request, const Object& object) {
  const std::size_t sent = request.write->body_bytes;
  const bool may_be_large =
      sent > stored_bytes_max / 2 || (sent > 0 && request.verb == api::Verb::patch);
  if (!may_be_large || to_text(object).size() <= stored_bytes_max) return {};
  return fail(plain_error("etcdserver: request is too large"));
}

// Who owns what, but for when they wrote.
bool owned_alike(const Object& a, const Object& b) {
  const auto &x = a.metadata.rest->managedFields, &y = b.metadata.rest->managedFields;
  return x.same_as(y) || same_managers(*x, *y);
}

const Type& table_type(const KindInfo& kind) {
  return kind.type != nullptr ? kind.type() : GenericObject::type();
}

// What a write of /status may change beside the status: labels, annotations and finalizers of
// built-in kinds, nothing of custom ones (spec/kubernetes.md section 1.5).
void keep_all_but_status(Object& object, const Object& old) {
  // All members, so that one that is added does not compile until it is kept or not; what was sent
  // of the version and the uid is compared later.
  auto& [name, namespace_, uid, version, generation, created, deleted, grace, labels, annotations,
         owners, finalizers, rest] = object.metadata;
  const ObjectMeta& kept = old.metadata;
  if (!same_text(name, kept.name)) name = kept.name;
  if (!same_text(namespace_, kept.namespace_)) namespace_ = kept.namespace_;
  generation = kept.generation;
  created = kept.creationTimestamp;
  deleted = kept.deletionTimestamp;
  grace = kept.deletionGracePeriodSeconds;
  owners = kept.ownerReferences;
  rest = kept.rest;
  if (old.kind().custom) {
    labels = kept.labels;
    annotations = kept.annotations;
    finalizers = kept.finalizers;
  }
  copy_spec(object, old);
}

}  // namespace

void Store::warn_of_doubled_owners(Context& context, Object& object) {
  if (object.metadata.ownerReferences->size() < 2) return;
  if (std::string warning = merge_owner_references(object.metadata); !warning.empty())
    context.remark().warnings.push_back(std::move(warning));
}

// Defaults. A controller gives all workers of a job the same init containers, to wait for the
// master with: what becomes of them is kept once, too, where the same becomes of them. What becomes
// of the rest follows from it alone.
void Store::fill_in(const KindInfo& kind, Object& object) {
  if (kind.strategy.defaults == nullptr) return;
  if (&kind != &info_of<Pod>()) return kind.strategy.defaults(object);
  Pod& pod = static_cast<Pod&>(object);
  const Cow<std::vector<Container>> asked = pod.spec->initContainers;
  const Cow<PodSpec::Rest> asked_rest = pod.spec->rest;
  if (!rest_made_.untouched() && asked_rest.same_as(rest_asked_)) pod.spec.edit().rest = rest_made_;
  kind.strategy.defaults(object);
  rest_asked_ = asked_rest;
  rest_made_ = pod.spec->rest;
  if (asked.empty()) return;
  const auto& made = pod.spec->initContainers;
  if (asked.same_as(init_asked_) &&
      equal(type_of<std::vector<Container>>(), &*made, &*init_made_)) {
    pod.spec.edit().initContainers = init_made_;
  } else {
    init_asked_ = asked;
    init_made_ = made;
  }
}

Store::Answer Store::insert(Context& context, std::shared_ptr<Object> object) {
  const KindInfo& kind = context.kind;
  const bool dry_run = context.request.dry_run;
  TRY_VOID(check_create_namespace(context, object->metadata.name));
  fill_new(*object);
  warn_of_doubled_owners(context, *object);
  if (kind.custom && kind.status) clear_field(*object, "status");
  fill_in(kind, *object);
  note_managers_of_new(context, *object);
  TRY_VOID(admit(AdmissionPhase::mutating, context, api::Verb::create, object, nullptr));
  if (kind.custom && hears(AdmissionPhase::mutating, context, api::Verb::create))
    judge_again(context, *object, nullptr);
  if (kind.strategy.prepare_create != nullptr) kind.strategy.prepare_create(*object);
  ErrorList causes = validate_metadata(*object, kind.strategy.name_rule);
  context.take_definition_errors(causes);
  if (kind.strategy.validate != nullptr) append(causes, kind.strategy.validate(*object));
  if (!causes.empty()) return fail(invalid_error(kind, object->metadata.name, std::move(causes)));
  if (kind.strategy.warnings != nullptr) context.warn(kind.strategy.warnings(*object));
  TRY_VOID(admit(AdmissionPhase::validating, context, api::Verb::create, object, nullptr));

  const ObjectMeta& meta = object->metadata;
  Status fits;  // said only of a name that is free
  if (may_be_measured(context.request)) fits = check_size(context.request, *object);
  const bool stores = fits && !dry_run;
  if (stores) context.place = &context.rows.objects.place_for(*object);
  if (const ObjectPtr& there = stores ? *context.place : context.rows.objects.find(*object)) {
    Error error = already_exists_error(kind, meta.name);
    if (there->metadata.deletionTimestamp)
      error.message = "object is being deleted: " + error.message;
    if (!meta.rest->generateName.empty()) {
      auto details = std::make_shared<ErrorDetails>(*error.details);
      details->retry_after_seconds = 1;
      error.details = std::move(details);
      error.message += ", the server was not able to generate a unique name for the object";
    }
    return fail(std::move(error));
  }
  if (!fits) return tl::make_unexpected(fits.error());
  if (stores) commit(context, nullptr, object);
  return answer_of(std::move(object), 201);
}

Status Store::check_name(const Context& context, const Object& object) {
  const Text &sent = object.metadata.name, &wanted = context.request.target.name;
  if (sent.empty())
    return fail(Reason::bad_request,
                "the name of the object (" + wanted +
                    " based on URL) was undeterminable: name must be provided");
  if (!same_text(sent, wanted))
    return fail(Reason::bad_request, "the name of the object (" + sent +
                                         ") does not match the name on the URL (" + wanted + ")");
  return {};
}

Store::Answer Store::update(Context& context) {
  const ObjectPtr old = existing(context);
  if (old == nullptr) return absent(context);
  TRY(auto object, body_of(context, old.get()));
  TRY_VOID(check_namespace(context, *object));
  const api::Target& target = context.request.target;
  TRY_VOID(check_name(context, *object));
  if (!object->metadata.uid.empty() && !same_text(object->metadata.uid, old->metadata.uid))
    return fail(wrong_uid_error(context.kind, old->metadata, object->metadata.uid));
  const Text& version = object->metadata.resourceVersion;
  if (context.kind.custom && (version.empty() || version == "0")) {
    // Said of the resource: the storage refuses it, not the validation of the kind.
    KindInfo resource;
    resource.group = context.kind.group;
    resource.kind = context.kind.plural;
    return fail(invalid_error(
        resource, target.name,
        {invalid("metadata.resourceVersion", "0", "must be specified for an update")}));
  }
  return replace(context, old, std::move(object));
}

Result<Json> Store::patched(Context& context, const Object& old) const {
  const api::Request& request = context.request;
  if (request.body.get() == nullptr) return fail(Reason::bad_request, "the patch has no body");
  const Json& body = *request.body.get();
  switch (request.patch_type) {
    case api::PatchType::json:
      return apply_json_patch(encode(old), body);
    case api::PatchType::merge:
      return apply_merge_patch(encode(old), body);
    case api::PatchType::strategic:
      if (!context.kind.custom)
        return apply_strategic_patch(table_type(context.kind), encode(old), body);
      return fail(Reason::unsupported_media_type,
                  "the body of the request was in an unknown format - accepted media types "
                  "include: application/json-patch+json, application/merge-patch+json, "
                  "application/apply-patch+yaml");
    case api::PatchType::apply:
      break;  // not a patch of what is there alone
  }
  return fail(Reason::unsupported_media_type, "415: Unsupported Media Type");
}

// What the patch makes of the object. Its author may know, and may go on looking at it: a hook of
// admission changes a copy.
Result<std::shared_ptr<Object>> Store::after_patch(Context& context, const ObjectPtr& old) const {
  const api::Request& request = context.request;
  if (request.patched)
    if (std::shared_ptr<Object> told = request.patched(old))
      return hears(AdmissionPhase::mutating, context, api::Verb::update) ? told->clone() : told;
  TRY(Json json, patched(context, *old));
  return decode_checked(context, std::move(json), old.get(), true);
}

Store::Answer Store::patch(Context& context) {
  if (context.request.patch_type == api::PatchType::apply) return apply(context);
  const ObjectPtr old = existing(context);
  if (old == nullptr) return absent(context);
  TRY(std::shared_ptr<Object> object, after_patch(context, old));
  TRY_VOID(check_namespace(context, *object));
  TRY_VOID(check_name(context, *object));
  return replace(context, old, std::move(object));
}

Status Store::prepare(Context& context, Object& object, const Object& old) const {
  const Strategy& strategy = context.kind.strategy;
  const Text& version = object.metadata.resourceVersion;
  const bool is_of_old = same_text(version, old.metadata.resourceVersion);
  if (!is_of_old && !version.empty() && version != "0") {
    if (const auto number = go_integer<std::uint64_t>(version); !number)
      return fail(plain_error(
          fmt::format("strconv.ParseUint: parsing {}: {}", quoted(version), number.error())));
    return fail(modified_error(context.kind, old.metadata.name));
  }
  keep_system_metadata(object.metadata, old.metadata);
  if (!is_of_old) object.metadata.resourceVersion = old.metadata.resourceVersion;
  if (is_status(context.request)) {
    if (strategy.prepare_status_update != nullptr) strategy.prepare_status_update(object, old);
    return {};
  }
  if (context.kind.status) copy_field(object, old, "status");
  if (strategy.prepare_update != nullptr) strategy.prepare_update(object, old);
  advance_generation(object, old);
  return {};
}

Status Store::validate_update(Context& context, const Object& object, const Object& old) const {
  const Strategy& strategy = context.kind.strategy;
  ErrorList causes = validate_metadata_update(object, old);
  // Upstream's storage looks at the metadata, and then each kind's validation does once more.
  append(causes, ErrorList(causes));
  context.take_definition_errors(causes);
  if (is_status(context.request)) {
    if (strategy.validate_status_update != nullptr)
      append(causes, strategy.validate_status_update(object, old));
  } else {
    if (strategy.validate_update != nullptr) append(causes, strategy.validate_update(object, old));
  }
  if (!causes.empty())
    return fail(invalid_error(context.kind, old.metadata.name, std::move(causes)));
  if (strategy.warnings != nullptr && !is_status(context.request))
    context.warn(strategy.warnings(object));
  return {};
}

Store::Answer Store::replace(Context& context, const ObjectPtr& old,
                             std::shared_ptr<Object> object) {
  const KindInfo& kind = context.kind;
  const bool dry_run = context.request.dry_run;
  const bool status = is_status(context.request);
  if (status) keep_all_but_status(*object, *old);
  const auto defaults = status ? kind.strategy.status_defaults : kind.strategy.defaults;
  if (defaults != nullptr) defaults(*object);
  TRY_VOID(prepare(context, *object, *old));
  if (!object->metadata.ownerReferences.same_as(old->metadata.ownerReferences))
    warn_of_doubled_owners(context, *object);
  note_managers(context, *object, old);
  TRY_VOID(admit(AdmissionPhase::mutating, context, api::Verb::update, object, old));
  if (kind.custom && hears(AdmissionPhase::mutating, context, api::Verb::update))
    judge_again(context, *object, old.get());
  TRY_VOID(validate_update(context, *object, *old));
  TRY_VOID(admit(AdmissionPhase::validating, context, api::Verb::update, object, old));

  if (should_vanish(*object)) {
    if (!dry_run) erase(context, old);
    return answer_of(std::move(object));
  }
  if (same_content(*object, *old) && owned_alike(*object, *old)) return answer_of(old);
  if (may_be_measured(context.request)) TRY_VOID(check_size(context.request, *object));
  if (!dry_run) commit(context, old, object);
  return answer_of(std::move(object));
}

// `after` becomes the next revision.
void Store::commit(Context& context, const ObjectPtr& before,
                   const std::shared_ptr<Object>& after) {
  Table& rows = context.rows;
  const KindInfo& kind = context.kind;
  set_version(after->metadata, ++revision_);
  if (before != nullptr) {  // a write names its object as before
    after->key_hash = before->key_hash;
    after->likely_slot = before->likely_slot;
  }
  ObjectPtr& stored = context.place != nullptr ? *context.place : rows.objects.place_for(*after);
  DDPTWIN_ASSERT(stored == before);  // which the history goes by
  require_whole(before);
  if (seals_ != nullptr) seals_->put_on(*after);
  stored = after;
  if (&kind == &info_of<Pod>()) note_node(rows, before, stored);
  if (kind.strategy.time_to_live > Duration::zero()) {
    if (rows.leases == nullptr) rows.leases = std::make_unique<Leases>();
    rows.leases->emplace_back(loop_.now() + kind.strategy.time_to_live, stored);
  }
  trace_.write({.kind = before == nullptr ? RecordKind::object_added : RecordKind::object_modified,
                .actor = context.actor,
                .before = before,
                .after = stored});
  publish(rows, revision_, before, stored);
  if (context.remarks != nullptr && context.remarks->is_unmanaged)
    unmanaged_.emplace(stored->metadata.uid.view());
  if (history_.empty()) return;
  Change& change = history_.back();
  change.actor = context.actor;
  change.when = loop_.now();
  change.of_status = is_status(context.request);
}

}  // namespace ddptwin
