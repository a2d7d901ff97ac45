#include "controller/aistudio/worker.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "objects/pod_phase.hpp"

namespace ddptwin::controller::aistudio {
namespace {

namespace json = boost::json;

const ContainerStatus* status_in(const std::vector<ContainerStatus>& all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [name](const ContainerStatus& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

const ContainerStatus* check_of(const Worker& worker) {
  return worker.pod == nullptr
             ? nullptr
             : status_in(*worker.pod->status.initContainerStatuses, check_container);
}

const ContainerStatus* command_of(const Worker& worker) {
  return worker.pod == nullptr ? nullptr
                               : status_in(*worker.pod->status.containerStatuses, worker_container);
}

std::optional<int> number_in(const json::object& of, std::string_view key) {
  const json::value* found = of.if_contains(key);
  return found != nullptr && found->is_int64() ? std::optional(static_cast<int>(found->as_int64()))
                                               : std::nullopt;
}

std::string text_in(const json::object& of, std::string_view key) {
  const json::value* found = of.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

}  // namespace

bool Worker::checks_now() const {
  const ContainerStatus* check = check_of(*this);
  return check != nullptr && (check->state.running || check->state.terminated);
}

bool Worker::has_checked() const {
  const ContainerStatus* check = check_of(*this);
  return check != nullptr && check->state.terminated && check->state.terminated->exitCode == 0;
}

bool Worker::has_started() const {
  const ContainerStatus* command = command_of(*this);
  return command != nullptr && (command->state.running || command->state.terminated);
}

bool Worker::runs() const {
  const ContainerStatus* command = command_of(*this);
  return command != nullptr && command->state.running && command->ready;
}

bool Worker::is_kept() const {
  const ContainerStatus* command = command_of(*this);
  return command != nullptr && command->state.running && !command->ready;
}

bool Worker::has_ended_well() const {
  const ContainerStatus* command = command_of(*this);
  return command != nullptr && command->state.terminated &&
         command->state.terminated->exitCode == 0;
}

bool Worker::has_succeeded() const {
  // The kubelet tells of the container first, and of the pod's end later.
  return pod != nullptr && pod->status.phase == "Succeeded";
}

std::optional<Failure> failure_of(const Worker& worker, bool by_agent) {
  Failure how;
  how.rank = worker.rank;
  if (worker.pod == nullptr) return how;
  const auto ended = [&how, by_agent](const ContainerStatus* of, Failure::Kind kind) {
    if (of == nullptr || !of->state.terminated || of->state.terminated->exitCode == 0) return false;
    how.kind = kind;
    how.exit_code = of->state.terminated->exitCode;
    how.at = of->state.terminated->finishedAt;
    if (by_agent && of->state.terminated->message == stop_text) how.kind = Failure::Kind::stopped;
    return true;
  };
  // A pod that somebody takes away ends as it is told to: that is no code of the user's.
  const bool taken = worker.pod->metadata.deletionTimestamp.has_value();
  const bool evicted = !worker.pod->status.rest->reason.empty();
  if (!taken && !evicted && is_terminal_phase(worker.pod->status.phase)) {
    if (ended(check_of(worker), Failure::Kind::check)) return how;
    if (ended(command_of(worker), Failure::Kind::command)) return how;
  }
  if (taken || worker.pod->status.phase == "Failed") {
    if (worker.has_succeeded()) return std::nullopt;
    return how;
  }
  return std::nullopt;
}

std::vector<DDPTaskFinding> findings_of(const Worker& worker) {
  std::vector<DDPTaskFinding> found;
  const ContainerStatus* check = check_of(worker);
  if (check == nullptr || !check->state.terminated) return found;
  std::error_code error;
  const json::value told = json::parse(check->state.terminated->message.view(), error);
  if (error || !told.is_array()) return found;
  for (const json::value& one : told.get_array()) {
    if (!one.is_object()) continue;
    const json::object& finding = one.get_object();
    const json::value* ok = finding.if_contains("ok");
    found.push_back({.item = text_in(finding, "item"),
                     .worker = worker.rank,
                     .peer = number_in(finding, "peer"),
                     .ok = ok != nullptr && ok->is_bool() && ok->get_bool(),
                     .message = text_in(finding, "message")});
  }
  return found;
}

const Failure& first_of(const std::vector<Failure>& failures) {
  return *std::min_element(failures.begin(), failures.end(),
                           [](const Failure& a, const Failure& b) {
                             if (a.at && b.at && *a.at != *b.at) return *a.at < *b.at;
                             if (a.at.has_value() != b.at.has_value()) return a.at.has_value();
                             return a.rank < b.rank;
                           });
}

}  // namespace ddptwin::controller::aistudio
