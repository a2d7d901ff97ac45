#include "cluster/store/pod_security_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <set>

#include "objects/validation.hpp"

namespace ddptwin::pod_security {
namespace {

namespace json = boost::json;
using Texts = std::vector<std::string>;

// ---- a pod's specification, as the checks look at it --------------------------------------------

const Json* at(const Json* value, std::initializer_list<std::string_view> path) {
  for (const std::string_view name : path) {
    const json::object* object = value != nullptr ? value->if_object() : nullptr;
    value = object != nullptr ? object->if_contains(name) : nullptr;
  }
  return value != nullptr && value->is_null() ? nullptr : value;
}

std::string text_at(const Json* value, std::initializer_list<std::string_view> path) {
  const Json* found = at(value, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

bool is_true(const Json* value, std::initializer_list<std::string_view> path) {
  const Json* found = at(value, path);
  return found != nullptr && found->is_bool() && found->get_bool();
}

std::vector<const Json*> items(const Json* value, std::initializer_list<std::string_view> path) {
  std::vector<const Json*> out;
  const Json* found = at(value, path);
  if (const json::array* list = found != nullptr ? found->if_array() : nullptr)
    for (const Json& one : *list) out.push_back(&one);
  return out;
}

struct View {
  explicit View(const Json& pod_spec) : spec(&pod_spec) {
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
      for (const Json* one : items(spec, {list})) containers.push_back(one);
  }
  const Json* spec;
  std::vector<const Json*> containers{};
};

std::string name_of(const Json* container) { return text_at(container, {"name"}); }

std::string quoted_list(const Texts& texts) {
  Texts all;
  for (const std::string& one : texts) all.push_back(quoted(one));
  return fmt::format("{}", fmt::join(all, ", "));
}
std::string quoted_list(const std::set<std::string>& texts) {
  return quoted_list(Texts(texts.begin(), texts.end()));
}

std::string of_containers(const Texts& names) {
  return fmt::format("{} {}", plural("container", "containers", names.size()), quoted_list(names));
}

// "pod and container "c"": who sets something that is forbidden.
struct Setters {
  bool pod = false;
  Texts containers{};
  bool none() const { return !pod && containers.empty(); }
  std::string text() const {
    if (containers.empty()) return "pod";
    return (pod ? "pod and " : "") + of_containers(containers);
  }
};

template <class Bad>
Texts containers_where(const View& view, const Bad& bad) {
  Texts names;
  for (const Json* one : view.containers)
    if (bad(one)) names.push_back(name_of(one));
  return names;
}

// Those whose securityContext is bad.
template <class Bad>
Setters setters_where(const View& view, const Bad& bad) {
  return {bad(at(view.spec, {"securityContext"})), containers_where(view, [&](const Json* one) {
            return bad(at(one, {"securityContext"}));
          })};
}

// ---- the checks: what is wrong, or nothing
// -------------------------------------------------------

std::string app_armor(const View& view) {
  std::set<std::string> values;
  const Setters who = setters_where(view, [&](const Json* context) {
    const std::string type = text_at(context, {"appArmorProfile", "type"});
    if (type.empty() || type == "RuntimeDefault" || type == "Localhost") return false;
    values.insert(type);
    return true;
  });
  return who.none() ? std::string()
                    : fmt::format("{} must not set AppArmor profile type to {}", who.text(),
                                  quoted_list(values));
}

std::string host_namespaces(const View& view) {
  Texts set;
  for (const char* name : {"hostNetwork", "hostPID", "hostIPC"})
    if (is_true(view.spec, {name})) set.push_back(fmt::format("{}=true", name));
  return fmt::format("{}", fmt::join(set, ", "));
}

std::string host_ports(const View& view) {
  std::set<std::string> ports;
  const Texts names = containers_where(view, [&](const Json* one) {
    bool bad = false;
    for (const Json* port : items(one, {"ports"})) {
      const Json* number = at(port, {"hostPort"});
      if (number == nullptr || !number->is_int64() || number->get_int64() == 0) continue;
      ports.insert(std::to_string(number->get_int64()));
      bad = true;
    }
    return bad;
  });
  if (names.empty()) return {};
  return fmt::format("{} {} {} {}", of_containers(names), plural("uses", "use", names.size()),
                     plural("hostPort", "hostPorts", ports.size()), fmt::join(ports, ", "));
}

std::string probe_hosts(const View& view) {
  std::set<std::string> names, hosts;
  for (const Json* one : view.containers)
    for (const Json* handler :
         {at(one, {"livenessProbe"}), at(one, {"readinessProbe"}), at(one, {"startupProbe"}),
          at(one, {"lifecycle", "postStart"}), at(one, {"lifecycle", "preStop"})})
      for (const char* kind : {"httpGet", "tcpSocket"})
        if (std::string host = text_at(handler, {kind, "host"}); !host.empty()) {
          names.insert(name_of(one));
          hosts.insert(std::move(host));
        }
  if (names.empty()) return {};
  return fmt::format("{} {} {} {}", of_containers({names.begin(), names.end()}),
                     plural("uses", "use", names.size()),
                     plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()),
                     quoted_list(hosts));
}

std::string privileged(const View& view) {
  const Texts names = containers_where(view, [](const Json* one) {
    return is_true(one, {"securityContext", "privileged"});
  });
  return names.empty() ? std::string()
                       : of_containers(names) + " must not set securityContext.privileged=true";
}

std::string proc_mount(const View& view) {
  std::set<std::string> values;
  const Texts names = containers_where(view, [&](const Json* one) {
    const std::string value = text_at(one, {"securityContext", "procMount"});
    if (value.empty() || value == "Default") return false;
    values.insert(value);
    return true;
  });
  return names.empty() ? std::string()
                       : fmt::format("{} must not set securityContext.procMount to {}",
                                     of_containers(names), quoted_list(values));
}

std::string se_linux(const View& view) {
  static const std::set<std::string> allowed{"", "container_t", "container_init_t",
                                             "container_kvm_t", "container_engine_t"};
  std::set<std::string> types;
  bool user = false, role = false;
  const Setters who = setters_where(view, [&](const Json* context) {
    const Json* options = at(context, {"seLinuxOptions"});
    const std::string type = text_at(options, {"type"});
    const bool has_user = !text_at(options, {"user"}).empty();
    const bool has_role = !text_at(options, {"role"}).empty();
    const bool bad_type = !allowed.contains(type);
    if (bad_type) types.insert(type);
    user = user || has_user;
    role = role || has_role;
    return has_user || has_role || bad_type;
  });
  if (who.none()) return {};
  Texts what;
  if (!types.empty())
    what.push_back(fmt::format("{} {}", plural("type", "types", types.size()), quoted_list(types)));
  if (user) what.push_back("user may not be set");
  if (role) what.push_back("role may not be set");
  return fmt::format("{} set forbidden securityContext.seLinuxOptions: {}", who.text(),
                     fmt::join(what, "; "));
}

std::string sysctls(const View& view) {
  static const std::set<std::string> allowed{"kernel.shm_rmid_forced",
                                             "net.ipv4.ip_local_port_range",
                                             "net.ipv4.tcp_syncookies",
                                             "net.ipv4.ping_group_range",
                                             "net.ipv4.tcp_keepalive_time",
                                             "net.ipv4.ip_unprivileged_port_start",
                                             "net.ipv4.tcp_fin_timeout",
                                             "net.ipv4.ip_local_reserved_ports",
                                             "net.ipv4.tcp_keepalive_intvl",
                                             "net.ipv4.tcp_keepalive_probes",
                                             "net.ipv4.tcp_rmem",
                                             "net.ipv4.tcp_wmem"};
  Texts bad;
  for (const Json* one : items(view.spec, {"securityContext", "sysctls"}))
    if (std::string name = name_of(one); !allowed.contains(name)) bad.push_back(std::move(name));
  return fmt::format("{}", fmt::join(bad, ", "));
}

std::string host_process(const View& view) {
  const Setters who = setters_where(view, [](const Json* context) {
    return is_true(context, {"windowsOptions", "hostProcess"});
  });
  return who.none() ? std::string()
                    : who.text() + " must not set securityContext.windowsOptions.hostProcess=true";
}

std::string host_path_volumes(const View& view) {
  Texts names;
  for (const Json* one : items(view.spec, {"volumes"}))
    if (at(one, {"hostPath"}) != nullptr) names.push_back(name_of(one));
  if (names.empty()) return {};
  return fmt::format("{} {}", plural("volume", "volumes", names.size()), quoted_list(names));
}

// Adds what ALLOWS does not allow to `values`.
template <class Allows>
Texts containers_adding(const View& view, const Allows& allows, std::set<std::string>& values) {
  return containers_where(view, [&](const Json* one) {
    bool bad = false;
    for (const Json* added : items(one, {"securityContext", "capabilities", "add"})) {
      std::string name(added->is_string() ? added->get_string() : json::string());
      if (allows(name)) continue;
      values.insert(std::move(name));
      bad = true;
    }
    return bad;
  });
}

std::string forbidden_capabilities(const Texts& names, const std::set<std::string>& values) {
  return fmt::format("{} must not include {} in securityContext.capabilities.add",
                     of_containers(names), quoted_list(values));
}

std::string default_capabilities(const View& view) {
  static const std::set<std::string> allowed{
      "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
      "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};
  std::set<std::string> values;
  const Texts names = containers_adding(
      view, [](const std::string& name) { return allowed.contains(name); }, values);
  return names.empty() ? std::string() : forbidden_capabilities(names, values);
}

bool is_known_seccomp(const std::string& type) {
  return type == "RuntimeDefault" || type == "Localhost";
}

Setters setters_of_seccomp(const View& view, std::set<std::string>& values) {
  return setters_where(view, [&](const Json* context) {
    if (at(context, {"seccompProfile"}) == nullptr) return false;
    const std::string type = text_at(context, {"seccompProfile", "type"});
    if (is_known_seccomp(type)) return false;
    values.insert(type);
    return true;
  });
}

std::string seccomp(const View& view) {
  std::set<std::string> values;
  const Setters who = setters_of_seccomp(view, values);
  return who.none() ? std::string()
                    : fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                                  who.text(), quoted_list(values));
}

std::string escalation(const View& view) {
  const Texts names = containers_where(view, [](const Json* one) {
    const Json* allows = at(one, {"securityContext", "allowPrivilegeEscalation"});
    return allows == nullptr || !allows->is_bool() || allows->get_bool();
  });
  return names.empty()
             ? std::string()
             : of_containers(names) + " must set securityContext.allowPrivilegeEscalation=false";
}

std::string all_capabilities(const View& view) {
  const Texts keeping = containers_where(view, [](const Json* one) {
    const auto dropped = items(one, {"securityContext", "capabilities", "drop"});
    return std::none_of(dropped.begin(), dropped.end(), [](const Json* name) {
      return name->is_string() && name->get_string() == "ALL";
    });
  });
  std::set<std::string> values;
  const Texts adding = containers_adding(
      view, [](const std::string& name) { return name == "NET_BIND_SERVICE"; }, values);
  Texts what;
  if (!keeping.empty())
    what.push_back(of_containers(keeping) +
                   " must set securityContext.capabilities.drop=[\"ALL\"]");
  if (!adding.empty()) what.push_back(forbidden_capabilities(adding, values));
  return fmt::format("{}", fmt::join(what, "; "));
}

std::string restricted_volumes(const View& view) {
  static const std::set<std::string_view> allowed{
      "configMap", "csi",   "downwardAPI",           "emptyDir",
      "ephemeral", "image", "persistentVolumeClaim", "projected",
      "secret"};
  Texts names;
  std::set<std::string> types;
  for (const Json* one : items(view.spec, {"volumes"}))
    for (const auto& member : one->get_object()) {
      if (member.key() == "name" || member.value().is_null() || allowed.contains(member.key()))
        continue;
      names.push_back(name_of(one));
      types.insert(std::string(member.key()));
    }
  if (names.empty()) return {};
  return fmt::format("{} {} {} {} {}", plural("volume", "volumes", names.size()),
                     quoted_list(names), plural("uses", "use", names.size()),
                     plural("restricted volume type", "restricted volume types", types.size()),
                     quoted_list(types));
}

// Containers that neither have what is wanted nor get it from the pod.
std::string must_set(const Texts& names, std::string_view what) {
  if (names.empty()) return {};
  return fmt::format("pod or {} must set securityContext.{}", of_containers(names), what);
}

std::string non_root(const View& view) {
  const auto says = [](const Json* context) { return at(context, {"runAsNonRoot"}); };
  const Setters who = setters_where(view, [&](const Json* context) {
    const Json* set = says(context);
    return set != nullptr && set->is_bool() && !set->get_bool();
  });
  if (!who.none()) return who.text() + " must not set securityContext.runAsNonRoot=false";
  if (says(at(view.spec, {"securityContext"})) != nullptr) return {};
  return must_set(
      containers_where(
          view, [&](const Json* one) { return says(at(one, {"securityContext"})) == nullptr; }),
      "runAsNonRoot=true");
}

std::string root_user(const View& view) {
  const Setters who = setters_where(view, [](const Json* context) {
    const Json* user = at(context, {"runAsUser"});
    return user != nullptr && user->is_int64() && user->get_int64() == 0;
  });
  return who.none() ? std::string() : who.text() + " must not set runAsUser=0";
}

std::string seccomp_set(const View& view) {
  if (std::string bad = seccomp(view); !bad.empty()) return bad;
  const auto has = [](const Json* context) { return at(context, {"seccompProfile"}) != nullptr; };
  if (has(at(view.spec, {"securityContext"}))) return {};
  return must_set(
      containers_where(view, [&](const Json* one) { return !has(at(one, {"securityContext"})); }),
      "seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"");
}

struct Check {
  std::string_view reason;
  std::string (*look)(const View&);
  Level level;
  bool overlaps = false;  // one of the restricted level says more of the same
  int since = 0;          // 1.x
};
// In the order in which upstream tells them.
constexpr std::array checks{
    Check{"forbidden AppArmor profile", &app_armor, Level::baseline},
    Check{"host namespaces", &host_namespaces, Level::baseline},
    Check{"hostPort", &host_ports, Level::baseline},
    Check{"probe or lifecycle host", &probe_hosts, Level::baseline, false, 34},
    Check{"privileged", &privileged, Level::baseline},
    Check{"procMount", &proc_mount, Level::baseline},
    Check{"seLinuxOptions", &se_linux, Level::baseline},
    Check{"forbidden sysctls", &sysctls, Level::baseline},
    Check{"hostProcess", &host_process, Level::baseline},
    Check{"non-default capabilities", &default_capabilities, Level::baseline, true},
    Check{"hostPath volumes", &host_path_volumes, Level::baseline, true},
    Check{"seccompProfile", &seccomp, Level::baseline, true, 19},
    Check{"allowPrivilegeEscalation != false", &escalation, Level::restricted, false, 8},
    Check{"unrestricted capabilities", &all_capabilities, Level::restricted, false, 22},
    Check{"restricted volume types", &restricted_volumes, Level::restricted},
    Check{"runAsNonRoot != true", &non_root, Level::restricted},
    Check{"runAsUser=0", &root_user, Level::restricted, false, 23},
    Check{"seccompProfile", &seccomp_set, Level::restricted, false, 19},
};

}  // namespace

const Json* part_of(const Json& value, std::initializer_list<std::string_view> path) {
  return at(&value, path);
}

std::vector<Finding> findings(Level level, int minor, const Json& spec) {
  std::vector<Finding> found;
  if (level == Level::privileged) return found;
  const View view(spec);
  const bool restricts = level == Level::restricted;
  for (const Check& check : checks) {
    if (check.since > minor || (check.level == Level::restricted && !restricts) ||
        (check.overlaps && restricts))
      continue;
    if (std::string detail = check.look(view); !detail.empty())
      found.push_back({check.reason, std::move(detail)});
  }
  return found;
}

}  // namespace ddptwin::pod_security
