// Reading a part of a scenario by a table of its fields. The same tables make
// docs/reference/scenario.md.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "objects/quantity.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::scenario {

// A value of the document and where it stands.
class YamlNode {
 public:
  YamlNode(const YamlDocument& document, const boost::json::value& value, std::string path)
      : document_(&document), value_(&value), path_(std::move(path)) {}

  const boost::json::value& value() const { return *value_; }
  const YamlDocument& document() const { return *document_; }
  const std::string& path() const { return path_; }
  std::string where() const { return document_->where(path_); }
  // The value on one line, as YAML flow text, cut to a readable length.
  std::string text() const;

  // An error at this place.
  tl::unexpected<Error> fail(std::string message) const;
  tl::unexpected<Error> fail_at(std::string_view field, std::string message) const;
  // Of the field of a list's element.
  tl::unexpected<Error> fail_at_index(std::size_t index, std::string_view field,
                                      std::string message) const;
  // "must be TYPE, not what it is".
  tl::unexpected<Error> must_be(std::string_view what) const;

  Result<std::string> as_text() const;        // a string that is not empty
  Result<std::string> as_any_scalar() const;  // also a number or boolean, as its text
  Result<Quantity> as_quantity() const;       // 0 or more: "4Gi", 2, 1.5
  Result<std::int64_t> as_integer() const;
  Result<std::int64_t> as_count(std::int64_t least = 0) const;
  Result<int> as_signal() const;  // KILL, SIGKILL or 9
  Result<bool> as_bool() const;
  Result<Duration> as_duration() const;  // "1m30s", or a number of seconds
  Result<std::vector<YamlNode>> as_list() const;
  Result<std::vector<std::pair<std::string, YamlNode>>> as_map() const;
  // A member of a map, or nothing.
  std::optional<YamlNode> member(std::string_view name) const;

 private:
  std::string scalar_text() const;  // of a number as it was written

  const YamlDocument* document_;
  const boost::json::value* value_;
  std::string path_;
};

// One field of a T. Names and texts are literals.
template <class T, class Context>
struct Field {
  std::string_view name;
  std::string_view shape;  // what the value is, in words
  std::string_view help;
  Status (*read)(const YamlNode& node, T& to, const Context& context);
  bool required = false;
};

// Whether a known name is one or two slips away.
bool is_near(std::string_view name, std::span<const std::string_view> known);
// " (did you mean NAME?)" when a known name is near, else " (known: ...)".
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

Status check_fields(const YamlNode& map, std::span<const std::string_view> known,
                    std::span<const std::string_view> required);

template <class T, class Context, std::size_t size>
std::vector<std::string_view> names_of(const std::array<Field<T, Context>, size>& fields) {
  std::vector<std::string_view> names;
  for (const auto& field : fields) names.push_back(field.name);
  return names;
}

// Reads each member of the map by its row. Unknown fields and missing required ones are errors.
template <class T, class Context, std::size_t size>
Status read_fields(const YamlNode& map, const std::array<Field<T, Context>, size>& fields, T& to,
                   const Context& context) {
  std::vector<std::string_view> required;
  for (const auto& field : fields) {
    if (field.required) required.push_back(field.name);
  }
  TRY_VOID(check_fields(map, names_of(fields), required));
  TRY(const auto members, map.as_map());
  for (const auto& [name, node] : members) {
    const auto row = std::find_if(fields.begin(), fields.end(),
                                  [&key = name](const auto& field) { return field.name == key; });
    TRY_VOID(row->read(node, to, context));
  }
  return {};
}

// One table of the reference page.
struct ReferenceRow {
  std::string_view name, shape, help;
  bool required = false;
};
struct ReferenceTable {
  std::string_view title;
  std::string_view intro;
  std::vector<ReferenceRow> rows;
};

template <class T, class Context, std::size_t size>
ReferenceTable reference_of(std::string_view title, std::string_view intro,
                            const std::array<Field<T, Context>, size>& fields) {
  ReferenceTable table{title, intro, {}};
  for (const auto& field : fields)
    table.rows.push_back({field.name, field.shape, field.help, field.required});
  return table;
}

}  // namespace ddptwin::scenario
