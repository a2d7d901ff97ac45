// What went wrong with pods and their containers, in the order of its beginning, and which of it
// made a job fail or keeps it waiting. Read from the trace alone.
//
// A peer that loses its connection fails too, often before the program that broke it has ended. So
// the culprit of an end is looked for backwards from it: the earliest trouble that a process which
// failed later lived through, unless all that one says is that somebody else has ended
// (last_words.hpp). What was restarted and trained on is over.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_table.hpp"
#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "objects/uid_table.hpp"

namespace ddptwin::scenario {

struct Trouble {
  enum class Kind : std::uint8_t {
    ended,     // a container ended badly
    rejected,  // the pod failed as a whole: Evicted, OutOfcpu
    removed,   // somebody deleted the pod while it ran
    refused,   // the API refused what a controller wanted to make
    waiting,   // a container cannot start: ImagePullBackOff, CreateContainerConfigError
    warned,    // the pod cannot start, and a Warning says why: FailedMount
    unplaced,  // no node takes the pod
  };
  Kind kind = Kind::ended;
  std::string object{};      // "pod/mnist-worker-0"
  std::string key{};         // "namespace/name" of the pod, or of who was refused
  std::string container{};   // empty: the pod itself
  bool init = false;         // of its init containers
  SharedText uid{}, root{};  // of the object, and of the owner of its owners
  Time began{};
  std::optional<Time> over{};  // it could start after all
  // Of a container that ended.
  Time run_began{};
  std::optional<Time> restarted{};
  bool recovered = false;  // the job trained on after that
  int exit_code = 0;
  int times = 1;                           // that it ended badly, up to this one
  std::string by{};                        // who ended it, where a fault or a step did: "signal 9"
  std::size_t first_line = 0;              // of its run, in the container's log
  std::optional<std::size_t> last_line{};  // where the next run's begin
  std::string reason{}, message{};
};

// What one container printed.
struct SeenLog {
  std::vector<std::string> lines{};
  std::int64_t step = 0;     // the last "step N" it printed
  std::int64_t steps = 0;    // the N of "step n/N", 0: it said none
  std::uint64_t record = 0;  // of the last line
  // How far each pattern has been searched for, so that a line is searched once.
  struct Search {
    std::size_t next = 0;
    bool found = false;
  };
  mutable std::map<std::string, Search, std::less<>> searches{};
};
// By "namespace/pod/container".
using SeenLogs = std::map<std::string, SeenLog, std::less<>>;

class Troubles {
 public:
  // The logs outlive it, and hold a line before it is told of that line.
  explicit Troubles(const SeenLogs& logs) : logs_(logs) {}
  void on_record(const Record& record);
  // A container told the end of a training step.
  void trained(std::string_view log_key, Time now);

  // The uid of the object that stands above all its owners; its own, where it has none.
  SharedText root_of(const ObjectMeta& metadata) const;

  // All of that root up to that time that is not over, in the order of its beginning; what ended
  // badly and was started again is not over until the job has trained on.
  std::vector<const Trouble*> unsolved(const SharedText& root, Time until) const;
  // Which of it made the others; null: there is none.
  // `decider` is the pod ("namespace/name") whose failure it was, where that is known: then what it
  // failed of.
  const Trouble* culprit(const SharedText& root, Time until, std::string_view decider = {}) const;

  // All that it says of its end is that somebody else has ended.
  bool is_consequence(const Trouble& trouble) const;

  // "container pytorch exit 1: "ModuleNotFoundError: No module named 'x'"".
  std::string line(const Trouble& trouble) const;
  // What the container printed in that run.
  std::span<const std::string> log_of(const Trouble& trouble) const;

 private:
  // One container, by "namespace/pod/container".
  struct Run {
    Time began{};  // the last one
    Time exited{};
    std::size_t first_line = 0;
    std::size_t next_line = 0;  // how many there were when the run before it ended
    std::string by{};           // who ended it, as far as is known
    Time by_at{};
    SharedText ended{};                // the id of the last one whose end was seen
    std::size_t trouble = no_trouble;  // its last
    int times = 0;                     // that it ended badly
  };
  // One pod, by its uid.
  struct PodTale {
    Time created{};
    SharedText root{};
    std::optional<Time> removed{};
    std::string unhealthy{};  // what a probe said last
    bool ran = false;
    int open = 0;  // troubles that keep it from starting
  };
  static constexpr std::size_t no_trouble = static_cast<std::size_t>(-1);

  void take_container(const Record& record);
  void take_fault(const Record& record);
  void add_pod(const Pod& pod, Time now);
  void add_owned(const Object& object, Time now);
  bool is_there_already(const Trouble& refused) const;
  void change_pod(const Pod& before, const Pod& pod, const Record& record);
  void take_container_status(const Pod& pod, const ContainerStatus& status, bool init, Time now);
  void take_end(const Pod& pod, const ContainerStatus& status, bool init, Time now);
  void take_warning(const Event& event, Time now);
  std::size_t add(Trouble trouble);
  void open(Trouble trouble);
  void close(const SharedText& uid, std::string_view container, Time now);
  void close_warnings(const SharedText& uid, Time now);
  bool recovered(const Trouble& trouble) const;
  bool ended_again(const Trouble& trouble, Time until) const;
  bool may_have_made(const Trouble& earlier, const Trouble& later) const;

  const SeenLogs& logs_;
  std::vector<Trouble> troubles_{};
  UidTable<std::vector<std::size_t>> of_root_{};
  std::map<std::string, Run, std::less<>> runs_{};
  UidTable<PodTale> pods_{};
  UidTable<SharedText> owners_{};  // who controls whom
  TextTable<SharedText> roots_{};  // of pods, by "namespace/name"
  // Of all else that somebody controls, by "services namespace/name": who controls it.
  TextTable<SharedText> owned_{};
  UidTable<Time> trained_{};  // when a root's pods last told the end of a step
};

}  // namespace ddptwin::scenario
