#include "objects/merge_type.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

// Structures that upstream marks structType=atomic, whichever field they stand in.
constexpr std::array atomic_structures{
    "v1.EndpointPort"sv,    "v1.KeySelector"sv,          "v1.LabelSelector"sv,
    "v1.NodeSelector"sv,    "v1.NodeSelectorTerm"sv,     "v1.LocalObjectReference"sv,
    "v1.ObjectReference"sv, "v1.ObjectFieldSelector"sv,  "v1.ResourceFieldSelector"sv,
    "v1.SecretReference"sv, "v1.TopologySelectorTerm"sv, "v1.TypedLocalObjectReference"sv,
    "v1.ScopeSelector"sv,
};

// Lists that merge in a strategic patch and are one value in an apply.
constexpr std::array atomic_lists{std::pair{"v1.PodStatus"sv, "hostIPs"sv}};

constexpr std::array of_every_object{"apiVersion"sv, "kind"sv, "metadata"sv};

const Type& unwrapped(const Type& type) {
  const Type* at = &type;
  while (at->shape == Shape::pointer || at->shape == Shape::verbatim) at = &at->element();
  return *at;
}

const FieldInfo* find_named_field(const Type& type, std::string_view name) {
  for (const FieldInfo& field : type.fields) {
    if (!field.options.embedded && field.name == name) return &field;
    if (!field.options.embedded) continue;
    if (const FieldInfo* inner = find_named_field(unwrapped(field.type()), name)) return inner;
  }
  return nullptr;
}

bool is_text_shape(Shape shape) {
  return shape == Shape::string || shape == Shape::text || shape == Shape::shared_text;
}

bool merges_items(const FieldOptions* options) {
  return options != nullptr && !options->atomic &&
         (options->set || options->merge == Merge::merge ||
          options->merge == Merge::merge_retain_keys);
}

MergeType::Form form_of_value(const Json* value) {
  if (value != nullptr && value->is_object()) return MergeType::Form::map;
  return value != nullptr && value->is_array() ? MergeType::Form::list : MergeType::Form::scalar;
}

const Schema& text_schema() {
  static const Schema schema = [] {
    Schema made;
    made.type = "string";
    return made;
  }();
  return schema;
}

}  // namespace

MergeType::MergeType(const Type& type, const FieldOptions* options)
    : type_(&unwrapped(type)), options_(options) {
  if (type_->shape == Shape::json) type_ = nullptr;
}

MergeType MergeType::of(const KindInfo& kind, const Schema* schema) {
  MergeType out;
  if (schema != nullptr)
    out = MergeType(*schema);
  else if (kind.type != nullptr)
    out = MergeType(kind.type());
  out.is_root_ = true;
  return out;
}

MergeType::Form MergeType::form(const Json* value) const {
  if (type_ != nullptr) {
    if (type_->shape == Shape::list) return Form::list;
    return type_->shape == Shape::map || type_->shape == Shape::structure ? Form::map
                                                                          : Form::scalar;
  }
  if (schema_ == nullptr || schema_->type.empty())
    return schema_ != nullptr && schema_->int_or_string ? Form::scalar : form_of_value(value);
  if (schema_->type == "array") return Form::list;
  return schema_->type == "object" ? Form::map : Form::scalar;
}

MergeType::Scalar MergeType::scalar() const {
  if (type_ != nullptr) switch (type_->shape) {
      case Shape::boolean:
        return Scalar::boolean;
      case Shape::int32:
      case Shape::int64:
      case Shape::number:
        return Scalar::number;
      case Shape::quantity:
      case Shape::int_or_string:
      case Shape::time:
      case Shape::micro_time:
        return Scalar::any;
      default:
        return Scalar::string;
    }
  if (schema_ == nullptr) return Scalar::any;
  if (schema_->type == "string") return Scalar::string;
  if (schema_->type == "boolean") return Scalar::boolean;
  return schema_->type == "integer" || schema_->type == "number" ? Scalar::number : Scalar::any;
}

bool MergeType::is_atomic(Form form) const {
  if (form == Form::list) {
    if (type_ != nullptr) return !merges_items(options_);
    return schema_ == nullptr || (!schema_->is_set && schema_->list_keys.empty());
  }
  if (schema_ != nullptr) return schema_->is_atomic;
  if (type_ == nullptr) return false;
  if (options_ != nullptr && options_->atomic) return true;
  return std::find(atomic_structures.begin(), atomic_structures.end(), type_->name) !=
         atomic_structures.end();
}

std::vector<std::string_view> MergeType::keys() const {
  std::vector<std::string_view> out;
  if (schema_ != nullptr) {
    out.assign(schema_->list_keys.begin(), schema_->list_keys.end());
  } else if (options_ != nullptr) {
    std::string_view rest = options_->list_keys.empty() ? options_->merge_key : options_->list_keys;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      out.push_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

MergeType MergeType::element() const {
  if (type_ != nullptr) return MergeType(type_->element());
  return schema_ != nullptr && schema_->items != nullptr ? MergeType(*schema_->items) : MergeType();
}

const FieldInfo* MergeType::field(std::string_view name) const {
  return type_ != nullptr && type_->shape == Shape::structure ? find_named_field(*type_, name)
                                                              : nullptr;
}

std::optional<Json> MergeType::key_default(std::string_view key) const {
  const MergeType item = element();
  if (item.schema_ != nullptr) {
    const auto found = item.schema_->properties.find(key);
    if (found == item.schema_->properties.end() || found->second.fallback == nullptr)
      return std::nullopt;
    return *found->second.fallback;
  }
  const FieldInfo* found = item.field(key);
  if (found == nullptr) return std::nullopt;
  if (key == "protocol") return Json("TCP");
  if (!found->options.always) return std::nullopt;
  return is_text_shape(unwrapped(found->type()).shape) ? Json("") : Json(0);
}

bool MergeType::declares(std::string_view name) const {
  if (is_whole() &&
      std::find(of_every_object.begin(), of_every_object.end(), name) != of_every_object.end())
    return true;
  if (schema_ != nullptr) return schema_->properties.contains(name);
  return field(name) != nullptr;
}

std::optional<MergeType> MergeType::member(std::string_view name) const {
  if (is_whole() && (name == "apiVersion" || name == "kind")) return MergeType(text_schema());
  if (is_whole() && name == "metadata") return MergeType(ObjectMeta::type());
  if (schema_ != nullptr) {
    const auto found = schema_->properties.find(name);
    if (found != schema_->properties.end()) return MergeType(found->second);
    if (schema_->additional != nullptr) return MergeType(*schema_->additional);
    const bool open = schema_->preserve_unknown || schema_->type.empty();
    return open ? std::optional(MergeType()) : std::nullopt;
  }
  if (type_ == nullptr) return MergeType();
  if (type_->shape == Shape::map) return MergeType(type_->element());
  if (const FieldInfo* found = field(name)) {
    static constexpr FieldOptions one_value{.atomic = true};
    const bool apart = std::find(atomic_lists.begin(), atomic_lists.end(),
                                 std::pair(type_->name, name)) != atomic_lists.end();
    return MergeType(found->type(), apart ? &one_value : &found->options);
  }
  return std::nullopt;
}

}  // namespace ddptwin
