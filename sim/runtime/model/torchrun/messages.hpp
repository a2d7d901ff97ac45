// What torchrun prints, in the words of each version. INFO is not shown unless LOGLEVEL asks for
// it. Source: spec/ddp-semantics.md §4.4, §9.5; upstream's elastic/multiprocessing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/torchrun/meeting.hpp"

namespace ddptwin::torchrun {

struct Worker;

enum class Level : std::uint8_t { info, warning, error };
// One line of Python's logging on stderr; `file` as "agent/server/api".
void say(const Agent& agent, Level level, std::string_view file, const std::string& text);

void say_closing_signal(const Agent& agent, int pid, int signal);
void say_forced(const Agent& agent, int pid, int signal);

// A traceback that ends with these lines.
void say_uncaught(const Agent& agent, const std::string& exception);

// "SIGTERM"; "<N/A>" where Python knows none.
std::string signal_name(int number);

// The root cause. Python compares whole seconds, and takes the first of equal ones.
const Worker& first_failure(const std::vector<Worker>& failed);

// ChildFailedError's words: a block with the root cause and the other failures (§9.5).
std::vector<std::string> child_failed_error(std::string_view name, const std::string& host,
                                            const std::vector<Worker>& failed);

}  // namespace ddptwin::torchrun
