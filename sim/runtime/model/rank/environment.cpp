#include "runtime/model/rank/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <iterator>
#include <optional>

#include "core/numbers.hpp"
#include "runtime/model/messages.hpp"
#include "runtime/model/torchrun/options.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin::model {
namespace {

Result<std::string_view> required(const Process& process, std::string_view name) {
  const std::string_view value = process.env(name);
  if (value.empty()) return fail(variable_missing(name));
  return value;
}

}  // namespace

Result<int> integer_of(std::string_view text) {
  const std::optional<std::int64_t> value = torchrun::python_int(text);
  if (!value || !std::in_range<int>(*value)) return fail(not_a_number(text));
  return static_cast<int>(*value);
}

// In the order of env://, an empty value counting as none (ddp-semantics §9.2).
Result<RankEnvironment> read_environment(const Process& process) {
  RankEnvironment read;
  TRY(const std::string_view rank, required(process, "RANK"));
  TRY(read.rank, integer_of(rank));
  TRY(const std::string_view world, required(process, "WORLD_SIZE"));
  TRY(read.world_size, integer_of(world));
  TRY(const std::string_view address, required(process, "MASTER_ADDR"));
  read.master_addr = address;
  TRY(const std::string_view port, required(process, "MASTER_PORT"));
  TRY(read.master_port, integer_of(port));
  if (read.master_port < 0 || read.master_port > 65535) return fail(port_outside(read.master_port));
  read.uses_agent_store = process.env("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (const auto count = process.env("TORCHELASTIC_RESTART_COUNT"); !count.empty())
    read.attempt = count;
  return read;
}

bool names_no_group(const Process& process) {
  constexpr std::string_view names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return process.env(name).empty(); });
}

std::vector<std::string> cards_of(const Process& process) {
  const std::vector<std::string> granted = visible_devices(process.env(visible_devices_variable));
  const std::string_view chosen = process.env("CUDA_VISIBLE_DEVICES");
  if (granted.empty() || chosen.empty()) return granted;
  std::vector<std::string> visible, named;
  boost::split(named, chosen, [](char c) { return c == ','; });
  for (const std::string& one : named) {
    const auto index = whole_number<std::size_t>(one);
    if (index && *index >= granted.size()) break;  // CUDA sees none from the first wrong one on
    const auto found = std::find(granted.begin(), granted.end(), one);
    if (!index && found == granted.end()) break;
    visible.push_back(index ? granted[*index] : one);
  }
  return visible;
}

std::size_t card_of(const Process& process, std::size_t cards) {
  const int rank = integer_of(process.env("LOCAL_RANK")).value_or(0);
  return static_cast<std::size_t>(std::max(rank, 0)) % cards;
}

std::string bus_of(std::size_t card) { return fmt::format("{:x}000", card + 1); }

}  // namespace ddptwin::model
