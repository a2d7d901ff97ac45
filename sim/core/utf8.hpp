// Programs print bytes, and files hold them; what the trace and the API carry is text.
#pragma once

#include <string>
#include <string_view>

namespace ddptwin {

// Of the sequence that the text, which is not empty, begins with; 0: it is not UTF-8 (RFC 3629).
std::size_t utf8_length(std::string_view text);
// The text with U+FFFD for each longest beginning of a sequence that is not UTF-8 (Unicode 15,
// §3.9, "substitution of maximal subparts").
std::string valid_utf8(std::string_view bytes);
// The first or last characters of the text that have room in so many bytes. What is not UTF-8 may
// be cut anywhere.
std::string_view utf8_head(std::string_view text, std::size_t bytes_max);
std::string_view utf8_tail(std::string_view text, std::size_t bytes_max);

}  // namespace ddptwin
