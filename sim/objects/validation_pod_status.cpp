// What the API server refuses of a pod's status (pkg/apis/core/validation: validatePodIPs,
// validateHostIPs).
#include <arpa/inet.h>

#include <algorithm>

#include "objects/core_v1.hpp"
#include "objects/validation.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

using IpEntries = std::vector<IpEntry>;

bool is_of_family(int family, const std::string& text) {
  in6_addr space{};  // room for either
  return inet_pton(family, text.c_str(), &space) == 1;
}

// As Go shows the API server's own type, whose fields have no other names.
std::string shown(const IpEntries& entries) {
  std::string text;
  for (const IpEntry& one : entries)
    text += (text.empty() ? "{\"IP\":" : ",{\"IP\":") + quoted(one.ip) + "}";
  return "[" + text + "]";
}

// One that was there before is kept, whatever it is. Of several one is of each family.
void check_addresses(ErrorList& out, const IpEntries& now, const IpEntries& before,
                     const FieldPath& path) {
  std::ptrdiff_t of_four = 0, of_six = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string ip = now[i].ip.str();
    const bool is_four = is_of_family(AF_INET, ip), is_six = is_of_family(AF_INET6, ip);
    of_four += is_four ? 1 : 0;
    of_six += is_six ? 1 : 0;
    const bool is_kept = std::any_of(before.begin(), before.end(),
                                     [&ip](const IpEntry& one) { return one.ip == ip; });
    if (!is_four && !is_six && !is_kept)
      out.push_back(invalid(path.item(i), quoted(ip),
                            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
  if (now.size() > 1 && (now.size() > 2 || of_four != 1 || of_six != 1))
    out.push_back(invalid(path, shown(now), "may specify no more than one IP for each IP family"));
}

}  // namespace

void set_primary_address(Object& updated, const Object&) {
  auto& status = static_cast<Pod&>(updated).status;
  const PodStatus::Rest& rest = *status.rest;
  const bool has_list = !rest.podIPs->empty();
  if (rest.podIP.empty() && !has_list) return;
  if (has_list && rest.podIPs->front().ip == rest.podIP) return;
  PodStatus::Rest& to = status.rest.edit();
  if (to.podIP.empty())
    to.podIP = to.podIPs->front().ip;
  else
    to.podIPs = IpEntries{{to.podIP}};
}

ErrorList validate_pod_status_update(const Object& updated, const Object& old) {
  const auto& now = *static_cast<const Pod&>(updated).status.rest;
  const auto& before = *static_cast<const Pod&>(old).status.rest;
  const FieldPath status("status");
  ErrorList out;
  check_addresses(out, now.podIPs, before.podIPs, status.field("podIPs"));
  const FieldPath hosts = status.field("hostIPs");
  if (now.hostIPs->empty()) return out;
  const FieldPath first = hosts.item(0);
  if (now.hostIP != now.hostIPs->front().ip)
    out.push_back(
        invalid(first.field("ip"), quoted(now.hostIPs->front().ip), "must be equal to `hostIP`"));
  check_addresses(out, now.hostIPs, before.hostIPs, hosts);
  return out;
}

}  // namespace ddptwin
