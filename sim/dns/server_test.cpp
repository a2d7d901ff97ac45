// The real client against the real sockets: dig, and glibc's own way of asking over TCP.
#include "dns/server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <cstdio>
#include <thread>

#include "dns/test_objects.hpp"
#include "dns/wire.hpp"

namespace ddptwin::dns::server_test {
namespace {

using namespace test;

class DnsServer : public testing::Test {
 protected:
  DnsServer() {
    zone.change(nullptr, namespace_("ns"), Time());
    zone.change(nullptr, service("h", "None", {{"p", 23456}}), Time());
    zone.change(nullptr, slice("h", {endpoint("10.244.0.1", "s-0")}, {{"p", 23456}}), Time());
    std::vector<Endpoint> many;
    for (int i = 0; i < 100; ++i) many.push_back(endpoint("10.1.0." + std::to_string(i)));
    zone.change(nullptr, service("many", "None"), Time());
    zone.change(nullptr, slice("many", many), Time());
    auto bound = bind_sockets("127.0.0.1", 0);
    EXPECT_TRUE(bound) << bound.error().text();
    port = bound->port;
    server.emplace(loop, resolver, *bound);
  }

  // Runs something that blocks on a thread of its own while the loop serves here.
  template <class Work>
  void while_serving(Work work) {
    std::thread client([&] {
      work();
      boost::asio::post(io, [this] { io.stop(); });
    });
    io.restart();
    io.run();
    client.join();
  }

  std::string dig(const std::string& arguments) {
    const std::string command = "dig @127.0.0.1 -p " + std::to_string(port) +
                                " +tries=1 +timeout=5 +nocmd " + arguments + " 2>&1";
    std::string output;
    while_serving([&] {
      FILE* pipe = popen(command.c_str(), "r");
      std::array<char, 4096> buffer{};
      while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
        output.append(buffer.data(), size);
      pclose(pipe);
    });
    return output;
  }

  boost::asio::io_context io;
  RealLoop loop{io};
  Trace trace{loop};
  Zone zone;
  Resolver resolver{loop, trace, Random(1), zone};
  std::optional<Server> server;
  std::uint16_t port = 0;
};

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(DnsServer, answers_dig_over_udp) {
  EXPECT_THAT(dig("s-0.h.ns.svc.cluster.local"),
              AllOf(HasSubstr("status: NOERROR"), HasSubstr("flags: qr aa rd ra;"),
                    HasSubstr("EDNS: version: 0"), HasSubstr("udp: 1232"),
                    HasSubstr("s-0.h.ns.svc.cluster.local. 30\tIN\tA\t10.244.0.1")));
  EXPECT_EQ(dig("+short _p._tcp.h.ns.svc.cluster.local SRV"),
            "0 100 23456 s-0.h.ns.svc.cluster.local.\n");
  EXPECT_EQ(dig("+short -x 10.244.0.1"), "s-0.h.ns.svc.cluster.local.\n");
}

TEST_F(DnsServer, answers_dig_over_tcp) {
  EXPECT_EQ(dig("+short +tcp s-0.h.ns.svc.cluster.local"), "10.244.0.1\n");
  // Two questions on one connection.
  EXPECT_EQ(dig("+short +tcp +keepopen s-0.h.ns.svc.cluster.local h.ns.svc.cluster.local"),
            "10.244.0.1\n10.244.0.1\n");
}

TEST_F(DnsServer, negative_answers_carry_the_soa) {
  EXPECT_THAT(dig("s-1.h.ns.svc.cluster.local"),
              AllOf(HasSubstr("status: NXDOMAIN"), HasSubstr("IN\tSOA\tns.dns.cluster.local.")));
  EXPECT_THAT(dig("s-0.h.ns.svc.cluster.local AAAA"),
              AllOf(HasSubstr("status: NOERROR"), HasSubstr("ANSWER: 0, AUTHORITY: 1")));
}

TEST_F(DnsServer, an_answer_too_long_for_udp_is_fetched_over_tcp) {
  const std::string cut = dig("+ignore +bufsize=512 many.ns.svc.cluster.local");
  EXPECT_THAT(cut, HasSubstr("flags: qr aa tc rd ra;"));
  const std::string whole = dig("+noedns many.ns.svc.cluster.local");
  EXPECT_THAT(whole, AllOf(HasSubstr("retrying in TCP mode"), HasSubstr("ANSWER: 100,"),
                           Not(HasSubstr(" tc "))));
}

TEST_F(DnsServer, refuses_an_unknown_edns_version) {
  EXPECT_THAT(dig("+edns=1 +noednsneg h.ns.svc.cluster.local"), HasSubstr("status: BADVERS"));
}

TEST_F(DnsServer, rubbish_does_not_stop_it) {
  while_serving([&] {
    const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Random random(3);
    for (int i = 0; i < 500; ++i) {
      Bytes bytes(random.below(100));
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
      sendto(descriptor, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to),
             sizeof to);
    }
    close(descriptor);
  });
  EXPECT_EQ(dig("+short s-0.h.ns.svc.cluster.local"), "10.244.0.1\n");
}

TEST_F(DnsServer, a_late_answer_reaches_who_waits) {
  resolver.set_fault([](const Query&) { return Verdict{.delay = 200ms}; });
  EXPECT_EQ(dig("+short s-0.h.ns.svc.cluster.local"), "10.244.0.1\n");
  EXPECT_EQ(dig("+short +tcp s-0.h.ns.svc.cluster.local"), "10.244.0.1\n");
}

TEST_F(DnsServer, a_lost_answer_is_a_timeout) {
  resolver.set_fault([](const Query&) { return Verdict{.lose = true}; });
  EXPECT_THAT(dig("+timeout=1 h.ns.svc.cluster.local"), HasSubstr("no servers could be reached"));
}

TEST_F(DnsServer, its_end_frees_the_port) {
  dig("+tcp h.ns.svc.cluster.local");
  server.reset();
  io.restart();
  io.poll();
  const auto again = bind_sockets("127.0.0.1", port);
  ASSERT_TRUE(again) << again.error().text();
  close(again->udp);
  close(again->tcp);
}

TEST(DnsSockets, a_bad_address_is_an_error) {
  const auto bad = bind_sockets("not-an-ip", 53);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "\"not-an-ip\" is not an IP address");
  EXPECT_FALSE(bind_sockets("192.0.2.1", 0));  // nobody's address here
}

}  // namespace
}  // namespace ddptwin::dns::server_test
