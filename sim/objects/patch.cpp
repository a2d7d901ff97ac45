#include "objects/patch.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "core/numbers.hpp"
#include "objects/json_text.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

tl::unexpected<Error> rejected() {
  Error error{Reason::invalid,
              {},
              "the server rejected our request due to an error in our request",
              std::make_shared<ErrorDetails>(),
              0};
  return fail(std::move(error));
}

std::string_view go_kind(const Json& value) {
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_null() ? "null" : "number";
}

std::string unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1'))
      out += token[++i] == '0' ? '~' : '/';
    else
      out += token[i];
  }
  return out;
}

// The pointer's segments; what stands before the first slash is lost, as upstream loses it.
std::vector<std::string> segments_of(std::string_view pointer) {
  std::vector<std::string> out;
  std::size_t at = pointer.find('/');
  while (at != std::string_view::npos) {
    const std::size_t next = pointer.find('/', at + 1);
    out.push_back(unescape(pointer.substr(
        at + 1, next == std::string_view::npos ? std::string_view::npos : next - at - 1)));
    at = next;
  }
  return out;
}

// The index that a segment names in an array of that size; negative ones count from its end.
std::optional<std::size_t> index_of(std::string_view segment, std::size_t size) {
  auto n = go_integer<std::int64_t>(segment);
  if (!n) return std::nullopt;
  if (*n < 0) *n += static_cast<std::int64_t>(size);
  if (*n < 0 || *n >= static_cast<std::int64_t>(size)) return std::nullopt;
  return static_cast<std::size_t>(*n);
}

Json* child(Json& parent, std::string_view segment) {
  if (parent.is_object()) return parent.get_object().if_contains(segment);
  if (!parent.is_array()) return nullptr;
  const auto index = index_of(segment, parent.get_array().size());
  return index ? &parent.get_array()[*index] : nullptr;
}

Json* walk(Json& document, const std::vector<std::string>& path, std::size_t depth) {
  Json* at = &document;
  for (std::size_t i = 0; i < depth && at != nullptr; ++i) at = child(*at, path[i]);
  return at;
}

bool add_at(Json& document, const std::vector<std::string>& path, Json value) {
  if (path.empty()) {
    document = std::move(value);
    return true;
  }
  Json* parent = walk(document, path, path.size() - 1);
  if (parent == nullptr) return false;
  const std::string& last = path.back();
  if (parent->is_object()) {
    parent->get_object()[last] = std::move(value);
    return true;
  }
  if (!parent->is_array()) return false;
  auto& array = parent->get_array();
  // One place more than there are items: behind the last.
  const auto index = last == "-" ? std::optional(array.size()) : index_of(last, array.size() + 1);
  if (!index) return false;
  array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return true;
}

bool remove_at(Json& document, const std::vector<std::string>& path) {
  if (path.empty()) return false;
  Json* parent = walk(document, path, path.size() - 1);
  if (parent == nullptr) return false;
  if (parent->is_object()) return parent->get_object().erase(path.back()) > 0;
  if (!parent->is_array()) return false;
  const auto index = index_of(path.back(), parent->get_array().size());
  if (!index) return false;
  parent->get_array().erase(parent->get_array().begin() + static_cast<std::ptrdiff_t>(*index));
  return true;
}

bool replace_at(Json& document, const std::vector<std::string>& path, Json value) {
  if (path.empty()) return add_at(document, path, std::move(value));
  Json* parent = walk(document, path, path.size() - 1);
  if (parent == nullptr) return false;
  if (parent->is_object()) return add_at(document, path, std::move(value));
  Json* at = child(*parent, path.back());
  if (at == nullptr) return false;
  *at = std::move(value);
  return true;
}

bool run(Json& document, const json::object& operation) {
  const std::string op = text_member(operation, "op");
  const auto path = segments_of(text_member(operation, "path"));
  const Json* given = operation.if_contains("value");
  Json value = given != nullptr ? *given : Json(nullptr);
  if (op == "add") return add_at(document, path, std::move(value));
  if (op == "remove") return remove_at(document, path);
  if (op == "replace") return replace_at(document, path, std::move(value));
  if (op == "test") {
    const Json* at = walk(document, path, path.size());
    return at != nullptr ? *at == value : value.is_null();
  }
  if (op != "move" && op != "copy") return false;
  const auto from = segments_of(text_member(operation, "from"));
  const Json* source = walk(document, from, from.size());
  if (source == nullptr) return false;
  Json moved = *source;
  if (op == "move" && !remove_at(document, from)) return false;
  return add_at(document, path, std::move(moved));
}

Json merged(const Json& document, const Json& patch) {
  if (!patch.is_object()) return patch;
  json::object out = document.is_object() ? document.get_object() : json::object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      out.erase(member.key());
      continue;
    }
    const Json* old = out.if_contains(member.key());
    out[member.key()] = merged(old != nullptr ? *old : Json(nullptr), member.value());
  }
  return out;
}

}  // namespace

Result<Json> apply_json_patch(const Json& document, const Json& patch) {
  if (!patch.is_array())
    return fail(Reason::bad_request, "error decoding patch: json: cannot unmarshal " +
                                         std::string(go_kind(patch)) +
                                         " into Go value of type []handlers.jsonPatchOp");
  Json out = document;
  for (const Json& operation : patch.get_array())
    if (!operation.is_object() || !run(out, operation.get_object())) return rejected();
  return out;
}

Result<Json> apply_merge_patch(const Json& document, const Json& patch) {
  if (!patch.is_object())
    return fail(Reason::bad_request, "error decoding patch: json: cannot unmarshal " +
                                         std::string(go_kind(patch)) +
                                         " into Go value of type map[string]interface {}");
  return merged(document, patch);
}

}  // namespace ddptwin
