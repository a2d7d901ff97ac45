// spec.cluster: its nodes, its operator and the flags of its control plane.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "dns/message.hpp"
#include "objects/validation.hpp"
#include "scenario/language/files.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

constexpr int nodes_max = 1000;
constexpr std::int64_t flag_max = 1'000'000;

// A row of nodes: one, or `count` of them with numbers behind the name.
struct NodeRow {
  NodeOptions node{};
  std::int64_t count = 0;
};

Status read_quantity(const YamlNode& node, NodeRow& to, const std::string& resource) {
  TRY(to.node.capacity[resource], node.as_quantity());
  return {};
}

using NodeField = Field<NodeRow, ParseContext>;
constexpr std::array node_fields{
    NodeField{"name", "text", "its name; with count the beginning of it: NAME-0, NAME-1",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) -> Status {
                TRY(to.node.name, node.as_text());
                return check_name(node, dns_subdomain_problems(to.node.name));
              },
              true},
    NodeField{"count", "a number", "that many nodes of this size",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) -> Status {
                TRY(to.count, node.as_integer());
                if (to.count < 1 || to.count > nodes_max)
                  return node.must_be(fmt::format("1 to {}", nodes_max));
                return {};
              }},
    NodeField{"cpu", "a quantity", "default: 32",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) {
                return read_quantity(node, to, "cpu");
              }},
    NodeField{"memory", "a quantity", "default: 256Gi",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) {
                return read_quantity(node, to, "memory");
              }},
    NodeField{"resources", "a map of quantities",
              "further capacity, 0 for none; default: nvidia.com/gpu: 8, pods: 110, "
              "ephemeral-storage: 1Ti",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) -> Status {
                TRY(const auto members, node.as_map());
                for (const auto& [name, value] : members) {
                  TRY_VOID(check_name(value, qualified_name_problems(name)));
                  TRY_VOID(read_quantity(value, to, name));
                }
                return {};
              }},
    NodeField{"labels", "a map of texts", "further labels",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) -> Status {
                TRY(const auto members, node.as_map());
                for (const auto& [name, value] : members) {
                  TRY_VOID(check_name(value, qualified_name_problems(name)));
                  TRY(to.node.labels[name], value.as_any_scalar());
                  TRY_VOID(check_name(value, label_value_problems(to.node.labels[name])));
                }
                return {};
              }},
    NodeField{"unschedulable", "true or false", "cordoned; default: false",
              [](const YamlNode& node, NodeRow& to, const ParseContext&) -> Status {
                TRY(to.node.unschedulable, node.as_bool());
                return {};
              }},
};

Status read_nodes(const YamlNode& list, Scenario& to, const ParseContext& context) {
  TRY(const auto nodes, list.as_list());
  std::set<std::string> names;
  for (const YamlNode& node : nodes) {
    NodeRow row;
    TRY_VOID(read_fields(node, node_fields, row, context));
    for (std::int64_t i = 0; i < std::max<std::int64_t>(row.count, 1); ++i) {
      NodeOptions one = row.node;
      if (row.count > 0) one.name += fmt::format("-{}", i);
      if (!names.insert(one.name).second)
        return node.fail_at("name", fmt::format("there are two nodes named {}", one.name));
      to.nodes.push_back(std::move(one));
    }
  }
  if (to.nodes.empty()) return list.must_be("a list with a node in it");
  return {};
}

Status read_claims(const YamlNode& node, Scenario& to, const ParseContext& context) {
  TRY(const auto members, node.as_map());
  for (const auto& [name, value] : members) {
    const std::size_t slash = name.find('/');
    const std::string space = slash == name.npos ? context.namespace_ : name.substr(0, slash);
    const std::string own = slash == name.npos ? name : name.substr(slash + 1);
    TRY_VOID(check_name(value, dns_label_problems(space)));
    TRY_VOID(check_name(value, dns_subdomain_problems(own)));
    TRY(const std::string path, value.as_text());
    auto found = real_path(beside(context, path));
    if (!found) return value.fail(found.error().message);
    if (!std::filesystem::is_directory(*found)) return value.must_be("the path of a folder");
    to.claim_folders.insert_or_assign(fmt::format("{}/{}", space, own),
                                      ClaimFolder{std::move(*found), value.where()});
  }
  return {};
}

Status read_outside_names(const YamlNode& node, Scenario& to, const ParseContext&) {
  TRY(const auto members, node.as_map());
  for (const auto& [name, value] : members) {
    TRY_VOID(check_name(value, dns_subdomain_problems(name)));
    if (name == to.domain || name.ends_with("." + to.domain))
      return value.fail(fmt::format("{} is a name of the cluster, {}", name, to.domain));
    const std::vector<YamlNode> nodes = value.as_list().value_or(std::vector{value});
    std::vector<std::string>& addresses = to.outside_names[name];
    for (const YamlNode& one : nodes) {
      TRY(std::string address, one.as_any_scalar());
      if (!dns::parse_ipv4(address) && !dns::parse_ipv6(address))
        return one.must_be("an IP address");
      addresses.push_back(std::move(address));
    }
  }
  return {};
}

Status read_version_of(const YamlNode& node, const System& system,
                       std::vector<InstalledSystem>& to) {
  TRY(const std::string text, node.as_any_scalar());
  const std::string_view version = system.find_version(text);
  if (version.empty())
    return node.fail(
        fmt::format("unknown version \"{}\"{}", text, suggestion(text, system.versions())));
  set_version(to, system, version);
  return {};
}

Status read_flags_of(const YamlNode& node, const System& system, std::vector<InstalledSystem>& to) {
  TRY(const auto members, node.as_map());
  for (const auto& [name, value] : members) {
    std::vector<std::string_view> known;
    for (const SystemFlag& flag : system.flags) known.push_back(flag.name);
    const auto flag = std::find(known.begin(), known.end(), name);
    if (flag == known.end())
      return value.fail(fmt::format("the {} has no flag \"{}\"{}", system.title, name,
                                    known.empty() ? "" : suggestion(name, known)));
    const SystemFlag& row = system.flags[static_cast<std::size_t>(flag - known.begin())];
    TRY(std::string text, value.as_any_scalar());
    if (!row.takes(text)) return value.must_be(row.shape);
    set_flag(to, system, row, std::move(text));
  }
  return {};
}

// A version, or a map with flags beside it.
Status read_system(const YamlNode& node, const System& system, std::vector<InstalledSystem>& to) {
  if (!node.value().is_object()) return read_version_of(node, system, to);
  constexpr std::array<std::string_view, 2> known{"version", "flags"};
  TRY_VOID(check_fields(node, known, {}));
  if (const auto version = node.member("version")) TRY_VOID(read_version_of(*version, system, to));
  if (const auto flags = node.member("flags")) TRY_VOID(read_flags_of(*flags, system, to));
  return {};
}

// To YAML 1.1 a bare off is a boolean.
bool is_off(const YamlNode& node) {
  const auto& value = node.value();
  return (value.is_bool() && !value.as_bool()) || (value.is_string() && value.as_string() == "off");
}

bool is_on(const YamlNode& node) {
  const auto& value = node.value();
  return (value.is_bool() && value.as_bool()) || (value.is_string() && value.as_string() == "on");
}

Result<std::int64_t> flag_of(const YamlNode& node, std::int64_t least) {
  TRY(const std::int64_t value, node.as_integer());
  if (value < least || value > flag_max)
    return node.must_be(fmt::format("{} to {}", least, flag_max));
  return value;
}

Status read_controllers(const YamlNode& list, ControlPlaneFlags& to, const ParseContext&) {
  const std::vector<std::string_view> known = switchable_controllers();
  TRY(const auto elements, list.as_list());
  for (const YamlNode& element : elements) {
    TRY(const std::string text, element.as_text());
    if (text == "*") continue;
    if (!text.starts_with('-'))
      return element.must_be("\"*\" or the name of one that is not to run, with - before it");
    const std::string name = text.substr(1);
    if (std::find(known.begin(), known.end(), name) == known.end())
      return element.fail(fmt::format("there is no controller \"{}\" that could be left out{}",
                                      name, suggestion(name, known)));
    to.without.insert(name);
  }
  return {};
}

using FlagField = Field<ControlPlaneFlags, ParseContext>;
constexpr std::array flag_fields{
    FlagField{"kube-api-qps", "a whole number",
              "calls a second of each controller's client; -1: as many as it likes; default: 20",
              [](const YamlNode& node, ControlPlaneFlags& to, const ParseContext&) -> Status {
                TRY(const std::int64_t value, flag_of(node, -1));
                if (value == 0) return node.must_be("-1, or 1 and more");
                to.kube_api_qps = static_cast<int>(value);
                return {};
              }},
    FlagField{"kube-api-burst", "a whole number", "that many at once; default: 30",
              [](const YamlNode& node, ControlPlaneFlags& to, const ParseContext&) -> Status {
                TRY(const std::int64_t value, flag_of(node, 1));
                to.kube_api_burst = static_cast<int>(value);
                return {};
              }},
    FlagField{"terminated-pod-gc-threshold", "a whole number",
              "with more finished pods than that the oldest are deleted; 0: none are; default: "
              "12500",
              [](const YamlNode& node, ControlPlaneFlags& to, const ParseContext&) -> Status {
                TRY(const std::int64_t value, flag_of(node, 0));
                to.terminated_pod_gc_threshold = static_cast<std::size_t>(value);
                return {};
              }},
    FlagField{"manager-version", "a version",
              "the release of kube-controller-manager, v1.35 or v1.36: from v1.36 on its "
              "controllers of Jobs and StatefulSets look at one again only once they have heard of "
              "what they wrote for it, below they go on from what they know; default: v1.36",
              [](const YamlNode& node, ControlPlaneFlags& to, const ParseContext&) -> Status {
                TRY(const std::string text, node.as_text());
                const ManagerVersion* found = find_manager_version(text);
                if (found == nullptr) return node.must_be("v1.35, v1.36 or a release of one");
                to.manager = found;
                return {};
              }},
    FlagField{"controllers", "a list of names",
              "of kube-controller-manager: \"*\" for all, -NAME for all but that one; default: "
              "[\"*\"]",
              &read_controllers},
};

}  // namespace

Status read_systems(const YamlNode& node, std::vector<InstalledSystem>& to) {
  TRY(const auto members, node.as_map());
  std::vector<std::string_view> known;
  for (const System* system : systems()) known.push_back(system->name);
  for (const auto& [name, value] : members) {
    const System* system = find_system(name);
    if (system == nullptr)
      return value.fail(fmt::format("unknown system \"{}\"{}", name, suggestion(name, known)));
    if (is_off(value)) {
      switch_off(to, *system);
      continue;
    }
    switch_on(to, *system);
    if (!is_on(value)) TRY_VOID(read_system(value, *system, to));
  }
  return {};
}

namespace {

using ClusterField = Field<Scenario, ParseContext>;
constexpr std::array cluster_fields{
    ClusterField{"nodes", "a list of nodes", "default: one node, node-0, of the default size",
                 &read_nodes},
    ClusterField{"systems", "a map",
                 "of job systems and schedulers by name: a version, or on for the default one, or "
                 "off: then its kinds do not exist, or {version: VERSION, flags: {FLAG: VALUE}}; "
                 "those that are not named are there at their default version, but for the gang "
                 "schedulers scheduler-plugins and volcano, which are there on request",
                 // Read before all else, for kinds exist only where their system does.
                 [](const YamlNode&, Scenario&, const ParseContext&) { return Status(); }},
    ClusterField{"trainingOperator", "a version",
                 "v1.7, v1.8, v1.9 or a tag of them; default: v1.9. An older spelling of systems: "
                 "{training-operator: VERSION}",
                 [](const YamlNode& node, Scenario& to, const ParseContext&) {
                   return read_version_of(node, training_operator, to.systems);
                 }},
    ClusterField{"domain", "a domain name", "of the names in its DNS; default: cluster.local",
                 [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                   TRY(to.domain, node.as_text());
                   return check_name(node, dns_subdomain_problems(to.domain));
                 }},
    ClusterField{
        "outsideNames", "a map of addresses",
        "what names outside the cluster are, each to an address or a list of them, for its "
        "DNS; default: there are none, all of them are NXDOMAIN, and a note tells who asked",
        &read_outside_names},
    ClusterField{"flags", "a map", "what the control plane's processes are started with",
                 [](const YamlNode& node, Scenario& to, const ParseContext& context) {
                   return read_fields(node, flag_fields, to.flags, context);
                 }},
    ClusterField{"claims", "a map of paths",
                 "NAME or NAMESPACE/NAME of a PersistentVolumeClaim to the folder beside this file "
                 "that it is in real runs, and that stays; a claim that no document makes is made",
                 &read_claims},
};

}  // namespace

Status parse_cluster(const YamlNode& node, Scenario& to, const ParseContext& context) {
  const auto all = node.member("systems"), one = node.member("trainingOperator");
  if (all && one && all->member(training_operator.name))
    return one->fail(fmt::format("systems names the {} already", training_operator.title));
  return read_fields(node, cluster_fields, to, context);
}

std::vector<ReferenceTable> cluster_tables() {
  return {
      reference_of("cluster", "", cluster_fields),
      reference_of("flags",
                   "The first two are of the controllers of endpoints and of the training "
                   "operator, of any version; the last three are of kube-controller-manager. A "
                   "cluster of thousands of pods needs others than the defaults: once more pods "
                   "have finished "
                   "than the threshold before their jobs were looked at again, they are deleted "
                   "and the operator makes them anew.",
                   flag_fields),
      reference_of("Node",
                   "One node, or several of one size. Of those that suit a pod equally well the "
                   "scheduler takes the first by name (a real one throws a dice).",
                   node_fields),
  };
}

}  // namespace ddptwin::scenario
