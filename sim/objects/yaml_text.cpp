#include "objects/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <vector>

#include "objects/yaml_scalar.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

bool is_key_digit(char c) { return c >= '0' && c <= '9'; }
bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// The digits of `text` that begin at `at`.
std::string_view key_digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_key_digit(text[end])) ++end;
  return text.substr(at, end - at);
}

// Go's YAML sorts keys as people do: numbers by their value, letters behind all else.
bool key_less(std::string_view a, std::string_view b) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (a[i] == b[i]) continue;
    if (is_key_letter(a[i]) || is_key_letter(b[i])) {
      if (is_key_letter(a[i]) && is_key_letter(b[i])) return a[i] < b[i];
      return is_key_letter(b[i]);
    }
    const std::string_view left = key_digits_at(a, i), right = key_digits_at(b, i);
    if (left.size() != right.size()) return left.size() < right.size();
    return a[i] < b[i];
  }
  return a.size() < b.size();
}

// A text that YAML would take for something else where it stood alone.
bool is_another_value(std::string_view text) {
  const auto value = resolve_plain_scalar(text);
  if (!value) return true;  // .nan, .inf
  if (!value->is_string()) return true;
  // A timestamp stays text to Kubernetes, and is none to YAML.
  const bool dated = text.size() >= 10 && text[4] == '-' && text[7] == '-' &&
                     std::all_of(text.begin(), text.begin() + 4, is_key_digit);
  if (dated) return true;
  // Numbers of base 60 and words that older readers take for booleans.
  const auto is_sixty = [](std::string_view one) {
    return one.find(':') != one.npos && std::all_of(one.begin(), one.end(), [](char c) {
             return is_key_digit(c) || c == ':' || c == '.' || c == '_' || c == '+' || c == '-';
           });
  };
  return is_sixty(text);
}

// What may not stand without quotes.
bool needs_quotes(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return true;
  if (std::string_view("#,[]{}&*!|>'\"%@`").find(text.front()) != std::string_view::npos)
    return true;
  const bool alone = text.size() == 1 || text[1] == ' ';
  if (std::string_view("-?:").find(text.front()) != std::string_view::npos && alone) return true;
  if (text.starts_with("---") || text.starts_with("...")) return true;
  return text.find(": ") != text.npos || text.ends_with(':') || text.find(" #") != text.npos;
}

bool is_plain_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string in_single_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

class YamlWriter {
 public:
  void document(const json::value& value) {
    if (is_block(value))
      block(value, 0, false);
    else
      out_ += scalar(value, 0) + "\n";
  }
  std::string take() { return std::move(out_); }

 private:
  static bool is_block(const json::value& value) {
    return (value.is_object() && !value.get_object().empty()) ||
           (value.is_array() && !value.get_array().empty());
  }

  static std::string lines_of(std::string_view text, std::size_t indent) {
    const bool ends = text.ends_with('\n');
    const bool ends_twice = text.ends_with("\n\n") || text == "\n";
    std::string out = "|";
    if (text.front() == ' ' || text.front() == '\n') out += "2";
    out += !ends ? "-" : ends_twice ? "+" : "";
    std::string_view rest = ends ? text.substr(0, text.size() - 1) : text;
    while (true) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      out += "\n";
      if (!line.empty()) out.append(indent, ' ').append(line);
      if (end == rest.npos) return out;
      rest.remove_prefix(end + 1);
    }
  }

  static std::string text_of(std::string_view text, std::size_t indent) {
    if (text.find('\n') != text.npos && is_printable_lines(text)) return lines_of(text, indent);
    if (text.empty() || is_another_value(text) || !is_plain_line(text))
      return json::serialize(json::string_view(text.data(), text.size()));
    return needs_quotes(text) ? in_single_quotes(text) : std::string(text);
  }
  static bool is_printable_lines(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    });
  }

  static std::string scalar(const json::value& value, std::size_t indent) {
    if (value.is_object()) return "{}";
    if (value.is_array()) return "[]";
    if (value.is_string()) return text_of(value.get_string(), indent);
    return json::serialize(value);
  }

  // `begun`: the first line stands behind a dash already.
  void block(const json::value& value, std::size_t indent, bool begun) {
    if (value.is_array()) {
      for (const json::value& item : value.get_array()) {
        begin_line(indent, begun);
        out_ += "- ";
        element(item, indent + 2, true);
      }
      return;
    }
    std::vector<std::string_view> keys;
    for (const auto& member : value.get_object()) keys.emplace_back(member.key());
    std::sort(keys.begin(), keys.end(), key_less);
    for (const std::string_view key : keys) {
      begin_line(indent, begun);
      out_ += text_of(key, indent) + ":";
      const json::value& member = value.get_object().at(key);
      if (!is_block(member)) {
        out_ += " " + scalar(member, indent + 2) + "\n";
        continue;
      }
      out_ += "\n";
      block(member, member.is_array() ? indent : indent + 2, false);
    }
  }

  void element(const json::value& item, std::size_t indent, bool begun) {
    if (is_block(item))
      block(item, indent, begun);
    else
      out_ += scalar(item, indent) + "\n";
  }

  void begin_line(std::size_t indent, bool& begun) {
    if (!begun) out_.append(indent, ' ');
    begun = false;
  }

  std::string out_{};
};

}  // namespace

std::string to_yaml_text(const json::value& value) {
  YamlWriter writer;
  writer.document(value);
  return writer.take();
}

}  // namespace ddptwin
