#include "runtime/script_runtime.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/concat.hpp"
#include "core/numbers.hpp"
#include "runtime/cri_json.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr int killed_code = 137, terminated_code = 143, start_error_code = 128;
constexpr std::int64_t image_size = 1000000;
constexpr std::string_view script_prefix = "rig/";

constexpr std::array<std::string_view, 16> grpc_codes{
    "Canceled",           "Unknown",       "InvalidArgument",  "DeadlineExceeded",
    "NotFound",           "AlreadyExists", "PermissionDenied", "ResourceExhausted",
    "FailedPrecondition", "Aborted",       "OutOfRange",       "Unimplemented",
    "Internal",           "Unavailable",   "DataLoss",         "Unauthenticated",
};

Error scripted_error(std::string_view text) {
  const auto colon = text.find(": ");
  const std::string_view code = text.substr(0, colon);
  const bool known = std::find(grpc_codes.begin(), grpc_codes.end(), code) != grpc_codes.end() &&
                     colon != std::string_view::npos;
  return Error{Reason::unknown, std::string(known ? code : "Unknown"),
               std::string(known ? text.substr(colon + 2) : text), nullptr, 0};
}

int number_at(std::string_view text) { return take_number<int>(text).value_or(0); }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "1 after 2"; a code alone is at once.
struct CodeAfter {
  int code = 0;
  Duration after{};
};
CodeAfter parse_code_after(std::string_view text) {
  CodeAfter parsed{number_at(text), {}};
  const auto word = text.find(" after ");
  if (word != std::string_view::npos)
    parsed.after = std::chrono::seconds(number_at(text.substr(word + 7)));
  return parsed;
}

// The entry of a comma-separated list for that attempt, the last for all later ones.
std::string_view entry_for(std::string_view list, std::uint32_t attempt) {
  for (std::uint32_t i = 0;; ++i) {
    const auto comma = list.find(',');
    if (comma == std::string_view::npos || i == attempt) return trimmed(list.substr(0, comma));
    list.remove_prefix(comma + 1);
  }
}

// "delay 8"
std::optional<Duration> parse_delay(std::string_view text) {
  if (!text.starts_with("delay ")) return std::nullopt;
  return std::chrono::seconds(number_at(text.substr(6)));
}

std::string without_tag(std::string_view reference) {
  const auto slash = reference.rfind('/');
  const auto colon = reference.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return std::string(tagged ? reference.substr(0, colon) : reference);
}

// Whether the key is "what.of.of". A script has a handful: they are gone through as they are, and
// mostly told apart by their lengths.
bool spells(std::string_view key, std::string_view what,
            std::initializer_list<std::string_view> of) {
  std::size_t length = what.size();
  for (const std::string_view name : of) length += name.size() + 1;
  if (key.size() != length || !key.starts_with(what)) return false;
  key.remove_prefix(what.size());
  for (const std::string_view name : of) {
    if (!key.starts_with('.') || !key.substr(1).starts_with(name)) return false;
    key.remove_prefix(name.size() + 1);
  }
  return key.empty();
}

ImageStatus image_status(std::string_view reference) {
  ImageStatus status;
  status.ref =
      without_tag(reference.substr(0, reference.find('@'))) + "@sha256:" + std::string(64, '0');
  status.size = image_size;
  return status;
}

}  // namespace

struct ScriptRuntime::Script {
  std::map<std::string, std::string, std::less<>> overrules{};
  std::vector<std::string> calls{};
  std::vector<std::function<Json()>> requests{};  // written down when somebody asks
  PodUsage usage{};
};

struct ScriptRuntime::Ending {
  int code = 0;
  std::string reason{};   // empty: by the code
  std::string message{};  // of the runtime
};

struct ScriptRuntime::Command {
  Done<ExecResult> done{};  // empty once it has ended
  Timer timer{};
};

ScriptRuntime::ScriptRuntime(Loop& loop, Keep keep)
    : loop_(loop), keep_(keep), lane_(loop.new_lane()) {}
ScriptRuntime::~ScriptRuntime() = default;

ScriptRuntime::Script& ScriptRuntime::script(std::string_view namespace_, std::string_view pod) {
  std::unique_ptr<Script>& found = scripts_[concat({namespace_, "/", pod})];
  if (!found) found = std::make_unique<Script>();
  return *found;
}

const ScriptRuntime::Script* ScriptRuntime::find_script(std::string_view namespace_,
                                                        std::string_view pod) const {
  if (scripts_.empty()) return nullptr;
  const auto at = scripts_.find(ShortText({namespace_, "/", pod}).view());
  return at == scripts_.end() ? nullptr : at->second.get();
}

// Of the key "what.of.of"; empty where nobody says anything.
std::string_view ScriptRuntime::told(std::string_view namespace_, std::string_view pod,
                                     const StringMap& annotations, std::string_view what,
                                     std::initializer_list<std::string_view> of) const {
  if (const Script* of_pod = find_script(namespace_, pod))
    for (const auto& [key, value] : of_pod->overrules)
      if (spells(key, what, of)) return value;
  for (const auto& [key, value] : annotations)
    if (key.size() > script_prefix.size() &&
        spells(std::string_view(key).substr(script_prefix.size()), what, of) &&
        key.starts_with(script_prefix))
      return value;
  return {};
}

std::string_view ScriptRuntime::told(const Sandbox& sandbox, std::string_view what,
                                     std::initializer_list<std::string_view> of) const {
  return told(sandbox.namespace_, sandbox.name, sandbox.annotations, what, of);
}

template <class Words>
void ScriptRuntime::note(std::string_view namespace_, std::string_view pod, const Words& text) {
  if (keep_ == Keep::nothing) return;
  std::vector<std::string>& calls = script(namespace_, pod).calls;
  std::string call = text();
  if (calls.empty() || calls.back() != call) calls.push_back(std::move(call));
}

template <class Words>
void ScriptRuntime::note(const Sandbox& sandbox, const Words& text) {
  note(sandbox.namespace_, sandbox.name, text);
}

template <class Config>
void ScriptRuntime::note_request(const Sandbox& sandbox, std::string_view call, Config&& config) {
  script(sandbox.namespace_, sandbox.name)
      .requests.push_back([call, config = std::forward<Config>(config)] {
        return Json(json::object{{call, kubelet::cri_json(config)}});
      });
}

template <class T>
void ScriptRuntime::answer(Lane lane, Duration delay, Result<T> result, Done<T> done) {
  // Most answers are no errors, and those take less room while they wait.
  if constexpr (std::is_void_v<T>)
    if (result && delay == Duration{0})
      return loop_.post(lane, [done = std::move(done)]() mutable { done({}); });
  auto give = [result = std::move(result), done = std::move(done)]() mutable {
    done(std::move(result));
  };
  if (delay == Duration{0}) return loop_.post(lane, std::move(give));
  // Nobody cancels an answer: its timer lives until it fires.
  auto timer = std::make_shared<Timer>();
  *timer = loop_.after(lane, delay, [timer, give = std::move(give)]() mutable { give(); });
}

void ScriptRuntime::send(RuntimeEvent event, Lane lane) {
  // What is posted is moved about: the event stays where it is.
  loop_.post(lane, [this, told = std::make_unique<const RuntimeEvent>(std::move(event)),
                    alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) tell(*told);
  });
}

void ScriptRuntime::tell(const RuntimeEvent& event) const {
  for (const auto& listener : listeners_) listener(event);
}

void ScriptRuntime::listen(std::function<void(const RuntimeEvent&)> listener) {
  listeners_.push_back(std::move(listener));
}

void ScriptRuntime::run_sandbox(SandboxOrder order, Done<SandboxStatus> done) {
  note(order.namespace_, order.name,
       [&] { return fmt::format("RunPodSandbox attempt {}", order.attempt); });
  const std::string_view scripted =
      told(order.namespace_, order.name, order.annotations, "sandbox");
  const std::optional<Duration> delay = parse_delay(scripted);
  if (!scripted.empty() && !delay)
    return answer<SandboxStatus>(lane_, {}, fail(scripted_error(scripted)), std::move(done));
  ++last_address_;
  SandboxStatus status{"sandbox-" + std::to_string(++last_sandbox_),
                       "10.244." + std::to_string((last_address_ >> 8) & 255) + "." +
                           std::to_string(last_address_ & 255)};
  Sandbox& sandbox = sandboxes_[status.id];
  sandbox.lane = loop_.new_lane();
  sandbox.name = std::move(order.name);
  sandbox.namespace_ = std::move(order.namespace_);
  sandbox.uid = std::move(order.uid);
  sandbox.attempt = order.attempt;
  sandbox.annotations = std::move(order.annotations);
  latest_[Fingerprint::of(sandbox.namespace_, sandbox.name)] = &sandbox;
  if (keep_ == Keep::calls) note_request(sandbox, "runPodSandbox", std::move(order).config());
  answer<SandboxStatus>(sandbox.lane, delay.value_or(Duration{0}), std::move(status),
                        std::move(done));
}

void ScriptRuntime::stop_sandbox(const SandboxId& id, Done<void> done) {
  const auto at = sandboxes_.find(id);
  if (at == sandboxes_.end()) return answer<void>(lane_, {}, {}, std::move(done));
  Sandbox& sandbox = at->second;
  note(sandbox, [&] { return fmt::format("StopPodSandbox attempt {}", sandbox.attempt); });
  sandbox.ready = false;
  for (Container* container : running(sandbox)) end(*container, {killed_code, {}, {}});
  answer<void>(sandbox.lane, {}, {}, std::move(done));
}

bool ScriptRuntime::is_ready(const SandboxId& id) const {
  const auto at = sandboxes_.find(id);
  return at != sandboxes_.end() && at->second.ready;
}

void ScriptRuntime::remove_sandbox(const SandboxId& id) {
  const auto at = sandboxes_.find(id);
  if (at == sandboxes_.end()) return;
  for (const Container* container : at->second.containers)
    containers_.erase(containers_.find(container->report.id));
  const auto latest = latest_.find(Fingerprint::of(at->second.namespace_, at->second.name));
  if (latest != latest_.end() && latest->second == &at->second) latest_.erase(latest);
  sandboxes_.erase(at);
}

std::optional<ImageStatus> ScriptRuntime::image(const std::string& reference) {
  const auto present = images_.find(reference);
  if (present != images_.end()) return present->second;
  if (reference.find("busybox") == std::string::npos) return std::nullopt;
  return images_.emplace(reference, image_status(reference)).first->second;
}

void ScriptRuntime::pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                               Done<ImageStatus> done) {
  note(sandbox.namespace_, sandbox.name, [&] { return "PullImage " + reference; });
  const std::string_view scripted =
      told(sandbox.namespace_, sandbox.name, sandbox.annotations, "pull");
  const std::optional<Duration> delay = parse_delay(scripted);
  if (!scripted.empty() && !delay)
    return answer<ImageStatus>(lane_, {}, fail(scripted_error(scripted)), std::move(done));
  auto present = images_.find(reference);
  if (present == images_.end()) present = images_.emplace(reference, image_status(reference)).first;
  answer<ImageStatus>(lane_, delay.value_or(Duration{0}), present->second, std::move(done));
}

void ScriptRuntime::create_container(const SandboxId& sandbox_id, ContainerOrder order,
                                     Done<ContainerId> done) {
  const auto at = sandboxes_.find(sandbox_id);
  if (at == sandboxes_.end())
    return answer<ContainerId>(
        lane_, {}, fail(Reason::not_found, "sandbox " + sandbox_id + " not found", "NotFound"),
        std::move(done));
  Sandbox& sandbox = at->second;
  note(sandbox,
       [&] { return fmt::format("CreateContainer {} attempt {}", order.name(), order.attempt()); });
  const std::string_view scripted = told(sandbox, "create", {order.name()});
  if (!scripted.empty())
    return answer<ContainerId>(sandbox.lane, {}, fail(scripted_error(scripted)), std::move(done));
  ContainerId id =
      ShortText({order.name(), "~", std::to_string(order.attempt()), "~", sandbox.uid}).view();
  remove_container(id);  // a kubelet that has begun anew may make the same attempt once more
  Container& container = containers_[id];
  container.sandbox = &sandbox;
  container.name = order.name();
  container.attempt = order.attempt();
  container.report.id = id;
  container.report.created_at = loop_.now();
  sandbox.containers.push_back(&container);
  if (keep_ == Keep::calls) note_request(sandbox, "createContainer", std::move(order).config());
  answer<ContainerId>(sandbox.lane, {}, std::move(id), std::move(done));
}

void ScriptRuntime::start_container(const ContainerId& id, Done<void> done) {
  const auto at = containers_.find(id);
  if (at == containers_.end())
    return answer<void>(lane_, {}, fail(Reason::not_found, "container not found", "NotFound"),
                        std::move(done));
  Container& container = at->second;
  const Sandbox& sandbox = *container.sandbox;
  note(sandbox, [&] {
    return fmt::format("StartContainer {} attempt {}", container.name.view(), container.attempt);
  });
  const std::string_view scripted = told(sandbox, "start", {container.name});
  if (!scripted.empty()) {
    Error error = scripted_error(scripted);
    container.report.started_at = Time{};
    end(container, {start_error_code, "StartError", error.message});
    return answer<void>(sandbox.lane, {}, fail(std::move(error)), std::move(done));
  }
  container.report.phase = ContainerPhase::running;
  container.report.started_at = loop_.now();
  schedule_exit(container);
  answer<void>(sandbox.lane, {}, {}, std::move(done));
}

void ScriptRuntime::schedule_exit(Container& container) {
  const std::string_view scripted = told(*container.sandbox, "exit", {container.name});
  const std::string_view entry = entry_for(scripted, container.attempt);
  if (entry.empty() || entry == "run") return;
  const CodeAfter exit = parse_code_after(entry);
  Container* target = &container;
  container.exit = loop_.after(container.sandbox->lane, exit.after, [this, target, exit] {
    end(*target, {exit.code, {}, {}});
  });
}

void ScriptRuntime::end(Container& container, const Ending& ending) {
  if (container.report.phase == ContainerPhase::exited) return;
  container.exit.cancel();
  ContainerReport& report = container.report;
  report.phase = ContainerPhase::exited;
  report.exit_code = ending.code;
  if (!ending.reason.empty())
    report.reason = ending.reason;
  else
    report.reason = ending.code == 0 ? "Completed" : "Error";
  if (!ending.message.empty()) report.message = ending.message;
  report.finished_at = loop_.now();
  const Lane lane = container.sandbox->lane;
  if (container.rest) {
    container.rest->kill.cancel();
    for (Done<void>& done : std::exchange(container.rest->stopping, {}))
      answer<void>(lane, {}, {}, std::move(done));
    for (const auto& command : std::exchange(container.rest->commands, {})) {
      command->timer.cancel();
      if (command->done)
        answer<ExecResult>(lane, {}, fail(Reason::unknown, "the container has ended", "Unknown"),
                           std::exchange(command->done, nullptr));
    }
  }
  RuntimeEvent event;
  event.kind = RuntimeEvent::Kind::container_exited;
  event.pod_uid = container.sandbox->uid;
  event.container = report.id;
  event.container_name = container.name;
  send(std::move(event), lane);
}

void ScriptRuntime::stop_container(const ContainerId& id, std::int64_t grace_period,
                                   Done<void> done) {
  const auto at = containers_.find(id);
  if (at == containers_.end()) return answer<void>(lane_, {}, {}, std::move(done));
  Container& container = at->second;
  const Sandbox& sandbox = *container.sandbox;
  note(sandbox, [&] {
    return fmt::format("StopContainer {} attempt {} timeout {}", container.name.view(),
                       container.attempt, grace_period);
  });
  if (container.report.phase != ContainerPhase::running)
    return answer<void>(sandbox.lane, {}, {}, std::move(done));
  Container::Rest& rest = container.make_rest();
  rest.stopping.push_back(std::move(done));
  const std::string_view scripted = told(sandbox, "term", {container.name});
  if (scripted.empty()) return end(container, {terminated_code, {}, {}});
  const Duration grace = std::chrono::seconds(grace_period);
  CodeAfter obeyed{killed_code, grace};
  if (scripted != "ignore") {
    const CodeAfter wanted = parse_code_after(scripted);
    if (wanted.after <= grace) obeyed = wanted;
  }
  Container* target = &container;
  rest.kill = loop_.after(sandbox.lane, obeyed.after, [this, target, code = obeyed.code] {
    end(*target, {code, {}, {}});
  });
}

void ScriptRuntime::remove_container(const ContainerId& id) {
  const auto at = containers_.find(id);
  if (at == containers_.end()) return;
  auto& containers = at->second.sandbox->containers;
  const auto listed = std::find(containers.begin(), containers.end(), &at->second);
  DDPTWIN_ASSERT(listed != containers.end());
  containers.erase(listed);
  containers_.erase(at);
}

void ScriptRuntime::exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
                         Done<ExecResult> done) {
  const auto at = containers_.find(id);
  if (at == containers_.end() || at->second.report.phase != ContainerPhase::running)
    return answer<ExecResult>(lane_, {},
                              fail(Reason::not_found, "container is not running", "NotFound"),
                              std::move(done));
  Container& container = at->second;
  const Sandbox& sandbox = *container.sandbox;
  note(sandbox, [&] {
    return fmt::format("ExecSync {} \"{}\" timeout {}", container.name.view(),
                       fmt::join(command, " "), format_go_duration(timeout));
  });
  const std::string word = command.empty() ? std::string() : command.front();
  const std::string_view scripted = told(sandbox, "exec", {container.name, word});
  ExecResult result{0, "ok", false};
  Duration takes{0};
  if (scripted == "timeout") {
    result = {0, {}, true};
    takes = timeout;
  } else if (!scripted.empty()) {
    const auto space = scripted.find(' ');
    result = {number_at(scripted),
              std::string(space == std::string_view::npos ? "" : scripted.substr(space + 1)),
              false};
  } else if (word == "sleep" && command.size() > 1) {
    takes = std::chrono::seconds(number_at(command[1]));
  }
  if (timeout > Duration{0} && takes > timeout) {
    result = {0, {}, true};
    takes = timeout;
  }
  if (takes == Duration{0})
    return answer<ExecResult>(sandbox.lane, {}, std::move(result), std::move(done));
  // It ends with the container at the latest.
  auto& commands = container.make_rest().commands;
  std::erase_if(commands, [](const auto& ended) { return !ended->done; });
  const auto& running = commands.emplace_back(std::make_shared<Command>());
  running->done = std::move(done);
  running->timer = loop_.after(sandbox.lane, takes, [command = running, result] {
    if (command->done) std::exchange(command->done, nullptr)(result);
  });
}

const ContainerReport* ScriptRuntime::report(const ContainerId& id) const {
  const auto at = containers_.find(id);
  return at == containers_.end() ? nullptr : &at->second.report;
}

std::string ScriptRuntime::log_tail(const ContainerId& id, std::size_t lines,
                                    std::size_t bytes) const {
  const auto at = containers_.find(id);
  if (at == containers_.end() || !at->second.rest) return {};
  const std::string& log = at->second.rest->log;
  std::size_t begin = log.size();
  for (std::size_t i = 0; i < lines && begin > 0; ++i) {
    const auto newline = begin < 2 ? std::string::npos : log.rfind('\n', begin - 2);
    begin = newline == std::string::npos ? 0 : newline + 1;
  }
  return log.substr(std::max(begin, log.size() - std::min(bytes, log.size())));
}

void ScriptRuntime::update_volume(const std::string&, std::shared_ptr<const VolumeSource>) {}

void ScriptRuntime::set_usage(const std::string& namespace_, const std::string& pod,
                              PodUsage usage) {
  script(namespace_, pod).usage = std::move(usage);
}

void ScriptRuntime::usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) {
  std::vector<PodUsage> usage;
  for (const SharedText& uid : pod_uids) {
    const auto of_pod = std::find_if(sandboxes_.begin(), sandboxes_.end(), [&](const auto& entry) {
      return entry.second.uid == uid && entry.second.ready;
    });
    if (of_pod == sandboxes_.end()) continue;
    const Script* script = find_script(of_pod->second.namespace_, of_pod->second.name);
    usage.push_back(script != nullptr ? script->usage : PodUsage());
    usage.back().pod_uid = uid;
  }
  answer(lane_, {}, Result<std::vector<PodUsage>>(std::move(usage)), std::move(done));
}

NodeWatch ScriptRuntime::watch_node(const std::string&, NodeResource, std::int64_t) {
  return NodeWatch::tells;
}

void ScriptRuntime::node_is_short(const std::string& namespace_, const std::string& pod,
                                  NodeResource resource) {
  const Sandbox* sandbox = latest_sandbox(namespace_, pod);
  if (sandbox == nullptr) return;
  RuntimeEvent event;
  event.kind = RuntimeEvent::Kind::node_is_short;
  event.resource = resource;
  event.pod_uid = sandbox->uid;
  send(std::move(event), sandbox->lane);
}

std::vector<std::string> ScriptRuntime::running_in(std::string_view pod_uid) const {
  std::vector<std::string> names;
  for (const auto& [id, container] : containers_)
    if (container.sandbox->uid == pod_uid && container.report.phase == ContainerPhase::running)
      names.push_back(container.name.str());
  std::sort(names.begin(), names.end());  // the table has no order
  return names;
}

std::vector<ScriptRuntime::Container*> ScriptRuntime::running(const Sandbox& sandbox) {
  std::vector<Container*> found;
  for (Container* container : sandbox.containers)
    if (container->report.phase == ContainerPhase::running) found.push_back(container);
  std::sort(found.begin(), found.end(),
            [](const Container* a, const Container* b) { return a->report.id < b->report.id; });
  return found;
}

ScriptRuntime::Sandbox* ScriptRuntime::latest_sandbox(std::string_view namespace_,
                                                      std::string_view pod) const {
  const auto at = latest_.find(Fingerprint::of(namespace_, pod));
  return at == latest_.end() ? nullptr : at->second;
}

void ScriptRuntime::print(Container& container, const std::string& text) {
  if (text.empty()) return;
  container.make_rest().log += text;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto newline = rest.find('\n');
    RuntimeEvent event;
    event.kind = RuntimeEvent::Kind::log_line;
    event.pod_uid = container.sandbox->uid;
    event.container = container.report.id;
    event.container_name = container.name;
    event.line = rest.substr(0, newline);
    send(std::move(event), container.sandbox->lane);
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
}

void ScriptRuntime::container_exit(const std::string& namespace_, const std::string& pod,
                                   const std::string& container, int code, bool oom,
                                   const std::string& reason, const std::string& message,
                                   const std::string& log) {
  const Sandbox* sandbox = latest_sandbox(namespace_, pod);
  if (sandbox == nullptr) return;
  for (Container* one : running(*sandbox)) {
    if (!container.empty() && one->name != container) continue;
    print(*one, log);
    one->report.termination_log = message;
    end(*one, {code, oom ? "OOMKilled" : reason, {}});
  }
}

void ScriptRuntime::set(const std::string& namespace_, const std::string& pod,
                        const std::string& key, const std::string& value) {
  script(namespace_, pod).overrules[key] = value;
}

void ScriptRuntime::sandbox_dies(const std::string& namespace_, const std::string& pod) {
  Sandbox* sandbox = latest_sandbox(namespace_, pod);
  if (sandbox == nullptr || !sandbox->ready) return;
  sandbox->ready = false;
  for (Container* one : running(*sandbox)) end(*one, {killed_code, {}, {}});
  RuntimeEvent event;
  event.kind = RuntimeEvent::Kind::sandbox_died;
  event.pod_uid = sandbox->uid;
  send(std::move(event), sandbox->lane);
}

std::vector<std::string> ScriptRuntime::calls(const std::string& namespace_,
                                              const std::string& pod) const {
  const Script* of_pod = find_script(namespace_, pod);
  return of_pod == nullptr ? std::vector<std::string>{} : of_pod->calls;
}

Json ScriptRuntime::requests(const std::string& namespace_, const std::string& pod) const {
  json::array requests;
  if (const Script* of_pod = find_script(namespace_, pod))
    for (const auto& request : of_pod->requests) requests.push_back(request());
  return requests;
}

}  // namespace ddptwin
