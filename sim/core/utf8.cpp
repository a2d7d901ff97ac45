#include "core/utf8.hpp"

#include <algorithm>
#include <array>

namespace ddptwin {
namespace {

// Which second bytes may follow a first byte; all later ones are 80..BF (Unicode 15, table 3-7).
struct Lead {
  unsigned char first, last;  // of the first byte
  std::size_t size;           // of the whole sequence
  unsigned char second_min, second_max;
};
constexpr std::array leads{Lead{0x00, 0x7f, 1, 0, 0},       Lead{0xc2, 0xdf, 2, 0x80, 0xbf},
                           Lead{0xe0, 0xe0, 3, 0xa0, 0xbf}, Lead{0xe1, 0xec, 3, 0x80, 0xbf},
                           Lead{0xed, 0xed, 3, 0x80, 0x9f}, Lead{0xee, 0xef, 3, 0x80, 0xbf},
                           Lead{0xf0, 0xf0, 4, 0x90, 0xbf}, Lead{0xf1, 0xf3, 4, 0x80, 0xbf},
                           Lead{0xf4, 0xf4, 4, 0x80, 0x8f}};

constexpr int longest_sequence = 4;

struct Sequence {
  std::size_t size;
  bool valid;
};

// What the bytes, of which there is at least one, begin with.
Sequence first_sequence(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto lead = std::find_if(leads.begin(), leads.end(), [&](const Lead& row) {
    return at(0) >= row.first && at(0) <= row.last;
  });
  if (lead == leads.end()) return {1, false};
  for (std::size_t i = 1; i < lead->size; ++i) {
    const unsigned char min = i == 1 ? lead->second_min : 0x80;
    const unsigned char max = i == 1 ? lead->second_max : 0xbf;
    if (i == bytes.size() || at(i) < min || at(i) > max) return {i, false};
  }
  return {lead->size, true};
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const Sequence sequence = first_sequence(text);
  return sequence.valid ? sequence.size : 0;
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = first_sequence(bytes);
    text += sequence.valid ? bytes.substr(0, sequence.size) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(sequence.size);
  }
  return text;
}

std::string_view utf8_head(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  for (int i = 1; i < longest_sequence && end > 0 && continues(text[end]); ++i) --end;
  return text.substr(0, continues(text[end]) ? bytes_max : end);
}

std::string_view utf8_tail(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.remove_prefix(text.size() - bytes_max);
  while (!text.empty() && continues(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace ddptwin
