#include "controller/trainer/apply_values.hpp"

#include "objects/codec.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

template <class Same>
void upsert(json::array& to, json::object&& one, const Same& same) {
  for (json::value& there : to)
    if (same(there.get_object(), one)) {
      there = std::move(one);
      return;
    }
  to.emplace_back(std::move(one));
}

// Whether both have the member alike, or both lack it.
bool alike(const json::object& a, const json::object& b, std::string_view key) {
  const json::value *left = a.if_contains(key), *right = b.if_contains(key);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

void upsert_by(json::array& to, json::object&& one, std::string_view key) {
  upsert(to, std::move(one),
         [key](const json::object& a, const json::object& b) { return alike(a, b, key); });
}

json::object applied_selector(const KeySelector& from) {
  json::object selector{{"key", from.key}, {"name", from.name}};
  if (from.optional) selector["optional"] = *from.optional;
  return selector;
}

json::object applied_source(const EnvVarSource& from) {
  json::object source;
  if (from.fieldRef) source["fieldRef"] = json::object{{"fieldPath", from.fieldRef->fieldPath}};
  if (from.resourceFieldRef) {
    const ResourceFieldSelector& field = *from.resourceFieldRef;
    source["resourceFieldRef"] =
        json::object{{"containerName", field.containerName},
                     {"resource", field.resource},
                     {"divisor", field.divisor.value_or(Quantity()).str()}};
  }
  if (from.configMapKeyRef) source["configMapKeyRef"] = applied_selector(*from.configMapKeyRef);
  if (from.secretKeyRef) source["secretKeyRef"] = applied_selector(*from.secretKeyRef);
  return source;
}

}  // namespace

void upsert_variable(json::array& to, json::object one) { upsert_by(to, std::move(one), "name"); }
void upsert_volume(json::array& to, json::object one) { upsert_by(to, std::move(one), "name"); }
void upsert_mount(json::array& to, json::object one) { upsert_by(to, std::move(one), "mountPath"); }
void upsert_port(json::array& to, json::object one) {
  upsert(to, std::move(one), [](const json::object& a, const json::object& b) {
    return alike(a, b, "containerPort") || alike(a, b, "name");
  });
}

json::object variable(std::string_view name, std::string_view value) {
  return json::object{{"name", name}, {"value", value}};
}
json::object variable_of_field(std::string_view name, std::string_view path) {
  return json::object{{"name", name},
                      {"valueFrom", json::object{{"fieldRef", json::object{{"fieldPath", path}}}}}};
}
json::object applied(const EnvVar& from) {
  if (!from.valueFrom) return variable(from.name.view(), from.value.view());
  return json::object{{"name", from.name.view()}, {"valueFrom", applied_source(*from.valueFrom)}};
}

json::array& list_in(json::object& object, std::string_view key) {
  json::value& list = object[key];
  return list.is_array() ? list.get_array() : list.emplace_array();
}
json::array* find_list(json::object& object, std::string_view key) {
  json::value* list = object.if_contains(key);
  return list != nullptr && list->is_array() ? &list->get_array() : nullptr;
}
json::object& object_in(json::object& object, std::string_view key) {
  json::value& inner = object[key];
  return inner.is_object() ? inner.get_object() : inner.emplace_object();
}
std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* text = object.if_contains(key);
  return text != nullptr && text->is_string() ? std::string_view(text->get_string())
                                              : std::string_view();
}

}  // namespace ddptwin::controller::trainer
