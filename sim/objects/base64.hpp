// Base64 as Go reads and writes it: bytes of Secrets, continue tokens of lists.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace ddptwin {

std::string to_base64(std::span<const std::uint8_t> bytes);
// Go's StdEncoding: padding is a must, line breaks are skipped. The error is the index of the bad
// byte.
tl::expected<std::vector<std::uint8_t>, std::size_t> from_base64(std::string_view text);

// Go's RawURLEncoding of a text: '-' and '_', no padding.
std::string to_base64_url(std::string_view text);
tl::expected<std::string, std::size_t> from_base64_url(std::string_view text);

}  // namespace ddptwin
