#include "scenario/run/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <set>
#include <utility>

#include "controller/controller.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/run/namespaces.hpp"
#include "scenario/systems/workloads.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// Nobody who has something to do waits longer for it than that.
constexpr Duration rehearsal_settle_time = std::chrono::seconds(30);
// A set makes one pod after another, each at once; what still makes some then makes them for ever.
constexpr int settle_rounds_max = 100;

constexpr const char* stage_hand = "rehearsal";  // who plays kubelet

WorldOptions rehearsal_options(const Scenario& scenario) {
  WorldOptions options;
  options.systems = scenario.systems;
  options.kinds = kinds_of(scenario);
  options.nodes = scenario.nodes;
  for (NodeOptions& node : options.nodes) node.kubelet = false;
  options.flags.kube_api_qps = -1;  // who waits only for his turn need not
  for (const StandingKind& kind : standing_kinds())
    if (kind.makes != nullptr) options.flags.without.emplace(kind.makes->controller);
  return options;
}

// ---- pods that are played ----------------------------------------------------------------------

json::object played_condition(std::string_view type, bool holds) {
  return {{"type", type}, {"status", holds ? "True" : "False"}};
}

json::array played_statuses(const std::vector<Container>& containers, const std::string& now,
                            bool has_ended) {
  json::array statuses;
  for (const Container& container : containers) {
    json::object state;
    if (has_ended)
      state["terminated"] = {
          {"exitCode", 0}, {"reason", "Completed"}, {"startedAt", now}, {"finishedAt", now}};
    else
      state["running"] = {{"startedAt", now}};
    statuses.push_back({{"name", std::string_view(container.name)},
                        {"image", std::string_view(container.image)},
                        {"imageID", ""},
                        {"ready", !has_ended},
                        {"started", !has_ended},
                        {"restartCount", 0},
                        {"state", std::move(state)}});
  }
  return statuses;
}

Json played_status(const Pod& pod, bool has_ended, Time now) {
  json::array conditions;
  for (const std::string_view type : {"PodScheduled", "Initialized"})
    conditions.push_back(played_condition(type, true));
  for (const std::string_view type : {"ContainersReady", "Ready"})
    conditions.push_back(played_condition(type, !has_ended));
  const std::string at = format_rfc3339(now);
  return json::object{
      {"status",
       {{"phase", has_ended ? "Succeeded" : "Running"},
        {"startTime", at},
        {"conditions", std::move(conditions)},
        {"containerStatuses", played_statuses(*pod.spec->containers, at, has_ended)}}}};
}

// ---- templates ---------------------------------------------------------------------------------

struct RehearsedTemplate {
  bool init = false;
  const json::object* value = nullptr;
};

// Of every list named containers or initContainers, at any depth: so of any kind.
void find_containers(const json::value& value, std::vector<RehearsedTemplate>& found) {
  if (const auto* list = value.if_array())
    for (const json::value& one : *list) find_containers(one, found);
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& member : *object) {
    const bool init = member.key() == "initContainers";
    if (const auto* list = member.value().if_array();
        list && (init || member.key() == "containers"))
      for (const json::value& one : *list)
        if (const auto* container = one.if_object()) found.push_back({init, container});
    find_containers(member.value(), found);
  }
}

const json::array& members_of(const json::object& object, std::string_view name) {
  static const json::array none;
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_array() ? found->get_array() : none;
}

std::string member_text_of(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// The last of that name, which is the one that counts; null: there is none.
const json::object* variable_of(const json::object& container, std::string_view name) {
  const json::object* found = nullptr;
  for (const json::value& one : members_of(container, "env"))
    if (one.is_object() && member_text_of(one.get_object(), "name") == name)
      found = &one.get_object();
  return found;
}

// What it would be, in words where nobody knows it yet.
std::string value_text(const json::object& variable) {
  const json::value* from = variable.if_contains("valueFrom");
  if (from == nullptr || !from->is_object() || from->get_object().empty())
    return member_text_of(variable, "value");
  return std::string(from->get_object().begin()->key());
}

// `value` absent is the empty one.
bool is_same_variable(const json::object& a, const json::object& b) {
  const json::value *a_from = a.if_contains("valueFrom"), *b_from = b.if_contains("valueFrom");
  if ((a_from == nullptr) != (b_from == nullptr)) return false;
  if (a_from == nullptr) return member_text_of(a, "value") == member_text_of(b, "value");
  // The API fills in more than people write (fieldRef.apiVersion).
  if (!a_from->is_object() || !b_from->is_object()) return *a_from == *b_from;
  return value_text(a) == value_text(b);
}

// Perhaps among others of that name.
bool has_variable_as(const json::object& container, const json::object& variable) {
  const json::array& env = members_of(container, "env");
  return std::any_of(env.begin(), env.end(), [&variable](const json::value& one) {
    return one.is_object() &&
           member_text_of(one.get_object(), "name") == member_text_of(variable, "name") &&
           is_same_variable(one.get_object(), variable);
  });
}

// What an object says of a variable, and where: "trainjob/mnist: spec.trainer.env[0]".
struct SaidVariable {
  std::string where{};
  const json::object* variable = nullptr;
};

// In lists of variables, wherever they are (TrainJob's spec.trainer.env).
void find_said(const json::value& value, const std::string& path, std::string_view name,
               std::vector<SaidVariable>& found) {
  if (const auto* list = value.if_array())
    for (std::size_t i = 0; i < list->size(); ++i)
      find_said((*list)[i], fmt::format("{}[{}]", path, i), name, found);
  const auto* object = value.if_object();
  if (object == nullptr) return;
  const json::array& env = members_of(*object, "env");
  for (std::size_t i = 0; i < env.size(); ++i)
    if (env[i].is_object() && member_text_of(env[i].get_object(), "name") == name)
      found.push_back({fmt::format("{}.env[{}]", path, i), &env[i].get_object()});
  for (const auto& member : *object) {
    const std::string key(member.key());
    find_said(member.value(), path.empty() ? key : path + "." + key, name, found);
  }
}

// An object as it is written, and the containers of its templates.
struct Templates {
  Json text{};
  std::vector<RehearsedTemplate> containers{};
};

// ---- rules -------------------------------------------------------------------------------------

// A rule that a controller took, by who wrote it.
struct TakenRule {
  std::string_view actor{}, rule{};
  friend bool operator==(const TakenRule&, const TakenRule&) = default;
};

const controller::Rule* taken_rule_row(const TakenRule& taken) {
  for (const System* system : all_workload_rows()) {
    if (system->rules == nullptr || system->controllers.empty()) continue;
    const bool is_its = std::any_of(
        system->controllers.begin(), system->controllers.end(),
        [&taken](const SystemController& controller) { return controller.name == taken.actor; });
    if (!is_its) continue;
    for (const controller::Rule* rule : system->rules())
      if (rule->name == taken.rule) return rule;
  }
  return nullptr;
}

std::string words_of_rules(const std::vector<TakenRule>& rules, std::string_view variable) {
  const auto by = [](const TakenRule& one) {
    const std::string_view kind = kind_of_controller(one.actor);
    return kind.empty() ? one.actor : kind;
  };
  for (const TakenRule& one : rules)
    if (const controller::Rule* rule = taken_rule_row(one))
      for (const controller::VariableRow& row : rule->variables)
        if (row.name == variable) return fmt::format("{}: {}", by(one), row.rule);
  if (rules.empty()) return "an admission webhook or default";
  return fmt::format("{}: {}", by(rules.front()), rules.front().rule);
}

bool is_applied_as(const Object& object, const Manifest& manifest) {
  const ObjectMeta& meant = manifest.object->metadata;
  return &object.kind() == &manifest.object->kind() && object.metadata.name == meant.name &&
         (object.metadata.namespace_ == meant.namespace_ || meant.namespace_.empty());
}

// The pods are made by somebody who is not looked at here.
bool makes_others(const Manifest& manifest) {
  const KindInfo& kind = manifest.object->kind();
  return is_workload(kind) && kind.kind != Pod::info().kind;
}

template <class Visit>
void each_applied(const Scenario& scenario, const Visit& visit) {
  for (const Manifest& manifest : scenario.manifests) visit(manifest);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action))
      for (const Manifest& manifest : apply->manifests) visit(manifest);
}

}  // namespace

int likeness(const json::object& of_template, const json::object& container) {
  int points = 0;
  for (const std::string_view field : {"image", "command", "args"}) {
    const json::value *a = of_template.if_contains(field), *b = container.if_contains(field);
    if (a != nullptr && b != nullptr && *a == *b) points += 4;
  }
  for (const json::value& one : members_of(of_template, "env")) {
    if (!one.is_object()) continue;
    points += has_variable_as(container, one.get_object()) ? 1 : -1;
  }
  return points;
}

struct Rehearsal::Parts {
  explicit Parts(const Scenario& of) : scenario(of), world(loop, rehearsal_options(of), nullptr) {
    world.trace().add_sink(
        [this](const Record& record) { take(record); },
        {RecordKind::rule, RecordKind::object_added, RecordKind::object_modified});
  }

  // ---- what happens ----------------------------------------------------------------------------

  void take(const Record& record) {
    if (record.kind == RecordKind::rule) {
      rules.emplace(record.id, TakenRule{record.actor, record.rule});
      return;
    }
    const std::string uid = record.after->metadata.uid.str();
    if (auto pod = std::dynamic_pointer_cast<const Pod>(record.after)) {
      if (record.kind == RecordKind::object_modified) return;
      note_pod(std::move(pod));
    } else if (ObjectPtr& known = objects[uid];
               known == nullptr ||
               known->metadata.generation != record.after->metadata.generation) {
      known = record.after;  // its status alone makes it no other
      make_one(known);
    }
    const auto rule = rules.find(record.cause);
    if (rule == rules.end()) return;
    std::vector<TakenRule>& known = written_by[uid];
    if (std::find(known.begin(), known.end(), rule->second) == known.end())
      known.push_back(rule->second);
  }

  void note_pod(std::shared_ptr<const Pod> pod) {
    RehearsedPod noted{pod, nullptr, {}};
    const Object* last = pod.get();
    while (ObjectPtr owner = owner_of(*last)) {
      last = owner.get();
      noted.owners.push_back(std::move(owner));
    }
    each_applied(scenario, [&](const Manifest& manifest) {
      if (noted.of == nullptr && is_applied_as(*last, manifest)) noted.of = &manifest;
    });
    if (others_may_wait_for(noted))
      loop.post(lane, [this, pod = std::move(pod)] { play_status(*pod, false); });
    made.push_back(std::move(noted));
  }

  // Of what comes by the clock one is made at once: nobody waits for a night's training here. A
  // version of its maker that would make the same again is no news.
  void make_one(const ObjectPtr& maker) {
    const StandingKind* kind = standing_kind(maker->kind());
    if (kind == nullptr || kind->makes == nullptr) return;
    std::shared_ptr<Object> one = kind->makes->one(*maker);
    if (one == nullptr) return;
    Json spec = encode(*one).as_object()["spec"];
    if (std::exchange(made_by_the_clock[maker->metadata.uid.str()], spec) == spec) return;
    loop.post(lane,
              [this, one = std::move(one)] { (void)world.call(api::create(one), stage_hand); });
  }

  // ---- how pods are played ---------------------------------------------------------------------

  // Of a job that was applied all pods come at once.
  static bool others_may_wait_for(const RehearsedPod& pod) {
    const std::vector<ObjectPtr>& owners = pod.owners;
    return owners.size() > 1 || (owners.size() == 1 && job_kind(owners[0]->kind()) == nullptr);
  }

  void play_status(const Pod& pod, bool has_ended) {
    (void)world.call(
        api::patch(pod, api::PatchType::merge, played_status(pod, has_ended, loop.now()), "status"),
        stage_hand);
  }

  // Those that run to an end, and whose owner is another's who may wait for that. What an owner
  // makes after the end of its pods is no news: they are like them.
  bool end_pods() {
    std::set<std::string> owners;
    bool any = false;
    for (; ended < made.size(); ++ended) {
      const RehearsedPod& one = made[ended];
      if (one.owners.size() < 2 || one.pod->spec->restartPolicy == "Always") continue;
      const std::string owner = one.owners.front()->metadata.uid.str();
      if (ended_owners.contains(owner)) continue;
      owners.insert(owner);
      play_status(*one.pod, true);
      any = true;
    }
    ended_owners.merge(owners);
    return any;
  }

  // ---- its course ------------------------------------------------------------------------------

  void settle() {
    std::size_t before = made.size() + 1;
    for (int round = 0; round < settle_rounds_max && made.size() != before; ++round) {
      before = made.size();
      loop.run_until(loop.now() + rehearsal_settle_time);
    }
  }

  void apply(const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      const auto created = world.call(api::create(manifest.object), "user");
      if (created || created.error().reason != Reason::already_exists) continue;
      Json body = encode(*manifest.object);
      body.as_object().erase("status");
      (void)world.call(api::patch(*manifest.object, api::PatchType::merge, std::move(body)),
                       "user");
    }
  }

  void patch(const Patch& action) {
    api::Request request;
    request.verb = api::Verb::patch;
    request.target = {action.of.kind, action.of.namespace_, action.of.name, action.subresource};
    request.body = action.body;
    request.patch_type = action.type;
    (void)world.call(request, "user");
  }

  // False: the step makes nothing.
  bool act(const Step& step) {
    if (step.refused) return false;
    if (const Apply* action = std::get_if<Apply>(&step.action))
      return apply(action->manifests), true;
    if (const Patch* action = std::get_if<Patch>(&step.action)) return patch(*action), true;
    return false;
  }

  // ---- who owns whom ---------------------------------------------------------------------------

  ObjectPtr owner_of(const Object& object) const {
    const OwnerReference* owner = object.metadata.controller();
    if (owner == nullptr) return nullptr;
    const auto found = objects.find(owner->uid.str());
    return found == objects.end() ? nullptr : found->second;
  }

  const Templates& templates_of(const ObjectPtr& object) const {
    Templates& of = templates[object];
    if (of.text.is_null()) {
      of.text = encode(*object);
      find_containers(of.text, of.containers);
    }
    return of;
  }

  // The container that it is made from; null: that object has no such one.
  static const json::object* made_from(const Templates& templates, const json::object& container,
                                       bool init) {
    const json::object* best = nullptr;
    int points = 0;
    for (const RehearsedTemplate& one : templates.containers) {
      if (one.init != init ||
          member_text_of(*one.value, "name") != member_text_of(container, "name"))
        continue;
      const int like = likeness(*one.value, container);
      if (best != nullptr && like <= points) continue;
      best = one.value;
      points = like;
    }
    return best;
  }

  const std::vector<TakenRule>& writers_of(const Object& object) const {
    static const std::vector<TakenRule> nobody;
    const auto found = written_by.find(object.metadata.uid.str());
    return found == written_by.end() ? nobody : found->second;
  }

  // ---- who put it there ------------------------------------------------------------------------

  // Nothing: its user did. `chain`: the pod and its owners, the last of which was applied.
  std::optional<PutVariable> put(const std::vector<ObjectPtr>& chain, const json::object& container,
                                 bool init, const json::object& variable) const {
    const std::string name = member_text_of(variable, "name");
    for (std::size_t i = 1; i < chain.size(); ++i) {
      const Templates& above = templates_of(chain[i]);
      const json::object* from = made_from(above, container, init);
      const json::object* had = from == nullptr ? nullptr : variable_of(*from, name);
      if (had != nullptr && is_same_variable(*had, variable)) continue;
      // A container without an image is a patch of another one (TrainJob's runtimePatches).
      const bool is_template = from != nullptr && from->contains("image");
      const auto said =
          is_template ? std::vector<SaidVariable>() : said_above(chain, i, container, init, name);
      const auto is_it = [&](const SaidVariable& one) {
        return is_same_variable(*one.variable, variable);
      };
      const auto own = std::find_if(said.begin(), said.end(), is_it);
      const auto other = std::find_if_not(said.begin(), said.end(), is_it);
      PutVariable found{
          own != said.end() ? own->where : words_of_rules(writers_of(*chain[i - 1]), name), {}};
      if (is_template && had != nullptr) found.replaced = value_text(*had);
      if (!is_template && other != said.end()) found.replaced = value_text(*other->variable);
      return found;
    }
    return {};
  }

  // An object whose own templates do not have the container may say of the variable elsewhere, and
  // may name the object that has the container (TrainJob's runtime).
  std::vector<SaidVariable> said_above(const std::vector<ObjectPtr>& chain, std::size_t level,
                                       const json::object& container, bool init,
                                       std::string_view name) const {
    std::vector<SaidVariable> said;
    for (; level < chain.size(); ++level) {
      const Templates& above = templates_of(chain[level]);
      std::vector<SaidVariable> own;
      find_said(above.text, {}, name, own);
      for (SaidVariable& one : own)
        said.push_back({fmt::format("{}: {}", short_name(*chain[level]), one.where), one.variable});
      for (const ObjectPtr& named : named_by(above.text)) {
        const json::object* from = made_from(templates_of(named), container, init);
        const json::object* had = from == nullptr ? nullptr : variable_of(*from, name);
        if (had != nullptr)
          said.push_back({fmt::format("{}: its template", short_name(*named)), had});
      }
    }
    return said;
  }

  // By members of the spec that are references: {kind, name}.
  std::vector<ObjectPtr> named_by(const json::value& object) const {
    std::vector<ObjectPtr> found;
    const json::value* spec = member_at(object, {"spec"});
    const auto* members = spec == nullptr ? nullptr : spec->if_object();
    if (members == nullptr) return found;
    for (const auto& member : *members) {
      const std::string name = text_at(member.value(), {"name"});
      const std::string kind = text_at(member.value(), {"kind"});
      if (name.empty() || kind.empty()) continue;
      for (const auto& [uid, one] : objects)
        if (one->kind().kind == kind && one->metadata.name == name) found.push_back(one);
    }
    return found;
  }

  const Scenario& scenario;
  VirtualLoop loop{Random(1), virtual_start};
  Lane lane = loop.new_lane();
  World world;
  std::vector<RehearsedPod> made{};
  std::size_t ended = 0;                       // of made: they have ended, or never will
  std::set<std::string> ended_owners{};        // by uid
  std::map<std::uint64_t, TakenRule> rules{};  // by record
  std::map<std::string, ObjectPtr> objects{};  // all but pods, the newest version, by uid
  std::map<std::string, std::vector<TakenRule>> written_by{};  // by uid
  std::map<std::string, Json> made_by_the_clock{};             // their specs, by their makers' uids
  mutable std::map<ObjectPtr, Templates> templates{};          // of no visible order
};

Rehearsal::Rehearsal(const Scenario& scenario) : parts_(std::make_unique<Parts>(scenario)) {}
Rehearsal::~Rehearsal() = default;

const World& Rehearsal::world() const { return parts_->world; }
const std::vector<RehearsedPod>& Rehearsal::pods() const { return parts_->made; }

void Rehearsal::play(const std::function<void()>& at_quiet) {
  Parts& parts = *parts_;
  const auto settle = [&] {
    parts.settle();
    if (at_quiet) at_quiet();
  };
  (void)parts.world.start();  // preflight() says what is wrong with a node, or a namespace
  (void)add_namespaces(parts.world, parts.scenario);
  (void)add_claims(parts.world, parts.scenario);
  parts.apply(parts.scenario.manifests);
  settle();
  for (const Step& step : parts.scenario.steps)
    if (parts.act(step)) settle();
  // Trainer v2.1 makes anew for ever what a time to live sweeps away, with owners that are new.
  std::size_t before = 0;
  for (int round = 0; round < settle_rounds_max && before != parts.made.size(); ++round) {
    before = parts.made.size();
    if (parts.end_pods()) settle();
  }
}

PutVariables Rehearsal::put_into(const RehearsedPod& of, const Container& container) const {
  std::vector<ObjectPtr> chain{of.pod};
  chain.insert(chain.end(), of.owners.begin(), of.owners.end());
  const auto& inits = *of.pod->spec->initContainers;
  const bool init = std::any_of(inits.begin(), inits.end(),
                                [&](const Container& one) { return one.name == container.name; });
  const Json written = to_json(container);
  PutVariables found;
  for (const json::value& one : members_of(written.get_object(), "env")) {
    const std::string name = member_text_of(one.get_object(), "name");
    const json::object& variable = *variable_of(written.get_object(), name);
    if (auto put = parts_->put(chain, written.get_object(), init, variable))
      found[name] = std::move(*put);
  }
  return found;
}

std::vector<RehearsedPod> rehearse(const Scenario& scenario) {
  bool makes = false;
  std::vector<RehearsedPod> applied;
  each_applied(scenario, [&](const Manifest& manifest) {
    makes = makes || makes_others(manifest);
    if (auto pod = std::dynamic_pointer_cast<const Pod>(manifest.object))
      applied.push_back({pod, &manifest, {}});
  });
  if (!makes) return applied;
  Rehearsal rehearsal(scenario);
  rehearsal.play();
  return rehearsal.pods();
}

}  // namespace ddptwin::scenario
