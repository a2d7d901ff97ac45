#include "objects/base64.hpp"

#include <algorithm>

namespace ddptwin {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t chunk = static_cast<std::uint32_t>(bytes[i]) << 16;
    if (i + 1 < bytes.size()) chunk |= static_cast<std::uint32_t>(bytes[i + 1]) << 8;
    if (i + 2 < bytes.size()) chunk |= bytes[i + 2];
    text.push_back(alphabet[(chunk >> 18) & 63]);
    text.push_back(alphabet[(chunk >> 12) & 63]);
    text.push_back(i + 1 < bytes.size() ? alphabet[(chunk >> 6) & 63] : '=');
    text.push_back(i + 2 < bytes.size() ? alphabet[chunk & 63] : '=');
  }
  return text;
}

tl::expected<std::vector<std::uint8_t>, std::size_t> from_base64(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t chunk = 0;
  int held = 0, padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      if (held < 2 || held + padding >= 4) return tl::make_unexpected(i);
      ++padding;
      continue;
    }
    const auto digit = alphabet.find(c);
    if (digit == std::string_view::npos || padding > 0) return tl::make_unexpected(i);
    chunk = (chunk << 6) | static_cast<std::uint32_t>(digit);
    if (++held == 4) {
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(chunk >> shift));
      chunk = 0;
      held = 0;
    }
  }
  if (held == 0 && padding == 0) return bytes;
  if (held + padding != 4) return tl::make_unexpected(text.size());
  bytes.push_back(static_cast<std::uint8_t>(chunk >> (held == 2 ? 4 : 10)));
  if (held == 3) bytes.push_back(static_cast<std::uint8_t>(chunk >> 2));
  return bytes;
}

std::string to_base64_url(std::string_view text) {
  std::string out = to_base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  out.resize(std::min(out.size(), out.find('=')));
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

tl::expected<std::string, std::size_t> from_base64_url(std::string_view text) {
  if (const std::size_t bad = text.find_first_of("+/="); bad != std::string_view::npos)
    return tl::make_unexpected(bad);
  std::string padded(text);
  std::replace(padded.begin(), padded.end(), '-', '+');
  std::replace(padded.begin(), padded.end(), '_', '/');
  padded.append((4 - text.size() % 4) % 4, '=');
  const auto bytes = from_base64(padded);
  if (!bytes) return tl::make_unexpected(std::min(bytes.error(), text.size()));
  return std::string(bytes->begin(), bytes->end());
}

}  // namespace ddptwin
