#include "runtime/model/torchrun/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/model/torchrun/messages.hpp"

namespace ddptwin::torchrun {
namespace {

constexpr int sigkill = 9;
constexpr std::string_view python_true = "True";
constexpr std::string_view python_false = "False";

std::string_view python_bool(bool value) { return value ? python_true : python_false; }

void assign(model::Environment& environment, std::string name, std::string value) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found != environment.end())
    found->second = std::move(value);
  else
    environment.emplace_back(std::move(name), std::move(value));
}

// What goes to a file only is not in the container's log; what is teed comes back into it behind
// the role and the local rank (§4).
model::Spawn::Stream stream_of(const Options& options, int local_rank, int stream) {
  if ((streams_of(options.tee, local_rank) & stream) != 0)
    return {fmt::format("[{}{}]:", options.role, local_rank), true};
  return {{}, (streams_of(options.redirects, local_rank) & stream) == 0};
}

// What Python's string.Template makes of the arguments, which torchrun hands to its
// safe_substitute() with the local rank alone: "$$" is "$", other variables stay
// (torch/distributed/elastic/utils/api.py, macros.substitute).
std::string with_local_rank(std::string_view text, int local_rank) {
  constexpr std::string_view name = "local_rank";
  const auto goes_on = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  while (!text.empty()) {
    const std::size_t sign = text.find('$');
    out += text.substr(0, sign);
    if (sign == text.npos) break;
    text.remove_prefix(sign + 1);
    const bool braced = text.starts_with("{local_rank}");
    if (text.starts_with('$')) {
      out += '$';
      text.remove_prefix(1);
    } else if (braced || (text.starts_with(name) &&
                          (text.size() == name.size() || !goes_on(text[name.size()])))) {
      out += std::to_string(local_rank);
      text.remove_prefix(name.size() + (braced ? 2 : 0));
    } else {
      out += '$';
    }
  }
  return out;
}

std::vector<std::string> with_local_rank(const std::vector<std::string>& command, int local_rank) {
  std::vector<std::string> out;
  out.reserve(command.size());
  for (const std::string& word : command)  // but not the program itself
    out.push_back(out.empty() ? word : with_local_rank(word, local_rank));
  return out;
}

bool is_set(const model::Environment& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

model::Environment worker_environment(const Agent& agent, const WorkerPlace& place) {
  const Options& options = agent.options;
  const int rank = place.ranks.first_rank + place.local_rank;
  const std::pair<std::string_view, std::string> values[] = {
      {"LOCAL_RANK", std::to_string(options.virtual_local_rank ? 0 : place.local_rank)},
      {"RANK", std::to_string(rank)},
      {"GROUP_RANK", std::to_string(place.world.group_rank)},
      {"ROLE_RANK", std::to_string(place.ranks.first_role_rank + place.local_rank)},
      {"ROLE_NAME", options.role},
      {"LOCAL_WORLD_SIZE", std::to_string(options.nproc)},
      {"WORLD_SIZE", std::to_string(place.ranks.world_size)},
      {"GROUP_WORLD_SIZE", std::to_string(place.world.group_size)},
      {"ROLE_WORLD_SIZE", std::to_string(place.ranks.role_world_size)},
      {"MASTER_ADDR", place.master.host},
      {"MASTER_PORT", std::to_string(place.master.port)},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(place.restart_count)},
      {"TORCHELASTIC_MAX_RESTARTS", std::to_string(options.max_restarts)},
      {"TORCHELASTIC_RUN_ID", options.run_id},
      {"TORCHELASTIC_USE_AGENT_STORE", std::string(python_bool(place.uses_agent_store))},
      {"TORCHELASTIC_ERROR_FILE", fmt::format("{}/attempt_{}/{}/error.json", place.log_dir,
                                              place.restart_count, place.local_rank)},
  };
  model::Environment out = agent.process.environment();
  for (const auto& [name, value] : values) assign(out, std::string(name), value);
  const std::string nccl = agent.profile.torch_nccl_names ? "TORCH_NCCL_ASYNC_ERROR_HANDLING"
                                                          : "NCCL_ASYNC_ERROR_HANDLING";
  if (!is_set(out, nccl)) assign(out, nccl, "1");
  if (agent.profile.names_signals)
    assign(out, "TORCHELASTIC_SIGNALS_TO_HANDLE", options.signals_to_handle);
  if (options.sets_omp_threads) assign(out, "OMP_NUM_THREADS", "1");
  return out;
}

Status WorkerGroup::start(WorkerPlace place) {
  workers_.clear();
  for (int local_rank = 0; local_rank < agent_.options.nproc; ++local_rank) {
    place.local_rank = local_rank;
    auto spawned = agent_.process.spawn(
        {with_local_rank(agent_.options.command, local_rank), worker_environment(agent_, place),
         agent_.profile.own_session, stream_of(agent_.options, local_rank, 1),
         stream_of(agent_.options, local_rank, 2)});
    if (!spawned) return fail(std::move(spawned).error());
    Worker worker{};
    worker.process = *spawned;
    worker.pid = agent_.process.pid_of(*spawned);
    worker.local_rank = local_rank;
    worker.rank = place.ranks.first_rank + local_rank;
    workers_.push_back(worker);
  }
  return {};
}

void WorkerGroup::exited(model::ProcessId process, const model::ExitStatus& status) {
  for (Worker& worker : workers_) {
    if (worker.process != process) continue;
    worker.ended = status;
    worker.ended_at = agent_.process.now();
  }
  if (stopped_ && !any_running()) finish_stop();
}

bool WorkerGroup::any_running() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return !worker.ended; });
}

bool WorkerGroup::any_failed() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.failed(); });
}

void WorkerGroup::stop(int signal, Callback done) {
  agent_.process.cancel(force_);
  stop_signal_ = signal;
  stopped_ = std::move(done);
  if (!any_running()) return finish_stop();
  force_ = agent_.process.after(agent_.options.shutdown_timeout, [this] { force(); });
  for (const Worker& worker : workers_) {
    if (worker.ended) continue;
    say_closing_signal(agent_, worker.pid, signal);
    agent_.process.kill(worker.process, signal);
  }
}

void WorkerGroup::force() {
  for (const Worker& worker : workers_) {
    if (worker.ended) continue;
    say_forced(agent_, worker.pid, stop_signal_);
    agent_.process.kill(worker.process, sigkill);
  }
}

void WorkerGroup::finish_stop() {
  agent_.process.cancel(force_);
  force_ = 0;
  Callback done = std::move(stopped_);
  stopped_ = nullptr;
  done();
}

}  // namespace ddptwin::torchrun
