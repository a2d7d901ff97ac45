// The job systems that a cluster may have, one row each: what a system brings along, so that what
// speaks of all of them reads a row instead of naming one (docs/decisions/0010).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/scheduler/process.hpp"
#include "cluster/store/admission.hpp"
#include "objects/kinds.hpp"
#include "scenario/invariants/gangs.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/invariants/workload.hpp"
#include "scenario/systems/state_watch.hpp"
#include "scenario/systems/status_words.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin {

struct Schema;
struct Container;
namespace controller {
class Controller;
struct Rule;
}  // namespace controller

// What a system may ask of the cluster that it moves into. Lanes and sources of chance are numbered
// as they are asked for: a system that is not installed costs a world nothing and moves nothing.
class Installer {
 public:
  using MakeController = std::function<std::unique_ptr<controller::Controller>()>;

  virtual ~Installer() = default;
  // The definition of a custom kind, which worlds may share.
  virtual void define(const KindInfo& kind, std::shared_ptr<const Schema> definition) = 0;
  // A webhook about objects of that kind, of all verbs or of one.
  virtual void admit(AdmissionPhase phase, AdmissionHook hook, const KindInfo& kind,
                     std::optional<api::Verb> verb) = 0;
  void admit(AdmissionPhase phase, AdmissionHook hook, const KindInfo& kind) {
    admit(phase, std::move(hook), kind, std::nullopt);
  }
  // A process with a client and informers of its own. `make` is called again for a second one.
  virtual void host(const char* actor, MakeController make) = 0;
  // A scheduler beside the cluster's own, where that runs; with a client of its own. `make` is
  // called again when it begins anew.
  virtual void schedule(const char* actor, MakeScheduler make) = 0;
  // What its manifests install beside itself. It is created when the world starts, before anything
  // runs.
  virtual void provide(std::shared_ptr<const Object> object) = 0;
  // What its webhooks look at beside the object in hand.
  virtual const Store& cluster() const = 0;
};

// A field of an older version of a kind, and what has become of it.
struct MovedField {
  std::string_view kind;
  std::string_view old_name;  // in spec
  std::string_view now;
};

// A controller by its own name, and the kind that its keys are of.
struct SystemController {
  std::string_view name;  // "pytorchjob-controller"
  std::string_view kind;  // "pytorchjob"
};

using KindOf = const KindInfo& (*)();

// What a system's processes are started with, or their configuration says.
struct SystemFlag {
  std::string_view name;   // "pytorch-init-container-image"
  std::string_view shape;  // what the value is, in words
  std::string_view help;
  // Whether a value can be taken.
  bool (*takes)(std::string_view value);
};

struct InstalledSystem;

// A member of a manifest that speaks of gangs, and goes unheeded where nobody schedules them.
struct GangField {
  const KindInfo& (*kind)() = nullptr;
  std::string_view path;  // in spec: "runPolicy.schedulingPolicy"
  // Why nobody heeds it, in a cluster that has these systems, its own among them; empty: somebody
  // does.
  std::string (*unheeded)(std::span<const InstalledSystem> installed) = nullptr;
};

struct System {
  std::string_view name;   // "training-operator": its process as the API and faults name it
  std::string_view title;  // "training operator": in sentences
  // Oldest first. Their texts are literals.
  std::vector<std::string_view> (*versions)() = nullptr;
  // By tag or release ("v1.9"); empty: there is none such.
  std::string_view (*find_version)(std::string_view text) = nullptr;
  // What a scenario gets that names none.
  std::string_view (*default_version)() = nullptr;
  std::span<const SystemController> controllers;
  // Every rule that its controllers may give as a reason.
  std::span<const controller::Rule* const> (*rules)();
  // Kinds of its own that not every world has: it is installed only where one of them is told of.
  // None: it is there in any case.
  std::span<const KindOf> kinds{};
  // Kinds that are served wherever it is installed, though nothing is told of them.
  std::span<const KindOf> serves{};
  // Kinds that its controllers make, and that not every world has.
  std::span<const KindOf> makes{};
  // Whether they make a HorizontalPodAutoscaler for this object; null: for none.
  bool (*is_autoscaled)(const Object& object) = nullptr;
  // Its kinds that run to an end, and those whose pods run for ever.
  std::span<const scenario::JobKind> jobs{};
  std::span<const scenario::StandingKind> standing{};
  // What its kinds, and others that it watches, tell of themselves.
  std::span<const scenario::StatusWords> states{};
  // Who sees in the trace what they do not tell; null: they tell all.
  std::unique_ptr<scenario::StateWatch> (*watch)() = nullptr;
  // How judges read its workloads, and what only it promises of them; null: nothing.
  std::span<const scenario::WorkloadReader* const> readers{};
  std::span<const GangField> gang_fields{};
  // Schedulers of its own.
  std::span<const scenario::SchedulerRow> schedulers{};
  std::span<const scenario::InvariantRow> (*invariants)() = nullptr;
  std::span<const MovedField> moved{};
  std::span<const SystemFlag> flags{};
  // A cluster has it only where a scenario asks for it.
  bool on_request = false;
  void (*install)(Installer& into, const InstalledSystem& told) = nullptr;
  // What a container will make of its variables, by name, in sentences; null: nothing is to be
  // said.
  std::vector<std::string> (*explain)(const Container& container,
                                      const StringMap& variables) = nullptr;
};

// A system that a cluster has, in one of its versions, and the flags that are not as by default.
struct InstalledSystem {
  const System* system = nullptr;
  std::string_view version{};
  std::map<std::string, std::string, std::less<>> flags{};
};

// What Kubernetes itself has of workloads: always there, and nobody installs it or names its
// version.
extern const System kubernetes_itself;
extern const System training_operator;
extern const System ddpset_platform;
extern const System jobset_system;
extern const System trainer_system;
extern const System scheduler_plugins_system;
extern const System volcano_system;
extern const System t9k_system;
extern const System aistudio_system;

// All of them, in the order in which they are installed.
std::span<const System* const> systems();
// Those, and then Kubernetes' own row.
std::span<const System* const> all_workload_rows();
// In sentences, of any of these rows.
std::string_view title_of(std::string_view system);
// By its name; null: there is none such.
const System* find_system(std::string_view name);
// Whose kind that is; null: nobody's, or Kubernetes' own. Without the version it is the first that
// has one of that name.
const System* system_of_kind(std::string_view kind, std::string_view api_version = {});
// Kinds that exist only where the system does.
std::vector<const KindInfo*> kinds_of(const System& system);
// A system's process, or one of its controllers.
bool is_of_a_system(std::string_view actor);
// Kinds that clusters with these systems have: `kinds`, without those of other systems.
KindRegistry kinds_with(std::span<const InstalledSystem> installed, const KindRegistry& kinds);

// Whether a world that is told of these kinds has it.
bool is_installed(const System& system, std::span<const KindInfo* const> told);

// Every system at its default version, but for those that are there on request.
std::vector<InstalledSystem> default_systems();
// It is among them afterwards, in its place; where it was not, at its default version.
void switch_on(std::vector<InstalledSystem>& among, const System& system);
// Another version of a system that is among them, or another value of a flag.
void set_flag(std::vector<InstalledSystem>& among, const System& system, const SystemFlag& flag,
              std::string value);
void set_version(std::vector<InstalledSystem>& among, const System& system,
                 std::string_view version);
// It is not among them afterwards.
void switch_off(std::vector<InstalledSystem>& among, const System& system);
bool is_among(std::span<const InstalledSystem> installed, const System& system);
// Empty where it is not installed.
std::string_view version_of(std::span<const InstalledSystem> among, const System& system);

}  // namespace ddptwin
