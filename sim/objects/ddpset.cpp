#include "objects/ddpset.hpp"

#include <boost/json.hpp>

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_schema_notes.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

json::object whole_number(std::int64_t fallback, std::int64_t least) {
  return {{"type", "integer"}, {"format", "int32"}, {"default", fallback}, {"minimum", least}};
}

json::object spec_schema() {
  constexpr std::int64_t port_max = 65535;
  json::object port = whole_number(ddpset_port, 1);
  port["maximum"] = port_max;
  json::object properties{{"replicas", whole_number(1, 0)},
                          {"port", std::move(port)},
                          {"serviceName", {{"type", "string"}}},
                          {"template", schema_of(PodTemplateSpec::type(), pod_schema_notes())},
                          {"podManagementPolicy",
                           {{"type", "string"},
                            {"default", "OrderedReady"},
                            {"enum", json::array{"OrderedReady", "Parallel"}}}},
                          {"publishNotReadyAddresses", {{"type", "boolean"}, {"default", false}}},
                          {"ordinalsStart", whole_number(0, 0)}};
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", json::array{"template"}}};
}

RawJson ddpset_schema() {
  json::object count{{"type", "integer"}, {"format", "int32"}};
  json::object status{{"observedGeneration", {{"type", "integer"}, {"format", "int64"}}},
                      {"replicas", count},
                      {"readyReplicas", count},
                      {"updatedReplicas", count},
                      {"selector", {{"type", "string"}}}};
  json::object properties{{"apiVersion", {{"type", "string"}}},
                          {"kind", {{"type", "string"}}},
                          {"spec", spec_schema()},
                          {"status", {{"type", "object"}, {"properties", std::move(status)}}}};
  return RawJson(json::object{{"type", "object"},
                              {"properties", std::move(properties)},
                              {"required", json::array{"spec"}}});
}

}  // namespace

const Type& DDPSetSpec::type() {
  using S = DDPSetSpec;
  static const Type t =
      structure<S>("v1alpha1.DDPSetSpec",
                   {F(replicas), F(port), F(serviceName), F(template_), F(podManagementPolicy),
                    F(publishNotReadyAddresses), F(ordinalsStart)});
  return t;
}
const Type& DDPSetStatus::type() {
  using S = DDPSetStatus;
  static const Type t =
      structure<S>("v1alpha1.DDPSetStatus", {F(observedGeneration), F(replicas, .always = true),
                                             F(readyReplicas), F(updatedReplicas), F(selector)});
  return t;
}
const Type& DDPSet::type() {
  using S = DDPSet;
  static const Type t = structure<S>("v1alpha1.DDPSet", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& DDPSet::info() {
  static const KindInfo kind{
      .group = "platform.ddptwin.dev",
      .version = "v1alpha1",
      .kind = "DDPSet",
      .plural = "ddpsets",
      .singular = "ddpset",
      .status = true,
      .scale = ScalePaths{".spec.replicas", ".status.replicas", ".status.selector"},
      .custom = true,
      .schema = ddpset_schema(),
      .type = &DDPSet::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<DDPSet>(); },
      .columns = {{.name = "Replicas", .type = "integer", .json_path = ".spec.replicas"},
                  {.name = "Ready", .type = "integer", .json_path = ".status.readyReplicas"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

int replicas_of(const DDPSetSpec& spec) { return spec.replicas.value_or(1); }
int port_of(const DDPSetSpec& spec) { return spec.port.value_or(ddpset_port); }
int ordinals_start_of(const DDPSetSpec& spec) { return spec.ordinalsStart.value_or(0); }

std::string service_name_of(const DDPSet& set) {
  const std::string& said = set.spec->serviceName;
  return said.empty() ? set.metadata.name + "-svc" : said;
}

}  // namespace ddptwin
