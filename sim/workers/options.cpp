#include "options.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

namespace ddptwin::workers {
namespace {

template <class T>
bool number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && !text.empty();
}

template <class T>
bool at_least(std::string_view text, T& value, T least) {
  return number(text, value) && value >= least;
}

struct Unit {
  std::string_view suffix;
  double factor;
};

// Longer suffixes first, so that "Mi" is not read as "M".
constexpr std::array byte_units{Unit{"Ki", 1024.0}, Unit{"Mi", 1048576.0}, Unit{"Gi", 1073741824.0},
                                Unit{"k", 1e3},     Unit{"M", 1e6},        Unit{"G", 1e9},
                                Unit{"", 1.0}};
constexpr std::array time_units{Unit{"us", 1e3}, Unit{"ms", 1e6},   Unit{"s", 1e9},
                                Unit{"m", 6e10}, Unit{"h", 3.6e12}, Unit{"", 1e9}};

template <class Units>
bool quantity(std::string_view text, const Units& units, double& value) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    double amount = 0;
    if (!number(text.substr(0, text.size() - unit.suffix.size()), amount)) return false;
    value = amount * unit.factor;
    return std::isfinite(value) && value >= 0 &&
           value < static_cast<double>(std::numeric_limits<std::int64_t>::max());
  }
  return false;
}

bool bytes(std::string_view text, std::uint64_t& value) {
  double amount = 0;
  if (!quantity(text, byte_units, amount)) return false;
  value = static_cast<std::uint64_t>(amount);
  return true;
}

bool duration(std::string_view text, Duration& value) {
  double amount = 0;
  if (!quantity(text, time_units, amount)) return false;
  value = Duration(static_cast<std::int64_t>(amount));
  return true;
}

bool exit_code(std::string_view text, int& value) {
  return at_least(text, value, 0) && value < 256;
}

bool optional_rank(std::string_view text, std::optional<int>& value) {
  int rank = 0;
  if (!at_least(text, rank, 0)) return false;
  value = rank;
  return true;
}

template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, std::size_t size>
bool one_of(std::string_view text, T& value, const std::array<Word<T>, size>& words) {
  for (const Word<T>& word : words) {
    if (word.word != text) continue;
    value = word.value;
    return true;
  }
  return false;
}

constexpr std::array<Word<Backend>, 2> backends{{{"gloo", Backend::gloo}, {"nccl", Backend::nccl}}};
constexpr std::array<Word<Engine>, 2> engines{{{"torch", Engine::torch}, {"gloo", Engine::gloo}}};
constexpr std::array<Word<FailureMode>, 4> failure_modes{{{"exit", FailureMode::exit},
                                                          {"abort", FailureMode::abort},
                                                          {"segv", FailureMode::segv},
                                                          {"hang", FailureMode::hang}}};

struct Row {
  std::string_view name;
  std::string_view takes;  // what the value is, in words; empty: no value
  std::string_view help;
  bool (*set)(std::string_view text, Options& options);  // false: not such a value
};

constexpr std::string_view whole_number = "a whole number";
constexpr std::string_view positive_number = "a positive whole number";
constexpr std::string_view time_value = "a time (250ms, 2s, 1.5)";
constexpr std::string_view size_value = "a size (1000000, 512Mi, 2Gi)";
constexpr std::string_view code_value = "an exit code (0 to 255)";
constexpr std::string_view rank_value = "a rank";

constexpr std::array rows{
    Row{"--steps", positive_number, "steps of the whole training, resumed ones included (20)",
        [](std::string_view t, Options& o) { return at_least<std::int64_t>(t, o.steps, 1); }},
    Row{"--step-time", time_value, "least duration of one step (0)",
        [](std::string_view t, Options& o) { return duration(t, o.step_time); }},
    Row{"--batch", positive_number, "samples of one rank in one step (8)",
        [](std::string_view t, Options& o) { return at_least<std::int64_t>(t, o.batch, 1); }},
    Row{"--dataset", positive_number, "samples of the data set (1024)",
        [](std::string_view t, Options& o) { return at_least<std::int64_t>(t, o.dataset, 1); }},
    Row{"--hidden", positive_number, "width of the torch model's two hidden layers (64)",
        [](std::string_view t, Options& o) { return at_least<std::int64_t>(t, o.hidden, 1); }},
    Row{"--learning-rate", "a number", "of SGD (0.05)",
        [](std::string_view t, Options& o) { return number(t, o.learning_rate); }},
    Row{"--momentum", "a number", "of SGD (0.9)",
        [](std::string_view t, Options& o) { return number(t, o.momentum); }},
    Row{"--seed", whole_number, "of weights, data and shuffling (0)",
        [](std::string_view t, Options& o) { return at_least<std::int64_t>(t, o.seed, 0); }},
    Row{"--no-shuffle", "", "the sampler keeps the data set's order",
        [](std::string_view, Options& o) { return !(o.shuffle = false); }},
    Row{"--checkpoint", "a file", "resume from it if it exists; rank 0 writes it (none)",
        [](std::string_view t, Options& o) { return !(o.checkpoint = t).empty(); }},
    Row{"--checkpoint-every", positive_number, "steps between checkpoints; the last step too (10)",
        [](std::string_view t, Options& o) {
          return at_least<std::int64_t>(t, o.checkpoint_every, 1);
        }},
    Row{"--backend", "gloo or nccl", "of the process group (gloo)",
        [](std::string_view t, Options& o) { return one_of(t, o.backend, backends); }},
    Row{"--engine", "torch or gloo", "gloo: no libtorch, 2 ms to start, a linear model",
        [](std::string_view t, Options& o) { return one_of(t, o.engine.emplace(), engines); }},
    Row{"--timeout", time_value, "of rendezvous and of each collective (30m)",
        [](std::string_view t, Options& o) {
          return duration(t, o.timeout) && o.timeout > Duration::zero();
        }},
    Row{"--eager-connect", time_value,
        "how long to look for the master every 20 ms before c10d's own retries (1s)",
        [](std::string_view t, Options& o) { return duration(t, o.eager_connect); }},
    Row{"--peer-loss-code", code_value, "exit code when a collective fails (1)",
        [](std::string_view t, Options& o) { return exit_code(t, o.peer_loss_code); }},
    Row{"--fail-at-step", positive_number, "fail after this step is done (never)",
        [](std::string_view t, Options& o) {
          return at_least<std::int64_t>(t, o.fail_at_step, 1);
        }},
    Row{"--fail-code", code_value, "exit code of the failure (1)",
        [](std::string_view t, Options& o) { return exit_code(t, o.fail_code); }},
    Row{"--fail-with", "exit, abort, segv or hang", "how it fails (exit)",
        [](std::string_view t, Options& o) { return one_of(t, o.fail_with, failure_modes); }},
    Row{"--fail-rank", rank_value, "only this rank fails (all)",
        [](std::string_view t, Options& o) { return optional_rank(t, o.fail_rank); }},
    Row{"--fail-once", "", "not again once CHECKPOINT.failed-rank-R exists",
        [](std::string_view, Options& o) { return o.fail_once = true; }},
    Row{"--allocate", size_value, "allocate and touch this much memory (0)",
        [](std::string_view t, Options& o) { return bytes(t, o.allocate); }},
    Row{"--allocate-at-step", whole_number, "after this step; 0: before the rendezvous (0)",
        [](std::string_view t, Options& o) {
          return at_least<std::int64_t>(t, o.allocate_at_step, 0);
        }},
    Row{"--allocate-rank", rank_value, "only this rank allocates (all)",
        [](std::string_view t, Options& o) { return optional_rank(t, o.allocate_rank); }},
    Row{"--zygote", "a descriptor", "serve forks over this SOCK_SEQPACKET socket",
        [](std::string_view t, Options& o) { return optional_rank(t, o.zygote); }},
};

const Row* find_row(std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string check_together(const Options& options) {
  if (options.fail_once && options.checkpoint.empty()) {
    return "--fail-once needs --checkpoint: its mark lies beside that file";
  }
  return {};
}

}  // namespace

Parsed parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") return parsed.help = true, parsed;
    if (name == "--version") return parsed.version = true, parsed;
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const Row* row = find_row(name);
    if (row == nullptr) {
      parsed.error = "no such option: " + std::string(name);
    } else if (row->takes.empty() && value) {
      parsed.error = std::string(name) + " takes no value";
    } else if (!row->takes.empty() && !value && ++i == arguments.size()) {
      parsed.error = std::string(name) + " takes " + std::string(row->takes);
    } else {
      if (!row->takes.empty() && !value) value = arguments[i];
      if (!row->set(value.value_or(""), parsed.options)) {
        parsed.error = std::string(name) + " takes " + std::string(row->takes) + ", not '" +
                       std::string(*value) + "'";
      }
    }
    if (!parsed.error.empty()) return parsed;
  }
  parsed.error = check_together(parsed.options);
  return parsed;
}

std::string help_text(std::string_view program) {
  std::ostringstream out;
  out << "usage: " << program << " [OPTION [VALUE]]...\n\n"
      << "One rank of a data-parallel training. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT\n"
      << "come from the environment, as for a PyTorch script.\n\n";
  for (const Row& row : rows) {
    std::string left = "  " + std::string(row.name);
    if (!row.takes.empty()) left += " VALUE";
    left.resize(std::max<std::size_t>(left.size() + 2, 28), ' ');
    out << left << row.help << '\n';
  }
  out << "  --help, --version\n";
  return out.str();
}

}  // namespace ddptwin::workers
