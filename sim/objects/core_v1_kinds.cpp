// The rows of the core kinds in the table of kinds.
#include "objects/core_v1.hpp"
#include "objects/kinds.hpp"
#include "objects/strategy_core_v1.hpp"

namespace ddptwin {
namespace {

template <class T>
std::shared_ptr<Object> make() {
  return std::make_shared<T>();
}

}  // namespace

const KindInfo& Namespace::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Namespace",
                             .plural = "namespaces",
                             .singular = "namespace",
                             .short_names = {"ns"},
                             .namespaced = false,
                             .status = true,
                             .type = &Namespace::type,
                             .make = &ddptwin::make<Namespace>,
                             .strategy = namespace_strategy()};
  return kind;
}
const KindInfo& Node::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Node",
                             .plural = "nodes",
                             .singular = "node",
                             .short_names = {"no"},
                             .namespaced = false,
                             .status = true,
                             .type = &Node::type,
                             .make = &ddptwin::make<Node>,
                             .strategy = node_strategy()};
  return kind;
}
const KindInfo& Pod::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Pod",
                             .plural = "pods",
                             .singular = "pod",
                             .short_names = {"po"},
                             .categories = {"all"},
                             .status = true,
                             .generation = true,
                             .type = &Pod::type,
                             .make = &ddptwin::make<Pod>,
                             .strategy = pod_strategy()};
  return kind;
}
const KindInfo& Binding::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Binding",
                             .plural = "bindings",
                             .singular = "binding",
                             .type = &Binding::type,
                             .make = &ddptwin::make<Binding>};
  return kind;
}
const KindInfo& Service::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Service",
                             .plural = "services",
                             .singular = "service",
                             .short_names = {"svc"},
                             .categories = {"all"},
                             .status = true,
                             .type = &Service::type,
                             .make = &ddptwin::make<Service>,
                             .strategy = service_strategy()};
  return kind;
}
const KindInfo& Endpoints::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Endpoints",
                             .plural = "endpoints",
                             .singular = "endpoints",
                             .short_names = {"ep"},
                             .type = &Endpoints::type,
                             .make = &ddptwin::make<Endpoints>,
                             .strategy = endpoints_strategy()};
  return kind;
}
const KindInfo& ConfigMap::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "ConfigMap",
                             .plural = "configmaps",
                             .singular = "configmap",
                             .short_names = {"cm"},
                             .type = &ConfigMap::type,
                             .make = &ddptwin::make<ConfigMap>,
                             .strategy = config_map_strategy()};
  return kind;
}
const KindInfo& Secret::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Secret",
                             .plural = "secrets",
                             .singular = "secret",
                             .type = &Secret::type,
                             .make = &ddptwin::make<Secret>,
                             .strategy = secret_strategy()};
  return kind;
}
const KindInfo& Event::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "Event",
                             .plural = "events",
                             .singular = "event",
                             .short_names = {"ev"},
                             .type = &Event::type,
                             .make = &ddptwin::make<Event>,
                             .strategy = event_strategy()};
  return kind;
}
const KindInfo& ServiceAccount::info() {
  static const KindInfo kind{.version = "v1",
                             .kind = "ServiceAccount",
                             .plural = "serviceaccounts",
                             .singular = "serviceaccount",
                             .short_names = {"sa"},
                             .type = &ServiceAccount::type,
                             .make = &ddptwin::make<ServiceAccount>};
  return kind;
}

}  // namespace ddptwin
