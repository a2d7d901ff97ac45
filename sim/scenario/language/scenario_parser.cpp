#include "scenario/language/scenario_parser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json/value.hpp>
#include <set>

#include "objects/image_reference.hpp"
#include "objects/validation.hpp"
#include "runtime/model/profile.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/language/default_expectations.hpp"
#include "scenario/language/documents.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/on_success.hpp"
#include "scenario/systems/brought.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view api_version = "ddptwin.dev/v1alpha1";

// ---- invariants --------------------------------------------------------------------------------

struct NamedInvariant {
  std::string name{};
  std::string reason{};
};

Status read_invariant(const YamlNode& node, std::string& to) {
  TRY(to, node.as_text());
  if (find_invariant(to) != nullptr) return {};
  std::vector<std::string_view> known;
  for (const InvariantRow& row : invariant_rows()) known.push_back(row.name);
  return node.fail(fmt::format("unknown invariant \"{}\"{}", to, suggestion(to, known)));
}

using NamedField = Field<NamedInvariant, ParseContext>;
constexpr std::array named_fields{
    NamedField{"name", "an invariant", "`ddptwin list` names them",
               [](const YamlNode& node, NamedInvariant& to, const ParseContext&) {
                 return read_invariant(node, to.name);
               },
               true},
    NamedField{"reason", "text", "why; it stands in the report",
               [](const YamlNode& node, NamedInvariant& to, const ParseContext&) -> Status {
                 TRY(to.reason, node.as_text());
                 return {};
               },
               true},
};

Status read_named(const YamlNode& list, InvariantPolicy::Reasons& to, const ParseContext& context) {
  TRY(const auto nodes, list.as_list());
  for (const YamlNode& element : nodes) {
    NamedInvariant one;
    TRY_VOID(read_fields(element, named_fields, one, context));
    to[one.name] = one.reason;
  }
  return {};
}

// What a system promises is watched where it is.
Status check_is_watched(const YamlNode& node, std::string_view name,
                        const InvariantPolicy& policy) {
  const InvariantRow& row = *find_invariant(name);
  if (!policy.without.contains(row.system)) return {};
  return node.fail(fmt::format("{} is of the {}, which spec.cluster.systems switches off", name,
                               title_of(row.system)));
}

Status check_no_contradiction(const YamlNode& node, const InvariantPolicy& policy) {
  for (const auto& [name, reason] : policy.off)
    if (policy.violated.contains(name))
      return node.fail(fmt::format("{} stands under except and under violated", name));
  return {};
}

using InvariantField = Field<Scenario, ParseContext>;
constexpr std::array invariant_fields{
    InvariantField{"except", "a list", "invariants that are not watched",
                   [](const YamlNode& node, Scenario& to, const ParseContext& context) {
                     return read_named(node, to.invariants.off, context);
                   }},
    InvariantField{"violated", "a list",
                   "invariants that must be violated: it is the pass, and that they hold is a "
                   "failure",
                   [](const YamlNode& node, Scenario& to, const ParseContext& context) -> Status {
                     TRY_VOID(read_named(node, to.invariants.violated, context));
                     for (const auto& [name, reason] : to.invariants.violated)
                       TRY_VOID(check_is_watched(node, name, to.invariants));
                     return {};
                   }},
    InvariantField{"progressWithin", "a duration",
                   "within this a job must come further, or `progress` is violated; default: 45m "
                   "where somebody is missing or stopped, 4h where all of it runs",
                   [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                     TRY(const Duration bound, node.as_duration());
                     if (bound == Duration::zero()) return node.must_be("longer than nothing");
                     to.invariants.progress_within = bound;
                     return {};
                   }},
    InvariantField{"also", "a list of invariants",
                   "strict ones that are watched too; upstream breaks them in everyday runs",
                   [](const YamlNode& list, Scenario& to, const ParseContext&) -> Status {
                     TRY(const auto nodes, list.as_list());
                     for (const YamlNode& node : nodes) {
                       std::string name;
                       TRY_VOID(read_invariant(node, name));
                       if (!find_invariant(name)->strict)
                         return node.fail(fmt::format(
                             "{} is not strict: it is watched in every run already", name));
                       TRY_VOID(check_is_watched(node, name, to.invariants));
                       to.invariants.also.insert(std::move(name));
                     }
                     return {};
                   }},
};

// ---- spec --------------------------------------------------------------------------------------

Status read_modes(const YamlNode& list, Scenario& to, const ParseContext&) {
  TRY(const auto nodes, list.as_list());
  for (const YamlNode& node : nodes) {
    TRY(const std::string text, node.as_text());
    if (text != "real" && text != "virtual") return node.must_be("real or virtual");
    const Mode mode = text == "real" ? Mode::real : Mode::virtual_;
    if (std::find(to.modes.begin(), to.modes.end(), mode) != to.modes.end())
      return node.fail(text + " is given twice");
    to.modes.push_back(mode);
  }
  return to.modes.empty() ? list.must_be("real, virtual or both") : Status();
}

Status read_torch(const YamlNode& node, Scenario& to, const ParseContext&) {
  TRY(to.torch, node.as_any_scalar());
  const auto& known = torch_profile_names();
  if (std::find(known.begin(), known.end(), to.torch) != known.end()) return {};
  return node.fail(fmt::format("unknown version \"{}\"{}", to.torch, suggestion(to.torch, known)));
}

Status read_machine(const YamlNode& node, Scenario& to, const ParseContext&) {
  TRY(to.machine, node.as_text());
  const auto& known = machine_names();
  if (std::find(known.begin(), known.end(), to.machine) != known.end()) return {};
  return node.fail(
      fmt::format("unknown machine \"{}\"{}", to.machine, suggestion(to.machine, known)));
}

Status read_manifest_files(const YamlNode& list, Scenario& to, const ParseContext& context) {
  TRY(const auto nodes, list.as_list());
  for (const YamlNode& node : nodes) {
    TRY(const std::string path, node.as_text());
    auto manifests = read_manifests(beside(context, path), context);
    if (!manifests) {
      if (manifests.error().where.empty()) return node.fail(manifests.error().message);
      return fail(std::move(manifests).error());
    }
    for (Manifest& manifest : *manifests) to.manifests.push_back(std::move(manifest));
  }
  return {};
}

template <class T, Result<T> (*parse)(const YamlNode&, const ParseContext&)>
Status read_list(const YamlNode& list, std::vector<T>& to, const ParseContext& context) {
  TRY(const auto nodes, list.as_list());
  for (const YamlNode& node : nodes) {
    TRY(T element, parse(node, context));
    to.push_back(std::move(element));
  }
  return {};
}

Status check_unique_step_name(const YamlNode& list, const std::vector<Step>& steps) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].name.empty() && !names.insert(steps[i].name).second)
      return list.fail_at_index(i, "name",
                                fmt::format("there are two steps named {}", steps[i].name));
  }
  return {};
}

// The first description would be taken, and the second one never seen.
Status check_unique_image(const YamlNode& list, const std::vector<NamedImage>& images) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto same = std::find_if(images.begin(), images.end(), [&](const NamedImage& other) {
      return described_image(other.name) == described_image(images[i].name);
    });
    if (same == images.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    return list.fail_at_index(
        i, "name",
        same->name == images[i].name
            ? fmt::format("there are two images named {}", same->name)
            : fmt::format("{} and {} are the same image", same->name, images[i].name));
  }
  return {};
}

using SpecField = Field<Scenario, ParseContext>;
constexpr std::array spec_fields{
    SpecField{"cluster", "a map", "the cluster; default: one node and training-operator v1.9",
              [](const YamlNode& node, Scenario& to, const ParseContext& context) {
                return parse_cluster(node, to, context);
              }},
    SpecField{"namespace", "text", "of objects that name none; default: default",
              [](const YamlNode&, Scenario& to, const ParseContext& context) -> Status {
                to.namespace_ = context.namespace_;
                return {};
              }},
    SpecField{"namespaces", "strict or made",
              "strict: an object in a namespace that no document makes is refused, as an API does; "
              "default, made: such a namespace is there from the start, with a note",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                TRY(const std::string text, node.as_text());
                if (text != "strict" && text != "made") return node.must_be("strict or made");
                to.strict_namespaces = text == "strict";
                return {};
              }},
    SpecField{"images", "a list of images", "what the images of the manifests are on this machine",
              [](const YamlNode& node, Scenario& to, const ParseContext& context) -> Status {
                TRY_VOID((read_list<NamedImage, &parse_image>(node, to.images, context)));
                return check_unique_image(node, to.images);
              }},
    SpecField{"standIns", "true or false",
              "as of plain manifests: images without a description are the host's own tools, and a "
              "training stands in for what of a container's command cannot be had here; default: "
              "false, and such an image is refused",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                TRY(to.stand_ins.wanted, node.as_bool());
                return {};
              }},
    SpecField{"manifests", "a list of paths",
              "files of Kubernetes YAML, applied at the start; objects that stand beside the "
              "Scenario in its own file are too",
              &read_manifest_files},
    SpecField{"steps", "a list of steps", "what is done, one after another",
              [](const YamlNode& node, Scenario& to, const ParseContext& context) -> Status {
                TRY_VOID(read_list<Step, &parse_step>(node, to.steps, context));
                return check_unique_step_name(node, to.steps);
              }},
    SpecField{
        "expect", "a list of expectations",
        "what must come of it; default, unless `progress` is to be violated, and where all are "
        "always or never without `within`: every job succeeds, and every pod that nobody owns; "
        "one whose restartPolicy is Always becomes Running and Ready and stays so",
        [](const YamlNode& node, Scenario& to, const ParseContext& context) {
          return read_list<Expectation, &parse_expectation>(node, to.expectations, context);
        }},
    SpecField{"faults", "a list of faults",
              "what goes wrong beside the steps, at the ports of the cluster's own components",
              [](const YamlNode& node, Scenario& to, const ParseContext& context) {
                return read_faults(node, to.faults.faults, context);
              }},
    SpecField{"heal", "a duration",
              "since the scenario began: all faults end, no other begins, and jobs must come to "
              "their due end; default: with the last fault",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                TRY(to.faults.heal, node.as_duration());
                return {};
              }},
    SpecField{"seed", "a number", "what chance begins with; default: 1, and --seed overrules it",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                if (const auto* large = node.value().if_uint64()) {
                  to.seed = *large;
                  return {};
                }
                TRY(const std::int64_t seed, node.as_count());
                to.seed = static_cast<std::uint64_t>(seed);
                return {};
              }},
    SpecField{"invariants", "a map", "which of the invariants are watched, and which must break",
              [](const YamlNode& node, Scenario& to, const ParseContext& context) -> Status {
                TRY_VOID(read_fields(node, invariant_fields, to, context));
                return check_no_contradiction(node, to.invariants);
              }},
    SpecField{"modes", "a list of real, virtual",
              "how it can run, and first how it does where --mode says nothing; default: real and "
              "virtual, "
              "with faults virtual and real",
              &read_modes},
    SpecField{"torch", "a version",
              "the PyTorch of workers in virtual time, 1.13 or 2.x; default: 2.x", &read_torch},
    SpecField{"machine", "host or cluster",
              "what virtual time takes for starts, sockets and all-reduces: host, the machine that "
              "real runs were measured on, or cluster, an assumed one of many machines (pods start "
              "in half a second and pull images); default: host",
              &read_machine},
    SpecField{"onSuccess", "restart, hold or scaleToZero",
              "what becomes of a StatefulSet or a DDPSet whose containers have all ended well: "
              "restart, they train again, as Kubernetes has it; hold, each stays (its command runs "
              "below a shell that waits); scaleToZero, somebody scales the set once it is "
              "Complete; default: restart",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                TRY(const std::string word, node.as_text());
                const auto meaning = on_success_of(word);
                if (!meaning) return node.must_be("restart, hold or scaleToZero");
                to.on_success = *meaning;
                return {};
              }},
    SpecField{"timeout", "a duration", "the end, whatever is still open; default: 2m",
              [](const YamlNode& node, Scenario& to, const ParseContext&) -> Status {
                TRY(to.timeout, node.as_duration());
                if (to.timeout == Duration::zero()) return node.must_be("longer than nothing");
                return {};
              }},
};

struct Metadata {
  std::string name{};
};
using MetadataField = Field<Metadata, ParseContext>;
constexpr std::array metadata_fields{
    MetadataField{"name", "text", "what reports call it; default: the file's name",
                  [](const YamlNode& node, Metadata& to, const ParseContext&) -> Status {
                    TRY(to.name, node.as_text());
                    return {};
                  }},
};

using DocumentField = Field<Scenario, ParseContext>;
constexpr std::array document_fields{
    DocumentField{"apiVersion", "ddptwin.dev/v1alpha1", "",
                  [](const YamlNode& node, Scenario&, const ParseContext&) -> Status {
                    TRY(const std::string text, node.as_text());
                    return text == api_version ? Status() : node.must_be(std::string(api_version));
                  },
                  true},
    DocumentField{"kind", "Scenario", "",
                  [](const YamlNode&, Scenario&, const ParseContext&) -> Status { return {}; },
                  true},
    DocumentField{"metadata", "a map", "its name",
                  [](const YamlNode& node, Scenario& to, const ParseContext& context) -> Status {
                    Metadata metadata;
                    TRY_VOID(read_fields(node, metadata_fields, metadata, context));
                    if (!metadata.name.empty()) to.name = metadata.name;
                    return {};
                  }},
    DocumentField{"spec", "a map", "everything else",
                  [](const YamlNode& node, Scenario& to, const ParseContext& context) {
                    return read_fields(node, spec_fields, to, context);
                  },
                  true},
};

// ---- files -------------------------------------------------------------------------------------

// Ours by kind or by group: a misspelt half is then an error with its line, not an unknown kind.
bool is_scenario(const YamlDocument& document) {
  const YamlNode node(document, document.value, "");
  const auto has = [&node](std::string_view field, std::string_view beginning) {
    const auto member = node.member(field);
    return member && member->value().is_string() &&
           std::string_view(member->value().as_string()).starts_with(beginning);
  };
  return has("kind", "Scenario") || has("apiVersion", "ddptwin.dev/");
}

Status check_is_scenario(const YamlNode& node) {
  const auto kind = node.member("kind");
  if (!kind) return node.fail("the field kind is missing");
  if (!kind->value().is_string() || kind->value().as_string() != "Scenario")
    return kind->must_be("Scenario");
  return {};
}

// The comment that a file begins with, as one text.
std::string first_comment(std::string_view text) {
  std::string comment;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (!comment.empty()) comment += ' ';
    comment += line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return comment;
}

std::string name_of_file(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

NodeOptions default_node() {
  NodeOptions node;
  node.name = "node-0";
  return node;
}

void add_defaults(Scenario& scenario) {
  if (scenario.nodes.empty()) scenario.nodes.push_back(default_node());
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i)
    scenario.nodes[i].address = fmt::format("192.168.{}.{}", i / 250, i % 250 + 1);
  if (says_an_end(scenario)) return;
  auto defaults = default_expectations(scenario);
  std::move(defaults.begin(), defaults.end(), std::back_inserter(scenario.expectations));
}

void note_awaited(const State& state, InvariantPolicy& to) {
  if (state.count.at_most == 0) return;  // that there is none
  for (const Claim& claim : state.claims)
    if (const auto* event = std::get_if<EventClaim>(&claim))
      to.awaited_events.insert(event->reason);
}

// Whoever waits for the Event of a refusal knows of it.
void note_awaited_events(Scenario& scenario) {
  for (const Step& step : scenario.steps) {
    if (step.trigger.when) note_awaited(*step.trigger.when, scenario.invariants);
    if (const auto* wait = std::get_if<Wait>(&step.action); wait != nullptr && wait->state)
      note_awaited(*wait->state, scenario.invariants);
  }
  for (const Expectation& one : scenario.expectations)
    if (one.quantifier == Quantifier::eventually || one.quantifier == Quantifier::finally)
      note_awaited(one.state, scenario.invariants);
}

// What a system that was asked for is released with, unless another version of that was, too.
void take_brought(const YamlNode& asked, std::vector<InstalledSystem>& installed) {
  for (const BroughtSystem& one : brought_systems())
    if (asked.member(one.by->name) && !asked.member(one.system->name) &&
        is_among(installed, *one.by))
      set_version(installed, *one.system, one.version(version_of(installed, *one.by)));
}

// First, because kinds exist only where their system does.
Result<std::vector<InstalledSystem>> installed_in(const Documents& documents) {
  std::vector<InstalledSystem> installed = default_systems();
  for (const auto& document : documents) {
    if (!is_scenario(*document)) continue;
    const YamlNode node(*document, document->value, "");
    const auto spec = node.member("spec");
    const auto cluster = spec ? spec->member("cluster") : std::nullopt;
    const auto told = cluster ? cluster->member("systems") : std::nullopt;
    if (!told) continue;
    TRY_VOID(read_systems(*told, installed));
    take_brought(*told, installed);
  }
  return installed;
}

Status check_since(const YamlNode& node, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
    const std::string& since = scenario.expectations[i].since;
    std::vector<std::string_view> known;
    for (const Step& step : scenario.steps) {
      if (!step.name.empty()) known.push_back(step.name);
    }
    if (since.empty() || std::find(known.begin(), known.end(), since) != known.end()) continue;
    return node.fail_at(fmt::format("spec.expect[{}].since", i),
                        fmt::format("no step is named \"{}\"{}", since, suggestion(since, known)));
  }
  return {};
}

// Once the faults are healed none begins.
Status check_healing(const FaultPlan& plan) {
  for (const Fault& fault : plan.faults) {
    if (!fault.at || !plan.heal || *fault.at < *plan.heal) continue;
    return fail(Reason::bad_input,
                fmt::format("the fault would never act: all faults are healed after {} (spec.heal)",
                            format_go_duration(*plan.heal)),
                fault.at_where);
  }
  return {};
}

// What is written for the twin alone has nobody who would take the last one.
Status check_no_key_twice(const YamlDocument& document) {
  if (document.repeated.empty()) return {};
  const RepeatedKey& key = document.repeated.front();
  return fail(Reason::bad_input, text_of(key),
              fmt::format("{}:{}:{}", document.file, key.at.line, key.at.column));
}

Status read_scenario(const YamlDocument& document, Scenario& scenario, ParseContext& context) {
  const YamlNode node(document, document.value, "");
  TRY_VOID(check_is_scenario(node));
  TRY_VOID(check_no_key_twice(document));
  // First, because objects and selections depend on it.
  if (const auto spec = node.member("spec")) {
    if (const auto member = spec->member("namespace")) {
      TRY(context.namespace_, member->as_text());
      TRY_VOID(check_name(*member, dns_label_problems(context.namespace_)));
    }
  }
  TRY_VOID(read_fields(node, document_fields, scenario, context));
  TRY_VOID(check_healing(scenario.faults));
  return check_since(node, scenario);
}

}  // namespace

const std::vector<std::string_view>& machine_names() {
  static const std::vector<std::string_view> names{model::host_timing.name,
                                                   model::cluster_timing.name};
  return names;
}

const std::vector<std::string_view>& torch_profile_names() {
  static const std::vector<std::string_view> names{model::torch_1.name, model::torch_1_debian.name,
                                                   model::torch_2.name};
  return names;
}

const std::vector<std::string_view>& measured_torch_names() {
  static const std::vector<std::string_view> names{model::torch_1.name, model::torch_2.name};
  return names;
}

std::string_view to_string(Mode mode) { return mode == Mode::real ? "real" : "virtual"; }

Result<Scenario> parse_scenario(const std::string& file, const KindRegistry& kinds,
                                const ReadFile& read_file) {
  TRY(const std::string text, read_file(file));
  TRY(const Documents documents, parse_documents(text, file));
  Scenario scenario;
  Side side;
  TRY(scenario.systems, installed_in(documents));
  for (const System* system : systems())
    if (!is_among(scenario.systems, *system)) scenario.invariants.without.insert(system->name);
  const KindRegistry here = kinds_with(scenario.systems, kinds);
  scenario.file = file;
  scenario.name = name_of_file(file);
  scenario.incident = first_comment(text);
  scenario.plain = true;
  ParseContext context{here,      read_file, file.substr(0, file.rfind('/') + 1),
                       "default", nullptr,   &side};
  Documents objects;
  for (const auto& document : documents) {
    if (!is_scenario(*document)) {
      objects.push_back(document);
      continue;
    }
    if (!scenario.plain)
      return fail(Reason::bad_input, "a file has one Scenario; this is its second",
                  document->where(""));
    scenario.plain = false;
    context.document = document;
    TRY_VOID(read_scenario(*context.document, scenario, context));
  }
  TRY(auto beside_it, take_objects(objects, context));
  std::move(beside_it.begin(), beside_it.end(), std::back_inserter(scenario.manifests));
  scenario.notes = std::move(side.notes);
  scenario.set_aside = std::move(side.set_aside);
  if (scenario.manifests.empty() && scenario.steps.empty() && scenario.set_aside.empty())
    return fail(Reason::bad_input, "there is nothing to run: no object and no step", file);
  if (scenario.on_success == OnSuccess::hold) TRY_VOID(hold_containers(scenario));
  note_awaited_events(scenario);
  add_defaults(scenario);
  TRY_VOID(check_faults(scenario));
  if (scenario.modes.empty()) scenario.modes = {Mode::real, Mode::virtual_};
  return scenario;
}

Scenario merge_plain(std::vector<Scenario> scenarios) {
  Scenario merged = std::move(scenarios.front());
  for (std::size_t i = 1; i < scenarios.size(); ++i) {
    Scenario& next = scenarios[i];
    merged.name += "+" + next.name;
    std::move(next.manifests.begin(), next.manifests.end(), std::back_inserter(merged.manifests));
    std::move(next.expectations.begin(), next.expectations.end(),
              std::back_inserter(merged.expectations));
    std::move(next.notes.begin(), next.notes.end(), std::back_inserter(merged.notes));
    std::move(next.set_aside.begin(), next.set_aside.end(), std::back_inserter(merged.set_aside));
  }
  return merged;
}

Status check_name(const YamlNode& node, const std::vector<std::string>& problems) {
  return problems.empty() ? Status() : node.fail(fmt::format("{}", fmt::join(problems, "; ")));
}

std::vector<ReferenceTable> reference_tables() {
  std::vector<ReferenceTable> tables{
      reference_of("Scenario", "The document.", document_fields),
      reference_of("metadata", "", metadata_fields),
      reference_of("spec", "", spec_fields),
  };
  const auto add = [&tables](std::vector<ReferenceTable> more) {
    tables.insert(tables.end(), more.begin(), more.end());
  };
  add(cluster_tables());
  add(image_tables());
  add(step_tables());
  add(fault_tables());
  add(state_tables());
  add({reference_of("invariants", "", invariant_fields),
       reference_of("except, violated",
                    "An invariant that is not watched, or that must be violated.", named_fields)});
  return tables;
}

}  // namespace ddptwin::scenario
