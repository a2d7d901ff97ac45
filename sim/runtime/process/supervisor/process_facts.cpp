#include "runtime/process/supervisor/process_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {
namespace {

// Of a list whose elements each end with a zero byte.
std::vector<std::string> texts_in(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<std::string> texts;
  std::string_view left = bytes;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\0'), left.size());
    texts.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return texts;
}

// The fourth word of /proc/PID/stat; the second is a name that may hold blanks and brackets.
std::int64_t parent_of(pid_t pid) {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid), 1024);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::size_t state = stat.find_first_not_of(' ', name_end + 1);
  return state == std::string::npos ? 0 : std::strtoll(stat.c_str() + state + 1, nullptr, 10);
}

}  // namespace

void describe(ProcessFacts& process, const std::vector<std::string>& argv,
              const std::vector<std::string>& env) {
  constexpr std::string_view rank = "RANK=", elastic = "TORCHELASTIC_RUN_ID=";
  process.argv = argv;
  for (const std::string& variable : env) {
    if (variable.starts_with(rank)) process.rank = variable.substr(rank.size());
    if (variable.starts_with(elastic)) process.is_elastic = true;
  }
}

std::vector<ProcessFacts> facts_of(const std::vector<pid_t>& processes,
                                   const std::vector<pid_t>& asked) {
  std::vector<ProcessFacts> facts;
  for (const pid_t pid : processes) {
    ProcessFacts& one = facts.emplace_back();
    one.id = pid;
    one.parent = parent_of(pid);
    one.is_asked = std::find(asked.begin(), asked.end(), pid) != asked.end();
    describe(one, texts_in(fmt::format("/proc/{}/cmdline", pid)),
             texts_in(fmt::format("/proc/{}/environ", pid)));
  }
  return facts;
}

}  // namespace ddptwin::sandbox
