// A process that gives pods their nodes: kube-scheduler, or another one beside it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "core/trace.hpp"

namespace ddptwin {

// Talks to the cluster through its client alone. It ends, perhaps between two writes, by being
// destroyed; what was under way may still happen.
class SchedulerProcess {
 public:
  virtual ~SchedulerProcess() = default;
  virtual void start() = 0;
  // The keys ("NAMESPACE/NAME", or a name) of which its memory says something, in any order: at
  // rest none that is gone.
  virtual std::vector<std::string> remembered() const = 0;
};
// What it is given outlives it.
using MakeScheduler = std::function<std::unique_ptr<SchedulerProcess>(
    Loop& loop, api::ApiClient& client, Trace& trace)>;

}  // namespace ddptwin
