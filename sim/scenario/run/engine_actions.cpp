// What each kind of step does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "core/regular_expression.hpp"
#include "objects/codec.hpp"
#include "objects/pod_phase.hpp"
#include "objects/resource_quota.hpp"
#include "objects/selector.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/run/engine.hpp"
#include "scenario/run/preflight.hpp"

namespace ddptwin::scenario {
namespace {

// So long a client takes between two objects. It matters where the first is a quota, which limits
// nothing before its controller has looked: without it what comes next would always be let through.
constexpr Duration next_request = 5ms;

Status status_of(const Result<api::Response>& result) {
  if (!result) return tl::make_unexpected(result.error());
  return {};
}

// The first line that is not empty, cut to a readable length.
std::string first_line(std::string_view text) {
  constexpr std::size_t shown_max = 120;
  const std::size_t begin = text.find_first_not_of("\r\n ");
  if (begin == text.npos) return {};
  const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
  const std::size_t length = std::min(end - begin, shown_max);
  return std::string(text.substr(begin, length)) + (length < end - begin ? "..." : "");
}

bool any_line_is_like(std::string_view text, const std::string& pattern) {
  const std::regex wanted = *regular_expression(pattern);  // the parser has tried it
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::regex_search(text.data(), text.data() + end, wanted)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// `hostname` ended with 0: "train-0"
std::string told_of(const Exec& action, const ExecResult& result) {
  const std::string line = first_line(result.output);
  return fmt::format("`{}` {}{}", fmt::join(action.command, " "),
                     result.timed_out ? "was ended by the step's time"
                                      : fmt::format("ended with {}", result.exit_code),
                     line.empty() ? "" : fmt::format(": \"{}\"", line));
}

// What is not as the step wants it; nothing: all is.
std::optional<std::string> wrong_with(const Exec& action, const ExecResult& result) {
  if (result.timed_out) return "and was to end";
  if (action.exit_code && result.exit_code != *action.exit_code)
    return fmt::format("and {} was wanted", *action.exit_code);
  if (action.output.empty() || any_line_is_like(result.output, action.output)) return std::nullopt;
  return fmt::format("and no line of its output is like `{}`", action.output);
}

const ContainerStatus* running_container(const Pod& pod, std::string_view name) {
  for (const ContainerStatus* status : statuses_of(pod, name)) {
    if (status->state.running) return status;
  }
  return nullptr;
}

using Target = Engine::Target;

std::vector<Target> targets_of(const std::vector<ObjectPtr>& objects, const ToContainer& action) {
  std::vector<Target> targets;
  for (const ObjectPtr& object : objects) {
    auto pod = as<Pod>(object);
    if (const ContainerStatus* status = running_container(*pod, action.container))
      targets.push_back({std::move(pod), status});
  }
  return targets;
}

// Why a pod of that name will never have that container; empty: it may, or pods to come.
std::string missing_container(const std::vector<ObjectPtr>& objects, const ToContainer& action) {
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

// The fields that a step applies, with the names of their object.
Json configuration_of(const Patch& action) {
  Json body = *action.body.get();
  boost::json::object& members = body.as_object();
  members.emplace("apiVersion", action.of.kind->api_version());
  members.emplace("kind", action.of.kind->kind);
  Json& metadata = members.emplace("metadata", boost::json::object()).first->value();
  if (!metadata.is_object()) return body;
  metadata.get_object().emplace("name", action.of.name);
  if (action.of.kind->namespaced) metadata.get_object().emplace("namespace", action.of.namespace_);
  return body;
}

// What a step comes to whose call is to be refused in words that these are a part of.
Status as_refused(Status status, const std::string& words) {
  if (status) return fail(Reason::invalid, "the API did not refuse it");
  if (status.error().message.find(words) != std::string::npos) return {};
  return status;
}

}  // namespace

std::string Engine::Target::text() const {
  return fmt::format("{}/{}", key_of(pod->metadata), status->name);
}

ContainerId Engine::Target::id() const { return runtime_id(*status); }

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
  // What is to be refused comes as kubectl sends it, unknown fields and all; of others preflight()
  // has asked whether it would be taken so.
  const bool as_written = all_steps_[index_].refused.has_value();
  api::Request request = as_written ? create_request(action.manifests[index]) : api::create(object);
  client_.call(std::move(request), [this, alive, object, index](Result<api::Response> result) {
    if (alive.expired() || stage_ != Stage::acting) return;
    if (result && as<ResourceQuota>(object) != nullptr) {
      delay_timer_ = loop_.after(lane_, next_request, [this, index] { apply_next(index + 1); });
      return;
    }
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
  const ToContainer* about = about_containers(all_steps_[index_].action);
  if (about == nullptr) return false;
  const auto objects = observer_.select(about->of);
  const bool alive = std::any_of(objects.begin(), objects.end(), [](const ObjectPtr& object) {
    return !is_terminal_phase(as<Pod>(*object)->status.phase);
  });
  return alive && missing_container(objects, *about).empty() && targets_of(objects, *about).empty();
}

// The running containers that a step is about; nothing: there are none, and it has failed.
std::vector<Target> Engine::reach(const ToContainer& action, std::string_view what) {
  const auto objects = observer_.select(action.of);
  std::vector<Target> targets = targets_of(objects, action);
  if (auto missing = missing_container(objects, action); !missing.empty()) {
    acted(fail(Reason::not_found, std::move(missing)));
    return {};
  }
  if (targets.empty())
    acted(fail(Reason::not_found,
               fmt::format("no container runs {}: {}", what, observer_.describe(action.of))));
  to_do_ = targets.size();
  return targets;
}

void Engine::act(const Kill& action) {
  const std::weak_ptr<int> alive = alive_;
  any_hit_ = false;
  const bool is_first = action.which.is_first_alone();
  for (const Target& target : reach(action, "to be killed")) {
    const ContextScope of_this_kill(loop_, step_record_);
    const std::string subject = target.text();
    const std::string signal = std::to_string(action.signal);
    if (is_first)
      write(RecordKind::fault, subject, "signal " + signal,
            {{"port", "process"}, {"signal", signal}});
    containers_.signal(target.id(), action.signal, action.which,
                       [this, alive, subject](Result<void> result) {
                         if (!alive.expired()) killed(subject, std::move(result));
                       });
  }
}

// Which process of a container is meant is known once it has been looked for: it is told then.
void Engine::killed(const std::string& subject, Status result) {
  if (stage_ != Stage::acting) return;
  const Kill& action = std::get<Kill>(all_steps_[index_].action);
  const std::string signal = std::to_string(action.signal);
  if (action.which.is_first_alone()) {
    // The status may tell of a container that is gone.
    if (!result)
      write(RecordKind::fault, subject, fmt::format("signal {} reached nobody", signal),
            {{"port", "process"}, {"missed", signal}});
    return acted(std::move(result));
  }
  const std::string meant = action.which.text();
  if (result) {
    any_hit_ = true;
    write(RecordKind::fault, subject, fmt::format("signal {} to {}", signal, meant),
          {{"port", "process"}, {"process", meant}});
  } else if (to_do_ > 1 || any_hit_) {
    result = {};  // of several containers one has it
  } else {
    result = fail(Reason::not_found,
                  fmt::format("{} is in no container of {}", meant, observer_.describe(action.of)));
  }
  acted(std::move(result));
}

void Engine::act(const Exec& action) {
  const std::weak_ptr<int> alive = alive_;
  const Duration limit = all_steps_[index_].within.value_or(scenario_.timeout);
  for (const Target& target : reach(action, "in which a command could run")) {
    const ContextScope of_this_command(loop_, step_record_);
    containers_.exec(target.id(), action.command, limit,
                     [this, alive, subject = target.text()](const Result<ExecResult>& result) {
                       if (!alive.expired()) executed(subject, result);
                     });
  }
}

void Engine::executed(const std::string& subject, const Result<ExecResult>& result) {
  if (stage_ != Stage::acting) return;
  const Exec& action = std::get<Exec>(all_steps_[index_].action);
  if (!result)
    return acted(fail(result.error().reason,
                      fmt::format("exec in {}: {}", subject, result.error().message)));
  const std::string told = told_of(action, *result);
  write(RecordKind::note, subject, told,
        {{"exit", std::to_string(result->exit_code)}, {"output", result->output}});
  if (auto wrong = wrong_with(action, *result))
    return acted(fail(result->timed_out ? Reason::timeout : Reason::invalid,
                      fmt::format("{}: {}, {}", subject, told, *wrong)));
  acted({});
}

void Engine::act(const Patch& action) {
  api::Request request;
  request.verb = api::Verb::patch;
  request.target = {action.of.kind, action.of.namespace_, action.of.name, action.subresource};
  request.body = action.body;
  request.patch_type = action.type;
  if (action.type == api::PatchType::apply) {
    request.body = RawJson(configuration_of(action));
    request.force = action.force;
    request.write.edit().field_manager =
        action.field_manager.empty() ? "kubectl" : action.field_manager;
  }
  const std::weak_ptr<int> alive = alive_;
  client_.call(std::move(request), [this, alive](Result<api::Response> result) {
    if (!alive.expired()) acted(status_of(result));
  });
}

void Engine::act(const Measure& action) {
  controller::pod_autoscaler::Measured measured;
  if (action.of)
    measured.of = [of = *action.of,
                   labels = LabelMatcher::parse(action.of->label_selector)](const Object& object) {
      return &object.kind() == of.kind &&
             (of.namespace_.empty() || object.metadata.namespace_ == of.namespace_) &&
             (of.name.empty() || object.metadata.name == of.name) &&
             (of.label_selector.empty() || (labels && labels->matches(*object.metadata.labels)));
    };
  measured.container = action.container;
  measured.resources = action.resources;
  measured.values = action.values;
  containers_.measure(std::move(measured));
  acted({});
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
