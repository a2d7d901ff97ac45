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

std::string variable(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return name;
}

// Those with an address that there are when it starts, with the port that they have then.
TEST(ServiceLinks, AContainerIsToldOfTheServicesAsTheyAre) {
  holds(
      [] {
        const auto changes = *gen::resize(8, gen::vector_of(any_change())).as("changes");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
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
          auto pod = NodeRun::pod_named(name);
          pod->spec.edit().containers.edit().push_back(container_named("c"));
          node.create(pod);
          node.rest(3s);
          const auto environment = node.environment_of("c", name);
          for (const std::string one : {"a", "b-c"}) {
            const std::string prefix = variable(one) + "_SERVICE_";
            std::set<std::string> told, wanted;
            for (const std::string& text : environment)
              if (text.starts_with(prefix)) told.insert(text);
            if (const auto service = there.find(one); service != there.end())
              wanted = {prefix + "HOST=" + service->second->spec->clusterIP,
                        prefix + "PORT=" + std::to_string(service->second->spec->ports[0].port)};
            RC_ASSERT(told == wanted);
          }
        }
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::service_links_properties_test
