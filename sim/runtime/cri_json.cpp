#include "runtime/cri_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace ddptwin::kubelet {
namespace {

using JsonObject = boost::json::object;

void put(JsonObject& to, std::string_view key, const std::string& text) {
  if (!text.empty()) to[key] = text;
}
void put(JsonObject& to, std::string_view key, bool flag) {
  if (flag) to[key] = true;
}
void put(JsonObject& to, std::string_view key, const std::vector<std::string>& list) {
  if (!list.empty()) to[key] = boost::json::value_from(list);
}
void put(JsonObject& to, std::string_view key, const StringMap& map) {
  JsonObject out;
  for (const auto& [name, value] : map) out[name.view()] = value.view();
  to[key] = std::move(out);
}
void put(JsonObject& to, std::string_view key, const RawJson& json) {
  if (json.get() != nullptr) to[key] = *json.get();
}

// Go's RFC3339Nano: as many decimals as the instant has.
std::string format_nano(Time time) {
  std::string out = format_rfc3339(time.floor_seconds());
  const std::int64_t nanos = (time - time.floor_seconds()).count();
  if (nanos == 0) return out;
  std::string decimals = fmt::format("{:09}", nanos);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return out.substr(0, out.size() - 1) + "." + decimals + "Z";
}

JsonObject dns_json(DnsConfig dns) {
  std::sort(dns.options.begin(), dns.options.end());
  JsonObject out;
  put(out, "servers", dns.servers);
  put(out, "searches", dns.searches);
  put(out, "options", dns.options);
  return out;
}

JsonObject mount_json(const RuntimeMount& mount) {
  JsonObject out;
  out["containerPath"] = mount.container_path;
  out["hostPath"] = mount.host_path;
  put(out, "readonly", mount.readonly);
  put(out, "propagation", mount.propagation);
  return out;
}

void add_files(JsonObject& to, const RuntimeMount& mount) {
  if (mount.source == nullptr) return put(to, mount.container_path, mount.content);
  for (const auto& [path, file] : mount.source->files) {
    const std::string& sub = mount.sub_path;
    std::string at = mount.container_path;
    if (sub.empty())
      at += "/" + path;
    else if (path.starts_with(sub + "/"))
      at += path.substr(sub.size());
    else if (path != sub)
      continue;
    to[at] = JsonObject{{"content", file.content}, {"mode", fmt::format("{:04o}", file.mode)}};
  }
}

}  // namespace

Json cri_json(const SandboxConfig& config) {
  JsonObject metadata{{"name", config.name}, {"namespace", config.namespace_}, {"uid", config.uid}};
  if (config.attempt != 0) metadata["attempt"] = config.attempt;
  JsonObject out;
  out["metadata"] = std::move(metadata);
  if (!config.host_network) put(out, "hostname", config.hostname);
  put(out, "logDirectory", config.log_directory);
  out["dnsConfig"] = dns_json(config.dns);
  put(out, "portMappings", config.port_mappings);
  StringMap labels = config.labels, annotations = config.annotations;
  labels["io.kubernetes.pod.name"] = config.name;
  labels["io.kubernetes.pod.namespace"] = config.namespace_;
  labels["io.kubernetes.pod.uid"] = config.uid;
  annotations["kubernetes.io/config.seen"] = format_nano(config.config_seen);
  annotations["kubernetes.io/config.source"] = "api";
  put(out, "labels", labels);
  put(out, "annotations", annotations);
  put(out, "linux", config.linux_);
  return out;
}

Json cri_json(const ContainerConfig& config) {
  JsonObject metadata{{"name", config.name}};
  if (config.attempt != 0) metadata["attempt"] = config.attempt;
  JsonObject out;
  out["metadata"] = std::move(metadata);
  out["image"] = JsonObject{{"image", config.image}, {"userSpecifiedImage", config.user_image}};
  put(out, "command", config.command);
  put(out, "args", config.args);
  put(out, "workingDir", config.working_dir);
  JsonObject variables;
  for (const auto& [name, value] : config.env) variables[name] = value;
  out["envs"] = std::move(variables);
  boost::json::array mounts;
  JsonObject files;
  for (const RuntimeMount& mount : config.mounts) {
    mounts.push_back(mount_json(mount));
    add_files(files, mount);
  }
  out["mounts"] = std::move(mounts);
  out["files"] = std::move(files);
  put(out, "labels", config.labels);
  put(out, "annotations", config.annotations);
  put(out, "logPath", config.log_path);
  put(out, "stdin", config.stdin_);
  put(out, "stdinOnce", config.stdin_once);
  put(out, "tty", config.tty);
  put(out, "stopSignal", config.stop_signal);
  put(out, "linux", config.linux_);
  return out;
}

}  // namespace ddptwin::kubelet
