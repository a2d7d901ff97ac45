#include "runtime/process/port_exchange.hpp"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddptwin::sandbox {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr int http_1_1 = 11;
constexpr std::string_view user_agent = "kube-probe/1.36";

// As Go's net package and net/http say it.
std::string words_of(const error_code& error) {
  if (error == http::error::end_of_stream || error == asio::error::eof) return "EOF";
  if (error == http::error::partial_message) return "unexpected EOF";
  if (error == asio::error::connection_reset) return "read: connection reset by peer";
  if (error == asio::error::broken_pipe) return "write: broken pipe";
  return "net/http: HTTP/1.x transport connection broken: malformed HTTP response";
}

class Exchange : public PortExchange {
 public:
  Exchange(asio::io_context& io, std::function<void(PortReply)> done)
      : socket_(io), done_(std::move(done)) {}

  bool take(int fd) {
    error_code error;
    socket_.assign(asio::ip::tcp::v4(), fd, error);
    return !error;
  }
  void cancel() override {
    done_ = nullptr;
    error_code ignored;
    socket_.close(ignored);
  }
  void broken(const error_code& error) {
    if (done_) answer(PortReply{.broken = words_of(error)});
  }

 protected:
  void answer(PortReply reply) {
    if (auto done = std::exchange(done_, nullptr)) done(std::move(reply));
    error_code ignored;
    socket_.close(ignored);
  }

  asio::ip::tcp::socket socket_;

 private:
  std::function<void(PortReply)> done_;
};

class HttpExchange final : public Exchange, public std::enable_shared_from_this<HttpExchange> {
 public:
  using Exchange::Exchange;

  void begin(const PortRequest& request) {
    request_.version(http_1_1);
    request_.method(http::verb::get);
    request_.target(request.target);
    request_.set(http::field::host, fmt::format("{}:{}", request.address, request.port));
    request_.set(http::field::user_agent, user_agent);
    request_.set(http::field::accept, "*/*");
    request_.set(http::field::connection, "close");
    for (const auto& [name, value] : request.headers) request_.set(name, value);
    http::async_write(socket_, request_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->broken(error);
                        self->read();
                      });
  }

 private:
  // The body may be as long as it likes: nobody reads it.
  void read() {
    parser_.skip(true);
    http::async_read_header(socket_, buffer_, parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (error) return self->broken(error);
                              self->read_status();
                            });
  }
  void read_status() {
    PortReply reply;
    reply.status = static_cast<int>(parser_.get().result_int());
    reply.location = std::string(parser_.get()[http::field::location]);
    answer(std::move(reply));
  }

  http::request<http::empty_body> request_{};
  boost::beast::flat_buffer buffer_{};
  http::response_parser<http::empty_body> parser_{};
};

// grpc.health.v1.Health/Check over HTTP/2 without TLS: one stream, one message each way.
class GrpcExchange final : public Exchange, public std::enable_shared_from_this<GrpcExchange> {
 public:
  using Exchange::Exchange;
  ~GrpcExchange() override { nghttp2_session_del(session_); }

  void begin(const PortRequest& request) {
    message_ = health_request(request.target);
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_close);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    const std::string authority = fmt::format("{}:{}", request.address, request.port);
    const std::array headers{
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", "/grpc.health.v1.Health/Check"),
        header(":authority", authority),
        header("content-type", "application/grpc"),
        header("user-agent", user_agent),
        header("te", "trailers"),
    };
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = &read_message;
    nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, nullptr);
    write();
    read();
  }

 private:
  static nghttp2_nv header(std::string_view name, std::string_view value) {
    // The library copies both; its interface is C's.
    return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
            value.size(), NGHTTP2_NV_FLAG_NONE};
  }

  // HealthCheckRequest{1: service}, behind gRPC's five bytes: not compressed, and its length.
  static std::string health_request(std::string_view service) {
    constexpr std::size_t seven_bits = 0x7f;
    std::string message;
    if (!service.empty()) {
      message += '\x0a';
      std::size_t left = service.size();
      for (; left > seven_bits; left >>= 7U)
        message += static_cast<char>((left & seven_bits) | (seven_bits + 1));
      message += static_cast<char>(left);
      message += service;
    }
    std::string framed(1, '\0');
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      framed += static_cast<char>((message.size() >> shift) & 0xffU);
    return framed + message;
  }

  // HealthCheckResponse{1: status}, a number below 128; without the field it is UNKNOWN.
  static int serving_status(std::string_view framed) {
    constexpr std::size_t prefix = 5;
    if (framed.size() < prefix + 2 || framed[prefix] != '\x08') return 0;
    return framed[prefix + 1];
  }

  static ssize_t read_message(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source* source, void*) {
    std::string& left = static_cast<GrpcExchange*>(source->ptr)->message_;
    const std::size_t size = std::min(room, left.size());
    std::memcpy(to, left.data(), size);
    left.erase(0, size);
    if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* self) {
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    PortReply& reply = static_cast<GrpcExchange*>(self)->reply_;
    if (key == "grpc-status") reply.code = std::atoi(text.c_str());
    if (key == "grpc-message") reply.message = text;
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes,
                     std::size_t size, void* self) {
    static_cast<GrpcExchange*>(self)->received_.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t, std::uint32_t error, void* self) {
    auto& one = *static_cast<GrpcExchange*>(self);
    constexpr int internal = 13;
    if (error != 0 && one.reply_.code == 0) one.reply_.code = internal;
    one.reply_.status = serving_status(one.received_);
    one.over_ = true;
    return 0;
  }

  void write() {
    const std::uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;)
      out_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    if (out_.empty() || writing_) return;
    writing_ = true;
    sent_ = std::exchange(out_, {});
    asio::async_write(socket_, asio::buffer(sent_),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->writing_ = false;
                        if (error) return self->broken(error);
                        self->write();
                      });
  }
  void read() {
    socket_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              if (error) return self->broken(error);
                              self->took(size);
                            });
  }
  void took(std::size_t size) {
    if (nghttp2_session_mem_recv(session_, in_.data(), size) < 0)
      return answer(PortReply{.broken = "malformed HTTP/2"});
    if (over_) return answer(reply_);
    write();
    read();
  }

  nghttp2_session* session_ = nullptr;
  std::string message_{};
  std::string out_{}, sent_{};
  std::string received_{};
  std::array<std::uint8_t, 4096> in_{};
  PortReply reply_{};
  bool writing_ = false;
  bool over_ = false;
};

template <class Kind>
std::shared_ptr<PortExchange> begin(asio::io_context& io, int fd, const PortRequest& request,
                                    std::function<void(PortReply)> done) {
  auto exchange = std::make_shared<Kind>(io, std::move(done));
  if (exchange->take(fd))
    exchange->begin(request);
  else
    asio::post(io, [exchange] { exchange->broken(asio::error::bad_descriptor); });
  return exchange;
}

}  // namespace

std::shared_ptr<PortExchange> begin_exchange(asio::io_context& io, int fd,
                                             const PortRequest& request,
                                             std::function<void(PortReply)> done) {
  return request.protocol == PortProtocol::grpc
             ? begin<GrpcExchange>(io, fd, request, std::move(done))
             : begin<HttpExchange>(io, fd, request, std::move(done));
}

}  // namespace ddptwin::sandbox
