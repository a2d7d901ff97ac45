// pods/eviction: a pod is asked to go, and its disruption budget whether it may
// (spec/kubernetes.md sections 1.18 and 3.6; upstream: pkg/registry/core/pod/storage/eviction.go).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "api/path.hpp"
#include "cluster/pods/budgets.hpp"
#include "cluster/pods/disruption.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::string_view eviction_actor = "kube-apiserver";
constexpr int processing_retry_seconds = 10;

const Json* eviction_part(const Json* object, std::string_view name) {
  return object != nullptr && object->is_object() ? object->get_object().if_contains(name)
                                                  : nullptr;
}
std::string_view eviction_text(const Json* object, std::string_view name) {
  const Json* value = eviction_part(object, name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

// A body may leave out what it is.
Status check_eviction_body(const Json& body, const Text& name) {
  const std::string_view kind = eviction_text(&body, "kind");
  if (!kind.empty() && kind != "Eviction") {
    std::string_view version = eviction_text(&body, "apiVersion");
    if (const std::size_t slash = version.find('/'); slash != std::string_view::npos)
      version.remove_prefix(slash + 1);
    return fail(Reason::bad_request,
                fmt::format("{0} in version \"{1}\" cannot be handled as a Eviction: converting "
                            "({1}.{0}) to (policy.Eviction): unknown conversion",
                            kind, version));
  }
  const Json* said = eviction_part(eviction_part(&body, "metadata"), "name");
  if (said != nullptr && said->is_string() && name != std::string_view(said->get_string()))
    return fail(Reason::bad_request, "name in URL does not match name in Eviction object");
  return {};
}

bool asks_dry_run(const Json* options) {
  const Json* asked = eviction_part(options, "dryRun");
  return asked != nullptr && asked->is_array() && !asked->get_array().empty();
}

// Whoever is not up, or is going, does not count in any budget.
bool is_beside_budgets(const Pod& pod) {
  return is_terminal_phase(pod.status.phase) || pod.status.phase == "Pending" ||
         pod.metadata.deletionTimestamp.has_value();
}

tl::unexpected<Error> refuse_for_budget(std::string cause, int retry_after_seconds = 0) {
  auto details = std::make_shared<ErrorDetails>();
  details->causes.push_back({"DisruptionBudget", std::move(cause), {}});
  details->retry_after_seconds = retry_after_seconds;
  return fail(Error{Reason::too_many_requests,
                    {},
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                    std::move(details)});
}

// Why none may go.
std::string cause_of(const PodDisruptionBudget& budget) {
  for (const BudgetCondition& one : budget.status.conditions)
    if (one.type_ == disruption_allowed && one.status == "False" && one.reason == sync_failed)
      return fmt::format(
          "The disruption budget {} does not allow evicting pods currently because it failed sync: "
          "{}",
          budget.metadata.name, one.message);
  return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                     budget.metadata.name, budget.status.desiredHealthy,
                     budget.status.currentHealthy);
}

// An unhealthy pod is no loss where enough others are healthy, or where the budget says so.
bool may_go_unhealthy(const PodDisruptionBudget& budget, const Pod& pod) {
  if (is_pod_ready(pod)) return false;
  if (budget.spec.unhealthyPodEvictionPolicy == "AlwaysAllow") return true;
  return budget.status.desiredHealthy > 0 &&
         budget.status.currentHealthy >= budget.status.desiredHealthy;
}

// A pod that may go is taken off what its budget allows.
Status ask_budgets(Store& store, const Pod& pod, bool dry_run) {
  if (is_beside_budgets(pod) || store.kinds().share(PodDisruptionBudget::info()) == nullptr)
    return {};
  std::shared_ptr<const PodDisruptionBudget> budget;
  for (const auto& [key, object] : store.objects(PodDisruptionBudget::info())) {
    if (!guards(static_cast<const PodDisruptionBudget&>(*object), pod)) continue;
    if (budget != nullptr)
      return fail(plain_error(
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
          "support."));
    budget = as<PodDisruptionBudget>(object);
  }
  if (budget == nullptr || may_go_unhealthy(*budget, pod)) return {};
  if (budget->status.observedGeneration < budget->metadata.generation)
    return refuse_for_budget(
        fmt::format("The disruption budget {} is still being processed by the server.",
                    budget->metadata.name),
        processing_retry_seconds);
  if (budget->status.disruptionsAllowed == 0) return refuse_for_budget(cause_of(*budget));
  auto less = std::make_shared<PodDisruptionBudget>(*budget);
  if (--less->status.disruptionsAllowed == 0) tell_whether_allowed(*less, store.loop().now());
  less->status.disruptedPods.insert_or_assign(pod.metadata.name.str(),
                                              store.loop().now().floor_seconds());
  if (!dry_run) TRY_VOID(store.call(api::update(std::move(less), "status"), eviction_actor));
  return {};
}

}  // namespace

// policy/v1 Eviction: the pod is told why it goes, then deleted with the options in the body.
Store::Answer Store::evict(Context& context) {
  const api::Request& request = context.request;
  if (request.verb != api::Verb::create) return fail(method_not_allowed_error());
  api::Request deletion = request;
  if (const Json* body = request.body.get(); body != nullptr) {
    TRY_VOID(check_eviction_body(*body, request.target.name));
    const Json* options = eviction_part(body, "deleteOptions");
    TRY(deletion.remove, api::delete_options({}, options));
    deletion.dry_run = request.dry_run || asks_dry_run(options);
  }
  ObjectPtr object = existing(context);
  if (object == nullptr) return absent(context);
  TRY_VOID(ask_budgets(*this, static_cast<const Pod&>(*object), deletion.dry_run));
  Context of_deletion{deletion, context.kind, context.rows, context.actor};
  of_deletion.place = context.place;
  TRY_VOID(check_preconditions(of_deletion, *object));
  if (!deletion.dry_run && !object->metadata.deletionTimestamp) {
    auto told = std::static_pointer_cast<Pod>(object->clone());
    PodCondition disruption =
        disruption_of(*told, loop_.now(), "EvictionByEvictionAPI", "Eviction API: evicting");
    disruption.observedGeneration.reset();  // the others that disrupt write it
    if (mark_disrupted(*told, std::move(disruption))) {
      commit(context, object, told);
      object = told;
      // It was the caller's version, and this is still the caller's write.
      if (!deletion.remove->precondition_resource_version.empty())
        deletion.remove.edit().precondition_resource_version.clear();
    }
  }
  TRY_VOID(remove_one(of_deletion, object));
  api::Response response;
  response.code = 201;
  response.body = created_status_body();
  return response;
}

}  // namespace ddptwin
