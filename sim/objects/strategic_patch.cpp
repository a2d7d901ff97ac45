// Strategic merge patch: RFC 7386 with lists that have keys, and directives ($patch, $retainKeys,
// $setElementOrder, $deleteFromPrimitiveList). Source of the rules: spec/kubernetes.md section 1.6.
#include <algorithm>
#include <boost/json.hpp>

#include "objects/patch.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::string_view directive = "$patch";
constexpr std::string_view retain_keys = "$retainKeys";
constexpr std::string_view element_order = "$setElementOrder/";
constexpr std::string_view delete_primitives = "$deleteFromPrimitiveList/";

const Type* unwrap(const Type* type) {
  while (type != nullptr && (type->shape == Shape::pointer || type->shape == Shape::verbatim))
    type = &type->element();
  return type;
}

// What is known of a member: its type and how its list merges. Both null where nothing is known.
struct Member {
  const Type* type = nullptr;
  const FieldOptions* options = nullptr;
};

Member member_of(const Type* type, std::string_view name) {
  type = unwrap(type);
  if (type == nullptr) return {};
  if (type->shape == Shape::map) return {unwrap(&type->element()), nullptr};
  if (type->shape != Shape::structure) return {};
  for (const FieldInfo& field : type->fields) {
    if (field.options.embedded) {
      if (const Member inner = member_of(&field.type(), name); inner.type != nullptr) return inner;
    } else if (field.name == name) {
      return {unwrap(&field.type()), &field.options};
    }
  }
  return {};
}

bool merges(const Member& member) {
  return member.options != nullptr && (member.options->merge == Merge::merge ||
                                       member.options->merge == Merge::merge_retain_keys);
}

Result<Json> merge_value(const Type* type, const Json* document, const Json& patch);

std::string go_map(const Json& value) {
  if (value.is_object()) {
    std::vector<std::pair<std::string, const Json*>> members;
    for (const auto& member : value.get_object())
      members.emplace_back(std::string(member.key()), &member.value());
    std::sort(members.begin(), members.end());
    std::string out = "map[";
    for (const auto& [key, inner] : members)
      out += (out.size() > 4 ? " " : "") + key + ":" + go_map(*inner);
    return out + "]";
  }
  if (value.is_array()) {
    std::string out = "[";
    for (const Json& item : value.get_array()) out += (out.size() > 1 ? " " : "") + go_map(item);
    return out + "]";
  }
  if (value.is_null()) return "<nil>";
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

tl::unexpected<Error> server_error(std::string message) {
  return fail(Error{Reason::unknown, {}, std::move(message), nullptr, 500});
}

// The item's place in the list: by its key, or of primitives by its value.
std::size_t find_item(const json::array& list, const Json& item, std::string_view key) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (key.empty()) {
      if (list[i] == item) return i;
      continue;
    }
    const Json* a = list[i].is_object() ? list[i].get_object().if_contains(key) : nullptr;
    const Json* b = item.is_object() ? item.get_object().if_contains(key) : nullptr;
    if (a != nullptr && b != nullptr && *a == *b) return i;
  }
  return list.size();
}

// The items that `order` names in that order, merged with the rest, which keeps the order that it
// and the named ones had before.
json::array reorder(const json::array& items, const json::array& order, const json::array& before,
                    std::string_view key) {
  json::array left, right;
  for (const Json& wanted : order)
    if (const std::size_t i = find_item(items, wanted, key); i < items.size())
      left.push_back(items[i]);
  for (const Json& item : items)
    if (find_item(order, item, key) == order.size()) right.push_back(item);
  json::array out;
  std::size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    bool take_right = i >= left.size();
    if (!take_right && j < right.size()) {
      const std::size_t li = find_item(before, left[i], key), ri = find_item(before, right[j], key);
      take_right = li < before.size() && ri < before.size() && ri < li;
    }
    out.push_back(take_right ? right[j++] : left[i++]);
  }
  return out;
}

Result<json::array> merge_primitives(const json::array& before, const json::array& patch) {
  json::array out = before;
  for (const Json& item : patch)
    if (find_item(out, item, {}) == out.size()) out.push_back(item);
  return reorder(out, patch, before, {});
}

// Applies one item of a keyed list's patch.
Status merge_item(const Type* element, json::array& out, const Json& item, std::string_view key) {
  const json::object& patch = item.get_object();
  if (!patch.contains(key)) {
    if (out.empty() && !patch.contains(directive)) {
      out.push_back(item);
      return {};
    }
    return server_error("map: " + go_map(item) +
                        " does not contain declared merge key: " + std::string(key));
  }
  const std::size_t at = find_item(out, item, key);
  if (const Json* what = patch.if_contains(directive); what != nullptr) {
    if (*what == "delete") {
      if (at < out.size()) out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
      return {};
    }
    if (*what != "merge" && *what != "replace")
      return server_error("unknown patch type: " + go_map(*what) + " in map: " + go_map(item));
  }
  TRY(Json value, merge_value(element, at < out.size() ? &out[at] : nullptr, item));
  if (at < out.size())
    out[at] = std::move(value);
  else
    out.push_back(std::move(value));
  return {};
}

Result<json::array> merge_list(const Member& member, const json::array& before,
                               const json::array& patch) {
  const std::string_view key = member.options->merge_key;
  if (key.empty()) return merge_primitives(before, patch);
  json::array items;
  bool replaces = false;
  for (const Json& item : patch) {
    if (!item.is_object())
      return server_error("list element types are not identical: [" + go_map(Json(before)) + " " +
                          go_map(Json(patch)) + "]");
    const Json* what = item.get_object().if_contains(directive);
    if (what != nullptr && *what == "replace" && item.get_object().size() == 1)
      replaces = true;
    else
      items.push_back(item);
  }
  if (replaces) return items;
  const Type* element = unwrap(&member.type->element());
  json::array out = before, named;
  for (const Json& item : items) {
    TRY_VOID(merge_item(element, out, item, key));
    if (!item.get_object().contains(directive)) named.push_back(item);
  }
  return reorder(out, named, before, key);
}

// Whether the items that the patch lists stand in the order that it asks for.
bool follows(const json::array& patch, const json::array& order, std::string_view key) {
  std::size_t last = 0;
  for (const Json& item : patch) {
    if (item.is_object() && item.get_object().contains(directive)) continue;
    const std::size_t at = find_item(order, item, key);
    if (at == order.size() || at < last) return false;
    last = at;
  }
  return true;
}

std::string lines(const json::array& list) {
  std::string out;
  for (const Json& item : list) out += go_map(item) + "\n";
  return out;
}

Status set_order(const Member& member, const json::object& patch, std::string_view name,
                 const Json& order, const json::array& before, json::object& out) {
  Json* list = out.if_contains(name);
  if (list == nullptr || !list->is_array() || !order.is_array()) return {};
  const std::string_view key = member.options != nullptr ? member.options->merge_key : "";
  if (const Json* items = patch.if_contains(name);
      items != nullptr && items->is_array() && !follows(items->get_array(), order.get_array(), key))
    return server_error("The order in patch list:\n[" + lines(items->get_array()) +
                        "]\n doesn't match $setElementOrder list:\n[" + lines(order.get_array()) +
                        "]\n");
  *list = reorder(list->get_array(), order.get_array(), before, key);
  return {};
}

// The directives of a map: lists' order and deletions, keys to keep.
Status run_directives(const Type* type, const json::object& patch, const json::object& before,
                      json::object& out) {
  for (const auto& entry : patch) {
    const std::string_view name = entry.key();
    if (name.starts_with(delete_primitives)) {
      Json* list = out.if_contains(name.substr(delete_primitives.size()));
      if (list == nullptr || !list->is_array() || !entry.value().is_array()) continue;
      json::array kept;
      for (const Json& item : list->get_array())
        if (find_item(entry.value().get_array(), item, {}) == entry.value().get_array().size())
          kept.push_back(item);
      *list = std::move(kept);
    } else if (name.starts_with(element_order)) {
      const std::string_view field = name.substr(element_order.size());
      const Json* old = before.if_contains(field);
      TRY_VOID(set_order(member_of(type, field), patch, field, entry.value(),
                         old != nullptr && old->is_array() ? old->get_array() : json::array(),
                         out));
    } else if (name == retain_keys && entry.value().is_array()) {
      json::object kept;
      for (const auto& member : out)
        if (find_item(entry.value().get_array(), Json(member.key()), {}) <
            entry.value().get_array().size())
          kept.emplace(member.key(), member.value());
      out = std::move(kept);
    }
  }
  return {};
}

Result<Json> merge_member(const Member& member, const Json* old, const Json& patch) {
  if (patch.is_array() && merges(member) && member.type->shape == Shape::list) {
    TRY(json::array list,
        merge_list(member, old != nullptr && old->is_array() ? old->get_array() : json::array(),
                   patch.get_array()));
    return Json(std::move(list));
  }
  return merge_value(member.type, old, patch);
}

Result<Json> merge_value(const Type* type, const Json* document, const Json& patch) {
  if (!patch.is_object()) return patch;
  const json::object& changes = patch.get_object();
  json::object before =
      document != nullptr && document->is_object() ? document->get_object() : json::object();
  if (const Json* what = changes.if_contains(directive); what != nullptr) {
    if (*what == "delete") return Json(json::object());
    if (*what != "replace" && *what != "merge")
      return server_error("unknown patch type: " + go_map(*what) + " in map: " + go_map(patch));
    if (*what == "replace") before.clear();
  }
  json::object out = before;
  for (const auto& entry : changes) {
    const std::string_view name = entry.key();
    if (name.starts_with("$")) continue;
    if (entry.value().is_null()) {
      out.erase(name);
      continue;
    }
    const Json* old = out.if_contains(name);
    TRY(Json value, merge_member(member_of(type, name), old, entry.value()));
    out[name] = std::move(value);
  }
  TRY_VOID(run_directives(type, changes, before, out));
  return Json(std::move(out));
}

}  // namespace

Result<Json> apply_strategic_patch(const Type& type, const Json& document, const Json& patch) {
  if (!patch.is_object()) {
    const std::string_view found = patch.is_array()    ? "array"
                                   : patch.is_string() ? "string"
                                   : patch.is_bool()   ? "bool"
                                                       : "number";
    return fail(Reason::bad_request, "json: cannot unmarshal " + std::string(found) +
                                         " into Go value of type map[string]interface {}");
  }
  return merge_value(&type, &document, patch);
}

}  // namespace ddptwin
