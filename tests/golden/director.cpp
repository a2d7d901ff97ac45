#include "director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "answers.hpp"
#include "api_calls.hpp"
#include "case_nodes.hpp"
#include "core/virtual_start.hpp"
#include "objects/autoscaling.hpp"
#include "objects/codec.hpp"
#include "objects/describe.hpp"
#include "objects/json_text.hpp"
#include "objects/pod_phase.hpp"
#include "objects/yaml.hpp"
#include "runtime/script_runtime.hpp"
#include "scripted_pods.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

constexpr std::string_view actor = "python-requests";
// Shown as `default` in recordings; a name that no text contains by chance.
constexpr const char* case_namespace = "golden-case";
constexpr Duration finish_delete_delay = 300ms;
// Times that recordings write into a pod's status (2026-01-01T00:01:00Z) are long past.
constexpr Time recorded_after = virtual_start + 24h * 300;
constexpr std::int32_t finish_delete_code = 143;  // SIGTERM

std::int64_t number(const json::object& object, std::string_view key, std::int64_t otherwise) {
  const Json* member = object.if_contains(key);
  return member != nullptr && member->is_number() ? member->to_number<std::int64_t>() : otherwise;
}

Ending ending_of(const json::object& argument, std::int64_t default_code) {
  return {.code = static_cast<std::int32_t>(number(argument, "code", default_code)),
          .container = text_member(argument, "container"),
          .reason = text_member(argument, "reason"),
          .message = text_member(argument, "message"),
          .signal = static_cast<std::int32_t>(number(argument, "signal", 0))};
}

api::PatchType patch_type(std::string_view name) {
  if (name == "json") return api::PatchType::json;
  if (name == "strategic") return api::PatchType::strategic;
  if (name == "apply") return api::PatchType::apply;
  return api::PatchType::merge;
}

// Recordings list a HorizontalPodAutoscaler by its oldest version.
Json shown_in_changed(const Object& object) {
  const auto* autoscaler = as<HorizontalPodAutoscaler>(object);
  if (autoscaler == nullptr) return shown(object);
  Json body = to_autoscaling_v1(*autoscaler);
  strip(body);
  return body;
}

// Kinds that recordings leave out of `changed`.
bool is_shown(const Object& object, const std::string& namespace_) {
  static constexpr std::array hidden{"Event",
                                     "Namespace",
                                     "Lease",
                                     "ServiceAccount",
                                     "CustomResourceDefinition",
                                     "PriorityClass",
                                     "ClusterTrainingRuntime"};
  const std::string& kind = object.kind().kind;
  if (std::find(hidden.begin(), hidden.end(), kind) != hidden.end()) return false;
  if (kind == "Node") return !is_standing(object);
  return object.metadata.namespace_ == namespace_;
}

}  // namespace

Director::Director(const Recording& recording, ReplayOptions options)
    : recording_(recording),
      options_(options),
      loop_(Random(options.seed).split("loop"), recorded_after, options.order),
      late_watches_(Random(options.seed).split("late watches")),
      symbols_(case_namespace),
      lane_(loop_.new_lane()) {
  const bool kubelet = recording.needs_one("kubelet");
  if (kubelet) runtime_ = std::make_unique<ScriptRuntime>(loop_, ScriptRuntime::Keep::calls);
  WorldOptions world;
  world.seed = options.seed;
  if (options.late_watches) world.faults = &late_watches_;
  world.pod_references = false;
  world.flags.without.emplace(volume_binder_flag);
  world.flags.without.emplace(autoscaler_flag);
  if (!recording.needs_one("node-lifecycle"))
    world.flags.without.insert(
        {std::string(node_lifecycle_flag), std::string(taint_eviction_flag)});
  world.scheduler = recording.needs_one("kube-scheduler");
  if (recording.needs_one("training-operator"))
    if (const auto version =
            training_operator.find_version(recording.version_of(training_operator.name));
        !version.empty())
      world.systems = {{&training_operator, version}};
  if (const std::string version = recording.version_of(jobset_system.name); !version.empty())
    world.systems.push_back(
        {.system = &jobset_system,
         .version = jobset_system.find_version(version),
         .flags = {{"feature-gates", recording.version_of("jobsetFeatureGates")}}});
  if (const std::string version = recording.version_of(trainer_system.name); !version.empty())
    world.systems.push_back(
        {.system = &trainer_system, .version = trainer_system.find_version(version)});
  for (const KindInfo* kind : built_in_kinds())
    if (std::find(recording.kinds.begin(), recording.kinds.end(), kind->kind) !=
        recording.kinds.end())
      world.kinds.push_back(kind);
  if (kubelet) {
    world.nodes.push_back({.name = "kubelet-0", .address = "192.168.0.7"});
    world.dns.host = {{"192.168.0.254"}, {"example.org"}, {"timeout:2"}};
    symbols_.set_host_ip(world.nodes.back().address);
    world.kubelet.settings.edit().root_dir = "<root>/kubelet";
    world.kubelet.settings.edit().log_dir = "<root>/logs";
    world.kubelet.settings.edit().gpu_plugin = false;
  }
  world_ = std::make_unique<World>(loop_, std::move(world), runtime_.get());
  world_->trace().add_sink([this](const Record& record) { on_record(record); });
  api_calls_ = std::make_unique<ApiCalls>(loop_, *world_, symbols_, actor.data());
}

Director::~Director() = default;

// Events about nodes lie in the namespace default.
bool Director::is_of_the_case(const Object& event) const {
  if (event.metadata.namespace_ == case_namespace) return true;
  const auto& involved = *static_cast<const Event&>(event).involvedObject;
  const ObjectPtr node =
      involved.kind == "Node" ? world_->find(Node::info(), {}, involved.name.view()) : nullptr;
  return involved.kind == "Node" && (node == nullptr || is_shown(*node, case_namespace));
}

void Director::on_record(const Record& record) {
  if (options_.verbose) fmt::print("{}\n", describe(record));
  const ObjectPtr object = record.after ? record.after : record.before;
  if (!object) return;
  if (record.after) symbols_.learn(*record.after);
  if (record.after && &record.after->kind() == &Event::info() && is_of_the_case(*record.after)) {
    step_events_.push_back(record.after);
    const Event& event = static_cast<const Event&>(*record.after);
    ++told_[fmt::format("{}/{} {}", event.involvedObject->kind,
                        symbols_.symbolic(event.involvedObject->name.str()),
                        event.rest->source.component)];
  }
  const auto pod = as<Pod>(record.after);
  if (!pod || !recording_.auto_finish_delete || !pod->metadata.deletionTimestamp) return;
  const bool played = !pod->spec->nodeName.empty() && !runtime_;
  if (!played || deletions_.contains(pod->metadata.uid.str())) return;
  const std::string key = key_of(pod->metadata);
  deletions_[pod->metadata.uid.str()] = loop_.after(
      lane_, finish_delete_delay,
      [this, uid = pod->metadata.uid.str(), key] { finish_delete(key, uid, finish_delete_code); });
}

std::shared_ptr<const Pod> Director::same_pod(const std::string& key,
                                              const std::string& uid) const {
  const auto slash = key.find('/');
  auto pod = as<Pod>(world_->find(Pod::info(), key.substr(0, slash), key.substr(slash + 1)));
  return pod && pod->metadata.uid == uid ? pod : nullptr;
}

void Director::end_containers(const Pod& pod, std::int32_t code) {
  const bool over = pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
  if (!over && !pod.status.containerStatuses.empty())
    write_pod_status(pod, ended_status(pod, loop_.now(), {.code = code}));
}

void Director::finish_delete(const std::string& key, const std::string& uid, std::int32_t code) {
  const auto pod = same_pod(key, uid);
  if (!pod) return;
  end_containers(*pod, code);
  (void)world_->call(api::remove(*pod, {.grace_period_seconds = 0}), actor);
}

void Director::write_pod_status(const Pod& pod, const PodStatus& status) {
  json::object body{{"status", to_json(status)}};
  (void)world_->call(api::patch(pod, api::PatchType::merge, std::move(body), "status"), actor);
}

void Director::bind(const Pod& pod, const std::string& node) {
  (void)world_->call(api::bind(pod, node), actor);
}

std::vector<std::shared_ptr<const Pod>> Director::pods_named(const Json& patterns) const {
  std::vector<std::regex> wanted;
  const auto add = [&](const Json& pattern) {
    wanted.emplace_back(std::string(pattern.as_string()));
  };
  const bool all = patterns.is_string() && patterns.get_string() == "all";
  if (patterns.is_array())
    for (const Json& pattern : patterns.get_array()) add(pattern);
  else if (!all)
    add(patterns);
  std::vector<std::pair<std::string, std::shared_ptr<const Pod>>> found;
  for (const ObjectPtr& object : world_->objects(Pod::info(), case_namespace)) {
    const std::string name = symbols_.name_of(*object);
    if (all || std::any_of(wanted.begin(), wanted.end(),
                           [&](const std::regex& r) { return std::regex_match(name, r); }))
      found.emplace_back(name, as<Pod>(object));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::shared_ptr<const Pod>> pods;
  for (auto& [name, pod] : found) pods.push_back(std::move(pod));
  return pods;
}

Result<const KindInfo*> Director::kind_named(const json::object& argument) const {
  const std::string name = text_member(argument, "kind"),
                    version = text_member(argument, "apiVersion");
  for (const KindInfo* kind : world_->kinds().all())
    if (kind->kind == name && (version.empty() || kind->api_version() == version)) return kind;
  return fail(Reason::not_found, "the twin has no kind " + name);
}

Result<Json> Director::apply(const Json& argument) {
  std::vector<Json> documents;
  if (argument.is_string()) {
    YamlLimits limits;
    limits.letters_are_booleans = false;  // the recordings' director is a Python program
    TRY(const auto parsed,
        parse_yaml(symbols_.actual(std::string(argument.get_string())), recording_.name, limits));
    for (const YamlDocument& document : parsed) documents.push_back(document.value);
  } else if (argument.is_array()) {
    for (const Json& document : argument.get_array())
      documents.push_back(symbols_.actual(document));
  } else {
    documents.push_back(symbols_.actual(argument));
  }
  json::array answers;
  for (Json& document : documents) {
    TRY(const KindInfo* kind, kind_named(document.as_object()));
    api::Request request;
    request.verb = api::Verb::create;
    request.target.kind = kind;
    if (kind->namespaced) {
      const auto& metadata = document.as_object()["metadata"];
      request.target.namespace_ =
          metadata.is_object() ? text_member(metadata.get_object(), "namespace", case_namespace)
                               : std::string(case_namespace);
    }
    request.write.edit().field_validation = "Strict";
    request.body = RawJson(std::move(document));
    answers.push_back(answer_of(symbols_, world_->call(std::move(request), actor), false));
  }
  return answers;
}

Result<Json> Director::patch(const json::object& argument) {
  TRY(const KindInfo* kind, kind_named(argument));
  api::Request request;
  request.verb = api::Verb::patch;
  request.target = {kind, kind->namespaced ? case_namespace : "",
                    symbols_.actual(text_member(argument, "name")),
                    text_member(argument, "subresource")};
  request.patch_type = patch_type(text_member(argument, "type"));
  request.body = RawJson(symbols_.actual(argument.at("body")));
  request.write.edit().field_manager = text_member(argument, "manager");
  if (const Json* force = argument.if_contains("force"))
    request.force = force->is_bool() && force->get_bool();
  return answer_of(symbols_, world_->call(std::move(request), actor), false);
}

Result<Json> Director::remove(const json::object& argument) {
  TRY(const KindInfo* kind, kind_named(argument));
  api::Request request;
  request.verb = api::Verb::remove;
  request.target = {kind,
                    kind->namespaced ? case_namespace : "",
                    symbols_.actual(text_member(argument, "name")),
                    {}};
  const std::string policy = text_member(argument, "propagation");
  if (policy == "Foreground") request.remove.edit().propagation = api::Propagation::foreground;
  if (policy == "Background") request.remove.edit().propagation = api::Propagation::background;
  if (policy == "Orphan") request.remove.edit().propagation = api::Propagation::orphan;
  if (const Json* grace = argument.if_contains("grace"))
    request.remove.edit().grace_period_seconds = grace->as_int64();
  return answer_of(symbols_, world_->call(std::move(request), actor), false);
}

Result<Json> Director::get(const json::object& argument) {
  TRY(const KindInfo* kind, kind_named(argument));
  api::Request request;
  request.target = {kind, kind->namespaced ? case_namespace : "",
                    symbols_.actual(text_member(argument, "name")),
                    text_member(argument, "subresource")};
  return answer_of(symbols_, world_->call(std::move(request), actor), true);
}

Result<Json> Director::status(const json::object& argument) {
  json::object patched(argument);
  patched["body"] = json::object{{"status", argument.at("status")}};
  patched["subresource"] = "status";
  patched["type"] = "merge";
  return patch(patched);
}

// What the scripted kubelet does to pods.
Status Director::play(const Step& step) {
  const bool named = step.argument.is_object() && step.argument.get_object().contains("pods");
  const json::object argument =
      step.argument.is_object() ? step.argument.get_object() : json::object{};
  const Time now = loop_.now();
  for (const auto& pod : pods_named(named ? argument.at("pods") : step.argument)) {
    const bool bound = !pod->spec->nodeName.empty();
    const bool terminating = pod->metadata.deletionTimestamp.has_value();
    if (step.verb == "start" || step.verb == "schedule") {
      const auto& statuses = pod->status.containerStatuses;
      const bool started = !statuses.empty() && !statuses.front().state.waiting;
      if (terminating || started || is_terminal_phase(pod->status.phase)) continue;
      if (!bound) bind(*pod, text_member(argument, "node", "node-0"));
      const auto again = as<Pod>(world_->find(Pod::info(), case_namespace, pod->metadata.name));
      if (!again) continue;
      const Json* ready = argument.if_contains("ready");
      if (step.verb == "schedule")
        write_pod_status(*again, creating_status(*again, now));
      else
        write_pod_status(*again,
                         running_status(*again, now, fmt::format("10.244.0.{}", ++started_pods_),
                                        ready == nullptr || ready->as_bool()));
    } else if (step.verb == "exit") {
      if (!is_terminal_phase(pod->status.phase))
        write_pod_status(*pod, ended_status(*pod, now, ending_of(argument, 0)));
    } else if (step.verb == "restart" || step.verb == "crashloop") {
      write_pod_status(
          *pod, restarted_status(*pod, now, ending_of(argument, 1), step.verb == "crashloop"));
    } else if (step.verb == "disrupt") {
      write_pod_status(
          *pod,
          disrupted_status(*pod, now, text_member(argument, "reason", "EvictionByEvictionAPI"),
                           text_member(argument, "message", "Eviction API: evicting")));
    } else if (step.verb == "podstatus") {
      json::object body{{"status", symbols_.actual(argument.at("status"))}};
      (void)world_->call(api::patch(*pod, api::PatchType::merge, std::move(body), "status"), actor);
    } else if (step.verb == "finishDelete") {
      // Who waits for an end, and not for a deletion, is faster than the director's second call.
      if (!terminating) {
        end_containers(*pod, finish_delete_code);
        loop_.drain();
      }
      finish_delete(key_of(pod->metadata), pod->metadata.uid.str(),
                    static_cast<std::int32_t>(number(argument, "code", finish_delete_code)));
    }
    // The director writes one pod after the other over HTTP: who watches is done with the first
    // before the second comes (sidecar-keeps-pod-running, step 4).
    loop_.drain();
  }
  return {};
}

// What the scripted container runtime does below a real kubelet.
Status Director::play_container(const json::object& action) {
  const auto& [what, value] = *action.begin();
  const json::object& a = value.as_object();
  const std::string pod = symbols_.actual(text_member(a, "pod"));
  if (what == "exit") {
    const Json* oom = a.if_contains("oom");
    runtime_->container_exit(case_namespace, pod, text_member(a, "container"),
                             static_cast<int>(number(a, "code", 0)),
                             oom != nullptr && oom->as_bool(), text_member(a, "reason"),
                             text_member(a, "message"), text_member(a, "log"));
  } else if (what == "set") {
    runtime_->set(case_namespace, pod, text_member(a, "key"), text_member(a, "value"));
  } else if (what == "sandbox-dies") {
    runtime_->sandbox_dies(case_namespace, pod);
  } else {
    return fail(Reason::bad_input, "unknown container action " + std::string(what));
  }
  return {};
}

Result<Json> Director::cri(const json::object& argument) {
  const std::string pod = symbols_.actual(text_member(argument, "pod")),
                    show = text_member(argument, "show");
  json::object out;
  if (show != "requests") {
    json::array calls;
    for (const std::string& call : runtime_->calls(case_namespace, pod))
      calls.emplace_back(symbols_.symbolic(call));
    out.emplace("calls", std::move(calls));
  }
  if (show != "calls")
    out.emplace("requests", symbols_.symbolic(runtime_->requests(case_namespace, pod)));
  return out;
}

Result<Json> Director::perform(const Step& step) {
  static const std::array played{"start",     "schedule", "exit",      "restart",
                                 "crashloop", "disrupt",  "podstatus", "finishDelete"};
  const Json none = nullptr;
  if (step.verb == "apply") return apply(step.argument);
  if (step.verb == "api") return api_calls_->perform(step.argument);
  if (step.verb == "patch") return patch(step.argument.as_object());
  if (step.verb == "delete") return remove(step.argument.as_object());
  if (step.verb == "get") return get(step.argument.as_object());
  if (step.verb == "status") return status(step.argument.as_object());
  if (step.verb == "cri") return cri(step.argument.as_object());
  if (step.verb == "wait" || step.verb.empty()) return none;
  if (std::find(played.begin(), played.end(), step.verb) != played.end()) {
    TRY_VOID(play(step));
    return none;
  }
  if (step.verb == "container") {
    if (step.argument.is_array())
      for (const Json& action : step.argument.get_array())
        TRY_VOID(play_container(action.as_object()));
    else
      TRY_VOID(play_container(step.argument.as_object()));
    return none;
  }
  if (step.verb == "kubelet") {
    world_->restart_kubelets();
    return none;
  }
  if (step.verb == "nodes") {
    for (const Json& node : step.argument.as_array()) TRY_VOID(add_node(*world_, node.as_object()));
    return none;
  }
  if (step.verb == "nodeDown") {
    for (const Json& name : step.argument.as_array())
      world_->silence_node(std::string(name.as_string()));
    return none;
  }
  if (step.verb == "nodeUp") {
    for (const Json& name : step.argument.as_array())
      TRY_VOID(bring_up(*world_, std::string(name.as_string()), actor));
    return none;
  }
  return fail(Reason::bad_input, "the twin cannot perform " + step.verb);
}

Director::Snapshot Director::snapshot() const {
  Snapshot all;
  for (const KindInfo* kind : world_->kinds().all())
    for (const ObjectPtr& object : world_->objects(*kind, {}))
      if (is_shown(*object, case_namespace)) {
        all.objects.emplace(symbols_.key_of(*object), symbols_.symbolic(shown_in_changed(*object)));
      }
  return all;
}

namespace {

// A pass of JobSet's on a stale cache: recordings of Trainer are without it (README.md).
bool is_stray(const Event& event) {
  const std::string_view message = event.message.view();
  return event.reason == "JobCreationFailed" && message.starts_with("job \"") &&
         message.ends_with("already exists") && message.find("jobs.batch") != message.npos;
}

}  // namespace

std::optional<Difference> Director::compare_events(const Step& step) const {
  using Text = std::array<std::string, 5>;
  std::vector<Text> expected, actual;
  for (const Json& event : step.events) {
    const json::object& e = event.as_object();
    expected.push_back({text_member(e, "type"), text_member(e, "reason"), text_member(e, "message"),
                        text_member(e, "regarding"), text_member(e, "source")});
  }
  const bool of_trainer = recording_.system == "trainjob";
  for (const ObjectPtr& object : step_events_) {
    const Event& e = static_cast<const Event&>(*object);
    if (of_trainer && is_stray(e)) continue;
    std::string regarding =
        e.involvedObject->kind + "/" + symbols_.symbolic(e.involvedObject->name.str());
    if (!e.involvedObject->fieldPath.empty()) regarding += " " + e.involvedObject->fieldPath;
    actual.push_back({e.type_.str(), e.reason.str(), symbols_.symbolic(e.message.str()), regarding,
                      e.rest->source.component.empty() ? e.rest->reportingComponent.str()
                                                       : e.rest->source.component.str()});
  }
  const auto same = [](const Text& want, const Text& have) {
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!matches(want[i], have[i])) return false;
    return true;
  };
  const auto show = [](const Text& t) { return fmt::format("{}", fmt::join(t, " | ")); };
  const auto is_in = [](const std::vector<Text>& all, const auto& fits) {
    return std::any_of(all.begin(), all.end(), fits);
  };
  const char* none = "(no such event)";
  for (const Text& want : expected) {
    if (is_in(actual, [&](const Text& have) { return same(want, have); })) continue;
    // A recorder that has told 25 events of an object drops the next ones.
    const auto told = told_.find(want[3] + " " + want[4]);
    const std::string instead =
        fmt::format("(no such event, {} told)", told == told_.end() ? 0 : told->second);
    if (auto wrong = judged({step.number, "events", {"", show(want), instead}})) return wrong;
  }
  for (const Text& have : actual) {
    if (is_in(expected, [&](const Text& want) { return same(want, have); })) continue;
    if (auto wrong = judged({step.number, "events", {"", none, show(have)}})) return wrong;
  }
  return std::nullopt;
}

std::string Difference::text() const {
  return fmt::format("{}{}{}: {} -> {}", what, mismatch.path.empty() ? "" : " ", mismatch.path,
                     mismatch.expected, mismatch.actual);
}

std::optional<Difference> Director::judged(Difference difference) const {
  if (options_.tolerated && options_.tolerated(difference)) return std::nullopt;
  return difference;
}

std::optional<Difference> Director::compare(const Step& step, const std::optional<Json>& result,
                                            const Snapshot& before, const Snapshot& after) {
  const auto find = [](const Snapshot& s, const std::string& key) -> const Json* {
    const auto found = s.objects.find(key);
    return found != s.objects.end() ? &found->second : nullptr;
  };
  std::optional<Difference> wrong;
  const auto differs = [&](std::string what, Mismatch mismatch) {
    wrong = judged({step.number, std::move(what), std::move(mismatch)});
    return wrong.has_value();
  };
  if (!step.expected_result.is_null() && result)
    if (const auto other = mismatch(symbols_, step.expected_result, *result);
        other && differs("result", *other))
      return wrong;
  for (const auto& member : step.changed) {
    const std::string key(member.key());
    const Json* have = find(after, key);
    std::optional<Mismatch> other = Mismatch{"(whole)", "an object", "(absent)"};
    if (have != nullptr) other = mismatch(symbols_, member.value(), *have);
    if (other && differs("changed " + key, std::move(*other))) return wrong;
  }
  for (const auto& [key, have] : after.objects) {
    const Json* old = find(before, key);
    if (step.changed.contains(key) || (old != nullptr && *old == have)) continue;
    const std::string now =
        old == nullptr ? "made: " + json::serialize(have)
                       : "was " + json::serialize(*old) + "\n      now " + json::serialize(have);
    if (differs("changed " + key, {"(whole)", "unchanged", now})) return wrong;
  }
  for (const auto& [key, old] : before.objects)
    if (find(after, key) == nullptr &&
        std::find(step.gone.begin(), step.gone.end(), key) == step.gone.end() &&
        !step.changed.contains(key) && differs("gone " + key, {"(whole)", "still there", "gone"}))
      return wrong;
  for (const std::string& key : step.gone)
    if (find(after, key) != nullptr && differs("gone " + key, {"(whole)", "gone", "still there"}))
      return wrong;
  return compare_events(step);
}

Result<std::optional<Difference>> Director::replay() {
  TRY_VOID(world_->start());
  make_standing_nodes(*world_);
  TRY_VOID(world_->add_namespace(case_namespace));
  const Duration warm_up = 5s;  // controllers list and settle before the first step
  loop_.run_until(loop_.now() + warm_up);
  const Time zero = loop_.now();
  Snapshot before = snapshot();
  for (std::size_t i = 0; i < recording_.steps.size(); ++i) {
    const Step& step = recording_.steps[i];
    loop_.run_until(zero + step.at);
    symbols_.begin_step(loop_.now());
    symbols_.set_now(loop_.now());
    step_events_.clear();
    auto result = perform(step);
    if (!result) return tl::make_unexpected(std::move(result).error());
    const bool last = i + 1 == recording_.steps.size();
    loop_.run_until(zero + (last ? recording_.end : recording_.steps[i + 1].at) - 1ms);
    Snapshot after = snapshot();
    if (auto wrong = compare(step, *result, before, after)) return wrong;
    before = std::move(after);
  }
  return std::optional<Difference>();
}

}  // namespace ddptwin::golden
