// An ApiClient that delays, refuses and loses: a decorator around any other, told by a port what to
// do.
#pragma once

#include <map>

#include "api/client.hpp"

namespace ddptwin::api {

// Who calls: the name in the trace, and which one of several that share it.
struct Caller {
  std::string actor{};     // "training-operator", "kubelet"
  std::string instance{};  // "pytorchjob-controller", "node-0"; may be empty
};

// What happens to one call. The default lets it pass.
struct CallVerdict {
  Duration delay{};                   // the request reaches the API server so much later
  std::optional<Error> refuse{};      // answered with this, and nothing is carried out
  std::optional<Error> lose_reply{};  // carried out, and answered with this
  Duration reply_delay{};             // the answer comes so much later
};

// What happens to one event of a watch. The default lets it pass.
struct EventVerdict {
  Duration delay{};  // it comes so much later, and with it all that is behind it in its stream
  // The stream breaks before this event: it and what follows are lost, and after so long the stream
  // ends with 410, upon which a client lists again.
  std::optional<Duration> cut{};
};

// Decides, and hears of what was done. No method may call the client back; those that decide may
// not change what runs in the world either, because the caller stands above them on the stack.
class FaultPort {
 public:
  virtual ~FaultPort() = default;
  virtual CallVerdict on_call(const Caller& caller, const Request& request) = 0;
  // Carried out or refused; the caller hears of it next, and may be gone by then.
  virtual void on_answer(const Caller& caller, const Request& request,
                         const Result<Response>& answer) = 0;
  virtual EventVerdict on_event(const Caller& caller, const KindInfo& kind,
                                const WatchEvent& event) = 0;
};

// Whether the request changes anything.
bool is_write(const Request& request);

// What an API server, or the connection to it, answers when it fails.
Error injected_conflict(const Request& request);  // 409
// With the server's usual words where `message` is empty: of 500, 503, 403 or 422; any other code
// is an internal error too.
Error injected_error(int code, std::string message);
bool can_inject(int code);
Error injected_timeout();          // 504: it gave up; nothing was carried out
Error injected_lost_connection();  // no answer at all: the client library's own error

// Keeps the order within a watch; between calls that are delayed differently there is none, as on a
// real network. Costs nothing until a verdict says something.
class FaultyClient final : public ApiClient {
 public:
  // The port and the loop outlive the client; its end forgets what is under way.
  FaultyClient(Loop& loop, std::shared_ptr<ApiClient> next, Caller caller, FaultPort& port);
  ~FaultyClient() override;

  void call(Request&& request, Completion done) override;
  std::unique_ptr<Watch> watch(const Target& target, const ListOptions& options,
                               WatchSink sink) override;
  const KindRegistry& kinds() const override { return next_->kinds(); }

 private:
  void send(Request&& request, CallVerdict verdict, Completion done);
  void later(Duration delay, Callback callback);

  Loop& loop_;
  std::shared_ptr<ApiClient> next_;
  Caller caller_;
  FaultPort& port_;
  Lane lane_;
  std::map<std::uint64_t, Timer> waiting_{};
  std::uint64_t last_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace ddptwin::api
