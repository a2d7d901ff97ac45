#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>

#include "core/regular_expression.hpp"
#include "objects/core_v1.hpp"
#include "objects/selector.hpp"
#include "scenario/language/absent_kinds.hpp"
#include "scenario/language/cures.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/systems/status_words.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

// Letters of either case alike.
bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// A kind by any of its names: Pod, pods, po, podgroups.scheduling.volcano.sh.
const KindInfo* find_kind(const KindRegistry& kinds, std::string_view name) {
  for (const KindInfo* kind : kinds.all()) {
    if (same_letters(kind->kind, name) || same_letters(kind->plural, name) ||
        same_letters(kind->singular, name) ||
        same_letters(fmt::format("{}.{}", kind->plural, kind->group), name))
      return kind;
    if (std::find(kind->short_names.begin(), kind->short_names.end(), name) !=
        kind->short_names.end())
      return kind;
  }
  return nullptr;
}

Result<const KindInfo*> parse_kind(const YamlNode& node, std::string_view name,
                                   const ParseContext& context) {
  if (const KindInfo* kind = find_kind(context.kinds, name)) return kind;
  if (const System* system = system_of_kind(name))
    return node.fail(fmt::format("unknown kind \"{}\": {}", name, absence_of(*system)));
  // What a scenario looks at cannot be set aside.
  for (const AbsentKind& absent : absent_kinds())
    if (same_letters(absent.kind, name) || same_letters(fmt::format("{}s", absent.kind), name))
      return node.fail(refusal_of(absent));
  std::vector<std::string_view> known;
  for (const KindInfo* kind : context.kinds.all()) known.push_back(kind->kind);
  return node.fail(fmt::format("unknown kind \"{}\"{}", name, suggestion(name, known)));
}

// "pod/mnist-worker-0", "pod/team-a/mnist-worker-0", or "pods" for all of them.
Status read_reference(const YamlNode& node, Selection& selection, const ParseContext& context) {
  TRY(const std::string text, node.as_text());
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  TRY(selection.kind, parse_kind(node, text.substr(0, first), context));
  selection.namespace_ = selection.kind->namespaced ? context.namespace_ : "";
  if (first == text.npos) return {};
  selection.name = text.substr(last + 1);
  if (last != first) {
    if (!selection.kind->namespaced)
      return node.fail(fmt::format("no {} is in a namespace", selection.kind->kind));
    selection.namespace_ = text.substr(first + 1, last - first - 1);
  }
  if (selection.name.empty()) return node.must_be("kind/name, kind/namespace/name, or a kind");
  return {};
}

using SelectionField = Field<Selection, ParseContext>;
constexpr std::array selection_fields{
    SelectionField{"kind", "a kind", "Pod, Service, ...; its plural and short names too",
                   [](const YamlNode& node, Selection& to, const ParseContext& context) -> Status {
                     TRY(const std::string name, node.as_text());
                     TRY(to.kind, parse_kind(node, name, context));
                     return {};
                   },
                   true},
    SelectionField{"namespace", "text", "default: the scenario's namespace",
                   [](const YamlNode& node, Selection& to, const ParseContext&) -> Status {
                     TRY(to.namespace_, node.as_text());
                     return {};
                   }},
    SelectionField{"name", "text", "of one object; default: all",
                   [](const YamlNode& node, Selection& to, const ParseContext&) -> Status {
                     TRY(to.name, node.as_text());
                     return {};
                   }},
    SelectionField{"labels", "a label selector", "as kubectl's -l: a=b,c!=d",
                   [](const YamlNode& node, Selection& to, const ParseContext&) -> Status {
                     TRY(to.label_selector, node.as_text());
                     if (auto matcher = LabelMatcher::parse(to.label_selector); !matcher)
                       return node.fail(matcher.error().message);
                     return {};
                   }},
};

Status check_word(const YamlNode& node, std::string_view what, const std::string& word,
                  std::span<const std::string_view> words, bool open) {
  const std::vector<std::string_view> known(words.begin(), words.end());
  if (std::find(known.begin(), known.end(), word) != known.end()) return {};
  if (open && !is_near(word, known)) return {};
  return node.fail(fmt::format("unknown {} \"{}\"{}", what, word, suggestion(word, known)));
}

Status check_phase(const YamlNode& node, const KindInfo& kind, const PhaseClaim& claim) {
  const StatusWords& row = status_words(kind);
  if (row.phases.empty())
    return node.fail(fmt::format("no {} has a phase{}", kind.kind,
                                 row.conditions.empty() ? "" : ": look for a condition"));
  return check_word(node, "phase", claim.phase, row.phases, false);
}

Status check_condition(const YamlNode& node, const KindInfo& kind, const ConditionClaim& claim) {
  const StatusWords& row = status_words(kind);
  if (row.conditions.empty() && !row.open)
    return node.fail(fmt::format("no {} has conditions", kind.kind));
  return check_word(node.member("type").value_or(node), "condition", claim.type, row.conditions,
                    row.open);
}

// What a claim asks of an object that its kind never has would be false for ever, and a `never`
// of it would hold for ever.
Status check_claims(const YamlNode& node, const State& state) {
  const KindInfo& kind = *state.of.kind;
  for (const std::string_view field :
       {"container", "log", "step", "restarts", "exitCode", "reason"}) {
    if (const auto member = node.member(field); member && &kind != &Pod::info())
      return member->fail(fmt::format("no {} has containers: only a Pod has", kind.kind));
  }
  for (const std::string_view field : {"finished", "succeeded"}) {
    const bool ends = &kind == &Pod::info() || job_kind(kind) != nullptr ||
                      (field == "succeeded" && is_workload(kind));
    if (const auto member = node.member(field); member && !ends)
      return member->fail(fmt::format("no {} comes to an end: only jobs and pods do", kind.kind));
  }
  for (const Claim& claim : state.claims) {
    if (const auto* phase = std::get_if<PhaseClaim>(&claim))
      TRY_VOID(check_phase(*node.member("phase"), kind, *phase));
    if (const auto* condition = std::get_if<ConditionClaim>(&claim))
      TRY_VOID(check_condition(*node.member("condition"), kind, *condition));
  }
  return {};
}

struct NoContext {};
using RangeField = Field<Range, NoContext>;
constexpr std::array range_fields{
    RangeField{"atLeast", "a number", "the least that holds",
               [](const YamlNode& node, Range& to, const NoContext&) -> Status {
                 TRY(to.at_least, node.as_count());
                 return {};
               }},
    RangeField{"atMost", "a number", "the most that holds",
               [](const YamlNode& node, Range& to, const NoContext&) -> Status {
                 TRY(to.at_most, node.as_count());
                 return {};
               }},
};

using ConditionField = Field<ConditionClaim, ParseContext>;
constexpr std::array condition_fields{
    ConditionField{"type", "text", "of the condition",
                   [](const YamlNode& node, ConditionClaim& to, const ParseContext&) -> Status {
                     TRY(to.type, node.as_text());
                     return {};
                   },
                   true},
    ConditionField{"status", "True, False or Unknown", "default: True",
                   [](const YamlNode& node, ConditionClaim& to, const ParseContext&) -> Status {
                     // A bare True is a boolean in YAML.
                     if (node.value().is_bool()) {
                       to.status = node.value().as_bool() ? "True" : "False";
                       return {};
                     }
                     TRY(to.status, node.as_text());
                     if (to.status != "True" && to.status != "False" && to.status != "Unknown")
                       return node.must_be("True, False or Unknown");
                     return {};
                   }},
    ConditionField{"reason", "text", "its reason, exactly",
                   [](const YamlNode& node, ConditionClaim& to, const ParseContext&) -> Status {
                     TRY(to.reason, node.as_any_scalar());
                     return {};
                   }},
    ConditionField{"message", "text", "its message, exactly",
                   [](const YamlNode& node, ConditionClaim& to, const ParseContext&) -> Status {
                     TRY(to.message, node.as_any_scalar());
                     return {};
                   }},
};

Result<ConditionClaim> parse_condition(const YamlNode& node, const ParseContext& context) {
  ConditionClaim claim;
  if (node.value().is_string()) {
    TRY(claim.type, node.as_text());
    return claim;
  }
  TRY_VOID(read_fields(node, condition_fields, claim, context));
  return claim;
}

Result<std::string> parse_pattern(const YamlNode& node) {
  TRY(const std::string pattern, node.as_text());
  if (!regular_expression(pattern)) return node.must_be("a regular expression");
  return pattern;
}

template <class ClaimType>
Status add_text_claim(const YamlNode& node, State& to, std::string ClaimType::*member) {
  ClaimType claim;
  TRY(claim.*member, node.as_text());
  to.claims.emplace_back(std::move(claim));
  return {};
}

template <class ClaimType>
Status add_range_claim(const YamlNode& node, State& to, Range ClaimType::*member) {
  ClaimType claim;
  TRY(claim.*member, parse_range(node));
  to.claims.emplace_back(claim);
  return {};
}

Status add_end_claim(const YamlNode& node, State& to, Claim claim) {
  TRY(const bool is_so, node.as_bool());
  if (!is_so) return node.must_be("true; for the contrary say never");
  to.claims.push_back(std::move(claim));
  return {};
}

using StateField = Field<State, ParseContext>;
constexpr std::array state_fields{
    StateField{"of", "kind/name, a kind, or a selection",
               "which objects; a kind alone: all of the namespace, what the cluster itself has "
               "made there too, as kubectl lists it (in default the Service kubernetes)",
               [](const YamlNode& node, State& to, const ParseContext& context) -> Status {
                 TRY(to.of, parse_selection(node, context));
                 return {};
               },
               true},
    StateField{"count", "a number or a range", "how many of them; default: at least 1",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY(to.count, parse_range(node));
                 return {};
               }},
    StateField{"container", "text", "only this container of a pod; default: any",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY(to.container, node.as_text());
                 return {};
               }},
    StateField{
        "phase", "text",
        "status.phase of a pod or a namespace; of a DDPSet or a StatefulSet how its training "
        "stands: Forming, Training, Broken, Complete or CrashLooping",
        [](const YamlNode& node, State& to, const ParseContext&) {
          return add_text_claim(node, to, &PhaseClaim::phase);
        }},
    StateField{"condition", "a type, or a condition",
               "one of status.conditions: Ready of a pod; of a job those that its system names",
               [](const YamlNode& node, State& to, const ParseContext& context) -> Status {
                 TRY(auto claim, parse_condition(node, context));
                 to.claims.emplace_back(std::move(claim));
                 return {};
               }},
    StateField{"match", "a part of an object",
               "every field of it has this value; an element of a list may stand anywhere; null: "
               "absent",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY_VOID(node.as_map());
                 to.claims.emplace_back(MatchClaim{RawJson(node.value())});
                 return {};
               }},
    StateField{"log", "a regular expression",
               "found in a line that a container printed, also of "
               "a pod that is gone",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 LogClaim claim;
                 TRY(claim.pattern, parse_pattern(node));
                 to.claims.emplace_back(std::move(claim));
                 return {};
               }},
    StateField{"step", "a number",
               "a line \"step N\" was printed with this N or a greater one, "
               "also by a pod that is gone",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY(const std::int64_t step, node.as_count(1));
                 to.claims.emplace_back(StepClaim{step});
                 return {};
               }},
    StateField{"restarts", "a number or a range", "restartCount, summed over the containers",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_range_claim(node, to, &RestartsClaim::restarts);
               }},
    StateField{"exitCode", "a number", "a container has ended with it, now or before its restart",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY(const std::int64_t code, node.as_count());
                 if (code > exit_code_max)
                   return node.must_be(fmt::format("0 to {}", exit_code_max));
                 to.claims.emplace_back(ExitCodeClaim{code});
                 return {};
               }},
    StateField{"reason", "text",
               "a container is waiting or has ended for it: OOMKilled, "
               "CrashLoopBackOff",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_text_claim(node, to, &ReasonClaim::reason);
               }},
    StateField{"created", "a number or a range", "how many objects of this name there have been",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_range_claim(node, to, &CreatedClaim::times);
               }},
    StateField{"finished", "true", "a job or a pod that has come to its end, well or badly",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_end_claim(node, to, FinishedClaim{});
               }},
    StateField{"succeeded", "true",
               "a job or a pod that has come to its end well; a pod that is restarted for ever "
               "(restartPolicy Always): it is Running and Ready",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_end_claim(node, to, SucceededClaim{});
               }},
    StateField{"event", "text", "an Event of this reason tells of it",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_text_claim(node, to, &EventClaim::reason);
               }},
};

}  // namespace

std::string Selection::text() const {
  std::string kind_name = kind->singular.empty() ? kind->kind : kind->singular;
  std::string out = kind_name;
  // "pod/team" is a pod of that name, "pod/team/*" any pod there.
  if (!namespace_.empty() && namespace_ != "default")
    out += "/" + namespace_ + (name.empty() ? "/*" : "");
  if (!name.empty()) out += "/" + name;
  if (!label_selector.empty()) out += "{" + label_selector + "}";
  return out;
}

bool Range::holds(std::int64_t number) const {
  return (!at_least || number >= *at_least) && (!at_most || number <= *at_most);
}

std::string Range::text() const {
  if (at_least && at_most)
    return *at_least == *at_most ? std::to_string(*at_least)
                                 : fmt::format("{} to {}", *at_least, *at_most);
  if (at_least) return fmt::format("at least {}", *at_least);
  if (at_most) return fmt::format("at most {}", *at_most);
  return "any number";
}

Result<Selection> parse_selection(const YamlNode& node, const ParseContext& context) {
  Selection selection;
  selection.where = node.where();
  if (node.value().is_string()) {
    TRY_VOID(read_reference(node, selection, context));
    return selection;
  }
  TRY_VOID(read_fields(node, selection_fields, selection, context));
  if (!selection.kind->namespaced && !selection.namespace_.empty())
    return node.fail_at("namespace", fmt::format("no {} is in a namespace", selection.kind->kind));
  if (selection.kind->namespaced && selection.namespace_.empty())
    selection.namespace_ = context.namespace_;
  return selection;
}

Result<Range> parse_range(const YamlNode& node) {
  Range range;
  if (node.value().is_int64()) {
    TRY(range.at_least, node.as_count());
    range.at_most = range.at_least;
    return range;
  }
  if (!node.value().is_object() || node.value().as_object().empty())
    return node.must_be("a number, or a map of atLeast and atMost");
  TRY_VOID(read_fields(node, range_fields, range, NoContext{}));
  if (range.at_least && range.at_most && *range.at_least > *range.at_most)
    return node.fail(
        fmt::format("no number is at least {} and at most {}", *range.at_least, *range.at_most));
  return range;
}

Result<State> parse_state(const YamlNode& node, const ParseContext& context) {
  State state;
  TRY_VOID(read_fields(node, state_fields, state, context));
  TRY_VOID(check_claims(node, state));
  state.text = node.text();
  state.where = node.where();
  return state;
}

std::vector<ReferenceTable> state_tables() {
  return {reference_of("State",
                       "Something that may be true of the cluster: of the objects that `of` names, "
                       "`count` fulfil everything else that is said.",
                       state_fields),
          reference_of("Selection", "A map instead of the text kind/name.", selection_fields),
          reference_of("Condition", "A map instead of the type alone.", condition_fields),
          reference_of("Range", "A map instead of one number.", range_fields)};
}

}  // namespace ddptwin::scenario
