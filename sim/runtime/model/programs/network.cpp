#include "runtime/model/programs/network.hpp"

#include <fmt/format.h>

#include <optional>

#include "core/numbers.hpp"
#include "runtime/model/network.hpp"
#include "runtime/model/resolver.hpp"

namespace ddptwin::model {
namespace {

using Argv = std::vector<std::string>;

constexpr Duration for_ever = std::chrono::hours(24 * 365);  // TCP gives up long before

class Nslookup final : public Program {
 public:
  explicit Nslookup(std::string name) : name_(std::move(name)) {}

  void start(Process& process) override {
    process.lookup(name_, [this, &process](const Resolved& answer) {
      for (std::string& line : lines(answer)) process.print(std::move(line));
      process.exit(answer.error == 0 ? 0 : 1);
    });
  }

 private:
  // bind9-host's, as far as anybody reads it.
  std::vector<std::string> lines(const Resolved& answer) const {
    if (answer.error == Resolved::try_again)
      return {";; connection timed out; no servers could be reached"};
    if (answer.error != 0) return {fmt::format("** server can't find {}: NXDOMAIN", name_)};
    std::vector<std::string> all;
    for (const std::string& address : answer.addresses) {
      all.push_back("Name:\t" + answer.name);
      all.push_back("Address: " + address);
    }
    return all;
  }

  std::string name_;
};

class Getent final : public Program {
 public:
  explicit Getent(std::string name) : name_(std::move(name)) {}

  void start(Process& process) override {
    process.lookup(name_, [&process](const Resolved& answer) {
      constexpr int not_found = 2;
      if (answer.error != 0) return process.exit(not_found);
      for (const std::string& address : answer.addresses)
        process.print(fmt::format("{:<15} {}", address, answer.name));
      process.exit(0);
    });
  }

 private:
  std::string name_;
};

struct NcArguments {
  bool only_asks = false, says_so = false;
  std::optional<Duration> patience{};
  std::vector<std::string> operands{};
  std::string unknown{};
};

std::optional<int> small_number(std::string_view text) {
  const auto value = whole_number<int>(text);
  return value >= 0 ? value : std::nullopt;
}

NcArguments nc_arguments(const Argv& argv) {
  NcArguments made;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (!argv[i].starts_with('-')) {
      made.operands.push_back(argv[i]);
      continue;
    }
    for (std::size_t at = 1; at < argv[i].size(); ++at) {
      const char letter = argv[i][at];
      if (letter == 'z') made.only_asks = true;
      if (letter == 'v') made.says_so = true;
      if (letter == 'w') {
        std::string value = argv[i].substr(at + 1);
        if (value.empty() && i + 1 < argv.size()) value = argv[++i];
        const std::optional<int> seconds = small_number(value);
        if (seconds) made.patience = std::chrono::seconds(*seconds);
        if (!seconds && value != "$") made.unknown = "-w " + value;
        break;
      }
      if (std::string_view("zvn4").find(letter) == std::string_view::npos)
        made.unknown = fmt::format("-{}", letter);
    }
  }
  return made;
}

class Nc final : public Program {
 public:
  explicit Nc(NcArguments arguments) : arguments_(std::move(arguments)) {}

  void start(Process& process) override {
    const std::string& host = arguments_.operands[0];
    const std::optional<int> port = small_number(arguments_.operands[1]);
    constexpr int port_max = 65535;
    if (!port || *port == 0 || *port > port_max) {
      process.print_error("nc: port number invalid: " + arguments_.operands[1]);
      return process.exit(1);
    }
    process.lookup(host, [this, &process, port](const Resolved& answer) {
      if (answer.error != 0) {
        process.print_error(fmt::format("nc: getaddrinfo for host \"{}\" port {}: {}",
                                        arguments_.operands[0], *port, gai_text(answer.error)));
        return process.exit(1);
      }
      ask(process, answer.addresses, 0, static_cast<std::uint16_t>(*port));
    });
  }

 private:
  // One address after the other, until one accepts.
  void ask(Process& process, std::vector<std::string> addresses, std::size_t index,
           std::uint16_t port) {
    if (index >= addresses.size()) return process.exit(1);
    const std::string address = addresses[index];
    process.connect(address, port, arguments_.patience.value_or(for_ever),
                    [this, &process, addresses, index, port](Connect outcome) {
                      tell(process, addresses[index], port, outcome);
                      if (outcome == Connect::accepted) return process.exit(0);
                      ask(process, addresses, index + 1, port);
                    });
  }

  void tell(Process& process, const std::string& address, std::uint16_t port,
            Connect outcome) const {
    if (!arguments_.says_so) return;
    const std::string& host = arguments_.operands[0];
    const std::string where = host == address ? host : fmt::format("{} ({})", host, address);
    if (outcome == Connect::accepted)
      return process.print_error(
          fmt::format("Connection to {} {} port [tcp/*] succeeded!", where, port));
    process.print_error(fmt::format("nc: connect to {} port {} (tcp) failed: {}", where, port,
                                    std::generic_category().message(errno_of(outcome))));
  }

  NcArguments arguments_;
};

}  // namespace

std::unique_ptr<Program> make_nslookup(const Argv& argv) {
  return std::make_unique<Nslookup>(argv.size() > 1 ? argv[1] : std::string());
}

std::unique_ptr<Program> make_getent(const Argv& argv) {
  return std::make_unique<Getent>(argv.back());
}

std::unique_ptr<Program> make_nc(const Argv& argv) {
  return std::make_unique<Nc>(nc_arguments(argv));
}

std::string unknown_of_getent(const Argv& argv) {
  const bool known = argv.size() == 3 && argv[1] == "hosts";
  return known ? std::string() : "getent with more than hosts and a name";
}

std::string unknown_of_nc(const Argv& argv) {
  const NcArguments arguments = nc_arguments(argv);
  if (!arguments.unknown.empty()) return "nc with " + arguments.unknown;
  if (!arguments.only_asks) return "nc without -z";
  if (arguments.operands.size() != 2) return "nc with other than a host and a port";
  return {};
}

}  // namespace ddptwin::model
