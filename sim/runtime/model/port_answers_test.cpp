// What requests of probes meet on the modelled network.
#include "runtime/model/port_answers.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "core/virtual_loop.hpp"
#include "runtime/model/network.hpp"

namespace ddptwin::model::port_answers_test {
namespace {

using namespace std::chrono_literals;
using To = PortAnswers::To;

constexpr const char* pod = "10.244.0.2";
constexpr ProcessId server = 7;

class PortAnswersTest : public testing::Test {
 protected:
  PortAnswersTest() {
    network_.attach(pod);
    for (const auto& [port, answers] :
         {std::pair<std::uint16_t, PortAnswers>{8080, {.to = To::all}},
          {8081, {.to = To::http, .http_status = 503, .delay = 300ms}},
          {8082, {.to = To::grpc, .serving = 2, .delay = 2s}},
          {8083, {}}})
      EXPECT_TRUE(network_.listen(pod, port, server, nullptr, answers));
  }

  // What came, and when; nothing: it still waits.
  std::optional<PortReply> ask(PortProtocol protocol, std::uint16_t port, Duration patience = 1s) {
    answer_.reset();
    network_.ask({.protocol = protocol, .address = pod, .port = port}, patience, lane_,
                 [this](Result<PortReply> got) { answer_ = *got, when_ = loop_.now(); });
    const Time asked = loop_.now();
    loop_.run_until(asked + 10s);
    took_ = when_ - asked;
    return answer_;
  }

  VirtualLoop loop_{Random(1), Time(0s), VirtualLoop::Order::fifo};
  Network network_{loop_, 100us, 3s};
  Lane lane_ = loop_.new_lane();
  std::optional<PortReply> answer_{};
  Time when_{};
  Duration took_{};
};

TEST_F(PortAnswersTest, each_answers_what_it_is_for) {
  EXPECT_EQ(ask(PortProtocol::http, 8080)->status, 200);
  EXPECT_EQ(ask(PortProtocol::grpc, 8080)->status, grpc_serving);
  EXPECT_EQ(ask(PortProtocol::http, 8081)->status, 503);
  EXPECT_EQ(ask(PortProtocol::https, 8081)->broken,
            "http: server gave HTTP response to HTTPS client");
  EXPECT_TRUE(ask(PortProtocol::grpc, 8081)->late);
  EXPECT_EQ(ask(PortProtocol::grpc, 8082, 3s)->status, 2);
  // The frame that its server sends first, quoted as Go quotes it.
  EXPECT_EQ(ask(PortProtocol::http, 8082)->broken,
            R"(net/http: HTTP/1.x transport connection broken: malformed HTTP response )"
            R"("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00@\x00")");
  EXPECT_TRUE(ask(PortProtocol::http, 8083)->late);
  EXPECT_EQ(ask(PortProtocol::http, 8084)->dial, ECONNREFUSED);
}

TEST_F(PortAnswersTest, takes_its_time_and_the_askers_patience_ends) {
  ask(PortProtocol::http, 8081);
  EXPECT_NEAR(static_cast<double>(took_ / 1ms), 300, 1);
  EXPECT_TRUE(ask(PortProtocol::http, 8081, 200ms)->late);
  EXPECT_NEAR(static_cast<double>(took_ / 1ms), 200, 1);
  constexpr int deadline_exceeded = 4;
  EXPECT_EQ(ask(PortProtocol::grpc, 8082)->code, deadline_exceeded);
  EXPECT_EQ(took_, 1s);
  EXPECT_FALSE(ask(PortProtocol::http, 8083, Duration::zero()));
}

TEST_F(PortAnswersTest, who_ends_before_it_answers_has_closed_the_connection) {
  const auto end = loop_.after(lane_, 1s, [this] { network_.close_all(server); });
  EXPECT_EQ(ask(PortProtocol::grpc, 8082, 5s)->broken, "EOF");
  EXPECT_EQ(took_, 1s);
}

}  // namespace
}  // namespace ddptwin::model::port_answers_test
