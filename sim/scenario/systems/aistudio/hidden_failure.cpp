// A failed training that its entry command reports as a success (parts.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenario/systems/aistudio/parts.hpp"

namespace ddptwin::scenario {
namespace {

// The lines of a script that say anything, without what is around them.
std::vector<std::string_view> lines_of_script(std::string_view script) {
  constexpr std::string_view blanks = " \t\r;";
  std::vector<std::string_view> lines;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    std::string_view line = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty() || line.front() == '#') continue;
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    lines.push_back(line);
  }
  return lines;
}

bool begins_if(std::string_view line) { return line.starts_with("if ") || line.starts_with("if["); }

// Behind `$(`, `${` or `$`: where the expansion is over.
std::size_t end_of_expansion(std::string_view text, std::size_t at) {
  if (at >= text.size()) return at;
  const char open = text[at];
  const char close = open == '(' ? ')' : '}';
  if (open != '(' && open != '{') {
    const auto is_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    while (at < text.size() && is_name(static_cast<unsigned char>(text[at]))) ++at;
    return at;
  }
  for (int depth = 0; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return at;
}

// The longest part of what an echo prints that is the same each time.
std::string constant_of_echo(std::string_view text) {
  std::string longest, part;
  const auto end_part = [&] {
    const std::size_t from = std::min(part.find_first_not_of(' '), part.size());
    part = part.substr(from, part.find_last_not_of(' ') + 1 - from);
    if (part.size() > longest.size()) longest = part;
    part.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$') {
      end_part();
      at = std::max(end_of_expansion(text, at + 1), at + 1);
    } else {
      if (text[at] != '"' && text[at] != '\'') part += text[at];
      ++at;
    }
  }
  end_part();
  return longest;
}

struct KeptSite {
  std::string_view variable{};         // where the code of the training is
  std::vector<std::string> printed{};  // by the branch of a failure alone
};

// Where the last two lines are `fi` and `exit $?`, and the `if` asks for a code that was kept.
std::optional<KeptSite> site_of(const std::vector<std::string_view>& lines) {
  constexpr std::size_t constant_min = 6;  // bytes: shorter ones are printed by anybody
  const std::size_t count = lines.size();
  const bool ends_so = count > 3 && lines[count - 2] == "fi" &&
                       (lines[count - 1] == "exit $?" || lines[count - 1] == "exit ${?}" ||
                        lines[count - 1] == "exit");
  if (!ends_so) return std::nullopt;
  std::size_t begin = count - 2;
  for (int depth = 1; depth > 0 && begin > 0;) {
    --begin;
    if (lines[begin] == "fi") ++depth;
    if (begins_if(lines[begin])) --depth;
  }
  KeptSite site;
  for (std::size_t i = 0; i < begin; ++i)
    if (const std::size_t equals = lines[i].find("=$?"); equals != lines[i].npos)
      site.variable = lines[i].substr(0, equals);
  if (site.variable.empty() || lines[begin].find(site.variable) == lines[begin].npos)
    return std::nullopt;
  for (std::size_t i = begin + 1; i < count - 2 && lines[i] != "else"; ++i)
    if (lines[i].starts_with("echo "))
      if (std::string text = constant_of_echo(lines[i].substr(5)); text.size() >= constant_min)
        site.printed.push_back(std::move(text));
  return site;
}

bool has_any_of(const std::vector<std::string>& log, const std::vector<std::string>& texts) {
  return std::any_of(log.begin(), log.end(), [&texts](const std::string& line) {
    return std::any_of(texts.begin(), texts.end(),
                       [&line](const std::string& text) { return line.find(text) != line.npos; });
  });
}

}  // namespace

std::string hidden_failure(const Object& task,
                           std::span<const std::vector<std::string>* const> logs) {
  const auto site = site_of(lines_of_script(as<DDPTask>(task)->spec->entrypoint));
  if (!site) return {};
  const auto failed = std::count_if(logs.begin(), logs.end(), [&site](const auto* log) {
    return has_any_of(*log, site->printed);
  });
  if (failed == 0) return {};
  return fmt::format(
      "the training failed in {} of its workers, which printed \"{}\", and is reported as "
      "succeeded: the last line of the entry command, `exit $?`, is the code of the `if` before it "
      "(write `exit ${{{}}}`)",
      failed, site->printed.front(), site->variable);
}

}  // namespace ddptwin::scenario
