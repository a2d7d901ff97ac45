#include "runtime/model/torchrun/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtime/model/torchrun/arguments.hpp"

namespace ddptwin::torchrun {
namespace {

using Configuration = std::map<std::string, std::string, std::less<>>;

tl::unexpected<Refusal> raise(const std::string& exception) {
  return tl::make_unexpected(uncaught(exception));
}
tl::unexpected<Refusal> raise_not_int(std::string_view text) {
  return raise("ValueError: invalid literal for int() with base 10: " + python_repr(text));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out{};
  for (;;) {
    const auto end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string stripped(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1));
}

// int() of run.py as our int: what does not fit ends the process like what is no number.
Checked<int> to_int(std::string_view text) {
  const auto value = python_int(text);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return raise_not_int(text);
  return static_cast<int>(*value);
}

// "MIN:MAX" or one number (§9.5).
Checked<void> read_node_bounds(const Profile& profile, const std::string& text, Options& out) {
  const auto parts = split(text, ':');
  if (parts.size() > 2)
    return raise(fmt::format("RuntimeError: nnodes={} is not in \"MIN:MAX\" format", text));
  auto least = to_int(parts.front());
  if (!least) return tl::make_unexpected(least.error());
  auto most = to_int(parts.back());
  if (!most) return tl::make_unexpected(most.error());
  out.min_nodes = *least;
  out.max_nodes = *most;
  if (out.min_nodes > 0 && out.min_nodes <= out.max_nodes) return {};
  if (!profile.names_bounds) return raise("AssertionError");
  return raise(
      fmt::format("AssertionError: min_nodes must be > 0 and <= max_nodes, got min_nodes={}, "
                  "max_nodes={}",
                  out.min_nodes, out.max_nodes));
}

// §9.5: a number, or what the machine has.
Checked<int> worker_count(const Profile& profile, const std::string& text,
                          const Hardware& hardware) {
  if (python_int(text)) return to_int(text);
  if (text == "cpu") return hardware.cpus;
  if (text == "auto") return hardware.gpus > 0 ? hardware.gpus : hardware.cpus;
  if (text == "gpu") {
    if (hardware.gpus > 0) return hardware.gpus;
    return raise("ValueError: Cuda is not available.");
  }
  if (text == "xpu" && profile.knows_xpu) return raise("ValueError: Xpu is not available.");
  return raise("ValueError: Unsupported nproc_per_node value: " + text);
}

Checked<Configuration> read_configuration(const std::string& text) {
  Configuration out{};
  const std::string whole = stripped(text);
  if (whole.empty()) return out;
  for (const std::string& part : split(whole, ',')) {
    const auto equals = part.find('=');
    const std::string key = stripped(std::string_view(part).substr(0, equals));
    const std::string value =
        equals == std::string::npos ? "" : stripped(std::string_view(part).substr(equals + 1));
    if (key.empty() || value.empty())
      return raise(
          "ValueError: The rendezvous configuration string must be in format "
          "<key1>=<value1>,...,<keyN>=<valueN>.");
    out.insert_or_assign(key, value);
  }
  return out;
}

// The port 29400 of c10d, or -1 where it must be given.
Checked<Endpoint> read_endpoint(const std::string& text, int default_port) {
  const std::string whole = stripped(text);
  if (whole.empty()) return Endpoint{"localhost", default_port};
  const auto colon = whole.rfind(':');
  std::string host = whole.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool fits = std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
  if (host.empty() || !fits)
    return raise(fmt::format(
        "ValueError: The hostname of the rendezvous endpoint '{}' must be a dot-separated list of "
        "labels, an IPv4 address, or an IPv6 address.",
        whole));
  if (colon == std::string::npos) return Endpoint{host, default_port};
  const auto port = python_int(whole.substr(colon + 1));
  if (!port || *port < 0 || *port >= 65536)
    return raise(fmt::format(
        "ValueError: The port number of the rendezvous endpoint '{}' must be an integer between 0 "
        "and 65536.",
        whole));
  return Endpoint{host, static_cast<int>(*port)};
}

// What --rdzv-conf may overrule, in seconds unless said otherwise.
struct ConfigurationRow {
  std::string_view key{};
  Duration Options::*value = nullptr;
};
constexpr std::array configuration_rows{
    ConfigurationRow{"join_timeout", &Options::join_timeout},
    ConfigurationRow{"last_call_timeout", &Options::last_call},
    ConfigurationRow{"close_timeout", &Options::close_timeout},
    ConfigurationRow{"read_timeout", &Options::read_timeout},
    ConfigurationRow{"keep_alive_interval", &Options::keep_alive_interval},
};

Checked<void> apply_configuration(const Profile& profile, const Configuration& configuration,
                                  Options& out) {
  for (const ConfigurationRow& row : configuration_rows) {
    const auto given = configuration.find(row.key);
    // 1.13 has a fixed keep-alive.
    if (given == configuration.end() ||
        (row.key == "keep_alive_interval" && !profile.later_options))
      continue;
    auto seconds = to_int(given->second);
    if (!seconds)
      return raise(fmt::format(
          "ValueError: The rendezvous configuration option '{}' does not represent a valid "
          "integer value.",
          row.key));
    out.*row.value = std::chrono::seconds(*seconds);
  }
  const auto misses = configuration.find("keep_alive_max_attempt");
  if (misses != configuration.end() && profile.later_options) {
    auto count = to_int(misses->second);
    if (!count) return tl::make_unexpected(count.error());
    out.keep_alive_misses = *count;
  }
  // The launcher puts its own 900 into the static backend's configuration unless one is given.
  const auto timeout = configuration.find("timeout");
  if (timeout != configuration.end()) {
    auto seconds = to_int(timeout->second);
    if (!seconds) return tl::make_unexpected(seconds.error());
    out.static_timeout = std::chrono::seconds(*seconds);
  }
  const auto host = configuration.find("is_host");
  if (host != configuration.end()) {
    std::string word = host->second;
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 5> yes{"1", "true", "t", "yes", "y"};
    constexpr std::array<std::string_view, 5> no{"0", "false", "f", "no", "n"};
    if (std::find(yes.begin(), yes.end(), word) != yes.end())
      out.is_host = true;
    else if (std::find(no.begin(), no.end(), word) != no.end())
      out.is_host = false;
    else
      return raise(
          "ValueError: The rendezvous configuration option 'is_host' does not represent a valid "
          "boolean value.");
  }
  return {};
}

// Which backend, where and under which name: --standalone first, then 2.x's rule for a node that is
// told nothing (§9.5).
struct Place {
  std::string backend{}, endpoint{}, run_id{};
};
Place choose_place(const Profile& profile, const Arguments& arguments, int max_nodes,
                   const Hardware& hardware) {
  const bool told_nothing = profile.lone_node_is_c10d && max_nodes == 1 &&
                            arguments["rdzv_backend"] == "static" &&
                            arguments["rdzv_endpoint"].empty() && arguments["master_port"].empty();
  if (arguments["standalone"] == "1")
    return {"c10d", std::string(profile.standalone_endpoint), hardware.unique_id};
  if (told_nothing) return {"c10d", "localhost:0", hardware.unique_id};
  Place out{arguments["rdzv_backend"], arguments["rdzv_endpoint"], arguments["rdzv_id"]};
  const std::string& port = arguments["master_port"];
  if (out.backend == "static" && out.endpoint.empty())
    out.endpoint = arguments["master_addr"] + ":" + (port.empty() ? "29500" : port);
  if (out.run_id.empty()) out.run_id = hardware.unique_id;
  return out;
}

Checked<void> read_place(const Place& place, Options& out) {
  out.run_id = place.run_id;
  if (place.backend == "static") {
    out.backend = Backend::static_;
    auto endpoint = read_endpoint(place.endpoint, -1);
    if (!endpoint) return tl::make_unexpected(endpoint.error());
    if (endpoint->port == -1)
      return raise(
          fmt::format("ValueError: Port is missing in endpoint: {}. Try to specify --master_port",
                      place.endpoint));
    out.endpoint = *endpoint;
    return {};
  }
  if (place.backend == "c10d") {
    out.backend = Backend::c10d;
    auto endpoint = read_endpoint(place.endpoint, 29400);
    if (!endpoint) return tl::make_unexpected(endpoint.error());
    out.endpoint = *endpoint;
    return {};
  }
  if (place.backend.empty())
    return raise("ValueError: The rendezvous backend name must be a non-empty string.");
  if (is_etcd(place.backend)) return raise("ModuleNotFoundError: No module named 'etcd'");
  return raise(fmt::format(
      "ValueError: The rendezvous backend '{}' is not registered. Did you forget to call "
      "`register`?",
      place.backend));
}

// What each worker process runs.
Checked<std::vector<std::string>> worker_command(const Arguments& arguments,
                                                 const StringMap& environment) {
  std::vector<std::string> out{};
  const bool module = arguments["module"] == "1";
  if (arguments["no_python"] == "1" && arguments["run_path"] != "1") {
    if (module)
      return raise(
          "ValueError: Don't use both the '--no_python' flag and the '--module' flag at the same "
          "time.");
  } else {
    const auto python = environment.find("PYTHON_EXEC");
    out = {python == environment.end() ? "python3" : python->second.str(), "-u"};
    if (module && arguments["run_path"] != "1") out.emplace_back("-m");
  }
  out.push_back(arguments.script);
  out.insert(out.end(), arguments.script_arguments.begin(), arguments.script_arguments.end());
  return out;
}

bool is_streams(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '3';
}

// upstream's Std.from_str: one value for all, or LOCAL_RANK:VALUE of one digit each.
Checked<void> check_streams(const std::string& text) {
  if (is_streams(text)) return {};
  for (const std::string& part : split(text, ',')) {
    const bool fits = part.size() == 3 && part[0] >= '0' && part[0] <= '9' && part[1] == ':' &&
                      is_streams(std::string_view(part).substr(2));
    if (!fits)
      return raise(fmt::format(
          "ValueError: {} does not match: <^[0123]$> or <^(\\d:[0123],)*(\\d:[0123])$>", text));
  }
  return {};
}

// What is longer than this is for ever.
constexpr double seconds_max = 1e9;

Duration seconds_from(std::string_view text) {
  const double seconds = std::clamp(python_float(text).value_or(0), -seconds_max, seconds_max);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Options with_defaults(const Profile& profile, const Arguments& arguments,
                      const StringMap& environment) {
  Options out{};
  out.join_timeout = profile.join_timeout;
  out.last_call = profile.last_call;
  out.close_timeout = profile.close_timeout;
  out.read_timeout = profile.read_timeout;
  out.static_timeout = profile.static_timeout;
  out.keep_alive_interval = profile.keep_alive_interval;
  out.keep_alive_misses = profile.keep_alive_misses;
  const std::string& interval = arguments["monitor_interval"];
  out.monitor_interval = interval.empty() ? profile.monitor_interval : seconds_from(interval);
  out.shutdown_timeout = profile.shutdown_timeout;
  out.role = arguments["role"];
  out.log_dir = arguments["log_dir"];
  out.redirects = arguments["redirects"];
  out.tee = arguments["tee"];
  if (profile.later_options) {
    out.local_address = arguments["local_addr"];
    out.signals_to_handle = arguments["signals_to_handle"];
    out.virtual_local_rank = arguments["virtual_local_rank"] == "1";
    const auto variable = environment.find("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
    if (!arguments["shutdown_timeout"].empty())
      out.shutdown_timeout = seconds_from(arguments["shutdown_timeout"]);
    else if (variable != environment.end() && python_int(variable->second))
      out.shutdown_timeout = seconds_from(variable->second);
  }
  return out;
}

}  // namespace

int streams_of(std::string_view mapping, int local_rank) {
  if (mapping.size() == 1) return mapping[0] - '0';
  for (const std::string& part : split(mapping, ','))
    if (part[0] - '0' == local_rank) return part[2] - '0';
  return 0;
}

bool is_etcd(std::string_view backend) { return backend == "etcd" || backend == "etcd-v2"; }

std::string chosen_backend(const Profile& profile, const std::string& program,
                           const std::vector<std::string>& arguments,
                           const StringMap& environment) {
  const auto parsed = parse_arguments(profile, program, arguments, environment);
  if (!parsed) return {};
  Options bounds{};
  if (!read_node_bounds(profile, (*parsed)["nnodes"], bounds)) return {};
  return choose_place(profile, *parsed, bounds.max_nodes, {}).backend;
}

Refusal uncaught(const std::string& exception) {
  return Refusal{1, {"Traceback (most recent call last):", exception}};
}

Checked<Options> read_options(const Profile& profile, const std::string& program,
                              const std::vector<std::string>& arguments,
                              const StringMap& environment, const Hardware& hardware) {
  const auto parsed = parse_arguments(profile, program, arguments, environment);
  if (!parsed) return tl::make_unexpected(parsed.error());
  Options out = with_defaults(profile, *parsed, environment);
  if (auto read = read_node_bounds(profile, (*parsed)["nnodes"], out); !read)
    return tl::make_unexpected(read.error());
  const auto restarts = to_int((*parsed)["max_restarts"]);
  if (!restarts || *restarts < 0) return raise("AssertionError");
  out.max_restarts = *restarts;
  const auto nproc = worker_count(profile, (*parsed)["nproc_per_node"], hardware);
  if (!nproc) return tl::make_unexpected(nproc.error());
  out.nproc = *nproc;
  out.sets_omp_threads = out.nproc > 1 && !environment.contains("OMP_NUM_THREADS");
  const auto configuration = read_configuration((*parsed)["rdzv_conf"]);
  if (!configuration) return tl::make_unexpected(configuration.error());
  const auto node_rank = to_int((*parsed)["node_rank"]);
  if (!node_rank) return tl::make_unexpected(node_rank.error());
  out.node_rank = *node_rank;
  const auto command = worker_command(*parsed, environment);
  if (!command) return tl::make_unexpected(command.error());
  out.command = *command;
  if (auto read = read_place(choose_place(profile, *parsed, out.max_nodes, hardware), out); !read)
    return tl::make_unexpected(read.error());
  if (auto read = apply_configuration(profile, *configuration, out); !read)
    return tl::make_unexpected(read.error());
  for (const std::string& streams : {out.redirects, out.tee})
    if (auto checked = check_streams(streams); !checked)
      return tl::make_unexpected(checked.error());
  // WorkerSpec refuses what the parser has let through.
  if (out.nproc < 1 || out.monitor_interval <= Duration::zero()) return raise("AssertionError");
  return out;
}

}  // namespace ddptwin::torchrun
