// A fault as a value: what goes wrong, where, when and for how long (design.md section 6). Read
// from YAML and written back (fault_parser.hpp, fault_yaml.hpp), carried out by injector.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"
#include "objects/type.hpp"
#include "runtime/process_choice.hpp"

namespace ddptwin::scenario {

struct State;  // scenario.hpp

// In the order of fault_rows().
enum class FaultKind : std::uint8_t {
  api_conflict,
  api_error,
  api_timeout,
  api_latency,
  api_lost_reply,
  watch_delay,
  watch_drop,
  watch_relist,
  controller_crash,
  controller_double,
  scheduler_down,
  node_lost,
  node_dead,
  node_deleted,
  node_reboot,
  node_shutdown,
  node_cordon,
  kubelet_restart,
  process_kill,
  process_exit,
  link_drop,
  link_reset,
  link_delay,
  dns_late,
  dns_lost,
  dns_servfail,
  dns_nxdomain,
  dns_wrong,
};

// What `nth` counts at a port.
enum class Occurrence : std::uint8_t {
  call,      // API calls: writes, or those of the verb that is named
  event,     // events of a watch
  write,     // API writes of a process, once they are answered
  start,     // starts of a container
  question,  // questions to the DNS
  none,      // the fault acts by time, state or training step alone
};

// Whose writes `nth` counts, where it counts those of a process.
enum class Writer : std::uint8_t { none, controller, scheduler, kubelet };

// One kind of fault. Texts are literals.
struct FaultRow {
  FaultKind kind;
  std::string_view port;    // "api": the key in YAML
  std::string_view effect;  // "conflict": its value
  Occurrence counts;
  std::string_view fields;    // that have a meaning, beside at, when and nth; parted by blanks
  std::string_view required;  // of them, those that must be given
  std::optional<Duration> lasts{};  // without `for`; absent: until the faults are healed
  std::string_view help;
  Writer writer = Writer::none;
  std::string_view not_real{};  // why it cannot act in real runs; empty: it can
  std::string name() const;     // "api-conflict"
};
std::span<const FaultRow> fault_rows();
const FaultRow& row_of(FaultKind kind);
bool takes(const FaultRow& row, std::string_view field);
bool must_have(const FaultRow& row, std::string_view field);
// Whether `for` may be 0s: a process that begins anew at once is another one all the same.
bool can_last_nothing(const FaultRow& row);

// A state that a fault waits for, and how it was written.
struct FaultState {
  std::shared_ptr<const State> state{};
  RawJson source{};
};

// All of what is given must hold: once `at` has come and `when` was so, the nth occurrence (the
// first without it) triggers the fault; where nothing is counted, it is triggered at once. Then it
// goes on for `lasts`: at a port with occurrences every matching one is hit until that time is
// over, and without any time only the one that triggered it.
struct Fault {
  FaultKind kind = FaultKind::api_conflict;

  // Where. Empty: any.
  std::string of{};           // actor or controller, node, pod ("ns/name" or "name"), or DNS name
  std::string to{};           // the other end of a link: a pod; empty: all others
  std::string verb{};         // of a call
  std::string object_kind{};  // of a call or event: "Pod"
  std::string object{};       // of a call or event: the object's name
  std::string container{};    // of a pod; empty: the first
  std::string from{};         // of a question: the pod that asks
  ProcessChoice which{};      // of its processes

  // When.
  std::optional<Duration> at{};  // since the scenario began
  std::optional<FaultState> when{};
  std::optional<std::int64_t> nth{};
  std::optional<std::int64_t> step{};  // once the pod has printed the end of this training step

  // How long and how much.
  std::optional<Duration> lasts{};    // `for`
  std::optional<FaultState> until{};  // over as soon as it is so
  std::optional<Duration> delay{};
  std::optional<std::int64_t> code{};  // HTTP status, or the container's exit code
  std::optional<std::int64_t> signal{};
  std::string address{};
  std::string message{};  // of a refused call; empty: the API's usual words

  std::string where{};     // file and line; not a part of the value
  std::string of_where{};  // those of `of`
  std::string at_where{};  // and of `at`

  // Two faults that are written alike.
  friend bool operator==(const Fault& a, const Fault& b);
};

// What goes wrong in one run, and when all of it ends.
struct FaultPlan {
  std::vector<Fault> faults{};
  std::optional<Duration> heal{};  // since the scenario began; absent: each ends by itself
};

// The first of the plan that cannot act in real runs; null: all can. And why.
const Fault* virtual_only(const FaultPlan& plan);
std::string why_not_real(const Fault& fault);

// The signal of a kill.
int signal_of(const Fault& fault);

// How long it goes on, by itself or by its kind; absent: until healed, or until its state is so.
std::optional<Duration> duration_of(const Fault& fault);

constexpr Duration watch_delay_default = std::chrono::seconds(2);
constexpr Duration api_latency_default = std::chrono::seconds(2);
constexpr Duration api_timeout_default = std::chrono::seconds(30);  // client-go's usual bound
constexpr Duration link_delay_default = std::chrono::milliseconds(200);
// What a kubelet's shutdownGracePeriod gives the pods of a spot node (failure-modes.md FM-070).
constexpr Duration shutdown_grace_default = std::chrono::seconds(30);
constexpr Duration dns_late_default = std::chrono::seconds(3);

}  // namespace ddptwin::scenario
