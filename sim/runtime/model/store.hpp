// c10d's TCPStore: the server in a process, and its client with the retry rules of each version.
// Source: spec/ddp-semantics.md §2.1, §3.2, §3.3, §9.2.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model/network.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

class StoreClient;
class GroupStore;

// The server's side: keys, who waits for them, and the meetings of process groups (mesh.hpp), which
// keep their addresses in it. Lives in the process that hosts it and ends with it: the clients are
// told.
class StoreServer final : public Service {
 public:
  // Listens. The error is EADDRINUSE, type and words as Python shows them: text() is the line.
  static Result<std::unique_ptr<StoreServer>> listen(Process& host, std::uint16_t port);
  ~StoreServer() override;
  StoreServer(const StoreServer&) = delete;

  std::uint16_t port() const { return port_; }
  Process& host() { return host_; }
  const std::map<std::string, std::string, std::less<>>& keys() const { return keys_; }
  // How many clients have come (the `init/` counter of the world count).
  int clients() const { return joined_; }
  // Called after each client that comes.
  void on_client(Callback came) { came_ = std::move(came); }
  GroupStore& groups() { return *groups_; }

  void owner_ended() override;

 private:
  friend class StoreClient;

  StoreServer(Process& host, std::uint16_t port);
  void changed();

  Process& host_;
  std::uint16_t port_;
  int joined_ = 0;
  std::map<std::string, std::string, std::less<>> keys_;
  std::vector<StoreClient*> clients_;
  Callback came_{};
  std::unique_ptr<GroupStore> groups_;
};

struct StoreAddress {
  std::string host{};  // a name or an address
  std::uint16_t port = 0;
};

// One client. Its operations answer after a round trip, wait as long as keys are missing, and fail
// when the server's process ends, when the timeout is over, or when TCP gives up on a cut link.
// Errors name Python's type in `where` and its words in `message`: text() is the line of stderr.
// Reason::timeout: the timeout was over; anything else: the connection is gone for good.
class StoreClient {
 public:
  StoreClient(Process& process, StoreAddress server, Duration timeout);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;

  // Tries until it is connected or the profile's rule gives up (§3.2, §9.2, §9.8). Counts as one
  // client of the server. A foreign listener is never answered.
  // `known_ip`: the address that the name has just been found to have; the first try takes it.
  void connect(UniqueFunction<void(const Status&)> done, std::string known_ip = {});
  bool connected() const { return server_ != nullptr; }
  // Called once when the server's process ends. Only some want to know: c10d itself notices at its
  // next operation.
  void on_lost(Callback lost) { on_lost_ = std::move(lost); }

  void set(std::string key, std::string value, UniqueFunction<void(const Status&)> done);
  void get(std::string key, UniqueFunction<void(const Result<std::string>&)> done);  // waits for it
  void wait(std::vector<std::string> keys, UniqueFunction<void(const Status&)> done);
  void add(std::string key, std::int64_t amount,
           UniqueFunction<void(const Result<std::int64_t>&)> done);
  // The value afterwards; sets `desired` where the key holds `expected`, or is missing and
  // `expected` is empty.
  void compare_set(std::string key, std::string expected, std::string desired,
                   UniqueFunction<void(const Result<std::string>&)> done);
  void check(std::vector<std::string> keys, UniqueFunction<void(const Result<bool>&)> done);
  void remove(std::string key, UniqueFunction<void(const Status&)> done);

  // Of every operation from now on.
  void set_timeout(Duration timeout) { timeout_ = timeout; }
  Duration timeout() const { return timeout_; }
  // The server that it is connected to, for what runs beside its keys (mesh.hpp); null: none.
  StoreServer* server() { return server_; }
  const std::string& server_ip() const { return server_ip_; }
  // For the trace: what fails now does because the server's process has ended.
  void tell_of_the_end() const;

 private:
  friend class StoreServer;
  struct Operation;

  void try_connect();
  void try_address();
  void resolved(const Resolved& answer);
  void tried(Connect outcome);
  void retry();
  void timed_out();
  void loop_over(Error error);
  void greet();
  void connect_over(const Status& status);
  Duration next_sleep();
  void server_ended();
  void hear_of_the_end();
  void fail_all(const Error& error);

  void run(std::unique_ptr<Operation> operation);
  void arrive(std::uint32_t id);
  void too_late(std::uint32_t id);
  void look_again();
  void finish(std::uint32_t id, Result<std::string> result);
  bool is_stalled() const;
  bool is_server_stopped() const;
  bool is_cut() const;

  Process& process_;
  StoreAddress address_;
  Duration timeout_;
  StoreServer* server_ = nullptr;
  std::string server_ip_{};
  ProcessId server_process_ = 0;
  bool heard_ = false;       // that the server has ended
  std::uint64_t watch_ = 0;  // of the links, while nothing is heard of the end
  Callback on_lost_{};

  UniqueFunction<void(const Status&)> connecting_{};
  Time loop_since_{};   // the first try of the loop at hand
  Time connect_end_{};  // no loop begins after it
  Duration mean_sleep_{};
  std::string tried_ip_{};

  std::map<std::uint32_t, std::unique_ptr<Operation>> operations_;
  std::uint32_t last_operation_ = 0;
};

}  // namespace ddptwin::model
