#include "cluster/kubelet/container_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "cluster/pods/resources.hpp"
#include "objects/codec.hpp"
#include "runtime/container_role.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::string_view hosts_path = "/etc/hosts";

using Lookup = std::function<std::optional<std::string>(std::string_view)>;

Lookup lookup_in(const EnvValues& variables) {
  return [&variables](std::string_view name) -> std::optional<std::string> {
    const auto at = std::lower_bound(variables.begin(), variables.end(), name,
                                     [](const auto& v, auto n) { return v.first < n; });
    if (at == variables.end() || at->first != name) return std::nullopt;
    return at->second;
  };
}

std::vector<std::string> expand_all(const std::vector<std::string>& texts, const Lookup& lookup) {
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(expand(text, lookup));
  return out;
}

// ---- mounts

bool climbs(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string_view::npos;
}

// subPath, or subPathExpr with its variables, all of which must have a value.
Result<std::string> sub_path(const VolumeMount& mount, const Lookup& lookup) {
  std::string path = mount.subPath;
  if (!mount.subPathExpr.empty()) {
    std::set<std::string> missing;
    path = expand(mount.subPathExpr, [&](std::string_view name) {
      auto value = lookup(name);
      if (!value || value->empty()) missing.insert(std::string(name));
      return value;
    });
    if (!missing.empty())
      return fail(Reason::invalid, fmt::format("missing value for {}", fmt::join(missing, ", ")));
  }
  if (path.starts_with('/'))
    return fail(Reason::invalid,
                fmt::format("error SubPath `{}` must not be an absolute path", path));
  if (climbs(path))
    return fail(Reason::invalid,
                fmt::format("unable to provision SubPath `{}`: must not contain '..'", path));
  return path;
}

std::string_view propagation_of(const VolumeMount& mount) {
  if (mount.mountPropagation == "HostToContainer") return "PROPAGATION_HOST_TO_CONTAINER";
  if (mount.mountPropagation == "Bidirectional") return "PROPAGATION_BIDIRECTIONAL";
  return "";
}

std::string pod_dir(const PodContext& context) {
  return context.settings->root_dir + "/pods/" + context.pod->metadata.uid.str();
}

Result<RuntimeMount> volume_mount(const PodContext& context, const Container& container,
                                  std::size_t index, const Lookup& lookup,
                                  const std::vector<std::shared_ptr<const VolumeSource>>& sources) {
  const VolumeMount& mount = container.volumeMounts[index];
  const std::vector<Volume>& volumes = context.pod->spec->volumes;
  const auto volume = std::find_if(volumes.begin(), volumes.end(),
                                   [&](const Volume& v) { return v.name == mount.name; });
  const auto source = std::find_if(sources.begin(), sources.end(),
                                   [&](const auto& s) { return s->name == mount.name; });
  if (volume == volumes.end() || source == sources.end())
    return fail(Reason::not_found,
                fmt::format("cannot find volume \"{}\" to mount into container \"{}\"", mount.name,
                            container.name));
  RuntimeMount out;
  TRY(out.sub_path, sub_path(mount, lookup));
  out.container_path = mount.mountPath.starts_with('/') ? mount.mountPath : "/" + mount.mountPath;
  out.host_path = out.sub_path.empty()
                      ? volume_path(context, *volume)
                      : fmt::format("{}/volume-subpaths/{}/{}/{}", pod_dir(context), mount.name,
                                    container.name, index);
  out.readonly = mount.readOnly || is_read_only(*volume);
  out.propagation = propagation_of(mount);
  out.source = *source;
  return out;
}

Status add_mounts(ContainerConfig& to, const PodContext& context, const Container& container,
                  const Lookup& lookup,
                  const std::vector<std::shared_ptr<const VolumeSource>>& sources) {
  to.mounts.reserve(container.volumeMounts.size() + 2);
  bool has_hosts = false;
  for (std::size_t i = 0; i < container.volumeMounts.size(); ++i) {
    TRY(RuntimeMount mount, volume_mount(context, container, i, lookup, sources));
    has_hosts = has_hosts || mount.container_path == hosts_path;
    to.mounts.push_back(std::move(mount));
  }
  if (!has_hosts && !context.pod_ips.empty()) {
    TRY(const PodNames names, pod_names(context));
    RuntimeMount hosts;
    hosts.container_path = hosts_path;
    hosts.host_path = pod_dir(context) + "/etc-hosts";
    hosts.content = hosts_file(context, names);
    to.mounts.push_back(std::move(hosts));
  }
  if (to.termination_log.empty()) return {};
  RuntimeMount log;
  log.container_path = to.termination_log;
  // Upstream draws the file's name; it is never seen, and one an attempt is enough.
  log.host_path =
      pod_dir(context) + "/containers/" + container.name + "/" + fmt::format("{:08x}", to.attempt);
  to.mounts.push_back(std::move(log));
  return {};
}

// ---- the rest

// Few runtimes look at these. They hold on to the specification, which `container` is a part of,
// not to the pod as it was.
RawJson labels_of(const Pod& pod, const Container& container) {
  return RawJson::later([name = pod.metadata.name, namespace_ = pod.metadata.namespace_,
                         uid = pod.metadata.uid, spec = pod.spec, part = &container] {
    return Json(boost::json::object{{"io.kubernetes.container.name", part->name},
                                    {"io.kubernetes.pod.name", name},
                                    {"io.kubernetes.pod.namespace", namespace_},
                                    {"io.kubernetes.pod.uid", uid.view()}});
  });
}

RawJson annotations_of(const Pod& pod, const Container& container, std::uint32_t attempt) {
  return RawJson::later([deletion_grace = pod.metadata.deletionGracePeriodSeconds, spec = pod.spec,
                         part = &container, attempt] {
    boost::json::object out;
    if (!part->ports.empty())
      out["io.kubernetes.container.ports"] = boost::json::serialize(to_json(part->ports));
    if (part->lifecycle && part->lifecycle->preStop)
      out["io.kubernetes.container.preStopHandler"] =
          boost::json::serialize(to_json(*part->lifecycle->preStop));
    out["io.kubernetes.container.restartCount"] = std::to_string(attempt);
    out["io.kubernetes.container.terminationMessagePath"] = part->terminationMessagePath.view();
    out["io.kubernetes.container.terminationMessagePolicy"] = part->terminationMessagePolicy.view();
    if (deletion_grace)
      out["io.kubernetes.pod.deletionGracePeriod"] = std::to_string(*deletion_grace);
    if (spec->terminationGracePeriodSeconds)
      out["io.kubernetes.pod.terminationGracePeriod"] =
          std::to_string(*spec->terminationGracePeriodSeconds);
    return Json(std::move(out));
  });
}

const Json* security_setting(const PodSpec& spec, const Container& container,
                             std::string_view key) {
  for (const RawJson* raw : {&container.securityContext, &spec.rest->securityContext})
    if (const Json* json = raw->get(); json != nullptr && json->is_object())
      if (const Json* value = json->get_object().if_contains(key)) return value;
  return nullptr;
}

// runAsNonRoot against the user that the container would have; images of the twin run as root.
Status check_user(const Pod& pod, const Container& container) {
  const PodSpec& spec = *pod.spec;
  const Json* wanted = security_setting(spec, container, "runAsNonRoot");
  if (wanted == nullptr || !wanted->is_bool() || !wanted->get_bool()) return {};
  const Json* user = security_setting(spec, container, "runAsUser");
  const std::string where =
      fmt::format("(pod: \"{}\", container: {})", pod_label(pod), container.name);
  if (user == nullptr)
    return fail(Reason::invalid, "container has runAsNonRoot and image will run as root " + where);
  if (user->is_int64() && user->get_int64() == 0)
    return fail(Reason::invalid, "container's runAsUser breaks non-root policy " + where);
  return {};
}

// Whether its configuration shows what may not be there, beside the pod itself and the Services.
bool looks_elsewhere(const Container& container) {
  const auto is_sourced = [](const EnvVar& variable) { return bool(variable.valueFrom); };
  return !container.envFrom.empty() || !container.volumeMounts.empty() ||
         std::any_of(container.env.begin(), container.env.end(), is_sourced);
}

RawJson linux_of(const PodContext& context, const Container& container) {
  return RawJson::later([spec = context.pod->spec, node = context.node, part = &container] {
    boost::json::object out;
    out["resources"] = *container_resources(*spec, node.get(), *part).get();
    out["securityContext"] = container_security(*spec, *part);
    return Json(std::move(out));
  });
}

// As the NVIDIA plugin tells of the devices it gives. The pod's own variable of that name comes
// after it and holds.
void tell_devices(EnvValues& variables, const PodContext& context, const Container& container) {
  if (context.devices == nullptr || context.node == nullptr) return;
  const std::vector<std::string> granted =
      context.devices->told(*context.pod, *context.node, container);
  if (granted.empty()) return;
  const std::string name(visible_devices_variable);
  const auto at = std::lower_bound(variables.begin(), variables.end(), name,
                                   [](const auto& v, const auto& n) { return v.first < n; });
  if (at != variables.end() && at->first == name) return;
  variables.emplace(at, name, fmt::format("{}", fmt::join(granted, ",")));
}

}  // namespace

Result<ContainerConfig> container_config(
    const PodContext& context, const Container& container, std::uint32_t attempt,
    const ImageStatus& image, const std::vector<std::shared_ptr<const VolumeSource>>& volumes,
    Notices* notices) {
  TRY_VOID(check_user(*context.pod, container));
  ContainerConfig out;
  TRY(out.env, environment_values(context, container, notices));
  const Lookup lookup = lookup_in(out.env);
  out.name = container.name;
  out.role = container_role(*context.pod, container);
  out.attempt = attempt;
  out.image = image.ref;
  out.user_image = container.image;
  out.command = expand_all(container.command, lookup);
  out.args = expand_all(container.args, lookup);
  out.working_dir = container.workingDir;
  out.termination_log = container.terminationMessagePath;
  TRY_VOID(add_mounts(out, context, container, lookup, volumes));
  out.labels = labels_of(*context.pod, container);
  out.annotations = annotations_of(*context.pod, container, attempt);
  out.log_path = container.name + "/" + std::to_string(attempt) + ".log";
  out.linux_ = linux_of(context, container);
  tell_devices(out.env, context, container);
  if (container.lifecycle) out.stop_signal = container.lifecycle->stopSignal.value_or("");
  out.stdin_ = container.stdin_;
  out.stdin_once = container.stdinOnce;
  out.tty = container.tty;
  out.memory_limit = memory_limit(*context.pod->spec, container);
  return out;
}

Result<ContainerOrder> container_order(
    const Pod& pod, const MakePodContext& context, const Container& container,
    std::uint32_t attempt, const ImageStatus& image,
    const std::vector<std::shared_ptr<const VolumeSource>>& volumes, Notices* notices) {
  if (looks_elsewhere(container)) {
    TRY(ContainerConfig config,
        container_config(context(), container, attempt, image, volumes, notices));
    return ContainerOrder(std::move(config));
  }
  TRY_VOID(check_user(pod, container));
  TRY_VOID(pod_hostname(pod));
  return ContainerOrder(container.name, attempt, [&context, &container, attempt, &image] {
    Result<ContainerConfig> config = container_config(context(), container, attempt, image, {});
    DDPTWIN_ASSERT(config.has_value());
    return std::move(*config);
  });
}

}  // namespace ddptwin::kubelet
