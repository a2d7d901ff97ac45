// `atlctl check`: what a worker of AIStudio looks at before its training starts, and how all
// workers start together (spec/aistudio.md §4). What the real program (tools/atlctl_main.cpp) and
// its model share: the command line, what was found and how it is told.
//
// Each worker listens on check_port from the beginning. One that is through with its items listens
// on ready_port, too, and tells every other one there that it has seen it. It goes on when it has
// seen all and has been seen by all: so nobody goes on before all are through, and nobody leaves
// whom another one still looks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"

namespace ddptwin::atl {

inline constexpr std::uint16_t check_port = 29400, ready_port = 29401;
// Between two looks at what is not there yet.
inline constexpr Duration look_again = std::chrono::milliseconds(500);
inline constexpr Duration connect_patience = std::chrono::seconds(2);
// Where an item may fail without stopping the start, a barrier that never comes does not, either.
inline constexpr Duration barrier_patience = std::chrono::seconds(5);

struct CheckArguments {
  int rank = 0;
  std::vector<std::string> peers{};  // the workers' names, by rank
  std::vector<std::string> items{}, blocking{};
  int gpus = 0;
  std::vector<std::string> mounts{};
  std::string task{};
  Duration timeout{};  // from when the names of all are known

  bool asks(std::string_view item) const;
  bool blocks(std::string_view item) const;
  bool lets_pass() const { return blocking.empty(); }
  // What a worker leaves on a mount, for itself and, worker 0's, for all others.
  std::string file_on(const std::string& mount, int of_rank) const;
};
// argv[0] is the program, argv[1] "check".
Result<CheckArguments> parse_check(const std::vector<std::string>& argv);

struct Finding {
  std::string item{};
  std::optional<int> peer{};
  bool ok = true;
  std::string message{};
};
// For the termination message: what failed, and each item that did not. Of many peers not all.
std::string told_as_json(const CheckArguments& arguments, const std::vector<Finding>& failed);
// One of them stops the start.
bool is_blocked(const CheckArguments& arguments, const std::vector<Finding>& failed);
// "gpu: 3 of 4 GPUs answer"
std::string told_as_line(const Finding& finding);

Finding gpu_finding(int there, int wanted);
Finding peer_finding(int peer, const std::string& why);
Finding storage_finding(const std::string& mount, const std::string& why);

}  // namespace ddptwin::atl
