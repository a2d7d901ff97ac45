#include "runtime/model/chosen_processes.hpp"

#include <algorithm>

namespace ddptwin::model {
namespace {

// Its process 1 has no parent either, and was asked for by nobody.
ProcessFacts facts_of(const Process& process) {
  ProcessFacts facts;
  facts.id = process.id();
  facts.parent = process.state().parent;
  facts.argv = process.argv();
  facts.rank = process.env("RANK");
  facts.is_elastic = !process.env("TORCHELASTIC_RUN_ID").empty();
  facts.is_asked = process.state().parent == 0 && process.pid() != 1;
  return facts;
}

}  // namespace

std::vector<ProcessId> meant_by(const Kernel& kernel, const ModelContainer& container,
                                const ProcessChoice& choice) {
  std::vector<ProcessFacts> alive;
  for (const ProcessId id : container.processes)
    if (const Process* process = kernel.find(id); process != nullptr)
      alive.push_back(facts_of(*process));
  std::vector<ProcessId> meant;
  const auto add = [&meant](ProcessId id) {
    if (std::find(meant.begin(), meant.end(), id) == meant.end()) meant.push_back(id);
  };
  const std::vector<std::int64_t> first{container.processes.front()};
  for (const std::int64_t id : choice.is_first() ? first : chosen(alive, choice)) {
    const auto one = static_cast<ProcessId>(id);
    const Process* process = kernel.find(one);
    if (process == nullptr) continue;
    if (!choice.group) {
      add(one);
      continue;
    }
    for (const ProcessId member : process->group()) add(member);
  }
  // A process that has ended leaves a 0 where it was.
  static_cast<void>(std::stable_partition(
      meant.begin(), meant.end(), [&](ProcessId id) { return id != container.processes.front(); }));
  return meant;
}

}  // namespace ddptwin::model
