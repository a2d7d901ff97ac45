// The command line of a worker. README.md has the table; `--help` prints it from the same rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddptwin::workers {

using Duration = std::chrono::nanoseconds;

enum class Backend { gloo, nccl };
enum class Engine { torch, gloo };
enum class FailureMode { exit, abort, segv, hang };

struct Options {
  std::int64_t steps = 20;
  Duration step_time{};  // each step lasts at least this long
  std::int64_t batch = 8;
  std::int64_t dataset = 1024;
  std::int64_t hidden = 64;  // width of the torch model
  double learning_rate = 0.05;
  double momentum = 0.9;
  std::int64_t seed = 0;
  bool shuffle = true;

  std::string checkpoint;  // empty: none
  std::int64_t checkpoint_every = 10;

  Backend backend = Backend::gloo;
  std::optional<Engine> engine;                      // nothing: the one this program is built on
  Duration timeout = std::chrono::minutes(30);       // init_process_group's default, §3
  Duration eager_connect = std::chrono::seconds(1);  // README.md, "Differences"
  int peer_loss_code = 1;

  std::int64_t fail_at_step = 0;  // 0: never
  int fail_code = 1;
  FailureMode fail_with = FailureMode::exit;
  std::optional<int> fail_rank;  // nothing: every rank
  bool fail_once = false;

  std::uint64_t allocate = 0;  // bytes, touched page by page
  std::int64_t allocate_at_step = 0;
  std::optional<int> allocate_rank;

  std::optional<int> zygote;  // serve on this descriptor instead of training
};

struct Parsed {
  Options options;
  bool help = false;
  bool version = false;
  std::string error;  // not empty: what was found and what was expected; exit status 2
};

// `arguments` without the program's name.
Parsed parse_options(const std::vector<std::string>& arguments);

std::string help_text(std::string_view program);

}  // namespace ddptwin::workers
