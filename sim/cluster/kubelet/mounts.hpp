// The volumes of one pod: waits until all can be mounted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/pod_host.hpp"

namespace ddptwin::kubelet {

// Each volume is tried by itself, again after 0.5, 1, 2, ... s, with an event FailedMount each time
// (spec/kubernetes.md §2.10); a claim that is not bound yet is waited for in silence. A waiter is
// given up after two minutes, the tries go on.
class PodMounts {
 public:
  using Sources = std::vector<std::shared_ptr<const VolumeSource>>;
  using Done = UniqueFunction<void(Result<Sources>)>;

  explicit PodMounts(PodHost& host) : host_(host) {}

  // What the volumes show; nothing where some are missing. The first call tries to mount them.
  std::optional<Sources> mounted();
  // Until none is missing; one waiter at a time. Precondition: mounted() has said that some are.
  void wait(Done done);
  // Ends the wait without an answer.
  void give_up();
  // What files lie in the volumes now that a ConfigMap or Secret has changed.
  void refresh();
  // Whether a claim that is waited for is bound now.
  void look_at_claims();

 private:
  struct Slot {
    std::shared_ptr<const VolumeSource> source{};
    Duration delay{};
    Timer timer{};
  };

  void attempt(const Volume& volume);
  void try_again(const Volume& volume);        // because its delay is over
  std::optional<Sources> all_sources() const;  // nothing: some are missing
  void settle();
  void time_out();

  PodHost& host_;
  // Of a pod that has volumes, from the first try to mount them.
  struct Work {
    std::map<std::string, Slot, std::less<>> slots{};
    Done done{};
    Timer limit{};
  };
  std::unique_ptr<Work> work_{};
};

}  // namespace ddptwin::kubelet
