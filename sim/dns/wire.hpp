// DNS messages to bytes and back (RFC 1035 section 4). Pure; no input can crash it or make it run
// for long: every count is held against the bytes that are there, and a compression pointer must
// point backwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dns/message.hpp"

namespace ddptwin::dns {

using Bytes = std::vector<std::uint8_t>;

// Reads a whole message; bytes after its last record are ignored, as other servers do. The error
// says what is wrong and at which byte.
Result<Message> decode(std::span<const std::uint8_t> bytes);

// Writes a message of at most `limit` bytes (at least 512). What does not fit is left out from the
// end, record by record, and the truncated bit is set; the OPT record always stays.
Bytes encode(const Message& message, std::size_t limit);

}  // namespace ddptwin::dns
