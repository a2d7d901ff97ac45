// One reconcile in the making: what was observed, the status so far, the steps so far. The files
// pods, services, limits, cleanup, status, autoscaler and pod_group each add their part.
#pragma once

#include <boost/container/small_vector.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/controller.hpp"
#include "controller/training_operator/conditions.hpp"
#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/init_container.hpp"
#include "controller/training_operator/names.hpp"
#include "controller/training_operator/profile.hpp"
#include "controller/training_operator/rules.hpp"
#include "objects/autoscaling.hpp"
#include "objects/core_v1.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// Upstream walks the replica types in Go's random map order, anew for the pods and for the status
// (Q9). Here it is an input.
enum class TypeOrder : std::uint8_t { master_first, worker_first, random };

struct Settings {
  Profile profile = default_profile();
  InitContainerFlags init_container{};
  std::string gang_scheduler{};  // --gang-scheduler-name; empty: none
  TypeOrder pod_order = TypeOrder::master_first;
  TypeOrder status_order = TypeOrder::master_first;
};

// What a pod's or Service's labels say of the replica that it is for.
struct ReplicaLabels {
  std::optional<std::string_view> type{};  // a part of the labels
  std::optional<int> index{};

  ReplicaLabels() = default;
  explicit ReplicaLabels(const ObjectMeta& metadata);
};

// What labels said at the last plan, by the place of their object among those of the plan. From one
// plan to the next most objects have the labels that they had, the same memory.
class KnownLabels {
 public:
  // Forgets all but so many places.
  void cut(std::size_t size) { rows_.resize(size); }
  // Precondition: a place that was not cut off.
  const ReplicaLabels& at(std::size_t place, const ObjectMeta& metadata);

 private:
  struct Row {
    Cow<StringMap> labels{};
    ReplicaLabels said{};
  };
  std::vector<Row> rows_{};
};

// What functions of a job's metadata and spec have answered, so that they need not be asked at each
// plan. They say the same of the specification and of the defaulted one, which the cache may hold.
struct JobFacts {
  Cow<PyTorchJobSpec> of;  // this spec
  PyTorchJob job;          // name, namespace, UID and the defaulted specification
  Status is_defaulted{};   // an error where upstream crashes over it
  api::LabelQuery labels;  // that all of its pods and Services carry
  std::vector<Cow<std::string>> expectation_keys;  // of all types, as they are written
  std::vector<ReplicaNames> types;                 // of the defaulted specification, in its order
  std::vector<const ReplicaSpec*> specs;           // of the types: parts of the job's specification
  // For the next plan.
  mutable KnownLabels pod_labels{}, service_labels{};

  explicit JobFacts(const PyTorchJob& job);
  // Whether they are of that job.
  bool hold_for(const PyTorchJob& other) const;
  // Of the type that labels call so; null: there is none.
  const ReplicaNames* names_of(std::string_view label) const;
  // Of one of `types`.
  const ReplicaSpec& spec_of(const ReplicaNames& names) const {
    return *specs[static_cast<std::size_t>(&names - types.data())];
  }
};

using Pods = boost::container::small_vector<const Pod*, 8>;

// All that a plan depends on beside the settings and the time.
struct View {
  std::shared_ptr<const PyTorchJob> job{};  // as cached; null: gone
  const JobFacts* facts = nullptr;          // must be given where there is a job; outlive the plan
  // They outlive the making of the plan, as the cache does, and may be gone before its steps.
  Pods pods{};                                                   // own ones (§4.2 M2), by name
  boost::container::small_vector<const Service*, 8> services{};  // labelled ones, by name
  std::shared_ptr<const HorizontalPodAutoscaler> autoscaler{};   // of a job that is_scaled()
  ObjectPtr pod_group{};
  const KindInfo* pod_group_kind = nullptr;  // null: its CRD is not installed
  bool expectations_met = true;
  bool pods_worker_first = false;    // the order of M10: that of the keys, or the reverse
  bool status_worker_first = false;  // and of M11
};

struct Pass {
  const View& seen;
  const Settings& settings;
  Time now;
  const PyTorchJob& job;  // of the facts: name, namespace, UID, defaulted specification
  JobStatus status;       // computed whole, written once
  Cow<std::vector<OwnerReference>> owners_made{};  // by owners()
  // What a pod of a replica and its Service have in common: those that are made in one pass share
  // it.
  struct Replica {
    Text name{};
    Cow<StringMap> labels{};
  };
  std::vector<Replica> replicas_made{};  // by index, of the type that is reconciled: by replica()
  // Of that type, as the pod that was made last has them.
  std::vector<InjectedVariable> variables_made{};
  // By replica type, once a pod of it is made.
  std::map<std::string, Cow<std::vector<Container>>, std::less<>> init_containers{};
  Plan plan{};
  bool over = false;  // upstream's pass has returned: nothing more is added

  const Text& name() const { return job.metadata.name; }
  // The job, as the owner of all that it makes.
  const Cow<std::vector<OwnerReference>>& owners();
  const Replica& replica(const ReplicaNames& names, int index);
  using Types = boost::container::small_vector<const ReplicaNames*, 2>;
  Types types(bool worker_first) const;
  const Profile& profile() const { return settings.profile; }

  // A rule was taken that asks for no call.
  void note(const Rule& rule, std::string_view text = {});
  void event(const Rule& rule, std::string_view type, Text reason, const std::string& message);
  // With a note when it changed something and `rule` is given.
  void condition(NewCondition next, const Rule* rule = nullptr);
  void add(Step step) { plan.steps.push_back(std::move(step)); }
  // So many more will come, and then a few: a step is big to move, and a large job has hundreds.
  void expect_steps(std::size_t count) { plan.steps.reserve(plan.steps.size() + count + 16); }
  // A new one, to be filled: a step is big to move.
  Step& add(const Rule& rule);
  // Reads the target first and deletes it by name, with upstream's events (§4.3 Delete). `what` is
  // Pod or Service.
  Step& add_deletion(const Rule& rule, const KindInfo& kind, const Text& name);
  // Upstream returns this error here; the status is not written.
  void abort(const Rule& rule, Error error);
  // A runtime error of upstream's code: a crash, or an error where it recovers (Q12).
  void panic(const std::string& text);
  void write_status();
  // Takes the status.
  Step status_step();
};

inline constexpr std::string_view normal = "Normal";
inline constexpr std::string_view warning = "Warning";

// What all replicas' pods and Services carry, to labels of a template.
void add_replica_labels(const Pass& pass, StringMap& labels, const ReplicaNames& names, int index);

bool is_active(const Pod& pod);  // not terminal and not being deleted
bool is_of_type(const ObjectMeta& metadata, std::string_view type);

// What is seen of one index: how many, and one of them.
template <class T>
struct Slice {
  std::size_t size = 0;
  const T* one = nullptr;
};

// A pod or Service that says which type it is of, as in its labels.
template <class T>
struct Labelled {
  const T* object = nullptr;
  std::string_view type{};
  std::optional<int> index{};
};
template <class T>
using AllLabelled = boost::container::small_vector<Labelled<T>, 8>;

template <class T>
AllLabelled<T> labelled(const boost::container::small_vector_base<const T*>& objects,
                        KnownLabels& known) {
  AllLabelled<T> found;
  known.cut(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const ReplicaLabels& said = known.at(i, objects[i]->metadata);
    if (said.type) found.push_back({objects[i], *said.type, said.index});
  }
  return found;
}

// Those whose label says that type, by index 0 ... size-1, where size is the greatest index there
// is plus one, or `replicas` if that is more; never below one (§4.3, Q6).
template <class T>
boost::container::small_vector<Slice<T>, 8> by_index(const AllLabelled<T>& objects,
                                                     std::string_view type, int replicas) {
  boost::container::small_vector<Slice<T>, 8> slices(
      static_cast<std::size_t>(std::max(1, replicas)));
  for (const Labelled<T>& one : objects) {
    if (one.type != type || !one.index) continue;
    const auto place = static_cast<std::size_t>(*one.index);
    if (place >= slices.size()) slices.resize(place + 1);
    slices[place] = {slices[place].size + 1, one.object};
  }
  return slices;
}

// Whether the job has metrics for an autoscaler. Nobody asks for that of another.
bool is_scaled(const PyTorchJobSpec& job);

// The parts of a reconcile, in the order of §4.2.
void reconcile_autoscaler(Pass& pass);
void clean_up(Pass& pass);  // §4.7 and §4.8
void suspend(Pass& pass);
void resume(Pass& pass);
void report_abnormal_pods(Pass& pass);
// True: a limit was reached and the pass is over.
bool enforce_limits(Pass& pass);
// True: pods have to wait for their group and the pass is over.
bool sync_pod_group(Pass& pass);
void reconcile_pods(Pass& pass, const ReplicaNames& names, const AllLabelled<Pod>& pods);
void reconcile_services(Pass& pass, const ReplicaNames& names,
                        const AllLabelled<Service>& services);
void update_status(Pass& pass);

// Of the gang scheduler, on a pod about to be created.
void decorate_for_gang(Pass& pass, Pod& pod, std::string_view type);
void delete_pod_group(Pass& pass);
// The kind that the settings' gang scheduler uses; null without one or without its CRD.
const KindInfo* pod_group_kind(const KindRegistry& kinds, const Settings& settings);

}  // namespace ddptwin::controller::pytorchjob
