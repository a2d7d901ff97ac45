// A pod's resolv.conf (spec/kubernetes.md §2.11).
#pragma once

#include <string_view>

#include "cluster/kubelet/pod_context.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

DnsConfig parse_resolv_conf(std::string_view text);
// By dnsPolicy and dnsConfig, cut to the limits; what was cut is noticed (DNSConfigForming).
DnsConfig dns_config(const PodContext& context, Notices* notices = nullptr);
// Whether nothing of that needs to be noticed, told at a glance: it is the cluster's alone, and
// short.
bool has_plain_dns(const Pod& pod, const NodeSettings& settings);

}  // namespace ddptwin::kubelet
