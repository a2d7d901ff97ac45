// What the trace has told so far about jobs, their pods and the trainings in them: the one model
// that all invariants look at. It is kept up to date after each record, in constant time, and
// forgets what is gone.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "core/print_table.hpp"
#include "core/text_table.hpp"
#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "objects/discovery_v1.hpp"
#include "objects/pytorchjob.hpp"
#include "objects/uid_table.hpp"
#include "scenario/actors.hpp"
#include "scenario/invariants/lines.hpp"

namespace ddptwin::scenario::invariants {

// What a record is about; the table of the watch is made by it.
enum class Topic : std::uint8_t {
  job,      // a PyTorchJob was added, changed or deleted
  pod,      // a pod
  service,  // a Service
  slice,    // an EndpointSlice
  object,   // any other object but Events
  warning,  // an Event of type Warning
  refused,  // the API refused a call
  rule,
  container,
  log,
  dns,
  fault,
  other,
};
inline constexpr std::size_t topic_count = static_cast<std::size_t>(Topic::other) + 1;
template <class... T>
constexpr std::uint32_t topics(T... topic) {
  return ((1U << static_cast<unsigned>(topic)) | ... | 0U);
}
Topic topic_of(const Record& record);

// The training operator's controller in its own records.
inline constexpr std::string_view controller_actor = "pytorchjob-controller";

struct JobFacts;
class Facts;

// With 5 ms, doubling, the try after so many refusals comes within the time of rest.
inline constexpr int refusals_many = 10;

// An operator that writes so often within the time of rest keeps other jobs waiting behind its
// client's throttle (20 calls a second, spec/pytorchjob.md §4.1): that it has not come to one of
// them says nothing yet.
inline constexpr std::size_t busy_writes = 100;

// One rank's training as its own lines tell it (sim/workers/README.md, "Output").
struct RankFacts {
  std::int64_t rank = -1;
  std::uint64_t generation = 0;  // of the group it joined
  std::int64_t begun = 0;        // the first step of this process
  std::int64_t step = 0;         // the last it ended
  std::int64_t checkpoint = -1;  // the newest that was complete when it joined
};

// What each record of a pod reads comes first.
struct PodFacts {
  std::shared_ptr<const Pod> last{};
  JobFacts* job = nullptr;  // null: no PyTorchJob made it
  int type = -1;            // index into JobFacts::types
  int index = -1;
  bool gone = false;
  bool counted = false;       // the restarts that its last state tells of
  bool killed = false;        // one of its containers was
  std::int64_t restarts = 0;  // of all its containers
  // What its last state tells of them.
  std::int64_t init_restarts = 0, own_restarts = 0;
  // Its containers, by the kubelet's own records.
  struct ContainerFacts {
    Text name{};
    int starts = 0;
    bool running = false;
    int killed_start =
        0;  // the start that was ended with SIGKILL; 0: none, or it has been reported
  };
  std::vector<ContainerFacts> containers{};
  std::string_view deleted_by{};  // who asked for its deletion
  Time created_at{};
  Time terminating_since{};
  std::int64_t world_size = -1, rank = -1;  // of the environment its containers are given
  std::vector<RankFacts> ranks{};

  ContainerFacts& container(std::string_view name);
  bool terminating() const { return last->metadata.deletionTimestamp.has_value(); }
  bool is(std::string_view phase) const { return last->status.phase == phase; }
  bool wanted() const;  // its index is one of the job's spec, or it is nobody's
};

// One index of a replica type.
struct ReplicaFacts {
  std::vector<PodFacts*> pods{};  // that exist, the newest last
  int created = 0;                // how many there have been
  bool service_created = false;
  bool failed = false;        // one of them failed, or was deleted while it ran
  bool permanent = false;     // one of them failed with a code that is not worth another try
  bool succeeded = false;     // one of them succeeded
  bool last_failed = false;   // the last that is gone had failed, and the operator took it away
  bool after_failed = false;  // the newest stands where a failed one stood
  bool gone_failed = false;   // the last that is gone had failed
};

struct TypeFacts {
  std::vector<ReplicaFacts> replicas{};
  const ReplicaSpec* spec = nullptr;     // a part of JobFacts::last; null: there is none
  int wanted_min = -1, wanted_max = -1;  // that the spec ever asked for
};

// The process group of a job that trains now.
struct GroupFacts {
  std::uint64_t generation = 0;
  bool broken = false;  // one of its ranks has ended: who joins next begins another
  Time formed_at{};
  std::int64_t world = 0;
  std::vector<bool> joined{};        // by rank
  std::vector<bool> earlier{};       // ranks that trained in groups before it
  bool takes_over = false;           // one of those has joined it
  std::int64_t begun = -1;           // the step with which its ranks began
  std::vector<std::int32_t> done{};  // how many ranks have ended step begun + i
  std::int64_t lag_step = -1;        // a rank went beyond this step before all had ended it
  Time lag_since{};
};

// A Service of a job.
struct ServiceFacts {
  std::shared_ptr<const Service> last{};
  // What the endpoint controllers made of it.
  boost::container::small_vector<std::shared_ptr<const EndpointSlice>, 1> slices{};
};

struct JobFacts {
  SharedText uid{};
  std::string key{};  // "namespace/name"
  std::shared_ptr<const PyTorchJob> last{};
  bool gone = false;
  bool handled = false;  // the operator has looked at it
  bool invalid = false;  // and found it invalid as it is: it does nothing for it
  bool suspend_seen = false;
  Time finished_at{};
  std::uint64_t finished_record = 0;

  std::array<TypeFacts, 2> types{};  // Master, Worker
  std::vector<PodFacts*> pods{};     // that exist
  // The job's Services that exist, by name, in the order of their names.
  std::map<Text, ServiceFacts, std::less<>> services{};
  std::vector<std::int64_t> worlds{};  // every WORLD_SIZE that its specs have meant

  Time changed_at{};         // the job, a pod or a Service of it
  Time progress_at{};        // a step, a phase, a condition
  Time stimulus_at{};        // something happened that was not the operator's own doing
  std::int64_t writes = 0;   // of the operator, since then and since it scaled down
  int refusals = 0;          // of the operator's calls for it, in a row
  std::uint64_t warned = 0;  // the last Warning about it, or 0
  bool queued_rest = false, queued_progress = false;

  std::uint64_t restart_record = 0;       // the last that counts against the budget
  std::int64_t replaced = 0;              // pods made anew after one that had failed
  std::int64_t restarts = 0;              // of containers, in all pods there have been
  std::int64_t running_restarts_max = 0;  // the most that Running pods showed at once
  std::optional<Time> budget_spent_at{};

  GroupFacts group{};
  std::int64_t step_max = 0, steps = 0;  // the furthest step of any rank; the last target told
  bool trained = false;                  // a rank has ended its last step
  std::int64_t checkpoint = -1;          // the newest that is complete
  std::string parameters{};              // the hash of the first rank that finished
  std::int64_t parameters_world = 0, parameters_steps = 0;

  // The last pod that the operator took away though it had not failed and was wanted.
  std::string taken_pod{};
  Time taken_at{};

  // A pod made after the job had finished. Upstream does so only from a stale cache, and then its
  // write of the status is refused (Q37): until it is known, this is a suspicion.
  std::uint64_t late_record = 0;
  std::string late_pod{};

  bool finished() const { return finished_record != 0; }
  // So often in a row that the operator comes back to it rarely: what it wants is blocked.
  bool blocked() const { return refusals > refusals_many; }
  // The operator of this cluster answers for it, and it is not being deleted.
  bool live() const;
  bool suspended() const { return last->spec->runPolicy.suspend.value_or(false); }
  const ReplicaSpec* spec_of(int type) const { return types[static_cast<std::size_t>(type)].spec; }
  int wanted(int type) const;  // replicas; 0 where the type is not in the spec
  // Pods of indices that it wants no more are still there. Until they are gone the operator makes
  // the lower ones of them anew and deletes them again (Q7).
  bool scales_down() const;
  bool has_master() const { return spec_of(0) != nullptr; }
  std::string text() const { return "PyTorchJob/" + key; }
};
std::string_view type_name(int type);  // "Master", "Worker"
// That of "namespace/name".
Fingerprint print_of_key(const ObjectMeta& meta);
// The processes in a pod are no more.
void end_ranks(PodFacts& pod);
// How many starts of the container the pod's status tells of.
int starts_told(const PodStatus& status, std::string_view container);

// What a judge is given.
struct Sight {
  const Facts& facts;
  const Record* record = nullptr;  // null where time alone has passed
  Time now{};
  JobFacts* job = nullptr;  // that the record, the rest or the time is about
  PodFacts* pod = nullptr;
  const WorkerLine* line = &no_line;  // of a log record
  RankFacts* rank = nullptr;          // of a line that ends a step
  std::int64_t step_before = 0;       // the furthest step of the job before that line
};

class Facts {
 public:
  // What the record is about; afterwards the facts show it.
  Sight take(const Record& record, Topic topic);
  // What becomes due up to `now`, one a call, in the order of time.
  struct Due {
    JobFacts* job;
    Time at;
    bool at_rest;
  };
  // When something is to be looked at next, as far as is known.
  std::optional<Time> next_alarm() const;
  bool is_due(Time now) const { return !alarms_.empty() && alarms_.top().at <= now; }
  std::optional<Due> next_due(Time now);

  // Something is kept broken on purpose.
  bool disturbed() const { return disturbed_; }
  bool was_disturbed() const { return was_disturbed_; }
  Time healed_at() const { return healed_at_; }
  // So it is, or it may be that what failed meanwhile has not been tried again.
  bool recovers(Time now) const;
  // Something else than pods played by hand: kubelets, a scheduler.
  bool scheduled() const { return scheduled_; }
  bool kubelets() const { return kubelets_; }
  bool slices() const { return slices_; }  // somebody makes EndpointSlices
  bool panicked() const { return panicked_; }
  JobFacts* job(std::string_view key) const;
  PodFacts* pod(std::string_view key) const;  // that exists
  JobFacts* job_of_service(std::string_view key) const;
  // The pod that an address last belonged to, and when it stopped.
  struct Address {
    Text namespace_{}, name{};
    OptionalTime until{};
    std::string pod() const;  // "namespace/name"
    bool is_of(const ObjectMeta& pod) const {
      return name == pod.name && namespace_ == pod.namespace_;
    }
  };
  const Address* address(std::string_view ip) const;

 private:
  void take_job(const Record& record, Sight& sight);
  void take_pod(const Record& record, Sight& sight);
  void add_pod(const Record& record, PodFacts& facts);
  void change_pod(const Record& record, PodFacts& facts);
  void take_away(PodFacts& facts, const Record& record);
  void forget_pod(PodFacts& facts);
  void forget_job(JobFacts& job);
  void take_service(const Record& record, Sight& sight);
  void take_slice(const Record& record, Sight& sight);
  void take_refused(const Record& record, Sight& sight);
  void take_log(const Record& record, Sight& sight);
  void take_container(const Record& record, std::size_t slash, Sight& sight);
  void take_fault(const Record& record, Sight& sight);
  void note_call(const Record& record, Topic topic);
  bool operator_busy(Time now) const;
  void changed(JobFacts& job, Time now, std::string_view actor);
  void progressed(JobFacts& job, Time now);
  void restarted(JobFacts& job, const Record& record);
  void stimulate(JobFacts& job, Time now);
  void alarm(JobFacts& job, Time at, bool at_rest);
  Duration rest_of(const JobFacts& job) const;
  JobFacts* owner_of(const ObjectMeta& metadata) const;
  JobFacts* planned_job();

  UidTable<std::unique_ptr<JobFacts>> jobs_{};
  TextTable<JobFacts*> jobs_by_key_{};
  PrintTable<std::unique_ptr<PodFacts>> pods_{};  // those that exist, by uid
  PrintTable<PodFacts*> pods_by_key_{};
  struct OfJob {
    JobFacts* job = nullptr;
    ServiceFacts* service = nullptr;  // one of the job's
  };
  PrintTable<OfJob> services_by_key_{};
  PrintTable<Address> addresses_{};
  std::unique_ptr<PodFacts> gone_pod_{};  // the last that went, for the judges of its record
  std::unique_ptr<JobFacts> gone_job_{};

  struct Alarm {
    Time at;
    std::uint64_t number;
    SharedText uid;
    bool at_rest;
    bool operator<(const Alarm& other) const {
      return at != other.at ? other.at < at : other.number < number;
    }
  };
  std::priority_queue<Alarm> alarms_{};
  std::uint64_t alarm_count_ = 0;
  std::array<Time, busy_writes> calls_{};  // the operator's last writes and refusals, in turn
  std::size_t call_count_ = 0;
  WorkerLine line_{};      // the last that was read
  std::string planned_{};  // the job that the operator is busy with
  // What that key names, once it was asked for; null again when a job comes or goes.
  JobFacts* planned_job_ = nullptr;
  bool disturbed_ = false, was_disturbed_ = false;
  bool scheduled_ = false, kubelets_ = false, slices_ = false, panicked_ = false;
  Time healed_at_{};
};

}  // namespace ddptwin::scenario::invariants
