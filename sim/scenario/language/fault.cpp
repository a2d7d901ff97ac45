#include "scenario/language/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/result.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view call_fields = "of verb kind name for";
constexpr Duration once = Duration::zero();
// A kubelet's process is not up sooner: what it had asked of the runtime has happened by then.
constexpr Duration kubelet_start_min = std::chrono::seconds(1);
constexpr std::nullopt_t until_healed = std::nullopt;

using Kind = FaultKind;
using Counts = Occurrence;
constexpr std::array rows{
    FaultRow{Kind::api_conflict, "api", "conflict", Counts::call, call_fields, "", once,
             "a write is refused with 409, as if somebody had changed the object meanwhile"},
    FaultRow{
        Kind::api_error, "api", "error", Counts::call, "of verb kind name for code message", "",
        once,
        "a call fails with `code` 500 (default), 503, 403 or 422 and with `message`; nothing is "
        "carried out"},
    FaultRow{Kind::api_timeout, "api", "timeout", Counts::call, "of verb kind name for delay", "",
             once, "a call is not carried out and fails with 504 after `delay` (30s)"},
    FaultRow{Kind::api_latency, "api", "latency", Counts::call, "of verb kind name for delay", "",
             once, "a call is carried out `delay` (2s) later"},
    FaultRow{Kind::api_lost_reply, "api", "lostReply", Counts::call, "of verb kind name for delay",
             "", once,
             "a call is carried out, its author sees a lost connection after `delay` (0)"},
    FaultRow{Kind::watch_delay, "watch", "delay", Counts::event, "of kind name for delay", "", once,
             "an event comes `delay` (2s) late, and with it all that is behind it"},
    FaultRow{Kind::watch_drop, "watch", "drop", Counts::event, "of kind name for", "",
             std::chrono::seconds(10),
             "the stream is silent from that event on, and ends with 410 after `for` (10s); its "
             "reader lists again and never learns what was between"},
    FaultRow{Kind::watch_relist, "watch", "relist", Counts::event, "of kind name", "", once,
             "the stream breaks at that event, which is lost; its reader lists again at once"},
    FaultRow{Kind::controller_crash, "controller", "crash", Counts::write, "of for", "of", once,
             "the process ends after its nth write and before it hears of the answer; it begins "
             "anew after `for` (0)",
             Writer::controller},
    FaultRow{Kind::controller_double, "controller", "double", Counts::write, "of for", "of",
             std::chrono::seconds(30), "a second process of the same controller works for so long",
             Writer::controller},
    FaultRow{Kind::scheduler_down, "scheduler", "down", Counts::write, "for", "",
             std::chrono::seconds(30), "no scheduler runs; a new one begins with empty memory",
             Writer::scheduler},
    FaultRow{Kind::node_lost, "node", "lost", Counts::write, "of for", "of", until_healed,
             "cut off from the API and the network: its kubelet is silent, its containers go on, "
             "the Node becomes Unknown after 50 s and its pods are evicted 5 min later",
             Writer::kubelet},
    FaultRow{Kind::node_dead, "node", "dead", Counts::write, "of for", "of", until_healed,
             "as lost, and its containers end at once", Writer::kubelet},
    FaultRow{Kind::node_deleted, "node", "deleted", Counts::write, "of for", "of", until_healed,
             "as dead, and the Node object is deleted; afterwards a new Node of that name comes",
             Writer::kubelet},
    FaultRow{
        Kind::node_reboot, "node", "reboot", Counts::write, "of for", "of",
        std::chrono::seconds(60),
        "as dead for `for` (1m), and back with nothing of its pods: what ran has ended with 255, "
        "Unknown, and begins in new sandboxes with new addresses, init containers first",
        Writer::kubelet},
    FaultRow{
        Kind::node_shutdown, "node", "shutdown", Counts::write, "of for delay", "of", until_healed,
        "its kubelet ends its pods (phase Failed, reason Terminated) within `delay` (30s), as of "
        "a spot machine that is taken back; then it is dead for `for`",
        Writer::kubelet},
    FaultRow{Kind::node_cordon, "node", "cordon", Counts::write, "of for", "of", until_healed,
             "no new pods are placed there", Writer::kubelet},
    FaultRow{Kind::kubelet_restart, "kubelet", "restart", Counts::write, "of for", "",
             kubelet_start_min,
             "the agent's process ends and begins anew after `for` (1s, and no sooner); containers "
             "go on",
             Writer::kubelet},
    FaultRow{Kind::process_kill, "process", "kill", Counts::start,
             "of container step signal rank command group", "of", once,
             "its first process, or that of a `rank`, or those of a `command`, gets `signal` (9)"},
    FaultRow{Kind::process_exit, "process", "exit", Counts::start, "of container step code", "of",
             once, "it ends by itself with `code` (1)"},
    FaultRow{Kind::link_drop, "link", "drop", Counts::none, "of to step for", "of", until_healed,
             "nothing passes between the pods, and nobody is told"},
    // ddp-semantics.md §3.5, §9.3: `reject with tcp reset` at one end of the link.
    FaultRow{Kind::link_reset, "link", "reset", Counts::none, "of to step for", "of", until_healed,
             "`of` refuses what comes from the other end, which is told so when it sends next; "
             "`of` itself is told nothing"},
    FaultRow{Kind::link_delay, "link", "delay", Counts::none, "of to step for delay", "of",
             until_healed, "each message takes `delay` (200ms) longer", Writer::none,
             "without root no kernel is sure to hold packets back (netem)"},
    FaultRow{Kind::dns_late, "dns", "late", Counts::question, "of from for delay", "", once,
             "the answer comes `delay` (3s) late"},
    FaultRow{Kind::dns_lost, "dns", "lost", Counts::question, "of from for", "", once,
             "no answer comes at all"},
    FaultRow{Kind::dns_servfail, "dns", "servfail", Counts::question, "of from for", "", once,
             "the answer is SERVFAIL"},
    FaultRow{Kind::dns_nxdomain, "dns", "nxdomain", Counts::question, "of from for", "", once,
             "the answer is that there is no such name"},
    FaultRow{Kind::dns_wrong, "dns", "wrong", Counts::question, "of from for address", "address",
             once, "the answer is `address`, as an outdated record gives it"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].kind) != i) return false;
  return true;
}
static_assert(in_order(), "fault_rows() is indexed by kind");

constexpr bool writers_are_named() {
  for (const FaultRow& row : rows)
    if ((row.counts == Occurrence::write) != (row.writer != Writer::none)) return false;
  return true;
}
static_assert(writers_are_named(), "what counts writes says whose");

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::string FaultRow::name() const { return std::string(port) + "-" + std::string(effect); }

std::span<const FaultRow> fault_rows() { return rows; }

const FaultRow& row_of(FaultKind kind) { return rows[static_cast<std::size_t>(kind)]; }

bool takes(const FaultRow& row, std::string_view field) {
  if (field == "nth") return row.counts != Occurrence::none;
  // `for` of a watch that is dropped is how long it is silent.
  if (field == "until") return has_word(row.fields, "for") && row.kind != FaultKind::watch_drop;
  return field == "at" || field == "when" || has_word(row.fields, field);
}

bool must_have(const FaultRow& row, std::string_view field) {
  return has_word(row.required, field);
}

bool can_last_nothing(const FaultRow& row) {
  return row.kind == FaultKind::controller_crash || row.kind == FaultKind::scheduler_down ||
         row.kind == FaultKind::kubelet_restart;
}

const Fault* virtual_only(const FaultPlan& plan) {
  for (const Fault& fault : plan.faults)
    if (!row_of(fault.kind).not_real.empty()) return &fault;
  return nullptr;
}

std::string why_not_real(const Fault& fault) {
  const FaultRow& row = row_of(fault.kind);
  return fmt::format("{}: {} acts in virtual time only, {}", row.port, row.effect, row.not_real);
}

int signal_of(const Fault& fault) {
  constexpr std::int64_t kill = 9;
  return static_cast<int>(fault.signal.value_or(kill));
}

std::optional<Duration> duration_of(const Fault& fault) {
  if (fault.until && !fault.lasts) return std::nullopt;
  const auto lasts = fault.lasts ? fault.lasts : row_of(fault.kind).lasts;
  if (fault.kind == FaultKind::kubelet_restart) return std::max(*lasts, kubelet_start_min);
  if (fault.kind == FaultKind::node_shutdown && lasts)
    return *lasts + fault.delay.value_or(shutdown_grace_default);
  return lasts;
}

bool operator==(const Fault& a, const Fault& b) {
  const auto same = [](const std::optional<FaultState>& one,
                       const std::optional<FaultState>& other) {
    return one.has_value() == other.has_value() &&
           (!one || *one->source.get() == *other->source.get());
  };
  return same(a.when, b.when) && same(a.until, b.until) && a.from == b.from &&
         a.message == b.message && a.kind == b.kind && a.of == b.of && a.to == b.to &&
         a.verb == b.verb && a.object_kind == b.object_kind && a.object == b.object &&
         a.container == b.container && a.at == b.at && a.nth == b.nth && a.step == b.step &&
         a.lasts == b.lasts && a.delay == b.delay && a.code == b.code && a.signal == b.signal &&
         a.address == b.address && a.which == b.which;
}

}  // namespace ddptwin::scenario
