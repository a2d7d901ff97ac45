// What every workload tells of itself, whatever system it is of: the view that judges have of it
// (docs/decisions/0010). A reader is dumb: it reads fields of one object, once a version of it, and
// shares no line with the controller, so that the same slip is not in both.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "objects/kinds.hpp"
#include "objects/object.hpp"

namespace ddptwin::scenario {

struct Workload {
  // Pods that are made from one template, and are counted from 0.
  struct Group {
    std::string_view name{};        // "Worker"; empty where there is but one
    int wanted = 0;                 // pods
    int first = 0;                  // the number of the first, as labels have it
    int per_part = 0;               // where they come in parts; 0: they do not
    std::string_view restart{};     // Always, OnFailure, Never, ExitCode
    bool decides = false;           // the end of its pods is the workload's
    bool first_decides = false;     // so of its first pod alone, whatever others do
    bool one_is_enough = false;     // so of the first that succeeds
    bool full_at_rest = true;       // no pod waits for another one to be made
    bool replaced_early = false;    // by a pod that runs while the old one is still ending
    std::size_t init_containers{};  // of the template
  };
  boost::container::small_vector<Group, 2> groups{};  // that its spec has

  OptionalTime started{}, completed{};
  bool succeeded = false, failed = false;  // as its status says
  bool ends = false;                       // that is decided, and waits for its pods
  bool told = false;                       // the status has a condition
  bool endless = false;                    // its pods run for ever: it need not come further
  bool suspended = false;                  // the spec asks for it
  bool says_suspended = false;             // the status does
  bool of_others = false;                  // a controller of another cluster looks after it
  std::optional<std::int64_t> deadline{};  // seconds after `started`
  std::optional<std::int64_t> ttl{};       // seconds after its end
  std::optional<std::int64_t> backoff{};   // how often it may be restarted for its own failures
  std::int64_t world = 0;                  // processes of all pods together
  bool tells_world = false;                // each pod has it, as WORLD_SIZE
  bool tells_rank = false;                 // each pod has one of its own, as RANK

  bool finished() const { return succeeded || failed; }
};

// A kind of workload: how to read one, and how to know what is made for it. Pods find theirs by
// their owners, however many there are between; then an owner that is a workload too is a part.
struct WorkloadReader {
  std::string_view system{};  // the system's name
  const KindInfo& (*info)() = nullptr;
  Workload (*read)(const Object& object) = nullptr;

  std::string_view actor{};       // the process that looks after it, as the API names it
  bool shares_actor = false;      // other controllers act in that name, too
  std::string_view pods_by{};     // the one that makes its pods
  std::string_view controller{};  // whose rules are about it, in its own records
  std::string_view gives_up{};    // the rule with which that finds it invalid and lets it be

  std::span<const std::string_view> groups{};  // that it may have, in the order they are told in
  // Labels of its pods and Services: the group's name, in any case, and the place in it. Without
  // the first there is one group.
  std::string_view group_label{}, index_label{};
  // The number of the part that a pod is of, and the place is one in that part; empty: no parts.
  std::string_view part_label{};
  bool free_indexes = false;  // a pod without the latter has the lowest place that is free
  bool hands_on = false;      // what it makes has the pods, as a workload of its own

  std::string_view main_container{};  // whose end is the pod's; empty: the first
  // An init container that the controller adds: it runs until a peer is there.
  std::string_view waiting_container{};
  int first_retryable = 0;  // from this exit code on, policy ExitCode tries once more
  bool (*retryable)(int exit_code) = nullptr;  // in its place, where they are not all from one on

  std::string_view success{}, failure{};  // the conditions that end it
};

// Of all systems; defined where those are.
std::span<const WorkloadReader* const> workload_readers();

}  // namespace ddptwin::scenario
