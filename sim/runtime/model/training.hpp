// A process group that stands: steps of computing and all-reduce. Nobody passes a collective that a
// peer has not entered; what goes wrong is told along the ring, as sockets close.
// Source: spec/ddp-semantics.md §3 (a ring: each rank exchanges data with its two neighbours only),
// §5.1, §8.1, §9.3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/backend.hpp"
#include "runtime/model/network.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

// How a collective ended for one rank that did not get its result.
struct Loss {
  enum class Kind : std::uint8_t {
    closed,        // the peer's sockets closed
    reset,         // ... with data on the way, or a fault of the link
    timed_out,     // the group's timeout
    tcp_gave_up,   // nothing was acknowledged for too long
    other_size,    // a peer's world has another size: its tensor's parts do not fit
    other_shapes,  // DDP's check of the parameters against rank 0's
  };
  Kind kind = Kind::closed;
  std::string peer_ip{};  // of the neighbour, where it is about one
  std::uint16_t peer_port = 0;
  bool sending = false;              // timed_out: it waits to send, not to receive
  std::uint64_t sent = 0, room = 0;  // other_size: bytes of the peer's message, and of the buffer
  std::int64_t sequence = 0;         // which collective of its group it is, from 1
  Duration ran{};                    // since the rank has entered it
};

// One rank, as its group sees it. Calls come from the loop; none after the rank has left.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual Process& process() = 0;
  // Step `step` of the whole training is done, by every rank.
  virtual void step_done(std::int64_t step) = 0;
  virtual void trained() = 0;  // after its last step
  virtual void lost(const Loss& loss) = 0;
  // That rank dumps what it knows of its collectives, and asks the others to.
  virtual void peer_dumps(int /*rank*/) {}
};

struct TraineePlan {
  int world_size = 1;
  Duration before{};         // from the start of a step until its all-reduce is entered
  Duration step_time{};      // a step lasts at least this long
  std::uint64_t bytes = 0;   // gradients
  std::uint64_t shapes = 0;  // equal for equal models
  Duration timeout{};        // of a collective
  std::int64_t done = 0;     // resumed at
  std::int64_t steps = 0;
  bool joins = false;  // after its last step it goes along until nobody has one left
};

class Trainings;

class Training {
 public:
  struct Seat {  // who is expected as which rank
    ProcessId process = 0;
    std::string ip{};
    std::uint16_t port = 0;
    bool gone = false;
  };
  Training(std::uint64_t id, Trainings& all, Lane lane, std::vector<Seat> seats,
           const GroupRules& rules);

  std::uint64_t id() const { return id_; }
  bool expects(int rank, ProcessId process) const;
  // The rank has constructed DistributedDataParallel; its first collectives begin.
  void join(int rank, Trainee& trainee, const TraineePlan& plan);

  void hang(int rank);     // it never enters a collective again
  void leave(int rank);    // it takes part in nothing more; its sockets are still open
  void close(int rank);    // its sockets close
  void stopped(int rank);  // SIGSTOP, SIGCONT
  void continued(int rank);
  void links_changed();
  // Tells those who are not in a collective, and have not lost one, that the rank dumps.
  void dumps(int rank);
  // Whether the rank waits for others in a collective.
  bool in_collective(int rank) const;
  // No rank is left that could take part.
  bool over() const { return present_ == 0; }

 private:
  enum class Phase : std::uint8_t {
    absent,     // expected
    stepping,   // computes until `enter`, then waits in the collective
    finishing,  // has the collective's result; its step ends at `end`
    idle,       // hangs, leaves or has left
  };
  struct Member {
    Seat seat{};
    Trainee* trainee = nullptr;
    TraineePlan plan{};
    Phase phase = Phase::absent;
    bool constructed = false;
    bool is_stopped = false;
    Time stopped_at{};
    Time start{}, enter{}, end{};  // of the step at hand
    bool left_within = false;      // idle: it had entered the collective at hand
    Duration left{};               // stopped: what remains until `enter` or `end`
    Time continued{};              // hears nothing before
    std::optional<Time> closed_at{};
    bool in_flight = false;        // its sockets closed while data was on the way
    Duration loss_delay[2]{};      // until its neighbours notice: the rank before, the rank after
    std::uint64_t chance = 0;      // not along the ring: of when each rank notices
    Duration late{};               // its timeout until it knows
    std::int64_t collectives = 0;  // done
    bool has_lost = false;         // a collective
  };
  struct Due {
    Time time{};
    Loss loss{};
  };

  Member& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  int world() const { return static_cast<int>(members_.size()); }
  int neighbour(int rank, int offset) const { return (rank + offset + world()) % world(); }
  void settle();
  void update();
  void act();
  void plan_completion();
  void finish_step(int rank);
  bool anybody_goes_on() const;
  void check_losses();
  void tell_why(int rank, const Loss& loss) const;
  void make_idle(Member& one);
  static std::optional<Time> entered_at(const Member& one);
  std::optional<Time> first_data_at(int rank) const;
  std::optional<Time> notices_at(int rank, int offset) const;
  std::optional<Due> loss_of(int rank);
  void consider_peer(std::optional<Due>& first, int rank, int other, int offset);
  Duration loss_delay(const Member& closed, int rank, int offset) const;
  static void consider(std::optional<Due>& first, Time time, Loss loss);
  static Loss loss_by(const Member& peer, Loss::Kind kind);
  std::optional<Time> next_event();
  Duration duration_of_collective() const;
  bool is_cut(int rank) const { return !cuts_.empty() && cuts_[static_cast<std::size_t>(rank)]; }

  std::uint64_t id_;
  Trainings& all_;
  Loop& loop_;
  const Network& network_;
  Model model_;
  Lane lane_;
  GroupRules rules_;
  std::vector<Member> members_;
  int present_;                     // neither absent for good nor gone
  bool trouble_ = false;            // something is not as in a healthy group
  std::optional<Time> complete_{};  // when the collective at hand will be over, if nothing happens
  Time floor_{};                    // it is not over before that
  std::vector<std::optional<Time>> cuts_{};  // by rank: the link to the next rank is cut since
  std::vector<Time> resumes_{};              // likewise: nothing passes it before, after a cut
  bool updating_ = false, again_ = false;
  Timer timer_{};
};

// All groups of one runtime.
class Trainings {
 public:
  Trainings(Loop& loop, Network& network, const Model& model);
  ~Trainings();

  Training& make(Lane lane, std::vector<Training::Seat> seats, Backend backend);
  // Null: it is over.
  Training* find(std::uint64_t id);
  // A process that is in another group already sits in this one too: a restarted peer has found its
  // old address.
  void expect_end(ProcessId process, std::uint64_t id, int rank);
  void process_ended(ProcessId process);
  // To be called when a rank has left: forgets groups without ranks, later.
  void swept(std::uint64_t id, Lane lane);
  std::size_t size() const { return trainings_.size(); }

 private:
  friend class Training;
  Loop& loop_;
  Network& network_;
  Model model_;
  std::uint64_t watch_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Training>> trainings_;
  struct Seat {
    std::uint64_t id = 0;
    int rank = 0;
  };
  std::multimap<ProcessId, Seat> second_seats_;
};

}  // namespace ddptwin::model
