#include "cluster/kubelet/env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace ddptwin::kubelet {
namespace {

constexpr std::string_view master_namespace = "default";
constexpr std::string_view master_service = "kubernetes";

using Variables = std::map<std::string, EnvVariable, std::less<>>;

void set(Variables& variables, const std::string& name, std::string value, EnvOrigin origin) {
  EnvVariable& slot = variables[name];
  if (!slot.name.empty()) slot.hidden.push_back(std::move(slot.origin));
  slot.name = name;
  slot.value = std::move(value);
  slot.origin = std::move(origin);
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// ---- Services

// Go's envvars: upper case, '-' becomes '_'; nothing else changes.
std::string variable_name(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool has_cluster_ip(const Service& service) {
  return !service.spec->clusterIP.empty() && service.spec->clusterIP != "None";
}

std::string host_and_port(const std::string& ip, std::int32_t port) {
  return ip.find(':') == std::string::npos ? fmt::format("{}:{}", ip, port)
                                           : fmt::format("[{}]:{}", ip, port);
}

// Which services a pod is told of: those of its namespace unless it asks for none, and always
// default/kubernetes; one of the same name in the pod's namespace takes its place.
std::map<std::string, std::shared_ptr<const Service>> linked_services(const PodContext& context) {
  const bool links = context.pod->spec->enableServiceLinks.value_or(true);
  std::map<std::string, std::shared_ptr<const Service>> linked;
  for (const auto& service : context.services) {
    if (!has_cluster_ip(*service)) continue;
    const ObjectMeta& meta = service->metadata;
    if (meta.namespace_ == master_namespace && meta.name == master_service)
      linked.try_emplace(meta.name, service);
    else if (links && meta.namespace_ == context.pod->metadata.namespace_)
      linked[meta.name] = service;
  }
  return linked;
}

std::vector<std::pair<std::string, std::string>> variables_of(const Service& service) {
  const std::string prefix = variable_name(service.metadata.name);
  const std::string& ip = service.spec->clusterIP;
  const std::vector<ServicePort>& ports = service.spec->ports;
  std::vector<std::pair<std::string, std::string>> out;
  if (ports.empty()) return out;
  out.emplace_back(prefix + "_SERVICE_HOST", ip);
  out.emplace_back(prefix + "_SERVICE_PORT", std::to_string(ports[0].port));
  for (const ServicePort& port : ports)
    if (!port.name.empty())
      out.emplace_back(prefix + "_SERVICE_PORT_" + variable_name(port.name),
                       std::to_string(port.port));
  for (const ServicePort& port : ports) {
    const std::string protocol = lower(port.protocol.empty() ? "tcp" : port.protocol);
    const std::string url = fmt::format("{}://{}", protocol, host_and_port(ip, port.port));
    const std::string link =
        fmt::format("{}_PORT_{}_{}", prefix, port.port, variable_name(protocol));
    if (&port == ports.data()) out.emplace_back(prefix + "_PORT", url);
    out.emplace_back(link, url);
    out.emplace_back(link + "_PROTO", protocol);
    out.emplace_back(link + "_PORT", std::to_string(port.port));
    out.emplace_back(link + "_ADDR", ip);
  }
  return out;
}

// ---- envFrom

// Kubernetes 1.34 and later: any printable ASCII but '='.
bool is_variable_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

struct Keys {             // of one envFrom source
  std::string_view word;  // in the event: configMap, secret
  std::string_view kind;  // ConfigMap, Secret
  EnvRule rule;
  std::string name;
  std::map<std::string, std::string> values;
};

void add_keys(Variables& variables, const Keys& keys, const std::string& prefix,
              const std::string& namespace_, Notices* notices) {
  std::vector<std::string> invalid;
  for (const auto& [key, value] : keys.values) {
    const std::string name = prefix + key;
    if (!is_variable_name(name)) {
      invalid.push_back(name);
      continue;
    }
    set(variables, name, value,
        {keys.rule, fmt::format("{} {} key {}", keys.kind, keys.name, key)});
  }
  if (invalid.empty() || notices == nullptr) return;
  notices->push_back(
      {"InvalidEnvironmentVariableNames",
       fmt::format("Keys [{}] from the EnvFrom {} {}/{} were skipped since they are considered "
                   "invalid environment variable names.",
                   fmt::join(invalid, ", "), keys.word, namespace_, keys.name)});
}

Status add_config_map(Variables& variables, const PodContext& context, const EnvFromSource& from,
                      Notices* notices) {
  const NameReference& reference = *from.configMapRef;
  const auto found = context.find_config_map(reference.name);
  if (!found) {
    if (reference.optional.value_or(false)) return {};
    return fail(Reason::not_found, fmt::format("configmap \"{}\" not found", reference.name));
  }
  add_keys(variables,
           {"configMap",
            "ConfigMap",
            EnvRule::env_from_config_map,
            reference.name,
            {found->data->begin(), found->data->end()}},
           from.prefix, context.pod->metadata.namespace_, notices);
  return {};
}

Status add_secret(Variables& variables, const PodContext& context, const EnvFromSource& from,
                  Notices* notices) {
  const NameReference& reference = *from.secretRef;
  const auto found = context.find_secret(reference.name);
  if (!found) {
    if (reference.optional.value_or(false)) return {};
    return fail(Reason::not_found, fmt::format("secret \"{}\" not found", reference.name));
  }
  Keys keys{"secret", "Secret", EnvRule::env_from_secret, reference.name, {}};
  for (const auto& [key, value] : found->data) keys.values.emplace(key, text_of(value));
  add_keys(variables, keys, from.prefix, context.pod->metadata.namespace_, notices);
  return {};
}

// ---- valueFrom: a value, or nothing where an optional source is not there

using Value = Result<std::optional<std::string>>;

Value missing_key(const KeySelector& selector, std::string_view kind,
                  const std::string& namespace_) {
  if (selector.optional.value_or(false)) return std::nullopt;
  return fail(Reason::not_found, fmt::format("couldn't find key {} in {} {}/{}", selector.key, kind,
                                             namespace_, selector.name));
}

Value config_map_value(const PodContext& context, const KeySelector& selector) {
  const auto found = context.find_config_map(selector.name);
  if (!found) {
    if (selector.optional.value_or(false)) return std::nullopt;
    return fail(Reason::not_found, fmt::format("configmap \"{}\" not found", selector.name));
  }
  const auto value = found->data->find(selector.key);
  if (value == found->data->end())
    return missing_key(selector, "ConfigMap", context.pod->metadata.namespace_);
  return value->second;
}

Value secret_value(const PodContext& context, const KeySelector& selector) {
  const auto found = context.find_secret(selector.name);
  if (!found) {
    if (selector.optional.value_or(false)) return std::nullopt;
    return fail(Reason::not_found, fmt::format("secret \"{}\" not found", selector.name));
  }
  const auto value = found->data.find(selector.key);
  if (value == found->data.end())
    return missing_key(selector, "Secret", context.pod->metadata.namespace_);
  return text_of(value->second);
}

struct Sourced {
  std::optional<std::string> value;
  EnvOrigin origin;
};

Result<Sourced> source_value(const PodContext& context, const Container& container,
                             const EnvVarSource& source) {
  if (const auto& field = source.fieldRef) {
    TRY(auto value, field_value(context, field->fieldPath));
    return Sourced{std::move(value), {EnvRule::field, "field " + field->fieldPath}};
  }
  if (const auto& resource = source.resourceFieldRef) {
    TRY(auto value, resource_value(context, *resource, &container));
    return Sourced{std::move(value), {EnvRule::resource, "resource " + resource->resource}};
  }
  if (const auto& key = source.configMapKeyRef) {
    TRY(auto value, config_map_value(context, *key));
    return Sourced{
        std::move(value),
        {EnvRule::config_map_key, fmt::format("ConfigMap {} key {}", key->name, key->key)}};
  }
  if (const auto& key = source.secretKeyRef) {
    TRY(auto value, secret_value(context, *key));
    return Sourced{std::move(value),
                   {EnvRule::secret_key, fmt::format("Secret {} key {}", key->name, key->key)}};
  }
  if (source.fileKeyRef.get() != nullptr)
    return fail(Reason::bad_input, "fileKeyRef: this twin reads no variables out of files");
  return Sourced{"", {EnvRule::value, "env"}};
}

}  // namespace

std::string_view to_string(EnvRule rule) {
  static constexpr std::array<std::string_view, 8> names{
      "container env",    "configMapKeyRef",      "secretKeyRef",      "fieldRef",
      "resourceFieldRef", "envFrom configMapRef", "envFrom secretRef", "service link"};
  return names[static_cast<std::size_t>(rule)];
}

std::string pod_label(const Pod& pod) {
  return fmt::format("{}_{}({})", pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid);
}

std::vector<EnvVariable> service_variables(const PodContext& context) {
  Variables variables;
  for (const auto& [name, service] : linked_services(context))
    for (auto& [variable, value] : variables_of(*service))
      set(variables, variable, std::move(value), {EnvRule::service_link, "Service " + name});
  std::vector<EnvVariable> out;
  for (auto& [name, variable] : variables) out.push_back(std::move(variable));
  return out;
}

std::string expand(std::string_view text,
                   const std::function<std::optional<std::string>(std::string_view)>& lookup) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c != '$' || at + 1 == text.size()) {
      out += c;
      ++at;
      continue;
    }
    const std::size_t end = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
    if (end != std::string_view::npos) {
      const std::string_view name = text.substr(at + 2, end - at - 2);
      out += lookup(name).value_or(std::string(text.substr(at, end - at + 1)));
      at = end + 1;
      continue;
    }
    out += text[at + 1] == '$' ? "$" : text.substr(at, 2);
    at += 2;
  }
  return out;
}

Result<std::vector<EnvVariable>> environment(const PodContext& context, const Container& container,
                                             Notices* notices) {
  Variables variables;
  for (const EnvFromSource& from : container.envFrom) {
    if (from.configMapRef) TRY_VOID(add_config_map(variables, context, from, notices));
    if (from.secretRef) TRY_VOID(add_secret(variables, context, from, notices));
  }
  Variables links;
  for (EnvVariable& link : service_variables(context)) links.emplace(link.name, link);
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    if (const auto own = variables.find(name); own != variables.end()) return own->second.value;
    if (const auto link = links.find(name); link != links.end()) return link->second.value;
    return std::nullopt;
  };
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvVar& variable = container.env[i];
    const EnvOrigin here{EnvRule::value, fmt::format("env[{}]", i)};
    if (!variable.value.empty() || !variable.valueFrom) {
      set(variables, variable.name, expand(variable.value, lookup), here);
      continue;
    }
    TRY(Sourced sourced, source_value(context, container, *variable.valueFrom));
    if (sourced.value)
      set(variables, variable.name, std::move(*sourced.value), std::move(sourced.origin));
  }
  for (auto& [name, link] : links) {
    const auto [slot, fresh] = variables.try_emplace(name, link);
    if (!fresh) slot->second.hidden.insert(slot->second.hidden.begin(), link.origin);
  }
  std::vector<EnvVariable> out;
  for (auto& [name, variable] : variables) out.push_back(std::move(variable));
  return out;
}

}  // namespace ddptwin::kubelet
