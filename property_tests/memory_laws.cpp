#include "memory_laws.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace ddptwin::property {
namespace {

using Memory = std::vector<World::Remembered>;

void show(std::string_view what, const World::Remembered& one) {
  RC_LOG() << what << ": " << one.part << " of " << one.process << " remembers " << one.key << "\n";
}

// What `process` was remembering is lost once it has ended, and nobody else loses anything.
void require_forgotten(const World& world, const Memory& before, std::string_view process) {
  Memory others;
  for (const World::Remembered& one : before)
    if (one.process != process) others.push_back(one);
  const Memory after = world.remembered();
  for (const World::Remembered& one : after)
    if (std::find(others.begin(), others.end(), one) == others.end()) show("after a crash", one);
  for (const World::Remembered& one : others)
    if (std::find(after.begin(), after.end(), one) == after.end()) show("lost", one);
  RC_ASSERT(after == others);
}

}  // namespace

void require_no_memory_of_what_is_gone(const World& world) {
  for (const World::Remembered& one : world.remembered()) {
    if (one.is_gone) show("gone", one);
    RC_ASSERT(!one.is_gone);
  }
}

void require_crashes_to_forget(World& world) {
  std::set<std::string> processes;
  for (const World::Remembered& one : world.remembered()) processes.insert(one.process);
  for (const std::string& process : processes) {
    const Memory before = world.remembered();
    if (process == "kubelet")
      for (const NodeOptions& node : world.options().nodes) (void)world.stop_kubelet(node.name);
    else if (!world.crash_controller(process))
      world.stop_scheduler();
    require_forgotten(world, before, process);
  }
}

}  // namespace ddptwin::property
