// Names as a container's C library finds them: /etc/hosts, then resolv.conf's servers and search
// domains, with glibc's order, attempts and timeouts. Source: resolv.conf(5), nsswitch.conf(5);
// spec/kubernetes.md §2.11, §6.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/loop.hpp"
#include "runtime/model/timers.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::model {

// One question of one process to one server: for IPv4 addresses.
struct DnsQuestion {
  std::string name{};    // absolute, without the dot at its end
  std::string client{};  // the pod's address
  std::string server{};
};
enum class DnsOutcome : std::uint8_t {
  found,
  no_data,    // the name exists, but has no IPv4 address
  nx_domain,  // there is no such name
  failure,    // SERVFAIL, REFUSED, ...: the next server is asked
  lost,       // no answer comes
};
struct DnsAnswer {
  DnsOutcome outcome = DnsOutcome::lost;
  std::vector<std::string> addresses{};
};
// Who answers: the scenario connects it to the cluster's DNS. The answer is posted, never given
// inside the call.
using Lookup = std::function<void(DnsQuestion, UniqueFunction<void(DnsAnswer)>)>;

// What getaddrinfo() gives.
struct Resolved {
  static constexpr int no_name = -2;     // EAI_NONAME
  static constexpr int try_again = -3;   // EAI_AGAIN
  static constexpr int no_address = -5;  // EAI_NODATA
  int error = 0;
  std::vector<std::string> addresses{};
  std::string name{};  // the full name that has them
};
std::string_view gai_text(int error);  // "Name or service not known"

// The names that a search tries, in order (ndots, search, a dot at the end).
std::vector<std::string> search_list(std::string_view name, const DnsConfig& config);

// An address of an /etc/hosts text for a name, or nothing; and the first name of an address.
std::vector<std::string> hosts_addresses(std::string_view hosts, std::string_view name);
std::string hosts_name(std::string_view hosts, std::string_view address);

bool is_ipv4(std::string_view text);

// Who asks: what its container shows the C library. The texts are the container's own.
struct ResolverFiles {
  std::string_view hosts{};
  const DnsConfig* dns = nullptr;
  std::string_view address{};  // of the pod
};

// One getaddrinfo(). It asks server after server and name after name; its end gives up.
class Resolution {
 public:
  // All that is referred to outlives it. `trip` is what one question takes.
  Resolution(const ResolverFiles& files, const Lookup& lookup, Duration trip, Timers& timers);
  ~Resolution();
  Resolution(const Resolution&) = delete;

  // The answer never comes inside the call. It may end the resolution.
  void start(std::string name, UniqueFunction<void(const Resolved&)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;  // answers that come late find it gone
};

}  // namespace ddptwin::model
