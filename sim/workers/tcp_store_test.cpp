#include "tcp_store.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>

#include "error.hpp"
#include "rendezvous.hpp"

namespace ddptwin::workers::tcp_store_test {
namespace {

using namespace std::chrono_literals;

RankEnvironment rank_one(int port) {
  return {.rank = 1, .world_size = 2, .master_addr = "127.0.0.1", .master_port = port};
}

class Store : public testing::Test {
 protected:
  TcpStoreServer server_{0};
  TcpStoreClient client_{"127.0.0.1", server_.port(), 10s};
};

TEST_F(Store, keeps_what_is_set_and_counts_what_is_added) {
  client_.set("/a", std::string("x\0y", 3));
  EXPECT_EQ(client_.get("/a"), std::string("x\0y", 3));
  EXPECT_EQ(client_.add("/n", 2), 2);
  EXPECT_EQ(client_.add("/n", -5), -3);
  EXPECT_EQ(client_.get("/n"), "-3");
  EXPECT_TRUE(client_.check({"/a", "/n"}));
  EXPECT_FALSE(client_.check({"/a", "/b"}));
}

TEST_F(Store, lets_a_client_wait_until_all_its_keys_are_there) {
  auto waited = std::async(std::launch::async, [&] {
    TcpStoreClient other("127.0.0.1", server_.port(), 10s);
    other.wait({"/a", "/b"}, 10s);
    return other.get("/a") + other.get("/b");
  });
  client_.set("/b", "2");
  client_.set("/a", "1");
  EXPECT_EQ(waited.get(), "12");
}

TEST_F(Store, ends_a_wait_with_c10ds_words) {
  try {
    client_.wait({"/never"}, 20ms);
    ADD_FAILURE();
  } catch (const PythonError& error) {
    EXPECT_EQ(error.type(), "RuntimeError");
    EXPECT_STREQ(error.what(), "Socket Timeout");
  }
}

TEST_F(Store, goes_on_when_a_waiting_client_leaves) {
  {
    TcpStoreClient other("127.0.0.1", server_.port(), 10s);
    EXPECT_THROW(other.wait({"/late"}, 1ms), PythonError);
  }
  client_.set("/late", "now");
  EXPECT_EQ(client_.get("/late"), "now");
}

TEST_F(Store, refuses_a_second_server_on_its_port) {
  try {
    TcpStoreServer second(server_.port());
    ADD_FAILURE();
  } catch (const PythonError& error) {
    const std::string port = std::to_string(server_.port());
    EXPECT_EQ(std::string(error.what()),
              "The server socket has failed to listen on any local network address. The server "
              "socket has failed to bind to [::]:" +
                  port +
                  " (errno: 98 - Address already in use). The server socket has failed to bind to "
                  "0.0.0.0:" +
                  port + " (errno: 98 - Address already in use).");
  }
}

TEST(StoreClient, gives_up_a_second_before_its_timeout_when_nobody_listens) {
  const int port = TcpStoreServer(0).port();  // free again
  const auto start = std::chrono::steady_clock::now();
  try {
    TcpStoreClient client("127.0.0.1", port, 2s);
    ADD_FAILURE();
  } catch (const PythonError& error) {
    EXPECT_EQ(error.type(), "TimeoutError");
    EXPECT_EQ(std::string(error.what()),
              "The client socket has timed out after 2s while trying to connect to (127.0.0.1, " +
                  std::to_string(port) + ").");
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1s);
}

// A listener that takes no more: further SYNs are dropped, as by a firewall.
class SilentPort {
 public:
  SilentPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    for (const int filler : fillers_) {
      ::connect(filler, reinterpret_cast<sockaddr*>(&address), size);
    }
    port_ = ntohs(address.sin_port);
  }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  ~SilentPort() {
    ::close(listener_);
    for (const int filler : fillers_) ::close(filler);
  }
  int port() const { return port_; }

 private:
  static int make_socket() {
    return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  }

  int listener_ = make_socket();
  std::array<int, 3> fillers_{make_socket(), make_socket(), make_socket()};
  int port_ = 0;
};

TEST(StoreClient, waits_its_timeout_and_no_longer_where_nothing_answers) {
  const SilentPort silent;
  const auto start = std::chrono::steady_clock::now();
  await_master(rank_one(silent.port()), 100ms);
  try {
    TcpStoreClient client("127.0.0.1", silent.port(), 1s);
    ADD_FAILURE();
  } catch (const PythonError& error) {
    EXPECT_EQ(error.type(), "TimeoutError");
  }
  const auto passed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(passed, 1100ms);
  EXPECT_LT(passed, 60s) << "the kernel's own patience is 127 s";
}

TEST(StoreClient, finds_a_server_that_comes_within_the_eager_window) {
  const int port = TcpStoreServer(0).port();
  auto found = std::async(std::launch::async, [&] {
    await_master(rank_one(port), 10s);
    return TcpStoreClient("127.0.0.1", port, 1s).add("/n", 1);  // 1 s: it may not try twice
  });
  TcpStoreServer server(port);
  EXPECT_EQ(found.get(), 1);
}

TEST(StoreClient, of_the_rank_that_hosts_the_store_awaits_its_own_name_only) {
  RankEnvironment zero = rank_one(TcpStoreServer(0).port());
  zero.rank = 0;
  const auto start = std::chrono::steady_clock::now();
  await_master(zero, 50s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 40s);
}

}  // namespace
}  // namespace ddptwin::workers::tcp_store_test
