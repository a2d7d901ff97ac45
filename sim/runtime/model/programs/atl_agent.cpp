#include "runtime/model/programs/atl_agent.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/numbers.hpp"

namespace ddptwin::atl {
namespace {

Error wrong(const std::string& text) { return Error{Reason::bad_input, "", "atlctl" + text}; }

constexpr std::string_view usage =
    ": status | stop [--task] | run | exec [--ranks 0,2] -- command...";

Result<std::vector<int>> ranks_in(const std::string& list) {
  std::vector<int> ranks;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    const auto rank = whole_number<int>(std::string_view(list).substr(from, end - from));
    if (!rank || *rank < 0)
      return fail(
          wrong(fmt::format(" exec: --ranks {}: ranks are "
                            "wanted, with commas between them",
                            list)));
    ranks.push_back(*rank);
    from = end + 1;
  }
  return ranks;
}

Result<Order> parse_exec(const std::vector<std::string>& argv) {
  Order order{.kind = Order::Kind::exec};
  std::size_t at = 2;
  if (at + 1 < argv.size() && argv[at] == "--ranks") {
    auto ranks = ranks_in(argv[at + 1]);
    if (!ranks) return fail(std::move(ranks.error()));
    order.ranks = std::move(*ranks);
    at += 2;
  }
  if (at < argv.size() && argv[at] == "--") ++at;
  order.command.assign(argv.begin() + static_cast<std::ptrdiff_t>(at), argv.end());
  if (order.command.empty() || order.command.front().starts_with('-'))
    return fail(wrong(" exec: a command is wanted: atlctl exec [--ranks 0,2] -- command..."));
  return order;
}

std::string state_of(const Answer& answer) {
  if (!answer.reached) return "Unreachable";
  return answer.running ? "Running" : "Stopped";
}

std::string code_of(const Answer& answer) {
  return answer.code ? std::to_string(*answer.code) : "-";
}

}  // namespace

Result<AgentArguments> parse_agent(const std::vector<std::string>& argv) {
  AgentArguments made;
  std::size_t at = 2;
  for (; at + 1 < argv.size() && argv[at] != "--"; at += 2) {
    const std::string& value = argv[at + 1];
    constexpr int port_max = 65535;
    const auto number = whole_number<int>(value);
    if (argv[at] == "--ready-port" && number && *number > 0 && *number <= port_max)
      made.ready_port = static_cast<std::uint16_t>(*number);
    else if (argv[at] == "--grace" && number && *number >= 0)
      made.grace = std::chrono::seconds(*number);
    else if (argv[at] == "--stop-text")
      made.stop_text = value;
    else
      return fail(wrong(fmt::format(" agent: {} {} cannot be taken", argv[at], value)));
  }
  if (at < argv.size() && argv[at] == "--") ++at;
  made.command.assign(argv.begin() + static_cast<std::ptrdiff_t>(std::min(at, argv.size())),
                      argv.end());
  if (made.command.empty() || made.ready_port == 0)
    return fail(wrong(" agent: --ready-port PORT -- command... is wanted"));
  return made;
}

Result<Order> parse_order(const std::vector<std::string>& argv) {
  const std::string word = argv.size() > 1 ? argv[1] : "";
  if (word == "exec") return parse_exec(argv);
  if (word == "stop" && argv.size() == 3 && argv[2] == "--task")
    return Order{.kind = Order::Kind::stop_task};
  if (argv.size() == 2) {
    if (word == "status") return Order{.kind = Order::Kind::status};
    if (word == "stop") return Order{.kind = Order::Kind::stop};
    if (word == "run") return Order{.kind = Order::Kind::run};
  }
  return fail(wrong(std::string(usage)));
}

Result<std::vector<std::string>> workers_by(std::string_view master, std::string_view count) {
  constexpr std::string_view first = "-worker-0";
  const auto number = whole_number<int>(count);
  if (!master.ends_with(first) || !number || *number < 1)
    return fail(wrong(": MASTER_ADDR and WORLD_SIZE do not tell the workers of a task"));
  master.remove_suffix(1);
  std::vector<std::string> workers;
  for (int rank = 0; rank < *number; ++rank) workers.push_back(fmt::format("{}{}", master, rank));
  return workers;
}

bool is_asked(const Order& order, int rank) {
  return order.ranks.empty() ||
         std::find(order.ranks.begin(), order.ranks.end(), rank) != order.ranks.end();
}

Told told_of(const Order& order, const std::vector<std::string>& workers,
             const std::vector<Answer>& answers) {
  constexpr int unreachable_code = 1;
  Told told;
  if (order.kind == Order::Kind::stop_task) {
    const bool is_told =
        std::any_of(answers.begin(), answers.end(), [](const Answer& one) { return one.reached; });
    told.lines.emplace_back(is_told ? "the task is stopped" : "no agent answers in this worker");
    told.exit_code = is_told ? 0 : unreachable_code;
    return told;
  }
  const bool is_table = order.kind == Order::Kind::status;
  if (is_table) told.lines.emplace_back("RANK POD STATE EXIT-CODE");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const Answer& answer = answers[i];
    if (!is_asked(order, rank)) continue;
    if (is_table) {
      told.lines.push_back(
          fmt::format("{} {} {} {}", rank, workers[i], state_of(answer), code_of(answer)));
      continue;
    }
    const std::string tag = fmt::format("[rank {}]", rank);
    for (const std::string& line : answer.lines) told.lines.push_back(tag + " " + line);
    int code = 0;
    if (!answer.reached) {
      told.lines.push_back(tag + " cannot be reached");
      code = unreachable_code;
    } else if (order.kind == Order::Kind::exec) {
      code = answer.code.value_or(unreachable_code);
      told.lines.push_back(fmt::format("{} exit code {}", tag, code));
    } else if (order.kind == Order::Kind::stop) {
      told.lines.push_back(fmt::format("{} stopped, exit code {}", tag, code_of(answer)));
    } else if (order.kind == Order::Kind::run) {
      told.lines.push_back(tag + (answer.running ? " running" : " not started"));
    }
    if (told.exit_code == 0) told.exit_code = code;
  }
  return told;
}

}  // namespace ddptwin::atl
