// Whole values over a connected socket, in the encoding of the store's protocol. Everything throws
// PythonError with c10d's word for it when the peer is gone or silent.
#pragma once

#include <cstddef>
#include <string>

namespace ddptwin::workers {

void send_bytes(int fd, const void* bytes, std::size_t size);
void receive_bytes(int fd, void* bytes, std::size_t size);

template <class T>
void send_number(int fd, T number) {
  send_bytes(fd, &number, sizeof number);
}

template <class T>
T receive_number(int fd) {
  T number{};
  receive_bytes(fd, &number, sizeof number);
  return number;
}

void send_text(int fd, const std::string& text);
std::string receive_text(int fd);

}  // namespace ddptwin::workers
