#include "scenario/language/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/serialize.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "core/signals.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

std::string_view type_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "text";
    case json::kind::array:
      return value.as_array().empty() ? "an empty list" : "a list";
    case json::kind::object:
      return value.as_object().empty() ? "an empty map" : "a map";
  }
  return "";
}

// Slips between two words: a letter that is other, missing or too many, or two that changed places.
// Letters of either case are alike.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto alike = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  std::vector<std::size_t> earlier, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (alike(i, j) ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && alike(i, j - 1) && alike(i - 1, j))
        row[j + 1] = std::min(row[j + 1], earlier[j - 1] + 1);
    }
    earlier = std::exchange(last, row);
  }
  return last.back();
}

// As YAML flow text, but for a reader's eye: quotes only where a text would look like something
// else.
void append_readable(const json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    out += '{';
    for (const auto& member : *object) {
      if (out.back() != '{') out += ", ";
      out.append(member.key().data(), member.key().size());
      out += ": ";
      append_readable(member.value(), out);
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const auto& element : *array) {
      if (out.back() != '[') out += ", ";
      append_readable(element, out);
    }
    out += ']';
  } else if (const auto* text = value.if_string();
             text != nullptr && !text->empty() &&
             std::string_view(*text).find_first_of(",:{}[]\"'\n#") == std::string_view::npos) {
    out.append(text->data(), text->size());
  } else {
    out += json::serialize(value);
  }
}

constexpr std::size_t text_length_max = 100;

}  // namespace

std::string YamlNode::text() const {
  std::string out;
  append_readable(*value_, out);
  if (out.size() > text_length_max) {
    out.resize(text_length_max);
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U)
      out.pop_back();
    out += "...";
  }
  return out;
}

tl::unexpected<Error> YamlNode::fail(std::string message) const {
  return ddptwin::fail(Reason::bad_input, std::move(message), where());
}

tl::unexpected<Error> YamlNode::fail_at(std::string_view field, std::string message) const {
  const std::string path = path_.empty() ? std::string(field) : fmt::format("{}.{}", path_, field);
  return ddptwin::fail(Reason::bad_input, std::move(message), document_->where(path));
}

std::string YamlNode::scalar_text() const {
  return value_->is_number() ? document_->number_at(path_, *value_) : json::serialize(*value_);
}

tl::unexpected<Error> YamlNode::fail_at_index(std::size_t index, std::string_view field,
                                              std::string message) const {
  return ddptwin::fail(Reason::bad_input, std::move(message),
                       document_->where(fmt::format("{}[{}].{}", path_, index, field)));
}

tl::unexpected<Error> YamlNode::must_be(std::string_view what) const {
  const bool scalar = !value_->is_object() && !value_->is_array() && !value_->is_null();
  return fail(scalar ? fmt::format("must be {}, not {}", what, scalar_text())
                     : fmt::format("must be {}, not {}", what, type_name(*value_)));
}

Result<std::string> YamlNode::as_text() const {
  // YAML 1.1 reads n, no, off, 5 and 1e3 as something else.
  if (value_->is_bool() || value_->is_number())
    return fail(fmt::format("must be text, not {}; in quotes it is text", scalar_text()));
  if (!value_->is_string() || value_->as_string().empty()) return must_be("text");
  return std::string(value_->as_string());
}

Result<std::string> YamlNode::as_any_scalar() const {
  if (value_->is_string()) return std::string(value_->as_string());
  if (value_->is_object() || value_->is_array() || value_->is_null()) return must_be("text");
  // Of 1.10 and 0755 only the numbers are known where a scenario is written anew (explore).
  if (value_->is_number() && scalar_text() != number_text(*value_))
    return fail(fmt::format("must be text, not {}; in quotes it is text", scalar_text()));
  return value_->is_number() ? number_text(*value_) : json::serialize(*value_);
}

Result<Quantity> YamlNode::as_quantity() const {
  if (!value_->is_string() && !value_->is_number()) return must_be("a quantity");
  auto quantity = Quantity::parse(value_->is_string() ? std::string_view(value_->as_string())
                                                      : std::string_view(number_text(*value_)));
  if (!quantity) return fail(quantity.error().message);
  if (*quantity < Quantity()) return must_be("0 or more");
  return std::move(*quantity);
}

Result<std::int64_t> YamlNode::as_integer() const {
  if (!value_->is_int64()) return must_be("a whole number");
  return value_->as_int64();
}

Result<std::int64_t> YamlNode::as_count(std::int64_t least) const {
  TRY(const std::int64_t number, as_integer());
  if (number < least) return must_be(fmt::format("{} or more", least));
  return number;
}

Result<int> YamlNode::as_signal() const {
  if (const auto* number = value_->if_int64()) {
    if (*number < 1 || *number > signal_number_max)
      return must_be(fmt::format("a signal's name or 1 to {}", signal_number_max));
    return static_cast<int>(*number);
  }
  if (!value_->is_string()) return must_be("a signal's name or number");
  const std::string_view name(value_->as_string());
  if (const auto number = signal_number(name)) return *number;
  std::vector<std::string_view> known;
  for (const SignalRow& row : signal_rows()) known.push_back(row.name);
  const std::string_view bare = name.starts_with("SIG") ? name.substr(3) : name;
  return fail(fmt::format("unknown signal \"{}\"{}", name, suggestion(bare, known)));
}

Result<bool> YamlNode::as_bool() const {
  if (!value_->is_bool()) return must_be("true or false");
  return value_->as_bool();
}

Result<Duration> YamlNode::as_duration() const {
  constexpr std::string_view what = "a duration (500ms, 2s, 1m30s)";
  constexpr Duration duration_max = std::chrono::hours(24 * 365);
  std::optional<Duration> duration;
  if (value_->is_string()) {
    duration = parse_go_duration(std::string_view(value_->as_string()));
  } else if (value_->is_int64() || value_->is_double()) {
    // Judged as it is: a Duration cannot hold every number of seconds.
    const double seconds =
        value_->is_int64() ? static_cast<double>(value_->as_int64()) : value_->as_double();
    if (seconds >= 0 && seconds <= seconds_of(duration_max))
      duration = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  if (!duration || *duration < Duration::zero() || *duration > duration_max) return must_be(what);
  return *duration;
}

Result<std::vector<YamlNode>> YamlNode::as_list() const {
  if (!value_->is_array()) return must_be("a list");
  std::vector<YamlNode> nodes;
  for (const json::value& element : value_->as_array())
    nodes.emplace_back(*document_, element, fmt::format("{}[{}]", path_, nodes.size()));
  return nodes;
}

Result<std::vector<std::pair<std::string, YamlNode>>> YamlNode::as_map() const {
  if (!value_->is_object()) return must_be("a map");
  std::vector<std::pair<std::string, YamlNode>> members;
  for (const auto& member : value_->as_object()) {
    const std::string key(member.key());
    members.emplace_back(
        key, YamlNode(*document_, member.value(), path_.empty() ? key : path_ + "." + key));
  }
  return members;
}

std::optional<YamlNode> YamlNode::member(std::string_view name) const {
  if (!value_->is_object()) return std::nullopt;
  const auto* found = value_->as_object().if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr) return std::nullopt;
  return YamlNode(*document_, *found,
                  path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name));
}

bool is_near(std::string_view name, std::span<const std::string_view> known) {
  const std::size_t tolerated = std::max<std::size_t>(2, name.size() / 3);
  return std::any_of(known.begin(), known.end(), [&](std::string_view candidate) {
    return distance(name, candidate) <= tolerated;
  });
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  std::erase(names, "");  // one of no name cannot be asked for
  const auto nearest =
      std::min_element(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
        return distance(name, a) < distance(name, b);
      });
  if (nearest == names.end()) return "";
  if (is_near(name, names)) return fmt::format(" (did you mean {}?)", *nearest);
  return fmt::format(" (known: {})", fmt::join(names, ", "));
}

Status check_fields(const YamlNode& map, std::span<const std::string_view> known,
                    std::span<const std::string_view> required) {
  TRY(const auto members, map.as_map());
  for (const auto& [name, node] : members) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return node.fail(fmt::format("unknown field \"{}\"{}", name, suggestion(name, known)));
  }
  for (const std::string_view name : required) {
    if (!map.member(name)) return map.fail(fmt::format("the field {} is missing", name));
  }
  return {};
}

}  // namespace ddptwin::scenario
