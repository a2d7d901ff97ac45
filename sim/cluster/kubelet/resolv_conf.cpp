#include "cluster/kubelet/resolv_conf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace ddptwin::kubelet {
namespace {

constexpr std::size_t max_nameservers = 3;
constexpr std::size_t max_searches = 32;
constexpr std::size_t max_search_length = 2048;
constexpr std::size_t max_domain_length = 253;

enum class Base : std::uint8_t { host, cluster, none };

struct PolicyRow {
  std::string_view policy;
  Base pod_network;
  Base host_network;
};
constexpr std::array policies{
    PolicyRow{"ClusterFirst", Base::cluster, Base::host},
    PolicyRow{"ClusterFirstWithHostNet", Base::cluster, Base::cluster},
    PolicyRow{"Default", Base::host, Base::host},
    PolicyRow{"None", Base::none, Base::none},
};

// An unknown policy is taken for ClusterFirst, as upstream does.
Base base_of(const PodSpec& spec) {
  for (const PolicyRow& row : policies)
    if (row.policy == spec.rest->dnsPolicy)
      return spec.hostNetwork ? row.host_network : row.pod_network;
  return Base::cluster;
}

void notice(Notices* notices, std::string reason, std::string message) {
  if (notices != nullptr) notices->push_back({std::move(reason), std::move(message)});
}

// What is in the list more than once stays where it came first.
void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  auto kept = list.begin();
  for (auto at = list.begin(); at != list.end(); ++at) {
    if (std::find(list.begin(), kept, *at) != kept) continue;
    if (at != kept) *kept = std::move(*at);
    ++kept;
  }
  list.erase(kept, list.end());
}

DnsConfig cluster_first(const PodContext& context, const DnsConfig& host) {
  DnsConfig out;
  out.servers = context.settings->cluster_dns;
  out.options.emplace_back("ndots:5");
  const std::string& domain = context.settings->cluster_domain;
  if (!domain.empty()) {
    out.searches.reserve(host.searches.size() + 3);
    out.searches.push_back(context.pod->metadata.namespace_ + ".svc." + domain);
    out.searches.push_back("svc." + domain);
    out.searches.push_back(domain);
  }
  append(out.searches, host.searches);
  return out;
}

// Options override by name; upstream's order is random, here it is that of the names.
std::vector<std::string> merged_options(const std::vector<std::string>& existing,
                                        const std::vector<PodDNSConfigOption>& more) {
  std::map<std::string, std::string> options;
  for (const std::string& option : existing) {
    const std::size_t colon = option.find(':');
    options[option.substr(0, colon)] = colon == std::string::npos ? "" : option.substr(colon + 1);
  }
  for (const PodDNSConfigOption& option : more) options[option.name] = option.value.value_or("");
  std::vector<std::string> out;
  for (const auto& [name, value] : options)
    out.push_back(value.empty() ? name : name + ":" + value);
  return out;
}

void fit_nameservers(DnsConfig& config, Notices* notices) {
  if (config.servers.size() <= max_nameservers) return;
  config.servers.resize(max_nameservers);
  notice(notices, "DNSConfigForming",
         fmt::format("Nameserver limits were exceeded, some nameservers have been omitted, the "
                     "applied nameserver line is: {}",
                     fmt::join(config.servers, " ")));
}

std::size_t line_length(const std::vector<std::string>& searches) {
  std::size_t length = searches.empty() ? 0 : searches.size() - 1;
  for (const std::string& search : searches) length += search.size();
  return length;
}

void fit_searches(DnsConfig& config, Notices* notices) {
  const std::size_t before = config.searches.size();
  if (before > max_searches) config.searches.resize(max_searches);
  std::erase_if(config.searches, [](const std::string& s) { return s.size() > max_domain_length; });
  while (line_length(config.searches) > max_search_length) config.searches.pop_back();
  if (config.searches.size() == before) return;
  notice(notices, "DNSConfigForming",
         fmt::format("Search Line limits were exceeded, some search paths have been omitted, the "
                     "applied search line is: {}",
                     fmt::join(config.searches, " ")));
}

// What comes before the first of `ends`; `text` keeps what comes after.
std::string_view cut(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view found = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return found;
}

// The next word of a line, empty at its end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view blanks = " \t\v\f\r";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  return cut(line, blanks);
}

}  // namespace

DnsConfig parse_resolv_conf(std::string_view text) {
  DnsConfig out;
  while (!text.empty()) {
    std::string_view line = cut(text, "\n");
    line = line.substr(0, line.find_first_of("#;"));
    const std::string_view key = next_word(line);
    std::vector<std::string> values;
    for (auto word = next_word(line); !word.empty(); word = next_word(line))
      values.emplace_back(word);
    if (key == "nameserver" && !values.empty())
      out.servers.push_back(values.front());
    else if (key == "search")
      out.searches = values;  // the last line counts
    else if (key == "options")
      append(out.options, values);
  }
  for (std::string& search : out.searches)
    if (search.size() > 1 && search.back() == '.') search.pop_back();
  return out;
}

bool has_plain_dns(const Pod& pod, const NodeSettings& settings) {
  constexpr std::size_t length_max = 63;  // of a namespace and of a domain that surely fit
  return !pod.spec->rest->dnsConfig && settings.host_resolv_conf.empty() &&
         !settings.cluster_dns.empty() && settings.cluster_dns.size() <= max_nameservers &&
         settings.cluster_domain.size() <= length_max &&
         pod.metadata.namespace_.size() <= length_max;
}

DnsConfig dns_config(const PodContext& context, Notices* notices) {
  const PodSpec& spec = *context.pod->spec;
  DnsConfig config = parse_resolv_conf(context.settings->host_resolv_conf);
  const Base base = base_of(spec);
  if (base == Base::none) config = {};
  if (base == Base::cluster && !context.settings->cluster_dns.empty())
    config = cluster_first(context, config);
  else if (base == Base::cluster)
    notice(notices, "MissingClusterDNS",
           fmt::format("pod: \"{}\". kubelet does not have ClusterDNS IP configured and cannot "
                       "create Pod using \"ClusterFirst\" policy. Falling back to \"Default\" "
                       "policy.",
                       pod_label(*context.pod)));
  if (spec.rest->dnsConfig) {
    append(config.servers, spec.rest->dnsConfig->nameservers);
    append(config.searches, spec.rest->dnsConfig->searches);
    config.options = merged_options(config.options, spec.rest->dnsConfig->options);
  }
  fit_nameservers(config, notices);
  fit_searches(config, notices);
  return config;
}

}  // namespace ddptwin::kubelet
