#include "runtime/model/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/model/kernel.hpp"
#include "runtime/model/mesh.hpp"
#include "runtime/model/messages.hpp"

namespace ddptwin::model {
namespace {

constexpr Duration stalled_poll = 200ms;  // TCP's least time between tries, and a stopped server's
constexpr std::uint64_t half_in_millionths = 500'000, whole_in_millionths = 1'000'000;

std::int64_t integer(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Result<std::unique_ptr<StoreServer>> StoreServer::listen(Process& host, std::uint16_t port) {
  std::unique_ptr<StoreServer> server(new StoreServer(host, port));
  const Result<std::uint16_t> bound =
      host.network().listen(host.ip(), port, host.id(), server.get());
  if (!bound) {
    server->port_ = 0;
    return fail(port_in_use(*host.model().torch, port));
  }
  server->port_ = *bound;
  return server;
}

StoreServer::StoreServer(Process& host, std::uint16_t port)
    : host_(host),
      port_(port),
      groups_(std::make_unique<GroupStore>(host.state().kernel->trainings())) {}

StoreServer::~StoreServer() {
  if (port_ == 0) return;
  const Network::Listener* own = host_.network().listener(host_.ip(), port_);
  if (own != nullptr && own->service == this) host_.network().unlisten(host_.ip(), port_);
  owner_ended();
}

void StoreServer::owner_ended() {
  for (StoreClient* client : std::exchange(clients_, {})) client->server_ended();
}

// Whoever waits looks again.
void StoreServer::changed() {
  const std::vector<StoreClient*> clients = clients_;
  for (StoreClient* client : clients) {
    if (std::find(clients_.begin(), clients_.end(), client) != clients_.end()) client->look_again();
  }
}

struct StoreClient::Operation {
  // Nothing: what it waits for is not there yet.
  using Run = std::optional<std::string> (*)(StoreServer& server, const Operation& operation);

  Run run = nullptr;
  std::vector<std::string> keys{};
  std::string value{};
  std::string expected{};
  std::int64_t amount = 0;
  bool changes = false;
  UniqueFunction<void(const Result<std::string>&)> done{};
  bool arrived = false;
  TimerId timer = 0;  // of the way there, then of another look
  TimerId limit = 0;
  bool waits = false;  // for keys, no longer than the timeout; all others have none
};

StoreClient::StoreClient(Process& process, StoreAddress server, Duration timeout)
    : process_(process), address_(std::move(server)), timeout_(timeout) {}

StoreClient::~StoreClient() {
  if (server_ != nullptr) std::erase(server_->clients_, this);
  if (watch_ != 0) process_.network().unwatch_links(watch_);
}

// --- connecting ---

void StoreClient::connect(UniqueFunction<void(const Status&)> done, std::string known_ip) {
  connecting_ = std::move(done);
  loop_since_ = process_.now();
  connect_end_ = loop_since_ + timeout_;
  mean_sleep_ = process_.model().torch->back_off_first;
  if (known_ip.empty()) return try_connect();
  tried_ip_ = std::move(known_ip);
  try_address();
}

void StoreClient::try_connect() {
  process_.lookup(address_.host, [this](const Resolved& answer) { resolved(answer); });
}

void StoreClient::resolved(const Resolved& answer) {
  if (answer.error != 0 || answer.addresses.empty()) {
    process_.print_error(
        name_warning(*process_.model().torch, address_.host, address_.port, answer.error));
    return retry();
  }
  tried_ip_ = answer.addresses.front();
  try_address();
}

void StoreClient::try_address() {
  const Duration patience = loop_since_ + timeout_ - process_.now();
  if (patience <= Duration::zero()) return timed_out();  // asking for the name took too long
  process_.connect(tried_ip_, address_.port, patience, [this](Connect outcome) { tried(outcome); });
}

void StoreClient::tried(Connect outcome) {
  const TorchProfile& torch = *process_.model().torch;
  switch (outcome) {
    case Connect::accepted:
      return greet();
    case Connect::refused:
      return retry();
    case Connect::timed_out:
      return timed_out();
    case Connect::no_host:
    case Connect::unreachable:
      break;
  }
  loop_over(cannot_connect(torch, address_.host, address_.port, tried_ip_, errno_of(outcome)));
}

// U(0.5, 1.5) times a mean that grows.
Duration StoreClient::next_sleep() {
  const TorchProfile& torch = *process_.model().torch;
  if (!torch.backs_off) return torch.connect_grid;
  const Duration mean = mean_sleep_;
  mean_sleep_ = std::min(mean * torch.back_off_percent / 100, torch.back_off_max);
  const std::uint64_t share = half_in_millionths + process_.random().below(whole_in_millionths + 1);
  return mean * static_cast<std::int64_t>(share) / static_cast<std::int64_t>(whole_in_millionths);
}

// §9.8: the loop ends where its next try would come after T.
void StoreClient::retry() {
  const Duration sleep = next_sleep();
  const Duration spent = process_.now() - loop_since_;
  if (spent + sleep >= timeout_) return timed_out();
  process_.after(sleep, [this] { try_connect(); });
}

void StoreClient::timed_out() {
  const TorchProfile& torch = *process_.model().torch;
  Error error = connect_timed_out(torch, timeout_, address_.host, address_.port);
  process_.print_error(timeout_log(torch, error));
  loop_over(std::move(error));
}

// 1.13 leaves it at one loop. 2.x begins another, with the same back-off, as long as T is not over
// since the first began (§9.2, §9.8; c10d's TCPStore around its socket): two of them in most cases,
// as many as there is time for where each ends at once because nobody has the address.
void StoreClient::loop_over(Error error) {
  if (!process_.model().torch->backs_off || process_.now() >= connect_end_)
    return connect_over(fail(std::move(error)));
  process_.after(next_sleep(), [this] {
    loop_since_ = process_.now();
    try_connect();
  });
}

void StoreClient::greet() {
  const std::string ip = tried_ip_.starts_with("127.") ? process_.ip() : tried_ip_;
  const Network::Listener* listener = process_.network().listener(ip, address_.port);
  if (listener == nullptr) return retry();
  auto* server = dynamic_cast<StoreServer*>(listener->service);
  if (server == nullptr) return;  // §3.3: it waits for the first answer for ever
  server_ = server;
  server_ip_ = ip;
  server_process_ = server->host().id();
  server->clients_.push_back(this);
  auto hello = std::make_unique<Operation>();
  hello->run = [](StoreServer& at, const Operation&) -> std::optional<std::string> {
    ++at.joined_;
    return std::string();
  };
  hello->done = [this](const Result<std::string>& answer) {
    if (!answer) return connect_over(fail(answer.error()));
    if (server_->came_) server_->came_();
    connect_over({});
  };
  run(std::move(hello));
}

void StoreClient::connect_over(const Status& status) {
  auto done = std::exchange(connecting_, nullptr);
  if (done) done(status);
}

// --- operations ---

void StoreClient::run(std::unique_ptr<Operation> operation) {
  const std::uint32_t id = ++last_operation_;
  Operation& started = *operation;
  operations_.emplace(id, std::move(operation));
  Duration trip{};
  if (server_ != nullptr) {
    trip = process_.network().round_trip(process_.ip(), server_ip_) +
           process_.model().timing->store_op;
  }
  started.timer = process_.after(trip, [this, id] { arrive(id); });
}

bool StoreClient::is_stalled() const { return is_cut() || is_server_stopped(); }

bool StoreClient::is_server_stopped() const {
  return server_ != nullptr && server_->host().is_stopped();
}

bool StoreClient::is_cut() const {
  const Network& network = process_.network();
  return network.any_fault() && network.link(process_.ip(), server_ip_).drop;
}

void StoreClient::arrive(std::uint32_t id) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  Operation& operation = *found->second;
  operation.timer = 0;
  const bool stalled = is_stalled();
  if (server_ == nullptr && !stalled) {
    tell_of_the_end();
    return finish(id, fail(store_broken_pipe(*process_.model().torch)));
  }
  std::optional<std::string> answer;
  if (!stalled) answer = operation.run(*server_, operation);
  if (answer) {
    if (operation.changes) server_->changed();
    return finish(id, std::move(*answer));
  }
  operation.arrived = !stalled;
  if (stalled) operation.timer = process_.after(stalled_poll, [this, id] { arrive(id); });
  // Only what does not answer at once needs a limit. Who connects to a stopped server hangs, as
  // before a foreign listener (§3.3, §9.2); TCP's own end behind a cut is taken for the timeout.
  if (operation.limit == 0 && (operation.waits || !is_server_stopped()))
    operation.limit = process_.after(timeout_, [this, id] { too_late(id); });
}

void StoreClient::too_late(std::uint32_t id) {
  Operation& late = *operations_.at(id);
  late.limit = 0;
  // The wait is cancelled at the server, and that has no limit: its answer says that it is over.
  if (is_server_stopped()) {
    process_.cancel(std::exchange(late.timer, 0));
    late.arrived = false;
    late.limit = process_.after(stalled_poll, [this, id] { too_late(id); });
    return;
  }
  process_.connection_broke(server_ip_, 0, "brought nothing in time");
  finish(id, fail(key_missing(*process_.model().torch, timeout_,
                              fmt::format("{}", fmt::join(late.keys, ", ")))));
}

void StoreClient::look_again() {
  for (auto& [id, operation] : operations_) {
    if (!operation->arrived || operation->timer != 0) continue;
    operation->timer = process_.after(process_.network().round_trip(process_.ip(), server_ip_),
                                      [this, number = id] { arrive(number); });
  }
}

void StoreClient::finish(std::uint32_t id, Result<std::string> result) {
  const auto found = operations_.find(id);
  const std::unique_ptr<Operation> over = std::move(found->second);
  operations_.erase(found);
  process_.cancel(over->timer);
  process_.cancel(over->limit);
  over->done(result);
}

void StoreClient::server_ended() {
  server_ = nullptr;
  hear_of_the_end();
}

// Neither FIN nor RST passes a cut link (ddp-semantics §3.5, FM-068): who waits for an answer waits
// on.
void StoreClient::hear_of_the_end() {
  if (is_cut()) {
    if (watch_ == 0) watch_ = process_.network().watch_links([this] { hear_of_the_end(); });
    return;
  }
  if (heard_ || !process_.alive()) return;
  heard_ = true;
  process_.after(process_.network().round_trip(process_.ip(), server_ip_), [this] {
    Callback lost = std::exchange(on_lost_, nullptr);
    if (!operations_.empty()) tell_of_the_end();
    fail_all(store_closed(*process_.model().torch));  // may end this client
    if (lost) lost();
  });
}

void StoreClient::tell_of_the_end() const {
  process_.connection_broke(server_ip_, server_process_, "was closed");
}

// Whoever is told may end this client.
void StoreClient::fail_all(const Error& error) {
  const auto all = std::exchange(operations_, {});
  for (const auto& [id, operation] : all) {
    process_.cancel(operation->timer);
    process_.cancel(operation->limit);
  }
  for (const auto& [id, operation] : all) operation->done(fail(error));
}

void StoreClient::set(std::string key, std::string value,
                      UniqueFunction<void(const Status&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys.push_back(std::move(key));
  operation->value = std::move(value);
  operation->changes = true;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    server.keys_[o.keys.front()] = o.value;
    return std::string();
  };
  operation->done = [done = std::move(done)](const Result<std::string>& answer) mutable {
    done(answer ? Status() : Status(fail(answer.error())));
  };
  run(std::move(operation));
}

void StoreClient::get(std::string key, UniqueFunction<void(const Result<std::string>&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys.push_back(std::move(key));
  operation->waits = true;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    const auto found = server.keys_.find(o.keys.front());
    if (found == server.keys_.end()) return std::nullopt;
    return found->second;
  };
  operation->done = std::move(done);
  run(std::move(operation));
}

void StoreClient::wait(std::vector<std::string> keys, UniqueFunction<void(const Status&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys = std::move(keys);
  operation->waits = true;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    for (const std::string& key : o.keys) {
      if (!server.keys_.contains(key)) return std::nullopt;
    }
    return std::string();
  };
  operation->done = [done = std::move(done)](const Result<std::string>& answer) mutable {
    done(answer ? Status() : Status(fail(answer.error())));
  };
  run(std::move(operation));
}

void StoreClient::add(std::string key, std::int64_t amount,
                      UniqueFunction<void(const Result<std::int64_t>&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys.push_back(std::move(key));
  operation->amount = amount;
  operation->changes = amount != 0;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    std::string& value = server.keys_[o.keys.front()];
    value = std::to_string(integer(value) + o.amount);
    return value;
  };
  operation->done = [done = std::move(done)](const Result<std::string>& answer) mutable {
    done(answer ? Result<std::int64_t>(integer(*answer))
                : Result<std::int64_t>(fail(answer.error())));
  };
  run(std::move(operation));
}

void StoreClient::compare_set(std::string key, std::string expected, std::string desired,
                              UniqueFunction<void(const Result<std::string>&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys.push_back(std::move(key));
  operation->expected = std::move(expected);
  operation->value = std::move(desired);
  operation->changes = true;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    const auto found = server.keys_.find(o.keys.front());
    if (found == server.keys_.end()) {
      if (!o.expected.empty()) return o.expected;
      return server.keys_[o.keys.front()] = o.value;
    }
    if (found->second == o.expected) found->second = o.value;
    return found->second;
  };
  operation->done = std::move(done);
  run(std::move(operation));
}

void StoreClient::check(std::vector<std::string> keys,
                        UniqueFunction<void(const Result<bool>&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys = std::move(keys);
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    const bool all = std::all_of(o.keys.begin(), o.keys.end(), [&](const std::string& key) {
      return server.keys_.contains(key);
    });
    return std::string(all ? "1" : "");
  };
  operation->done = [done = std::move(done)](const Result<std::string>& answer) mutable {
    done(answer ? Result<bool>(!answer->empty()) : Result<bool>(fail(answer.error())));
  };
  run(std::move(operation));
}

void StoreClient::remove(std::string key, UniqueFunction<void(const Status&)> done) {
  auto operation = std::make_unique<Operation>();
  operation->keys.push_back(std::move(key));
  operation->changes = true;
  operation->run = [](StoreServer& server, const Operation& o) -> std::optional<std::string> {
    server.keys_.erase(o.keys.front());
    return std::string();
  };
  operation->done = [done = std::move(done)](const Result<std::string>& answer) mutable {
    done(answer ? Status() : Status(fail(answer.error())));
  };
  run(std::move(operation));
}

}  // namespace ddptwin::model
