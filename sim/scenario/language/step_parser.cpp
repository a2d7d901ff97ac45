#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json/value.hpp>

#include "core/regular_expression.hpp"
#include "objects/core_v1.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

template <class Value, std::size_t size>
Result<Value> one_of(const YamlNode& node, const std::array<Word<Value>, size>& words) {
  std::vector<std::string_view> known;
  const auto* text = node.value().if_string();
  for (const Word<Value>& word : words) {
    if (text != nullptr && *text == word.text) return word.value;
    known.push_back(word.text);
  }
  return node.must_be("one of " + fmt::format("{}", fmt::join(known, ", ")));
}

constexpr std::array<Word<api::PatchType>, 4> patch_types{{{"merge", api::PatchType::merge},
                                                           {"json", api::PatchType::json},
                                                           {"strategic", api::PatchType::strategic},
                                                           {"apply", api::PatchType::apply}}};
constexpr std::array<Word<api::Propagation>, 3> propagations{
    {{"Background", api::Propagation::background},
     {"Foreground", api::Propagation::foreground},
     {"Orphan", api::Propagation::orphan}}};
constexpr std::array<Word<std::string_view>, 2> subresources{
    {{"status", "status"}, {"scale", "scale"}}};

// ---- apply -------------------------------------------------------------------------------------

using ApplyField = Field<Apply, ParseContext>;
Status apply_file(const YamlNode& node, Apply& to, const ParseContext& context) {
  TRY(const std::string path, node.as_text());
  auto manifests = read_manifests(beside(context, path), context);
  if (!manifests) {
    if (manifests.error().where.empty()) return node.fail(manifests.error().message);
    return fail(std::move(manifests).error());
  }
  for (Manifest& manifest : *manifests) to.manifests.push_back(std::move(manifest));
  return {};
}
constexpr std::array apply_fields{
    ApplyField{"file", "a path", "a file of Kubernetes YAML beside this one", &apply_file},
    ApplyField{"object", "a Kubernetes object", "one object, written here",
               [](const YamlNode& node, Apply& to, const ParseContext& context) -> Status {
                 TRY(Manifest manifest, parse_object(node, context.document, context));
                 to.manifests.push_back(std::move(manifest));
                 return {};
               }},
};

Result<Apply> parse_apply(const YamlNode& node, const ParseContext& context) {
  Apply apply;
  if (node.value().is_string()) {
    TRY_VOID(apply_file(node, apply, context));
  } else {
    TRY_VOID(read_fields(node, apply_fields, apply, context));
  }
  if (apply.manifests.empty()) return node.fail("there is no object to apply");
  return apply;
}

// ---- of several --------------------------------------------------------------------------------

template <class T>
Status read_of(const YamlNode& node, T& to, const ParseContext& context) {
  TRY(to.of, parse_selection(node, context));
  return {};
}

template <class T>
Status read_grace(const YamlNode& node, T& to, const ParseContext&) {
  TRY(to.options.grace_period_seconds, node.as_integer());
  return {};
}

template <class T>
Status read_container(const YamlNode& node, T& to, const ParseContext&) {
  TRY(to.container, node.as_text());
  return {};
}

// ---- delete ------------------------------------------------------------------------------------

using DeleteField = Field<Delete, ParseContext>;
constexpr std::array delete_fields{
    DeleteField{"of", "kind/name, a kind, or a selection", "which objects", &read_of<Delete>, true},
    DeleteField{"gracePeriodSeconds", "a number", "0 with force; default: the object's own",
                &read_grace<Delete>},
    DeleteField{"propagation", "Background, Foreground or Orphan", "what becomes of its dependents",
                [](const YamlNode& node, Delete& to, const ParseContext&) -> Status {
                  TRY(to.options.propagation, one_of(node, propagations));
                  return {};
                }},
};

// ---- evict -------------------------------------------------------------------------------------

using EvictField = Field<Evict, ParseContext>;
constexpr std::array evict_fields{
    EvictField{"of", "pod/name, or a selection", "which pods", &read_of<Evict>, true},
    EvictField{"gracePeriodSeconds", "a number", "default: the pod's own", &read_grace<Evict>},
};

// ---- kill --------------------------------------------------------------------------------------

using KillField = Field<Kill, ParseContext>;
constexpr std::array kill_fields{
    KillField{"of", "pod/name, or a selection", "whose container", &read_of<Kill>, true},
    KillField{"container", "text", "default: the first", &read_container<Kill>},
    KillField{"signal", "a name or number", "KILL, SIGKILL, 9, ...; default: KILL",
              [](const YamlNode& node, Kill& to, const ParseContext&) -> Status {
                TRY(to.signal, node.as_signal());
                return {};
              }},
    KillField{"rank", "a number",
              "not the first process: that of this rank, as its environment has it in RANK; where "
              "torchrun starts ranks, one of those",
              [](const YamlNode& node, Kill& to, const ParseContext&) -> Status {
                TRY(to.which.rank, node.as_count());
                return {};
              }},
    KillField{"command", "text",
              "not the first process: all whose command line has this part, but for shells where "
              "others have it too",
              [](const YamlNode& node, Kill& to, const ParseContext&) -> Status {
                TRY(to.which.command, node.as_text());
                return {};
              }},
    KillField{"group", "true or false",
              "all of the process group of each that is meant; default: false",
              [](const YamlNode& node, Kill& to, const ParseContext&) -> Status {
                TRY(to.which.group, node.as_bool());
                return {};
              }},
};

// ---- exec --------------------------------------------------------------------------------------

using ExecField = Field<Exec, ParseContext>;
constexpr std::array exec_fields{
    ExecField{"of", "pod/name, or a selection", "in whose container", &read_of<Exec>, true},
    ExecField{"container", "text", "default: the first", &read_container<Exec>},
    ExecField{"command", "a list of texts", "the program and its arguments; no shell reads it",
              [](const YamlNode& node, Exec& to, const ParseContext&) -> Status {
                TRY(const auto words, node.as_list());
                if (words.empty()) return node.must_be("a list of at least one text");
                for (const YamlNode& word : words) {
                  TRY(auto text, word.as_any_scalar());
                  to.command.push_back(std::move(text));
                }
                return {};
              },
              true},
    ExecField{"exitCode", "a number, or any", "with which it has to end; default: 0",
              [](const YamlNode& node, Exec& to, const ParseContext&) -> Status {
                to.exit_code.reset();
                if (const auto* word = node.value().if_string(); word != nullptr && *word == "any")
                  return {};
                if (!node.value().is_number()) return node.must_be("a number, or any");
                TRY(to.exit_code, node.as_count());
                return {};
              }},
    ExecField{"output", "a regular expression",
              "to be found in a line that it prints, on either stream; default: anything will do",
              [](const YamlNode& node, Exec& to, const ParseContext&) -> Status {
                TRY(to.output, node.as_text());
                if (!regular_expression(to.output)) return node.must_be("a regular expression");
                return {};
              }},
};

// ---- patch -------------------------------------------------------------------------------------

using PatchField = Field<Patch, ParseContext>;
constexpr std::array patch_fields{
    PatchField{"of", "kind/name", "which object",
               [](const YamlNode& node, Patch& to, const ParseContext& context) -> Status {
                 TRY(to.of, parse_selection(node, context));
                 if (to.of.name.empty()) return node.must_be("kind/name: a patch is of one object");
                 return {};
               },
               true},
    PatchField{"patch", "the patch", "a map; of type json a list of operations",
               [](const YamlNode& node, Patch& to, const ParseContext&) -> Status {
                 if (!node.value().is_object() && !node.value().is_array())
                   return node.must_be("a map or a list");
                 to.body = RawJson(node.value());
                 return {};
               },
               true},
    PatchField{"type", "merge, json, strategic or apply",
               "default: merge; apply is server-side apply: the fields are the manager's",
               [](const YamlNode& node, Patch& to, const ParseContext&) -> Status {
                 TRY(to.type, one_of(node, patch_types));
                 return {};
               }},
    PatchField{"subresource", "status or scale", "default: the object itself",
               [](const YamlNode& node, Patch& to, const ParseContext&) -> Status {
                 TRY(const std::string_view name, one_of(node, subresources));
                 to.subresource = name;
                 return {};
               }},
    PatchField{"fieldManager", "text", "of type apply: who applies; default: kubectl",
               [](const YamlNode& node, Patch& to, const ParseContext&) -> Status {
                 TRY(to.field_manager, node.as_text());
                 return {};
               }},
    PatchField{"force", "true or false", "of type apply: other managers' fields are taken",
               [](const YamlNode& node, Patch& to, const ParseContext&) -> Status {
                 TRY(to.force, node.as_bool());
                 return {};
               }},
};

Status check_patch(const YamlNode& node, const Patch& patch) {
  if (patch.type != api::PatchType::apply) {
    if (patch.force || !patch.field_manager.empty())
      return node.fail("fieldManager and force are of type apply");
    return {};
  }
  if (!patch.body.get()->is_object()) return node.fail("what is applied is a map");
  if (patch.subresource == "scale") return node.fail("a scale is not applied: patch or merge it");
  return {};
}

// ---- metrics -----------------------------------------------------------------------------------

using MeasureField = Field<Measure, ParseContext>;
constexpr std::array measure_fields{
    MeasureField{"of", "kind/name, or a selection",
                 "whose they are: of each pod for itself, also of those that come later; of values "
                 "also another kind's; default: nothing's in the cluster (External metrics)",
                 [](const YamlNode& node, Measure& to, const ParseContext& context) -> Status {
                   TRY(to.of, parse_selection(node, context));
                   return {};
                 }},
    MeasureField{"container", "text", "whose cpu and memory it is; default: the pod's first",
                 &read_container<Measure>},
    MeasureField{"cpu", "a quantity", "that each of the pods uses: 250m",
                 [](const YamlNode& node, Measure& to, const ParseContext&) -> Status {
                   TRY(to.resources["cpu"], node.as_quantity());
                   return {};
                 }},
    MeasureField{"memory", "a quantity", "that each of the pods uses: 2Gi",
                 [](const YamlNode& node, Measure& to, const ParseContext&) -> Status {
                   TRY(to.resources["memory"], node.as_quantity());
                   return {};
                 }},
    MeasureField{"values", "a map of quantities",
                 "other metrics by name: what autoscalers ask for as Pods, Object and External",
                 [](const YamlNode& node, Measure& to, const ParseContext&) -> Status {
                   TRY(const auto members, node.as_map());
                   for (const auto& [name, member] : members) {
                     TRY(to.values[name], member.as_quantity());
                   }
                   return {};
                 }},
};

Status check_measure(const YamlNode& node, const Measure& measure) {
  if (measure.resources.empty() && measure.values.empty())
    return node.fail("there is nothing measured: cpu, memory or values");
  const bool of_pods = measure.of && measure.of->kind == &Pod::info();
  if (!of_pods && (!measure.resources.empty() || !measure.container.empty()))
    return node.fail("cpu and memory are of pods");
  if (!measure.container.empty() && measure.resources.empty())
    return node.fail_at("container", "only cpu and memory are a container's");
  return {};
}

// ---- a step ------------------------------------------------------------------------------------

// A step that was given two actions keeps the count of them, to be refused.
struct StepDraft {
  Step step{};
  std::vector<std::string_view> actions{};
};

template <class T>
Status set_action(StepDraft& draft, std::string_view name, T action) {
  draft.actions.push_back(name);
  draft.step.action = std::move(action);
  return {};
}

// "kill pod/x" or a selection's text, for a map that has an `of`.
template <class T, std::size_t size>
Status read_action(const YamlNode& node, StepDraft& draft, std::string_view name,
                   const std::array<Field<T, ParseContext>, size>& fields,
                   const ParseContext& context) {
  T action;
  // The short form: the selection alone.
  if (node.value().is_string()) {
    if constexpr (!std::is_same_v<T, Patch> && !std::is_same_v<T, Exec>) {
      TRY(action.of, parse_selection(node, context));
      return set_action(draft, name, std::move(action));
    }
  }
  TRY_VOID(read_fields(node, fields, action, context));
  return set_action(draft, name, std::move(action));
}

template <class T>
Status check_pods(const YamlNode& node, const StepDraft& draft, std::string_view done) {
  if (std::get<T>(draft.step.action).of.kind == &Pod::info()) return {};
  return node.fail(fmt::format("only pods can be {}", done));
}

using StepField = Field<StepDraft, ParseContext>;
constexpr std::array step_fields{
    StepField{"name", "text", "what expectations and reports call it",
              [](const YamlNode& node, StepDraft& to, const ParseContext&) -> Status {
                TRY(to.step.name, node.as_text());
                return {};
              }},
    StepField{"after", "a duration", "begins that long after the step before it ended",
              [](const YamlNode& node, StepDraft& to, const ParseContext&) -> Status {
                TRY(to.step.trigger.after, node.as_duration());
                return {};
              }},
    StepField{"at", "a duration", "begins that long after the scenario began",
              [](const YamlNode& node, StepDraft& to, const ParseContext&) -> Status {
                TRY(to.step.trigger.at, node.as_duration());
                return {};
              }},
    StepField{"when", "a state", "begins once it is so",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY(to.step.trigger.when, parse_state(node, context));
                return {};
              }},
    StepField{"within", "a duration", "fails if its states take longer; default: the timeout",
              [](const YamlNode& node, StepDraft& to, const ParseContext&) -> Status {
                TRY(to.step.within, node.as_duration());
                return {};
              }},
    StepField{"refused", "text",
              "the API refuses it (each call, of several), with words that this is a part of; of "
              "apply, delete, evict and "
              "patch",
              [](const YamlNode& node, StepDraft& to, const ParseContext&) -> Status {
                TRY(to.step.refused, node.as_text());
                return {};
              }},
    StepField{"apply", "a file, or a map", "creates or changes objects, as kubectl apply",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY(auto action, parse_apply(node, context));
                return set_action(to, "apply", std::move(action));
              }},
    StepField{"delete", "kind/name, or a map", "deletes objects",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) {
                return read_action(node, to, "delete", delete_fields, context);
              }},
    StepField{"evict", "pod/name, or a map", "evicts pods through the Eviction API",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY_VOID(read_action(node, to, "evict", evict_fields, context));
                return check_pods<Evict>(node, to, "evicted");
              }},
    StepField{"kill", "pod/name, or a map",
              "sends a signal to a process of a container, by default the first",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY_VOID(read_action(node, to, "kill", kill_fields, context));
                return check_pods<Kill>(node, to, "killed");
              }},
    StepField{"exec", "a map", "runs a command in a running container, as kubectl exec",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY_VOID(read_action(node, to, "exec", exec_fields, context));
                if (std::get<Exec>(to.step.action).of.kind == &Pod::info()) return {};
                return node.fail("only in pods can a command be run");
              }},
    StepField{"patch", "a map", "changes one object",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                TRY_VOID(read_action(node, to, "patch", patch_fields, context));
                return check_patch(node, std::get<Patch>(to.step.action));
              }},
    StepField{"metrics", "a map",
              "what a metrics server measures from now on, for autoscalers; what came last holds",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                Measure action;
                TRY_VOID(read_fields(node, measure_fields, action, context));
                TRY_VOID(check_measure(node, action));
                return set_action(to, "metrics", std::move(action));
              }},
    StepField{"wait", "a state, or a duration", "ends once it is so, or that long after it began",
              [](const YamlNode& node, StepDraft& to, const ParseContext& context) -> Status {
                Wait action;
                if (node.value().is_object()) {
                  TRY(action.state, parse_state(node, context));
                } else {
                  TRY(action.duration, node.as_duration());
                }
                return set_action(to, "wait", std::move(action));
              }},
};
constexpr std::array<std::string_view, 8> actions{"apply", "delete", "evict",   "kill",
                                                  "exec",  "patch",  "metrics", "wait"};

std::string text_of(const YamlNode& node, std::string_view action) {
  return fmt::format("{} {}", action, node.member(action)->text());
}

// ---- an expectation ----------------------------------------------------------------------------

struct ExpectationDraft {
  Expectation expectation{};
  std::vector<std::string_view> quantifiers{};
};

Status set_quantifier(const YamlNode& node, ExpectationDraft& draft, Quantifier quantifier,
                      const ParseContext& context) {
  draft.quantifiers.push_back(to_string(quantifier));
  draft.expectation.quantifier = quantifier;
  TRY(draft.expectation.state, parse_state(node, context));
  return {};
}

using ExpectationField = Field<ExpectationDraft, ParseContext>;
constexpr std::array expectation_fields{
    ExpectationField{"eventually", "a state", "is so at some moment",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext& context) {
                       return set_quantifier(node, to, Quantifier::eventually, context);
                     }},
    ExpectationField{"always", "a state", "is so at every moment",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext& context) {
                       return set_quantifier(node, to, Quantifier::always, context);
                     }},
    ExpectationField{"never", "a state", "is so at no moment",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext& context) {
                       return set_quantifier(node, to, Quantifier::never, context);
                     }},
    ExpectationField{"finally", "a state", "is so at the end, when all else is decided",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext& context) {
                       return set_quantifier(node, to, Quantifier::finally, context);
                     }},
    ExpectationField{"within", "a duration",
                     "the bound: eventually until then, always and never until then; default: to "
                     "the end",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext&) -> Status {
                       TRY(to.expectation.within, node.as_duration());
                       return {};
                     }},
    ExpectationField{"for", "a duration", "of eventually: it is so for that long without a break",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext&) -> Status {
                       TRY(to.expectation.lasting, node.as_duration());
                       return {};
                     }},
    ExpectationField{"since", "a step's name",
                     "the clock starts when that step has ended; default: at the start",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext&) -> Status {
                       TRY(to.expectation.since, node.as_text());
                       return {};
                     }},
    ExpectationField{"name", "text", "what reports call it; default: its own text",
                     [](const YamlNode& node, ExpectationDraft& to, const ParseContext&) -> Status {
                       TRY(to.expectation.name, node.as_text());
                       return {};
                     }},
};
constexpr std::array<std::string_view, 4> quantifiers{"eventually", "always", "never", "finally"};

// Exactly one of a group of fields is given.
template <class Names>
Status check_one(const YamlNode& node, std::string_view what,
                 std::span<const std::string_view> given, const Names& names) {
  if (given.size() == 1) return {};
  if (given.empty())
    return node.fail(fmt::format("{} needs one of {}", what, fmt::join(names, ", ")));
  return node.fail(fmt::format("{} has one of {}, not {}", what, fmt::join(names, ", "),
                               fmt::join(given, " and ")));
}

}  // namespace

const ToContainer* about_containers(const StepAction& action) {
  if (const Kill* kill = std::get_if<Kill>(&action)) return kill;
  return std::get_if<Exec>(&action);
}

std::string_view to_string(Quantifier quantifier) {
  return quantifiers[static_cast<std::size_t>(quantifier)];
}

Result<Step> parse_step(const YamlNode& node, const ParseContext& context) {
  TRY(const auto members, node.as_map());
  const auto known = names_of(step_fields);
  for (const auto& [name, member] : members) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return member.fail(
          fmt::format("unknown kind of step \"{}\"{}", name,
                      is_near(name, known) ? suggestion(name, known) : suggestion(name, actions)));
  }
  StepDraft draft;
  TRY_VOID(read_fields(node, step_fields, draft, context));
  TRY_VOID(check_one(node, "a step", draft.actions, actions));
  const StepAction& action = draft.step.action;
  if (draft.step.refused &&
      (about_containers(action) != nullptr || std::holds_alternative<Wait>(action) ||
       std::holds_alternative<Measure>(action)))
    return node.fail_at("refused", "only what asks the API can be refused by it");
  draft.step.text = text_of(node, draft.actions.front());
  draft.step.where = node.where();
  return std::move(draft.step);
}

Result<Expectation> parse_expectation(const YamlNode& node, const ParseContext& context) {
  ExpectationDraft draft;
  TRY_VOID(read_fields(node, expectation_fields, draft, context));
  TRY_VOID(check_one(node, "an expectation", draft.quantifiers, quantifiers));
  Expectation& expectation = draft.expectation;
  if (expectation.quantifier == Quantifier::finally && expectation.within)
    return node.fail_at("within", "finally has no bound: it is judged at the end");
  if (expectation.quantifier != Quantifier::eventually && expectation.lasting)
    return node.fail_at("for", "only eventually asks for a state that lasts");
  expectation.text = text_of(node, draft.quantifiers.front());
  if (expectation.lasting)
    expectation.text += fmt::format(" for {}", format_go_duration(*expectation.lasting));
  if (expectation.within)
    expectation.text += fmt::format(" within {}", format_go_duration(*expectation.within));
  if (expectation.name.empty()) expectation.name = expectation.text;
  expectation.where = node.where();
  return std::move(draft.expectation);
}

std::vector<ReferenceTable> step_tables() {
  return {
      reference_of(
          "Step", "Steps are taken one after another. Each has one action, and may have a trigger.",
          step_fields),
      reference_of("apply", "A map instead of the file's path.", apply_fields),
      reference_of("delete", "A map instead of kind/name.", delete_fields),
      reference_of("evict", "A map instead of pod/name.", evict_fields),
      reference_of("kill", "A map instead of pod/name.", kill_fields),
      reference_of("exec", "", exec_fields),
      reference_of("patch", "", patch_fields),
      reference_of("metrics", "Without such a step the cluster has no metrics server.",
                   measure_fields),
      reference_of("Expectation", "Exactly one of eventually, always, never and finally.",
                   expectation_fields),
  };
}

}  // namespace ddptwin::scenario
