#include "cluster/store/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "cluster/store/pod_security.hpp"
#include "cluster/store/seals.hpp"
#include "cluster/store/store_errors.hpp"
#include "core/concat.hpp"
#include "core/same_text.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/strategy.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

constexpr std::string_view name_alphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t generated_suffix = 5;
constexpr std::size_t generated_base = 58;  // of at most 63 characters

// "delete pods default/a"
ShortText subject_of(const api::Request& request) {
  const Text& space = request.target.namespace_;
  const KindInfo& kind = *request.target.kind;
  return ShortText({api::to_string(request.verb), " ", kind.plural, kind.group.empty() ? "" : ".",
                    kind.group, " ", space, space.empty() ? "" : "/", name_of(request)});
}

// What every call about a kind is warned of, since the release that is followed (spec/kubernetes.md
// §5).
struct DeprecationRow {
  std::string_view group, kind, text;
};
constexpr std::array deprecations{
    DeprecationRow{"", "Endpoints",
                   "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}};

// Empty: of nothing.
std::string_view deprecation_of(const KindInfo& kind) {
  for (const DeprecationRow& row : deprecations)
    if (row.kind == kind.kind && row.group == kind.group) return row.text;
  return {};
}

// Precondition: an even number of digits; two are written at a time.
void write_hex(char* to, int digits, std::uint64_t value) {
  static constexpr std::array<std::array<char, 2>, 256> pairs = [] {
    std::array<std::array<char, 2>, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i)
      table[i] = {"0123456789abcdef"[i / 16], "0123456789abcdef"[i % 16]};
    return table;
  }();
  for (; digits > 0; value >>= 8) {
    digits -= 2;
    std::copy_n(pairs[value & 255].data(), 2, to + digits);
  }
}

}  // namespace

Store::Store(Loop& loop, Random random, Trace& trace, KindRegistry& kinds, Options options)
    : loop_(loop), random_(random), trace_(trace), kinds_(kinds), options_(options) {
  add_default_admission(*this);
  add_pod_security(*this);
  if (!options_.system_namespaces) return;
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    auto object = std::make_shared<Namespace>();
    object->metadata.name = name;
    const ContextScope of_this_namespace(loop_);
    const auto made = call(api::create(std::move(object)), "kube-apiserver");
    DDPTWIN_ASSERT(made.has_value());
  }
}

Store::~Store() {
  if (seals_ == nullptr) return;
  for (const auto& rows : tables_)
    for (const auto& [key, stored] : rows->objects) require_whole(stored);
  while (!history_.empty()) forget_first_change();
}

void Store::seal() {
  seals_ = std::make_unique<Seals>();
  for (const auto& rows : tables_)
    for (const auto& [key, stored] : rows->objects) seals_->put_on(*stored);
}

void Store::require_whole(const ObjectPtr& published) const {
  if (seals_ != nullptr && published != nullptr) seals_->require_whole(*published);
}

// Nobody hears any more of what was before it: what the store knows of that state goes with it.
void Store::forget_first_change() {
  const ObjectPtr& before = history_.front().before;
  require_whole(before);
  if (seals_ != nullptr && before != nullptr) seals_->break_off(*before);
  history_.pop_front();
}

void Store::add_admission(AdmissionPhase phase, AdmissionHook hook, const KindInfo* kind,
                          std::optional<api::Verb> verb) {
  auto& all = phase == AdmissionPhase::mutating ? mutating_ : validating_;
  all.push_back({std::move(hook), kind, verb});
  for (const auto& rows : tables_)
    if (kind == nullptr || kind == rows->kind.get())
      rows->heard[static_cast<std::size_t>(phase)] |= all.back().verbs();
}

const std::vector<Store::Admission>& Store::hooks(AdmissionPhase phase) const {
  return phase == AdmissionPhase::mutating ? mutating_ : validating_;
}

Store::Table& Store::add_table(const KindInfo& kind) const {
  auto at = std::find_if(tables_.begin(), tables_.end(), [&](const auto& rows) {
    return rows->kind->kind == kind.kind && rows->kind->group == kind.group;
  });
  if (at == tables_.end()) at = tables_.insert(at, std::make_unique<Table>());
  const std::unique_ptr<Table>& slot = *at;
  slot->kind = kinds_.share(kind);
  slot->deprecation = deprecation_of(kind);
  for (const AdmissionPhase phase : {AdmissionPhase::mutating, AdmissionPhase::validating})
    for (const Admission& one : hooks(phase))
      if (one.kind == nullptr || one.kind == &kind)
        slot->heard[static_cast<std::size_t>(phase)] |= one.verbs();
  table_of_.emplace_back(&kind, slot.get());
  return *slot;
}

ObjectPtr Store::find(const KindInfo& kind, std::string_view namespace_,
                      std::string_view name) const {
  return table(kind).objects.find(namespace_, name);
}

const ObjectMap& Store::objects(const KindInfo& kind) const { return table(kind).objects; }

Result<api::Response> Store::call(const api::Request& request, std::string_view actor) {
  return carry_out(request, actor, false);
}

Result<api::Response> Store::call(api::Request&& request, std::string_view actor) {
  return carry_out(request, actor, true);
}

Store::Answer Store::carry_out(const api::Request& request, std::string_view actor,
                               bool is_last_use) {
  DDPTWIN_ASSERT(request.target.kind != nullptr);
  Table& rows = table(*request.target.kind);
  drop_expired(rows);
  Context context{request, *rows.kind, rows, actor, is_last_use};
  Answer answer = dispatch(context);
  if (context.remarks != nullptr || !rows.deprecation.empty()) {
    // Told beside a refusal, too: they go out in headers.
    std::vector<std::string>& told = answer ? answer->warnings : answer.error().warnings;
    if (!rows.deprecation.empty()) told.emplace(told.begin(), rows.deprecation);
    if (context.remarks != nullptr) {
      std::vector<std::string>& warnings = context.remarks->warnings;
      told.insert(told.begin(), std::make_move_iterator(warnings.begin()),
                  std::make_move_iterator(warnings.end()));
    }
  }
  if (!answer) {
    Record record;
    record.kind = RecordKind::api_refused;
    record.actor = actor;
    const ShortText subject = subject_of(request);
    const std::string text = answer.error().text();
    record.subject = subject.view();
    record.text = text;
    record.values.emplace_back("reason", to_string(answer.error().reason));
    trace_.write(std::move(record));
    return answer;
  }
  return answer;
}

Store::Answer Store::dispatch(Context& context) {
  using Handler = Answer (Store::*)(Context&);
  static constexpr std::array<Handler, 7> handlers{
      &Store::create,           &Store::get,   &Store::list,
      &Store::update,           &Store::patch, &Store::remove,
      &Store::remove_collection};
  const api::Target& target = context.request.target;
  // status is the main resource with other rights: the same stages treat it.
  if (!target.subresource.empty() && !(target.subresource == "status"sv && context.kind.status))
    return call_subresource(context);
  if (!target.subresource.empty() && context.request.verb == api::Verb::create)
    return fail(method_not_allowed_error());
  return (this->*handlers[static_cast<std::size_t>(context.request.verb)])(context);
}

Store::Answer Store::answer_of(ObjectPtr object, int code) {
  Answer answer;
  answer->code = code;
  answer->object = std::move(object);
  return answer;
}

Status Store::check_namespace(const Context& context, Object& object) const {
  const Text& wanted = context.request.target.namespace_;
  if (!context.kind.namespaced) {
    object.metadata.namespace_ = {};
    return {};
  }
  if (object.metadata.namespace_.empty()) object.metadata.namespace_ = wanted;
  if (!same_text(object.metadata.namespace_, wanted))
    return fail(Reason::bad_request,
                "the namespace of the provided object does not match the namespace sent on the "
                "request");
  return {};
}

// RFC 4122 version 4: 8-4-4-4-12 hexadecimal digits.
SharedText Store::new_uid() {
  const std::uint64_t a = random_.next(), b = random_.next();
  std::array<char, 36> uid;
  uid.fill('-');
  write_hex(&uid[0], 8, a >> 32);
  write_hex(&uid[9], 4, (a >> 16) & 0xffff);
  write_hex(&uid[14], 4, 0x4000 | (a & 0xfff));
  write_hex(&uid[19], 4, 0x8000 | ((b >> 48) & 0x3fff));
  write_hex(&uid[24], 12, b & 0xffffffffffff);
  return std::string_view(uid.data(), uid.size());
}

std::string Store::generated_name(std::string_view base) {
  std::string name(base.substr(0, generated_base));
  for (std::size_t i = 0; i < generated_suffix; ++i)
    name += name_alphabet[random_.below(name_alphabet.size())];
  return name;
}

void Store::fill_new(Object& object) {
  ObjectMeta& meta = object.metadata;
  if (meta.name.empty() && !meta.rest->generateName.empty())
    meta.name = generated_name(meta.rest->generateName);
  meta.uid = new_uid();
  meta.resourceVersion = {};
  meta.creationTimestamp = loop_.now().floor_seconds();
  meta.deletionTimestamp.reset();
  meta.deletionGracePeriodSeconds.reset();
  if (!meta.rest->selfLink.empty() || !meta.rest->managedFields.empty()) {
    meta.rest.edit().selfLink = {};
    meta.rest.edit().managedFields = {};
  }
  if (tracks_generation(object.kind())) meta.generation = 1;
}

Status Store::ask_hooks(AdmissionPhase phase, Context& context, api::Verb verb,
                        const std::shared_ptr<Object>& object, const ObjectPtr& old) const {
  const api::Target& target = context.request.target;
  const AdmissionRequest request{
      verb,
      context.kind,
      std::string_view(verb == api::Verb::update ? target.subresource : api::Subresource()),
      object,
      old,
      context.actor,
      context.request.dry_run,
      loop_.now()};
  for (const Admission& one : hooks(phase)) {
    if ((one.kind != nullptr && one.kind != &request.kind) || (one.verbs() & bit(verb)) == 0)
      continue;
    TRY(auto warnings, one.hook(request));
    context.warn(std::move(warnings));
  }
  return {};
}

// Most requests are of the namespace that the one before was of.
const Namespace* Store::find_namespace(std::string_view name) const {
  if (last_namespace_ == nullptr || !same_text((*last_namespace_)->metadata.name, name))
    last_namespace_ = table(info_of<Namespace>()).objects.place({}, name);
  return last_namespace_ != nullptr ? static_cast<const Namespace*>(last_namespace_->get())
                                    : nullptr;
}

// NamespaceLifecycle admission: nothing new where there is no namespace or where it ends.
Status Store::check_create_namespace(const Context& context, std::string_view object_name) const {
  if (!context.kind.namespaced) return {};
  const Text& name = context.request.target.namespace_;
  const Namespace* found = find_namespace(name);
  if (found == nullptr) return fail(not_found_error(Namespace::info(), name));
  if (found->status.phase != "Terminating"sv && !found->metadata.deletionTimestamp) return {};
  Error error = forbidden_error(
      context.kind, object_name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  name));
  auto details = std::make_shared<ErrorDetails>(*error.details);
  details->causes = {{"NamespaceTerminating", fmt::format("namespace {} is being terminated", name),
                      "metadata.namespace"}};
  error.details = std::move(details);
  return fail(std::move(error));
}

Store::Answer Store::create(Context& context) {
  TRY(auto object, body_of(context, nullptr));
  TRY_VOID(check_namespace(context, *object));
  const Text& version = object->metadata.resourceVersion;
  if (!version.empty() && version != "0")
    return fail(plain_error("resourceVersion should not be set on objects to be created"));
  return insert(context, std::move(object));
}

ObjectPtr Store::existing(Context& context) {
  const api::Target& target = context.request.target;
  context.place = context.rows.objects.place(target.namespace_, target.name);
  return context.place != nullptr ? *context.place : nullptr;
}

tl::unexpected<Error> Store::absent(const Context& context) {
  return fail(not_found_error(context.kind, context.request.target.name));
}

}  // namespace ddptwin
