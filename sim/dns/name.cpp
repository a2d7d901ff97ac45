#include "dns/name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::dns {
namespace {

constexpr std::size_t label_size_max = 63;

bool is_plain(unsigned char c) {
  return c > ' ' && c < 0x7f && c != '.' && c != '\\' && c != '"' && c != ';' && c != '(' &&
         c != ')' && c != '@' && c != '$';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The byte that an escape at the start of `text` stands for, and how long the escape is; 0: none.
std::size_t unescape(std::string_view text, char& byte) {
  if (text.size() < 2) return 0;
  if (!is_digit(text[1])) {
    byte = text[1];
    return 2;
  }
  if (text.size() < 4 || !is_digit(text[2]) || !is_digit(text[3])) return 0;
  const int code = (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  if (code > 255) return 0;
  byte = static_cast<char>(code);
  return 4;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(Reason::bad_input, fmt::format("\"{}\" is not a domain name: {}", text, why));
}

}  // namespace

Result<Name> Name::parse(std::string_view text) {
  Name name;
  if (text == ".") return name;
  if (text.empty()) return refuse(text, "it is empty");
  std::string label;
  for (std::size_t i = 0; i < text.size();) {
    char byte = text[i];
    std::size_t used = 1;
    if (byte == '\\') {
      used = unescape(text.substr(i), byte);
      if (used == 0) return refuse(text, "a backslash that escapes nothing");
    } else if (byte == '.') {
      if (label.empty()) return refuse(text, "an empty label");
      name.labels.push_back(std::exchange(label, {}));
      ++i;
      continue;
    }
    label += byte;
    if (label.size() > label_size_max) return refuse(text, "a label of more than 63 bytes");
    i += used;
  }
  if (!label.empty()) name.labels.push_back(std::move(label));
  if (name.wire_size() > name_size_max) return refuse(text, "longer than 253 bytes");
  return name;
}

std::string Name::text() const {
  if (labels.empty()) return ".";
  std::string out;
  for (const std::string& label : labels) {
    for (const char c : label) {
      const auto byte = static_cast<unsigned char>(c);
      if (is_plain(byte))
        out += c;
      else
        out += fmt::format("\\{:03}", byte);
    }
    out += '.';
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Name Name::lower() const {
  Name out;
  for (const std::string& label : labels) out.labels.push_back(dns::lower(label));
  return out;
}

bool Name::ends_with(const Name& zone) const {
  return labels.size() >= zone.labels.size() &&
         std::equal(zone.labels.rbegin(), zone.labels.rend(), labels.rbegin());
}

std::size_t Name::wire_size() const {
  std::size_t size = 1;
  for (const std::string& label : labels) size += 1 + label.size();
  return size;
}

Name operator+(Name head, const Name& tail) {
  head.labels.insert(head.labels.end(), tail.labels.begin(), tail.labels.end());
  return head;
}

}  // namespace ddptwin::dns
