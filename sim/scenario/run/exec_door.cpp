#include "scenario/run/exec_door.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <fstream>

#include "scenario/language/claims.hpp"
#include "scenario/run/images.hpp"

namespace ddptwin::scenario {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Local = asio::local::stream_protocol;

constexpr std::string_view name_start = "ddptwin/";
constexpr std::size_t request_max = 1U << 20U;  // bytes
constexpr std::size_t reply_max = 1U << 28U;

// In the abstract namespace, where a name is no file (unix(7)).
Local::endpoint address_of(int process) {
  std::string name(1, '\0');
  name += name_start;
  name += std::to_string(process);
  return Local::endpoint(name);
}

// Abstract names have no permissions of their own.
bool is_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

std::string encode(const ExecOrder& order) {
  return json::serialize(json::object{{"pod", order.pod},
                                      {"container", order.container},
                                      {"command", json::value_from(order.command)}}) +
         "\n";
}

std::string encode(const Result<ExecResult>& result) {
  json::object reply;
  if (result)
    reply = {{"exitCode", result->exit_code}, {"output", result->output}};
  else
    reply = {{"error", result.error().message}};
  return json::serialize(reply) + "\n";
}

template <class T>
std::optional<T> member(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (found == nullptr) return std::nullopt;
  const auto value = json::try_value_to<T>(*found);
  return value.has_value() ? std::optional<T>(*value) : std::nullopt;
}

std::optional<json::object> object_of(const std::string& line) {
  boost::system::error_code error;
  json::value value = json::parse(line, error);
  return error || !value.is_object() ? std::nullopt
                                     : std::optional<json::object>(value.as_object());
}

Result<ExecOrder> order_of(const std::string& line) {
  const auto object = object_of(line);
  if (!object) return fail(Reason::bad_request, "no request");
  const auto pod = member<std::string>(*object, "pod");
  const auto container = member<std::string>(*object, "container");
  auto command = member<std::vector<std::string>>(*object, "command");
  if (!pod || !container || !command || command->empty())
    return fail(Reason::bad_request, "no request");
  return ExecOrder{*pod, *container, std::move(*command)};
}

struct Meant {
  ContainerId container{};
  std::string pod{};  // "pod/NAMESPACE/NAME"
};

Result<Meant> container_of(const World& world, const std::string& namespace_,
                           const ExecOrder& order) {
  const std::size_t slash = order.pod.find('/');
  const bool has_namespace = slash != order.pod.npos;
  const std::string where = has_namespace ? order.pod.substr(0, slash) : namespace_;
  const std::string name = has_namespace ? order.pod.substr(slash + 1) : order.pod;
  const auto pod = as<Pod>(world.find(Pod::info(), where, name));
  if (!pod) return fail(Reason::not_found, fmt::format("pods \"{}\" not found", name));
  for (const ContainerStatus* status : statuses_of(*pod, order.container))
    if (status->state.running)
      return Meant{ContainerId(runtime_id(*status)), fmt::format("pod/{}/{}", where, name)};
  return fail(Reason::not_found, fmt::format("no container{} of pod {} runs: its phase is {}",
                                             order.container.empty() ? "" : " " + order.container,
                                             name, pod->status.phase.str()));
}

}  // namespace

struct ExecDoor::Parts : std::enable_shared_from_this<Parts> {
  // One caller: its request, then its answer.
  struct Caller {
    explicit Caller(Local::socket s) : socket(std::move(s)) {}
    Local::socket socket;
    asio::streambuf request{request_max};
    std::string reply{};
  };

  Parts(asio::io_context& io, RealLoop& l, World& w, std::string n, ExecPort e)
      : acceptor(io), loop(l), world(w), namespace_(std::move(n)), exec(std::move(e)) {}

  void open() {
    boost::system::error_code error;
    acceptor.open(Local(), error);
    if (!error) acceptor.bind(address_of(::getpid()), error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) accept();
  }

  void accept() {
    acceptor.async_accept(
        [self = shared_from_this()](const boost::system::error_code& error, Local::socket socket) {
          if (error) return;
          if (is_same_user(socket.native_handle()))
            self->serve(std::make_shared<Caller>(std::move(socket)));
          self->accept();
        });
  }

  void serve(const std::shared_ptr<Caller>& caller) {
    asio::async_read_until(
        caller->socket, caller->request, '\n',
        [self = shared_from_this(), caller](const boost::system::error_code& error, std::size_t) {
          if (error || self->closed) return;
          std::istream text(&caller->request);
          std::string line;
          std::getline(text, line);
          self->loop.enter([&] { self->carry_out(line, caller); });
        });
  }

  void carry_out(const std::string& line, const std::shared_ptr<Caller>& caller) {
    const ContextScope of_this_caller(loop, 0);
    auto order = order_of(line);
    if (!order) return answer(caller, fail(order.error()));
    const auto meant = container_of(world, namespace_, *order);
    if (!meant) return answer(caller, fail(meant.error()));
    write_note(world.trace(), "user", meant->pod,
               fmt::format("exec by hand: {}", fmt::join(order->command, " ")));
    exec(meant->container, std::move(order->command), Duration::zero(),
         [self = shared_from_this(), caller](Result<ExecResult> result) {
           self->answer(caller, std::move(result));
         });
  }

  void answer(const std::shared_ptr<Caller>& caller, Result<ExecResult> result) const {
    if (closed) return;
    caller->reply = encode(result);
    asio::async_write(caller->socket, asio::buffer(caller->reply),
                      [caller](const boost::system::error_code&, std::size_t) {});
  }

  Local::acceptor acceptor;
  RealLoop& loop;
  World& world;
  std::string namespace_;
  ExecPort exec;
  bool closed = false;
};

ExecDoor::ExecDoor(asio::io_context& io, RealLoop& loop, World& world, std::string namespace_,
                   ExecPort exec)
    : parts_(std::make_shared<Parts>(io, loop, world, std::move(namespace_), std::move(exec))) {
  parts_->open();
}

ExecDoor::~ExecDoor() {
  parts_->closed = true;
  boost::system::error_code ignored;
  parts_->acceptor.close(ignored);
}

std::vector<int> open_doors() {
  std::vector<int> found;
  std::ifstream sockets("/proc/net/unix");
  const std::string mark = " @" + std::string(name_start);
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.rfind(mark);
    if (at == line.npos) continue;
    int process = 0;
    const char* begin = line.data() + at + mark.size();
    if (std::from_chars(begin, line.data() + line.size(), process).ec == std::errc())
      found.push_back(process);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Result<ExecResult> exec_through_door(int process, const ExecOrder& order) {
  asio::io_context io;
  Local::socket socket(io);
  boost::system::error_code error;
  socket.connect(address_of(process), error);
  if (error)
    return fail(Reason::not_found, fmt::format("there is no run with process id {}", process));
  asio::write(socket, asio::buffer(encode(order)), error);
  asio::streambuf reply(reply_max);
  if (!error) asio::read_until(socket, reply, '\n', error);
  if (error) return fail(Reason::io, "the run has ended");
  std::istream text(&reply);
  std::string line;
  std::getline(text, line);
  const auto object = object_of(line);
  if (!object) return fail(Reason::io, "the run has ended");
  if (auto refused = member<std::string>(*object, "error"))
    return fail(Reason::invalid, std::move(*refused));
  return ExecResult{member<int>(*object, "exitCode").value_or(1),
                    member<std::string>(*object, "output").value_or(""), false};
}

}  // namespace ddptwin::scenario
