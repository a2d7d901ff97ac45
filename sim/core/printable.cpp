#include "core/printable.hpp"

#include <array>
#include <cstdint>

#include "core/utf8.hpp"

namespace ddptwin {
namespace {

constexpr char escape = '\x1b';

// Characters of more than one byte that a terminal obeys, or that break or turn a row.
struct CodeRange {
  std::uint32_t first, last;
};
constexpr std::array<CodeRange, 4> unprintable{
    {{0x80, 0x9f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}}};

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  std::uint32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6U | (byte(i) & 0x3fU);
  return code;
}

bool is_unprintable(std::uint32_t code) {
  for (const CodeRange& range : unprintable)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

void add_hex(std::string& out, std::string_view lead, std::uint32_t number, int digits) {
  out += lead;
  for (int i = digits - 1; i >= 0; --i)
    out += "0123456789abcdef"[number >> (4U * static_cast<unsigned>(i)) & 0xfU];
}

void add_control(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      add_hex(out, "\\x", static_cast<unsigned char>(c), 2);
  }
}

// Of the escape sequence that the text begins with; 0: it is none, or has no end.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2 || text[0] != escape) return 0;
  const auto in = [](char c, char first, char last) { return c >= first && c <= last; };
  if (text[1] == '[') {  // control sequence: parameters, then a final byte
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (in(text[i], '@', '~')) return i + 1;
      if (!in(text[i], ' ', '?')) return 0;
    }
    return 0;
  }
  if (text[1] == ']') {  // a command to the system: to BEL or ESC backslash
    const std::size_t end = text.find_first_of("\a\x1b", 2);
    if (end == text.npos) return 0;
    if (text[end] == '\a') return end + 1;
    return end + 1 < text.size() && text[end + 1] == '\\' ? end + 2 : 0;
  }
  return in(text[1], '@', '_') ? 2 : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (first < 0x20 || first == 0x7f) {
      add_control(out, text.front());
    } else if (first < 0x80) {
      out += text.front();
    } else if (length = utf8_length(text); length == 0) {
      length = 1;
      add_hex(out, "\\x", first, 2);
    } else if (const std::uint32_t code = code_point(text.substr(0, length));
               is_unprintable(code)) {
      add_hex(out, "\\u", code, 4);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string printable_line(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  while (!line.empty()) {
    std::size_t length = sequence_length(line);
    if (length == 0) {
      plain += line.front() == '\t' ? ' ' : line.front();
      length = 1;
    }
    line.remove_prefix(length);
  }
  return printable(plain);
}

}  // namespace ddptwin
