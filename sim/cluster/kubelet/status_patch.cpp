#include "cluster/kubelet/status_patch.hpp"

#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin::kubelet {
namespace {

namespace json = boost::json;

const json::value* find(const json::array& list, std::string_view key, const json::value& wanted) {
  for (const json::value& item : list)
    if (item.as_object().at(key) == wanted) return &item;
  return nullptr;
}

// What turns `before` into `after`, members that are no more as null.
json::object changed_members(const json::object& before, const json::object& after) {
  json::object patch;
  for (const auto& [name, value] : after) {
    const json::value* old = before.if_contains(name);
    if (old == nullptr || *old != value) patch[name] = value;
  }
  for (const auto& [name, value] : before)
    if (!after.contains(name)) patch[name] = nullptr;
  return patch;
}

// The same for a list whose items are known by a key.
void patch_list(const json::array& before, const json::array& after, std::string_view name,
                std::string_view key, json::object& patch) {
  json::array changes, order;
  for (const json::value& item : after) {
    const json::value& id = item.as_object().at(key);
    order.push_back(json::object{{key, id}});
    const json::value* old = find(before, key, id);
    json::object change =
        old == nullptr ? item.as_object() : changed_members(old->as_object(), item.as_object());
    if (change.empty()) continue;
    change[key] = id;
    changes.push_back(std::move(change));
  }
  for (const json::value& item : before) {
    const json::value& id = item.as_object().at(key);
    if (find(after, key, id) == nullptr)
      changes.push_back(json::object{{"$patch", "delete"}, {key, id}});
  }
  patch[name] = std::move(changes);
  patch["$setElementOrder/" + std::string(name)] = std::move(order);
}

}  // namespace

Json status_patch(std::string_view uid, const PodStatus& before, const PodStatus& after) {
  const json::value old_json = to_json(before), new_json = to_json(after);
  const json::object& old_status = old_json.as_object();
  json::object patch = changed_members(old_status, new_json.as_object());
  for (const FieldInfo& field : PodStatus::type().fields) {
    if (field.options.merge_key.empty()) continue;
    const json::value* changed = patch.if_contains(field.name);
    const json::value* old = old_status.if_contains(field.name);
    if (changed == nullptr || !changed->is_array() || old == nullptr || !old->is_array()) continue;
    const json::array wanted = changed->as_array();
    patch_list(old->as_array(), wanted, field.name, field.options.merge_key, patch);
  }
  return json::object{{"metadata", json::object{{"uid", uid}}}, {"status", std::move(patch)}};
}

}  // namespace ddptwin::kubelet
