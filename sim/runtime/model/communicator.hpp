// How the ranks of an NCCL group meet: not in init_process_group, but in their first collective.
// Rank 0 leaves a ncclUniqueId in the store; the others wait for it, and all wait for all.
// Source: spec/gpu.md §5; what is not measured there is of PyTorch's ProcessGroupNCCL.cpp
// (broadcastUniqueNCCLID) and NCCL's src/bootstrap.cc and src/init.cc, and marked so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"
#include "runtime/model/training.hpp"

namespace ddptwin::model {

class Joiner;

// What a store keeps of one group: whose ncclUniqueId lies there. It stays when that process ends;
// where keys carry no attempt, the next attempt reads it (ddp-semantics §9.5).
class Communicator {
 public:
  explicit Communicator(Trainings& trainings) : trainings_(trainings) {}
  ~Communicator();  // those who are here are left without
  Communicator(const Communicator&) = delete;

 private:
  friend class Joiner;

  void publish(ProcessId root);
  // All ranks of a group are here: they are connected, or some sit on one card.
  void form();

  Trainings& trainings_;
  ProcessId root_ = 0;
  std::vector<Joiner*> joiners_;  // not yet done, in the order of their coming
};

// One rank in its first collective. Its end leaves it, and the group where it has been in one.
class Joiner {
 public:
  struct Place {
    int rank = 0;
    int world_size = 1;
    Duration timeout{};
    std::string store_ip{};
    std::string card{};  // what it trains on, as NCCL tells cards of one host apart
    std::string bus{};   // of that card, as NCCL prints it
  };
  using Done = UniqueFunction<void(const Result<Training*>&)>;

  Joiner(Process& process, Communicator& communicator, Place place, Done done);
  ~Joiner();
  Joiner(const Joiner&) = delete;

  void start();
  void progress();  // after SIGCONT, when a link has changed, and when somebody has come
  // The store's process has ended.
  void store_lost();
  const Place& place() const { return place_; }
  Process& process() { return process_; }

 private:
  friend class Communicator;
  // connecting: it has the id, and NCCL waits for the others without an end (source).
  enum class Phase : std::uint8_t { waits_for_id, connecting, connected, over };

  bool store_is_cut() const;
  void finish(Result<Training*> result, Duration after);

  Process& process_;
  Communicator* communicator_;  // null: the store is gone
  Place place_;
  Done done_;
  Phase phase_ = Phase::waits_for_id;
  ProcessId root_ = 0;          // whose id it has
  std::uint64_t training_ = 0;  // that it is about to join
  TimerId limit_ = 0;
  std::uint64_t watch_ = 0;
};

}  // namespace ddptwin::model
