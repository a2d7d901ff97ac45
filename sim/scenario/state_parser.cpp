#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>

#include "core/regular_expression.hpp"
#include "objects/selector.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

// A kind by any of its names: Pod, pods, po.
const KindInfo* find_kind(const KindRegistry& kinds, std::string_view name) {
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return std::tolower(static_cast<unsigned char>(x)) ==
             std::tolower(static_cast<unsigned char>(y));
    });
  };
  for (const KindInfo* kind : kinds.all()) {
    if (same(kind->kind, name) || same(kind->plural, name) || same(kind->singular, name))
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
  std::vector<std::string_view> known;
  for (const KindInfo* kind : context.kinds.all()) known.push_back(kind->kind);
  return node.fail(fmt::format("unknown kind \"{}\"{}", name, suggestion(name, known)));
}

// "pod/mnist-worker-0", "pod/team-a/mnist-worker-0", or "pods" for all of them.
Result<Selection> parse_reference(const YamlNode& node, const ParseContext& context) {
  TRY(const std::string text, node.as_text());
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  Selection selection;
  TRY(selection.kind, parse_kind(node, text.substr(0, first), context));
  selection.namespace_ = selection.kind->namespaced ? context.namespace_ : "";
  if (first == text.npos) return selection;
  selection.name = text.substr(last + 1);
  if (last != first) selection.namespace_ = text.substr(first + 1, last - first - 1);
  if (selection.name.empty()) return node.must_be("kind/name, kind/namespace/name, or a kind");
  return selection;
}

using SelectionField = Field<Selection, ParseContext>;
constexpr std::array selection_fields{
    SelectionField{"kind", "a kind", "Pod, PyTorchJob, ...; its plural and short names too",
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

struct NoContext {};
using RangeField = Field<Range, NoContext>;
constexpr std::array range_fields{
    RangeField{"atLeast", "a number", "the least that holds",
               [](const YamlNode& node, Range& to, const NoContext&) -> Status {
                 TRY(to.at_least, node.as_integer());
                 return {};
               }},
    RangeField{"atMost", "a number", "the most that holds",
               [](const YamlNode& node, Range& to, const NoContext&) -> Status {
                 TRY(to.at_most, node.as_integer());
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
Status add_number_claim(const YamlNode& node, State& to, std::int64_t ClaimType::*member) {
  ClaimType claim;
  TRY(claim.*member, node.as_integer());
  to.claims.emplace_back(claim);
  return {};
}

template <class ClaimType>
Status add_range_claim(const YamlNode& node, State& to, Range ClaimType::*member) {
  ClaimType claim;
  TRY(claim.*member, parse_range(node));
  to.claims.emplace_back(claim);
  return {};
}

using StateField = Field<State, ParseContext>;
constexpr std::array state_fields{
    StateField{"of", "kind/name, a kind, or a selection", "which objects",
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
    StateField{"phase", "text", "status.phase",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_text_claim(node, to, &PhaseClaim::phase);
               }},
    StateField{"condition", "a type, or a condition", "one of status.conditions",
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
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_number_claim(node, to, &StepClaim::step);
               }},
    StateField{"restarts", "a number or a range", "restartCount, summed over the containers",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_range_claim(node, to, &RestartsClaim::restarts);
               }},
    StateField{"exitCode", "a number", "a container has ended with it, now or before its restart",
               [](const YamlNode& node, State& to, const ParseContext&) {
                 return add_number_claim(node, to, &ExitCodeClaim::exit_code);
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
    StateField{"finished", "true", "a job that has come to its end, well or badly",
               [](const YamlNode& node, State& to, const ParseContext&) -> Status {
                 TRY(const bool finished, node.as_bool());
                 if (!finished) return node.must_be("true; for the contrary say never");
                 to.claims.emplace_back(FinishedClaim{});
                 return {};
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
  if (!namespace_.empty() && namespace_ != "default") out += "/" + namespace_;
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
  if (node.value().is_string()) return parse_reference(node, context);
  Selection selection;
  TRY_VOID(read_fields(node, selection_fields, selection, context));
  if (!selection.kind->namespaced)
    selection.namespace_.clear();
  else if (selection.namespace_.empty())
    selection.namespace_ = context.namespace_;
  return selection;
}

Result<Range> parse_range(const YamlNode& node) {
  Range range;
  if (node.value().is_int64()) {
    range.at_least = range.at_most = node.value().as_int64();
    return range;
  }
  if (!node.value().is_object()) return node.must_be("a number, or a map of atLeast and atMost");
  TRY_VOID(read_fields(node, range_fields, range, NoContext{}));
  return range;
}

Result<State> parse_state(const YamlNode& node, const ParseContext& context) {
  State state;
  TRY_VOID(read_fields(node, state_fields, state, context));
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
