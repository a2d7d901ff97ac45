// What a scenario says: a cluster, what to apply to it, what to do to it and when, and what must
// come of it. Values only; scenario_parser.hpp reads them, engine.hpp carries them out. The
// language is described in docs/reference/scenario.md, which is made from the parser's tables.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/client.hpp"
#include "objects/yaml.hpp"
#include "runtime/images/image.hpp"
#include "runtime/model/workload.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/language/fault.hpp"
#include "scenario/language/manifest_notes.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario {

// Objects of one kind: one by name, those with labels, or all in a namespace.
struct Selection {
  const KindInfo* kind = nullptr;
  std::string namespace_{};
  std::string name{};            // empty: any
  std::string label_selector{};  // empty: any
  std::string where{};           // file, line and field
  std::string text() const;      // "pod/mnist-worker-0", "pod{job-name=mnist}"
};

// A number within bounds, both included.
struct Range {
  std::optional<std::int64_t> at_least{};
  std::optional<std::int64_t> at_most{};
  bool holds(std::int64_t number) const;
  std::string text() const;  // "2", "at least 1", "1 to 3"
};

// Claims: each is one thing that may be true of one object (state.hpp judges them).
struct PhaseClaim {
  std::string phase{};
};
struct ConditionClaim {
  std::string type{};
  std::string status = "True";
  std::optional<std::string> reason{};
  std::optional<std::string> message{};
};
struct MatchClaim {
  RawJson part{};  // every field in it is in the object with this value
};
struct LogClaim {
  std::string pattern{};  // ECMAScript regular expression, searched in each line
};
struct StepClaim {
  std::int64_t step =
      0;  // a container of the pod printed the end of this training step or a later one
};
struct RestartsClaim {
  Range restarts{};  // the containers' restartCounts, summed
};
struct ExitCodeClaim {
  std::int64_t exit_code = 0;  // a container of the pod has ended with it
};
struct ReasonClaim {
  std::string reason{};  // a container is waiting or has ended for it
};
struct CreatedClaim {
  Range times{};  // how many objects of that name there have been
};
struct EventClaim {
  std::string reason{};  // an Event of this reason tells of the object
};
struct FinishedClaim {};   // a job or pod has come to its end, well or badly (workloads.hpp)
struct SucceededClaim {};  // well; of a pod that is restarted for ever, it is Running and Ready
using Claim = std::variant<PhaseClaim, ConditionClaim, MatchClaim, LogClaim, StepClaim,
                           RestartsClaim, ExitCodeClaim, ReasonClaim, CreatedClaim, EventClaim,
                           FinishedClaim, SucceededClaim>;

// Something that may be true of the cluster: enough of the selected objects fulfil every claim.
struct State {
  Selection of{};
  std::string container{};  // of the claims about containers; empty: any
  std::vector<Claim> claims{};
  Range count{1, std::nullopt};
  std::string text{};   // as it was written, on one line
  std::string where{};  // file, line and field
};

// One object to be applied, and where it was written: a whole document, or a part of one.
struct Manifest {
  std::shared_ptr<const YamlDocument> document{};
  // Within the document, or what is left of it where a server had written into it (exported.hpp).
  std::shared_ptr<const boost::json::value> value{};
  std::string base{};  // the value's path in the document
  ObjectPtr object{};
};

// What a step does.
struct Apply {
  std::vector<Manifest> manifests{};
};
struct Delete {
  Selection of{};
  api::DeleteOptions options{};
};
struct Evict {
  Selection of{};
  api::DeleteOptions options{};
};
// What is done to a running container of each of some pods.
struct ToContainer {
  Selection of{};
  std::string container{};  // empty: the first
};
struct Kill : ToContainer {
  int signal = 9;
  ProcessChoice which{};
};
struct Exec : ToContainer {
  std::vector<std::string> command{};
  std::optional<std::int64_t> exit_code = 0;  // with which each has to end; nothing: any
  std::string output{};  // a regular expression, to be found in a line of each; empty: any
};
struct Patch {
  Selection of{};
  api::PatchType type = api::PatchType::merge;
  std::string subresource{};
  // Of type apply: who applies (empty: kubectl), and whether fields of others are taken.
  std::string field_manager{};
  bool force = false;
  RawJson body{};
};
struct Wait {
  std::optional<State> state{};  // or
  Duration duration{};           // from the step's beginning on
};
// What is measured from now on, for autoscalers: of each object that is or will be selected.
struct Measure {
  std::optional<Selection> of{};  // nothing: of nothing in the cluster (external metrics)
  std::string container{};        // of a pod, whose usage it is; empty: the first
  std::map<std::string, Quantity, std::less<>> resources{};  // cpu, memory
  std::map<std::string, Quantity, std::less<>> values{};     // of other metrics
};
using StepAction = std::variant<Apply, Delete, Evict, Kill, Exec, Patch, Wait, Measure>;

// Null: the action is not about containers.
const ToContainer* about_containers(const StepAction& action);

// When a step begins: all of what is given, counted from the end of the step before it.
struct Trigger {
  std::optional<Duration> after{};  // since the step before ended
  std::optional<Duration> at{};     // since the scenario began
  std::optional<State> when{};
};

struct Step {
  std::string name{};
  StepAction action{};
  Trigger trigger{};
  std::optional<Duration> within{};  // how long its states may take; absent: the scenario's timeout
  std::optional<std::string> refused{};  // the API refuses it, in words that these are a part of
  std::string text{};                    // "kill pod/mnist-worker-0 signal 9"
  std::string where{};
};

// When its state must hold.
enum class Quantifier : std::uint8_t { eventually, always, never, finally };
std::string_view to_string(Quantifier quantifier);

struct Expectation {
  std::string name{};  // empty: its text
  Quantifier quantifier = Quantifier::eventually;
  State state{};
  // eventually: until then at the latest; always, never: only so long. Absent: to the end.
  std::optional<Duration> within{};
  std::optional<Duration> lasting{};  // eventually: it has to be so for that long without a break
  std::string since{};  // the step at whose end the clock starts; empty: the scenario's start
  std::string text{};
  std::string where{};
};

struct ImageUse;

struct NamedImage {
  std::string name{};    // as manifests write it
  bool missing = false;  // no registry has it
  Image image{};
  std::optional<model::Workload> model{};  // what its script does, for virtual runs
  std::vector<std::string> notes{};   // what of its Dockerfile has no effect, with file and line
  std::vector<std::string> unread{};  // of what it copies, what no script is known of, and why
  bool of_host = false;               // nobody described it: it is taken to be the host's own tools
  bool stand_in = false;              // where its commands cannot be had here, something stands in
};

// What stands in for what is not here: a training of that shape (stand_ins.hpp). Plain manifests
// have it in any case.
struct StandInShape {
  bool wanted = false;  // by a scenario, for every image
  std::int64_t steps = 20;
  Duration step_time = std::chrono::milliseconds(100);
  friend bool operator==(const StandInShape&, const StandInShape&) = default;
};

// What becomes of a set of pods that are restarted for ever, once all of them have ended well
// (on_success.hpp).
enum class OnSuccess : std::uint8_t { restart, hold, scale_to_zero };

enum class Mode : std::uint8_t { real, virtual_ };
std::string_view to_string(Mode mode);

// A folder of this machine that stands for a claim in real runs.
struct ClaimFolder {
  std::string folder{};
  std::string where{};  // it is said
};

struct Scenario {
  std::string name{};
  std::string file{};
  std::string incident{};  // the file's first comment
  bool plain = false;      // there was no Scenario document: the defaults hold
  std::string namespace_ = "default";
  std::vector<NodeOptions> nodes{};
  std::vector<InstalledSystem> systems = default_systems();
  ControlPlaneFlags flags{};
  std::map<std::string, ClaimFolder, std::less<>> claim_folders{};  // by "namespace/name"
  std::string domain = "cluster.local";                             // of its names in the DNS
  // What names outside the cluster are: to addresses; all others do not exist.
  std::map<std::string, std::vector<std::string>, std::less<>> outside_names{};
  std::vector<NamedImage> images{};
  StandInShape stand_ins{};
  std::vector<Manifest> manifests{};  // applied at the start, in their order
  // Whose images are which (run/images.hpp); null: not worked out yet.
  std::shared_ptr<const std::vector<ImageUse>> uses{};
  std::vector<ManifestNote> notes{};
  std::vector<SetAside> set_aside{};
  bool strict_namespaces = false;  // those that no document makes are not there
  std::vector<Step> steps{};
  std::vector<Expectation> expectations{};
  InvariantPolicy invariants{};
  std::vector<Mode> modes{};
  std::string torch{};    // of the modelled workers, a profile's name; empty: the default
  std::string machine{};  // what they and their network run on, of machine_names(); empty: host
  FaultPlan faults{};
  std::optional<std::uint64_t> seed{};  // where the command line names none
  Duration timeout = std::chrono::minutes(2);
  OnSuccess on_success = OnSuccess::restart;
};

// "1.13", "1.13+py3.11" (Debian 12's) and "2.x"; the last one is the default.
const std::vector<std::string_view>& torch_profile_names();
// Those that differ in more than what torchrun has to be told.
const std::vector<std::string_view>& measured_torch_names();
// Of machines whose times the model knows.
const std::vector<std::string_view>& machine_names();

}  // namespace ddptwin::scenario
