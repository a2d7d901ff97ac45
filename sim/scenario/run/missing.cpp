#include "scenario/run/missing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "cluster/scheduler/decision.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/defaults.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/run/manifest_walk.hpp"
#include "scenario/run/virtual_run.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

std::optional<Place> member_of(const Place& place, std::initializer_list<std::string_view> names) {
  const json::value* found = member_at(*place.value, names);
  if (found == nullptr) return std::nullopt;
  std::string path = place.path;
  for (const std::string_view name : names) path += (path.empty() ? "" : ".") + std::string(name);
  return Place{found, std::move(path)};
}

std::vector<Place> elements_of(const Place& place, std::string_view list) {
  std::vector<Place> places;
  const auto found = member_of(place, {list});
  const json::array* array = found ? found->value->if_array() : nullptr;
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i)
    places.push_back({&(*array)[i], fmt::format("{}[{}]", found->path, i)});
  return places;
}

// ---- objects that a pod names ------------------------------------------------------------------

// How a pod names an object; what becomes of the pod where nobody makes that.
enum class Use : std::uint8_t {
  claim,
  account,
  runtime_class,
  priority_class,
  variable,
  volume,
  pull_secret,
};
struct UseRow {
  Use use;
  std::string_view on_a_cluster;  // {0}: the kind in small letters, {1}: the name, {2}: the volume
  std::string_view here;          // where it is otherwise in the twin
};
constexpr std::array use_rows{
    UseRow{Use::claim, "pods stay Pending: {0} \"{1}\" not found", {}},
    UseRow{Use::account,
           "no pod is made: error looking up service account: {0} \"{1}\" not found",
           {}},
    UseRow{Use::runtime_class, "no pod is made: pod rejected: RuntimeClass \"{1}\" not found", {}},
    UseRow{Use::priority_class, "no pod is made: no PriorityClass with name {1} was found", {}},
    UseRow{Use::variable,
           "containers do not start: CreateContainerConfigError: {0} \"{1}\" not found",
           {}},
    UseRow{Use::volume,
           "pods stay ContainerCreating: MountVolume.SetUp failed for volume \"{2}\": {0} \"{1}\" "
           "not found",
           {}},
    UseRow{Use::pull_secret,
           "images are pulled without it (FailedToRetrieveImagePullSecret), which a private "
           "registry refuses",
           "nothing is pulled"},
};

struct Need {
  Use use = Use::claim;
  std::string_view kind{};
  std::string name{};
  std::string path{};
  std::string volume{};
};

// What every cluster has.
struct Given {
  std::string_view kind, name;
};
constexpr std::array given_objects{
    Given{"ServiceAccount", "default"},
    Given{"ConfigMap", "kube-root-ca.crt"},
    Given{"PriorityClass", "system-cluster-critical"},
    Given{"PriorityClass", "system-node-critical"},
};

bool is_optional(const json::value& reference) {
  const json::value* optional = member_at(reference, {"optional"});
  return optional != nullptr && optional->is_bool() && optional->as_bool();
}

// The needs of one pod template.
class Needs {
 public:
  explicit Needs(const Place& spec) {
    take(Use::account, "ServiceAccount", spec, "serviceAccountName");
    take(Use::account, "ServiceAccount", spec, "serviceAccount");
    take(Use::runtime_class, "RuntimeClass", spec, "runtimeClassName");
    take(Use::priority_class, "PriorityClass", spec, "priorityClassName");
    for (const Place& secret : elements_of(spec, "imagePullSecrets"))
      take(Use::pull_secret, "Secret", secret, "name");
    for (const Place& volume : elements_of(spec, "volumes")) take_volume(volume);
    for (const std::string_view list : {"initContainers", "containers"})
      for (const Place& container : elements_of(spec, list)) take_variables(container);
  }
  std::vector<Need> take_all() { return std::move(needs_); }

 private:
  void take(Use use, std::string_view kind, const Place& holder, std::string_view field,
            std::string volume = {}) {
    const auto place = member_of(holder, {field});
    if (!place || !place->value->is_string() || place->value->as_string().empty()) return;
    if (is_optional(*holder.value)) return;
    needs_.push_back(
        {use, kind, std::string(place->value->as_string()), place->path, std::move(volume)});
  }
  void take_in(Use use, std::string_view kind, const Place& holder,
               std::initializer_list<std::string_view> member, std::string_view field,
               std::string volume = {}) {
    if (const auto place = member_of(holder, member))
      take(use, kind, *place, field, std::move(volume));
  }
  void take_volume(const Place& volume) {
    const std::string name = text_at(*volume.value, {"name"});
    take_in(Use::claim, "PersistentVolumeClaim", volume, {"persistentVolumeClaim"}, "claimName");
    take_in(Use::volume, "Secret", volume, {"secret"}, "secretName", name);
    take_in(Use::volume, "ConfigMap", volume, {"configMap"}, "name", name);
    if (const auto projected = member_of(volume, {"projected"}))
      for (const Place& source : elements_of(*projected, "sources")) {
        take_in(Use::volume, "Secret", source, {"secret"}, "name", name);
        take_in(Use::volume, "ConfigMap", source, {"configMap"}, "name", name);
      }
  }
  void take_variables(const Place& container) {
    for (const Place& variable : elements_of(container, "env")) {
      take_in(Use::variable, "Secret", variable, {"valueFrom", "secretKeyRef"}, "name");
      take_in(Use::variable, "ConfigMap", variable, {"valueFrom", "configMapKeyRef"}, "name");
    }
    for (const Place& source : elements_of(container, "envFrom")) {
      take_in(Use::variable, "Secret", source, {"secretRef"}, "name");
      take_in(Use::variable, "ConfigMap", source, {"configMapRef"}, "name");
    }
  }

  std::vector<Need> needs_{};
};

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

std::string words_of(const Need& need) {
  const auto row = std::find_if(use_rows.begin(), use_rows.end(),
                                [&need](const UseRow& one) { return one.use == need.use; });
  std::string words = fmt::format("nobody makes {} {}; on a cluster ", need.kind, need.name);
  words += fmt::format(fmt::runtime(row->on_a_cluster), small_letters(need.kind), need.name,
                       need.volume);
  return row->here.empty() ? words : fmt::format("{}; here {}", words, row->here);
}

// ---- the whole ---------------------------------------------------------------------------------

class MissingSearch {
 public:
  explicit MissingSearch(const Scenario& scenario);
  std::vector<ManifestNote> run();

 private:
  void look_at_pod(const Manifest& manifest, const Place& spec);
  void look_for_place(const Manifest& manifest, const Place& spec);
  void look_at_gangs(const Manifest& manifest);
  bool is_made(const Need& need, const std::string& namespace_) const;
  void tell(const Manifest& manifest, const std::string& path, const std::string& words);

  std::vector<const Manifest*> manifests_{};
  std::span<const InstalledSystem> installed_{};
  std::set<std::string, std::less<>> serving_{};  // schedulers that run
  std::set<std::string> made_{};  // KIND/NAMESPACE/NAME, KIND/NAME of what is set aside
  scheduler::ClusterView nodes_{};
  std::size_t node_count_ = 0;
  bool nodes_change_ = false;  // a step makes or changes one
  std::set<std::string> told_{};
  std::vector<ManifestNote> notes_{};
};

bool acts_on_nodes(const Step& step) {
  return std::visit(
      [](const auto& action) {
        using Action = std::decay_t<decltype(action)>;
        if constexpr (std::is_same_v<Action, Patch>)
          return action.of.kind == &Node::info();
        else
          return false;
      },
      step.action);
}

MissingSearch::MissingSearch(const Scenario& scenario) : installed_(scenario.systems) {
  const std::vector<const KindInfo*> kinds = kinds_of(scenario);
  for (const SchedulerRow& row : scheduler_rows()) {
    const System* system = find_system(row.system);
    if (system == nullptr || (is_among(installed_, *system) && is_installed(*system, kinds)))
      serving_.emplace(row.name);
  }
  for (const Manifest& manifest : scenario.manifests) manifests_.push_back(&manifest);
  for (const Step& step : scenario.steps) {
    nodes_change_ = nodes_change_ || acts_on_nodes(step);
    if (const Apply* apply = std::get_if<Apply>(&step.action))
      for (const Manifest& manifest : apply->manifests) manifests_.push_back(&manifest);
  }
  for (const Manifest* manifest : manifests_) {
    const Object& object = *manifest->object;
    made_.insert(fmt::format("{}/{}/{}", object.kind().kind, object.metadata.namespace_,
                             object.metadata.name));
    nodes_change_ = nodes_change_ || &object.kind() == &Node::info();
  }
  for (const auto& [key, one] : scenario.claim_folders)
    made_.insert(fmt::format("PersistentVolumeClaim/{}", key));
  for (const SetAside& one : scenario.set_aside)
    made_.insert(fmt::format("{}/{}", one.kind, one.name));
  VirtualLoop loop(Random(1), virtual_start);
  World world(loop, {}, nullptr);
  for (NodeOptions node : scenario.nodes) {
    node.kubelet = false;
    (void)world.add_node(node);
  }
  for (const ObjectPtr& node : world.objects(Node::info(), "")) {
    nodes_.put_node(as<Node>(node));
    ++node_count_;
  }
}

std::vector<ManifestNote> MissingSearch::run() {
  for (const Manifest* manifest : manifests_) {
    // A pod's specification is whatever has containers.
    walk(*manifest, [this, manifest](const Place& place) {
      const json::value* containers = place.value->get_object().if_contains("containers");
      const bool is_pod = containers != nullptr && containers->is_array();
      if (is_pod) look_at_pod(*manifest, place);
      return !is_pod;
    });
    look_at_gangs(*manifest);
  }
  return std::move(notes_);
}

void MissingSearch::look_at_pod(const Manifest& manifest, const Place& spec) {
  const std::string namespace_ = manifest.object->metadata.namespace_.str();
  for (const Need& need : Needs(spec).take_all())
    if (!is_made(need, namespace_)) tell(manifest, need.path, words_of(need));
  const std::string scheduler = text_at(*spec.value, {"schedulerName"});
  if (scheduler.empty() || serving_.contains(scheduler)) return look_for_place(manifest, spec);
  const SchedulerRow* absent = find_scheduler(scheduler);
  tell(manifest, spec.path + ".schedulerName",
       fmt::format("pods stay Pending without a word: no scheduler {} runs, only {}{}", scheduler,
                   fmt::join(serving_, ", "),
                   absent == nullptr ? std::string()
                                     : fmt::format("; spec.cluster.systems: {{{}: on}} brings it",
                                                   absent->system)));
}

// Where nobody schedules gangs what is said of them does nothing.
void MissingSearch::look_at_gangs(const Manifest& manifest) {
  for (const System* system : systems())
    for (const GangField& field : system->gang_fields) {
      if (&field.kind() != &manifest.object->kind()) continue;
      std::optional<Place> place = member_of({manifest.value.get(), manifest.base}, {"spec"});
      for (std::size_t at = 0; place && at < field.path.size();) {
        const std::size_t end = std::min(field.path.find('.', at), field.path.size());
        place = member_of(*place, {field.path.substr(at, end - at)});
        at = end + 1;
      }
      if (!place) continue;
      if (const std::string why = field.unheeded(installed_); !why.empty())
        tell(manifest, place->path, fmt::format("nobody schedules its pods as a gang: {}", why));
    }
}

bool MissingSearch::is_made(const Need& need, const std::string& namespace_) const {
  const auto is_given = [&need](const Given& one) {
    return one.kind == need.kind && one.name == need.name;
  };
  return std::any_of(given_objects.begin(), given_objects.end(), is_given) ||
         made_.contains(fmt::format("{}/{}", need.kind, need.name)) ||
         made_.contains(fmt::format("{}/{}/{}", need.kind, namespace_, need.name)) ||
         made_.contains(fmt::format("{}//{}", need.kind, need.name));
}

// As the scheduler would decide of one such pod on the empty cluster; what it asks of other pods is
// left out, for they may come.
void MissingSearch::look_for_place(const Manifest& manifest, const Place& spec) {
  if (nodes_change_ || node_count_ == 0) return;
  auto read = from_json<PodSpec>(*spec.value);
  if (!read) return;
  auto pod = std::make_shared<Pod>();
  pod->metadata.namespace_ = manifest.object->metadata.namespace_;
  // What claims it mounts is looked at by name, above.
  std::erase_if(read->volumes.edit(), [](const Volume& one) { return one.persistentVolumeClaim; });
  if (read->affinity) {
    read->affinity.edit().podAffinity = {};
    read->affinity.edit().podAntiAffinity = {};
  }
  pod->spec = std::move(*read);
  default_pod(*pod);
  if (!pod->spec->nodeName.empty()) {
    if (nodes_.find(pod->spec->nodeName) == nullptr)
      tell(manifest, spec.path + ".nodeName",
           fmt::format("pods stay Pending: there is no node {}", pod->spec->nodeName));
    return;
  }
  const auto decision = scheduler::decide(scheduler::PodInfo(pod), nodes_);
  if (decision.node.empty())
    tell(manifest, spec.path,
         fmt::format("pods stay Pending: {}", scheduler::availability_text(decision)));
}

void MissingSearch::tell(const Manifest& manifest, const std::string& path,
                         const std::string& words) {
  const std::string object = short_name(*manifest.object);
  if (!told_.insert(object + " " + words).second) return;
  notes_.push_back({object, fmt::format("{}: {}", manifest.document->where(path), words)});
}

}  // namespace

std::vector<ManifestNote> missing_of(const Scenario& scenario) {
  return MissingSearch(scenario).run();
}

}  // namespace ddptwin::scenario
