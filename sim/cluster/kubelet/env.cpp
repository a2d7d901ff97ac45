#include "cluster/kubelet/env.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace ddptwin::kubelet {
namespace {

constexpr std::string_view master_namespace = "default";
constexpr std::string_view master_service = "kubernetes";

// The environment while it is put together: all that was set, in that order; of one name the last
// counts. Which rule set a variable is written down only for those who ask; a container's start
// does not.
class Variables {
 public:
  explicit Variables(bool explained) : explained_(explained) { values_.reserve(usual_count); }

  // `from` makes EnvOrigin::from.
  template <class From>
  void set(std::string name, std::string value, EnvRule rule, const From& from) {
    values_.emplace_back(std::move(name), std::move(value));
    if (explained_) origins_.push_back({rule, from()});
  }
  const std::string* find(std::string_view name) const {
    const auto at = std::find_if(values_.rbegin(), values_.rend(),
                                 [&](const auto& one) { return one.first == name; });
    return at == values_.rend() ? nullptr : &at->second;
  }
  std::vector<EnvVariable> list() && {
    std::vector<EnvVariable> out;
    for (const std::size_t i : by_name()) {
      auto& [name, value] = values_[i];
      if (out.empty() || out.back().name != name)
        out.emplace_back().name = std::move(name);
      else
        out.back().hidden.push_back(std::move(out.back().origin));
      out.back().value = std::move(value);
      out.back().origin = std::move(origins_[i]);
    }
    return out;
  }
  EnvValues values() && {
    EnvValues out;
    out.reserve(values_.size());
    for (const std::size_t i : by_name())
      if (out.empty() || out.back().first != values_[i].first)
        out.push_back(std::move(values_[i]));
      else
        out.back().second = std::move(values_[i].second);
    return out;
  }

 private:
  static constexpr std::size_t usual_count = 24;

  // Those of one name in the order of their setting.
  std::vector<std::size_t> by_name() const {
    std::vector<std::size_t> places(values_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      const int order = values_[a].first.compare(values_[b].first);
      return order != 0 ? order < 0 : a < b;
    });
    return places;
  }

  const bool explained_;
  EnvValues values_{};
  std::vector<EnvOrigin> origins_{};  // of each; empty where nobody asks
};

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

// Which services a pod is told of, by name: those of its namespace unless it asks for none, and
// always default/kubernetes; one of the same name in the pod's namespace takes its place.
std::map<std::string_view, const LinkedService*> linked_services(const PodContext& context) {
  const bool links = context.pod->spec->enableServiceLinks.value_or(true);
  std::map<std::string_view, const LinkedService*> told;
  for (const LinkedService& linked : context.services) {
    if (!has_cluster_ip(*linked.service)) continue;
    const ObjectMeta& meta = linked.service->metadata;
    if (meta.namespace_ == master_namespace && meta.name == master_service)
      told.try_emplace(meta.name, &linked);
    else if (links && meta.namespace_ == context.pod->metadata.namespace_)
      told[meta.name] = &linked;
  }
  return told;
}

EnvValues link_variables(const Service& service) {
  EnvValues made;
  const std::vector<ServicePort>& ports = service.spec->ports;
  if (ports.empty()) return made;
  const std::string prefix = variable_name(service.metadata.name);
  const std::string& ip = service.spec->clusterIP;
  const std::string host = ip.find(':') == std::string::npos ? ip : "[" + ip + "]";
  made.emplace_back(prefix + "_SERVICE_HOST", ip);
  made.emplace_back(prefix + "_SERVICE_PORT", std::to_string(ports[0].port));
  for (const ServicePort& port : ports)
    if (!port.name.empty())
      made.emplace_back(prefix + "_SERVICE_PORT_" + variable_name(port.name),
                        std::to_string(port.port));
  for (const ServicePort& port : ports) {
    const std::string protocol = lower(port.protocol.empty() ? "tcp" : port.protocol);
    const std::string number = std::to_string(port.port);
    const std::string url = protocol + "://" + host + ":" + number;
    const std::string link = prefix + "_PORT_" + number + "_" + variable_name(protocol);
    if (&port == ports.data()) made.emplace_back(prefix + "_PORT", url);
    made.emplace_back(link, url);
    made.emplace_back(link + "_PROTO", protocol);
    made.emplace_back(link + "_PORT", number);
    made.emplace_back(link + "_ADDR", ip);
  }
  return made;
}

const EnvValues& variables_of(const LinkedService& linked) {
  std::optional<EnvValues>& made = *linked.variables;
  if (!made) made = link_variables(*linked.service);
  return *made;
}

void add_links(Variables& variables, const PodContext& context) {
  for (const auto& [service, linked] : linked_services(context))
    for (const auto& [name, value] : variables_of(*linked))
      // clang 14 does not let a lambda see a structured binding otherwise.
      variables.set(name, value, EnvRule::service_link,
                    [&service = service] { return "Service " + std::string(service); });
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
              std::string_view namespace_, Notices* notices) {
  std::vector<std::string> invalid;
  for (const auto& [key, value] : keys.values) {
    const std::string name = prefix + key;
    if (!is_variable_name(name)) {
      invalid.push_back(name);
      continue;
    }
    // clang 14 does not let a lambda see a structured binding otherwise.
    variables.set(name, value, keys.rule, [&keys, &key = key] {
      return fmt::format("{} {} key {}", keys.kind, keys.name, key);
    });
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

Value missing_key(const KeySelector& selector, std::string_view kind, std::string_view namespace_) {
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
  return value->second.str();
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

// Sets what `variable` takes from elsewhere; nothing where an optional source is not there.
Status set_sourced(Variables& variables, const PodContext& context, const Container& container,
                   const EnvVar& variable) {
  const EnvVarSource& source = *variable.valueFrom;
  const auto set = [&](std::optional<std::string> value, EnvRule rule, const auto& from) {
    if (value) variables.set(variable.name.str(), std::move(*value), rule, from);
    return Status{};
  };
  if (const auto& field = source.fieldRef) {
    TRY(auto value, field_value(context, field->fieldPath));
    return set(std::move(value), EnvRule::field, [&] { return "field " + field->fieldPath; });
  }
  if (const auto& resource = source.resourceFieldRef) {
    TRY(auto value, resource_value(context, *resource, &container));
    return set(std::move(value), EnvRule::resource,
               [&] { return "resource " + resource->resource; });
  }
  if (const auto& key = source.configMapKeyRef) {
    TRY(auto value, config_map_value(context, *key));
    return set(std::move(value), EnvRule::config_map_key,
               [&] { return fmt::format("ConfigMap {} key {}", key->name, key->key); });
  }
  if (const auto& key = source.secretKeyRef) {
    TRY(auto value, secret_value(context, *key));
    return set(std::move(value), EnvRule::secret_key,
               [&] { return fmt::format("Secret {} key {}", key->name, key->key); });
  }
  if (source.fileKeyRef.get() != nullptr)
    return fail(Reason::bad_input, "fileKeyRef: this twin reads no variables out of files");
  return set("", EnvRule::value, [] { return std::string("env"); });
}

// What is set later hides what was set before.
Status put_together(Variables& variables, const PodContext& context, const Container& container,
                    Notices* notices) {
  add_links(variables, context);
  for (const EnvFromSource& from : container.envFrom) {
    if (from.configMapRef) TRY_VOID(add_config_map(variables, context, from, notices));
    if (from.secretRef) TRY_VOID(add_secret(variables, context, from, notices));
  }
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    const std::string* value = variables.find(name);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  };
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const EnvVar& variable = container.env[i];
    if (variable.value.empty() && variable.valueFrom) {
      TRY_VOID(set_sourced(variables, context, container, variable));
      continue;
    }
    variables.set(variable.name.str(), expand(variable.value, lookup), EnvRule::value,
                  [i] { return fmt::format("env[{}]", i); });
  }
  return {};
}

}  // namespace

std::string_view to_string(EnvRule rule) {
  static constexpr std::array<std::string_view, 8> names{
      "container env",    "configMapKeyRef",      "secretKeyRef",      "fieldRef",
      "resourceFieldRef", "envFrom configMapRef", "envFrom secretRef", "service link"};
  return names[static_cast<std::size_t>(rule)];
}

std::string pod_label(const Pod& pod) {
  return fmt::format("{}_{}({})", pod.metadata.name, pod.metadata.namespace_,
                     pod.metadata.uid.view());
}

bool has_cluster_ip(const Service& service) {
  return !service.spec->clusterIP.empty() && service.spec->clusterIP != "None";
}

LinkedService linked(std::shared_ptr<const Service> service) {
  return {std::move(service), std::make_shared<std::optional<EnvValues>>()};
}

std::vector<EnvVariable> service_variables(const PodContext& context) {
  Variables variables(true);
  add_links(variables, context);
  return std::move(variables).list();
}

std::string expand(std::string_view text,
                   const std::function<std::optional<std::string>(std::string_view)>& lookup) {
  std::size_t at = text.find('$');
  if (at == std::string_view::npos) return std::string(text);
  std::string out(text.substr(0, at));
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
  Variables variables(true);
  TRY_VOID(put_together(variables, context, container, notices));
  return std::move(variables).list();
}

Result<EnvValues> environment_values(const PodContext& context, const Container& container,
                                     Notices* notices) {
  Variables variables(false);
  TRY_VOID(put_together(variables, context, container, notices));
  return std::move(variables).values();
}

}  // namespace ddptwin::kubelet
