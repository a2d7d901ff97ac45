// The meeting of a process group: ranks publish their addresses in a store and connect to each
// other, pair by pair. Source: spec/ddp-semantics.md §2.4, §3.2, §3.3, §9.2, §9.5.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"
#include "runtime/model/training.hpp"

namespace ddptwin::model {

class Attendee;

// What a store keeps of one group: the addresses published last under each rank. They stay when
// their process ends; where keys carry no attempt, the next attempt reads them (§9.5).
class Mesh {
 public:
  explicit Mesh(Trainings& trainings) : trainings_(trainings) {}
  ~Mesh();  // those who are here are left without
  Mesh(const Mesh&) = delete;

 private:
  friend class Attendee;
  struct Entry {
    ProcessId process = 0;
    Attendee* attendee = nullptr;  // null: it has ended
    std::string ip{};              // as published: the pod's, or a loopback
    std::string pod_ip{};
    std::uint32_t number = 0;  // the address as one
    std::uint16_t port = 0;
    int world_size = 0;
  };

  Entry* entry(int rank);
  bool has_name(int rank) const;
  std::uint16_t free_port(const Process& process) const;
  void arrive(Attendee& attendee);
  void publish(Attendee& attendee);
  void leave(Attendee& attendee);
  Training& training_for(const Attendee& attendee);
  void wake(int rank);

  Trainings& trainings_;
  std::vector<bool> names_;           // by rank: its hostname is there
  std::vector<Entry> entries_;        // by rank; process 0: never published
  std::vector<Attendee*> attendees_;  // not yet done, in the order of their coming
  std::uint64_t forming_ = 0;         // the training that the next to be done joins
  std::int64_t barrier_ = 0;          // the counter of 1.13's store barrier
};

class Communicator;

// The meetings in one store, by the prefix of their keys: Gloo's and NCCL's (communicator.hpp).
class GroupStore {
 public:
  explicit GroupStore(Trainings& trainings);
  ~GroupStore();
  Mesh& mesh(const std::string& prefix);
  Communicator& communicator(const std::string& prefix);

 private:
  Trainings& trainings_;
  std::map<std::string, std::unique_ptr<Mesh>, std::less<>> meshes_;
  std::map<std::string, std::unique_ptr<Communicator>, std::less<>> communicators_;
};

// One rank's way through the meeting. Its end leaves it.
class Attendee {
 public:
  struct Place {
    int rank = 0;
    int world_size = 1;
    Duration timeout{};
    std::string store_ip{};  // where the keys are
  };
  // Errors as StoreClient's. The training outlives the process's membership.
  using Done = UniqueFunction<void(const Result<Training*>&)>;

  Attendee(Process& process, Mesh& mesh, Place place, Done done);
  ~Attendee();
  Attendee(const Attendee&) = delete;

  void start();
  void progress();  // after SIGCONT, and when somebody has come
  // False: it waits for a peer to dial, or for its own dial; the store's end is no news to it.
  bool needs_store() const;
  Process& process() { return process_; }
  const Place& place() const { return place_; }
  std::uint16_t port() const { return port_; }

 private:
  friend class Mesh;
  // 1.13: the names of the ranks before it, then pair after pair, each with its key. 2.x: the keys
  // of all, then the pairs; who waits for a key has dialled nobody (§9.2, gloo's context.cc).
  enum class Phase : std::uint8_t { names, keys, pairs, over };
  enum class Next : std::uint8_t { go_on, wait, failed };

  void publish();
  void go_on_to(Phase phase);
  Next step();
  Next read_name(int rank);
  Next read_key(int rank);
  Next pair_with(int rank);
  Next dial(const Mesh::Entry& peer, int rank);
  Next wait_for(Duration limit, int rank, bool key);
  bool store_is_cut() const;
  void gave_up(int rank, bool key);
  void connected();
  void wait_at_barrier(Time since);
  void finish(Result<Training*> result);

  Process& process_;
  Mesh* mesh_;  // null: the store is gone
  Place place_;
  Done done_;
  std::string ip_{};  // that it publishes
  std::uint16_t port_ = 0;
  std::uint32_t number_ = 0;
  Phase phase_ = Phase::names;
  int next_ = 0;                   // the rank that it is about to be connected with
  std::vector<bool> dialled_by_;   // by rank
  std::vector<Mesh::Entry> read_;  // by rank: the addresses as it has read them
  bool waiting_for_key_ = false;
  std::string peer_ip_{};  // of the pair that is waited for
  std::uint16_t peer_port_ = 0;
  TimerId limit_ = 0;
  bool progressing_ = false, again_ = false;
  bool published_ = false;  // and nobody has been told yet
  std::uint64_t watch_ = 0;
};

}  // namespace ddptwin::model
