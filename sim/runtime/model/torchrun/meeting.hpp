// How the agents of one job find each other: the port behind torchrun's rendezvous backends.
// Source: spec/ddp-semantics.md §4.3, §4.4, §9.5.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/model/store.hpp"
#include "runtime/model/torchrun/options.hpp"

namespace ddptwin::torchrun {

// What one round of the rendezvous gives an agent.
struct World {
  model::StoreClient* store = nullptr;  // connected; the meeting's
  std::string prefix{};                 // of the round's keys, with the slash at its end
  int group_rank = 0;
  int group_size = 1;
  std::optional<Endpoint> master{};  // told by the user; absent: agreed on through the store
};

// What an agent is: its process, its constants, what it was told.
struct Agent {
  model::Process& process;
  const Profile& profile;
  const Options& options;
};

// Errors are Python's exceptions: text() is what the traceback ends with, over several lines where
// one was caused by another. Completions may come inside the call.
class Meeting {
 public:
  virtual ~Meeting() = default;

  // Finds or hosts the store; once, first.
  virtual void connect(UniqueFunction<void(const Status&)> done) = 0;
  // Takes part in the next round; waits for the others as long as the backend's timeouts allow.
  virtual void next(UniqueFunction<void(Result<World>)> done) = 0;
  // Whether nodes can come later, so that somebody must look for them.
  virtual bool watches_members() const = 0;
  virtual void nodes_waiting(UniqueFunction<void(Result<int>)> done) = 0;
  // From here on a call of the agent's waits in the store, whose lock it holds (TCPStore's
  // activeOpLock_): no heartbeat gets by, and the others take the node for dead when its lease
  // ends.
  virtual void fall_silent() {}
  // The agent does nothing more itself; what runs beside it (heartbeats) goes on.
  virtual void interrupt() {}
  // The job is over for everybody; what goes wrong in it is passed over.
  virtual void close(Callback done) = 0;
};

// `lost` is called when a heartbeat finds the store gone.
std::unique_ptr<Meeting> make_c10d_meeting(const Agent& agent,
                                           UniqueFunction<void(const Error&)> lost);
std::unique_ptr<Meeting> make_static_meeting(const Agent& agent);

}  // namespace ddptwin::torchrun
