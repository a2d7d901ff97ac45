// torchrun's command line and its PET_ environment, read with torchrun's precedence, defaults,
// error texts and exit codes. Source: spec/ddp-semantics.md §4.1, §9.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "objects/core_v1.hpp"
#include "runtime/model/torchrun/profile.hpp"

namespace ddptwin::torchrun {

// What the process prints and with which code it ends, instead of running.
struct Refusal {
  int exit_code = 1;
  std::vector<std::string> lines{};
};
template <class T>
using Checked = tl::expected<T, Refusal>;

// A Python exception nobody caught: the traceback's last line, exit 1.
Refusal uncaught(const std::string& exception);

struct Endpoint {
  std::string host{};
  int port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

enum class Backend : std::uint8_t { static_, c10d };

struct Options {
  int min_nodes = 1;
  int max_nodes = 1;
  int nproc = 1;
  Backend backend = Backend::static_;
  Endpoint endpoint{};
  std::string run_id = "none";
  std::optional<bool> is_host{};  // rdzv_conf is_host; absent: found out from the endpoint
  Duration join_timeout{}, last_call{}, close_timeout{}, read_timeout{}, static_timeout{};
  Duration keep_alive_interval{};
  int keep_alive_misses = 0;
  int max_restarts = 0;
  Duration monitor_interval{};
  Duration shutdown_timeout{};
  std::string role = "default";
  int node_rank = 0;
  std::string local_address{};
  std::string log_dir{};
  std::string redirects = "0";  // "0:1,1:3": which streams of a local rank go to files; "3": of all
  std::string tee = "0";        // ... and to the console too
  bool sets_omp_threads = false;  // more than one worker and OMP_NUM_THREADS unset
  bool virtual_local_rank = false;
  std::string signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  std::vector<std::string>
      command{};  // of a worker: python3 -u script args, or as --no-python says
};

// What torchrun asks the machine for.
struct Hardware {
  int cpus = 1;  // of the node: neither version looks at a quota (§9.5)
  int gpus = 0;
  std::string unique_id{};  // what uuid4 would give
};

// `arguments` without the program's own name. `program`: how argparse calls it ("torchrun").
Checked<Options> read_options(const Profile& profile, const std::string& program,
                              const std::vector<std::string>& arguments,
                              const StringMap& environment, const Hardware& hardware);

// The rendezvous backend that would be chosen; empty where read_options() refuses what it is given
// before that.
std::string chosen_backend(const Profile& profile, const std::string& program,
                           const std::vector<std::string>& arguments, const StringMap& environment);
// Registered by torchrun, but it needs a server and a package that nobody models.
bool is_etcd(std::string_view backend);

// Of "0", "3" or "0:1,1:3": 1 for standard output, 2 for standard error, 3 for both.
int streams_of(std::string_view mapping, int local_rank);

// Python's int() and float(): surrounding blanks, a sign and underscores between digits are
// allowed.
std::optional<std::int64_t> python_int(std::string_view source);
std::optional<double> python_float(std::string_view source);

}  // namespace ddptwin::torchrun
