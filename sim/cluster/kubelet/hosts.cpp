#include "cluster/kubelet/hosts.hpp"

#include <fmt/format.h>

namespace ddptwin::kubelet {
namespace {

constexpr std::size_t max_label = 63;
constexpr std::size_t max_kernel_name = 64;

constexpr std::string_view managed_hosts =
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n";
constexpr std::string_view host_network_header =
    "# Kubernetes-managed hosts file (host network).\n";

Result<std::string_view> truncated(std::string_view pod, std::string_view hostname) {
  if (hostname.size() <= max_label) return hostname;
  const std::string_view cut = hostname.substr(0, max_label);
  const std::size_t last = cut.find_last_not_of("-.");
  if (last == std::string_view::npos)
    return fail(Reason::invalid,
                fmt::format("hostname for pod \"{}\" was invalid: \"{}\"", pod, hostname));
  return cut.substr(0, last + 1);
}

std::string alias_entries(const PodSpec& spec) {
  if (spec.rest->hostAliases.empty()) return "";
  std::string out = "\n# Entries added by HostAliases.\n";
  for (const HostAlias& alias : spec.rest->hostAliases)
    out += fmt::format("{}\t{}\n", alias.ip, fmt::join(alias.hostnames, "\t"));
  return out;
}

}  // namespace

Result<std::string_view> pod_hostname(const Pod& pod) {
  if (pod.spec->rest->hostnameOverride) return *pod.spec->rest->hostnameOverride;
  const std::string_view name = pod.metadata.name;
  return truncated(
      name, pod.spec->rest->hostname.empty() ? name : std::string_view(pod.spec->rest->hostname));
}

Result<PodNames> pod_names(const PodContext& context) {
  const PodSpec& spec = *context.pod->spec;
  const ObjectMeta& meta = context.pod->metadata;
  TRY(const std::string_view hostname, pod_hostname(*context.pod));
  if (spec.rest->hostnameOverride) return PodNames{std::string(hostname), ""};
  std::string domain;
  if (!spec.rest->subdomain.empty())
    domain = fmt::format("{}.{}.svc.{}", spec.rest->subdomain, meta.namespace_,
                         context.settings->cluster_domain);
  return PodNames{std::string(hostname), std::move(domain)};
}

Result<std::string> kernel_hostname(const PodContext& context) {
  const PodSpec& spec = *context.pod->spec;
  if (spec.hostNetwork) return spec.nodeName;
  TRY(const PodNames names, pod_names(context));
  if (names.domain.empty() || !spec.rest->setHostnameAsFQDN.value_or(false)) return names.hostname;
  std::string name = names.hostname + "." + names.domain;
  if (name.size() > max_kernel_name)
    return fail(
        Reason::invalid,
        fmt::format("failed to construct FQDN from pod hostname and cluster domain, FQDN {} "
                    "is too long ({} characters is the max, {} characters requested)",
                    name, max_kernel_name, name.size()));
  return name;
}

std::string hosts_file(const PodContext& context, const PodNames& names) {
  const PodSpec& spec = *context.pod->spec;
  if (spec.hostNetwork)
    return std::string(host_network_header) + context.settings->host_hosts + alias_entries(spec);
  std::string out(managed_hosts);
  for (const std::string& ip : context.pod_ips)
    out += names.domain.empty()
               ? fmt::format("{}\t{}\n", ip, names.hostname)
               : fmt::format("{0}\t{1}.{2}\t{1}\n", ip, names.hostname, names.domain);
  return out + alias_entries(spec);
}

}  // namespace ddptwin::kubelet
