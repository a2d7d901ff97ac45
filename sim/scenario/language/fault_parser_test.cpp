#include "scenario/language/fault_parser.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "core/random.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario::fault_parser_test {
namespace {

const ReadFile no_files = [](const std::string&) -> Result<std::string> {
  return fail(Reason::bad_input, "no files here");
};

Result<Fault> parse(const std::string& text) {
  const KindRegistry kinds;
  auto documents = parse_yaml(text, "f.yaml");
  EXPECT_TRUE(documents) << text;
  if (!documents) return fail(std::move(documents).error());
  const auto document = std::make_shared<const YamlDocument>(std::move(documents->front()));
  const ParseContext context{kinds, no_files, "", "default", document};
  TRY(const auto faults, parse_fault(YamlNode(*document, document->value, ""), context));
  return faults.front();
}

std::string error_of(const std::string& text) {
  const auto fault = parse(text);
  return fault ? "no error" : fault.error().text();
}

// Every field that the kind takes gets a value, or not, as chance will.
Fault any_fault(const FaultRow& row, Random& random) {
  Fault fault;
  fault.kind = row.kind;
  const auto given = [&](std::string_view field) {
    return must_have(row, field) || (takes(row, field) && random.chance(0.5));
  };
  constexpr std::array<Duration, 5> spans{Duration(0s), Duration(1ms), Duration(1500ms),
                                          Duration(90s), Duration(26h)};
  const auto span = [&] { return spans[random.below(spans.size())]; };
  const auto number = [&](std::uint64_t most) {
    return 1 + static_cast<std::int64_t>(random.below(most));
  };
  if (given("of")) fault.of = random.chance(0.5) ? "train-worker-0" : "yes: 1 #, 'x'";
  if (given("to")) fault.to = "team/on";
  if (given("verb")) fault.verb = "delete";
  if (given("kind")) fault.object_kind = "PyTorchJob";
  if (given("name")) fault.object = "null";
  if (given("container")) fault.container = "12";
  if (given("at")) fault.at = span();
  if (given("nth")) fault.nth = number(1000);
  if (given("step")) fault.step = number(1000);
  if (given("from")) fault.from = "train-worker-1";
  if (given("message")) fault.message = "admission webhook \"x\" denied: 1 > 0";
  if (given("for")) fault.lasts = span();
  if (fault.lasts == Duration(0s) && !can_last_nothing(row)) fault.lasts.reset();
  if (given("delay")) fault.delay = span();
  if (given("code")) fault.code = row.port == "api" ? 503 : number(255);
  if (given("signal")) fault.signal = number(64);
  if (given("address")) fault.address = "192.0.2.1";
  return fault;
}

TEST(FaultParser, what_is_written_is_read_back_the_same) {
  Random random(1);
  int read = 0;
  for (const FaultRow& row : fault_rows()) {
    for (int i = 0; i < 50; ++i) {
      const Fault fault = any_fault(row, random);
      const std::string text = to_yaml(fault);
      const auto back = parse(text);
      ASSERT_TRUE(back) << text << "\n" << back.error().text();
      EXPECT_TRUE(*back == fault) << text << "\n" << to_yaml(*back);
      ++read;
    }
  }
  EXPECT_EQ(read, 50 * 28);
}

TEST(FaultParser, a_state_is_kept_as_it_was_written) {
  const std::string text =
      "{api: conflict, of: training-operator, when: {of: pytorchjob/x, condition: {type: Running, "
      "status: \"True\"}}, nth: 2}";
  const auto fault = parse(text);
  ASSERT_TRUE(fault) << fault.error().text();
  EXPECT_EQ(fault->when->state->of.name, "x");
  EXPECT_EQ(to_yaml(*fault), text);
}

TEST(FaultParser, a_list_of_whom_it_hits_is_as_many_faults) {
  const KindRegistry kinds;
  const auto documents = parse_yaml("{node: dead, of: [node-0, node-3], for: 1m}", "f.yaml");
  ASSERT_TRUE(documents);
  const auto document = std::make_shared<const YamlDocument>(documents->front());
  const ParseContext context{kinds, no_files, "", "default", document};
  const auto faults = parse_fault(YamlNode(*document, document->value, ""), context);
  ASSERT_TRUE(faults);
  ASSERT_EQ(faults->size(), 2U);
  EXPECT_EQ(to_yaml(faults->front()), "{node: dead, of: node-0, for: 1m0s}");
  EXPECT_EQ(to_yaml(faults->back()), "{node: dead, of: node-3, for: 1m0s}");
  EXPECT_EQ(faults->back().of_where, "f.yaml:1:27 of[1]");
}

TEST(FaultParser, mistakes_are_told_with_their_place) {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"{of: x}",
       "f.yaml:1:1: a fault needs one of api, watch, controller, scheduler, node, kubelet, "
       "process, "
       "link, dns"},
      {"{api: conflict, dns: lost}",
       "f.yaml:1:1: a fault has one of api, watch, controller, scheduler, node, kubelet, process, "
       "link, dns, not api and dns"},
      {"api: conflit", "f.yaml:1:1 api: unknown fault \"conflit\" (did you mean conflict?)"},
      {"{dns: lost, verb: get}", "f.yaml:1:13 verb: has no meaning for dns: lost"},
      {"{link: drop, of: a, nth: 1}", "f.yaml:1:21 nth: has no meaning for link: drop"},
      {"{node: lost}", "f.yaml:1:1: the field of is missing"},
      {"{dns: wrong, of: a}", "f.yaml:1:1: the field address is missing"},
      {"{dns: wrong, address: here}", "f.yaml:1:14 address: must be an IPv4 address, not \"here\""},
      {"{api: error, code: 404}", "f.yaml:1:14 code: must be 500, 503, 403 or 422, not 404"},
      {"{api: error, code: 403}", "f.yaml:1:1: a refusal with 403 needs a message"},
      {"{dns: lost, of: []}",
       "f.yaml:1:13 of: must be a name, or a list of at least one, not an empty list"},
      {"{watch: drop, until: {of: pod/p, phase: Failed}}",
       "f.yaml:1:15 until: has no meaning for watch: drop"},
      {"{link: drop, of: a, from: b}", "f.yaml:1:21 from: has no meaning for link: drop"},
      {"{process: exit, of: p, code: 256}", "f.yaml:1:24 code: must be at most 255, not 256"},
      {"{process: kill, of: p, signal: 65}",
       "f.yaml:1:24 signal: must be a signal's name or 1 to 64, not 65"},
      {"{process: kill, of: p, signal: STPO}",
       "f.yaml:1:24 signal: unknown signal \"STPO\" (did you mean STOP?)"},
      {"{api: conflict, verb: get}",
       "f.yaml:1:17 verb: must be create, update, patch or delete: only a write conflicts, not "
       "\"get\""},
      {"{link: drop, of: p, for: 0s}", "f.yaml:1:21 for: must be longer than nothing, not \"0s\""},
      {"{controller: double, of: c, for: 0}",
       "f.yaml:1:29 for: must be longer than nothing, not 0"},
      {"{controller: crash, of: c, for: 0s}", "no error"},
      {"{api: lostReply, verb: list}", "no error"},
      {"{process: kill, of: p, nth: 0}", "f.yaml:1:24 nth: must be 1 or more, not 0"},
      {"{api: conflict, verb: updat}",
       "f.yaml:1:17 verb: unknown verb \"updat\" (did you mean update?)"},
      {"{watch: delay, kind: Pos}", "f.yaml:1:16 kind: unknown kind \"Pos\" (did you mean Pod?)"},
      {"{watch: delay, dely: 1s}",
       "f.yaml:1:16 dely: unknown field \"dely\" (did you mean delay?)"},
  };
  for (const Row& row : rows) EXPECT_EQ(error_of(row.text), row.error) << row.text;
}

TEST(FaultParser, a_signal_is_named_or_numbered) {
  for (const char* signal : {"STOP", "SIGSTOP", "19"}) {
    const auto fault = parse(std::string("{process: kill, of: p, signal: ") + signal + "}");
    ASSERT_TRUE(fault) << fault.error().text();
    EXPECT_EQ(signal_of(*fault), 19) << signal;
  }
}

TEST(FaultParser, a_process_is_chosen_by_rank_or_command) {
  const auto fault = parse("{process: kill, of: p, rank: 3, command: train.py, group: true}");
  ASSERT_TRUE(fault) << fault.error().text();
  EXPECT_EQ(fault->which, (ProcessChoice{.rank = 3, .command = "train.py", .group = true}));
  EXPECT_EQ(fault->which.text(), "the group of rank 3 of \"train.py\"");
  EXPECT_EQ(to_yaml(*fault), "{process: kill, of: p, rank: 3, command: train.py, group: true}");
  EXPECT_EQ(error_of("{process: exit, of: p, rank: 3}"),
            "f.yaml:1:24 rank: has no meaning for process: exit");
}

TEST(FaultParser, faults_fit_their_scenario) {
  const auto scenario = [](const std::string& spec) -> std::string {
    const std::string text = "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" + spec +
                             "  steps: [{wait: 1s}]\n";
    const auto parsed = parse_scenario(
        "s.yaml", KindRegistry(), [&](const std::string&) { return Result<std::string>(text); });
    if (!parsed) return parsed.error().text();
    std::string modes;
    for (const Mode mode : parsed->modes) modes += std::string(to_string(mode)) + " ";
    return modes;
  };
  EXPECT_EQ(scenario("  faults: [{node: lost, of: node-0}]\n"), "virtual real ");
  EXPECT_EQ(scenario("  faults: []\n"), "real virtual ");
  EXPECT_EQ(scenario("  faults: [{kubelet: restart, of: nod-0}]\n"),
            "s.yaml:4:31 spec.faults[0].of: there is no node \"nod-0\" (did you mean node-0?)");
  EXPECT_EQ(scenario("  heal: 10s\n  faults: [{dns: lost, at: 9s}]\n"), "virtual real ");
  EXPECT_EQ(scenario("  faults: [{link: delay, of: p}]\n"), "virtual ");
  EXPECT_EQ(scenario("  modes: [real]\n  faults: [{dns: lost}]\n"), "real ");
  EXPECT_EQ(scenario("  heal: 10s\n  faults: [{dns: lost, at: 10s}]\n"),
            "s.yaml:5:24 spec.faults[0].at: the fault would never act: all faults are healed after "
            "10s (spec.heal)");
  EXPECT_EQ(scenario("  modes: [real]\n  faults: [{link: delay, of: p}]\n"),
            "s.yaml:5:12 spec.faults[0]: link: delay acts in virtual time only, without root no "
            "kernel is sure to hold packets back (netem): say modes: [virtual]");
}

TEST(FaultParser, kinds_are_named_singly_or_by_port) {
  const auto names = [](std::string_view list) {
    std::string text;
    const auto kinds = parse_fault_kinds(list);
    if (!kinds) return kinds.error().message;
    for (const FaultRow* row : *kinds) text += row->name() + " ";
    return text;
  };
  EXPECT_EQ(names("dns-lost,api-conflict"), "api-conflict dns-lost ");
  EXPECT_EQ(names("watch"), "watch-delay watch-drop watch-relist ");
  EXPECT_EQ(parse_fault_kinds("all")->size(), fault_rows().size());
  EXPECT_EQ(names("api-conflit"), "unknown fault \"api-conflit\" (did you mean api-conflict?)");
}

TEST(FaultTable, names_are_distinct) {
  std::set<std::string> names;
  for (const FaultRow& row : fault_rows()) {
    EXPECT_TRUE(names.insert(row.name()).second) << row.name();
  }
}

TEST(BlockYaml, is_read_back_as_the_same_value) {
  const char* const texts[] = {
      R"({"a":1,"b":[],"c":{},"d":null,"e":"x: y","f":"","g":true,"h":"true"})",
      R"({"spec":{"steps":[{"kill":"pod/a","when":{"of":"pod/a","step":5}},["x",["y"]]],"n":-1}})",
      R"([{"long":"123456789012345678901234567890123456789012345678901234567890123456789",
          "list":[{"a":"1234567890123456789012345678901234567890","b":[1,2,3,[4,5]],"c":"end"}]}])",
      R"({"text":"two\nlines\tand \"quotes\" \\ \u0001 é"})",
  };
  for (const char* text : texts) {
    const boost::json::value value = boost::json::parse(text);
    for (const std::string& yaml : {block_yaml(value), flow_yaml(value)}) {
      const auto back = parse_yaml(yaml, "x");
      ASSERT_TRUE(back) << yaml << back.error().text();
      ASSERT_EQ(back->size(), 1U) << yaml;
      EXPECT_EQ(back->front().value, value) << yaml;
    }
  }
}

}  // namespace
}  // namespace ddptwin::scenario::fault_parser_test
