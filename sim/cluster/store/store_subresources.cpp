// scale, pods/binding, namespaces/finalize (spec/kubernetes.md sections 1.1 and 8.5).
// pods/eviction: store_eviction.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/path.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/patch.hpp"
#include "objects/scale.hpp"
#include "objects/strategy.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

void set_path(Json& object, std::string_view path, Json value) {
  Json* at = &object;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t dot = path.find('.');
    if (!at->is_object()) *at = json::object();
    at = &at->get_object()[path.substr(0, dot)];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  *at = std::move(value);
}

std::int64_t integer(const Json* value) {
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

// The text there, or none.
std::string_view text_at(const Json& object, std::string_view path) {
  const Json* value = value_at(object, path);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

// What a Binding says, typed or as JSON.
struct BindingView {
  std::string_view uid, node;

  static BindingView of(const Binding& binding) {
    return {binding.metadata.uid, binding.target.name};
  }
  static BindingView of(const Json& body) {
    return {text_at(body, ".metadata.uid"), text_at(body, ".target.name")};
  }
};

Error invalid_scale(const Object& object, std::int64_t replicas) {
  static const KindInfo scale_kind{.group = "autoscaling", .version = "v1", .kind = "Scale"};
  return invalid_error(
      scale_kind, object.metadata.name,
      {invalid("spec.replicas", std::to_string(replicas), "must be greater than or equal to 0")});
}

}  // namespace

Store::Answer Store::call_subresource(Context& context) {
  struct Row {
    std::string_view name;
    const KindInfo* kind;  // null: every kind that says where its scale is
    Answer (Store::*handle)(Context&);
  };
  static const std::array rows{
      Row{"scale", nullptr, &Store::scale},
      Row{"binding", &Pod::info(), &Store::bind},
      Row{"eviction", &Pod::info(), &Store::evict},
      Row{"finalize", &Namespace::info(), &Store::finalize_namespace},
  };
  for (const Row& row : rows)
    if (row.name == context.request.target.subresource &&
        (row.kind == nullptr ? context.kind.scale.has_value() : row.kind == &context.kind))
      return (this->*row.handle)(context);
  return fail(resource_not_found_error());
}

Store::Answer Store::scale(Context& context) {
  const api::Request& request = context.request;
  const ObjectPtr old = existing(context);
  if (old == nullptr) return absent(context);
  const Json before = scale_body(*old);
  api::Response response;
  if (request.verb == api::Verb::get) {
    const std::string& path = context.kind.scale->spec_replicas;
    if (context.kind.custom && value_at(encode(*old), path) == nullptr)
      return fail(
          Reason::internal_error,
          fmt::format("Internal error occurred: the spec replicas field \"{}\" does not exist",
                      path));
    response.body = RawJson(before);
    return response;
  }
  if (request.body.get() == nullptr) return fail(Reason::bad_request, "the request has no body");
  Json wanted;
  if (request.verb == api::Verb::update) {
    wanted = *request.body.get();
  } else if (request.verb == api::Verb::patch) {
    if (request.patch_type == api::PatchType::apply)
      return fail(Reason::unsupported_media_type, "415: Unsupported Media Type");
    TRY(wanted, request.patch_type == api::PatchType::json
                    ? apply_json_patch(before, *request.body.get())
                    : apply_merge_patch(before, *request.body.get()));
  } else {
    return fail(method_not_allowed_error());
  }
  const Json* version = value_at(wanted, ".metadata.resourceVersion");
  if (version != nullptr && version->is_string() && !version->get_string().empty() &&
      std::string_view(version->get_string()) != old->metadata.resourceVersion)
    return fail(modified_error(context.kind, old->metadata.name));
  const std::int64_t replicas = integer(value_at(wanted, ".spec.replicas"));
  // A custom resource answers in its own name: its definition judges the path.
  if (replicas < 0 && !context.kind.custom) return fail(invalid_scale(*old, replicas));
  Json whole = encode(*old);
  set_path(whole, context.kind.scale->spec_replicas, replicas);
  TRY(auto changed, decode_checked(context, std::move(whole), old.get(), false));
  TRY(const api::Response done, replace(context, old, std::move(changed)));
  response.body = RawJson(scale_body(*done.object));
  return response;
}

// The scheduler's write. Not a change of the spec: the generation stays.
Store::Answer Store::bind(Context& context) {
  const api::Request& request = context.request;
  if (request.verb != api::Verb::create) return fail(method_not_allowed_error());
  const Binding* typed = request.object != nullptr ? as<Binding>(*request.object) : nullptr;
  if (typed == nullptr && request.body.get() == nullptr)
    return fail(Reason::bad_request, "the request has no body");
  const BindingView binding =
      typed != nullptr ? BindingView::of(*typed) : BindingView::of(*request.body.get());
  if (binding.node.empty())
    return fail(invalid_error(Binding::info(), request.target.name, {required("target.name")}));
  const ObjectPtr old = existing(context);
  if (old == nullptr) return absent(context);
  const Pod& pod = static_cast<const Pod&>(*old);
  // The storage's precondition comes before the pod is looked at.
  if (!binding.uid.empty() && binding.uid != pod.metadata.uid)
    return fail(wrong_uid_error(context.kind, pod.metadata, binding.uid));
  const auto refuse = [&](const std::string& why) {
    Error error = conflict_error(context.kind, pod.metadata.name, why);
    auto details = std::make_shared<ErrorDetails>(*error.details);
    details->kind = "pods/binding";
    error.details = std::move(details);
    error.message = fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}",
                                pod.metadata.name, why);
    return fail(std::move(error));
  };
  if (pod.metadata.deletionTimestamp)
    return refuse(
        fmt::format("pod {} is being deleted, cannot be assigned to a host", pod.metadata.name));
  if (!pod.spec->nodeName.empty())
    return refuse(fmt::format("pod {} is already assigned to node \"{}\"", pod.metadata.name,
                              pod.spec->nodeName));
  if (!pod.spec->schedulingGates.empty())
    return refuse(fmt::format("pod {} has non-empty .spec.schedulingGates", pod.metadata.name));

  auto bound = std::static_pointer_cast<Pod>(old->clone());
  bound->spec.edit().nodeName = std::string(binding.node);
  copy_topology_labels(*this, *bound);
  std::vector<PodCondition>& conditions = bound->status.conditions.edit();
  auto at = std::find_if(conditions.begin(), conditions.end(),
                         [](const PodCondition& c) { return c.type_ == "PodScheduled"; });
  if (at == conditions.end()) at = conditions.insert(conditions.end(), PodCondition{});
  at->type_ = "PodScheduled";
  if (at->status != "True") at->lastTransitionTime = loop_.now().floor_seconds();
  at->status = "True";
  at->observedGeneration.reset();
  at->reason = {};
  at->message = {};
  set(bound->status.rest, &PodStatus::Rest::nominatedNodeName, {});
  if (!request.dry_run) commit(context, old, bound);
  Answer answer;
  answer->code = 201;
  answer->body = created_status_body();
  return answer;
}

// The namespace controller's write: takes its finalizer out of the spec.
Store::Answer Store::finalize_namespace(Context& context) {
  if (context.request.verb != api::Verb::update) return fail(method_not_allowed_error());
  const ObjectPtr old = existing(context);
  if (old == nullptr) return absent(context);
  TRY(const auto sent, body_of(context, old.get()));
  const Text& version = sent->metadata.resourceVersion;
  if (!version.empty() && version != old->metadata.resourceVersion)
    return fail(modified_error(context.kind, old->metadata.name));
  auto changed = std::static_pointer_cast<Namespace>(old->clone());
  changed->spec.finalizers = static_cast<const Namespace&>(*sent).spec.finalizers;
  api::Response response;
  response.object = changed;
  if (changed->metadata.deletionTimestamp && changed->spec.finalizers.empty() &&
      changed->metadata.finalizers.empty()) {
    if (!context.request.dry_run) erase(context, old);
    return response;
  }
  if (same_content(*changed, *old)) {
    response.object = old;
    return response;
  }
  if (!context.request.dry_run) commit(context, old, changed);
  return response;
}

}  // namespace ddptwin
