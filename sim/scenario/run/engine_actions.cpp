// What each kind of step does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "objects/codec.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/run/engine.hpp"

namespace ddptwin::scenario {
namespace {

Status status_of(const Result<api::Response>& result) {
  if (!result) return tl::make_unexpected(result.error());
  return {};
}

// The id in "containerd://ID", as a pod's status shows it.
std::string id_of(std::string_view container_id) {
  const std::size_t scheme = container_id.find("://");
  return std::string(scheme == container_id.npos ? container_id : container_id.substr(scheme + 3));
}

const ContainerStatus* running_container(const Pod& pod, std::string_view name) {
  for (const ContainerStatus* status : statuses_of(pod, name)) {
    if (status->state.running) return status;
  }
  return nullptr;
}

struct Target {
  const Pod* pod;
  const ContainerStatus* status;
};

std::vector<Target> kill_targets(const std::vector<ObjectPtr>& objects, const Kill& action) {
  std::vector<Target> targets;
  for (const ObjectPtr& object : objects) {
    const Pod* pod = as<Pod>(*object);
    if (const ContainerStatus* status = running_container(*pod, action.container))
      targets.push_back({pod, status});
  }
  return targets;
}

// Why a pod of that name will never have that container; empty: it may, or pods to come.
std::string missing_container(const std::vector<ObjectPtr>& objects, const Kill& action) {
  if (action.container.empty() || action.of.name.empty() || objects.empty()) return {};
  std::vector<std::string> names;
  for (const ObjectPtr& object : objects) {
    const PodSpec& spec = *as<Pod>(*object)->spec;
    for (const auto* list : {&*spec.initContainers, &*spec.containers})
      for (const Container& container : *list) {
        if (container.name == action.container) return {};
        if (std::find(names.begin(), names.end(), container.name) == names.end())
          names.push_back(container.name);
      }
  }
  return fmt::format("no container of {} is called {}: they are {}", action.of.text(),
                     action.container, fmt::join(names, ", "));
}

// As kubectl apply without the last-applied annotation: what the file says replaces what is there.
Json merge_body(const Object& object) {
  Json body = encode(object);
  body.as_object().erase("status");
  return body;
}

// What a step comes to whose call is to be refused in words that these are a part of.
Status as_refused(Status status, const std::string& words) {
  if (status) return fail(Reason::invalid, "the API did not refuse it");
  if (status.error().message.find(words) != std::string::npos) return {};
  return status;
}

}  // namespace

void Engine::acted(Status status) {
  if (stage_ != Stage::acting) return;
  if (const auto& refused = all_steps_[index_].refused)
    status = as_refused(std::move(status), *refused);
  if (!status) return end_step(std::move(status));
  if (to_do_ > 0 && --to_do_ > 0) return;
  end_step({});
}

void Engine::act(const Apply&) { apply_next(0); }

void Engine::apply_next(std::size_t index) {
  const Apply& action = std::get<Apply>(all_steps_[index_].action);
  if (index == action.manifests.size()) return acted({});
  const ObjectPtr object = action.manifests[index].object;
  const std::weak_ptr<int> alive = alive_;
  const ContextScope of_this_object(loop_, step_record_);  // and not of the one before
  client_.call(api::create(object), [this, alive, object, index](Result<api::Response> result) {
    if (alive.expired() || stage_ != Stage::acting) return;
    if (result) return apply_next(index + 1);
    if (result.error().reason == Reason::already_exists && !object->metadata.name.empty())
      return change_existing(object, index);
    acted(tl::make_unexpected(std::move(result).error()));
  });
}

void Engine::change_existing(ObjectPtr object, std::size_t index) {
  const std::weak_ptr<int> alive = alive_;
  client_.call(api::patch(*object, api::PatchType::merge, merge_body(*object)),
               [this, alive, index](Result<api::Response> result) {
                 if (alive.expired() || stage_ != Stage::acting) return;
                 if (result) return apply_next(index + 1);
                 acted(tl::make_unexpected(std::move(result).error()));
               });
}

void Engine::act(const Delete& action) {
  api::DeleteOptions options = action.options;
  if (!options.propagation) options.propagation = api::Propagation::background;  // as kubectl does
  call_for_each(action.of, "delete",
                [&](const Object& object) { return api::remove(object, options); });
}

void Engine::act(const Evict& action) {
  call_for_each(action.of, "evict",
                [&](const Object& pod) { return api::evict(pod, action.options); });
}

void Engine::call_for_each(const Selection& of, std::string_view what,
                           const std::function<api::Request(const Object&)>& request) {
  const auto objects = observer_.select(of);
  if (objects.empty())
    return acted(
        fail(Reason::not_found, fmt::format("nothing to {}: {}", what, observer_.describe(of))));
  to_do_ = objects.size();
  const std::weak_ptr<int> alive = alive_;
  for (const ObjectPtr& object : objects) {
    client_.call(request(*object), [this, alive](Result<api::Response> result) {
      if (!alive.expired()) acted(status_of(result));
    });
  }
}

// A container prints before its pod's status says that it runs: a kill that a log line triggers
// waits for the status, which names the container.
bool Engine::waits_for_container() const {
  const Kill* kill = std::get_if<Kill>(&all_steps_[index_].action);
  if (kill == nullptr) return false;
  const auto objects = observer_.select(kill->of);
  const bool alive = std::any_of(objects.begin(), objects.end(), [](const ObjectPtr& object) {
    return !is_terminal_phase(as<Pod>(*object)->status.phase);
  });
  return alive && missing_container(objects, *kill).empty() && kill_targets(objects, *kill).empty();
}

void Engine::act(const Kill& action) {
  const auto objects = observer_.select(action.of);
  const auto targets = kill_targets(objects, action);
  if (auto missing = missing_container(objects, action); !missing.empty())
    return acted(fail(Reason::not_found, std::move(missing)));
  if (targets.empty())
    return acted(fail(Reason::not_found,
                      "no container runs to be killed: " + observer_.describe(action.of)));
  to_do_ = targets.size();
  const std::weak_ptr<int> alive = alive_;
  for (const auto& [pod, status] : targets) {
    const ContextScope of_this_kill(loop_, step_record_);
    const std::string subject = fmt::format("{}/{}", key_of(pod->metadata), status->name);
    const std::string signal = std::to_string(action.signal);
    write(RecordKind::fault, subject, "signal " + signal,
          {{"port", "process"}, {"signal", signal}});
    signal_(id_of(status->rest->containerID), action.signal,
            [this, alive, subject, signal](Result<void> result) {
              if (alive.expired()) return;
              // The status may tell of a container that is gone.
              if (!result)
                write(RecordKind::fault, subject, fmt::format("signal {} reached nobody", signal),
                      {{"port", "process"}, {"missed", signal}});
              acted(std::move(result));
            });
  }
}

void Engine::act(const Patch& action) {
  api::Request request;
  request.verb = api::Verb::patch;
  request.target = {action.of.kind, action.of.namespace_, action.of.name, action.subresource};
  request.body = action.body;
  request.patch_type = action.type;
  const std::weak_ptr<int> alive = alive_;
  client_.call(std::move(request), [this, alive](Result<api::Response> result) {
    if (!alive.expired()) acted(status_of(result));
  });
}

void Engine::act(const Wait& action) {
  if (!action.state) {
    delay_timer_ = loop_.after(lane_, action.duration, [this] { end_step({}); });
    return;
  }
  enter(Stage::until);
  look_at_state();
}

}  // namespace ddptwin::scenario
