#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "core/time.hpp"
#include "objects/schema.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

namespace json = boost::json;

// A number written with a point or an exponent is one as far as a double counts exactly
// (kube-openapi, IsFloat64AJSONInteger).
bool is_integer(const Json& value) {
  constexpr double exact_max = 9007199254740991;  // 2^53 - 1
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(value.get_double()) == value.get_double() &&
          std::fabs(value.get_double()) <= exact_max);
}

// The name that the validator gives to a value's type.
std::string_view type_name(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return is_integer(value) ? "integer" : "float64";
}

bool has_type(const Json& value, std::string_view type) {
  if (!value.is_number()) return type == type_name(value);
  return type == "number" || (type == "integer" && is_integer(value));
}

std::string shown_value(const Json& value) {
  return value.is_string() ? quoted(std::string_view(value.get_string())) : json::serialize(value);
}

std::string number_text(double number) {
  return std::trunc(number) == number ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

// A walk over a value and its schema that collects what is wrong.
class Validator {
 public:
  explicit Validator(std::string_view root) : root_(root) {}

  void check(const Schema& schema, const Json& value, const FieldPath& path) {
    if (value.is_null() && schema.nullable) return;
    if (!check_type(schema, value, path)) return;
    check_enum(schema, value, path);
    if (value.is_string()) check_string(schema, value, path);
    if (value.is_number()) check_number(schema, value, path);
    if (value.is_array()) check_array(schema, value.get_array(), path);
    if (value.is_object()) check_object(schema, value.get_object(), path);
  }

  // Doubled items of sets and keyed lists; members of maps stand in brackets here.
  void check_lists(const Schema& schema, const Json& value, const FieldPath& path) {
    if (!schema.has_keyed_lists) return;
    if (value.is_array()) {
      const json::array& items = value.get_array();
      check_duplicates(schema, items, path);
      if (schema.items != nullptr)
        for (std::size_t i = 0; i < items.size(); ++i)
          check_lists(*schema.items, items[i], path.item(i));
    } else if (value.is_object()) {
      for (const auto& member : value.get_object()) {
        const auto property = schema.properties.find(std::string_view(member.key()));
        if (property != schema.properties.end())
          check_lists(property->second, member.value(), path.field(member.key()));
        else if (schema.additional != nullptr)
          check_lists(*schema.additional, member.value(), path.key(member.key()));
      }
    }
  }

  // Rules that compare with the value before run where both values exist. What has not changed is
  // not judged again: it may be older than the rule.
  void check_rules(const Schema& schema, const Json& value, const Json* old,
                   const FieldPath& path) {
    if (!schema.has_rules || (old == nullptr && !schema.has_own_rules)) return;
    for (const SchemaRule& rule : schema.rules)
      if (is_broken(rule, value, old)) causes_.push_back(rule_error(rule, value, path));
    if (value.is_array() && schema.items != nullptr)
      return check_items(schema, value.get_array(), old != nullptr ? old->if_array() : nullptr,
                         path);
    if (!value.is_object()) return;
    const json::object* was = old != nullptr ? old->if_object() : nullptr;
    for (const auto& member : value.get_object()) {
      const Json* before = was != nullptr ? was->if_contains(member.key()) : nullptr;
      const auto property = schema.properties.find(std::string_view(member.key()));
      const Schema* child =
          property != schema.properties.end() ? &property->second : schema.additional.get();
      if (child != nullptr) check_rules(*child, member.value(), before, path.field(member.key()));
    }
  }

  // An item of a keyed list is compared with the one of its key, one of another list with none.
  void check_items(const Schema& schema, const json::array& items, const json::array* before,
                   const FieldPath& path) {
    if (!schema.items->has_rules) return;
    const bool is_keyed = before != nullptr && !schema.list_keys.empty();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto is_it = [&](const Json& one) { return same_key(schema, one, items[i]); };
      const Json* was = nullptr;
      if (is_keyed)
        if (const auto found = std::find_if(before->begin(), before->end(), is_it);
            found != before->end())
          was = &*found;
      check_rules(*schema.items, items[i], was, path.item(i));
    }
  }

  bool blocks_rules() const { return blocks_rules_; }
  ErrorList take() { return std::move(causes_); }
  void add(ErrorCause cause) { causes_.push_back(std::move(cause)); }

 private:
  static bool is_broken(const SchemaRule& rule, const Json& value, const Json* old) {
    if (old != nullptr && value == *old) return false;
    if (rule.holds != nullptr) return !rule.holds(value);
    return old != nullptr && rule.rule == "self == oldSelf";
  }

  static ErrorCause rule_error(const SchemaRule& rule, const Json& value, const FieldPath& path) {
    const std::string message = rule.message.empty() ? "failed rule: " + rule.rule : rule.message;
    const std::string field = path.is_root() ? "<nil>" : path.text();
    if (value.is_object() || value.is_array())
      return {"FieldValueInvalid", "Invalid value: " + message, field};
    return invalid(field, shown_value(value), message);
  }

  // The path in the inner text of a message: below the root that is being written.
  std::string inner(const FieldPath& path) const {
    std::string text = path.text();
    if (!root_.empty() && text.starts_with(root_) && text.size() > root_.size() &&
        text[root_.size()] == '.')
      text.erase(0, root_.size() + 1);
    return text;
  }

  void type_error(const FieldPath& path, const Json& value, std::string_view wanted) {
    const std::string shown_type =
        value.is_string() && wanted == "date-time" ? shown_value(value) : quoted(type_name(value));
    causes_.push_back({"FieldValueTypeInvalid",
                       fmt::format("Invalid value: {}: {} in body must be of type {}: {}",
                                   shown_type, inner(path), wanted, shown_type),
                       path});
    blocks_rules_ = true;
  }

  void format_error(const Schema& schema, const FieldPath& path) {
    causes_.push_back(
        {"FieldValueInvalid",
         fmt::format("Invalid value: \"\": Checked value must be of type {} with format {} in {}",
                     schema.type, schema.format, path.text()),
         "<nil>"});
  }

  bool check_type(const Schema& schema, const Json& value, const FieldPath& path) {
    if (schema.int_or_string) {
      if (value.is_string() || (value.is_number() && is_integer(value))) return true;
      type_error(path, value, "integer,string");
      causes_.push_back({"FieldValueInvalid",
                         fmt::format("Invalid value: \"\": {} must validate at least one schema "
                                     "(anyOf)",
                                     inner(path)),
                         "<nil>"});
      type_error(path, value, "integer");
      return false;
    }
    if (schema.type.empty()) return true;
    if (!has_type(value, schema.type)) {
      const bool fraction = schema.type == "integer" && value.is_double();
      type_error(path, value, fraction && !schema.format.empty() ? schema.format : schema.type);
      if (fraction && !schema.format.empty()) format_error(schema, path);
      return false;
    }
    if (schema.format == "date-time"sv && !parse_rfc3339(std::string_view(value.get_string()))) {
      type_error(path, value, "date-time");
      return false;
    }
    return true;
  }

  void check_enum(const Schema& schema, const Json& value, const FieldPath& path) {
    if (schema.allowed.empty() ||
        std::find(schema.allowed.begin(), schema.allowed.end(), value) != schema.allowed.end())
      return;
    std::string list;
    for (const Json& allowed : schema.allowed)
      list += (list.empty() ? "" : ", ") + shown_value(allowed);
    causes_.push_back(
        {"FieldValueNotSupported",
         fmt::format("Unsupported value: {}: supported values: {}", shown_value(value), list),
         path});
    blocks_rules_ = true;
  }

  void check_string(const Schema& schema, const Json& value, const FieldPath& path) {
    const std::string_view text = value.get_string();
    if (schema.max_length && text.size() > *schema.max_length) {
      causes_.push_back(too_long(path, *schema.max_length));
      blocks_rules_ = true;
    }
    if (schema.min_length && text.size() < *schema.min_length)
      causes_.push_back(invalid(path, shown_value(value),
                                fmt::format("{} in body should be at least {} chars long",
                                            inner(path), *schema.min_length)));
    const bool matches = schema.matcher == nullptr ||
                         (schema.is_quantity && is_plain_quantity(text)) ||
                         std::regex_search(text.begin(), text.end(), *schema.matcher);
    if (!matches)
      causes_.push_back(
          invalid(path, shown_value(value),
                  fmt::format("{} in body should match '{}'", inner(path), schema.pattern)));
  }

  void check_number(const Schema& schema, const Json& value, const FieldPath& path) {
    const double number = value.to_number<double>();
    if (schema.format == "int32" && (number < std::numeric_limits<std::int32_t>::min() ||
                                     number > std::numeric_limits<std::int32_t>::max()))
      format_error(schema, path);
    if (schema.maximum && number > *schema.maximum)
      causes_.push_back(invalid(path, shown_value(value),
                                fmt::format("{} in body should be less than or equal to {}",
                                            inner(path), number_text(*schema.maximum))));
    if (schema.minimum && number < *schema.minimum)
      causes_.push_back(invalid(path, shown_value(value),
                                fmt::format("{} in body should be greater than or equal to {}",
                                            inner(path), number_text(*schema.minimum))));
  }

  void check_array(const Schema& schema, const json::array& items, const FieldPath& path) {
    if (schema.max_items && items.size() > *schema.max_items) {
      causes_.push_back(
          {"FieldValueTooMany",
           fmt::format("Too many: {}: must have at most {} items", items.size(), *schema.max_items),
           path});
      blocks_rules_ = true;
    }
    if (schema.min_items && items.size() < *schema.min_items)
      causes_.push_back(invalid(
          path, std::to_string(items.size()),
          fmt::format("{} in body should have at least {} items", inner(path), *schema.min_items)));
    if (schema.items == nullptr) return;
    for (std::size_t i = 0; i < items.size(); ++i) check(*schema.items, items[i], path.item(i));
  }

  void check_object(const Schema& schema, const json::object& object, const FieldPath& path) {
    for (const auto& member : object) {
      const auto property = schema.properties.find(std::string_view(member.key()));
      const Schema* child =
          property != schema.properties.end() ? &property->second : schema.additional.get();
      if (child != nullptr) check(*child, member.value(), path.field(member.key()));
    }
    if (schema.min_properties && object.size() < *schema.min_properties)
      causes_.push_back(invalid(path, std::to_string(object.size()),
                                fmt::format("{} in body should have at least {} properties",
                                            inner(path), *schema.min_properties)));
    for (const std::string& name : schema.required)
      if (!object.contains(name)) {
        causes_.push_back(required(path.field(name)));
        blocks_rules_ = true;
      }
  }

  void check_duplicates(const Schema& schema, const json::array& items, const FieldPath& path) {
    if (!schema.is_set && schema.list_keys.empty()) return;
    for (std::size_t i = 1; i < items.size(); ++i) {
      const auto is_same = [&](const Json& before) { return same_key(schema, before, items[i]); };
      if (std::any_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i), is_same))
        causes_.push_back(duplicate(
            path.item(i), shown_value(schema.is_set ? items[i] : key_of_item(schema, items[i]))));
    }
  }

  static bool same_key(const Schema& schema, const Json& a, const Json& b) {
    if (schema.is_set) return a == b;
    return std::all_of(
        schema.list_keys.begin(), schema.list_keys.end(), [&](const std::string& name) {
          const Json *left = key_part(a, name), *right = key_part(b, name);
          return left == nullptr || right == nullptr ? left == right : *left == *right;
        });
  }
  static Json key_of_item(const Schema& schema, const Json& item) {
    json::object key;
    for (const std::string& name : schema.list_keys)
      if (const Json* part = key_part(item, name); part != nullptr) key[name] = *part;
    return key;
  }
  static const Json* key_part(const Json& item, const std::string& name) {
    return item.is_object() ? item.get_object().if_contains(name) : nullptr;
  }

  std::string root_;
  ErrorList causes_{};
  bool blocks_rules_ = false;
};

}  // namespace

ErrorList validate_schema(const Schema& schema, const Json& value, const Json* old,
                          std::string_view root_path) {
  Validator validator(root_path);
  const FieldPath root(root_path);
  validator.check(schema, value, root);
  if (validator.blocks_rules()) return validator.take();
  validator.check_lists(schema, value, root);
  validator.check_rules(schema, value, old, root);
  return validator.take();
}

bool blocks_rules(const ErrorList& causes) {
  static constexpr std::string_view kinds[] = {"FieldValueTypeInvalid", "FieldValueRequired",
                                               "FieldValueNotSupported", "FieldValueTooLong",
                                               "FieldValueTooMany"};
  return std::any_of(causes.begin(), causes.end(), [](const ErrorCause& cause) {
    return std::find(std::begin(kinds), std::end(kinds), cause.reason) != std::end(kinds);
  });
}

}  // namespace ddptwin
