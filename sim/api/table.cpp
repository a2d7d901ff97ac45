#include "api/table.hpp"

#include <boost/json.hpp>
#include <charconv>

#include "objects/codec.hpp"

namespace ddptwin::api {
namespace {

namespace json = boost::json;

// The JSONPath that printer columns use: fields, [index] (negative: from the end) and [from:]
// slices. Nothing where the path leads nowhere.
const Json* follow(const Json& root, std::string_view path) {
  const Json* at = &root;
  while (!path.empty() && at != nullptr) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      const std::string_view name = path.substr(0, path.find_first_of(".["));
      path.remove_prefix(name.size());
      if (name.empty()) continue;
      at = at->is_object() ? at->get_object().if_contains(name) : nullptr;
    } else if (path.front() == '[') {
      const auto close = path.find(']');
      if (close == std::string_view::npos) return nullptr;
      std::string_view inside = path.substr(1, close - 1);
      path.remove_prefix(close + 1);
      int index = 0;
      const auto parsed = std::from_chars(inside.data(), inside.data() + inside.size(), index);
      if (parsed.ec != std::errc{} || !at->is_array()) return nullptr;
      const auto size = static_cast<int>(at->get_array().size());
      if (index < 0) index += size;
      at = index >= 0 && index < size ? &at->get_array()[static_cast<std::size_t>(index)] : nullptr;
    } else {
      return nullptr;
    }
  }
  return at;
}

Json cell(const PrinterColumn& column, const Object& object, const Json& body, Time now) {
  if (column.cell) return Json(column.cell(object, now));
  const Json* value = follow(body, column.json_path);
  if (value == nullptr || value->is_null()) return nullptr;
  if (column.type == "date" && value->is_string()) {
    const auto time = parse_rfc3339(value->get_string());
    return time ? Json(format_age(now - *time)) : Json("<unknown>");
  }
  return *value;
}

json::object column_of(std::string_view name, std::string_view type, std::string_view format,
                       int priority) {
  return {{"name", name}, {"type", type}, {"format", format}, {"priority", priority}};
}

json::object row_of(const KindInfo& kind, const Object& object, Time now) {
  const Json body = encode(object);
  json::array cells{object.metadata.name};
  for (const PrinterColumn& column : kind.columns) cells.push_back(cell(column, object, body, now));
  json::object partial{{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}};
  partial.emplace("metadata", body.get_object().at("metadata"));
  return {{"cells", std::move(cells)}, {"object", std::move(partial)}};
}

}  // namespace

Json table_of(const KindInfo& kind, const Response& response, Time now) {
  json::array columns{column_of("Name", "string", "name", 0)};
  for (const PrinterColumn& column : kind.columns)
    columns.push_back(column_of(column.name, column.type, column.format, column.priority));
  json::array rows;
  if (response.object) rows.push_back(row_of(kind, *response.object, now));
  for (const ObjectPtr& object : response.items) rows.push_back(row_of(kind, *object, now));
  json::object metadata;
  if (!response.resource_version.empty())
    metadata.emplace("resourceVersion", response.resource_version);
  if (!response.continue_.empty()) metadata.emplace("continue", response.continue_);
  if (response.remaining) metadata.emplace("remainingItemCount", *response.remaining);
  return json::object{{"kind", "Table"},
                      {"apiVersion", "meta.k8s.io/v1"},
                      {"metadata", std::move(metadata)},
                      {"columnDefinitions", std::move(columns)},
                      {"rows", std::move(rows)}};
}

}  // namespace ddptwin::api
