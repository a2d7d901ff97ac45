#include "scenario/report/object_yaml.hpp"

#include <algorithm>
#include <boost/json/value.hpp>
#include <string_view>

#include "scenario/language/fault_yaml.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

bool is_one_line(const json::value& value) {
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* list = value.if_array()) return list->empty();
  return true;
}

// What a block (|) gives back as it is: plain lines, the first of which has no margin of its own.
bool is_block_text(const json::value& value) {
  if (!value.is_string()) return false;
  const std::string_view text = value.as_string();
  if (text.find('\n') == text.npos || text.front() == ' ' || text.front() == '\n') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

void append_text_block(std::string_view text, const std::string& margin, std::string& out) {
  const std::size_t last = text.find_last_not_of('\n');
  const std::size_t ends = last == text.npos ? text.size() : text.size() - last - 1;
  out += ends == 0 ? "|-\n" : ends == 1 ? "|\n" : "|+\n";
  if (ends > 0) text.remove_suffix(1);
  while (true) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out.append(margin).append(line);
    out += '\n';
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

void append_lines(const json::value& value, const std::string& margin, bool in_list,
                  std::string& out);

// Behind "name:" or "-".
void append_value(const json::value& value, const std::string& margin, std::string& out) {
  if (is_block_text(value)) {
    out += ' ';
    append_text_block(std::string_view(value.as_string()), margin + "  ", out);
  } else if (is_one_line(value)) {
    out += " " + flow_yaml(value) + "\n";
  } else {
    out += '\n';
    append_lines(value, value.is_array() ? margin : margin + "  ", false, out);
  }
}

// `begun`: the margin of the first line stands there already, behind the dash of a list.
void append_lines(const json::value& value, const std::string& margin, bool begun,
                  std::string& out) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      if (!begun) out += margin;
      begun = false;
      out += flow_yaml(json::value(member.key())) + ":";
      append_value(member.value(), margin, out);
    }
    return;
  }
  for (const json::value& element : value.as_array()) {
    if (!begun) out += margin;
    begun = false;
    out += '-';
    if (is_one_line(element)) {
      append_value(element, margin, out);
    } else {
      out += ' ';
      append_lines(element, margin + "  ", true, out);
    }
  }
}

}  // namespace

std::string object_yaml(const json::value& value) {
  if (is_one_line(value)) return flow_yaml(value) + "\n";
  std::string out;
  append_lines(value, "", false, out);
  return out;
}

}  // namespace ddptwin::scenario
