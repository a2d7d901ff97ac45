// Values to bytes and back, and packets that carry descriptors: how ddptwin and its sandbox
// supervisor talk. A struct is described once, by `static void each(auto& self, auto&& field)`,
// which names its members in order; writing and reading follow that description, so that they
// cannot disagree. Host byte order: both ends are one machine and one build.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "workers/zygote_protocol.hpp"

namespace ddptwin::sandbox {

using zygote::Reader;
using zygote::Writer;

template <class T>
void write_value(Writer& out, const T& value);
template <class T>
void read_value(Reader& in, T& value);

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
void write_value(Writer& out, const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    out.number(value);
  } else if constexpr (std::same_as<T, std::string>) {
    out.text(value);
  } else if constexpr (is_vector<T>) {
    out.number(static_cast<std::uint32_t>(value.size()));
    for (const auto& item : value) write_value(out, item);
  } else {
    T::each(value, [&](const auto& member) { write_value(out, member); });
  }
}

template <class T>
void read_value(Reader& in, T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    value = in.number<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    value = in.text();
  } else if constexpr (is_vector<T>) {
    for (auto left = in.number<std::uint32_t>(); left > 0 && in.good(); --left) {
      read_value(in, value.emplace_back());
    }
  } else {
    T::each(value, [&](auto& member) { read_value(in, member); });
  }
}

template <class T>
std::string encode(const T& value) {
  Writer out;
  write_value(out, value);
  return out.take();
}

// Nothing if the bytes are not exactly one T.
template <class T>
std::optional<T> decode(std::string_view bytes) {
  Reader in(bytes);
  T value;
  read_value(in, value);
  if (!in.at_end()) return std::nullopt;
  return value;
}

// One message is one packet of a SOCK_SEQPACKET socket; a body too large for a packet travels in a
// memfd beside it. False leaves errno (EAGAIN when a non-blocking socket is full).
bool send_message(int socket, std::string_view body, const std::vector<int>& fds);

struct Message {
  std::string body;
  std::vector<int> fds;  // the receiver's, close-on-exec
  bool end = false;      // the other side is gone
};
// Nothing on an error (errno; EAGAIN when nothing is there yet).
std::optional<Message> receive_message(int socket);

}  // namespace ddptwin::sandbox
