#include "gloo_engine.hpp"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <thread>
#include <utility>

#include "error.hpp"
#include "linear_model.hpp"
#include "rendezvous.hpp"
#include "tcp_store.hpp"

namespace ddptwin::workers {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto poll_pause = std::chrono::milliseconds(10);

// Keys of PyTorch 1.13's default group (spec/ddp-semantics.md §2.1).
constexpr const char* worker_count_key = "init/";
constexpr const char* mesh_prefix = "/default_pg/0/0/";
constexpr const char* barrier_key = "/default_pg/store_based_barrier_key:1";
constexpr const char* sequence_key = "/default_pg/0/SEQ_NUM_STORE_KEY";

std::chrono::milliseconds milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(TcpStoreClient& client, std::string prefix, Duration timeout)
      : client_(client), prefix_(std::move(prefix)), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& value) override {
    client_.set(prefix_ + key, {value.begin(), value.end()});
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = client_.get(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, milliseconds(timeout_)); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    std::vector<std::string> full;
    for (const std::string& key : keys) full.push_back(prefix_ + key);
    client_.wait(full, timeout);
  }

 private:
  TcpStoreClient& client_;
  std::string prefix_;
  Duration timeout_;
};

// A name is usable if one of its addresses can be bound here; else Gloo would throw where c10d
// takes the loopback (§6.2).
bool can_bind(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound = fd >= 0 && ::bind(fd, address->ai_addr, address->ai_addrlen) == 0;
    if (fd >= 0) ::close(fd);
    if (bound) return true;
  }
  return false;
}

std::shared_ptr<gloo::transport::Device> make_device(const RankEnvironment& environment) {
  gloo::transport::tcp::attr attributes;
  if (!environment.gloo_devices.empty()) {
    attributes.iface = environment.gloo_devices.front();
    return gloo::transport::tcp::CreateDevice(attributes);
  }
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  attributes.hostname = host.data();
  if (!can_bind(attributes.hostname)) {
    std::fprintf(stderr,
                 "[W ProcessGroupGloo.cpp:684] Warning: Unable to resolve hostname to a (local) "
                 "address. Using the loopback address as fallback. Manually set the network "
                 "interface to bind to with GLOO_SOCKET_IFNAME. (function operator())\n");
    attributes.hostname = "127.0.0.1";
  }
  return gloo::transport::tcp::CreateDevice(attributes);
}

class GlooGroup final : public Group {
 public:
  GlooGroup(const Options& options, const RankEnvironment& environment)
      : environment_(environment) {
    refuse_agent_of_2(environment);
    if (environment.hosts_store()) server_.emplace(environment.master_port);
    await_master(environment, options.eager_connect);
    client_.emplace(environment.master_addr, environment.master_port, options.timeout);
    await_workers(options.timeout);
    if (environment.uses_agent_store) key_prefix_ = "//worker/attempt_" + environment.attempt;
    GlooStore store(*client_, key_prefix_ + mesh_prefix, options.timeout);
    context_ =
        std::make_shared<gloo::rendezvous::Context>(environment.rank, environment.world_size);
    context_->setTimeout(milliseconds(options.timeout));
    auto device = make_device(environment);
    context_->connectFullMesh(store, device);
    barrier(options.timeout);
    if (environment.rank == 0) client_->set(key_prefix_ + sequence_key, std::string(8, '\0'));
  }

  int rank() const override { return environment_.rank; }
  int size() const override { return environment_.world_size; }

  void all_reduce(const std::vector<std::span<float>>& buffers) override {
    for (const std::span<float> buffer : buffers) {
      gloo::AllreduceOptions options(context_);
      options.setOutput(buffer.data(), buffer.size());
      options.setReduceFunction([](void* sum, const void* a, const void* b, std::size_t count) {
        gloo::sum<float>(static_cast<float*>(sum), static_cast<const float*>(a),
                         static_cast<const float*>(b), count);
      });
      collective(options, [&] { gloo::allreduce(options); });
    }
  }

  void broadcast(std::span<std::byte> bytes) override {
    gloo::BroadcastOptions options(context_);
    options.setRoot(0);
    options.setOutput(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
    collective(options, [&] { gloo::broadcast(options); });
  }

  std::vector<std::byte> all_gather(std::span<const std::byte> bytes) override {
    std::vector<std::byte> mine(bytes.begin(), bytes.end());
    std::vector<std::byte> all(bytes.size() * static_cast<std::size_t>(size()));
    gloo::AllgatherOptions options(context_);
    options.setInput(reinterpret_cast<std::uint8_t*>(mine.data()), mine.size());
    options.setOutput(reinterpret_cast<std::uint8_t*>(all.data()), all.size());
    collective(options, [&] { gloo::allgather(options); });
    return all;
  }

 private:
  // Calls are matched by this count, so it is torch's: one for each collective.
  template <class CollectiveOptions, class Call>
  void collective(CollectiveOptions& options, Call call) {
    options.setTag(next_tag_++);
    try {
      call();
    } catch (const std::exception& error) {
      throw CollectiveError("RuntimeError", error.what());
    }
  }

  // As c10d 1.13: everybody counts itself; the host of the store waits for all, for T and the rest
  // of a second, and then goes on without a word (§3.2).
  void await_workers(Duration timeout) {
    client_->add(worker_count_key, 1);
    if (!environment_.hosts_store()) return;
    const Clock::time_point start = Clock::now();
    while (client_->add(worker_count_key, 0) < environment_.world_size) {
      if (std::chrono::floor<std::chrono::seconds>(Clock::now() - start) > timeout) return;
      std::this_thread::sleep_for(poll_pause);
    }
  }

  void barrier(Duration timeout) {
    const std::string key = key_prefix_ + barrier_key;
    const Clock::time_point end = Clock::now() + timeout;
    std::int64_t count = client_->add(key, 1);
    while (count < environment_.world_size) {
      if (Clock::now() > end) {
        throw PythonError("RuntimeError",
                          "Timed out initializing process group in store based barrier on rank: " +
                              std::to_string(rank()) +
                              ", for key: store_based_barrier_key:1 "
                              "(world_size=" +
                              std::to_string(size()) + ", worker_count=" + std::to_string(count) +
                              ")");
      }
      std::this_thread::sleep_for(poll_pause);
      count = client_->add(key, 0);
    }
  }

  RankEnvironment environment_;
  std::string key_prefix_;
  std::optional<TcpStoreServer> server_;
  std::optional<TcpStoreClient> client_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t next_tag_ = 0;
};

}  // namespace

Engineering gloo_engine() {
  return {.join =
              [](const Options& options, const RankEnvironment& environment) {
                if (options.backend == Backend::nccl) {
                  throw PythonError("RuntimeError",
                                    "Distributed package doesn't have NCCL built in");
                }
                return std::make_unique<GlooGroup>(options, environment);
              },
          .build = [](const Options& options,
                      const RankEnvironment&) { return std::make_unique<LinearModel>(options); }};
}

}  // namespace ddptwin::workers
