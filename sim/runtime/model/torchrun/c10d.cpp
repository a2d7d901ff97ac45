// The c10d rendezvous: a state that all agents read, judge and write by compare-and-set, in a store
// that one of them hosts. rendezvous.hpp has the rules; here are the store, the polls and
// the heartbeats. Source: spec/ddp-semantics.md §4.3, §4.4, §9.5; upstream's
// dynamic_rendezvous.py and c10d_rendezvous_backend.py.

#include <algorithm>
#include <deque>

#include "runtime/model/resolver.hpp"
#include "runtime/model/torchrun/meeting.hpp"
#include "runtime/model/torchrun/rendezvous.hpp"

namespace ddptwin::torchrun {
namespace {

constexpr std::string_view api_module = "torch.distributed.elastic.rendezvous.api.";
// What the store holds before the first agent writes a state.
constexpr std::string_view no_state = "Y2FuaW1hZGFt";

Error connection_error(const Error& cause) {
  return Error{Reason::io,
               {},
               cause.text() +
                   "\n\nThe above exception was the direct cause of the following exception:\n\n" +
                   std::string(api_module) +
                   "RendezvousConnectionError: The connection to the C10d store has failed. See "
                   "inner exception for details.",
               nullptr,
               0,
               {}};
}

class C10dMeeting final : public Meeting {
 public:
  C10dMeeting(const Agent& agent, UniqueFunction<void(const Error&)> lost)
      : agent_(agent),
        lost_(std::move(lost)),
        key_("/torch.rendezvous." + agent.options.run_id),
        node_{agent.options.local_address.empty() ? agent.process.fqdn()
                                                  : agent.options.local_address,
              agent.process.pid(), 0},
        settings_{agent.options.min_nodes, agent.options.max_nodes, agent.options.last_call,
                  agent.options.keep_alive_interval, agent.options.keep_alive_misses} {}

  void connect(UniqueFunction<void(const Status&)> done) override {
    connected_ = std::move(done);
    const std::string& host = agent_.options.endpoint.host;
    if (agent_.options.is_host) return open_store(*agent_.options.is_host);
    const bool mine = host == "localhost" || host.starts_with("127.") ||
                      host == agent_.process.hostname() || host == agent_.process.fqdn() ||
                      host == agent_.process.ip();
    if (mine || !agent_.profile.resolves_endpoint || model::is_ipv4(host)) return open_store(mine);
    agent_.process.lookup(host, [this](const model::Resolved& found) {
      const auto& addresses = found.addresses;
      open_store(std::find(addresses.begin(), addresses.end(), agent_.process.ip()) !=
                 addresses.end());
    });
  }

  void next(UniqueFunction<void(Result<World>)> done) override {
    agent_.process.cancel(heartbeat_);
    next_done_ = std::move(done);
    Duration delay{};
    if (state_.round == 0) {
      const double part = agent_.process.random().uniform();
      delay = Duration(static_cast<std::int64_t>(
          part * static_cast<double>(agent_.profile.first_join_spread.count())));
    }
    pause_ = agent_.process.after(delay, [this] { leave_and_join(); });
  }

  bool watches_members() const override { return true; }

  void nodes_waiting(UniqueFunction<void(Result<int>)> done) override {
    begin({std::nullopt, {}, [this, done = std::move(done)](const Status& status) mutable {
             if (!status) return done(fail(status.error()));
             done(static_cast<int>(state_.wait_list.size()));
           }});
  }

  void fall_silent() override { agent_.process.cancel(heartbeat_); }

  void interrupt() override {
    agent_.process.cancel(pause_);
    tasks_.clear();
    ++epoch_;
    next_done_ = nullptr;
  }

  void close(Callback done) override {
    agent_.process.cancel(heartbeat_);
    if (!client_ || !client_->connected()) return done();
    begin({Operation::close, agent_.options.close_timeout,
           [done = std::move(done)](const Status&) mutable { done(); }});
  }

 private:
  // One operation at a time, as under upstream's lock. Without an operation: only look.
  struct Task {
    std::optional<Operation> operation{};
    Duration timeout{};
    UniqueFunction<void(const Status&)> done{};
    std::optional<Time> deadline{};
  };

  // The host's store first; where the port is taken, one more try as a client.
  void open_store(bool host) {
    const Endpoint& endpoint = agent_.options.endpoint;
    auto port = static_cast<std::uint16_t>(endpoint.port);
    if (host) {
      auto server = model::StoreServer::listen(agent_.process, port);
      if (!server && agent_.options.is_host)
        return connected_(fail(connection_error(server.error())));
      if (server) {
        server_ = std::move(*server);
        port = server_->port();
      }
    }
    client_ = std::make_unique<model::StoreClient>(
        agent_.process, model::StoreAddress{endpoint.host, port}, agent_.options.read_timeout);
    client_->connect([this](const Status& status) {
      if (!status) return connected_(fail(connection_error(status.error())));
      client_->compare_set(key_, "", std::string(no_state), [this](Result<std::string> value) {
        if (!value) return connected_(fail(connection_error(value.error())));
        seen_ = std::move(*value);
        connected_({});
      });
    });
  }

  void leave_and_join() {
    const Time deadline = agent_.process.now() + agent_.options.join_timeout;
    begin({Operation::exit, agent_.options.join_timeout, [this, deadline](const Status& left) {
             if (!left) return next_done_(fail(left.error()));
             begin({Operation::join, deadline - agent_.process.now(),
                    [this](const Status& joined) { joined_round(joined); }});
           }});
  }

  void joined_round(const Status& joined) {
    if (!joined) return next_done_(fail(joined.error()));
    expect_heartbeat();
    const auto self = state_.participants.find(node_);
    next_done_(World{client_.get(), key_ + "." + std::to_string(state_.round) + "/", self->second,
                     static_cast<int>(state_.participants.size()), std::nullopt});
  }

  void expect_heartbeat() {
    heartbeat_ = agent_.process.after(agent_.options.keep_alive_interval, [this] {
      expect_heartbeat();
      begin({Operation::keep_alive, agent_.profile.heartbeat_timeout, [this](const Status& status) {
               if (status) return;
               agent_.process.cancel(heartbeat_);
               lost_(status.error());
             }});
    });
  }

  void begin(Task task) {
    tasks_.push_back(std::move(task));
    if (tasks_.size() == 1) proceed();
  }

  void proceed() {
    if (!tasks_.front().deadline)
      tasks_.front().deadline = agent_.process.now() + tasks_.front().timeout;
    if (dirty_) return write();
    const Time now = agent_.process.now();
    if (synced_ && *synced_ > now - agent_.profile.poll) return judge();
    client_->get(key_, [this, epoch = epoch_](const Result<std::string>& value) {
      if (epoch == epoch_) read(value, false);
    });
  }

  void write() {
    std::string text = encode(state_);
    client_->compare_set(key_, seen_, text,
                         [this, epoch = epoch_](const Result<std::string>& value) {
                           if (epoch == epoch_) read(value, true);
                         });
  }

  // What the store holds now is the state, whoever wrote it; without those whose lease is over.
  void read(const Result<std::string>& value, bool written) {
    if (!value) return finish(fail(connection_error(value.error())));
    const Time now = agent_.process.now();
    dirty_ = false;
    synced_ = now;
    if (!written || *value != encode(state_)) {
      if (*value == no_state) {
        state_ = {};
      } else if (auto state = decode(*value)) {
        state_ = std::move(*state);
      } else {
        return finish(fail(Reason::bad_input,
                           "The state object is corrupt. See inner exception for details.",
                           std::string(api_module) + "RendezvousStateError"));
      }
    }
    seen_ = *value;
    state_ = without_dead(std::move(state_), settings_, now);
    judge();
  }

  void judge() {
    const Task& task = tasks_.front();
    if (!task.operation) return finish({});
    const Time now = agent_.process.now();
    const Action action = decide(*task.operation, state_, node_, settings_, *task.deadline, now);
    switch (action) {
      case Action::finish:
        return finish({});
      case Action::error_closed:
        return finish(fail(Reason::gone, std::string(api_module) + "RendezvousClosedError"));
      case Action::error_timeout:
        return finish(fail(Reason::timeout, std::string(api_module) + "RendezvousTimeoutError"));
      case Action::sync:
        pause_ = agent_.process.after(agent_.profile.poll, [this] { proceed(); });
        return;
      default:
        state_ = applied(action, std::move(state_), node_, settings_, now);
        dirty_ = true;
        proceed();
    }
  }

  void finish(const Status& status) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task.done(status);
    if (!tasks_.empty() && !tasks_.front().deadline) proceed();
  }

  Agent agent_;
  UniqueFunction<void(const Error&)> lost_;
  std::string key_;
  NodeId node_;
  RendezvousSettings settings_;
  std::unique_ptr<model::StoreServer> server_{};
  std::unique_ptr<model::StoreClient> client_{};
  RendezvousState state_{};
  std::string seen_{};  // what the store held when it was last asked
  bool dirty_ = false;  // state_ has a change that the store has not
  std::optional<Time> synced_{};
  std::deque<Task> tasks_{};
  int epoch_ = 0;  // answers to what was asked before an interrupt() are passed over
  model::TimerId heartbeat_ = 0;
  model::TimerId pause_ = 0;
  UniqueFunction<void(const Status&)> connected_{};
  UniqueFunction<void(Result<World>)> next_done_{};
};

}  // namespace

std::unique_ptr<Meeting> make_c10d_meeting(const Agent& agent,
                                           UniqueFunction<void(const Error&)> lost) {
  return std::make_unique<C10dMeeting>(agent, std::move(lost));
}

}  // namespace ddptwin::torchrun
