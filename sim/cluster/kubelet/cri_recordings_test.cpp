// Every CRI request that the recordings of a real kubelet show, worked out by the functions alone:
// no kubelet runs here.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "cluster/kubelet/container_config.hpp"
#include "objects/codec.hpp"
#include "runtime/cri_json.hpp"

namespace ddptwin::kubelet::cri_recordings_test {
namespace {

namespace json = boost::json;

constexpr std::string_view digest =
    "@sha256:0000000000000000000000000000000000000000000000000000000000000000";

json::value read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

// "@3" and "@3+30s", a recording's times, become instants; everything else stays.
void make_times(json::value& value) {
  static const std::regex symbol("@(\\d+)(\\+\\d+s)?");
  if (auto* text = value.if_string()) {
    std::cmatch match;
    if (std::regex_match(text->c_str(), match, symbol))
      value = format_rfc3339(Time(std::chrono::seconds(std::stol(match[1]))));
  } else if (auto* list = value.if_array()) {
    for (json::value& each : *list) make_times(each);
  } else if (auto* object = value.if_object()) {
    for (auto& [key, each] : *object) make_times(each);
  }
}

// The random name of a termination log.
void hide_log_name(json::value& request) {
  auto* mounts = request.as_object().if_contains("mounts");
  if (mounts == nullptr) return;
  for (json::value& mount : mounts->as_array()) {
    const std::string path = json::value_to<std::string>(mount.at("hostPath"));
    if (path.find("/containers/") != std::string::npos)
      mount.as_object()["hostPath"] = path.substr(0, path.rfind('/')) + "/<random>";
  }
}

class Cluster {
 public:
  Cluster() {
    auto master = std::make_shared<Service>();
    master->metadata.name = "kubernetes";
    master->metadata.namespace_ = "default";
    master->spec.edit().clusterIP = "10.0.0.1";
    ServicePort https;
    https.name = "https";
    https.port = 443;
    master->spec.edit().ports = {https};
    services_["kubernetes"] = master;
  }

  void take(const json::object& changed) {
    for (const auto& [key, value] : changed) {
      if (!key.starts_with("v1/")) continue;  // workloads, which no kubelet reads
      json::value object = value;
      make_times(object);
      const auto made = decode_object(kinds_, object);
      ASSERT_TRUE(made) << key << ": " << made.error().text();
      ObjectPtr ptr = made->object;
      if (auto service = std::dynamic_pointer_cast<Service>(made->object)) {
        if (service->spec->clusterIP == "<ip>")
          service->spec.edit().clusterIP = "ip(Service/" + service->metadata.name + ")";
        services_[service->metadata.name.str()] = service;
      } else {
        objects_[std::string(key)] = ptr;
      }
    }
  }

  template <class T>
  std::shared_ptr<const T> find(const std::string& kind, std::string_view name) const {
    const auto found = objects_.find("v1/" + kind + "/" + std::string(name));
    return found == objects_.end() ? nullptr : std::dynamic_pointer_cast<const T>(found->second);
  }

  PodContext context(const std::string& pod) const {
    PodContext out;
    out.pod = find<Pod>("Pod", pod);
    out.node = node();
    out.node_ip = "<hostIP>";
    out.pod_ips = {"ip(Pod/" + pod + ")"};
    for (const auto& [name, service] : services_) out.services.edit().push_back(linked(service));
    out.find_config_map = [this](std::string_view name) {
      return find<ConfigMap>("ConfigMap", name);
    };
    out.find_secret = [this](std::string_view name) { return find<Secret>("Secret", name); };
    NodeSettings& settings = out.settings.edit();
    settings.cluster_dns = {"10.0.0.10"};
    settings.host_resolv_conf = "nameserver 192.168.0.254\nsearch example.org\noptions timeout:2\n";
    settings.root_dir = "<root>/kubelet";
    settings.log_dir = "<root>/logs";
    if (out.pod) out.config_seen = *out.pod->metadata.creationTimestamp;
    return out;
  }

 private:
  static std::shared_ptr<const Node> node() {
    auto out = std::make_shared<Node>();
    for (const auto& [name, text] : {std::pair{"cpu", "32"}, std::pair{"memory", "256Gi"},
                                     std::pair{"ephemeral-storage", "1Ti"}})
      out->status.capacity.edit()[name] = *Quantity::parse(text);
    out->status.allocatable = out->status.capacity;
    return out;
  }

  KindRegistry kinds_;
  std::map<std::string, ObjectPtr> objects_;
  std::map<std::string, std::shared_ptr<const Service>> services_;
};

void compare(json::value expected, json::value got, const std::string& where) {
  make_times(expected);
  hide_log_name(got);
  for (const auto& [key, value] : expected.as_object()) {
    const json::value* mine = got.as_object().if_contains(key);
    ASSERT_NE(mine, nullptr) << where << ": no " << key;
    EXPECT_EQ(value, *mine) << where << " " << key;
  }
  for (const auto& [key, value] : got.as_object())
    EXPECT_TRUE(expected.as_object().contains(key)) << where << ": " << key << " is too much";
}

const Container* container_named(const PodSpec& spec, const std::string& name) {
  for (const auto* list : {&spec.containers, &spec.initContainers})
    for (const Container& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

void check_container(const PodContext& context, const json::value& expected,
                     const std::string& where) {
  const json::value& metadata = expected.at("metadata");
  const std::string name = json::value_to<std::string>(metadata.at("name"));
  const Container* container = container_named(*context.pod->spec, name);
  ASSERT_NE(container, nullptr) << where;
  const json::value* attempt = metadata.as_object().if_contains("attempt");
  const auto sources = volumes(context);
  ASSERT_TRUE(sources) << where << ": " << sources.error().message;
  ImageStatus image;
  image.ref = container->image + std::string(digest);
  const auto config = container_config(
      context, *container, attempt ? static_cast<std::uint32_t>(attempt->as_int64()) : 0, image,
      *sources);
  ASSERT_TRUE(config) << where << ": " << config.error().message;
  compare(expected, cri_json(*config), where + " " + name);
}

int check_recording(const std::filesystem::path& path) {
  Cluster cluster;
  int requests = 0;
  const json::value recording = read(path);
  for (const json::value& step : recording.at("steps").as_array()) {
    if (const auto* changed = step.as_object().if_contains("changed"))
      cluster.take(changed->as_object());
    const json::value* result = step.as_object().if_contains("result");
    const json::value* all = result != nullptr && result->is_object()
                                 ? result->as_object().if_contains("requests")
                                 : nullptr;
    if (all == nullptr) continue;
    const PodContext context =
        cluster.context(json::value_to<std::string>(step.at("do").at("cri").at("pod")));
    for (const json::value& request : all->as_array()) {
      ++requests;
      const std::string where = path.stem().string() + " pod " + context.pod->metadata.name;
      if (const auto* sandbox = request.as_object().if_contains("runPodSandbox")) {
        const auto config = sandbox_config(context, 0);
        EXPECT_TRUE(config) << where;
        if (config) compare(*sandbox, cri_json(*config), where + " sandbox");
      } else {
        check_container(context, request.at("createContainer"), where);
      }
    }
  }
  return requests;
}

TEST(CriRecordings, EveryRequestOfTheRealKubeletIsWorkedOutAlike) {
  const std::filesystem::path folder =
      std::filesystem::path(DDPTWIN_SOURCE_DIR) / "tests/recordings/kubelet";
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.insert(entry.path());
  int requests = 0;
  for (const auto& path : paths)
    if (path.extension() == ".json") requests += check_recording(path);
  EXPECT_GE(requests, 31) << "recordings are missing";
}

}  // namespace
}  // namespace ddptwin::kubelet::cri_recordings_test
