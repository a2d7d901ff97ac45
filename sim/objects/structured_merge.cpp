#include "objects/structured_merge.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>

#include "objects/validation.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;
using Form = MergeType::Form;
using Scalar = MergeType::Scalar;

MergeType member_of_live(const MergeType& type, std::string_view name) {
  return type.member(name).value_or(MergeType());  // what is stored may be older than its schema
}

const json::array* items_in(const Json* value) {
  return value != nullptr ? value->if_array() : nullptr;
}
const json::object* members_in(const Json* value) {
  return value != nullptr ? value->if_object() : nullptr;
}
bool has_nothing(const Json* value) {
  if (const json::array* list = items_in(value)) return list->empty();
  const json::object* map = members_in(value);
  return map == nullptr || map->empty();
}

// Go's %v of a value inside of another, and its %#v.
std::string go_plain(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}
std::string go_syntax(const Json& value) {
  if (const json::array* list = value.if_array()) {
    std::string out = "[]interface {}{";
    for (const Json& item : *list) out += (out.back() == '{' ? "" : ", ") + go_syntax(item);
    return out + "}";
  }
  if (const json::object* map = value.if_object()) {
    std::string out = "map[string]interface {}{";
    for (const auto& member : *map)
      out +=
          (out.back() == '{' ? "" : ", ") + quoted(member.key()) + ":" + go_syntax(member.value());
    return out + "}";
  }
  if (value.is_null()) return "interface {}(nil)";
  return value.is_string() ? quoted(std::string_view(value.get_string())) : json::serialize(value);
}
std::string_view go_type_of(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

// How a list tells its items apart; nothing where one cannot be told, and why.
struct ItemName {
  std::optional<PathElement> step{};
  std::string fault{};
};

ItemName name_of_item(const MergeType& list, const Json& item) {
  const auto keys = list.keys();
  if (keys.empty()) {
    if (item.is_object())
      return {{}, "associative list without keys has an element that's a map type"};
    if (item.is_array()) return {{}, "not supported: associative list with lists as elements"};
    if (item.is_null())
      return {{}, "associative list without keys has an element that's an explicit null"};
    return {PathElement{PathElement::Kind::value, json::serialize(item)}, {}};
  }
  if (item.is_null()) return {{}, "associative list with keys may not have a null element"};
  if (!item.is_object()) return {{}, "associative list with keys may not have non-map elements"};
  json::object named;
  std::string all;
  for (const std::string_view key : keys) {
    all += (all.empty() ? "" : " ") + quoted(key);
    if (const Json* value = item.get_object().if_contains(key))
      named.emplace(key, *value);
    else if (auto otherwise = list.key_default(key))
      named.emplace(key, *std::move(otherwise));
  }
  if (named.empty())
    return {{},
            "associative list with keys has an element that omits all key fields [" + all +
                "] (and doesn't have default values for any key fields)"};
  return {PathElement{PathElement::Kind::key, json::serialize(named)}, {}};
}

// ---- what a type does not allow ----

class TypeChecker {
 public:
  std::vector<std::string> errors{};

  void check(const MergeType& type, const Json& value, const std::string& path) {
    const Form form = type.form(&value);
    if (value.is_null()) return;
    if (form == Form::scalar) return check_scalar(type, value, path);
    if (form == Form::list) {
      if (!value.is_array()) return fault(path, "expected list, got &{" + go_plain(value) + "}");
      return check_list(type, value.get_array(), path);
    }
    if (!value.is_object()) return fault(path, "expected map, got &{" + go_plain(value) + "}");
    for (const auto& member : value.get_object()) {
      const std::string at = path + "." + std::string(member.key());
      const auto inner = type.member(member.key());
      if (!inner) return fault(at, "field not declared in schema");
      check(*inner, member.value(), at);
    }
  }

 private:
  void fault(const std::string& path, const std::string& what) {
    errors.push_back(path.empty() ? what : path + ": " + what);
  }

  void check_scalar(const MergeType& type, const Json& value, const std::string& path) {
    switch (type.scalar()) {
      case Scalar::number:
        if (!value.is_number())
          fault(path, "expected numeric (int or float), got " + std::string(go_type_of(value)));
        return;
      case Scalar::string:
        if (!value.is_string())
          fault(path,
                "expected string, got &value.valueUnstructured{Value:" + go_syntax(value) + "}");
        return;
      case Scalar::boolean:
        if (!value.is_bool()) fault(path, "expected boolean, got &{" + go_plain(value) + "}");
        return;
      case Scalar::any:
        if (value.is_structured())
          fault(path, "expected any scalar, got &{" + go_plain(value) + "}");
        return;
    }
  }

  void check_list(const MergeType& type, const json::array& list, const std::string& path) {
    const bool atomic = type.is_atomic(Form::list);
    std::vector<PathElement> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      PathElement step{PathElement::Kind::index, std::to_string(i)};
      if (!atomic) {
        ItemName name = name_of_item(type, list[i]);
        if (!name.step) return fault(path, "element " + std::to_string(i) + ": " + name.fault);
        step = *std::move(name.step);
        if (std::find(seen.begin(), seen.end(), step) != seen.end())
          fault(path, "duplicate entries for key " + step.shown());
        seen.push_back(step);
      }
      check(type.element(), list[i], path + step.shown());
    }
  }
};

// ---- the items of a list by their names ----

struct NamedItems {
  std::vector<PathElement> order{};                          // each name once
  std::map<PathElement, std::vector<const Json*>> values{};  // several of a doubled name

  static NamedItems of(const MergeType& type, const Json* value) {
    NamedItems out;
    const json::array* list = items_in(value);
    if (list == nullptr) return out;
    for (const Json& item : *list) {
      ItemName name = name_of_item(type, item);
      if (!name.step) continue;
      std::vector<const Json*>& same = out.values[*name.step];
      if (same.empty()) out.order.push_back(*std::move(name.step));
      same.push_back(&item);
    }
    return out;
  }
  const std::vector<const Json*>* find(const PathElement& name) const {
    const auto found = values.find(name);
    return found != values.end() ? &found->second : nullptr;
  }
};

// ---- the fields that a value names ----

void collect_fields(const MergeType& type, const Json& value, FieldSet& out) {
  const Form form = type.form(&value);
  if (form == Form::scalar || type.is_atomic(form)) {
    out.itself = true;
    return;
  }
  if (form == Form::list) {
    const NamedItems items = NamedItems::of(type, &value);
    for (const PathElement& name : items.order) {
      FieldSet& inner = out.descend(name);
      const auto& same = items.values.at(name);
      if (same.size() == 1) collect_fields(type.element(), *same.front(), inner);
      inner.itself = true;
    }
    return;
  }
  const json::object* map = members_in(&value);
  if (map == nullptr) return;
  for (const auto& member : *map) {
    FieldSet inner;
    collect_fields(member_of_live(type, member.key()), member.value(), inner);
    const bool bare =
        member.value().is_null() || (member.value().is_object() && has_nothing(&member.value()));
    if (bare || !type.declares(member.key())) inner.itself = true;
    if (!inner.empty()) out.descend(PathElement::field(member.key())) = std::move(inner);
  }
}

// ---- what two values differ in ----

class Comparer {
 public:
  FieldChanges changes{};

  // Null: there is none. Precondition: not both.
  void compare(const MergeType& type, const Json* before, const Json* after) {
    const Form form = type.form(after != nullptr && !after->is_null() ? after : before);
    const bool leaf =
        form == Form::scalar || type.is_atomic(form) || (has_nothing(before) && has_nothing(after));
    if (leaf) {
      note_if(before == nullptr, changes.added);
      note_if(after == nullptr, changes.removed);
      note_if(before != nullptr && after != nullptr && *before != *after, changes.modified);
      return;
    }
    if (form == Form::list)
      compare_lists(type, before, after);
    else
      compare_maps(type, members_in(before), members_in(after));
    note_if(before == nullptr, changes.added);
    note_if(after == nullptr, changes.removed);
  }

 private:
  void note_if(bool holds, FieldSet& in) {
    if (holds) in.insert(path_);
  }
  void below(const PathElement& step, const MergeType& type, const Json* before,
             const Json* after) {
    path_.push_back(step);
    compare(type, before, after);
    path_.pop_back();
  }

  void compare_maps(const MergeType& type, const json::object* before, const json::object* after) {
    if (before != nullptr)
      for (const auto& member : *before)
        below(PathElement::field(member.key()), member_of_live(type, member.key()), &member.value(),
              after != nullptr ? after->if_contains(member.key()) : nullptr);
    if (after != nullptr)
      for (const auto& member : *after)
        if (before == nullptr || !before->contains(member.key()))
          below(PathElement::field(member.key()), member_of_live(type, member.key()), nullptr,
                &member.value());
  }

  void compare_lists(const MergeType& type, const Json* before, const Json* after) {
    const NamedItems left = NamedItems::of(type, before), right = NamedItems::of(type, after);
    for (const PathElement& name : left.order)
      compare_items(type, name, left.find(name), right.find(name));
    for (const PathElement& name : right.order)
      if (left.find(name) == nullptr) compare_items(type, name, nullptr, right.find(name));
  }

  // NamedItems of one name. Several are one value.
  void compare_items(const MergeType& type, const PathElement& name,
                     const std::vector<const Json*>* before,
                     const std::vector<const Json*>* after) {
    const bool many_before = before != nullptr && before->size() > 1;
    const bool many_after = after != nullptr && after->size() > 1;
    const Json* old = before != nullptr ? before->front() : nullptr;
    const Json* now = after != nullptr ? after->front() : nullptr;
    if (!many_before && !many_after) return below(name, type.element(), old, now);
    if (many_before && !many_after && now != nullptr) below(name, type.element(), nullptr, now);
    if (many_after && !many_before && old != nullptr) below(name, type.element(), old, nullptr);
    path_.push_back(name);
    const bool same = many_before && many_after &&
                      std::equal(before->begin(), before->end(), after->begin(), after->end(),
                                 [](const Json* a, const Json* b) { return *a == *b; });
    note_if(many_before && !many_after, changes.removed);
    note_if(many_after && !many_before, changes.added);
    note_if(many_before && many_after && !same, changes.modified);
    path_.pop_back();
  }

  FieldPathTo path_{};
};

// ---- what is applied over what is live ----

Json merged_value(const MergeType& type, const Json* live, const Json* applied);

std::optional<Json> merged_map(const MergeType& type, const json::object* live,
                               const json::object* applied) {
  json::object out;
  if (live != nullptr)
    for (const auto& member : *live) {
      const Json* over = applied != nullptr ? applied->if_contains(member.key()) : nullptr;
      out[member.key()] = merged_value(member_of_live(type, member.key()), &member.value(), over);
    }
  if (applied != nullptr)
    for (const auto& member : *applied)
      if (!out.contains(member.key()))
        out[member.key()] =
            merged_value(member_of_live(type, member.key()), nullptr, &member.value());
  return out;
}

// Applied items in their order; a live one that is not applied stands behind the live item that it
// stood behind, as far as the applied order lets it.
json::array merged_list(const MergeType& type, const Json* live, const Json* applied) {
  const NamedItems left = NamedItems::of(type, live), right = NamedItems::of(type, applied);
  json::array out;
  const auto take = [&](const PathElement& name) {
    const auto* old = left.find(name);
    const auto* over = right.find(name);
    if (over == nullptr) {
      for (const Json* item : *old) out.push_back(*item);
      return;
    }
    const Json* base = old != nullptr && old->size() == 1 ? old->front() : nullptr;
    out.push_back(merged_value(type.element(), base, over->front()));
  };
  std::vector<const PathElement*> shared;  // of the applied ones, those that are live
  for (const PathElement& name : right.order)
    if (left.find(name) != nullptr) shared.push_back(&name);
  std::size_t next_shared = 0, l = 0, r = 0;
  std::vector<PathElement> done;
  const auto is_done = [&](const PathElement& name) {
    return std::find(done.begin(), done.end(), name) != done.end();
  };
  while (l < left.order.size() || r < right.order.size()) {
    const bool both = l < left.order.size() && r < right.order.size();
    if (both && left.order[l] == right.order[r]) {
      done.push_back(right.order[r]);
      take(right.order[r]);
      ++l, ++r, ++next_shared;
      continue;
    }
    if (both && right.find(left.order[l]) != nullptr && next_shared < shared.size() &&
        *shared[next_shared] != left.order[l]) {
      ++l;  // its turn comes with the applied ones
      continue;
    }
    if (l < left.order.size()) {
      if (right.find(left.order[l]) == nullptr) {
        take(left.order[l++]);
        continue;
      }
      if (is_done(left.order[l])) ++l;
    }
    if (r < right.order.size()) {
      const PathElement& name = right.order[r++];
      done.push_back(name);
      take(name);
      if (next_shared < shared.size() && *shared[next_shared] == name) ++next_shared;
    }
  }
  return out;
}

Json merged_value(const MergeType& type, const Json* live, const Json* applied) {
  const Form form = type.form(applied != nullptr && !applied->is_null() ? applied : live);
  const bool leaf =
      form == Form::scalar || type.is_atomic(form) || (has_nothing(live) && has_nothing(applied));
  if (leaf) return applied != nullptr ? *applied : *live;
  if (form == Form::map) return *merged_map(type, members_in(live), members_in(applied));
  json::array out = merged_list(type, live, applied);
  return out.empty() ? Json(nullptr) : Json(std::move(out));
}

}  // namespace

std::vector<std::string> type_errors(const MergeType& type, const Json& value) {
  TypeChecker checker;
  checker.check(type, value, {});
  return std::move(checker.errors);
}

FieldSet fields_of(const MergeType& type, const Json& value) {
  FieldSet out;
  collect_fields(type, value, out);
  return out;
}

FieldChanges compare(const MergeType& type, const Json& before, const Json& after) {
  Comparer comparer;
  comparer.compare(type, &before, &after);
  return std::move(comparer.changes);
}

Json merge_applied(const MergeType& type, const Json& live, const Json& applied) {
  return merged_value(type, &live, &applied);
}

Json without_fields(const MergeType& type, const Json& value, const FieldSet& fields) {
  const Form form = type.form(&value);
  if (form == Form::scalar) return value;
  if (has_nothing(&value) || type.is_atomic(form)) return nullptr;
  if (form == Form::list) {
    json::array out;
    for (const Json& item : value.get_array()) {
      const ItemName name = name_of_item(type, item);
      const FieldSet* gone = name.step ? fields.find(*name.step) : nullptr;
      if (gone == nullptr)
        out.push_back(item);
      else if (!gone->itself)
        out.push_back(without_fields(type.element(), item, *gone));
    }
    return out.empty() ? Json(nullptr) : Json(std::move(out));
  }
  json::object out;
  for (const auto& member : value.get_object()) {
    const FieldSet* gone = fields.find(PathElement::field(member.key()));
    if (gone == nullptr)
      out[member.key()] = member.value();
    else if (!gone->itself)
      out[member.key()] = without_fields(member_of_live(type, member.key()), member.value(), *gone);
  }
  return out.empty() ? Json(nullptr) : Json(std::move(out));
}

FieldSet with_structures(const MergeType& type, const FieldSet& fields) {
  FieldSet out{fields.itself, {}};
  for (const auto& [step, inner] : fields.below) {
    const bool is_field = step.kind == PathElement::Kind::field;
    const MergeType inner_type =
        is_field ? member_of_live(type, step.text)
                 : (step.kind == PathElement::Kind::key ? type.element() : MergeType());
    FieldSet whole = with_structures(inner_type, inner);
    if (is_field && type.declares(step.text)) whole.itself = true;
    out.below.emplace_back(step, std::move(whole));
  }
  return out;
}

}  // namespace ddptwin
