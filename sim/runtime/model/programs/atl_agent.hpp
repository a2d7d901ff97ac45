// `atlctl agent`, the first process of a worker of an AIStudio task that can be debugged, and the
// words that are given to it from a Web Terminal in any worker: `atlctl status`, `stop`, `exec`,
// `run`, `stop --task` (spec/aistudio.md §8; their syntax is PROPOSED). What the real programs
// (tools/atlctl_agent.cpp, tools/atlctl_client.cpp) and their models share.
//
// The agent runs the entry command as its child, in a process group of its own, and listens on
// agent_port. While the command runs it listens on the ready port, too: so the kubelet, and by it
// the platform, sees whether it does. When the command ends by itself the agent ends with its
// code; after `stop` it stays, and so does the pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"

namespace ddptwin::atl {

inline constexpr std::uint16_t agent_port = 29402;
// Between the answer to `stop --task` and the end of the agent that gave it.
inline constexpr Duration time_to_tell = std::chrono::milliseconds(500);

struct AgentArguments {
  std::uint16_t ready_port = 0;
  Duration grace{};         // between SIGTERM and SIGKILL of a command that is stopped
  std::string stop_text{};  // the termination message by which the platform ends the task
  std::vector<std::string> command{};
};
// argv[0] is the program, argv[1] "agent". Errors: bad_input.
Result<AgentArguments> parse_agent(const std::vector<std::string>& argv);

// What somebody asks of the agents.
struct Order {
  enum class Kind : std::uint8_t { status, stop, run, exec, stop_task };
  Kind kind = Kind::status;
  std::vector<int> ranks{};  // of exec; none: all
  std::vector<std::string> command{};
};
// argv[0] is the program. Errors: bad_input, for people.
Result<Order> parse_order(const std::vector<std::string>& argv);

// The workers' names by rank, from the variables MASTER_ADDR (worker 0's name) and WORLD_SIZE.
// Errors: bad_input, where the two do not tell them.
Result<std::vector<std::string>> workers_by(std::string_view master, std::string_view count);

// What one agent has answered.
struct Answer {
  bool reached = false;
  bool running = false;              // of status
  std::optional<int> code{};         // of the command that was stopped, or that exec has run
  std::vector<std::string> lines{};  // of exec
};

// What the order's answers look like, by rank; of ranks that were not asked nothing.
struct Told {
  std::vector<std::string> lines{};
  int exit_code = 0;  // the first that is not 0, by rank
};
Told told_of(const Order& order, const std::vector<std::string>& workers,
             const std::vector<Answer>& answers);
bool is_asked(const Order& order, int rank);

}  // namespace ddptwin::atl
