// The way from outside into the containers of a run in real time, as `kubectl exec` takes it: a
// socket without a file, which ends with the process, for programs of the same user.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/real_loop.hpp"
#include "runtime/runtime.hpp"
#include "scenario/run/engine.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::scenario {

// What `ddptwin exec` asks for.
struct ExecOrder {
  std::string pod{};        // "name", or "namespace/name"
  std::string container{};  // empty: the first
  std::vector<std::string> command{};
};

class ExecDoor {
 public:
  // Open from now on, where this machine lets it: nobody needs it for the run. All outlive it.
  // `namespace_` is that of a pod that is named without one.
  ExecDoor(boost::asio::io_context& io, RealLoop& loop, World& world, std::string namespace_,
           ExecPort exec);
  ~ExecDoor();

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

// The runs of this user whose doors are open, by their process ids in ascending order.
std::vector<int> open_doors();
// Through the door of that process. Errors: not_found (the run, the pod or the container), those of
// the runtime.
Result<ExecResult> exec_through_door(int process, const ExecOrder& order);

}  // namespace ddptwin::scenario
