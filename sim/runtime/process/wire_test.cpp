#include "runtime/process/wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddptwin::sandbox::wire_test {
namespace {

TEST(Wire, WhatAPeerSaidLastIsHeardAlthoughItReadNothing) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  ASSERT_TRUE(send_message(ends[0], "never read", {}));
  ASSERT_TRUE(send_message(ends[1], "no user namespaces here", {}));
  ::close(ends[1]);
  const std::optional<Message> last = receive_message(ends[0]);
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->end);
  EXPECT_EQ(last->body, "no user namespaces here");
  const std::optional<Message> end = receive_message(ends[0]);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->end);
  ::close(ends[0]);
}

}  // namespace
}  // namespace ddptwin::sandbox::wire_test
