#include "cluster/kubelet/sandbox_config.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kubelet/hosts.hpp"
#include "cluster/kubelet/resolv_conf.hpp"
#include "cluster/pods/resources.hpp"

namespace ddptwin::kubelet {
namespace {

using JsonObject = boost::json::object;

const JsonObject* object_of(const RawJson& raw) {
  return raw.get() != nullptr ? raw.get()->if_object() : nullptr;
}

const Json* member(const JsonObject* object, std::string_view key) {
  return object != nullptr ? object->if_contains(key) : nullptr;
}

bool flag(const JsonObject* object, std::string_view key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// The container's own setting, or the pod's.
const Json* setting(const PodSpec& spec, const Container& container, std::string_view key) {
  if (const Json* own = member(object_of(container.securityContext), key)) return own;
  return member(object_of(spec.rest->securityContext), key);
}

JsonObject namespace_options(const PodSpec& spec) {
  JsonObject out;
  if (spec.hostNetwork) out["network"] = "NODE";
  // POD, the shared namespace, is protobuf's zero and left out.
  if (spec.rest->hostPID)
    out["pid"] = "NODE";
  else if (!spec.rest->shareProcessNamespace.value_or(false))
    out["pid"] = "CONTAINER";
  if (spec.rest->hostIPC) out["ipc"] = "NODE";
  JsonObject users;
  if (spec.rest->hostUsers.value_or(true)) users["mode"] = "NODE";
  out["usernsOptions"] = std::move(users);
  return out;
}

// CRI SecurityProfile of a seccompProfile; RuntimeDefault is protobuf's zero.
JsonObject seccomp(const Json* profile, std::string_view otherwise) {
  std::string_view type = otherwise;
  JsonObject out;
  if (profile != nullptr && profile->is_object()) {
    const JsonObject& object = profile->get_object();
    if (const Json* named = object.if_contains("type"); named != nullptr && named->is_string())
      type = named->get_string();
    if (const Json* file = object.if_contains("localhostProfile")) out["localhostRef"] = *file;
  }
  if (type != "RuntimeDefault") out["profileType"] = type;
  return out;
}

// CRI Int64Value: {"value": "1000"}; zero is left out.
JsonObject int64_value(const Json& number) {
  JsonObject out;
  if (number.is_int64() && number.get_int64() != 0)
    out["value"] = std::to_string(number.get_int64());
  return out;
}

void copy_if_list(JsonObject& to, std::string_view name, const Json* list) {
  if (list != nullptr && list->is_array() && !list->get_array().empty()) to[name] = *list;
}

boost::json::array supplemental_groups(const PodSpec& spec) {
  const JsonObject* context = object_of(spec.rest->securityContext);
  boost::json::array out;
  if (const Json* group = member(context, "fsGroup"); group != nullptr && group->is_int64())
    out.emplace_back(std::to_string(group->get_int64()));
  if (const Json* groups = member(context, "supplementalGroups");
      groups != nullptr && groups->is_array())
    for (const Json& group : groups->get_array())
      if (group.is_int64()) out.emplace_back(std::to_string(group.get_int64()));
  return out;
}

bool has_ports(const PodSpec& spec) {
  return std::any_of(spec.containers.begin(), spec.containers.end(),
                     [](const Container& container) { return !container.ports.empty(); });
}

Json port_mappings(const PodSpec& spec) {
  boost::json::array out;
  for (const Container& container : spec.containers)
    for (const ContainerPort& port : container.ports) {
      JsonObject row;
      if (!port.protocol.empty() && port.protocol != "TCP") row["protocol"] = port.protocol;
      row["containerPort"] = port.containerPort;
      if (port.hostPort != 0) row["hostPort"] = port.hostPort;
      if (!port.hostIP.empty()) row["hostIp"] = port.hostIP;
      out.push_back(std::move(row));
    }
  return out;
}

Json sandbox_linux(const PodSpec& spec) {
  JsonObject out;
  out["overhead"] = *overhead_resources(spec).get();
  out["resources"] = *sandbox_resources(spec).get();
  out["securityContext"] = sandbox_security(spec);
  if (const Json* list = member(object_of(spec.rest->securityContext), "sysctls");
      list != nullptr && list->is_array()) {
    JsonObject sysctls;
    for (const Json& row : list->get_array())
      if (const auto* o = row.if_object();
          o != nullptr && o->contains("name") && o->contains("value"))
        sysctls[boost::json::value_to<std::string>(o->at("name"))] = o->at("value");
    out["sysctls"] = std::move(sysctls);
  }
  return out;
}

}  // namespace

Json sandbox_security(const PodSpec& spec) {
  const JsonObject* context = object_of(spec.rest->securityContext);
  JsonObject out;
  out["namespaceOptions"] = namespace_options(spec);
  out["seccomp"] = seccomp(member(context, "seccompProfile"), "RuntimeDefault");
  if (const Json* user = member(context, "runAsUser")) out["runAsUser"] = int64_value(*user);
  if (const Json* group = member(context, "runAsGroup")) out["runAsGroup"] = int64_value(*group);
  if (boost::json::array groups = supplemental_groups(spec); !groups.empty())
    out["supplementalGroups"] = std::move(groups);
  for (const Container& container : spec.containers)
    if (flag(object_of(container.securityContext), "privileged")) out["privileged"] = true;
  return out;
}

Json container_security(const PodSpec& spec, const Container& container) {
  const JsonObject* own = object_of(container.securityContext);
  JsonObject out;
  out["namespaceOptions"] = namespace_options(spec);
  // Images of the twin run as root unless told otherwise.
  const Json* user = setting(spec, container, "runAsUser");
  out["runAsUser"] = user != nullptr ? int64_value(*user) : JsonObject();
  if (const Json* group = setting(spec, container, "runAsGroup"))
    out["runAsGroup"] = int64_value(*group);
  out["seccomp"] = seccomp(setting(spec, container, "seccompProfile"), "Unconfined");
  if (boost::json::array groups = supplemental_groups(spec); !groups.empty())
    out["supplementalGroups"] = std::move(groups);
  if (flag(own, "privileged")) out["privileged"] = true;
  if (flag(own, "readOnlyRootFilesystem")) out["readonlyRootfs"] = true;
  if (const Json* escalation = member(own, "allowPrivilegeEscalation");
      escalation != nullptr && escalation->is_bool() && !escalation->get_bool())
    out["noNewPrivs"] = true;
  if (const Json* capabilities = member(own, "capabilities");
      capabilities != nullptr && capabilities->is_object()) {
    JsonObject lists;
    copy_if_list(lists, "addCapabilities", capabilities->get_object().if_contains("add"));
    copy_if_list(lists, "dropCapabilities", capabilities->get_object().if_contains("drop"));
    out["capabilities"] = std::move(lists);
  }
  return out;
}

SandboxMetadata sandbox_metadata(const Pod& pod, std::uint32_t attempt) {
  const ObjectMeta& meta = pod.metadata;
  return {meta.name, meta.namespace_, meta.uid, attempt, meta.annotations};
}

Result<SandboxConfig> sandbox_config(const PodContext& context, std::uint32_t attempt,
                                     Notices* notices) {
  const ObjectMeta& meta = context.pod->metadata;
  const PodSpec& spec = *context.pod->spec;
  SandboxConfig out{sandbox_metadata(*context.pod, attempt)};
  out.node = spec.nodeName;
  out.node_address = context.node_ip;
  out.host_network = spec.hostNetwork;
  TRY(out.hostname, kernel_hostname(context));
  const std::string& log_dir = context.settings->log_dir;
  out.log_directory.reserve(log_dir.size() + meta.namespace_.size() + meta.name.size() +
                            meta.uid.size() + 3);
  out.log_directory.append(log_dir).append("/").append(meta.namespace_);
  out.log_directory.append("_").append(meta.name).append("_").append(meta.uid);
  out.dns = dns_config(context, notices);
  out.labels = meta.labels;
  out.config_seen = context.config_seen;
  // Few runtimes look at these. They hold on to the specification, not to the pod as it was.
  const Cow<PodSpec>& shared = context.pod->spec;
  out.linux_ = RawJson::later([shared] { return sandbox_linux(*shared); });
  if (has_ports(spec))
    out.port_mappings = RawJson::later([shared] { return port_mappings(*shared); });
  return out;
}

Result<SandboxOrder> sandbox_order(const Pod& pod, const NodeSettings& settings,
                                   const MakePodContext& context, std::uint32_t attempt,
                                   Notices* notices) {
  const PodSpec& spec = *pod.spec;
  if (!has_plain_dns(pod, settings) || spec.rest->setHostnameAsFQDN.value_or(false)) {
    TRY(SandboxConfig config, sandbox_config(context(), attempt, notices));
    return SandboxOrder(std::move(config));
  }
  if (!spec.hostNetwork) TRY_VOID(pod_hostname(pod));
  return SandboxOrder(sandbox_metadata(pod, attempt), spec.nodeName, [&context, attempt] {
    Result<SandboxConfig> config = sandbox_config(context(), attempt);
    DDPTWIN_ASSERT(config.has_value());
    return std::move(*config);
  });
}

}  // namespace ddptwin::kubelet
