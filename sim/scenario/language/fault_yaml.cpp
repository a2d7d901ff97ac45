#include "scenario/language/fault_yaml.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/yaml.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// Whether a reader takes the bare word for that very text. Everything else is quoted, as JSON is
// YAML too.
bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 12> words{
      "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan", "infinity"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_safe = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_safe)) return false;
  // "1m30s": no number ends with an s.
  if (!is_letter(text.front())) return text.back() == 's' && parse_go_duration(text).has_value();
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(words.begin(), words.end(), lower) == words.end();
}

std::string text_yaml(std::string_view text) {
  return is_plain(text) ? std::string(text)
                        : json::serialize(json::string_view(text.data(), text.size()));
}

void append_flow(const json::value& value, std::string& out) {
  const auto separate = [&out](char open) {
    if (out.back() != open) out += ", ";
  };
  if (const auto* object = value.if_object()) {
    std::string inner = "{";
    std::swap(out, inner);
    for (const auto& member : *object) {
      separate('{');
      out += text_yaml(std::string_view(member.key())) + ": ";
      append_flow(member.value(), out);
    }
    out = inner + out + "}";
  } else if (const auto* list = value.if_array()) {
    std::string inner = "[";
    std::swap(out, inner);
    for (const json::value& element : *list) {
      separate('[');
      append_flow(element, out);
    }
    out = inner + out + "]";
  } else if (const auto* text = value.if_string()) {
    out += text_yaml(std::string_view(*text));
  } else if (value.is_double() && number_text(value).find_first_of(".e") != std::string::npos) {
    out += number_text(value);  // not 1.13E0, which a reader of texts refuses
  } else {
    out += json::serialize(value);
  }
}

bool is_scalar(const json::value& value) {
  return (!value.is_object() || value.as_object().empty()) &&
         (!value.is_array() || value.as_array().empty());
}

// A line holds a value of this length at most; what is longer is written in blocks.
constexpr std::size_t flow_length_max = 80;

bool fits(const json::value& value, std::size_t depth) {
  return is_scalar(value) || (depth > 0 && flow_yaml(value).size() <= flow_length_max);
}

void append_block(const json::value& value, std::size_t indent, std::size_t depth,
                  std::string& out) {
  const std::string margin(indent, ' ');
  bool first = true;
  const auto begin_line = [&] {
    if (!first) out += margin;
    first = false;
  };
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      begin_line();
      out += text_yaml(std::string_view(member.key())) + ":";
      if (fits(member.value(), depth)) {
        out += " " + flow_yaml(member.value()) + "\n";
        continue;
      }
      out += "\n" + margin + "  ";
      append_block(member.value(), indent + 2, depth + 1, out);
    }
  } else if (const auto* list = value.if_array()) {
    for (const json::value& element : *list) {
      begin_line();
      out += "- ";
      if (fits(element, depth))
        out += flow_yaml(element) + "\n";
      else
        append_block(element, indent + 2, depth + 1, out);
    }
  } else {
    out += flow_yaml(value) + "\n";
  }
}

}  // namespace

std::string flow_yaml(const json::value& value) {
  std::string out;
  append_flow(value, out);
  return out;
}

std::string block_yaml(const json::value& value) {
  if (is_scalar(value)) return flow_yaml(value) + "\n";
  std::string out;
  append_block(value, 0, 0, out);
  return out;
}

json::object to_json(const Fault& fault) {
  const FaultRow& row = row_of(fault.kind);
  json::object out;
  const auto put_text = [&out](std::string_view name, const std::string& text) {
    if (!text.empty()) out[name] = text;
  };
  const auto put_duration = [&out](std::string_view name, const std::optional<Duration>& value) {
    if (value) out[name] = format_go_duration(*value);
  };
  const auto put_number = [&out](std::string_view name, const std::optional<std::int64_t>& value) {
    if (value) out[name] = *value;
  };
  out[row.port] = row.effect;
  put_text("of", fault.of);
  put_text("to", fault.to);
  put_text("verb", fault.verb);
  put_text("kind", fault.object_kind);
  put_text("name", fault.object);
  put_text("container", fault.container);
  put_text("from", fault.from);
  put_number("rank", fault.which.rank);
  put_text("command", fault.which.command);
  if (fault.which.group) out["group"] = true;
  put_duration("at", fault.at);
  if (fault.when) out["when"] = *fault.when->source.get();
  put_number("nth", fault.nth);
  put_number("step", fault.step);
  put_duration("for", fault.lasts);
  if (fault.until) out["until"] = *fault.until->source.get();
  put_duration("delay", fault.delay);
  put_number("code", fault.code);
  put_number("signal", fault.signal);
  put_text("address", fault.address);
  put_text("message", fault.message);
  return out;
}

std::string to_yaml(const Fault& fault) { return flow_yaml(to_json(fault)); }

}  // namespace ddptwin::scenario
