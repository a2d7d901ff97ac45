#include "dns/zone.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::dns {
namespace {

constexpr std::string_view service_label = "kubernetes.io/service-name";
constexpr std::string_view schema_version = "1.1.0";
constexpr int alias_hops_max = 8;
constexpr std::size_t ipv4_labels = 4, ipv6_labels = 32;

bool is_headless(const Service& service) { return service.spec->clusterIP == "None"; }

Name name_of(std::vector<std::string> labels) { return Name{std::move(labels)}; }

// CoreDNS's name for an endpoint without a hostname: its address with dashes.
std::string dashed(std::string address) {
  std::replace(address.begin(), address.end(), '.', '-');
  std::replace(address.begin(), address.end(), ':', '-');
  return address;
}

std::string endpoint_label(const Endpoint& endpoint, const std::string& address) {
  return endpoint.hostname && !endpoint.hostname->empty() ? *endpoint.hostname : dashed(address);
}

// "10-244-0-1" as an address; CoreDNS reads dashes as dots where there are three, else as colons.
std::string undashed(std::string label) {
  const bool v4 =
      std::count(label.begin(), label.end(), '-') == 3 && label.find("--") == std::string::npos;
  std::replace(label.begin(), label.end(), '-', v4 ? '.' : ':');
  return label;
}

std::optional<RecordData> address_data(const std::string& address) {
  if (const auto v4 = parse_ipv4(address)) return RecordData(*v4);
  if (const auto v6 = parse_ipv6(address)) return RecordData(*v6);
  return std::nullopt;
}

RecordType type_of_address(const RecordData& data) {
  return std::holds_alternative<Ipv4>(data) ? RecordType::a : RecordType::aaaa;
}

void add_once(std::vector<ResourceRecord>& records, ResourceRecord record) {
  if (std::find(records.begin(), records.end(), record) == records.end())
    records.push_back(std::move(record));
}

// CoreDNS gives each of n targets of one priority an equal share of 100.
void share_weights(std::vector<ResourceRecord>& records) {
  for (ResourceRecord& record : records)
    if (auto* srv = std::get_if<Srv>(&record.data))
      srv->weight = static_cast<std::uint16_t>(std::max<std::size_t>(1, 100 / records.size()));
}

std::optional<std::uint8_t> number(const std::string& label, int base, std::size_t digits_max) {
  if (label.empty() || label.size() > digits_max) return std::nullopt;
  unsigned value = 0;
  for (const char c : label) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : base;
    if (digit >= base) return std::nullopt;
    value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
  }
  if (value > 255) return std::nullopt;
  return static_cast<std::uint8_t>(value);
}

// The address that labels before in-addr.arpa or ip6.arpa spell backwards; empty when they do not.
std::string reverse_ipv4(const std::vector<std::string>& labels) {
  if (labels.size() != ipv4_labels) return {};
  Ipv4 address{};
  for (std::size_t i = 0; i < ipv4_labels; ++i) {
    const auto byte = number(labels[ipv4_labels - 1 - i], 10, 3);
    if (!byte) return {};
    address[i] = *byte;
  }
  return to_text(address);
}
std::string reverse_ipv6(const std::vector<std::string>& labels) {
  if (labels.size() != ipv6_labels) return {};
  Ipv6 address{};
  for (std::size_t i = 0; i < ipv6_labels; ++i) {
    const auto nibble = number(labels[ipv6_labels - 1 - i], 16, 1);
    if (!nibble) return {};
    address[i / 2] = static_cast<std::uint8_t>(address[i / 2] << 4 | *nibble);
  }
  return to_text(address);
}

struct ReverseZone {
  std::string_view apex;
  std::string (*address)(const std::vector<std::string>& labels);
};
constexpr std::array reverse_zones{ReverseZone{"in-addr.arpa", reverse_ipv4},
                                   ReverseZone{"ip6.arpa", reverse_ipv6}};

const Name& parsed(std::string_view text, Name& storage) {
  if (auto name = Name::parse(text)) storage = std::move(*name);
  return storage;
}

bool is_named(const EndpointSlice& slice, const Object& object) {
  return slice.metadata.name == object.metadata.name;
}

// Where the slice of that name is, or would be.
template <class Slices>
auto place_of(Slices& slices, const Object& named) {
  return std::find_if(slices.begin(), slices.end(), [&](const auto& slice) {
    return slice->metadata.name >= named.metadata.name;
  });
}

}  // namespace

// A question below "<service>.<namespace>.svc.<zone>", its labels in lower case.
struct Zone::ServiceQuestion {
  const Question& question;
  std::string port{};  // of _port._protocol
  std::string protocol{};
  std::string endpoint{};  // of a single label
  bool wants(std::string_view port_name, std::string_view port_protocol) const {
    return port.empty() || (port == lower(port_name) && protocol == lower(port_protocol));
  }
};

Zone::Zone(const ZoneOptions& options) : options_(options) {
  Name storage;
  domain_ = parsed(options_.domain, storage).lower();
}

Zone::Key Zone::key_of_service(std::string_view namespace_, std::string_view name) {
  return Key::of(namespace_, name);
}

std::optional<Zone::Key> Zone::service_of(const Object& object) {
  std::string_view name;
  if (as<Service>(object) != nullptr) {
    name = object.metadata.name;
  } else if (as<EndpointSlice>(object) != nullptr) {
    const auto* label = object.metadata.label(service_label);
    if (label == nullptr) return std::nullopt;
    name = *label;
  } else {
    return std::nullopt;
  }
  return key_of_service(object.metadata.namespace_, name);
}

void Zone::drop(const Object& object) {
  if (as<Namespace>(object) != nullptr) {
    namespaces_.erase(object.metadata.name.str());
    return;
  }
  const std::optional<Key> key = service_of(object);
  if (!key) return;
  const auto found = services_.find(*key);
  if (found == services_.end()) return;
  Entry& entry = found->second;
  if (as<Service>(object) != nullptr)
    entry.service = nullptr;
  else if (const auto at = place_of(entry.slices, object);
           at != entry.slices.end() && is_named(**at, object))
    entry.slices.erase(at);
  if (!entry.service && entry.slices.empty()) services_.erase(found);
}

void Zone::put(const ObjectPtr& object) {
  if (as<Namespace>(*object) != nullptr) {
    namespaces_.insert(object->metadata.name.str());
    return;
  }
  const std::optional<Key> key = service_of(*object);
  if (!key) return;
  Entry& entry = services_[*key];
  if (auto service = as<Service>(object))
    entry.service = std::move(service);
  else if (auto slice = as<EndpointSlice>(object)) {
    const auto at = place_of(entry.slices, *slice);
    if (at != entry.slices.end() && is_named(**at, *slice))
      *at = std::move(slice);
    else
      entry.slices.insert(at, std::move(slice));
  }
}

void Zone::change(const ObjectPtr& before, const ObjectPtr& after, Time now) {
  changed_ = now;
  // With the labels that it had it stays where it is: put() replaces it.
  if (before && !(after && before->metadata.labels.same_as(after->metadata.labels))) drop(*before);
  if (after) put(after);
}

ResourceRecord Zone::record(const Name& name, RecordType type, RecordData data) const {
  return {name, type, class_in, options_.ttl, std::move(data)};
}

ResourceRecord Zone::soa(const Name& zone) const {
  const auto serial = std::chrono::duration_cast<std::chrono::seconds>(changed_.since_epoch());
  return {zone, RecordType::soa, class_in, options_.negative_ttl,
          Soa{.mname = name_of({"ns", "dns"}) + domain_,
              .rname = name_of({"hostmaster"}) + domain_,
              .serial = static_cast<std::uint32_t>(serial.count()),
              .refresh = 7200,
              .retry = 1800,
              .expire = 86400,
              .minimum = options_.negative_ttl}};
}

Answer Zone::negative(Rcode rcode, const Name& zone) const {
  return {.rcode = rcode, .authority = {soa(zone)}};
}

Answer Zone::answer(const Question& question) const {
  if (question.class_ != class_in && question.class_ != class_any)
    return {.rcode = Rcode::refused, .authoritative = false};
  const Name name = question.name.lower();
  const auto labels_before = [&](const Name& zone) {
    return std::vector<std::string>(name.labels.begin(),
                                    name.labels.end() - std::ssize(zone.labels));
  };
  if (name.ends_with(domain_)) return answer_in_zone(question, labels_before(domain_));
  for (const ReverseZone& zone : reverse_zones) {
    Name storage;
    const Name& apex = parsed(zone.apex, storage);
    if (!name.ends_with(apex)) continue;
    return answer_reverse(question, labels_before(apex));
  }
  Found found = find_outside(question);
  const Rcode rcode = found.exists ? Rcode::no_error : options_.outside;
  return {.rcode = rcode, .authoritative = false, .answers = std::move(found.records)};
}

Zone::Found Zone::find_outside(const Question& question) const {
  Found found;
  std::string text = question.name.lower().text();
  text.pop_back();  // the final dot
  const auto known = options_.outside_names.find(text);
  if (known == options_.outside_names.end()) return found;
  found.exists = true;
  for (const std::string& address : known->second) {
    const auto data = address_data(address);
    if (data && question.type == type_of_address(*data))
      found.records.push_back(record(question.name, question.type, *data));
  }
  return found;
}

Answer Zone::answer_in_zone(const Question& question,
                            const std::vector<std::string>& labels) const {
  Found found = find(question, labels);
  if (!found.exists) return negative(Rcode::nx_domain, domain_);
  if (found.records.empty()) return negative(Rcode::no_error, domain_);
  Answer answer{.answers = std::move(found.records), .additional = std::move(found.additional)};
  chase_alias(question, answer);
  return answer;
}

// An ExternalName is followed as a resolver would, as far as its names are known here.
void Zone::chase_alias(const Question& question, Answer& answer) const {
  Question next = question;
  for (int hop = 0; hop < alias_hops_max; ++hop) {
    const ResourceRecord& last = answer.answers.back();
    if (last.type != RecordType::cname || question.type == RecordType::cname) return;
    next.name = std::get<Name>(last.data);
    const Name target = next.name.lower();
    Found found =
        target.ends_with(domain_)
            ? find(next, {target.labels.begin(), target.labels.end() - std::ssize(domain_.labels)})
            : find_outside(next);
    if (found.records.empty()) return;
    std::move(found.records.begin(), found.records.end(), std::back_inserter(answer.answers));
  }
}

Answer Zone::answer_reverse(const Question& question,
                            const std::vector<std::string>& labels) const {
  const std::vector<std::string>& asked = question.name.labels;
  const Name apex{{asked.begin() + std::ssize(labels), asked.end()}};
  const bool v4 = apex.lower().labels.front() == "in-addr";
  const std::string address = v4 ? reverse_ipv4(labels) : reverse_ipv6(labels);
  const std::vector<Name> names = address.empty() ? std::vector<Name>() : names_of_ip(address);
  if (names.empty()) return negative(Rcode::nx_domain, apex);
  if (question.type != RecordType::ptr) return negative(Rcode::no_error, apex);
  Answer answer;
  for (const Name& name : names)
    answer.answers.push_back(record(question.name, RecordType::ptr, name));
  return answer;
}

// The names right below the apex; whole branches are find_service and find_pod.
Zone::Found Zone::find(const Question& question, const std::vector<std::string>& labels) const {
  const auto text = [&](RecordType type, RecordData data) {
    Found found{.exists = true};
    if (question.type == type)
      found.records.push_back(record(question.name, type, std::move(data)));
    return found;
  };
  const Name server = name_of({"ns", "dns"}) + domain_;
  const auto server_address = address_data(options_.server_ip);
  if (labels.empty()) {
    if (question.type == RecordType::soa) return {.exists = true, .records = {soa(question.name)}};
    Found found = text(RecordType::ns, server);
    if (!found.records.empty() && server_address)
      found.additional.push_back(record(server, type_of_address(*server_address), *server_address));
    return found;
  }
  const std::string& branch = labels.back();
  const std::vector<std::string> rest(labels.begin(), labels.end() - 1);
  if (branch == "svc") return find_service(question, rest);
  if (branch == "pod") return find_pod(question, rest);
  if (branch == "dns-version" && rest.empty())
    return text(RecordType::txt, Txt{{std::string(schema_version)}});
  if (branch == "dns" && server_address) {
    if (rest.empty()) return {.exists = true};
    if (rest == std::vector<std::string>{"ns"})
      return text(type_of_address(*server_address), *server_address);
  }
  return {};
}

// "<a-b-c-d>.<namespace>.pod": any address, whether a pod has it or not (CoreDNS, pods insecure).
Zone::Found Zone::find_pod(const Question& question, const std::vector<std::string>& labels) const {
  if (labels.empty()) return {.exists = true};
  if (labels.size() > 2 || !namespaces_.contains(labels.back())) return {};
  Found found{.exists = true};
  if (labels.size() == 1) return found;
  const auto address = address_data(undashed(labels.front()));
  if (!address) return {};
  if (question.type == type_of_address(*address))
    found.records.push_back(record(question.name, question.type, *address));
  return found;
}

Zone::Found Zone::find_service(const Question& question,
                               const std::vector<std::string>& labels) const {
  if (labels.empty()) return {.exists = true};
  const std::string& namespace_ = labels.back();
  if (labels.size() == 1) return {.exists = namespaces_.contains(namespace_)};
  if (labels.size() > 4) return {};
  const auto found = services_.find(key_of_service(namespace_, labels[labels.size() - 2]));
  if (found == services_.end() || !found->second.service) return {};
  const Entry& entry = found->second;
  ServiceQuestion asked{question};
  if (labels.size() == 3) asked.endpoint = labels[0];
  if (labels.size() == 4) {
    if (!labels[0].starts_with('_') || !labels[1].starts_with('_')) return {};
    asked.port = labels[0].substr(1);
    asked.protocol = labels[1].substr(1);
  }
  if (entry.service->spec->type_ == "ExternalName") {
    Name storage;
    if (labels.size() != 2) return {};
    return {.exists = true,
            .records = {record(question.name, RecordType::cname,
                               parsed(*entry.service->spec->externalName, storage))}};
  }
  if (is_headless(*entry.service) || !asked.endpoint.empty()) return endpoint_records(entry, asked);
  return cluster_ip_records(entry, asked);
}

Name Zone::service_name(const Service& service) const {
  return name_of({service.metadata.name.str(), service.metadata.namespace_.str(), "svc"}) + domain_;
}

// A service with a cluster address exists whether anything stands behind it or not.
Zone::Found Zone::cluster_ip_records(const Entry& entry, const ServiceQuestion& asked) const {
  const Service& service = *entry.service;
  const Name target = service_name(service);
  Found found;
  std::vector<RecordData> addresses;
  const auto& ips = service.spec->clusterIPs;
  for (const std::string& ip : ips.empty() ? std::vector{service.spec->clusterIP} : ips)
    if (const auto data = address_data(ip)) addresses.push_back(*data);
  for (const ServicePort& port : service.spec->ports) {
    if (!asked.wants(port.name, port.protocol)) continue;
    found.exists = true;
    if (asked.question.type == RecordType::srv)
      add_once(found.records, record(asked.question.name, RecordType::srv,
                                     Srv{0, 0, static_cast<std::uint16_t>(port.port), target}));
  }
  for (const RecordData& data : addresses) {
    const RecordType type = type_of_address(data);
    if (!found.exists) break;
    if (asked.question.type == type)
      found.records.push_back(record(asked.question.name, type, data));
    else if (asked.question.type == RecordType::srv)
      found.additional.push_back(record(target, type, data));
  }
  share_weights(found.records);
  return found;
}

// Nothing ready means that the name does not exist. A slice without ports still has its endpoints:
// they answer to addresses and to no SRV.
Zone::Found Zone::endpoint_records(const Entry& entry, const ServiceQuestion& asked) const {
  Found found;
  const Question& question = asked.question;
  const auto add = [&](const Endpoint& endpoint, const SlicePort* port) {
    for (const Text& address : endpoint.addresses) {
      const std::string ip = address.str();
      const auto data = address_data(ip);
      const std::string label = endpoint_label(endpoint, ip);
      if (!data || (!asked.endpoint.empty() && asked.endpoint != lower(label))) continue;
      found.exists = true;
      const RecordType type = type_of_address(*data);
      if (question.type == type) add_once(found.records, record(question.name, type, *data));
      if (question.type != RecordType::srv || port == nullptr) continue;
      const Name target = name_of({label}) + service_name(*entry.service);
      const auto number = static_cast<std::uint16_t>(port->port.value_or(0));
      add_once(found.records, record(question.name, RecordType::srv, Srv{0, 0, number, target}));
      add_once(found.additional, record(target, type, *data));
    }
  };
  for (const auto& slice : entry.slices)
    for (const Endpoint& endpoint : slice->endpoints) {
      if (!endpoint.conditions.ready.value_or(true)) continue;
      if (slice->ports.empty() && asked.port.empty()) add(endpoint, nullptr);
      for (const SlicePort& port : slice->ports)
        if (asked.wants(port.name.value_or(""), port.protocol.value_or("TCP")))
          add(endpoint, &port);
    }
  share_weights(found.records);
  return found;
}

// A cluster address has its service's name; an endpoint only has one when it has a hostname.
std::vector<Name> Zone::names_of_ip(const std::string& ip) const {
  std::map<std::string, std::vector<Name>> by_service;  // the table has no order
  for (const auto& [key, entry] : services_)
    if (entry.service && !is_headless(*entry.service) && entry.service->spec->clusterIP == ip)
      by_service[key_of(entry.service->metadata)].push_back(service_name(*entry.service));
  const bool is_cluster_ip = !by_service.empty();
  for (const auto& [key, entry] : services_) {
    if (is_cluster_ip || !entry.service) continue;
    for (const auto& slice : entry.slices)
      for (const Endpoint& endpoint : slice->endpoints) {
        const bool here = std::find(endpoint.addresses.begin(), endpoint.addresses.end(), ip) !=
                          endpoint.addresses.end();
        if (!here || !endpoint.conditions.ready.value_or(true)) continue;
        if (!endpoint.hostname || endpoint.hostname->empty()) continue;
        by_service[key_of(entry.service->metadata)].push_back(name_of({*endpoint.hostname}) +
                                                              service_name(*entry.service));
      }
  }
  std::vector<Name> names;
  for (auto& [key, of_service] : by_service)
    for (Name& name : of_service)
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
  return names;
}

}  // namespace ddptwin::dns
