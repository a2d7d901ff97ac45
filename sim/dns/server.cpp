#include "dns/server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <set>

#include "dns/exchange.hpp"

namespace ddptwin::dns {
namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;

namespace {

constexpr auto as_codes = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t datagram_size_max = 65535;
constexpr int bind_tries_max = 20;
constexpr std::chrono::milliseconds accept_pause{100};  // after a failed accept: out of descriptors

// The family a descriptor was made with, which Asio wants to be told.
template <class Protocol>
Protocol protocol_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? Protocol::v6() : Protocol::v4();
}

}  // namespace

struct Server::State : std::enable_shared_from_this<State> {
  State(RealLoop& real_loop, Resolver& zone_resolver, Sockets sockets)
      : loop(real_loop),
        resolver(&zone_resolver),
        datagrams(loop.io(), protocol_of<udp>(sockets.udp), sockets.udp),
        acceptor(loop.io(), protocol_of<tcp>(sockets.tcp), sockets.tcp) {}

  asio::awaitable<void> serve_datagrams();
  asio::awaitable<void> accept_connections();
  asio::awaitable<void> serve_connection(std::shared_ptr<tcp::socket> socket);
  asio::awaitable<bool> answer_over_tcp(std::shared_ptr<tcp::socket> socket, Asked asked,
                                        std::string client);
  void answer_over_udp(Asked asked, udp::endpoint client);
  void send(Bytes reply, udp::endpoint client);
  void close();

  RealLoop& loop;
  Resolver* resolver;  // null once the server has ended
  udp::socket datagrams;
  tcp::acceptor acceptor;
  std::set<std::shared_ptr<tcp::socket>> connections{};
};

namespace {

// Resolver::ask as an Asio operation. An answer that never comes (the resolver has ended) destroys
// the coroutine that waits for it.
asio::awaitable<std::optional<Answer>> ask(RealLoop& loop, Resolver& resolver, Query query) {
  auto initiate = [&loop, &resolver, query = std::move(query)](auto handler) mutable {
    auto done = [handler = std::move(handler)](std::optional<Answer> answer) mutable {
      std::move(handler)(std::move(answer));
    };
    loop.enter([&] { resolver.ask(std::move(query), std::move(done)); });
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable),
                                          void(std::optional<Answer>)>(std::move(initiate),
                                                                       asio::use_awaitable);
}

// A message over TCP is its length and its bytes.
Bytes framed(const Bytes& reply) {
  constexpr std::size_t prefix = 2;
  Bytes out(prefix + reply.size());
  out[0] = static_cast<std::uint8_t>(reply.size() >> 8);
  out[1] = static_cast<std::uint8_t>(reply.size() & 0xff);
  std::copy(reply.begin(), reply.end(), out.begin() + prefix);
  return out;
}

}  // namespace

void Server::State::send(Bytes reply, udp::endpoint client) {
  auto bytes = std::make_shared<const Bytes>(std::move(reply));
  // A client that is gone, or a full buffer: UDP promises nothing.
  datagrams.async_send_to(asio::buffer(*bytes), client,
                          [bytes](boost::system::error_code, std::size_t) {});
}

void Server::State::answer_over_udp(Asked asked, udp::endpoint client) {
  Query query{asked.question(), client.address().to_string()};
  auto done = [state = weak_from_this(), asked = std::move(asked),
               client](std::optional<Answer> answer) {
    const auto self = state.lock();
    if (!self || !answer || !self->datagrams.is_open()) return;
    self->send(write_reply(asked.query, *answer, Transport::udp), client);
  };
  loop.enter([&] { resolver->ask(std::move(query), std::move(done)); });
}

asio::awaitable<void> Server::State::serve_datagrams() {
  const auto self = shared_from_this();
  Bytes buffer(datagram_size_max);
  udp::endpoint client;
  while (datagrams.is_open()) {
    auto [error, size] =
        co_await datagrams.async_receive_from(asio::buffer(buffer), client, as_codes);
    if (resolver == nullptr || error == asio::error::operation_aborted) co_return;
    if (error) continue;  // an ICMP refusal of an earlier reply
    auto request = read_request(std::span(buffer).first(size));
    if (auto* refusal = std::get_if<Refusal>(&request)) send(std::move(refusal->reply), client);
    if (auto* asked = std::get_if<Asked>(&request)) answer_over_udp(std::move(*asked), client);
  }
}

asio::awaitable<void> Server::State::accept_connections() {
  const auto self = shared_from_this();
  asio::steady_timer pause(loop.io());
  while (acceptor.is_open()) {
    auto [error, accepted] = co_await acceptor.async_accept(as_codes);
    if (resolver == nullptr || error == asio::error::operation_aborted) co_return;
    if (error) {
      pause.expires_after(accept_pause);
      co_await pause.async_wait(as_codes);
      continue;
    }
    if (connections.size() >= connections_max) continue;  // closed by its end
    auto socket = std::make_shared<tcp::socket>(std::move(accepted));
    connections.insert(socket);
    asio::co_spawn(loop.io(), serve_connection(socket), asio::detached);
  }
}

asio::awaitable<void> Server::State::serve_connection(std::shared_ptr<tcp::socket> socket) {
  const auto self = shared_from_this();
  boost::system::error_code no_peer;
  const std::string client = socket->remote_endpoint(no_peer).address().to_string();
  asio::steady_timer idle(loop.io());
  for (bool open = true; open && resolver != nullptr;) {
    idle.expires_after(idle_time_max);
    idle.async_wait([socket](boost::system::error_code cancelled) {
      boost::system::error_code ignored;
      if (!cancelled) socket->close(ignored);
    });
    std::array<std::uint8_t, 2> length{};
    auto [no_length, length_size] =
        co_await asio::async_read(*socket, asio::buffer(length), as_codes);
    if (no_length) break;
    Bytes bytes(static_cast<std::size_t>(length[0]) << 8 | length[1]);
    auto [no_bytes, size] = co_await asio::async_read(*socket, asio::buffer(bytes), as_codes);
    if (no_bytes || resolver == nullptr) break;
    idle.cancel();
    auto request = read_request(bytes);
    open = false;
    if (auto* refusal = std::get_if<Refusal>(&request)) {
      const Bytes reply = framed(refusal->reply);
      auto [not_sent, sent] = co_await asio::async_write(*socket, asio::buffer(reply), as_codes);
      open = !not_sent;
    } else if (auto* asked = std::get_if<Asked>(&request)) {
      open = co_await answer_over_tcp(socket, std::move(*asked), client);
    }
  }
  connections.erase(socket);
}

asio::awaitable<bool> Server::State::answer_over_tcp(std::shared_ptr<tcp::socket> socket,
                                                     Asked asked, std::string client) {
  Query query{asked.question(), std::move(client)};
  const std::optional<Answer> answer = co_await ask(loop, *resolver, std::move(query));
  if (!answer || !socket->is_open()) co_return false;
  const Bytes reply = framed(write_reply(asked.query, *answer, Transport::tcp));
  auto [error, size] = co_await asio::async_write(*socket, asio::buffer(reply), as_codes);
  co_return !error;
}

void Server::State::close() {
  resolver = nullptr;
  boost::system::error_code ignored;
  datagrams.close(ignored);
  acceptor.close(ignored);
  for (const auto& socket : connections) socket->close(ignored);
  connections.clear();
}

Server::Server(RealLoop& loop, Resolver& resolver, Sockets sockets)
    : state_(std::make_shared<State>(loop, resolver, sockets)) {
  asio::co_spawn(loop.io(), state_->serve_datagrams(), asio::detached);
  asio::co_spawn(loop.io(), state_->accept_connections(), asio::detached);
}

Server::~Server() { state_->close(); }

namespace {

struct Descriptor {
  int value = -1;
  explicit Descriptor(int descriptor) : value(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  int release() { return std::exchange(value, -1); }
};

tl::unexpected<Error> failed(std::string_view call, const std::string& where) {
  return fail(Reason::io, fmt::format("{}: {}", call, std::generic_category().message(errno)),
              where);
}

// Binds a socket of the type; the port that it got is written back into the endpoint.
Status bind_one(int descriptor, udp::endpoint& at) {
  const std::string where = fmt::format("{}:{}", at.address().to_string(), at.port());
  if (descriptor < 0) return failed("socket", where);
  if (::bind(descriptor, at.data(), static_cast<socklen_t>(at.size())) != 0)
    return failed("bind", where);
  auto size = static_cast<socklen_t>(at.capacity());
  if (getsockname(descriptor, at.data(), &size) != 0) return failed("getsockname", where);
  return {};
}

Result<Sockets> bind_both(udp::endpoint at) {
  const int family = at.protocol().family();
  Descriptor datagrams(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  TRY_VOID(bind_one(datagrams.value, at));
  Descriptor stream(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(stream.value, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  TRY_VOID(bind_one(stream.value, at));
  if (::listen(stream.value, SOMAXCONN) != 0) return failed("listen", at.address().to_string());
  return Sockets{datagrams.release(), stream.release(), at.port()};
}

}  // namespace

Result<Sockets> bind_sockets(const std::string& address, std::uint16_t port) {
  boost::system::error_code bad;
  const asio::ip::address parsed = asio::ip::make_address(address, bad);
  if (bad) return fail(Reason::bad_input, fmt::format("\"{}\" is not an IP address", address));
  Result<Sockets> sockets = bind_both({parsed, port});
  // Any port: one that is free for UDP may be taken for TCP.
  for (int tries = 1; !sockets && port == 0 && tries < bind_tries_max; ++tries)
    sockets = bind_both({parsed, port});
  return sockets;
}

}  // namespace ddptwin::dns
