#include "fake_cluster.hpp"

#include <boost/json.hpp>

#include "controller/training_operator/rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin::conformance {
namespace {

using controller::Expected;
using controller::Step;

std::pair<std::string, std::string> key(const KindInfo& kind, std::string_view name) {
  return {kind.kind, std::string(name)};
}

std::string describe_event(std::string_view type, std::string_view reason,
                           const std::string& message) {
  return "  " + std::string(type) + " " + std::string(reason) + ": " + message;
}

std::string describe(const controller::EventText& event) {
  return describe_event(event.type, event.reason, std::string(event.lead) + event.message);
}

// "create pod j-master-0", "write status".
std::string describe(const api::Request& request) {
  if (!request.target.subresource.empty())
    return "write " + std::string(request.target.subresource);
  return std::string(to_string(request.verb)) + " " + request.target.kind->kind + " " +
         name_of(request);
}

// Kinds of the gang schedulers, without schema or behaviour.
void add_pod_groups(KindRegistry& kinds) {
  KindInfo volcano{.group = "scheduling.volcano.sh", .version = "v1beta1", .kind = "PodGroup"};
  KindInfo plugins{.group = "scheduling.x-k8s.io", .version = "v1alpha1", .kind = "PodGroup"};
  for (KindInfo* kind : {&volcano, &plugins}) {
    kind->plural = "podgroups";
    kind->singular = "podgroup";
    kind->custom = true;
    kinds.add(std::make_shared<KindInfo>(*kind));
  }
}

}  // namespace

FakeCluster::FakeCluster(controller::pytorchjob::Settings settings)
    : controller(std::move(settings)) {
  now = *parse_rfc3339("2026-01-01T00:00:00Z");
  add_pod_groups(kinds_);
}

ObjectPtr FakeCluster::stored(const KindInfo& kind, std::string_view name) const {
  const auto found = stored_.find(key(kind, name));
  return found != stored_.end() ? found->second : nullptr;
}

std::vector<ObjectPtr> FakeCluster::all(const KindInfo& kind) const {
  std::vector<ObjectPtr> found;
  for (const auto& [at, object] : stored_)
    if (at.first == kind.kind) found.push_back(object);
  return found;
}

ObjectPtr FakeCluster::find(const KindInfo& kind, std::string_view, std::string_view name) const {
  const auto found = cached_.find(key(kind, name));
  return found != cached_.end() ? found->second : nullptr;
}

std::vector<ObjectPtr> FakeCluster::list(const KindInfo& kind, std::string_view) const {
  std::vector<ObjectPtr> found;
  for (const auto& [at, object] : cached_)
    if (at.first == kind.kind) found.push_back(object);
  return found;
}

std::vector<const KindInfo*> FakeCluster::kinds() const {
  std::vector<const KindInfo*> kinds;
  for (const auto& watched : controller.watches(kinds_)) kinds.push_back(watched.kind);
  return kinds;
}

void FakeCluster::changed(const ObjectPtr& before, const ObjectPtr& after) {
  const Object& object = after ? *after : *before;
  const auto at = key(object.kind(), object.metadata.name);
  if (after)
    stored_[at] = cached_[at] = after;
  else
    stored_.erase(at), cached_.erase(at);
  const auto reaction = controller.observe({before, after}, *this, expectations, now);
  if (reaction.replace_cached) cached_[at] = reaction.replace_cached;
  if (reaction.panic) panics.push_back(*reaction.panic);
}

void FakeCluster::put(std::shared_ptr<Object> object) {
  const ObjectPtr before = stored(object->kind(), object->metadata.name);
  object->metadata.namespace_ = test_namespace;
  object->metadata.resourceVersion = std::to_string(++revision_);
  if (before) {
    object->metadata.uid = before->metadata.uid;
    object->metadata.creationTimestamp = before->metadata.creationTimestamp;
  } else {
    object->metadata.uid = "uid-" + std::to_string(revision_);
    object->metadata.creationTimestamp = now;
  }
  changed(before, object);
}

void FakeCluster::drop(const KindInfo& kind, std::string_view name) {
  if (const ObjectPtr before = stored(kind, name)) changed(before, nullptr);
}

void FakeCluster::request_deletion(const KindInfo& kind, std::string_view name) {
  const auto pod = as<Pod>(stored(kind, name));
  if (!pod || pod->status.phase != "Running") return drop(kind, name);
  auto ending = std::make_shared<Pod>(*pod);
  ending->metadata.deletionTimestamp = now;
  put(ending);
}

void FakeCluster::restart_controller() {
  expectations.clear();
  controller.reset();
  cached_ = stored_;
  for (const ObjectPtr& job : all(PyTorchJob::info())) {
    const auto reaction = controller.observe({nullptr, job}, *this, expectations, now);
    if (reaction.replace_cached)
      cached_[key(PyTorchJob::info(), job->metadata.name)] = reaction.replace_cached;
  }
}

bool FakeCluster::is_alive(const api::Target& target) const {
  const ObjectPtr there = stored(*target.kind, target.name);
  return there && !there->metadata.deletionTimestamp;
}

Result<ObjectPtr> FakeCluster::remove(const api::Request& request) {
  const KindInfo& kind = *request.target.kind;
  const ObjectPtr before = stored(kind, request.target.name);
  if (!before)
    return fail(Reason::not_found, kind.resource() + " \"" + request.target.name + "\" not found");
  if (graceful)
    request_deletion(kind, request.target.name);
  else
    drop(kind, request.target.name);
  return before;
}

// The wire keeps whole seconds, and a write that changes nothing makes no new version.
Result<ObjectPtr> FakeCluster::update_status(const Object& sent) {
  const auto before = as<PyTorchJob>(stored(sent.kind(), sent.metadata.name));
  if (!before)
    return fail(Reason::not_found,
                sent.kind().resource() + " \"" + sent.metadata.name + "\" not found");
  auto after = std::make_shared<PyTorchJob>(*before);
  after->status = *from_json<JobStatus>(to_json(*as<PyTorchJob>(sent)->status));
  if (before->status && equal(*before->status, *after->status)) return ObjectPtr(before);
  put(after);
  return ObjectPtr(after);
}

Result<ObjectPtr> FakeCluster::call(const api::Request& request) {
  switch (request.verb) {
    case api::Verb::create: {
      const KindInfo& kind = *request.target.kind;
      if (stored(kind, name_of(request)))
        return fail(Reason::already_exists,
                    kind.resource() + " \"" + name_of(request) + "\" already exists");
      const std::shared_ptr<Object> object = request.object->clone();
      if (auto* pod = dynamic_cast<Pod*>(object.get())) pod->status.phase = "Pending";
      put(object);
      return ObjectPtr(object);
    }
    case api::Verb::update: {
      if (request.target.subresource == "status") return update_status(*request.object);
      put(request.object->clone());
      return request.object;
    }
    default:
      return remove(request);
  }
}

void FakeCluster::expect(const Step& step, Expected::When when) {
  for (const Expected& expected : step.expected) {
    if (expected.when != when) continue;
    if (when == Expected::When::reset)
      expectations.set(expected.key, expected.adds, expected.dels, now);
    else
      expectations.raise(expected.key, expected.adds, expected.dels, now);
  }
}

bool FakeCluster::carry_out(const Step& step, std::vector<std::string>& log) {
  if (step.rule != nullptr) rules.insert(step.rule->name);
  expect(step, Expected::When::reset);
  if (step.request && (!step.only_if_alive || is_alive(step.request->target))) {
    expect(step, Expected::When::before_call);
    log.push_back(describe(*step.request));
    if (const auto answer = call(*step.request); !answer) {
      if (step.refused)
        log.push_back(describe_event("Warning", step.refused->reason,
                                     std::string(step.refused->message) + answer.error().message));
      log.push_back("error: " + answer.error().message);
      return false;
    }
    if (step.event) log.push_back(describe(*step.event));
  } else if (!step.request && step.event) {
    log.push_back(describe(*step.event));
  }
  expect(step, Expected::When::after_call);
  return true;
}

std::vector<std::string> FakeCluster::pass(const std::string& job) {
  const controller::Observed seen{*this, expectations, Random(1)};
  const controller::Plan plan = controller.plan(std::string(test_namespace) + "/" + job, seen, now);
  std::vector<std::string> log;
  for (const Step& step : plan.steps)
    if (!carry_out(step, log)) return log;
  if (plan.panic) log.push_back("panic: " + *plan.panic);
  if (plan.error) log.push_back("error: " + plan.error->message);
  if (plan.requeue) log.push_back("requeue with back-off");
  if (plan.requeue_after) log.push_back("requeue after " + format_go_duration(*plan.requeue_after));
  return log;
}

}  // namespace ddptwin::conformance
