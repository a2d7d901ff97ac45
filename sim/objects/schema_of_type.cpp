#include "objects/schema_of_type.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/object.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;
using What = SchemaNote::What;

json::array split(std::string_view text) {
  json::array out;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

json::object typed(std::string_view type, std::string_view format = {}) {
  json::object out{{"type", type}};
  if (!format.empty()) out["format"] = format;
  return out;
}

class Builder {
 public:
  explicit Builder(std::span<const SchemaNote> notes) : notes_(notes) {}

  json::object build(const Type& type) const {
    switch (type.shape) {
      case Shape::boolean:
        return typed("boolean");
      case Shape::int32:
        return typed("integer", "int32");
      case Shape::int64:
        return typed("integer", "int64");
      case Shape::number:
        return typed("number");
      case Shape::string:
      case Shape::text:
      case Shape::shared_text:
        return typed("string");
      case Shape::bytes:
        return typed("string", "byte");
      case Shape::time:
      case Shape::micro_time:
        return typed("string", "date-time");
      case Shape::quantity:
        return json::object{{"pattern", quantity_pattern}, {"x-kubernetes-int-or-string", true}};
      case Shape::int_or_string:
        return json::object{{"x-kubernetes-int-or-string", true}};
      case Shape::json:
        return json::object{{"x-kubernetes-preserve-unknown-fields", true}};
      case Shape::list: {
        json::object out = typed("array");
        out["items"] = build(type.element());
        return out;
      }
      case Shape::map: {
        json::object out = typed("object");
        out["additionalProperties"] = build(type.element());
        return out;
      }
      case Shape::pointer:
      case Shape::verbatim:
        return build(type.element());
      case Shape::structure:
        return &type == &ObjectMeta::type() ? template_metadata() : structure(type);
    }
    return {};
  }

 private:
  const SchemaNote* note(std::string_view structure, std::string_view field, What what) const {
    for (const SchemaNote& n : notes_)
      if (n.what == what && n.structure == structure && n.field == field) return &n;
    return nullptr;
  }

  // What controller-gen publishes of a template's metadata.
  static json::object template_metadata() {
    json::object strings = typed("object"), list = typed("array");
    strings["additionalProperties"] = typed("string");
    list["items"] = typed("string");
    json::object out = typed("object");
    out["properties"] = json::object{{"annotations", strings},
                                     {"finalizers", std::move(list)},
                                     {"labels", strings},
                                     {"name", typed("string")},
                                     {"namespace", typed("string")}};
    return out;
  }

  // In the order of the notes. A structure's own rules stand beside those of the field that has it.
  void add_rules(const Type& type, std::string_view field, json::object& schema) const {
    for (const SchemaNote& n : notes_) {
      const bool is_rule = n.what == What::rule || n.what == What::immutable;
      if (!is_rule || n.structure != type.name || n.field != field) continue;
      const bool compares = n.what == What::immutable;
      Json& rules = schema["x-kubernetes-validations"];
      if (!rules.is_array()) rules = json::array();
      rules.get_array().push_back(
          json::object{{"rule", compares ? std::string_view("self == oldSelf") : n.value},
                       {"message", compares ? n.value : n.detail}});
    }
  }

  void add_bounds(const Type& type, std::string_view field, json::object& schema) const {
    static constexpr std::array<std::pair<What, std::string_view>, 7> bounds{{
        {What::minimum, "minimum"},
        {What::maximum, "maximum"},
        {What::min_length, "minLength"},
        {What::max_length, "maxLength"},
        {What::min_items, "minItems"},
        {What::max_items, "maxItems"},
        {What::min_properties, "minProperties"},
    }};
    for (const auto& [what, member] : bounds)
      if (const SchemaNote* n = note(type.name, field, what))
        schema[member] = json::parse(n->value);
  }

  void add_fields(const Type& type, json::object& properties) const {
    for (const FieldInfo& field : type.fields) {
      if (field.options.embedded) {
        add_fields(field.type(), properties);
        continue;
      }
      if (note(type.name, field.name, What::absent) != nullptr) continue;
      json::object schema = note(type.name, field.name, What::whole_number) != nullptr
                                ? typed("integer", "int32")
                                : build(field.type());
      if (const SchemaNote* n = note(type.name, field.name, What::list_map)) {
        schema["x-kubernetes-list-type"] = "map";
        schema["x-kubernetes-list-map-keys"] = split(n->value);
      }
      if (const SchemaNote* n = note(type.name, field.name, What::fallback))
        schema["default"] = json::parse(n->value);
      if (note(type.name, field.name, What::set) != nullptr)
        schema["x-kubernetes-list-type"] = "set";
      add_rules(type, field.name, schema);
      if (const SchemaNote* n = note(type.name, field.name, What::allowed))
        schema["enum"] = split(n->value);
      add_bounds(type, field.name, schema);
      if (const SchemaNote* n = note(type.name, field.name, What::item_max_length))
        schema["items"].get_object()["maxLength"] = json::parse(n->value);
      properties[field.name] = std::move(schema);
    }
  }

  json::object structure(const Type& type) const {
    json::object properties;
    add_fields(type, properties);
    json::object out = typed("object");
    out["properties"] = std::move(properties);
    if (const SchemaNote* n = note(type.name, {}, What::required))
      out["required"] = split(n->value);
    add_rules(type, {}, out);
    add_bounds(type, {}, out);
    return out;
  }

  std::span<const SchemaNote> notes_;
};

}  // namespace

Json schema_of(const Type& type, std::span<const SchemaNote> notes) {
  return Builder(notes).build(type);
}

}  // namespace ddptwin
