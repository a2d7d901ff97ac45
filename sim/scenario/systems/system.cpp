#include "scenario/systems/system.hpp"

#include <algorithm>

#include "scenario/words/names.hpp"

namespace ddptwin {

std::span<const System* const> all_workload_rows() {
  static const std::vector<const System*> all = [] {
    std::vector<const System*> rows(systems().begin(), systems().end());
    rows.push_back(&kubernetes_itself);
    return rows;
  }();
  return all;
}

std::string_view title_of(std::string_view system) {
  for (const System* row : all_workload_rows())
    if (row->name == system) return row->title;
  return {};
}

const System* find_system(std::string_view name) {
  for (const System* system : systems())
    if (system->name == name) return system;
  return nullptr;
}

std::vector<const KindInfo*> kinds_of(const System& system) {
  std::vector<const KindInfo*> kinds;
  const auto add = [&kinds](const KindInfo& kind) {
    if (std::find(kinds.begin(), kinds.end(), &kind) == kinds.end()) kinds.push_back(&kind);
  };
  for (const KindOf kind : system.kinds) add(kind());
  for (const KindOf kind : system.serves) add(kind());
  for (const scenario::JobKind& job : system.jobs) add(job.info());
  for (const scenario::WorkloadReader* reader : system.readers) add(reader->info());
  return kinds;
}

const System* system_of_kind(std::string_view kind, std::string_view api_version) {
  for (const System* system : systems())
    for (const KindInfo* own : kinds_of(*system))
      if ((own->kind == kind || own->plural == kind || own->singular == kind) &&
          (api_version.empty() || own->api_version() == api_version))
        return system;
  return nullptr;
}

bool is_of_a_system(std::string_view actor) {
  const auto is_its = [actor](const System* system) {
    return system->name == actor ||
           std::any_of(system->controllers.begin(), system->controllers.end(),
                       [actor](const SystemController& one) { return one.name == actor; });
  };
  return std::any_of(systems().begin(), systems().end(), is_its);
}

KindRegistry kinds_with(std::span<const InstalledSystem> installed, const KindRegistry& kinds) {
  KindRegistry here = kinds;
  for (const System* system : systems())
    for (const KindInfo* kind : kinds_of(*system)) {
      const bool known = here.find(kind->api_version(), kind->kind) != nullptr;
      if (!is_among(installed, *system))
        here.remove(kind->group, kind->kind);
      else if (!known)  // it lives for ever
        here.add(std::shared_ptr<const KindInfo>(std::shared_ptr<void>(), kind));
    }
  return here;
}

bool is_installed(const System& system, std::span<const KindInfo* const> told) {
  return system.kinds.empty() ||
         std::any_of(system.kinds.begin(), system.kinds.end(), [told](KindOf kind) {
           return std::find(told.begin(), told.end(), &kind()) != told.end();
         });
}

std::vector<InstalledSystem> default_systems() {
  std::vector<InstalledSystem> installed;
  for (const System* system : systems())
    if (!system->on_request)
      installed.push_back({.system = system, .version = system->default_version()});
  return installed;
}

void switch_on(std::vector<InstalledSystem>& among, const System& system) {
  if (is_among(among, system)) return;
  const auto place = [](const System* one) {
    return std::find(systems().begin(), systems().end(), one);
  };
  const auto behind = std::find_if(among.begin(), among.end(), [&](const InstalledSystem& one) {
    return place(&system) < place(one.system);
  });
  among.insert(behind, {.system = &system, .version = system.default_version()});
}

void set_version(std::vector<InstalledSystem>& among, const System& system,
                 std::string_view version) {
  for (InstalledSystem& one : among)
    if (one.system == &system) one.version = version;
}

void set_flag(std::vector<InstalledSystem>& among, const System& system, const SystemFlag& flag,
              std::string value) {
  for (InstalledSystem& one : among)
    if (one.system == &system) one.flags.insert_or_assign(std::string(flag.name), value);
}

void switch_off(std::vector<InstalledSystem>& among, const System& system) {
  std::erase_if(among, [&system](const InstalledSystem& one) { return one.system == &system; });
}

bool is_among(std::span<const InstalledSystem> installed, const System& system) {
  return !version_of(installed, system).empty();
}

std::string_view version_of(std::span<const InstalledSystem> among, const System& system) {
  const auto found =
      std::find_if(among.begin(), among.end(),
                   [&system](const InstalledSystem& one) { return one.system == &system; });
  return found == among.end() ? std::string_view() : found->version;
}

namespace scenario {
namespace {

std::span<const InvariantRow> invariants_of(const System& system) {
  return system.invariants == nullptr ? std::span<const InvariantRow>() : system.invariants();
}

}  // namespace

std::string_view kind_of_controller(std::string_view actor) {
  for (const System* system : all_workload_rows())
    for (const SystemController& row : system->controllers)
      if (row.name == actor) return row.kind;
  return {};
}

std::span<const WorkloadReader* const> workload_readers() {
  static const std::vector<const WorkloadReader*> all = [] {
    std::vector<const WorkloadReader*> readers;
    for (const System* system : all_workload_rows())
      readers.insert(readers.end(), system->readers.begin(), system->readers.end());
    return readers;
  }();
  return all;
}

std::span<const SchedulerRow> scheduler_rows() {
  static const std::vector<SchedulerRow> all = [] {
    std::vector<SchedulerRow> rows{{.name = "default-scheduler"}};
    for (const System* system : systems())
      for (SchedulerRow row : system->schedulers) {
        row.system = system->name;
        rows.push_back(row);
      }
    return rows;
  }();
  return all;
}

const SchedulerRow* find_scheduler(std::string_view name) {
  for (const SchedulerRow& row : scheduler_rows())
    if (row.name == name) return &row;
  return nullptr;
}

std::span<const InvariantRow> invariant_rows() {
  static const std::vector<InvariantRow> all = [] {
    const auto common = common_invariant_rows();
    std::vector<InvariantRow> rows(common.begin(), common.end());
    for (const System* system : all_workload_rows())
      for (InvariantRow row : invariants_of(*system)) {
        row.system = system->name;
        rows.push_back(row);
      }
    return rows;
  }();
  return all;
}

}  // namespace scenario
}  // namespace ddptwin
