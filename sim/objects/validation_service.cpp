#include <fmt/format.h>

#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/json.hpp>
#include <set>

#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/validation.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

// [a-z0-9-]{1,15} with a letter (IANA_SVC_NAME).
void must_be_port_name(ErrorList& out, const FieldPath& path, const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (name.size() > 15)
    out.push_back(invalid(path, quoted(name), "must be no more than 15 characters"));
  if (!std::all_of(name.begin(), name.end(), plain))
    out.push_back(
        invalid(path, quoted(name),
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"));
  else if (std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
    out.push_back(invalid(path, quoted(name), "must contain at least one letter (a-z)"));
}

constexpr std::string_view ports_path = "spec.ports";
constexpr std::size_t ports_room = 4;  // nearly all Services have one or two
using SeenPortNames = boost::container::small_flat_set<std::string_view, ports_room>;

void check_port(ErrorList& out, const ServiceSpec& spec, std::size_t i, SeenPortNames& names) {
  const ServicePort& port = spec.ports[i];
  const FieldPath ports(ports_path), here = ports.item(i);
  if (spec.ports.size() > 1 && port.name.empty()) out.push_back(required(here.field("name")));
  if (!port.name.empty()) {
    for (const std::string& problem : dns_label_problems(port.name))
      out.push_back(invalid(here.field("name"), quoted(port.name), problem));
    if (!names.insert(port.name).second)
      out.push_back(duplicate(here.field("name"), quoted(port.name)));
  }
  must_be_port(out, here.field("port"), port.port);
  static const std::vector<std::string_view> protocols{"SCTP", "TCP", "UDP"};
  if (std::find(protocols.begin(), protocols.end(), port.protocol) == protocols.end())
    out.push_back(not_supported(here.field("protocol"), quoted(port.protocol), protocols));
  if (port.targetPort && port.targetPort->is_text)
    must_be_port_name(out, here.field("targetPort"), port.targetPort->text);
  else if (port.targetPort)
    must_be_port(out, here.field("targetPort"), port.targetPort->number);
  if (port.nodePort == 0) return;
  if (spec.type_ == "ClusterIP")
    out.push_back(forbidden(here.field("nodePort"), "may not be used when `type` is 'ClusterIP'"));
  else if (port.nodePort < 30000 || port.nodePort > 32767)
    out.push_back(invalid(here.field("nodePort"), std::to_string(port.nodePort),
                          "provided port is not in the valid range. The range of valid ports is "
                          "30000-32767"));
}

// The same port and protocol twice.
void check_doubled_ports(ErrorList& out, const ServiceSpec& spec) {
  boost::container::small_flat_set<std::pair<std::string_view, std::int32_t>, ports_room> seen;
  for (std::size_t i = 0; i < spec.ports.size(); ++i) {
    const ServicePort& port = spec.ports[i];
    if (seen.emplace(port.protocol, port.port).second) continue;
    out.push_back(
        duplicate(fmt::format("{}[{}]", ports_path, i),
                  fmt::format("{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},"
                              "\"TargetPort\":0,\"NodePort\":0}}",
                              quoted(port.protocol), port.port)));
  }
}

bool is_ipv4(std::string_view text) {
  int parts = 0;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || part.size() > 3 ||
        part.find_first_not_of("0123456789") != std::string_view::npos)
      return false;
    int value = 0;
    for (const char c : part) value = value * 10 + (c - '0');
    if (value > 255) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts == 4;
    text.remove_prefix(dot + 1);
  }
}

void check_address(ErrorList& out, const ServiceSpec& spec) {
  if (spec.type_ == "ExternalName") {
    if (!spec.clusterIPs.empty() || !spec.clusterIP.empty())
      out.push_back(forbidden("spec.clusterIPs", "may not be set for ExternalName services"));
    if (spec.externalName.empty())
      out.push_back(required("spec.externalName"));
    else
      for (const std::string& problem : dns_subdomain_problems(*spec.externalName))
        out.push_back(invalid("spec.externalName", quoted(*spec.externalName), problem));
    return;
  }
  const std::string& address = spec.clusterIP;
  if (address == "None") {
    if (spec.type_ == "NodePort" || spec.type_ == "LoadBalancer")
      out.push_back(invalid("spec.clusterIPs[0]", "\"None\"",
                            fmt::format("may not be set to 'None' for {} services", spec.type_)));
  } else if (!address.empty() && !is_ipv4(address) && address.find(':') == std::string::npos) {
    out.push_back(invalid("spec.clusterIPs[0]", quoted(address),
                          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  } else if (is_ipv4(address) && !address.starts_with("10.0.")) {
    out.push_back(invalid("spec.clusterIPs", fmt::format("[{}]", quoted(address)),
                          fmt::format("failed to allocate IP {}: the provided network does not "
                                      "match the current range",
                                      address)));
  }
}

}  // namespace

ErrorList validate_service(const Object& object) {
  const ServiceSpec& spec = *static_cast<const Service&>(object).spec;
  static const std::vector<std::string_view> affinities{"ClientIP", "None"};
  static const std::vector<std::string_view> types{"ClusterIP", "ExternalName", "LoadBalancer",
                                                   "NodePort"};
  ErrorList out;
  if (spec.ports.empty() && spec.clusterIP != "None" && spec.type_ != "ExternalName")
    out.push_back(required("spec.ports"));
  SeenPortNames names;
  for (std::size_t i = 0; i < spec.ports.size(); ++i) check_port(out, spec, i, names);
  append(out, validate_labels(spec.selector, "spec.selector"));
  if (std::find(affinities.begin(), affinities.end(), spec.sessionAffinity) == affinities.end())
    out.push_back(not_supported("spec.sessionAffinity", quoted(spec.sessionAffinity), affinities));
  if (std::find(types.begin(), types.end(), spec.type_) == types.end())
    out.push_back(not_supported("spec.type", quoted(spec.type_), types));
  check_address(out, spec);
  check_doubled_ports(out, spec);
  return out;
}

ErrorList validate_service_update(const Object& updated, const Object& old) {
  const auto &now = static_cast<const Service&>(updated), &then = static_cast<const Service&>(old);
  if (now.spec.same_as(then.spec)) return {};
  ErrorList out;
  if (then.spec->type_ != "ExternalName" && now.spec->type_ != "ExternalName" &&
      !then.spec->clusterIP.empty() && now.spec->clusterIP != then.spec->clusterIP)
    out.push_back(invalid("spec.clusterIPs[0]", fmt::format("[{}]", quoted(now.spec->clusterIP)),
                          "may not change once set"));
  append(out, validate_service(updated));
  return out;
}

namespace {

constexpr std::string_view set_immutable = "field is immutable when `immutable` is set";
constexpr std::size_t most_bytes = 1024 * 1024;

void check_keys(ErrorList& out, const std::set<std::string>& keys, const std::string& path) {
  constexpr std::string_view rule =
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
      "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
      "'[-._a-zA-Z0-9]+')";
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  for (const std::string& key : keys)
    if (key.empty() || !std::all_of(key.begin(), key.end(), plain))
      out.push_back(invalid(fmt::format("{}[{}]", path, key), quoted(key), rule));
}

}  // namespace

ErrorList validate_config_map(const Object& object) {
  const auto& map = static_cast<const ConfigMap&>(object);
  ErrorList out;
  std::set<std::string> keys, binary_keys;
  std::size_t size = 0;
  for (const auto& [key, value] : *map.data) {
    keys.insert(key.str());
    size += value.size();
    if (map.binaryData.contains(key))
      out.push_back(invalid(fmt::format("data[{}]", key), quoted(key),
                            "duplicate of key present in binaryData"));
  }
  for (const auto& [key, value] : map.binaryData) {
    binary_keys.insert(key);
    size += value.size();
  }
  check_keys(out, keys, "data");
  check_keys(out, binary_keys, "binaryData");
  if (size > most_bytes) out.push_back(too_long("[]", most_bytes));
  return out;
}

ErrorList validate_config_map_update(const Object& updated, const Object& old) {
  const auto &now = static_cast<const ConfigMap&>(updated),
             &then = static_cast<const ConfigMap&>(old);
  ErrorList out;
  if (then.immutable.value_or(false)) {
    if (!now.immutable.value_or(false)) out.push_back(forbidden("immutable", set_immutable));
    if (*now.data != *then.data) out.push_back(forbidden("data", set_immutable));
    if (now.binaryData != then.binaryData) out.push_back(forbidden("binaryData", set_immutable));
  }
  append(out, validate_config_map(updated));
  return out;
}

ErrorList validate_secret(const Object& object) {
  const auto& secret = static_cast<const Secret&>(object);
  ErrorList out;
  std::set<std::string> keys;
  std::size_t size = 0;
  for (const auto& [key, value] : secret.data) {
    keys.insert(key);
    size += value.size();
  }
  check_keys(out, keys, "data");
  if (size > most_bytes) out.push_back(too_long("data", most_bytes));
  return out;
}

ErrorList validate_secret_update(const Object& updated, const Object& old) {
  const auto &now = static_cast<const Secret&>(updated), &then = static_cast<const Secret&>(old);
  ErrorList out;
  if (now.type_ != then.type_)
    out.push_back(invalid("type", quoted(now.type_), "field is immutable"));
  if (then.immutable.value_or(false)) {
    if (!now.immutable.value_or(false)) out.push_back(forbidden("immutable", set_immutable));
    if (now.data != then.data) out.push_back(forbidden("data", set_immutable));
  }
  append(out, validate_secret(updated));
  return out;
}

}  // namespace ddptwin
