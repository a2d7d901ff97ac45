#include "scenario/run/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "core/virtual_loop.hpp"
#include "runtime/model/commands.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/language/cures.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/namespaces.hpp"
#include "scenario/run/never_printed.hpp"
#include "scenario/run/outlook.hpp"
#include "scenario/run/set_aside.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario {

api::Request create_request(const Manifest& manifest) {
  api::Request request;
  request.verb = api::Verb::create;
  request.target = {&manifest.object->kind(), manifest.object->metadata.namespace_, "", ""};
  request.body = RawJson(*manifest.value);
  request.write.edit().field_validation = "Strict";
  return request;
}

namespace {

// The way out of a namespace that is not there when the object comes.
std::string cure_of(const Scenario& scenario, std::string_view name) {
  if (const std::string where = where_made(scenario, name); !where.empty())
    return fmt::format("the document that makes it, {}, comes later: put it before this one",
                       where);
  return fmt::format(
      "put a document before this one that makes it: {{apiVersion: v1, kind: "
      "Namespace, metadata: {{name: {}}}}}",
      name);
}

Status try_objects(World& world, const Scenario& scenario, const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests) {
    const auto created = world.call(create_request(manifest), "kubectl");
    // Changing what another step made is no error: apply does both.
    if (created || created.error().reason == Reason::already_exists) continue;
    Error error = created.error();
    // All that a creation can miss is its namespace; the API names no field, and no way out.
    if (error.reason == Reason::not_found && error.where.empty()) {
      error.where = "metadata.namespace";
      error.message += ": " + cure_of(scenario, manifest.object->metadata.namespace_);
    }
    return api_error_at(*manifest.document, manifest.base, *manifest.value, error);
  }
  return {};
}

// Everything that the scenario looks at or acts on.
std::vector<const Selection*> selections_of(const Scenario& scenario) {
  std::vector<const Selection*> found;
  for (const Step& step : scenario.steps) {
    if (step.trigger.when) found.push_back(&step.trigger.when->of);
    std::visit(
        [&found](const auto& action) {
          using Action = std::decay_t<decltype(action)>;
          if constexpr (std::is_same_v<Action, Wait>) {
            if (action.state) found.push_back(&action.state->of);
          } else if constexpr (std::is_same_v<Action, Measure>) {
            if (action.of) found.push_back(&*action.of);
          } else if constexpr (!std::is_same_v<Action, Apply>) {
            found.push_back(&action.of);
          }
        },
        step.action);
  }
  for (const Expectation& expectation : scenario.expectations)
    found.push_back(&expectation.state.of);
  for (const Fault& fault : scenario.faults.faults)
    if (fault.when) found.push_back(&fault.when->state->of);
  return found;
}

// A namespace that nobody ever makes is a slip: nothing can be in it. All that are applied are
// there by now.
Status check_namespaces(const World& world, const Scenario& scenario) {
  std::vector<std::string_view> known;
  const auto namespaces = world.objects(Namespace::info(), "");
  for (const ObjectPtr& one : namespaces) known.push_back(one->metadata.name);
  const auto check = [&known](std::string_view name, const std::string& where) -> Status {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return {};
    return fail(Reason::bad_input,
                fmt::format("there is no namespace \"{}\"{}", name, suggestion(name, known)),
                where);
  };
  for (const Selection* of : selections_of(scenario)) TRY_VOID(check(of->namespace_, of->where));
  for (const Fault& fault : scenario.faults.faults) {
    const std::string_view port = row_of(fault.kind).port;
    if (port != "process" && port != "link") continue;
    for (const std::string_view pod : {std::string_view(fault.of), std::string_view(fault.to)})
      if (const std::size_t slash = pod.find('/'); slash != pod.npos)
        TRY_VOID(check(pod.substr(0, slash), pod == fault.of ? fault.of_where : fault.where));
  }
  return {};
}

Status check_images(const Scenario& scenario) {
  for (const ImageUse& use : image_uses(scenario)) {
    // A cluster would take it and wait for ever (InvalidImageName).
    if (const std::string cure = cure_of_template(use.image); !cure.empty())
      return fail(Reason::bad_input, fmt::format("\"{}\" is no image's name: {}", use.image, cure),
                  use.where);
    if (known_image(scenario, use.image) != nullptr) continue;
    return fail(Reason::bad_input,
                fmt::format("the image \"{}\" has no description: say under spec.images of the "
                            "Scenario what it is on this machine",
                            use.image),
                use.where);
  }
  return {};
}

}  // namespace

Status preflight(const Scenario& scenario) {
  VirtualLoop loop(Random(1), virtual_start);
  WorldOptions options;
  options.systems = scenario.systems;
  options.kinds = kinds_of(scenario);
  World world(loop, std::move(options), nullptr);
  TRY_VOID(check_set_aside(scenario));
  TRY_VOID(world.create_provided());
  TRY_VOID(add_namespaces(world, scenario));
  for (NodeOptions node : scenario.nodes) {
    node.kubelet = false;  // nothing is started here
    if (const auto made = world.add_node(node); !made)
      return fail(Reason::bad_input, made.error().message,
                  fmt::format("{}: node {}", scenario.file, node.name));
  }
  TRY_VOID(try_objects(world, scenario, scenario.manifests));
  for (const Step& step : scenario.steps) {
    if (const Apply* apply = std::get_if<Apply>(&step.action); apply != nullptr && !step.refused)
      TRY_VOID(try_objects(world, scenario, apply->manifests));
  }
  TRY_VOID(check_namespaces(world, scenario));
  TRY_VOID(add_claims(world, scenario));
  return check_images(scenario);
}

Status check_modelled(const Scenario& scenario) {
  const auto images = images_of(scenario, "");
  const std::string way_out(scenario.plain ? write_a_scenario : std::string_view());
  for (const ImageUse& use : image_uses(scenario)) {
    const NamedImage* named = description_of(images, use.image);
    if (named == nullptr || named->missing) continue;  // preflight() has said so; it never runs
    const auto modelled = outlook_of(*named, use);
    if (!modelled) {
      const auto variable = use.variables.find(modelled.error().where);
      return fail(Reason::bad_input, modelled.error().message + way_out,
                  variable == use.variables.end() ? use.where : variable->second.where);
    }
    if (named->stand_in) continue;  // what nobody can run beside it succeeds
    for (const ExecUse& exec : use.execs) {
      const Status runs = model::can_model_exec(exec.command, named->image);
      if (!runs) return fail(Reason::bad_input, runs.error().text() + way_out, exec.where);
    }
  }
  return refuse_never_printed(scenario);
}

}  // namespace ddptwin::scenario
