#include "runtime/process_choice.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ddptwin {
namespace {

bool is_shell(const ProcessFacts& process) {
  constexpr std::array<std::string_view, 6> shells{"sh", "bash", "dash", "ash", "zsh", "ksh"};
  const std::string_view program = process.argv.front();
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return std::find(shells.begin(), shells.end(), name) != shells.end();
}

std::string command_line(const ProcessFacts& process) {
  std::string line;
  for (const std::string& word : process.argv) line += (line.empty() ? "" : " ") + word;
  return line;
}

bool is_of_exec(const std::vector<ProcessFacts>& all, const ProcessFacts& process) {
  const ProcessFacts* at = &process;
  // Ids are used once: who goes up longer than there are processes goes in a circle.
  for (std::size_t i = 0; i <= all.size(); ++i) {
    if (at->is_asked) return true;
    const auto parent = std::find_if(
        all.begin(), all.end(), [at](const ProcessFacts& one) { return one.id == at->parent; });
    if (parent == all.end()) return false;
    at = &*parent;
  }
  return false;
}

// Keeps those of the sort, where there are any.
template <class Sort>
void prefer(std::vector<const ProcessFacts*>& those, Sort sort) {
  const auto is_of_sort = [&](const ProcessFacts* one) { return sort(*one); };
  if (std::any_of(those.begin(), those.end(), is_of_sort))
    std::erase_if(those, [&](const ProcessFacts* one) { return !sort(*one); });
}

}  // namespace

std::string ProcessChoice::text() const {
  std::string those = "the first process";
  if (rank) those = "rank " + std::to_string(*rank);
  if (!command.empty()) those = (rank ? those + " of \"" : "\"") + command + "\"";
  return group ? "the group of " + those : those;
}

std::vector<std::int64_t> chosen(const std::vector<ProcessFacts>& processes,
                                 const ProcessChoice& choice) {
  std::vector<const ProcessFacts*> left;
  for (const ProcessFacts& one : processes)
    if (!one.argv.empty() && !is_of_exec(processes, one)) left.push_back(&one);
  if (choice.rank) {
    prefer(left, [](const ProcessFacts& one) { return one.is_elastic; });
    const std::string rank = std::to_string(*choice.rank);
    std::erase_if(left, [&](const ProcessFacts* one) { return one->rank != rank; });
  }
  if (!choice.command.empty())
    std::erase_if(left, [&](const ProcessFacts* one) {
      return command_line(*one).find(choice.command) == std::string::npos;
    });
  prefer(left, [](const ProcessFacts& one) { return !is_shell(one); });
  std::vector<std::int64_t> ids;
  for (const ProcessFacts* one : left) ids.push_back(one->id);
  std::sort(ids.begin(), ids.end());
  if (choice.rank && !ids.empty()) ids.resize(1);
  return ids;
}

}  // namespace ddptwin
