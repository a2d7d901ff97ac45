#include "scenario/judge/told_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/numbers.hpp"
#include "scenario/language/scenario.hpp"
#include "scenario/words/line_tags.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view worker_line = "joined rank {rank} world_size {world_size}";

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct Joined {
  std::optional<std::int64_t> rank{}, world_size{};
};

std::optional<Joined> match(std::string_view pattern, std::string_view line) {
  Joined found;
  while (!pattern.empty()) {
    const std::size_t close = pattern.find('}');
    if (pattern.front() != '{' || close == pattern.npos) {
      if (line.empty() || line.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      line.remove_prefix(1);
      continue;
    }
    const auto number = take_number<std::int64_t>(line);
    if (!number) return std::nullopt;
    const std::string_view name = pattern.substr(1, close - 1);
    if (name == "rank") found.rank = number;
    if (name == "world_size") found.world_size = number;
    pattern.remove_prefix(close + 1);
  }
  return line.empty() ? std::optional(found) : std::nullopt;
}

// "unbound_buffer.cc:81" of "[./gloo/transport/tcp/unbound_buffer.cc:81] ...".
std::string_view place_in(std::string_view words) {
  for (std::size_t end = words.find(']'); end != words.npos; end = words.find(']', end + 1)) {
    std::size_t number = end;
    while (number > 0 && is_digit(words[number - 1])) --number;
    if (number == end || number == 0 || words[number - 1] != ':') continue;
    std::size_t begin = number - 1;
    while (begin > 0 && (is_name(words[begin - 1]) || words[begin - 1] == '.')) --begin;
    const std::string_view file = words.substr(begin, number - 1 - begin);
    if (file.ends_with(".cc") || file.ends_with(".h") || file.ends_with(".cpp"))
      return words.substr(begin, end - begin);
  }
  return {};
}

bool tells_peers_end(std::string_view words) {
  constexpr std::array<std::string_view, 4> ways{"Connection closed by peer",
                                                 "Connection reset by peer", "Broken pipe",
                                                 "Application timeout caused pair closure"};
  return std::any_of(ways.begin(), ways.end(),
                     [words](std::string_view one) { return words.find(one) != words.npos; });
}

}  // namespace

std::vector<std::string> join_lines(const Scenario& scenario) {
  std::vector<std::string> lines{std::string(worker_line)};
  for (const NamedImage& image : scenario.images)
    if (image.model && image.model->prints.joined)
      for (const std::string& line : *image.model->prints.joined) lines.push_back(line);
  return lines;
}

std::string joined_by(std::string_view line, const std::vector<std::string>& join_lines) {
  line = without_tags(line);
  for (const std::string& pattern : join_lines) {
    const std::optional<Joined> found = match(pattern, line);
    if (!found) continue;
    if (!found->rank && !found->world_size) return "joined";
    if (!found->world_size) return fmt::format("rank {}", *found->rank);
    if (!found->rank) return fmt::format("one of {}", *found->world_size);
    return fmt::format("rank {} of {}", *found->rank, *found->world_size);
  }
  return {};
}

std::string error_in(std::string_view line) {
  line = without_tags(line);
  std::size_t end = 0;
  while (end < line.size() && (is_name(line[end]) || line[end] == '.')) ++end;
  std::string_view type = line.substr(0, end);
  if (!type.ends_with("Error") && !type.ends_with("Exception")) return {};
  if (end < line.size() && line[end] != ':') return {};
  type.remove_prefix(type.rfind('.') + 1);
  std::string_view words = line.substr(std::min(end + 1, line.size()));
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  if (tells_peers_end(words)) return fmt::format("{}: a peer is gone", type);
  if (const std::string_view place = place_in(words); !place.empty())
    return fmt::format("{} at {}", type, place);
  // Up to the first thing that is of this run: a number, a name in quotes, an address.
  std::string_view begin = words.substr(0, words.find_first_of("0123456789'\"(["));
  while (begin.ends_with(' ')) begin.remove_suffix(1);
  return begin.empty() ? std::string(type) : fmt::format("{}: {}", type, begin);
}

bool is_of_pytorch(std::string_view error) {
  constexpr std::array<std::string_view, 7> types{
      "TimeoutError",          "DistNetworkError",          "DistStoreError",  "DistBackendError",
      "RuntimeError: a peer ", "RuntimeError: Socket Time", "ChildFailedError"};
  if (error.find(".cc:") != error.npos || error.find(".h:") != error.npos) return true;
  return std::any_of(types.begin(), types.end(),
                     [error](std::string_view one) { return error.starts_with(one); });
}

}  // namespace ddptwin::scenario
