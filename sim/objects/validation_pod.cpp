#include <fmt/format.h>

#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/validation.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin {
namespace {

using Names = std::vector<std::string_view>;
// What was seen before; nearly all lists are of a few.
using SeenNames = boost::container::small_flat_set<std::string_view, 8>;

void must_be_one_of(ErrorList& out, const FieldPath& path, std::string_view value,
                    std::initializer_list<std::string_view> supported) {
  if (std::find(supported.begin(), supported.end(), value) == supported.end())
    out.push_back(value.empty() ? required(path) : not_supported(path, quoted(value), supported));
}

void must_be_named(ErrorList& out, const FieldPath& path, std::string_view name, NameRule rule) {
  if (name.empty()) {
    out.push_back(required(path));
    return;
  }
  for (const std::string& problem : rule(name)) out.push_back(invalid(path, quoted(name), problem));
}

void check_ports(ErrorList& out, const std::vector<ContainerPort>& ports, const FieldPath& path) {
  SeenNames names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ContainerPort& port = ports[i];
    const FieldPath here = path.item(i);
    if (!port.name.empty() && !names.insert(port.name).second)
      out.push_back(duplicate(here.field("name"), quoted(port.name)));
    if (port.containerPort == 0)
      out.push_back(required(here.field("containerPort")));
    else
      must_be_port(out, here.field("containerPort"), port.containerPort);
    if (port.hostPort != 0) must_be_port(out, here.field("hostPort"), port.hostPort);
    must_be_one_of(out, here.field("protocol"), port.protocol, {"SCTP", "TCP", "UDP"});
  }
}

bool is_env_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '='; });
}

void check_field_ref(ErrorList& out, const ObjectFieldSelector& ref, const FieldPath& path) {
  static const Names fields{"metadata.name",
                            "metadata.namespace",
                            "metadata.uid",
                            "spec.nodeName",
                            "spec.serviceAccountName",
                            "status.hostIP",
                            "status.hostIPs",
                            "status.podIP",
                            "status.podIPs"};
  const FieldPath here = path.field("fieldPath");
  if (ref.fieldPath.empty()) {
    out.push_back(required(here));
    return;
  }
  // metadata.labels['x'] and metadata.annotations['x'] are served too, whole maps are not.
  if (ref.fieldPath.starts_with("metadata.labels['") ||
      ref.fieldPath.starts_with("metadata.annotations['"))
    return;
  if (std::find(fields.begin(), fields.end(), ref.fieldPath) != fields.end()) return;
  if (ref.fieldPath == "metadata.labels" || ref.fieldPath == "metadata.annotations")
    out.push_back(not_supported(here, quoted(ref.fieldPath), fields));
  else
    out.push_back(
        invalid(here, quoted(ref.fieldPath),
                "error converting fieldPath: field label not supported: " + ref.fieldPath));
}

void check_key_ref(ErrorList& out, const KeySelector& ref, const FieldPath& path) {
  for (const std::string& problem : dns_subdomain_problems(ref.name))
    out.push_back(invalid(path.field("name"), quoted(ref.name), problem));
  if (ref.key.empty()) out.push_back(required(path.field("key")));
}

void check_resource_ref(ErrorList& out, const ResourceFieldSelector& ref, const FieldPath& path) {
  if (ref.resource.empty())
    out.push_back(required(path.field("resource")));
  else
    must_be_one_of(out, path.field("resource"), ref.resource,
                   {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
                    "requests.ephemeral-storage", "requests.memory"});
}

void check_value_from(ErrorList& out, const EnvVar& variable, const FieldPath& path) {
  const EnvVarSource& source = *variable.valueFrom;
  const int sources = int{source.fieldRef.has_value()} + int{source.resourceFieldRef.has_value()} +
                      int{source.configMapKeyRef.has_value()} +
                      int{source.secretKeyRef.has_value()} +
                      int{source.fileKeyRef.get() != nullptr};
  if (sources == 0)
    out.push_back(invalid(path, "\"\"",
                          "must specify one of: `fieldRef`, `resourceFieldRef`, "
                          "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"));
  else if (!variable.value.empty())
    out.push_back(invalid(path, "\"\"", "may not be specified when `value` is not empty"));
  else if (sources > 1)
    out.push_back(invalid(path, "\"\"", "may not have more than one field specified at a time"));
  if (source.fieldRef) check_field_ref(out, *source.fieldRef, path.field("fieldRef"));
  if (source.resourceFieldRef)
    check_resource_ref(out, *source.resourceFieldRef, path.field("resourceFieldRef"));
  if (source.configMapKeyRef)
    check_key_ref(out, *source.configMapKeyRef, path.field("configMapKeyRef"));
  if (source.secretKeyRef) check_key_ref(out, *source.secretKeyRef, path.field("secretKeyRef"));
}

void check_env(ErrorList& out, const std::vector<EnvVar>& env, const FieldPath& path) {
  for (std::size_t i = 0; i < env.size(); ++i) {
    const FieldPath here = path.item(i);
    if (env[i].name.empty())
      out.push_back(required(here.field("name")));
    else if (!is_env_name(env[i].name))
      out.push_back(invalid(here.field("name"), quoted(env[i].name),
                            "a valid environment variable name must consist only of printable "
                            "ASCII characters other than '='"));
    if (env[i].valueFrom) check_value_from(out, env[i], here.field("valueFrom"));
  }
}

void check_env_from(ErrorList& out, const std::vector<EnvFromSource>& sources,
                    const FieldPath& path) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const EnvFromSource& source = sources[i];
    const FieldPath here = path.item(i);
    if (source.configMapRef && source.configMapRef->name.empty())
      out.push_back(required(here.field("configMapRef.name")));
    if (source.secretRef && source.secretRef->name.empty())
      out.push_back(required(here.field("secretRef.name")));
    if (!source.configMapRef && !source.secretRef)
      out.push_back(invalid(path, "\"\"", "must specify one of: `configMapRef` or `secretRef`"));
    else if (source.configMapRef && source.secretRef)
      out.push_back(invalid(path, "\"\"", "may not have more than one field specified at a time"));
  }
}

bool has_parent_step(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

void check_mounts(ErrorList& out, const Container& container, const SeenNames& volumes,
                  const FieldPath& path) {
  SeenNames places;
  for (std::size_t i = 0; i < container.volumeMounts.size(); ++i) {
    const VolumeMount& mount = container.volumeMounts[i];
    const FieldPath here = path.item(i);
    if (mount.name.empty()) out.push_back(required(here.field("name")));
    if (!volumes.contains(mount.name))
      out.push_back(not_found(here.field("name"), quoted(mount.name)));
    if (mount.mountPath.empty())
      out.push_back(required(here.field("mountPath")));
    else if (!places.insert(mount.mountPath).second)
      out.push_back(invalid(here.field("mountPath"), quoted(mount.mountPath), "must be unique"));
    if (mount.subPath.starts_with("/"))
      out.push_back(
          invalid(path.field("subPath"), quoted(mount.subPath), "must be a relative path"));
    else if (has_parent_step(mount.subPath))
      out.push_back(invalid(path.field("subPath"), quoted(mount.subPath), "must not contain '..'"));
  }
}

constexpr bool is_standard(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

// Resources that are counted in whole pieces and may not be overcommitted, as GPUs.
bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos && !name.starts_with("kubernetes.io/") &&
         !name.starts_with("requests.");
}

void check_amounts(ErrorList& out, const ResourceList& list, const FieldPath& path) {
  for (const auto& [name, amount] : list) {
    const FieldPath here = path.key(name);
    if (!is_standard(name) && name.find('/') == std::string::npos) {
      out.push_back(
          invalid(here, quoted(name), "must be a standard resource type or fully qualified"));
      out.push_back(invalid(here, quoted(name), "must be a standard resource for containers"));
    }
    if (amount < Quantity())
      out.push_back(invalid(here, quoted(amount.str()), "must be greater than or equal to 0"));
    else if (is_extended(name) && amount.milli_value() % 1000 != 0)
      out.push_back(invalid(here, quoted(amount.str()), "must be an integer"));
  }
}

void check_resources(ErrorList& out, const ResourceRequirements& resources, const FieldPath& path) {
  check_amounts(out, resources.limits, path.field("limits"));
  check_amounts(out, resources.requests, path.field("requests"));
  for (const auto& [name, request] : resources.requests) {
    const auto limit = resources.limits.find(name);
    if (limit == resources.limits.end()) {
      if (is_extended(name))
        out.push_back(
            required(path.field("limits"), "Limit must be set for non overcommitable resources"));
    } else if (is_extended(name) && request != limit->second) {
      out.push_back(
          invalid(path.field("requests"), quoted(request.str()),
                  fmt::format("must be equal to {} limit of {}", name, limit->second.str())));
    } else if (request > limit->second) {
      out.push_back(invalid(
          path.field("requests"), quoted(request.str()),
          fmt::format("must be less than or equal to {} limit of {}", name, limit->second.str())));
    }
  }
}

void check_image(ErrorList& out, const std::string& image, const FieldPath& path) {
  constexpr std::string_view space = " \t\r\n";
  if (image.empty())
    out.push_back(required(path));
  else if (space.find(image.front()) != std::string_view::npos ||
           space.find(image.back()) != std::string_view::npos)
    out.push_back(invalid(path, quoted(image), "must not have leading or trailing whitespace"));
}

void check_container(ErrorList& out, const Container& container, const SeenNames& volumes,
                     const FieldPath& path) {
  must_be_named(out, path.field("name"), container.name, &dns_label_problems);
  check_image(out, container.image, path.field("image"));
  must_be_one_of(out, path.field("terminationMessagePolicy"), container.terminationMessagePolicy,
                 {"File", "FallbackToLogsOnError"});
  check_ports(out, container.ports, path.field("ports"));
  check_env(out, container.env, path.field("env"));
  check_env_from(out, container.envFrom, path.field("envFrom"));
  check_mounts(out, container, volumes, path.field("volumeMounts"));
  must_be_one_of(out, path.field("imagePullPolicy"), container.imagePullPolicy,
                 {"Always", "IfNotPresent", "Never"});
  check_resources(out, container.resources, path.field("resources"));
  if (container.restartPolicy)
    must_be_one_of(out, path.field("restartPolicy"), *container.restartPolicy,
                   {"Always", "Never", "OnFailure"});
}

void check_init_container(ErrorList& out, const Container& container, const FieldPath& path) {
  if (container.restartPolicy == "Always") return;
  constexpr std::string_view why =
      "may not be set for init containers without restartPolicy=Always";
  if (container.lifecycle) out.push_back(forbidden(path.field("lifecycle"), why));
  if (container.livenessProbe) out.push_back(forbidden(path.field("livenessProbe"), why));
  if (container.readinessProbe) out.push_back(forbidden(path.field("readinessProbe"), why));
  if (container.startupProbe) out.push_back(forbidden(path.field("startupProbe"), why));
}

void check_containers(ErrorList& out, const PodSpec& spec, const FieldPath& path) {
  SeenNames volumes, names;
  for (const Volume& volume : spec.volumes) volumes.insert(volume.name);
  if (spec.containers.empty()) out.push_back(required(path.field("containers")));
  const auto check = [&](const Container& container, const FieldPath& here) {
    check_container(out, container, volumes, here);
    if (!container.name.empty() && !names.insert(container.name).second)
      out.push_back(duplicate(here.field("name"), quoted(container.name)));
  };
  const FieldPath containers = path.field("containers");
  for (std::size_t i = 0; i < spec.containers.size(); ++i)
    check(spec.containers[i], containers.item(i));
  const FieldPath init_containers = path.field("initContainers");
  for (std::size_t i = 0; i < spec.initContainers.size(); ++i) {
    const FieldPath here = init_containers.item(i);
    check(spec.initContainers[i], here);
    check_init_container(out, spec.initContainers[i], here);
  }
}

void check_volume_sources(ErrorList& out, const Volume& volume, const FieldPath& path) {
  int sources = 0;
  const auto count = [&](const FieldInfo& field) {
    if (!field.type().empty(field.read(&volume)) && ++sources > 1)
      out.push_back(forbidden(path.field(field.name), "may not specify more than 1 volume type"));
  };
  // emptyDir is looked at first, the others in their order.
  count(*Volume::type().find("emptyDir"));
  for (const FieldInfo& field : Volume::type().fields)
    if (field.name != "name" && field.name != "emptyDir") count(field);
  if (sources > 1) return;
  if (volume.hostPath) {
    static const Names types{"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                             "File", "FileOrCreate", "Socket"};
    const FieldPath here = path.field("hostPath");
    if (volume.hostPath->path.empty())
      out.push_back(required(here.field("path")));
    else if (has_parent_step(volume.hostPath->path))
      out.push_back(
          invalid(here.field("path"), quoted(volume.hostPath->path), "must not contain '..'"));
    const std::string type = volume.hostPath->type_.value_or("");
    if (std::find(types.begin(), types.end(), type) == types.end())
      out.push_back(not_supported(here.field("type"), quoted(type), types));
  }
  if (volume.configMap && volume.configMap->name.empty())
    out.push_back(required(path.field("configMap.name")));
  if (volume.secret && volume.secret->secretName.empty())
    out.push_back(required(path.field("secret.secretName")));
  if (volume.persistentVolumeClaim && volume.persistentVolumeClaim->claimName.empty())
    out.push_back(required(path.field("persistentVolumeClaim.claimName")));
  if (volume.emptyDir && volume.emptyDir->sizeLimit && *volume.emptyDir->sizeLimit < Quantity())
    out.push_back(forbidden(path.field("emptyDir.sizeLimit"),
                            "SizeLimit field must be a valid resource quantity"));
}

void check_volumes(ErrorList& out, const std::vector<Volume>& volumes, const FieldPath& path) {
  SeenNames names;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const FieldPath here = path.item(i);
    check_volume_sources(out, volumes[i], here);
    must_be_named(out, here.field("name"), volumes[i].name, &dns_label_problems);
    if (!volumes[i].name.empty() && !names.insert(volumes[i].name).second)
      out.push_back(duplicate(here.field("name"), quoted(volumes[i].name)));
  }
}

}  // namespace

ErrorList validate_pod_spec(const PodSpec& spec, const FieldPath& path) {
  ErrorList out;
  check_volumes(out, spec.volumes, path.field("volumes"));
  check_containers(out, spec, path);
  must_be_one_of(out, path.field("restartPolicy"), spec.restartPolicy,
                 {"Always", "OnFailure", "Never"});
  must_be_one_of(out, path.field("dnsPolicy"), spec.rest->dnsPolicy,
                 {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  append(out, validate_labels(spec.nodeSelector, path.field("nodeSelector")));
  for (const auto& [field, name] : {std::pair{"serviceAccountName", &spec.rest->serviceAccountName},
                                    std::pair{"nodeName", &spec.nodeName}})
    if (!name->empty())
      for (const std::string& problem : dns_subdomain_problems(*name))
        out.push_back(invalid(path.field(field), quoted(*name), problem));
  if (spec.activeDeadlineSeconds &&
      (*spec.activeDeadlineSeconds < 1 || *spec.activeDeadlineSeconds > 2'147'483'647))
    out.push_back(invalid(path.field("activeDeadlineSeconds"),
                          std::to_string(*spec.activeDeadlineSeconds),
                          "must be between 1 and 2147483647, inclusive"));
  for (const auto& [field, name] :
       {std::pair{"hostname", &spec.rest->hostname}, std::pair{"subdomain", &spec.rest->subdomain}})
    if (!name->empty())
      for (const std::string& problem : dns_label_problems(*name))
        out.push_back(invalid(path.field(field), quoted(*name), problem));
  return out;
}

ErrorList validate_pod(const Object& object) {
  const PodSpec& spec = *static_cast<const Pod&>(object).spec;
  ErrorList out = validate_pod_spec(spec, "spec");
  if (spec.rest->ephemeralContainers.get() != nullptr)
    out.push_back(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  return out;
}

namespace {

bool has_doubled_name(const std::vector<EnvVar>& env) {
  std::vector<std::string_view> names;
  names.reserve(env.size());
  for (const EnvVar& variable : env) names.push_back(variable.name);
  // By their lengths first, in which most differ.
  std::sort(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

std::vector<std::string> pod_warnings(const Object& object) {
  std::vector<std::string> out;
  if (const auto problems = dns_label_problems(object.metadata.name); !problems.empty())
    out.push_back(
        fmt::format("metadata.name: this is used in the Pod's hostname, which can result "
                    "in surprising behavior; a DNS label is recommended: [{}]",
                    fmt::join(problems, " ")));
  const PodSpec& spec = *static_cast<const Pod&>(object).spec;
  const auto check = [&](const std::vector<Container>& containers, std::string_view field) {
    for (std::size_t c = 0; c < containers.size(); ++c) {
      if (!has_doubled_name(containers[c].env)) continue;
      SeenNames names;
      for (std::size_t i = 0; i < containers[c].env.size(); ++i)
        if (!names.insert(containers[c].env[i].name).second)
          out.push_back(
              fmt::format("spec.{}[{}].env[{}]: hides previous definition of \"{}\", which may be "
                          "dropped when using apply",
                          field, c, i, containers[c].env[i].name));
    }
  };
  check(spec.initContainers, "initContainers");
  check(spec.containers, "containers");
  return out;
}

namespace {

constexpr std::string_view pod_is_immutable =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

void check_deadline(ErrorList& out, const PodSpec& now, const PodSpec& then) {
  const std::string path = "spec.activeDeadlineSeconds";
  if (!then.activeDeadlineSeconds) return;
  if (!now.activeDeadlineSeconds)
    out.push_back(invalid(path, "null", "must not update from a positive integer to nil value"));
  else if (*now.activeDeadlineSeconds > *then.activeDeadlineSeconds)
    out.push_back(invalid(path, std::to_string(*now.activeDeadlineSeconds),
                          "must be less than or equal to previous value"));
}

void check_tolerations(ErrorList& out, const PodSpec& now, const PodSpec& then) {
  for (Toleration old : then.tolerations) {
    const bool kept =
        std::any_of(now.tolerations.begin(), now.tolerations.end(), [&](const Toleration& t) {
          old.tolerationSeconds = t.tolerationSeconds;
          return equal(old, t);
        });
    if (kept) continue;
    out.push_back(
        forbidden("spec.tolerations",
                  "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void check_gates(ErrorList& out, const PodSpec& now, const PodSpec& then) {
  for (std::size_t i = 0; i < now.schedulingGates.size(); ++i) {
    const std::string& name = now.schedulingGates[i].name;
    const bool old = std::any_of(then.schedulingGates.begin(), then.schedulingGates.end(),
                                 [&](const NamedItem& gate) { return gate.name == name; });
    if (!old)
      out.push_back(forbidden(
          fmt::format("spec.schedulingGates[{}].name", i),
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name)));
  }
}

// The new spec with all that may change set back.
PodSpec without_changes(PodSpec spec, const PodSpec& old) {
  for (std::size_t i = 0; i < spec.containers.size(); ++i)
    spec.containers.edit()[i].image = old.containers[i].image;
  for (std::size_t i = 0; i < spec.initContainers.size(); ++i)
    spec.initContainers.edit()[i].image = old.initContainers[i].image;
  spec.activeDeadlineSeconds = old.activeDeadlineSeconds;
  spec.tolerations = old.tolerations;
  spec.schedulingGates = old.schedulingGates;
  // A gated pod may still be told where to go.
  if (!old.schedulingGates.empty()) {
    spec.nodeSelector = old.nodeSelector;
    spec.affinity = old.affinity;
  }
  if (old.terminationGracePeriodSeconds.value_or(0) < 0 && spec.terminationGracePeriodSeconds == 1)
    spec.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  return spec;
}

}  // namespace

ErrorList validate_pod_update(const Object& updated, const Object& old) {
  const auto &now = static_cast<const Pod&>(updated), &then = static_cast<const Pod&>(old);
  if (now.spec.same_as(then.spec)) return {};
  ErrorList out;
  if (now.spec->containers.size() != then.spec->containers.size())
    out.push_back(forbidden("spec.containers", "pod updates may not add or remove containers"));
  if (now.spec->initContainers.size() != then.spec->initContainers.size())
    out.push_back(forbidden("spec.initContainers", "pod updates may not add or remove containers"));
  if (!out.empty()) return out;
  check_deadline(out, *now.spec, *then.spec);
  check_tolerations(out, *now.spec, *then.spec);
  check_gates(out, *now.spec, *then.spec);
  if (!out.empty()) return out;
  const PodSpec rest = without_changes(*now.spec, *then.spec);
  if (equal(rest, *then.spec)) return validate_pod_spec(*now.spec, "spec");
  std::string text(pod_is_immutable);
  for (const Difference& d : diff(PodSpec::type(), &*then.spec, &rest))
    text += fmt::format("\n{}: {} -> {}", d.path, boost::json::serialize(d.before),
                        boost::json::serialize(d.after));
  out.push_back(forbidden("spec", text));
  return out;
}

}  // namespace ddptwin
