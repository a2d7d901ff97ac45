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
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/print_table.hpp"
#include "core/text_table.hpp"
#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "objects/discovery_v1.hpp"
#include "objects/uid_table.hpp"
#include "scenario/invariants/gangs.hpp"
#include "scenario/invariants/lines.hpp"
#include "scenario/invariants/workload.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario::invariants {

// What a record is about; the table of the watch is made by it.
enum class Topic : std::uint8_t {
  job,      // a workload was added, changed or deleted
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

struct JobFacts;
class Facts;

inline constexpr Duration name_lifetime =
    std::chrono::seconds(30);  // a name may point back so long

// With 5 ms, doubling, the try after so many refusals comes within the time of rest.
inline constexpr int refusals_many = 10;

// An operator that writes so often within the time of rest keeps other jobs waiting behind its
// client's throttle (20 calls a second, spec/pytorchjob.md §4.1): that it has not come to one of
// them says nothing yet.
inline constexpr std::size_t busy_writes = 100;

// What last brought a job further.
enum class Advance : std::uint8_t { applied, spec, pod, line, step, repeated_step, checkpoint };

// A pod that somebody else than its own processes ended, and who.
struct Disruption {
  Text pod{}, node{};
  SharedText uid{};
  Text reason{}, message{};
  std::string preemptor{};  // "Pod/default/urgent", of a preempted one
  std::string text() const;
};

// One rank's training as its own lines tell it (sim/workers/README.md, "Output").
struct RankFacts {
  std::int64_t rank = -1;
  std::uint64_t generation = 0;  // of the group it joined
  std::int64_t begun = 0;        // the first step of this process
  std::int64_t step = 0;         // the last it ended
  std::int64_t checkpoint = -1;  // the newest that was complete when it joined
};

// What each record of a pod reads comes first.
struct ReplicaFacts;
struct PodFacts {
  std::shared_ptr<const Pod> last{};
  JobFacts* job = nullptr;   // null: it is of no workload
  JobFacts* part = nullptr;  // of it, where the owner is a part that is a workload too
  int type = -1;             // index into JobFacts::types
  int index = -1;
  bool gone = false;
  bool was_ready = false;     // at some time; of workloads whose pods run for ever
  bool counted = false;       // the restarts that its last state tells of
  bool killed = false;        // one of its containers was
  bool pulls = false;         // its node fetches an image for it
  bool disrupted = false;     // see Disruption
  std::int64_t restarts = 0;  // of all its containers
  // What its last state tells of them.
  std::int64_t init_restarts = 0, own_restarts = 0;
  // Its containers, by the kubelet's own records.
  struct ContainerFacts {
    Text name{};
    int starts = 0;
    bool running = false;
    int killed_start = 0;  // that was ended with SIGKILL; 0: none, or it has been reported
    int stopped_by = 0;    // the signal that it was stopped with, and not let go on since
    Time stopped_at{};
    int lines = 0;            // that it has printed since its start, as far as they were new
    std::string last_line{};  // while the job has told of no step
  };
  std::vector<ContainerFacts> containers{};
  std::string_view deleted_by{};           // who asked for its deletion
  std::shared_ptr<const Event> warning{};  // the last about it
  Time created_at{};
  Time terminating_since{};
  std::int64_t world_size = -1, rank = -1;  // of the environment its containers are given
  std::vector<RankFacts> ranks{};
  std::uint64_t generation = 0;  // of the group that its last ranks were of

  // What it fails of now comes from a disruption of a peer (FM-005): it is no failure of its own.
  bool follows_disruption(Time now) const;
  ContainerFacts& container(std::string_view name);
  ReplicaFacts& replica() const;  // of a pod that has a type
  bool terminating() const { return last->metadata.deletionTimestamp.has_value(); }
  bool is(std::string_view phase) const { return last->status.phase == phase; }
  bool wanted() const;  // its index is one of the job's spec, or it is nobody's
};

// One index of a replica type.
struct ReplicaFacts {
  std::vector<PodFacts*> pods{};  // that exist, the newest last
  int created = 0;                // how many there have been
  bool failed = false;            // one of them failed, or was deleted while it ran
  bool permanent = false;         // one of them failed with a code that is not worth another try
  bool own_permanent = false;     // so, by no disruption
  bool succeeded = false;         // one of them succeeded, as long as one owner makes them
  SharedText owner{};             // the newest's
  bool last_failed = false;   // the last that is gone had failed, and the operator took it away;
                              // what was disrupted has not failed
  bool after_failed = false;  // the newest stands where a failed one stood
  bool gone_failed = false;   // the last that is gone had failed
  // The furthest that its pods have come on that way, and the most lines of one start.
  std::uint64_t way = 0;
  int stage = 0, lines = 0;
  std::vector<Fingerprint> lines_seen{};  // the last that differ, in a ring
  std::size_t lines_count = 0;
};

// A group of the workload's, also one that its spec no longer has.
struct TypeFacts {
  std::string name{};                     // "Worker"
  const Workload::Group* spec = nullptr;  // a part of JobFacts::traits; null: there is none
  std::vector<ReplicaFacts> replicas{};
  int wanted_min = -1, wanted_max = -1;  // that the spec ever asked for
};

// The process group of a job that trains now.
struct GroupFacts {
  std::uint64_t generation = 0;
  bool broken = false;  // one of its ranks has ended: who joins next begins another
  Time formed_at{};
  std::int64_t world = 0;
  std::vector<bool> joined{};          // by rank
  std::vector<bool> earlier{};         // ranks that trained in groups before it
  bool takes_over = false;             // one of those has joined it
  std::int64_t begun = -1;             // the step with which its ranks began
  std::vector<std::int32_t> done{};    // how many ranks have ended step begun + i
  std::vector<std::int64_t> totals{};  // by rank, the last step as it says; 0: it has said none
  std::int64_t lag_step = -1;          // a rank went beyond this step before all had ended it
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
  const WorkloadReader* reader = nullptr;
  std::string key{};  // "namespace/name"
  ObjectPtr last{};
  Workload traits{}, before{};  // of the last version, and of the one before
  bool gone = false;
  // Of another workload, to whose `pods` its own belong, too. What is judged of it is its own
  // status (InvariantRow::of_parts).
  bool is_part = false;
  std::vector<JobFacts*> made{};  // its parts, or what has its pods in its place, that exist
  bool made_succeeded = false, made_failed = false;  // one of those has, at some time
  std::vector<ObjectPtr> things{};  // what else it owns, where others have its pods
  bool handled = false;             // the operator has looked at it
  bool invalid = false;             // and found it invalid as it is: it does nothing for it
  bool suspend_seen = false;
  Time finished_at{};
  std::uint64_t finished_record = 0;

  std::vector<TypeFacts> types{};
  std::vector<PodFacts*> pods{};  // that exist
  // The job's Services that exist, by name, in the order of their names.
  std::map<Text, ServiceFacts, std::less<>> services{};
  std::vector<std::int64_t> worlds{};  // every WORLD_SIZE that its specs have meant

  Time changed_at{};  // the job, a pod or a Service of it
  // It came further then (spec/failure-modes.md §2, INV-PROGRESS). What it had reached before
  // counts on one way back only, until a step is done that nobody had done.
  Time progress_at{};
  Advance progress = Advance::applied;
  bool returns = false;           // a process has ended since then: it is on that way
  std::uint64_t way = 0;          // the number of that way
  std::int64_t repeated_max = 0;  // the furthest of the steps that were done again on it
  int attempts = 0;               // restarts and pods made anew since it came further
  Duration pause_max{};           // the longest between two steps that were new
  Time step_at{};                 // the last that was new
  Time pushed_at{};               // somebody outside of the cluster did something to it
  Time stimulus_at{};             // something happened that was not the operator's own doing
  std::int64_t writes = 0;        // of the operator, since then and since it scaled down
  int refusals = 0;               // of the operator's calls for it, in a row
  // Calls by which the operator has asked for pods that somebody forbids, a quota or a policy, and
  // that have not come since: "create pods default/j-worker-1".
  std::set<std::string, std::less<>> forbidden_pods{};
  std::uint64_t warned = 0;                // the last Warning about it or a pod of it, or 0
  std::shared_ptr<const Event> warning{};  // the last about the job itself
  std::vector<Disruption> disruptions{};   // of its pods, the last ones
  std::int64_t disruption_count = 0;
  Time disrupted_at{};
  std::uint64_t disrupted_generation = 0;  // the group that lost a member by it; 0: none is known
  bool queued_rest = false, queued_progress = false;

  std::uint64_t restart_record = 0;       // the last that counts against the budget
  std::int64_t replaced = 0;              // pods made anew after one that had failed
  std::int64_t restarts = 0;              // of containers, in all pods there have been, but for:
  std::int64_t followed = 0;              // those of peers of a pod that was disrupted
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
  std::string disruptions_in_words() const;  // of the last ones
  bool suspended() const { return traits.suspended; }
  TypeFacts& type(int index) { return types[static_cast<std::size_t>(index)]; }
  const TypeFacts& type(int index) const { return types[static_cast<std::size_t>(index)]; }
  int type_count() const { return static_cast<int>(types.size()); }
  const Workload::Group* spec_of(int index) const { return type(index).spec; }
  int wanted(int index) const;  // replicas; 0 where the type is not in the spec
  int wanted() const;           // of all types
  // Where the group stands in `types`, whatever the case of its letters; -1: nowhere.
  int find_type(std::string_view name) const;
  // "Worker 3"; "replica 3" where there is but one group.
  std::string replica_text(int type, int index) const;
  std::string type_text(int type) const;  // "Worker", "replica"
  bool became(bool Workload::*end) const { return traits.*end && !(before.*end); }
  // Pods of indices that it wants no more are still there. Until they are gone the operator makes
  // the lower ones of them anew and deletes them again (Q7).
  bool scales_down() const;
  std::string text() const { return key_name(reader->info().kind, key); }

 private:
  friend class Facts;
  void read(const ObjectPtr& now);  // the next version of it
  void note_wanted();               // what a new spec asks for
};
// The container whose end is the pod's.
std::string_view main_container(const Pod& pod, const WorkloadReader& reader);
// What labels say of a pod's or a Service's place: the group, an index into JobFacts::types, and
// the number in it, read as Go reads one. -1: they say none.
int group_of(const ObjectMeta& metadata, const JobFacts& job);
int index_of(const ObjectMeta& metadata, const WorkloadReader& reader);
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
  Facts();
  // What the record is about; afterwards the facts show it.
  Sight take(const Record& record, Topic topic);
  // What becomes due up to `now`, one a call, in the order of time.
  struct Due {
    JobFacts* job;
    Time at;
    bool at_rest;
  };
  // Of `progress`, where the scenario has one of its own.
  void set_progress_within(std::optional<Duration> bound) { progress_within_ = bound; }
  // Reasons of Events that the scenario waits for; they outlive the facts.
  using Reasons = std::set<std::string, std::less<>>;
  void set_awaited_events(const Reasons& reasons) { awaited_events_ = &reasons; }
  const Reasons& awaited_events() const { return *awaited_events_; }
  std::optional<Duration> progress_within_of_policy() const { return progress_within_; }
  // When another job than this last came further, and whether that one is still to end.
  struct Others {
    Time moved_at{};
    bool unfinished = false;
  };
  Others others(const JobFacts& job) const;
  // When the last of the unfinished jobs will have stood still for too long, as things are now.
  std::optional<Time> standstill_at() const;
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
  bool slices() const { return slices_; }  // somebody makes EndpointSlices
  bool panicked() const { return panicked_; }
  const Gangs& gangs() const { return gangs_; }
  // It looks after workloads of a system's own kind.
  bool is_operator(std::string_view actor) const;
  PodFacts* pod(std::string_view key) const;  // that exists
  // The workload that made that one and hands its pods on to it; null: nobody did.
  JobFacts* maker_of(const Object& workload) const;
  // The workload that this one is a part of; null: of none, or of one that is gone.
  JobFacts* whole_of(const JobFacts& job) const;
  JobFacts* job_of_service(std::string_view key) const;
  // A pod that an address belongs to, or belonged to. Those of the host's network share their
  // node's.
  struct Holder {
    Text namespace_{}, name{};
    SharedText uid{};
    OptionalTime until{};
    std::string pod() const;  // "namespace/name"
  };
  using Holders = boost::container::small_vector<Holder, 1>;
  const Holders* holders(std::string_view ip) const;  // the newest last; null: none

 private:
  void take_job(const Record& record, Sight& sight);
  void take_part(const Record& record);
  void take_thing(const Record& record);
  void take_warning(const Record& record, Sight& sight);
  void take_rule(const Record& record, Sight& sight);
  void take_pod(const Record& record, Sight& sight);
  void add_pod(const Record& record, PodFacts& facts);
  void change_pod(const Record& record, PodFacts& facts);
  void take_away(PodFacts& facts, const Record& record);
  void forget_pod(PodFacts& facts);
  void forget_job(JobFacts& job);
  void forget_part(JobFacts& part);
  void note_made(JobFacts& job, JobFacts& by, const Record& record);
  void take_service(const Record& record, Sight& sight);
  void take_slice(const Record& record, Sight& sight);
  void forgive_stale_pass(const Record& record);
  void take_refused(const Record& record, Sight& sight);
  void take_log(const Record& record, Sight& sight);
  void take_container(const Record& record, std::size_t slash, Sight& sight);
  void take_fault(const Record& record, Sight& sight);
  static void note_signal(PodFacts& pod, std::string_view container, const Record& record);
  void note_call(const Record& record, Topic topic);
  bool operator_busy(const JobFacts& job, Time now) const;
  void changed(JobFacts& job, Time now, std::string_view actor);
  void progressed(JobFacts& job, Time now, Advance how);
  void new_round(JobFacts& job, Time now, Advance how);
  void note_stage(PodFacts& pod, Time now);
  static void turn_back(JobFacts& job);
  void note_line(PodFacts& pod, std::string_view container, const Record& record);
  void note_step(JobFacts& job, const WorkerLine& line, Time now);
  void hand_back(const JobFacts& job);
  static void note_disruption(PodFacts& pod, Time now);
  void note_event(const Event& event);
  void hold_address(const Pod& pod, std::string_view ip, Time now);
  void leave_address(const Pod& pod, std::string_view ip, OptionalTime until);
  void restarted(JobFacts& job, const Record& record);
  void stimulate(JobFacts& job, Time now);
  enum class AlarmKind : std::uint8_t { rest, due, progress };
  void alarm(JobFacts& job, Time at, AlarmKind kind);
  Duration rest_of(const JobFacts& job) const;
  Duration bound_of_progress() const;  // the shortest
  JobFacts* owner_of(const ObjectMeta& metadata) const;
  JobFacts* job_of(const SharedText& uid) const;     // whose uid it is, or of whose part
  JobFacts* looked_at(const SharedText& uid) const;  // whose uid it is, parts among them

  // The process that looks after workloads.
  struct Operator {
    std::string_view actor{};
    std::array<Time, busy_writes> calls{};  // its last writes and refusals, in turn
    std::size_t call_count = 0;
    bool shared = false;  // what it does may be for something else
    bool busy(Time now) const;
  };
  // All workloads of a kind.
  struct KindFacts {
    const WorkloadReader* reader = nullptr;
    TextTable<JobFacts*> jobs{};   // by "namespace/name"
    std::string planned{};         // the one that its controller is busy with
    std::uint64_t planned_by = 0;  // the record that said so
    // What that key names, once it was asked for; null again when one comes or goes.
    JobFacts* planned_job = nullptr;
  };
  KindFacts& kind_of(const KindInfo& kind);
  const Operator* find_operator(std::string_view actor) const;
  static JobFacts* planned_job(KindFacts& kind);

  std::vector<Operator> operators_{};
  std::vector<KindFacts> kinds_{};
  UidTable<std::unique_ptr<JobFacts>> jobs_{}, part_jobs_{};
  // What is owned by a job and may own more, by uid.
  UidTable<JobFacts*> parts_{};
  PrintTable<std::unique_ptr<PodFacts>> pods_{};  // those that exist, by uid
  PrintTable<PodFacts*> pods_by_key_{};
  struct OfJob {
    JobFacts* job = nullptr;
    ServiceFacts* service = nullptr;  // one of the job's
  };
  PrintTable<OfJob> services_by_key_{};
  PrintTable<Holders> addresses_{};
  std::unique_ptr<PodFacts> gone_pod_{};  // the last that went, for the judges of its record
  std::unique_ptr<JobFacts> gone_job_{}, gone_part_{};

  struct Alarm {
    Time at;
    std::uint64_t number;
    SharedText uid;
    AlarmKind kind;
    bool operator<(const Alarm& other) const {
      return at != other.at ? other.at < at : other.number < number;
    }
  };
  std::priority_queue<Alarm> alarms_{};
  std::uint64_t alarm_count_ = 0;
  WorkerLine line_{};  // the last that was read
  Gangs gangs_{};
  bool disturbed_ = false, was_disturbed_ = false;
  bool slices_ = false, panicked_ = false;
  std::optional<Duration> progress_within_{};
  static inline const Reasons none_awaited_{};
  const Reasons* awaited_events_ = &none_awaited_;
  // The last job that came further, and the last before it of another.
  struct Moved {
    SharedText uid{};
    Time at{};
  };
  Moved moved_{}, moved_before_{};
  Time healed_at_{};
};

}  // namespace ddptwin::scenario::invariants
