#include "runtime/model/torchrun/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/signals.hpp"
#include "runtime/model/torchrun/workers.hpp"

namespace ddptwin::torchrun {
namespace {

constexpr std::size_t width_max = 60;  // of the block's rules

struct LevelName {
  std::string_view word{};
  char letter = 0;
};
constexpr std::array levels{LevelName{"INFO", 'I'}, LevelName{"WARNING", 'W'},
                            LevelName{"ERROR", 'E'}};

constexpr std::string_view multiprocessing = "multiprocessing/api";

// "2026-11-21T18:31:19.123456Z" as glog's "1121 18:31:19.123456".
std::string log_time(Time time) {
  const std::string text = format_rfc3339_micro(time);
  return text.substr(5, 2) + text.substr(8, 2) + " " + text.substr(11, 15);
}

std::string explanation(const Worker& worker) {
  if (worker.ended->signal != 0)
    return fmt::format("Signal {} ({}) received by PID {}", worker.ended->signal,
                       signal_name(worker.ended->signal), worker.pid);
  return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
}

std::vector<std::string> failure_lines(std::size_t index, const std::string& host,
                                       const Worker& worker) {
  std::string time = format_rfc3339(worker.ended_at.floor_seconds());
  time[10] = '_';
  time.pop_back();
  return {fmt::format("[{}]:", index),
          fmt::format("  time      : {}", time),
          fmt::format("  host      : {}", host),
          fmt::format("  rank      : {} (local_rank: {})", worker.rank, worker.local_rank),
          fmt::format("  exitcode  : {} (pid: {})", worker.return_code(), worker.pid),
          "  error_file: <N/A>",
          "  traceback : " + explanation(worker)};
}

void append(std::vector<std::string>& to, const std::vector<std::string>& lines) {
  to.insert(to.end(), lines.begin(), lines.end());
}

}  // namespace

void say(const Agent& agent, Level level, std::string_view file, const std::string& text) {
  const std::string_view shown = agent.process.env("LOGLEVEL");
  if (level == Level::info && shown != "INFO" && shown != "DEBUG") return;
  const LevelName& name = levels[static_cast<std::size_t>(level)];
  if (agent.profile.glog_lines)
    return agent.process.print_error(fmt::format("{}{} {} torch/distributed/elastic/{}.py] {}",
                                                 name.letter, log_time(agent.process.now()),
                                                 agent.process.pid(), file, text));
  std::string module(file);
  std::replace(module.begin(), module.end(), '/', '.');
  agent.process.print_error(
      fmt::format("{}:torch.distributed.elastic.{}:{}", name.word, module, text));
}

void say_closing_signal(const Agent& agent, int pid, int signal) {
  say(agent, Level::warning, multiprocessing,
      fmt::format("Sending process {} closing signal {}", pid, signal_name(signal)));
}

void say_forced(const Agent& agent, int pid, int signal) {
  say(agent, Level::warning, multiprocessing,
      fmt::format("Unable to shutdown process {} via {}, forcefully exiting via 9", pid, signal));
}

void say_uncaught(const Agent& agent, const std::string& exception) {
  agent.process.print_error("Traceback (most recent call last):");
  std::string_view rest = exception;
  for (;;) {
    const auto end = rest.find('\n');
    agent.process.print_error(std::string(rest.substr(0, end)));
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + 1);
  }
}

std::string signal_name(int number) {
  for (const SignalRow& row : signal_rows())
    if (row.number == number) return "SIG" + std::string(row.name);
  return "<N/A>";
}

const Worker& first_failure(const std::vector<Worker>& failed) {
  return *std::min_element(failed.begin(), failed.end(), [](const Worker& a, const Worker& b) {
    return a.ended_at.floor_seconds() < b.ended_at.floor_seconds();
  });
}

std::vector<std::string> child_failed_error(std::string_view name, const std::string& host,
                                            const std::vector<Worker>& failed) {
  const std::string title = fmt::format("{} FAILED", name);
  const Worker* root = &first_failure(failed);
  std::vector<std::string> others{}, first{};
  std::size_t width = title.size();
  for (auto worker = failed.begin(); worker != failed.end(); ++worker) {
    const auto lines =
        failure_lines(static_cast<std::size_t>(worker - failed.begin()), host, *worker);
    for (const std::string& line : lines) width = std::max(width, line.size());
    append(&*worker == root ? first : others, lines);
  }
  if (others.empty()) others = {"  <NO_OTHER_FAILURES>"};
  width = std::min(width, width_max);
  const std::string border(width, '='), section(width, '-');
  std::vector<std::string> out{border, title, section, "Failures:"};
  append(out, others);
  append(out, {section, "Root Cause (first observed failure):"});
  append(out, first);
  out.push_back(border);
  return out;
}

}  // namespace ddptwin::torchrun
