#include "scenario/language/exported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "scenario/language/member_at.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

struct ServerField {
  std::string_view part;  // the member of the object that it is in; empty: the object itself
  std::string_view name;
  std::string_view kind = {};  // empty: of every kind
  bool marks = false;          // nobody else writes it: the object was a server's
};
// Upstream: what ObjectMeta calls "populated by the system", and what allocators and the scheduler
// fill in.
constexpr std::array server_fields{
    ServerField{"metadata", "resourceVersion", {}, true},
    ServerField{"metadata", "uid", {}, true},
    ServerField{"metadata", "creationTimestamp", {}, true},
    ServerField{"metadata", "managedFields", {}, true},
    ServerField{"metadata", "selfLink", {}, true},
    ServerField{"metadata", "generation", {}},
    ServerField{"metadata", "deletionTimestamp", {}, true},
    ServerField{"metadata", "deletionGracePeriodSeconds", {}},
    ServerField{"metadata", "ownerReferences", {}},
    ServerField{"", "status", {}},
    ServerField{"spec", "nodeName", "Pod"},
    ServerField{"spec", "clusterIP", "Service"},
    ServerField{"spec", "clusterIPs", "Service"},
    ServerField{"spec", "healthCheckNodePort", "Service"},
};

// A headless Service says so itself.
bool is_written_by_user(const json::value& object, const ServerField& field) {
  return field.kind == "Service" && text_at(object, {"spec", "clusterIP"}) == "None";
}

const json::object* holder_of(const json::value& object, const ServerField& field) {
  const json::value* part = field.part.empty() ? &object : member_at(object, {field.part});
  return part == nullptr ? nullptr : part->if_object();
}

bool has(const json::value& object, const ServerField& field) {
  const json::object* holder = holder_of(object, field);
  const json::value* value = holder == nullptr ? nullptr : holder->if_contains(field.name);
  const bool is_empty =
      value == nullptr || value->is_null() || (value->is_string() && value->as_string().empty());
  return !is_empty && (field.kind.empty() || text_at(object, {"kind"}) == field.kind) &&
         !is_written_by_user(object, field);
}

bool is_api_access(const json::value& named) {
  return text_at(named, {"name"}).starts_with("kube-api-access-");
}

// Those of a list that admission added.
bool take_api_access(json::value& holder, std::string_view list) {
  json::value* found = holder.as_object().if_contains(list);
  if (found == nullptr || !found->is_array()) return false;
  json::array& elements = found->as_array();
  const auto stay =
      std::stable_partition(elements.begin(), elements.end(), std::not_fn(is_api_access));
  const bool any = stay != elements.end();
  elements.erase(stay, elements.end());
  return any;
}

// The token that a ServiceAccount's admission mounts into each pod: a cluster adds it again.
bool clear_api_access(json::value& pod) {
  json::object* object = pod.if_object();
  json::value* spec = object == nullptr ? nullptr : object->if_contains("spec");
  if (spec == nullptr || !spec->is_object() || !take_api_access(*spec, "volumes")) return false;
  for (const std::string_view list : {"initContainers", "containers"}) {
    json::value* containers = spec->as_object().if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::value& container : containers->as_array())
      if (container.is_object()) take_api_access(container, "volumeMounts");
  }
  return true;
}

}  // namespace

bool is_exported(const json::value& object) {
  return std::any_of(
      server_fields.begin(), server_fields.end(),
      [&object](const ServerField& field) { return field.marks && has(object, field); });
}

std::vector<std::string> clear_exported(json::value& object) {
  std::vector<std::string> cleared;
  for (const ServerField& field : server_fields) {
    if (!has(object, field)) continue;
    json::object& holder =
        field.part.empty() ? object.as_object() : object.as_object().at(field.part).as_object();
    holder.stable_erase(holder.find(field.name));
    cleared.push_back(field.part.empty() ? std::string(field.name)
                                         : fmt::format("{}.{}", field.part, field.name));
  }
  if (text_at(object, {"kind"}) == "Pod" && clear_api_access(object))
    cleared.emplace_back("the volume kube-api-access");
  return cleared;
}

}  // namespace ddptwin::scenario
