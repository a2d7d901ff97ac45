#include "runtime/model/network.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/numbers.hpp"

namespace ddptwin::model {
namespace {

constexpr std::uint16_t first_free_port = 32768, last_free_port = 60999;  // ip_local_port_range

// Addresses of pods and nodes (PodAddresses): there is a route to them, whoever has them.
bool is_routed(std::string_view address) {
  constexpr std::string_view first = "10.", nodes = "192.168.";
  if (address.starts_with(nodes)) return true;
  if (!address.starts_with(first)) return false;
  address.remove_prefix(first.size());
  return take_number<int>(address).value_or(0) >= 128;
}

bool is_loopback(std::string_view address) { return address.starts_with("127."); }

// Between the SYN of that number, counted from 1, and the next: after 1, 2, 3, 4, 5, 7, 11, ...
// seconds. tcp_syn_linear_timeouts of Linux 6.5 and later, whose default is 4 (ddp-semantics §0).
Duration syn_gap(int number) {
  constexpr int linear = 5, doubled_max = 30;
  return number <= linear ? 1s : 1s * (std::int64_t{1} << std::min(number - linear, doubled_max));
}

void merge(LinkFault& into, const LinkFault& other) {
  into.drop |= other.drop;
  into.reset |= other.reset;
  into.delay += other.delay;
}

}  // namespace

int errno_of(Connect outcome) {
  switch (outcome) {
    case Connect::accepted:
      return 0;
    case Connect::refused:
      return ECONNREFUSED;
    case Connect::no_host:
      return EHOSTUNREACH;
    case Connect::unreachable:
      return ENETUNREACH;
    case Connect::timed_out:
      return ETIMEDOUT;
  }
  return 0;
}

struct Network::Attempt {
  std::string from, to;
  std::uint16_t port;
  Time end;  // of the caller's patience
  Lane lane;
  UniqueFunction<void(Connect)> done;
  int syns = 1;                // sent
  bool patience_ends = false;  // with the timer at hand, which is no SYN's
  Timer timer{};
};

// A request that was accepted, and waits for its answer.
struct Network::Question {
  ProcessId listener;
  Lane lane;
  UniqueFunction<void(Result<PortReply>)> done;
  Timer timer{};
};

Network::Network(Loop& loop, Duration round_trip, Duration no_host)
    : loop_(loop), round_trip_(round_trip), no_host_(no_host) {}
Network::~Network() = default;

void Network::attach(const std::string& address) { hosts_.insert(address); }

void Network::detach(const std::string& address) { hosts_.erase(address); }

void Network::set_link(const std::string& one, const std::string& other, const LinkFault& fault) {
  if (fault.none()) {
    links_.erase({one, other});
    links_.erase({other, one});
  } else {
    install(links_[{one, other}], fault);
  }
  changed();
}

void Network::set_host(const std::string& address, const LinkFault& fault) {
  if (fault.none())
    isolated_.erase(address);
  else
    install(isolated_[address], fault);
  changed();
}

// What another fault leaves behind as it ends is of whom it was of.
void Network::install(Installed& known, const LinkFault& fault) {
  const bool is_more =
      (fault.drop && !known.drop) || (fault.reset && !known.reset) || fault.delay > known.delay;
  const std::uint64_t cause = is_more ? loop_.context() : known.cause;
  known = {fault, cause};
}

std::uint64_t Network::cause_between(const std::string& one, const std::string& other) const {
  if (!any_fault() || one == other) return 0;
  std::uint64_t newest = 0;
  for (const auto& pair : {std::pair(one, other), std::pair(other, one)})
    if (const auto found = links_.find(pair); found != links_.end())
      newest = std::max(newest, found->second.cause);
  for (const std::string& end : {one, other})
    if (const auto found = isolated_.find(end); found != isolated_.end())
      newest = std::max(newest, found->second.cause);
  return newest;
}

LinkFault Network::link(const std::string& one, const std::string& other) const {
  LinkFault fault;
  if (!any_fault() || one == other) return fault;
  if (const auto found = links_.find({one, other}); found != links_.end())
    merge(fault, found->second);
  if (const auto found = links_.find({other, one}); found != links_.end()) {
    LinkFault back = found->second;
    back.reset = false;
    merge(fault, back);
  }
  if (const auto found = isolated_.find(one); found != isolated_.end()) merge(fault, found->second);
  if (const auto found = isolated_.find(other); found != isolated_.end()) {
    LinkFault back = found->second;
    back.reset = false;
    merge(fault, back);
  }
  return fault;
}

std::uint64_t Network::watch_links(std::function<void()> changed) {
  watches_.emplace(++last_id_, std::move(changed));
  return last_id_;
}

// A watcher may end itself and others.
void Network::changed() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, watch] : watches_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    if (const auto found = watches_.find(id); found != watches_.end()) found->second();
  }
}

Result<std::uint16_t> Network::listen(const std::string& address, std::uint16_t port,
                                      ProcessId owner, Service* service,
                                      const PortAnswers& answers) {
  for (int tried = 0; port == 0 && tried <= last_free_port - first_free_port; ++tried) {
    last_port_ =
        last_port_ >= last_free_port ? first_free_port : static_cast<std::uint16_t>(last_port_ + 1);
    if (!listeners_.contains({address, last_port_})) port = last_port_;
  }
  if (port == 0 ||
      !listeners_.emplace(std::pair(address, port), Listener{owner, service, answers}).second)
    return fail(Error{Reason::io, "", "Address already in use", nullptr, EADDRINUSE});
  return port;
}

void Network::unlisten(const std::string& address, std::uint16_t port) {
  listeners_.erase({address, port});
}

const Network::Listener* Network::listener(const std::string& address, std::uint16_t port) const {
  const auto found = listeners_.find({address, port});
  return found == listeners_.end() ? nullptr : &found->second;
}

Connect Network::would_connect(const std::string& from, const std::string& to,
                               std::uint16_t port) const {
  const std::string& target = is_loopback(to) ? from : to;
  if (target != from) {
    const LinkFault fault = link(from, target);
    if (fault.drop) return Connect::timed_out;
    if (fault.reset || link(target, from).reset) return Connect::refused;
    if (!hosts_.contains(target))
      return is_routed(target) ? Connect::no_host : Connect::unreachable;
  }
  return listener(target, port) != nullptr ? Connect::accepted : Connect::refused;
}

Duration Network::round_trip(const std::string& one, const std::string& other) const {
  if (one == other || is_loopback(other)) return Duration::zero();
  return any_fault() ? round_trip_ + 2 * link(one, other).delay : round_trip_;
}

void Network::connect(const std::string& from, const std::string& to, std::uint16_t port,
                      Duration patience, Lane lane, UniqueFunction<void(Connect)> done) {
  const std::uint64_t id = ++last_id_;
  const Duration trip =
      would_connect(from, to, port) == Connect::no_host ? no_host_ : round_trip(from, to);
  auto attempt =
      std::make_unique<Attempt>(Attempt{from, to, port, loop_.now() + patience, lane, {}});
  attempt->done = std::move(done);
  attempt->patience_ends = patience < trip;
  attempt->timer = loop_.after(lane, std::min(trip, patience), [this, id] { finish(id); });
  attempts_.emplace(id, std::move(attempt));
}

// A path that heals is found by the next SYN.
void Network::finish(std::uint64_t id) {
  const auto found = attempts_.find(id);
  Attempt& attempt = *found->second;
  Connect outcome = Connect::timed_out;
  if (!attempt.patience_ends) outcome = would_connect(attempt.from, attempt.to, attempt.port);
  const Duration left = attempt.end - loop_.now();
  if (outcome == Connect::timed_out && left > Duration::zero()) {
    const Duration gap = syn_gap(attempt.syns++);
    attempt.patience_ends = left < gap;
    attempt.timer = loop_.after(attempt.lane, std::min(gap, left), [this, id] { finish(id); });
    return;
  }
  const std::unique_ptr<Attempt> over = std::move(found->second);
  attempts_.erase(found);
  over->done(outcome);
}

namespace {

// What a listener says to a request, at once; nothing: it never answers.
std::optional<PortReply> said_to(const PortRequest& request, const PortAnswers& answers) {
  PortReply reply;
  const bool grpc = request.protocol == PortProtocol::grpc;
  switch (answers.to) {
    case PortAnswers::To::nobody:
      return std::nullopt;
    case PortAnswers::To::http:
      if (grpc) return std::nullopt;  // a client of gRPC tries again until its time is over
      if (request.protocol == PortProtocol::https) {
        reply.broken = "http: server gave HTTP response to HTTPS client";
        return reply;
      }
      break;
    case PortAnswers::To::grpc:
      if (grpc) break;
      reply.broken = R"(net/http: HTTP/1.x transport connection broken: malformed HTTP response)"
                     R"( "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00@\x00")";
      return reply;
    case PortAnswers::To::all:
      break;
  }
  reply.status = grpc ? answers.serving : answers.http_status;
  return reply;
}

}  // namespace

void Network::ask(const PortRequest& request, Duration patience, Lane lane,
                  UniqueFunction<void(Result<PortReply>)> done) {
  const bool patient = patience == Duration::zero();
  constexpr Duration tcp_gives_up = std::chrono::seconds(127);  // tcp_syn_retries = 6
  const Time end = loop_.now() + (patient ? tcp_gives_up : patience);
  connect(request.address, request.address, request.port, end - loop_.now(), lane,
          [this, request, end, patient, lane, done = std::move(done)](Connect outcome) mutable {
            if (outcome != Connect::accepted) return done(PortReply{.dial = errno_of(outcome)});
            put(request, end, patient, lane, std::move(done));
          });
}

void Network::put(const PortRequest& request, Time end, bool patient, Lane lane,
                  UniqueFunction<void(Result<PortReply>)> done) {
  const Listener* there = listener(request.address, request.port);
  if (there == nullptr) return done(PortReply{.broken = "EOF"});
  const std::uint64_t id = ++last_id_;
  questions_.emplace(id,
                     std::make_unique<Question>(Question{there->owner, lane, std::move(done), {}}));
  const auto said = said_to(request, there->answers);
  const Duration left = end - loop_.now();
  // What is no answer of the protocol comes without any thought.
  const Duration delay = said && said->broken.empty() ? there->answers.delay : Duration::zero();
  if (said && (patient || delay < left)) return reply(id, delay, *said);
  if (patient) return;
  constexpr int deadline_exceeded = 4;  // of gRPC, whose connection stands
  if (said && request.protocol == PortProtocol::grpc)
    return reply(id, left, PortReply{.code = deadline_exceeded});
  reply(id, left, PortReply{.late = true});
}

void Network::reply(std::uint64_t id, Duration delay, PortReply reply) {
  Question& question = *questions_.at(id);
  question.timer = loop_.after(question.lane, delay, [this, id, reply = std::move(reply)] {
    const auto over = questions_.extract(id);
    over.mapped()->done(reply);
  });
}

void Network::close_all(ProcessId owner) {
  for (const auto& [id, question] : questions_)
    if (question->listener == owner) reply(id, Duration::zero(), PortReply{.broken = "EOF"});
  std::vector<Service*> ended;
  std::erase_if(listeners_, [&](const auto& entry) {
    if (entry.second.owner != owner) return false;
    if (entry.second.service != nullptr) ended.push_back(entry.second.service);
    return true;
  });
  for (Service* service : ended) service->owner_ended();
}

}  // namespace ddptwin::model
