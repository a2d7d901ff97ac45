#include "node_run.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"
#include "objects/describe.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::property {
namespace {

constexpr std::string_view user = "user";
constexpr std::string_view prefix = "default/";

WorldOptions options_of(std::uint64_t seed, WorldFaults& faults) {
  WorldOptions options;
  options.seed = seed;
  options.faults = &faults;
  options.nodes = {{.name = "n0"}};
  return options;
}

std::vector<ContainerStatus> statuses_of(const Pod& pod) {
  std::vector<ContainerStatus> all = pod.status.initContainerStatuses;
  all.insert(all.end(), pod.status.containerStatuses.begin(), pod.status.containerStatuses.end());
  return all;
}

int order_of(std::string_view phase) { return phase == "Running" ? 1 : phase == "Pending" ? 0 : 2; }

}  // namespace

bool is_over(const Pod& pod) { return is_terminal_phase(pod.status.phase); }

const ContainerStatus* status_of(const Pod& pod, const std::string& container) {
  for (const auto* list : {&pod.status.initContainerStatuses, &pod.status.containerStatuses})
    for (const ContainerStatus& status : *list)
      if (status.name == container) return &status;
  return nullptr;
}

Container container_named(const std::string& name) {
  Container container;
  container.name = name;
  container.image = "busybox";
  return container;
}

ContainerRun first_run(NodeRun& node, const std::string& container) {
  const auto& runs = node.runs_of(container);
  RC_ASSERT(!runs.empty());
  return runs.front();
}

api::CallVerdict NodeRun::Refusals::on_call(const api::Caller& caller,
                                            const api::Request& request) {
  api::CallVerdict verdict;
  if (code != 0 && caller.actor == "kubelet" && request.target.kind == &Pod::info() &&
      request.verb == verb.value_or(request.verb))
    verdict.refuse = api::injected_error(code, "");
  return verdict;
}

NodeRun::NodeRun(std::uint64_t seed, Order order)
    : loop_(Random(seed).split("loop"), virtual_start, order),
      runtime_(loop_, ScriptRuntime::Keep::calls),
      world_(loop_, options_of(seed, refusals_), &runtime_) {
  world_.trace().add_sink([this](const Record& record) { on_record(record); });
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());
  kubelet_since_ = now();
  rest(2s);
}

void NodeRun::stop_kubelet() { DDPTWIN_ASSERT(world_.stop_kubelet("n0")); }

void NodeRun::start_kubelet() {
  DDPTWIN_ASSERT(world_.start_kubelet("n0"));
  kubelet_since_ = now();
}

std::shared_ptr<Pod> NodeRun::pod_named(const std::string& name, bool bound) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  if (bound) pod->spec.edit().nodeName = "n0";
  return pod;
}

void NodeRun::call(const api::Request& request) {
  const auto answer = world_.call(request, user);
  if (!answer) RC_FAIL(answer.error().message);
}

void NodeRun::create(std::shared_ptr<const Pod> pod) { call(api::create(std::move(pod))); }

void NodeRun::bind(const std::string& pod) {
  RC_ASSERT(world_.call(api::bind(*this->pod(pod), "n0"), user).has_value());
}

void NodeRun::patch(const std::string& pod, boost::json::value body, std::string subresource) {
  const auto known = this->pod(pod);
  RC_ASSERT(known != nullptr);
  RC_ASSERT(world_
                .call(api::patch(*known, api::PatchType::strategic, std::move(body),
                                 std::move(subresource)),
                      user)
                .has_value());
}

void NodeRun::patch_node(boost::json::value body, std::string subresource) {
  const auto node = world_.find(Node::info(), "", "n0");
  RC_ASSERT(world_
                .call(api::patch(*node, api::PatchType::strategic, std::move(body),
                                 std::move(subresource)),
                      user)
                .has_value());
}

void NodeRun::remove(std::optional<std::int64_t> grace, const std::string& pod) {
  api::DeleteOptions options;
  options.grace_period_seconds = grace;
  if (const auto known = this->pod(pod))
    static_cast<void>(world_.call(api::remove(*known, options), user));
}

void NodeRun::exit(const std::string& container, int code, bool oom, const std::string& pod) {
  runtime_.container_exit("default", pod, container, code, oom);
}

void NodeRun::lose_sandbox(const std::string& pod) {
  sandboxes_lost_ = true;
  runtime_.sandbox_dies("default", pod);
}

std::shared_ptr<const Pod> NodeRun::pod(const std::string& name) const {
  return as<Pod>(world_.find(Pod::info(), "default", name));
}

void NodeRun::write_elsewhere(int times) {
  auto map = std::make_shared<ConfigMap>();
  map->metadata.name = "elsewhere";
  map->metadata.namespace_ = "default";
  for (int i = 0; i < times; ++i) {
    call(api::create(map));
    call(api::remove(*map));
  }
}

void NodeRun::evict(const std::string& pod) { call(api::evict(*this->pod(pod))); }

std::shared_ptr<const Service> NodeRun::service(const std::string& name) const {
  return as<Service>(world_.find(Service::info(), "default", name));
}

int NodeRun::told(const std::string& pod, std::string_view text) const {
  int count = 0;
  for (const ObjectPtr& object : world_.objects(ddptwin::Event::info(), "default")) {
    const auto& event = static_cast<const ddptwin::Event&>(*object);
    if (event.involvedObject->name == pod && (event.message == text || event.reason == text))
      count += event.count;
  }
  return count;
}

std::set<std::string> NodeRun::environment_of(const std::string& container,
                                              const std::string& pod) const {
  std::set<std::string> last;
  const Json requests = runtime_.requests("default", pod);
  for (const Json& one : requests.as_array()) {
    const Json* asked = one.as_object().if_contains("createContainer");
    if (asked == nullptr || asked->at("metadata").at("name").as_string() != container) continue;
    last.clear();
    for (const auto& [name, value] : asked->at("envs").as_object())
      last.insert(std::string(name) + "=" + std::string(value.as_string()));
  }
  return last;
}

void NodeRun::require_safe() const {
  if (!violations_.empty()) RC_FAIL(violations_.front());
}

void NodeRun::require(bool holds, const Record& record, const char* what) {
  if (!holds) violations_.push_back(std::string(what) + ", after: " + describe(record));
}

void NodeRun::on_record(const Record& record) {
  if (record.kind == RecordKind::container && record.subject.starts_with(prefix))
    return on_container(record);
  const Pod* before = record.before ? as<Pod>(*record.before) : nullptr;
  const Pod* after = record.after ? as<Pod>(*record.after) : nullptr;
  if (before == nullptr || after == nullptr) return;
  on_status(record, *before, *after);
  on_conditions(record, *before, *after);
}

void NodeRun::on_container(const Record& record) {
  const std::string name(record.subject.substr(prefix.size()));
  if (record.text == "started") {
    const auto known = pod(name.substr(0, name.find('/')));
    require(known == nullptr || !is_over(*known), record, "nothing starts in a pod that is over");
    runs_[name].push_back({record.time, std::nullopt});
  } else if (record.text == "exited" && !runs_[name].empty()) {
    runs_[name].back().ended = record.time;
  }
}

void NodeRun::on_status(const Record& record, const Pod& before, const Pod& after) {
  const Text &old = before.status.phase, &phase = after.status.phase;
  require(!is_over(before) || phase == old, record, "a phase that is over stays");
  if (!sandboxes_lost_ && !old.empty())
    require(order_of(old) <= order_of(phase), record, "a phase does not go back");
  const auto was = statuses_of(before), is = statuses_of(after);
  bool runs = false, all_good = true;
  for (const ContainerStatus& status : is) {
    runs = runs || status.state.running.has_value();
    for (const ContainerStatus& one : was)
      if (one.name == status.name)
        require(one.restartCount <= status.restartCount, record, "a restart count does not fall");
    if (status.restartCount > 0)
      require(status.lastState->terminated.has_value(), record,
              "what was restarted has ended before");
  }
  for (const ContainerStatus& status : after.status.containerStatuses)
    all_good = all_good && status.state.terminated && status.state.terminated->exitCode == 0;
  if (is_over(after)) require(!runs, record, "nothing runs in a pod that is over");
  if (phase == "Succeeded") require(all_good, record, "who succeeded has ended with 0");
  const auto* ready = after.status.condition("Ready");
  if (ready != nullptr && ready->status == "True")
    require(phase == "Running", record, "who is ready is running");
}

// The time of a transition is that of the status, whatever becomes of reason and message. (A
// sandbox may be lost and made between two writes.)
void NodeRun::on_conditions(const Record& record, const Pod& before, const Pod& after) {
  for (const auto& is : after.status.conditions) {
    const auto* was = before.status.condition(is.type_);
    if (was == nullptr || !was->lastTransitionTime) continue;
    if (sandboxes_lost_ && is.type_ == "PodReadyToStartContainers") continue;
    if (was->status == is.status)
      require(was->lastTransitionTime == is.lastTransitionTime, record,
              "a condition that stays keeps its time");
    else
      require(is.lastTransitionTime && *is.lastTransitionTime <= record.time &&
                  *is.lastTransitionTime >= *was->lastTransitionTime &&
                  *is.lastTransitionTime >= (record.time - 2s).floor_seconds(),
              record, "a condition that changes says when");
  }
}

}  // namespace ddptwin::property
