#include "runtime/process/port_exchange.hpp"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ddptwin::sandbox::port_exchange_test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A server of one connection, on a thread of its own: what it does with it is the test's.
class Server {
 public:
  explicit Server(std::function<void(tcp::socket&)> serve)
      : thread_([this, serve = std::move(serve)] {
          tcp::socket socket(io_);
          acceptor_.accept(socket);
          serve(socket);
        }) {}
  ~Server() { thread_.join(); }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  asio::io_context io_{};
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

PortReply exchange(const Server& server, PortRequest request) {
  asio::io_context io;
  tcp::socket socket(io);
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), server.port()));
  request.address = "127.0.0.1";
  request.port = server.port();
  std::optional<PortReply> reply;
  const auto made = begin_exchange(io, socket.release(), request,
                                   [&reply](PortReply got) { reply = std::move(got); });
  io.run();
  EXPECT_TRUE(reply);
  return reply.value_or(PortReply{});
}

// Answers with that text, whatever is asked, and closes; `asked` is what came.
std::function<void(tcp::socket&)> saying(std::string text, std::string* asked = nullptr) {
  return [text = std::move(text), asked](tcp::socket& socket) {
    asio::streambuf in;
    asio::read_until(socket, in, "\r\n\r\n");
    if (asked != nullptr)
      asked->assign(asio::buffers_begin(in.data()), asio::buffers_end(in.data()));
    asio::write(socket, asio::buffer(text));
  };
}

TEST(HttpExchange, asks_as_a_kubelet_does) {
  std::string asked;
  std::uint16_t port = 0;
  {
    const Server server(saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", &asked));
    port = server.port();
    EXPECT_EQ(exchange(server, {.target = "/health?deep", .headers = {{"X-Probe", "yes"}}}).status,
              200);
  }
  EXPECT_EQ(asked, "GET /health?deep HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                       "\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: "
                       "close\r\nX-Probe: yes\r\n\r\n");
}

TEST(HttpExchange, reads_the_status_and_where_it_leads) {
  const Server server(saying("HTTP/1.0 302 Found\r\nLocation: /elsewhere\r\n\r\n"));
  const PortReply reply = exchange(server, {.target = "/"});
  EXPECT_EQ(reply.status, 302);
  EXPECT_EQ(reply.location, "/elsewhere");
}

TEST(HttpExchange, says_what_is_no_answer) {
  struct Row {
    std::string said, broken;
  };
  const Row rows[] = {
      {"", "EOF"},
      {"HTTP/1.1 200", "unexpected EOF"},
      {"SSH-2.0-OpenSSH_9.2\r\n",
       "net/http: HTTP/1.x transport connection broken: malformed HTTP response"},
  };
  for (const Row& row : rows) {
    const Server server(saying(row.said));
    EXPECT_EQ(exchange(server, {.target = "/"}).broken, row.broken) << row.said;
  }
}

// A server of gRPC that answers its one call with a message and the trailers.
class GrpcServer {
 public:
  GrpcServer(std::string message, std::string code, std::string words)
      : message_(std::move(message)), code_(std::move(code)), words_(std::move(words)) {}

  void operator()(tcp::socket& socket) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session* session = nullptr;
    nghttp2_session_server_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
    std::array<std::uint8_t, 1024> in{};
    boost::system::error_code error;
    while (!error) {
      const std::uint8_t* bytes = nullptr;
      for (ssize_t size = 0; (size = nghttp2_session_mem_send(session, &bytes)) > 0;)
        asio::write(socket, asio::buffer(bytes, static_cast<std::size_t>(size)), error);
      const std::size_t size = socket.read_some(asio::buffer(in), error);
      if (!error) nghttp2_session_mem_recv(session, in.data(), size);
    }
    nghttp2_session_del(session);
  }

  std::string asked{};

 private:
  static nghttp2_nv header(std::string_view name, std::string_view value) {
    return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
            value.size(), NGHTTP2_NV_FLAG_NONE};
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes,
                     std::size_t size, void* self) {
    static_cast<GrpcServer*>(self)->asked.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    const std::array headers{header(":status", "200"), header("content-type", "application/grpc")};
    nghttp2_data_provider body{};
    body.source.ptr = self;
    body.read_callback = &read_message;
    return nghttp2_submit_response(session, frame->hd.stream_id, headers.data(), headers.size(),
                                   &body);
  }
  static ssize_t read_message(nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                              std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                              void*) {
    const auto& one = *static_cast<GrpcServer*>(source->ptr);
    EXPECT_LE(one.message_.size(), room);
    std::copy(one.message_.begin(), one.message_.end(), to);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const std::array trailers{header("grpc-status", one.code_), header("grpc-message", one.words_)};
    nghttp2_submit_trailer(session, stream, trailers.data(), trailers.size());
    return static_cast<ssize_t>(one.message_.size());
  }

  std::string message_, code_, words_;
};

TEST(GrpcExchange, asks_for_a_service_and_reads_its_health) {
  struct Row {
    std::string service, asked;
    std::string message, code, words;
    int status;
  };
  const std::string serving("\0\0\0\0\2\x08\1", 7), not_serving("\0\0\0\0\2\x08\2", 7);
  const std::string none(5, '\0'), train("\0\0\0\0\x07\x0a\x05train", 12), long_name(300, 's');
  // 303 bytes, of which the length of the name takes two.
  const std::string of_long_name = std::string("\0\0\0\x01\x2f\x0a\xac\x02", 8) + long_name;
  const Row rows[] = {
      {"", none, serving, "0", "", 1},
      {"train", train, not_serving, "0", "", 2},
      {"train", train, "", "12", "unknown service grpc.health.v1.Health", 0},
      {long_name, of_long_name, serving, "0", "", 1},
  };
  for (const Row& row : rows) {
    GrpcServer answers(row.message, row.code, row.words);
    {
      const Server server([&answers](tcp::socket& socket) { answers(socket); });
      const PortReply reply =
          exchange(server, {.protocol = PortProtocol::grpc, .target = row.service});
      EXPECT_EQ(reply.status, row.status);
      EXPECT_EQ(reply.code, std::stoi(row.code));
      EXPECT_EQ(reply.message, row.words);
      EXPECT_EQ(reply.broken, "");
    }
    EXPECT_EQ(answers.asked, row.asked);
  }
}

TEST(GrpcExchange, a_server_of_http_is_none_of_grpc) {
  const Server server([](tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")));
  });
  EXPECT_NE(exchange(server, {.protocol = PortProtocol::grpc}).broken, "");
}

}  // namespace
}  // namespace ddptwin::sandbox::port_exchange_test
