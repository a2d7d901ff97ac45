#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/defaults.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::int32_t default_mode = 0644;

template <class T, class U>
void fill(T& field, U value) {
  if (field == T()) field = std::move(value);
}
template <class T, class U>
void fill(std::optional<T>& field, U value) {
  if (!field) field = T(std::move(value));
}

bool is_path_part(std::string_view part) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (part.empty() || !plain(part.front()) || !plain(part.back())) return false;
  return std::all_of(part.begin(), part.end(),
                     [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

// The repository of an image reference, with its registry cut off.
bool is_repository(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view first = name.substr(0, slash);
    const bool domain =
        first.find_first_of(".:") != std::string_view::npos || first == "localhost" ||
        std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (domain) {
      if (first.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  ".-:") != std::string_view::npos)
        return false;
      name.remove_prefix(slash + 1);
    }
  }
  while (true) {
    const std::size_t at = name.find('/');
    if (!is_path_part(name.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    name.remove_prefix(at + 1);
  }
}

void default_http_get(std::optional<HttpGetAction>& action) {
  if (!action) return;
  fill(action->path, "/");
  fill(action->scheme, "HTTP");
}

void default_probe(Probe& probe) {
  fill(probe.timeoutSeconds, 1);
  fill(probe.periodSeconds, 10);
  fill(probe.successThreshold, 1);
  fill(probe.failureThreshold, 3);
  default_http_get(probe.httpGet);
  if (probe.grpc) fill(probe.grpc->service, "");
}

void default_env(EnvVar& variable) {
  if (!variable.valueFrom) return;
  EnvVarSource& source = variable.valueFrom.edit();
  if (source.fieldRef) fill(source.fieldRef->apiVersion, "v1");
  if (source.resourceFieldRef) fill(source.resourceFieldRef->divisor, Quantity());
}

void default_container(Container& container) {
  fill(container.terminationMessagePath, "/dev/termination-log");
  fill(container.terminationMessagePolicy, "File");
  if (container.imagePullPolicy.empty())
    container.imagePullPolicy = default_pull_policy(container.image);
  const auto is_told = [](const ContainerPort& port) { return !port.protocol.empty(); };
  if (!std::all_of(container.ports.begin(), container.ports.end(), is_told))
    for (ContainerPort& port : container.ports.edit()) fill(port.protocol, "TCP");
  for (EnvVar& variable : container.env) default_env(variable);
  for (Rare<Probe>* probe :
       {&container.livenessProbe, &container.readinessProbe, &container.startupProbe})
    if (*probe) default_probe(probe->edit());
  if (!container.lifecycle) return;
  Lifecycle& lifecycle = container.lifecycle.edit();
  for (std::optional<LifecycleHandler>* handler : {&lifecycle.postStart, &lifecycle.preStop})
    if (*handler) default_http_get((*handler)->httpGet);
}

bool has_source(const Volume& volume) {
  for (const FieldInfo& field : Volume::type().fields)
    if (field.name != "name" && !field.type().empty(field.read(&volume))) return true;
  return volume.extra.get() != nullptr;
}

// Fills one member of an object that is kept as it came.
void fill_raw(RawJson& raw, std::string_view member, Json value) {
  if (raw.get() == nullptr || !raw.get()->is_object()) return;
  if (raw.get()->get_object().contains(member)) return;
  json::object changed = raw.get()->get_object();
  changed[member] = std::move(value);
  raw = RawJson(std::move(changed));
}

void default_projected_source(RawJson& source) {
  if (source.get() == nullptr || !source.get()->is_object()) return;
  json::object changed = source.get()->get_object();
  if (Json* token = changed.if_contains("serviceAccountToken");
      token != nullptr && token->is_object() && !token->get_object().contains("expirationSeconds"))
    token->get_object()["expirationSeconds"] = 3600;
  Json* downward = changed.if_contains("downwardAPI");
  Json* items = downward != nullptr && downward->is_object()
                    ? downward->get_object().if_contains("items")
                    : nullptr;
  if (items != nullptr && items->is_array())
    for (Json& item : items->get_array())
      if (item.is_object())
        if (Json* ref = item.get_object().if_contains("fieldRef");
            ref != nullptr && ref->is_object() && !ref->get_object().contains("apiVersion"))
          ref->get_object()["apiVersion"] = "v1";
  source = RawJson(std::move(changed));
}

void default_claim_template(RawJson& ephemeral) {
  if (ephemeral.get() == nullptr || !ephemeral.get()->is_object()) return;
  json::object changed = ephemeral.get()->get_object();
  Json* claim = changed.if_contains("volumeClaimTemplate");
  if (claim == nullptr || !claim->is_object()) return;
  json::object& object = claim->get_object();
  if (!object.contains("metadata")) object["metadata"] = json::object();
  if (Json* spec = object.if_contains("spec"); spec != nullptr && spec->is_object())
    if (!spec->get_object().contains("volumeMode")) spec->get_object()["volumeMode"] = "Filesystem";
  ephemeral = RawJson(std::move(changed));
}

void default_volume(Volume& volume) {
  if (!has_source(volume)) volume.emptyDir.emplace();
  if (volume.secret) fill(volume.secret.edit().defaultMode, default_mode);
  if (volume.configMap) fill(volume.configMap.edit().defaultMode, default_mode);
  if (volume.hostPath) fill(volume.hostPath.edit().type_, "");
  if (volume.downwardAPI) {
    DownwardAPIVolume& downward = volume.downwardAPI.edit();
    fill(downward.defaultMode, default_mode);
    for (DownwardAPIFile& file : downward.items) {
      if (file.fieldRef) fill(file.fieldRef->apiVersion, "v1");
      if (file.resourceFieldRef) fill(file.resourceFieldRef->divisor, Quantity());
    }
  }
  if (volume.projected) {
    ProjectedVolume& projected = volume.projected.edit();
    fill(projected.defaultMode, default_mode);
    for (RawJson& source : projected.sources) default_projected_source(source);
  }
  fill_raw(volume.iscsi, "iscsiInterface", "default");
  default_claim_template(volume.ephemeral);
  if (const Json* image = volume.image.get(); image != nullptr && image->is_object()) {
    const Json* reference = image->get_object().if_contains("reference");
    if (reference != nullptr && reference->is_string())
      fill_raw(volume.image, "pullPolicy", Json(default_pull_policy(reference->get_string())));
  }
}

// What is there already is not made one's own: it is as many pods share it.
void default_rest(Cow<PodSpec::Rest>& rest) {
  using Rest = PodSpec::Rest;
  static const RawJson empty_object{json::object()};
  if (rest->dnsPolicy.empty()) rest.edit().dnsPolicy = "ClusterFirst";
  if (rest->schedulerName.empty()) rest.edit().schedulerName = "default-scheduler";
  if (rest->securityContext.absent()) rest.edit().securityContext = empty_object;
  // Two spellings of one field; the older one is only an echo.
  if (rest->serviceAccountName.empty()) set(rest, &Rest::serviceAccountName, rest->serviceAccount);
  set(rest, &Rest::serviceAccount, rest->serviceAccountName);
}

// A limit without a request is the request too.
void copy_limits(ResourceRequirements& resources) {
  if (resources.requests.empty()) resources.requests = resources.limits;
  for (const auto& [name, limit] : resources.limits)
    if (!resources.requests.contains(name)) resources.requests.edit().emplace(name, limit);
}

// For changing each.
template <class Change>
void for_each_container(PodSpec& spec, const Change& change) {
  for (Cow<std::vector<Container>>* containers : {&spec.initContainers, &spec.containers})
    if (!containers->empty())
      for (Container& container : containers->edit()) change(container);
}

// Pod-level requests: cpu and memory from the containers' sum where all of them ask, else the
// limit.
void default_pod_resources(PodSpec& spec) {
  if (!spec.resources || spec.resources->limits.empty()) return;
  ResourceList sum;
  for (const Container& container : spec.containers)
    for (const auto& [name, request] : container.resources.requests)
      if (name == "cpu" || name == "memory") sum[name] += request;
  ResourceRequirements& resources = spec.resources.edit();
  for (const auto& [name, request] : sum)
    if (resources.limits.contains(name)) resources.requests.edit().try_emplace(name, request);
  copy_limits(resources);
}

}  // namespace

std::string default_pull_policy(std::string_view image) {
  constexpr std::string_view always = "Always", if_not_present = "IfNotPresent";
  const std::size_t at = image.find('@');
  const bool digest = at != std::string_view::npos;
  std::string_view name = image.substr(0, at);
  std::string_view tag;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  if (!is_repository(name)) return std::string(if_not_present);
  if (tag.empty() && !digest) return std::string(always);
  return std::string(tag == "latest" ? always : if_not_present);
}

void default_pod_spec(PodSpec& spec) {
  fill(spec.restartPolicy, "Always");
  fill(spec.terminationGracePeriodSeconds, std::int64_t{30});
  default_rest(spec.rest);
  for_each_container(spec, &default_container);
  if (!spec.volumes.empty())
    for (Volume& volume : spec.volumes.edit()) default_volume(volume);
  if (spec.hostNetwork)
    for_each_container(spec, [](Container& container) {
      if (!container.ports.empty())
        for (ContainerPort& port : container.ports.edit()) fill(port.hostPort, port.containerPort);
    });
}

void default_pod(Pod& pod) {
  PodSpec& spec = pod.spec.edit();
  default_pod_spec(spec);
  fill(spec.enableServiceLinks, true);
  for_each_container(spec, [](Container& container) { copy_limits(container.resources); });
  default_pod_resources(spec);
}

// Only cpu and memory count; init containers do too (spec/kubernetes.md section 1.5).
std::string qos_class(const PodSpec& spec) {
  constexpr std::array<std::string_view, 2> counted{"cpu", "memory"};
  bool any = false, guaranteed = true;
  const auto count = [&](const ResourceRequirements& resources) {
    for (const std::string_view name : counted) {
      const auto request = resources.requests.find(name), limit = resources.limits.find(name);
      const bool has_request = request != resources.requests.end() && !request->second.zero();
      const bool has_limit = limit != resources.limits.end() && !limit->second.zero();
      any = any || has_request || has_limit;
      guaranteed = guaranteed && has_limit && has_request && request->second == limit->second;
    }
  };
  const bool pod_level =
      spec.resources && (!spec.resources->requests.empty() || !spec.resources->limits.empty());
  if (pod_level) {
    count(*spec.resources);
  } else {
    for (const Container& container : spec.initContainers) count(container.resources);
    for (const Container& container : spec.containers) count(container.resources);
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace ddptwin
