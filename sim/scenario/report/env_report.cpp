#include "scenario/report/env_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <tuple>

#include "cluster/kubelet/env.hpp"
#include "cluster/kubelet/hosts.hpp"
#include "core/printable.hpp"
#include "scenario/report/secrets.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/rehearsal.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

std::shared_ptr<const Pod> placed(const std::shared_ptr<const Pod>& pod, const std::string& node) {
  if (!pod->spec->nodeName.empty()) return pod;
  const auto copy = std::static_pointer_cast<Pod>(pod->clone());
  copy->spec.edit().nodeName = node;
  return copy;
}

kubelet::PodContext context_of(const World& world, const std::shared_ptr<const Pod>& pod,
                               int number) {
  kubelet::PodContext context;
  const std::string space = pod->metadata.namespace_.str();
  // No node is ready, so none is chosen: each pod is told of as on the first.
  const std::vector<NodeOptions>& nodes = world.options().nodes;
  context.pod = placed(pod, nodes.front().name);
  const auto chosen = std::find_if(nodes.begin(), nodes.end(), [&](const NodeOptions& one) {
    return one.name == context.pod->spec->nodeName;
  });
  const NodeOptions& node = chosen == nodes.end() ? nodes.front() : *chosen;
  context.node = as<Node>(world.find(Node::info(), "", node.name));
  context.node_ip = node.address;
  context.pod_ips = {pod->spec->hostNetwork ? context.node_ip : fmt::format("10.244.0.{}", number)};
  for (const ObjectPtr& service : world.objects(Service::info(), space))
    context.services.edit().push_back(kubelet::linked(as<Service>(service)));
  context.find_config_map = [&world, space](std::string_view name) {
    return as<ConfigMap>(world.find(ConfigMap::info(), space, name));
  };
  context.find_secret = [&world, space](std::string_view name) {
    return as<Secret>(world.find(Secret::info(), space, name));
  };
  return context;
}

bool is_secret(const kubelet::EnvVariable& variable) {
  return variable.origin.rule == kubelet::EnvRule::secret_key ||
         variable.origin.rule == kubelet::EnvRule::env_from_secret;
}

bool takes_others(const Container& container, std::string_view name) {
  return std::any_of(container.env.begin(), container.env.end(), [&](const EnvVar& written) {
    return written.name == name && std::string_view(written.value).find("$(") != std::string::npos;
  });
}

// Values of Secrets become numbers; $(NAME) of others is written by the manifest's author, who may
// have named a secret one.
void mask_secrets(const Container& container, std::vector<kubelet::EnvVariable>& variables,
                  SecretMask& mask) {
  std::vector<std::string> secrets;
  for (kubelet::EnvVariable& variable : variables) {
    if (!is_secret(variable)) continue;
    secrets.push_back(variable.value);
    variable.value = mask.value(variable.value);
  }
  // A long one may hold a short one.
  std::sort(secrets.begin(), secrets.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (kubelet::EnvVariable& variable : variables)
    if (variable.origin.rule == kubelet::EnvRule::value && takes_others(container, variable.name))
      variable.value = mask.within(std::move(variable.value), secrets);
}

std::string text_of(const PutVariable& put) {
  return put.replaced ? fmt::format("{} (instead of {} in the template)", put.rule,
                                    put.replaced->empty() ? "nothing" : *put.replaced)
                      : put.rule;
}

ExplainedContainer explain(const kubelet::PodContext& context, const Container& container,
                           bool init, const PutVariables& put,
                           const std::vector<NamedImage>& images, SecretMask& mask) {
  ExplainedContainer explained;
  explained.pod = short_name(*context.pod);
  explained.container = container.name;
  explained.init = init;
  auto variables = kubelet::environment(context, container);
  if (!variables) {
    explained.error = variables.error().message;
    return explained;
  }
  mask_secrets(container, *variables, mask);
  // The pod's own variables replace the image's and the runtime's HOSTNAME.
  std::map<std::string, ExplainedVariable> by_name;
  if (const NamedImage* named = description_of(images, container.image); named && !named->missing) {
    for (const auto& [name, value] : image_environment(named->image))
      by_name[name] = {name, value, "image " + container.image};
  }
  if (const auto hostname = kubelet::kernel_hostname(context))
    by_name["HOSTNAME"] = {"HOSTNAME", *hostname,
                           context.pod->spec->hostNetwork ? "runtime: the node's name (hostNetwork)"
                                                          : "runtime: the pod's hostname"};
  for (const kubelet::EnvVariable& variable : *variables) {
    const auto found = put.find(variable.name);
    const bool by_other = found != put.end() && (variable.origin.rule == kubelet::EnvRule::value ||
                                                 variable.origin.rule == kubelet::EnvRule::field);
    std::string rule =
        by_other ? text_of(found->second)
                 : fmt::format("{}{}{}", kubelet::to_string(variable.origin.rule),
                               variable.origin.from.empty() ? "" : ": ", variable.origin.from);
    by_name[variable.name] = {variable.name, variable.value, std::move(rule)};
  }
  by_name.try_emplace("HOME", ExplainedVariable{"HOME", "/root", "runtime: nobody sets another"});
  StringMap values;
  for (const auto& [name, variable] : by_name) values[Text(name)] = variable.value;
  for (const System* system : systems())
    if (system->explain != nullptr && !init)
      for (std::string& note : system->explain(container, values))
        explained.notes.push_back(std::move(note));
  for (auto& [name, variable] : by_name) explained.variables.push_back(std::move(variable));
  return explained;
}

// By pod, kind and place of the container: what a later pod of that name gets replaces it.
using ByPlace = std::map<std::tuple<std::string, bool, std::size_t>, ExplainedContainer>;

void explain_pods(const Rehearsal& rehearsal, const std::vector<NamedImage>& images,
                  SecretMask& mask, ByPlace& to) {
  const World& world = rehearsal.world();
  int number = 1;
  for (const RehearsedPod& made : rehearsal.pods()) {
    const Pod& pod = *made.pod;
    const ObjectPtr now = world.find(Pod::info(), pod.metadata.namespace_, pod.metadata.name);
    if (now == nullptr || now->metadata.uid != pod.metadata.uid) continue;
    const kubelet::PodContext context = context_of(world, made.pod, ++number);
    for (const bool init : {true, false}) {
      const auto& containers = init ? pod.spec->initContainers : pod.spec->containers;
      for (std::size_t i = 0; i < containers.size(); ++i)
        to[{key_of(pod.metadata), !init, i}] = explain(
            context, containers[i], init, rehearsal.put_into(made, containers[i]), images, mask);
    }
  }
}

}  // namespace

std::vector<ExplainedContainer> explain_environment(const Scenario& scenario,
                                                    const std::string& python, bool show_secrets) {
  const auto images = images_of(scenario, python);
  SecretMask mask(show_secrets);
  ByPlace explained;
  Rehearsal rehearsal(scenario);
  rehearsal.play([&] { explain_pods(rehearsal, images, mask, explained); });
  std::vector<ExplainedContainer> list;
  for (auto& [place, container] : explained) list.push_back(std::move(container));
  return list;
}

std::string environment_text(const std::vector<ExplainedContainer>& containers) {
  std::string out;
  for (const ExplainedContainer& container : containers) {
    out += fmt::format("{}{} {}container {}\n", out.empty() ? "" : "\n", container.pod,
                       container.init ? "init " : "", container.container);
    if (!container.error.empty()) out += fmt::format("  cannot be made: {}\n", container.error);
    std::size_t width = 0;
    for (const ExplainedVariable& variable : container.variables)
      width = std::max(width, variable.name.size() + printable(variable.value).size() + 1);
    width = std::min<std::size_t>(width, 60);
    for (const ExplainedVariable& variable : container.variables)
      out += fmt::format("  {:<{}}  # {}\n", variable.name + "=" + printable(variable.value), width,
                         variable.rule);
    for (const std::string& note : container.notes) out += fmt::format("  {}\n", note);
  }
  return out;
}

boost::json::value environment_json(const std::vector<ExplainedContainer>& containers) {
  boost::json::array list;
  for (const ExplainedContainer& container : containers) {
    boost::json::array variables;
    for (const ExplainedVariable& variable : container.variables)
      variables.push_back(boost::json::object{
          {"name", variable.name}, {"value", variable.value}, {"rule", variable.rule}});
    boost::json::array notes(container.notes.begin(), container.notes.end());
    list.push_back(boost::json::object{{"pod", container.pod},
                                       {"container", container.container},
                                       {"init", container.init},
                                       {"variables", std::move(variables)},
                                       {"notes", std::move(notes)},
                                       {"error", container.error}});
  }
  return list;
}

}  // namespace ddptwin::scenario
