#include "scenario/language/fault_parser.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>
#include <set>

#include "dns/message.hpp"
#include "scenario/language/fault.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::array<std::string_view, 9> named_ports{
    "api", "watch", "controller", "scheduler", "node", "kubelet", "process", "link", "dns"};

// A fault that was given two kinds keeps both, to be refused.
struct FaultDraft {
  Fault fault{};
  std::vector<std::pair<std::string, std::string>> ofs{};  // all that `of` names, and where
  std::vector<const FaultRow*> kinds{};
};

// Several ports can share one line of the table below: which one is read from the path's end.
Status read_effect(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  const std::string_view port = std::string_view(node.path()).substr(node.path().rfind('.') + 1);
  TRY(const std::string effect, node.as_text());
  std::vector<std::string_view> known;
  for (const FaultRow& row : fault_rows()) {
    if (row.port != port) continue;
    if (row.effect == effect) {
      to.kinds.push_back(&row);
      return {};
    }
    known.push_back(row.effect);
  }
  return node.fail(fmt::format("unknown fault \"{}\"{}", effect, suggestion(effect, known)));
}

template <std::string Fault::*member>
Status read_text(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  TRY(to.fault.*member, node.as_text());
  return {};
}

template <std::optional<Duration> Fault::*member>
Status read_duration(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  TRY(to.fault.*member, node.as_duration());
  return {};
}

template <std::optional<std::int64_t> Fault::*member, std::int64_t least>
Status read_number(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  TRY(to.fault.*member, node.as_count(least));
  return {};
}

Status read_verb(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  constexpr std::array verbs{api::Verb::create, api::Verb::get,   api::Verb::list,
                             api::Verb::update, api::Verb::patch, api::Verb::remove};
  TRY(to.fault.verb, node.as_text());
  std::vector<std::string_view> known;
  for (const api::Verb verb : verbs) {
    if (api::to_string(verb) == to.fault.verb) return {};
    known.push_back(api::to_string(verb));
  }
  return node.fail(
      fmt::format("unknown verb \"{}\"{}", to.fault.verb, suggestion(to.fault.verb, known)));
}

Status read_kind(const YamlNode& node, FaultDraft& to, const ParseContext& context) {
  TRY(to.fault.object_kind, node.as_text());
  std::vector<std::string_view> known;
  for (const KindInfo* kind : context.kinds.all()) {
    if (kind->kind == to.fault.object_kind) return {};
    known.push_back(kind->kind);
  }
  return node.fail(fmt::format("unknown kind \"{}\"{}", to.fault.object_kind,
                               suggestion(to.fault.object_kind, known)));
}

template <std::optional<FaultState> Fault::*member>
Status read_state(const YamlNode& node, FaultDraft& to, const ParseContext& context) {
  TRY(State state, parse_state(node, context));
  to.fault.*member = {std::make_shared<const State>(std::move(state)), RawJson(node.value())};
  return {};
}

Status read_of(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  const auto add = [&to](const YamlNode& one) -> Status {
    TRY(std::string of, one.as_text());
    to.ofs.emplace_back(std::move(of), one.where());
    return {};
  };
  if (!node.value().is_array()) return add(node);
  TRY(const auto all, node.as_list());
  if (all.empty()) return node.must_be("a name, or a list of at least one");
  for (const YamlNode& one : all) TRY_VOID(add(one));
  return {};
}

Status read_address(const YamlNode& node, FaultDraft& to, const ParseContext&) {
  TRY(to.fault.address, node.as_text());
  return dns::parse_ipv4(to.fault.address) ? Status() : node.must_be("an IPv4 address");
}

using FaultField = Field<FaultDraft, ParseContext>;
constexpr std::array fault_fields{
    FaultField{"api", "see below", "a call of a client", &read_effect},
    FaultField{"watch", "see below", "the events that a client hears", &read_effect},
    FaultField{"controller", "see below", "a controller's process", &read_effect},
    FaultField{"scheduler", "see below", "the scheduler's process", &read_effect},
    FaultField{"node", "see below", "a machine", &read_effect},
    FaultField{"kubelet", "see below", "the agent of a node", &read_effect},
    FaultField{"process", "see below", "a process of a container", &read_effect},
    FaultField{"link", "see below", "the network between two pods", &read_effect},
    FaultField{"dns", "see below", "an answer of the cluster's DNS", &read_effect},
    FaultField{
        "of", "text, or a list",
        "whose: of api and watch a client, by its own name or its process's "
        "(a job system's, as its versions below name them, kube-controller-manager, "
        "kube-scheduler, kubelet, a node's name for its kubelet, coredns, user; the "
        "controllers of kube-controller-manager share one that watches, "
        "shared-informers); of controller a controller (a job system's, "
        "endpoint-controller, "
        "endpoint-slice-controller, endpoint-slice-mirroring-controller) or the process of "
        "several (a job system's, kube-controller-manager); of node and kubelet a node; "
        "of process and link a pod, with its namespace where that "
        "is another than the scenario's; of dns a name, with or without what follows its "
        "first labels; default: any, but never the user's own calls; a list of them is as many "
        "faults",
        &read_of},
    FaultField{"from", "a pod", "only questions of that pod", &read_text<&Fault::from>},
    FaultField{"to", "a pod", "the other end of the link; default: all others",
               &read_text<&Fault::to>},
    FaultField{"verb", "create, get, list, update, patch or delete",
               "only these calls, of a conflict one that writes; default: all that write",
               &read_verb},
    FaultField{"kind", "a kind", "only calls or events about it: Pod, Service, ...", &read_kind},
    FaultField{"name", "text", "only calls or events about the object of that name",
               &read_text<&Fault::object>},
    FaultField{"container", "text", "default: the first that is not an init container",
               &read_text<&Fault::container>},
    FaultField{"rank", "a number", "not the first process: that of this rank, as RANK has it",
               [](const YamlNode& node, FaultDraft& to, const ParseContext&) -> Status {
                 TRY(to.fault.which.rank, node.as_count());
                 return {};
               }},
    FaultField{"command", "text", "not the first process: all whose command line has this part",
               [](const YamlNode& node, FaultDraft& to, const ParseContext&) -> Status {
                 TRY(to.fault.which.command, node.as_text());
                 return {};
               }},
    FaultField{"group", "true or false", "the process's whole process group; default: false",
               [](const YamlNode& node, FaultDraft& to, const ParseContext&) -> Status {
                 TRY(to.fault.which.group, node.as_bool());
                 return {};
               }},
    FaultField{"at", "a duration", "from so long after the scenario began",
               &read_duration<&Fault::at>},
    FaultField{"when", "a state", "from the moment at which it was so", &read_state<&Fault::when>},
    FaultField{
        "nth", "a number",
        "at the nth occurrence from then on, the first is 1: a call, an event, a question, a "
        "start of the container, a write of the process; default: the first, or at once "
        "where the fault needs none",
        &read_number<&Fault::nth, 1>},
    FaultField{"step", "a number", "once the pod has printed the end of this training step",
               &read_number<&Fault::step, 0>},
    FaultField{"for", "a duration",
               "goes on for so long (0s only where a process begins anew); of calls, events and "
               "questions: each one that fits is hit until then",
               &read_duration<&Fault::lasts>},
    FaultField{"until", "a state", "goes on until it is so, or until `for` is over",
               &read_state<&Fault::until>},
    FaultField{"delay", "a duration", "how late", &read_duration<&Fault::delay>},
    FaultField{"code", "a number", "HTTP status, or exit code", &read_number<&Fault::code, 0>},
    FaultField{"signal", "a name or number", "KILL, SIGKILL, 9, ...; default: KILL",
               [](const YamlNode& node, FaultDraft& to, const ParseContext&) -> Status {
                 TRY(to.fault.signal, node.as_signal());
                 return {};
               }},
    FaultField{"address", "an IPv4 address", "what the DNS answers", &read_address},
    FaultField{"message", "text", "the words of the refusal; default: the API's usual ones",
               &read_text<&Fault::message>},
};

// What of the fault's fields is missing, or has no meaning for its kind.
Status check_draft(const YamlNode& node, const FaultDraft& draft) {
  if (draft.kinds.empty())
    return node.fail(fmt::format("a fault needs one of {}", fmt::join(named_ports, ", ")));
  const FaultRow& row = *draft.kinds.front();
  if (draft.kinds.size() > 1)
    return node.fail(fmt::format("a fault has one of {}, not {} and {}",
                                 fmt::join(named_ports, ", "), row.port, draft.kinds[1]->port));
  for (const FaultField& field : fault_fields) {
    const bool given = node.member(field.name).has_value();
    if (field.name == row.port) continue;
    if (given && !takes(row, field.name))
      return node.fail_at(field.name,
                          fmt::format("has no meaning for {}: {}", row.port, row.effect));
    if (!given && must_have(row, field.name))
      return node.fail(fmt::format("the field {} is missing", field.name));
  }
  const auto bounded = [&](std::string_view field, std::int64_t most) -> Status {
    const auto member = node.member(field);
    if (!member || member->value().as_int64() <= most) return {};
    return member->must_be(fmt::format("at most {}", most));
  };
  if (row.kind == FaultKind::process_exit) TRY_VOID(bounded("code", exit_code_max));
  if (row.kind == FaultKind::api_error && draft.fault.code) {
    if (!api::can_inject(static_cast<int>(*draft.fault.code)))
      return node.member("code")->must_be("500, 503, 403 or 422");
    if (*draft.fault.code < 500 && draft.fault.message.empty())
      return node.fail(fmt::format("a refusal with {} needs a message", *draft.fault.code));
  }
  if (draft.fault.lasts == Duration::zero() && !can_last_nothing(row))
    return node.member("for")->must_be("longer than nothing");
  if (row.kind == FaultKind::api_conflict && !draft.fault.verb.empty() &&
      (draft.fault.verb == "get" || draft.fault.verb == "list"))
    return node.member("verb")->must_be("create, update, patch or delete: only a write conflicts");
  return {};
}

// A row of the page's second table: "api: conflict", its fields, its meaning.
ReferenceTable kinds_table() {
  // The page's rows are views: the texts live here.
  static const std::vector<std::pair<std::string, std::string>> texts = [] {
    std::vector<std::pair<std::string, std::string>> made;
    for (const FaultRow& row : fault_rows()) {
      std::string fields(row.fields);
      if (row.counts != Occurrence::none) fields += fields.empty() ? "nth" : " nth";
      made.emplace_back(fmt::format("{}: {}", row.port, row.effect), std::move(fields));
    }
    return made;
  }();
  ReferenceTable table{
      "The faults",
      "Beside the fields that are named, each takes `at` and `when`. Without `for` "
      "those of node and link go on until all faults are healed.",
      {}};
  for (std::size_t i = 0; i < texts.size(); ++i)
    table.rows.push_back({texts[i].first, texts[i].second, fault_rows()[i].help, false});
  return table;
}

std::vector<const FaultRow*> matching(std::string_view word) {
  std::vector<const FaultRow*> found;
  for (const FaultRow& row : fault_rows())
    if (word == "all" || word == row.port || word == row.name()) found.push_back(&row);
  return found;
}

}  // namespace

Result<std::vector<Fault>> parse_fault(const YamlNode& node, const ParseContext& context) {
  FaultDraft draft;
  TRY_VOID(read_fields(node, fault_fields, draft, context));
  TRY_VOID(check_draft(node, draft));
  draft.fault.kind = draft.kinds.front()->kind;
  draft.fault.where = node.where();
  draft.fault.of_where = node.where();
  draft.fault.at_where = node.member("at").value_or(node).where();
  std::vector<Fault> faults(std::max<std::size_t>(draft.ofs.size(), 1), draft.fault);
  for (std::size_t i = 0; i < draft.ofs.size(); ++i)
    std::tie(faults[i].of, faults[i].of_where) = draft.ofs[i];
  return faults;
}

Status read_faults(const YamlNode& list, std::vector<Fault>& to, const ParseContext& context) {
  TRY(const auto nodes, list.as_list());
  for (const YamlNode& node : nodes) {
    TRY(const std::vector<Fault> faults, parse_fault(node, context));
    to.insert(to.end(), faults.begin(), faults.end());
  }
  return {};
}

Status check_faults(Scenario& scenario) {
  if (scenario.faults.faults.empty()) return {};
  const Fault* only_virtual = virtual_only(scenario.faults);
  if (scenario.modes.empty()) {
    scenario.modes = {Mode::virtual_};  // its times are long, mostly
    if (only_virtual == nullptr) scenario.modes.push_back(Mode::real);
  }
  std::vector<std::string_view> nodes;
  for (const NodeOptions& node : scenario.nodes) nodes.push_back(node.name);
  for (const Mode mode : scenario.modes)
    if (mode == Mode::real && only_virtual != nullptr)
      return fail(Reason::bad_input, why_not_real(*only_virtual) + ": say modes: [virtual]",
                  only_virtual->where);
  for (const Fault& fault : scenario.faults.faults) {
    const std::string_view port = row_of(fault.kind).port;
    const bool of_node = port == "node" || port == "kubelet";
    if (of_node && !fault.of.empty() &&
        std::find(nodes.begin(), nodes.end(), fault.of) == nodes.end())
      return fail(Reason::bad_input,
                  fmt::format("there is no node \"{}\"{}", fault.of, suggestion(fault.of, nodes)),
                  fault.of_where);
  }
  return {};
}

Result<std::vector<const FaultRow*>> parse_fault_kinds(std::string_view list) {
  std::vector<bool> chosen(fault_rows().size());
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, end);
    const auto found = matching(word);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const FaultRow& row : fault_rows()) names.push_back(row.name());
      const std::vector<std::string_view> known(names.begin(), names.end());
      return fail(Reason::bad_input,
                  fmt::format("unknown fault \"{}\"{}", word, suggestion(word, known)));
    }
    for (const FaultRow* row : found) chosen[static_cast<std::size_t>(row->kind)] = true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  std::vector<const FaultRow*> kinds;
  for (const FaultRow& row : fault_rows())
    if (chosen[static_cast<std::size_t>(row.kind)]) kinds.push_back(&row);
  return kinds;
}

std::vector<ReferenceTable> fault_tables() {
  return {reference_of("Fault",
                       "Something that goes wrong: what and where, when, for how long. All that is "
                       "said must fit.",
                       fault_fields),
          kinds_table()};
}

}  // namespace ddptwin::scenario
