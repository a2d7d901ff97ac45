// The key-value store of c10d over TCP in the wire protocol of PyTorch 1.13, without libtorch:
// server and client, so that light workers, libtorch workers and Python ranks (1.13) meet in one
// group. Source: spec/ddp-semantics.md §2.1 (protocol), §3.2 and §3.3 (what goes wrong, and its
// words).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "options.hpp"

namespace ddptwin::workers {

// Requests of one byte, then fields; numbers are 64 bits in host order, strings a length and bytes.
enum class StoreRequest : std::uint8_t {
  set,          // key value
  compare_set,  // key expected desired -> value
  get,          // key -> value
  add,          // key number -> number; the value is kept as decimal text
  check,        // count key... -> u8, 0: all there
  wait,         // count key... -> u8 0 once all are there
  count_keys,   // -> number
  watch,        // key -> u8 3; torch's second connection
  erase,        // key -> number of keys erased
};

// Serves from its own thread until destroyed. Listens on [::] or, failing that, 0.0.0.0, as c10d
// does.
class TcpStoreServer {
 public:
  explicit TcpStoreServer(int port);  // 0: any; throws PythonError if the port is taken
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;
  ~TcpStoreServer();

  int port() const;

 private:
  void run();
  void answer(int client);                             // throws when the client is gone
  std::string value_of(const std::string& key) const;  // empty if there is none
  void wake(const std::string& key);                   // those who wait for it
  void drop(int client);

  int listener_ = -1;
  int stop_ = -1;  // eventfd
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<int>> waiting_;  // key to clients
  std::map<int, int> missing_;                       // client to number of keys it waits for
  std::thread thread_;
};

// One connection. Keys are sent as given: callers put the "/" in front that torch puts there.
class TcpStoreClient {
 public:
  // Tries for `timeout` less a second, once a second; throws PythonError("TimeoutError") then.
  TcpStoreClient(const std::string& host, int port, Duration timeout);
  TcpStoreClient(const TcpStoreClient&) = delete;
  TcpStoreClient& operator=(const TcpStoreClient&) = delete;
  ~TcpStoreClient();

  void set(const std::string& key, const std::string& value);
  std::string get(const std::string& key);  // waits for the key
  std::int64_t add(const std::string& key, std::int64_t number);
  bool check(const std::vector<std::string>& keys);
  void wait(const std::vector<std::string>& keys, Duration timeout);  // "Socket Timeout"

 private:
  void set_receive_timeout(Duration timeout);

  int fd_ = -1;
  Duration timeout_;
};

}  // namespace ddptwin::workers
