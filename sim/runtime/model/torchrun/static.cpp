// The static rendezvous: node 0's agent hosts the store, ranks and world are what the user says.
// There is no barrier in it after the first round, and nobody watches who comes and goes.
// Source: spec/ddp-semantics.md §4.2 to §4.4, §9.5; upstream's static_tcp_rendezvous.py.

#include <utility>

#include "runtime/model/messages.hpp"
#include "runtime/model/torchrun/meeting.hpp"

namespace ddptwin::torchrun {
namespace {

class StaticMeeting final : public Meeting {
 public:
  explicit StaticMeeting(const Agent& agent) : agent_(agent) {}

  void connect(UniqueFunction<void(const Status&)> done) override {
    done_ = std::move(done);
    model::Process& process = agent_.process;
    const Endpoint& endpoint = agent_.options.endpoint;
    const auto port = static_cast<std::uint16_t>(endpoint.port);
    if (agent_.options.node_rank == 0) {
      auto server = model::StoreServer::listen(process, port);
      if (!server) return done_(fail(std::move(server).error()));
      server_ = std::move(*server);
    }
    client_ = std::make_unique<model::StoreClient>(
        process, model::StoreAddress{endpoint.host, server_ ? server_->port() : port},
        agent_.options.static_timeout);
    client_->connect([this](const Status& status) {
      if (!status || !server_) return done_(status);
      count_clients();
    });
  }

  void next(UniqueFunction<void(Result<World>)> done) override {
    done(World{client_.get(), "/" + agent_.options.run_id + "/", agent_.options.node_rank,
               agent_.options.max_nodes, agent_.options.endpoint});
  }
  bool watches_members() const override { return false; }
  void nodes_waiting(UniqueFunction<void(Result<int>)> done) override { done(0); }
  void close(Callback done) override { done(); }

 private:
  // The host waits until every agent has come: T, in whole seconds, and a second more; 1.13 then
  // goes on silently (§3.2, §9.2).
  void count_clients() {
    if (server_->clients() >= agent_.options.max_nodes) return counted({});
    server_->on_client([this] {
      if (limit_ != 0 && server_->clients() >= agent_.options.max_nodes) counted({});
    });
    const Duration patience = agent_.options.static_timeout + agent_.profile.torch->world_slack;
    limit_ = agent_.process.after(patience, [this, patience] {
      limit_ = 0;
      const model::TorchProfile& torch = *agent_.profile.torch;
      if (!torch.fails_without_world) return counted({});
      counted(fail(
          model::clients_missing(torch, patience, server_->clients(), agent_.options.max_nodes)));
    });
  }

  void counted(const Status& status) {
    agent_.process.cancel(std::exchange(limit_, 0));
    // Not inside the call of the client that came.
    agent_.process.after(agent_.profile.torch->world_poll,
                         [this, status] { std::exchange(done_, nullptr)(status); });
  }

  Agent agent_;
  std::unique_ptr<model::StoreServer> server_{};
  std::unique_ptr<model::StoreClient> client_{};
  UniqueFunction<void(const Status&)> done_{};
  model::TimerId limit_ = 0;
};

}  // namespace

std::unique_ptr<Meeting> make_static_meeting(const Agent& agent) {
  return std::make_unique<StaticMeeting>(agent);
}

}  // namespace ddptwin::torchrun
