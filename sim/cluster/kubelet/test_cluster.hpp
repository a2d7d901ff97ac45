// For the tests of this folder: a PodContext out of YAML.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cluster/kubelet/container_config.hpp"
#include "cluster/kubelet/env.hpp"
#include "objects/codec.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::kubelet {

// The pod, its namespace's objects and the node of the recordings.
class TestCluster {
 public:
  // Documents of core/v1 kinds; objects without a namespace are in "default".
  explicit TestCluster(const std::string& yaml) {
    const auto documents = parse_yaml(yaml, "test");
    EXPECT_TRUE(documents) << (documents ? "" : documents.error().text());
    if (!documents) return;
    for (const YamlDocument& document : *documents) {
      const auto decoded = decode_object(kinds_, document.value);
      EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().text());
      if (decoded) put(decoded->object);
    }
  }

  PodContext context() const {
    PodContext out;
    out.pod = pod_;
    out.node = node();
    out.node_ip = "192.168.0.1";
    out.pod_ips = {"10.244.0.7"};
    out.services = services_;
    out.find_config_map = [this](std::string_view name) { return find(config_maps_, name); };
    out.find_secret = [this](std::string_view name) { return find(secrets_, name); };
    NodeSettings& settings = out.settings.edit();
    settings.cluster_dns = {"10.0.0.10"};
    settings.host_resolv_conf = "nameserver 192.168.0.254\nsearch example.org\noptions timeout:2\n";
    settings.root_dir = "/root";
    settings.log_dir = "/logs";
    return out;
  }
  const Container& container() const { return pod_->spec->containers.at(0); }

 private:
  template <class T>
  using ByName = std::map<std::string, std::shared_ptr<const T>, std::less<>>;

  template <class T>
  static std::shared_ptr<const T> find(const ByName<T>& map, std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : found->second;
  }

  void put(const std::shared_ptr<Object>& object) {
    ObjectMeta& meta = object->metadata;
    if (meta.namespace_.empty()) meta.namespace_ = "default";
    if (meta.uid.empty()) meta.uid = "uid-" + meta.name;
    if (const auto pod = std::dynamic_pointer_cast<Pod>(object)) pod_ = pod;
    if (const auto service = std::dynamic_pointer_cast<Service>(object))
      services_.push_back(linked(service));
    if (const auto map = std::dynamic_pointer_cast<ConfigMap>(object))
      config_maps_[meta.name.str()] = map;
    if (const auto secret = std::dynamic_pointer_cast<Secret>(object))
      secrets_[meta.name.str()] = secret;
  }

  static std::shared_ptr<const Node> node() {
    auto out = std::make_shared<Node>();
    for (const auto& [name, text] : {std::pair{"cpu", "32"}, std::pair{"memory", "256Gi"},
                                     std::pair{"ephemeral-storage", "1Ti"}})
      out->status.capacity.edit()[name] = *Quantity::parse(text);
    out->status.allocatable = out->status.capacity;
    return out;
  }

  KindRegistry kinds_;
  std::shared_ptr<const Pod> pod_;
  std::vector<LinkedService> services_;
  ByName<ConfigMap> config_maps_;
  ByName<Secret> secrets_;
};

// A pod of one container with these fields (flow style, without the braces).
inline std::string pod_yaml(const std::string& container, const std::string& spec = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec +
         (spec.empty() ? "" : ", ") + "containers: [{name: c, image: busybox" +
         (container.empty() ? "" : ", ") + container + "}]}\n";
}

}  // namespace ddptwin::kubelet
