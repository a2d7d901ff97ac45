#include "scenario/language/reference.hpp"

#include <fmt/format.h>

#include <utility>

#include "objects/kinds.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/language/absent_kinds.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view introduction = R"(# The scenario file

Made from the parser's tables by `ddptwin list --reference`; a test holds it to them.

A scenario is a YAML document `kind: Scenario` beside ordinary Kubernetes documents in one stream.
The Kubernetes documents are applied at the start, unmodified; the Scenario says on which cluster,
what the images are on this machine, what is done then, and what must come of it. A file without a
Scenario runs on a default cluster, and every job in it must come to an end. Paths are beside the
file that names them. Durations are written `500ms`, `2s`, `1m30s`, or as a number of seconds.

Kubernetes documents are taken as `kubectl apply` takes them, and the first lines of a run tell
what is taken otherwise than it is written: a `List` is its items; of a key that is given twice the
last one holds (a Scenario has each once); of an object as a server showed it (`kubectl get -o
yaml`) what only servers write is not applied, and what its controller makes anew is left to it; a
namespace that no document makes is there (`namespaces: strict` refuses). `generateName` is refused.

```yaml
# A worker is killed in the middle of training; the file's first comment tells the incident.
apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
spec:
  manifests: [job.yaml]
  steps:
  - kill: pod/mnist-worker-0
    when: {of: pod/mnist-worker-0, step: 5}
  expect:
  - eventually: {of: pytorchjob/mnist, condition: Succeeded}
    within: 30s
```
)";

constexpr std::string_view invariants_head =
    "| name | what holds | upstream breaks it by |\n|---|---|---|\n";

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string table_text(const ReferenceTable& table) {
  std::string out = fmt::format("\n## {}\n", table.title);
  if (!table.intro.empty()) out += fmt::format("\n{}\n", table.intro);
  out += "\n| field | value | meaning |\n|---|---|---|\n";
  for (const ReferenceRow& row : table.rows)
    out += fmt::format("| `{}`{} | {} | {} |\n", row.name, row.required ? " (required)" : "",
                       cell(row.shape), cell(row.help));
  return out;
}

std::string kinds_text() {
  const auto row_of_kind = [](std::string_view kind, std::string_view version,
                              std::string_view meaning) {
    return fmt::format("| `{}` | {} | {} |\n", kind, version, cell(meaning));
  };
  std::string out =
      "\n## The kinds of objects\n\n"
      "A document of a kind that real clusters have and the twin has not is set aside with a note "
      "of what holds without\nit; one that has pods (\"runs\" below; of custom resources what has "
      "containers, an image, or is called ...Job) is\nrefused where nothing else of the run has "
      "any. Custom resources of others are set aside too. What an object that\nstays names by kind "
      "and name is not set aside.\nA claim that is bound is a folder: its pods share it, on "
      "every node that its volume reaches, as long as the volume\nlasts and no longer than the "
      "run, unless `cluster.claims` names a folder of this machine for it, or its volume is a\n"
      "hostPath or local path that this machine has. What it asks for and what its volume has are "
      "compared; a volume\nthat is a disk of its own is full at its capacity.\n\n"
      "| kind | version | in the twin |\n|---|---|---|\n";
  for (const KindInfo* kind : KindRegistry().all())
    out += row_of_kind(kind->kind, kind->api_version(), "yes");
  for (const AbsentKind& one : absent_kinds())
    out += row_of_kind(one.kind, one.api_version,
                       fmt::format("no{}: {}", one.runs ? ", runs" : "", one.instead));
  return out;
}

std::string versions_text(const System& system) {
  std::string out = fmt::format(
      "\n## The versions of the {}\n\n`spec.cluster.systems.{}`; its "
      "controllers are",
      system.title, system.name);
  for (const SystemController& one : system.controllers)
    out += fmt::format("{} `{}`", &one == system.controllers.data() ? "" : ",", one.name);
  out += ".\n\n";
  for (const std::string_view version : system.versions())
    out += fmt::format("- {}{}\n", version,
                       version != system.default_version() ? ""
                       : system.on_request                 ? " (default, and there on request)"
                                                           : " (default)");
  if (!system.flags.empty()) out += "\n| flag | value | |\n|---|---|---|\n";
  for (const SystemFlag& flag : system.flags)
    out += fmt::format("| `{}` | {} | {} |\n", flag.name, flag.shape, cell(flag.help));
  return out;
}

}  // namespace

std::string reference_page() {
  std::string out(introduction);
  for (const ReferenceTable& table : reference_tables()) out += table_text(table);
  out +=
      "\n## The invariants\n\n`ddptwin list invariants NAME` explains one. Strict ones are watched "
      "where "
      "`also` or `violated` names\nthem: upstream breaks them in everyday runs.\n\n";
  out += invariants_head;
  std::string_view owner;
  for (const InvariantRow& row : invariant_rows()) {
    if (std::exchange(owner, row.system) != row.system)
      out += fmt::format("\nOf the {} alone, and only watched where it is installed:\n\n{}",
                         title_of(row.system), invariants_head);
    out += fmt::format("| `{}`{} | {} | {} |\n", row.name, row.strict ? " (strict)" : "",
                       cell(row.meaning), cell(row.broken_by));
  }
  out += kinds_text();
  for (const System* system : systems()) out += versions_text(*system);
  return out;
}

}  // namespace ddptwin::scenario
