#include "environment.hpp"

#include <charconv>
#include <sstream>
#include <string_view>

#include "error.hpp"

namespace ddptwin::workers {
namespace {

std::string required(const Lookup& lookup, const std::string& name) {
  std::string value = lookup(name);
  if (value.empty()) {
    throw PythonError("ValueError",
                      "Error initializing torch.distributed using env:// rendezvous: environment "
                      "variable " +
                          name + " expected, but not set");
  }
  return value;
}

// int(text) of Python as far as ranks need it: spaces around, a sign, decimal digits.
int python_int(const std::string& text) {
  std::string_view digits = text;
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!digits.empty() && is_space(digits.front())) digits.remove_prefix(1);
  while (!digits.empty() && is_space(digits.back())) digits.remove_suffix(1);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  int value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) {
    throw PythonError("ValueError", "invalid literal for int() with base 10: '" + text + "'");
  }
  return value;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace

RankEnvironment read_environment(const Lookup& lookup) {
  RankEnvironment environment;
  environment.rank = python_int(required(lookup, "RANK"));
  environment.world_size = python_int(required(lookup, "WORLD_SIZE"));
  environment.master_addr = required(lookup, "MASTER_ADDR");
  environment.master_port = python_int(required(lookup, "MASTER_PORT"));
  if (environment.master_port < 0 || environment.master_port > 65535) {
    throw PythonError("ValueError", "port must have value from 0 to 65535 but was " +
                                        std::to_string(environment.master_port) + ".");
  }
  if (const std::string local = lookup("LOCAL_RANK"); !local.empty()) {
    environment.local_rank = python_int(local);
  }
  environment.uses_agent_store = lookup("TORCHELASTIC_USE_AGENT_STORE") == "True";
  environment.agent_is_of_2 = !lookup("TORCHELASTIC_SIGNALS_TO_HANDLE").empty() ||
                              (!lookup("TORCH_NCCL_ASYNC_ERROR_HANDLING").empty() &&
                               lookup("NCCL_ASYNC_ERROR_HANDLING").empty());
  if (std::string count = lookup("TORCHELASTIC_RESTART_COUNT"); !count.empty()) {
    environment.attempt = std::move(count);
  }
  environment.gloo_devices = split_at_commas(lookup("GLOO_SOCKET_IFNAME"));
  return environment;
}

void refuse_agent_of_2(const RankEnvironment& environment) {
  if (!environment.agent_is_of_2 || !environment.uses_agent_store) return;
  throw PythonError("RuntimeError",
                    "this worker is of PyTorch 1.13 and cannot read the store of the torchrun 2.x "
                    "that started it: start it with a torchrun 1.13, or a script of your own");
}

}  // namespace ddptwin::workers
