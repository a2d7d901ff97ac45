// The schema of a custom resource: what is pruned, what is filled in, what is refused
// (spec/kubernetes.md section 1.16). Compiled once from the openAPIV3Schema of its definition.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "objects/field_path.hpp"
#include "objects/kinds.hpp"
#include "objects/schema_rules.hpp"

namespace ddptwin {

// A rule of x-kubernetes-validations. `self == oldSelf` is understood, the value may not change
// while it exists, and what schema_rules.hpp lists; others are never broken.
struct SchemaRule {
  std::string rule{};
  std::string message{};
  RuleHolds holds = nullptr;  // null: it compares with the value before, or is not understood
};

// Finds a member's name among many that begin alike: most differ in their lengths.
struct ByLength {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

struct Schema {
  std::string type{};    // object, array, string, integer, number, boolean; empty: anything
  std::string format{};  // int32, int64, date-time, ...
  bool nullable = false;
  bool preserve_unknown = false;
  bool int_or_string = false;
  bool embedded = false;  // a whole object with metadata of its own
  std::map<std::string, Schema, ByLength> properties{};
  std::vector<std::string> defaulted{};  // properties that have a default, in alphabetical order
  std::shared_ptr<const Schema> additional{};  // of the values of a map
  std::shared_ptr<const Schema> items{};
  std::vector<std::string> required{};
  std::vector<Json> allowed{};  // enum
  std::optional<double> minimum{}, maximum{};
  std::optional<std::size_t> min_length{}, max_length{}, min_items{}, max_items{};
  std::optional<std::size_t> min_properties{};
  std::string pattern{};
  std::shared_ptr<const std::regex> matcher{};
  bool is_quantity = false;                // the pattern is that of quantities
  std::shared_ptr<const Json> fallback{};  // default
  bool is_set = false;                     // list type set
  std::vector<std::string> list_keys{};    // list type map
  bool is_atomic = false;                  // map type atomic
  std::vector<SchemaRule> rules{};
  // Here or anywhere below; a walk leaves out what has none.
  bool has_rules = false, has_own_rules = false;  // own: that need no value before
  bool has_defaults = false, has_keyed_lists = false;

  static Result<Schema> compile(const Json& source);
};

// Drops what the schema does not know and reports the paths, in the order of the body. Also drops
// null where it is not allowed and no default stands in.
void prune(const Schema& schema, Json& value, const FieldPath& path,
           std::vector<std::string>& unknown);
void fill_defaults(const Schema& schema, Json& value);
// Errors in the schema's order. `old` may be null; rules that compare need it. Paths begin with
// `root_path` ("status" of a write to /status), which the inner text of a message leaves out.
ErrorList validate_schema(const Schema& schema, const Json& value, const Json* old,
                          std::string_view root_path = {});
// Whether one of the errors keeps the rules from being looked at.
bool blocks_rules(const ErrorList& causes);

}  // namespace ddptwin
