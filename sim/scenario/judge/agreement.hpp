// What a run came to, and within a bound when: the form in which real and virtual runs of one
// scenario are compared (issue 7, point 3).
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::scenario {

// One fact by what it is about and which of its aspects: {"pod/train-worker-0 #1", "phases"} is
// "Pending > Running > Failed". Objects of a name are numbered in the order of their making;
// generated names end in "*".
using RunFacts = std::map<std::pair<std::string, std::string>, std::string>;

// Reads a trace from the moment the scenario begins:
//   objects     how many of each name were made, and how many are left
//   conditions  their transitions with status and reason: those of a job in order; those of a
//               pod in order for each type, because two that change within a millisecond stand
//               in one write of the kubelet or in two (KubeletClocks::status_delay). For the same
//               reason it does not count whether PodReadyToStartContainers was False at first
//   phases      of a pod
//   exits       exit code and reason of each container's runs, in order
//   restarts    the last restart count of each container
//   steps       the last training step that a container told the end of
//   restarted   "for ever": its pod is of restartPolicy Always
//   joined      as which ranks processes of a container told that they had joined
//   error       type and place of the last exception that a container told (told_lines.hpp)
//   lasts       seconds: of each of a container's runs, in order; of a job until its last condition
//   failure     the last one of its own that a model told: "rank 1 at step 5". A script cannot, so
//               it is compared with nothing
class CanonicalTrace {
 public:
  // `join_lines`: by which a rank tells that it has joined (told_lines.hpp).
  explicit CanonicalTrace(std::vector<std::string> join_lines = {})
      : join_lines_(std::move(join_lines)) {}
  void on_record(const Record& record);
  RunFacts facts() const;

 private:
  struct Seen {
    std::map<std::string, std::string> conditions{};  // by type: status and reason
    std::map<std::string, std::vector<std::string>> transitions{};
    std::vector<std::string> phases{};
    std::map<std::string, std::vector<std::string>> exits{};  // by container
    std::map<std::string, std::int32_t> restarts{};
    std::map<std::string, std::vector<std::string>> lasted{};  // by container, seconds of each run
    Time made{}, changed{};         // a job, and the last of its conditions
    std::set<std::string> ended{};  // containers' ids
    bool for_ever = false;          // a pod's containers are restarted
  };
  struct Named {
    int made = 0;
    int left = 0;
  };

  void change(const Object& object, Time now);
  // `list`: of which transitions; the type of a pod's, empty for a job's.
  // Whether it is another one than before.
  bool condition(Seen& seen, const std::string& list, const std::string& type,
                 const std::string& status, const std::string& reason);
  void phase(Seen& seen, std::string_view now);
  void pod(Seen& seen, const Pod& pod);
  void containers(Seen& seen, const std::vector<ContainerStatus>& statuses);
  void log(const Record& record);

  std::map<std::string, Named> names_{};
  std::map<SharedText, std::string> numbered_{};  // by uid: "pod/train-worker-0 #1"
  std::map<std::string, Seen> seen_{};            // by that
  std::string container_of(const Record& log) const;
  // Of pods with generated names, by "namespace/pod": "pod/train-node-0-0-* #1".
  std::map<std::string, std::string, std::less<>> generated_{};
  // By "namespace/pod/container", or "pod/train-node-0-0-* #1 container".
  std::map<std::string, std::int64_t> steps_{};
  std::map<std::string, std::string> failures_{};  // likewise
  std::map<std::string, std::set<std::string>> joined_{};
  std::map<std::string, std::string> errors_{};
  std::vector<std::string> join_lines_;
};

struct Disagreement {
  std::string subject{}, aspect{};
  std::string real{}, virtual_{};  // empty: there is no such fact
  std::string_view explanation{};  // empty: nobody knows one
};

// A difference that is known and why it is there. Beside it stands the rule or constant. No part
// may be empty but `once_more`, so that a row excuses nothing but what it was written for.
struct Explained {
  std::string_view scenario;  // its name
  std::string_view subject;   // how it begins
  std::string_view aspect;
  std::string_view once_more;  // what one of the two says once more than the other; empty: any
  std::string_view reason;
};
std::span<const Explained> explained_differences();

// How far apart the times of two runs may lie: the longer one is at most so many times the shorter,
// and so much more.
struct TimeBound {
  double factor = 2;
  Duration slack = std::chrono::seconds(5);
};

// Explained are also the steps, one more or less, of a container that a signal from outside ended
// in both runs; and how far the newest life of a container has come in a pod that lives on in both
// and is restarted for ever. An exception that only the real run told counts where PyTorch raised
// it: what else a script says before it ends is described by nobody.
std::vector<Disagreement> compare(std::string_view scenario, const RunFacts& real,
                                  const RunFacts& virtual_, const TimeBound& bound = {});

}  // namespace ddptwin::scenario
