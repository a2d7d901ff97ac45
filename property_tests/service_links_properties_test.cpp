// Which Services a container's environment names (spec/kubernetes.md §2.9).
#include <map>
#include <ostream>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::service_links_properties_test {
namespace {

struct Change {
  std::string name{};
  int port = 0;  // 0: the Service is deleted
};

void showValue(const Change& change, std::ostream& out) {
  out << change.name << (change.port == 0 ? " is deleted" : " has port ");
  if (change.port != 0) out << change.port;
}

rc::Gen<Change> any_change() {
  return gen::build<Change>(gen::set(&Change::name, gen::element<std::string>("a", "b-c")),
                            gen::set(&Change::port, gen::element(0, 80, 81, 82)));
}

using Variables = std::map<std::string, std::string>;

std::string prefix_of(std::string service) {
  for (char& c : service) c = c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return service + "_SERVICE_";
}

// What a container says for itself: nothing, by a ConfigMap, by its env.
const std::map<std::string, Variables> own{
    {"plain", {}},
    {"from", {{"A_SERVICE_PORT", "one"}, {"B_C_SERVICE_HOST", "two"}}},
    {"env", {{"A_SERVICE_HOST", "three"}}}};

void make_config_map(NodeRun& node) {
  const auto map = std::make_shared<ConfigMap>();
  map->metadata.name = "m";
  map->metadata.namespace_ = "default";
  for (const auto& [name, value] : own.at("from")) map->data.edit().emplace(name, value);
  node.call(api::create(map));
}

std::shared_ptr<Pod> pod_of_all(const std::string& name) {
  auto pod = NodeRun::pod_named(name);
  auto& containers = pod->spec.edit().containers.edit();
  for (const auto& [container, variables] : own) containers.push_back(container_named(container));
  for (Container& container : containers) {
    if (container.name == "from") {
      EnvFromSource from;
      from.configMapRef.emplace().name = "m";
      container.envFrom.edit().push_back(from);
    } else {
      for (const auto& [variable, value] : own.at(container.name)) {
        EnvVar env;
        env.name = variable;
        env.value = value;
        container.env.push_back(env);
      }
    }
  }
  return pod;
}

// Those with an address that there are when it starts, with the port that they have then; what it
// says for itself goes before that.
TEST(ServiceLinks, AContainerIsToldOfTheServicesAsTheyAre) {
  holds(
      [] {
        const auto changes = *gen::resize(8, gen::vector_of(any_change())).as("changes");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        make_config_map(node);
        std::map<std::string, std::shared_ptr<const Service>> there;
        int pods = 0;
        for (const Change& change : changes) {
          const auto known = there.find(change.name);
          if (change.port == 0) {
            if (known == there.end()) continue;
            node.call(api::remove(*known->second));
            there.erase(known);
          } else {
            const auto service = known == there.end()
                                     ? std::make_shared<Service>()
                                     : std::static_pointer_cast<Service>(known->second->clone());
            service->metadata.name = change.name;
            service->metadata.namespace_ = "default";
            ServicePort port;
            port.port = change.port;
            port.protocol = "TCP";
            service->spec.edit().ports = {port};
            node.call(known == there.end() ? api::create(service) : api::update(service));
            there[change.name] = node.service(change.name);
          }
          node.rest(3s);
          const std::string name = "p" + std::to_string(pods++);
          node.create(pod_of_all(name));
          node.rest(3s);
          for (const auto& [container, variables] : own) {
            Variables wanted = variables;
            for (const auto& [one, service] : there) {
              wanted.emplace(prefix_of(one) + "HOST", service->spec->clusterIP);
              wanted.emplace(prefix_of(one) + "PORT", std::to_string(service->spec->ports[0].port));
            }
            std::set<std::string> told, expected;
            for (const std::string& text : node.environment_of(container, name))
              if (text.starts_with(prefix_of("a")) || text.starts_with(prefix_of("b-c")))
                told.insert(text);
            for (const auto& [variable, value] : wanted) expected.insert(variable + "=" + value);
            RC_ASSERT(told == expected);
          }
        }
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::service_links_properties_test
