#include "runtime/model/training.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::model {
namespace {

constexpr Duration first_retransmission = 200ms;   // §3.5: 0.2 (2^k - 1) s after the cut
constexpr Duration retransmission_gap_max = 120s;  // TCP_RTO_MAX
constexpr int retransmissions_max = 15;            // tcp_retries2
constexpr Duration tcp_gives_up = 924'600ms;       // §3.5
constexpr std::uint64_t small_call = 64;           // bytes of the checks at construction
constexpr std::uint64_t in_flight_min = 64 << 10;  // §3.1: 4 kB were "closed", 4 MB "reset"

// When TCP next tries to send what nobody has acknowledged since `since`, at or after `now`.
// Nothing: it has made its last try, and only waits until it gives up.
std::optional<Time> next_retransmission(Time since, Time now) {
  Time next = since;
  Duration wait = first_retransmission;
  for (int tried = 0; next < now && tried < retransmissions_max; ++tried) {
    next = next + wait;
    wait = std::min(2 * wait, retransmission_gap_max);
  }
  if (next < now) return std::nullopt;
  return next;
}

}  // namespace

Training::Training(std::uint64_t id, Trainings& all, Lane lane, std::vector<Seat> seats,
                   const GroupRules& rules)
    : id_(id),
      all_(all),
      loop_(all.loop_),
      network_(all.network_),
      model_(all.model_),
      lane_(lane),
      rules_(rules) {
  members_.resize(seats.size());
  present_ = static_cast<int>(seats.size());
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    Member& made = members_[rank];
    made.seat = std::move(seats[rank]);
    if (!made.seat.gone) continue;
    made.closed_at = loop_.now();
    made.phase = Phase::idle;
    trouble_ = true;
    --present_;
  }
  if (network_.any_fault()) links_changed();
}

bool Training::expects(int rank, ProcessId process) const {
  return rank < world() && members_[static_cast<std::size_t>(rank)].seat.process == process;
}

void Training::join(int rank, Trainee& trainee, const TraineePlan& plan) {
  settle();
  Member& joined = member(rank);
  joined.trainee = &trainee;
  joined.plan = plan;
  joined.phase = Phase::stepping;
  joined.late = rules_.timeout_late.drawn(trainee.process().random());
  joined.start = joined.enter = loop_.now();
  update();
}

// It enters no further collective; what it has sent in the one at hand is on its way.
void Training::make_idle(Member& one) {
  if (one.phase == Phase::stepping) one.left_within = entered_at(one) && one.enter <= loop_.now();
  if (one.phase == Phase::finishing) one.left_within = false;
  one.phase = Phase::idle;
}

void Training::hang(int rank) {
  settle();
  make_idle(member(rank));
  trouble_ = true;
  update();
}

void Training::leave(int rank) {
  settle();
  make_idle(member(rank));
  trouble_ = true;
  update();
}

void Training::close(int rank) {
  Member& closed = member(rank);
  if (closed.closed_at) return;
  settle();
  const Time now = loop_.now();
  closed.in_flight =
      closed.phase == Phase::stepping && closed.enter <= now && closed.plan.bytes > in_flight_min;
  make_idle(closed);
  closed.closed_at = now;
  for (Duration& delay : closed.loss_delay) {
    delay = rules_.peer_loss.least;
    if (closed.trainee == nullptr) continue;
    delay = rules_.peer_loss.drawn(closed.trainee->process().random());
  }
  if (!rules_.along_ring && closed.trainee != nullptr)
    closed.chance = closed.trainee->process().random().next();
  closed.trainee = nullptr;
  trouble_ = true;
  --present_;
  update();
}

void Training::stopped(int rank) {
  settle();
  Member& one = member(rank);
  if (one.is_stopped) return;
  const Time now = loop_.now();
  one.is_stopped = true;
  one.stopped_at = now;
  one.left = Duration::zero();
  if (one.phase == Phase::stepping) one.left = std::max(one.enter - now, Duration::zero());
  trouble_ = true;
  update();
}

void Training::continued(int rank) {
  settle();
  Member& one = member(rank);
  if (!one.is_stopped) return;
  const Time now = loop_.now();
  one.is_stopped = false;
  if (one.phase == Phase::stepping && one.left > Duration::zero()) one.enter = now + one.left;
  // What is left of a step then is a sleep, which goes by the clock (sim/workers/trainer.cpp).
  if (one.phase == Phase::finishing) one.end = std::max(one.end, now);
  if (one.phase == Phase::stepping && one.left == Duration::zero()) floor_ = std::max(floor_, now);
  one.continued = now;
  update();
}

void Training::dumps(int rank) {
  const Time now = loop_.now();
  for (int other = 0; other < world(); ++other) {
    const Member& one = member(other);
    const bool hears = one.trainee != nullptr && !one.has_lost && !one.is_stopped;
    const bool computes = one.phase == Phase::idle ||
                          (one.phase == Phase::stepping && (one.enter > now || !entered_at(one)));
    if (other != rank && hears && computes) one.trainee->peer_dumps(rank);
  }
}

void Training::links_changed() {
  settle();
  const Time now = loop_.now();
  if (cuts_.empty()) {
    cuts_.resize(members_.size());
    resumes_.resize(members_.size());
  }
  for (int rank = 0; rank < world(); ++rank) {
    std::optional<Time>& since = cuts_[static_cast<std::size_t>(rank)];
    const Member& one = member(rank);
    const Member& next = member(neighbour(rank, 1));
    const bool cut = network_.link(one.seat.ip, next.seat.ip).drop;
    if (cut && !since) since = now;
    if (cut || !since) continue;
    // Healed: what was sent meanwhile arrives with the next try.
    const auto sent = [&](const Member& from) {
      return from.phase == Phase::stepping && from.enter < now;
    };
    bool is_lost = false;  // for good: to this connection the link stays cut
    for (const Member* from : {&one, &next}) {
      if (!sent(*from)) continue;
      const auto arrives = next_retransmission(std::max(*since, from->enter), now);
      if (arrives) {
        floor_ = std::max(floor_, *arrives);
        Time& resumes = resumes_[static_cast<std::size_t>(rank)];
        resumes = std::max(resumes, *arrives);
      }
      is_lost = is_lost || !arrives;
    }
    if (!is_lost) since.reset();
  }
  trouble_ = true;
  update();
}

// What was planned and has come true is so; what lies ahead is open again.
void Training::settle() {
  if (!complete_) return;
  if (loop_.now() < *complete_) {
    for (Member& one : members_) one.phase = Phase::stepping;
  }
  complete_.reset();
}

void Training::update() {
  again_ = true;
  if (updating_) return;
  updating_ = true;
  while (again_) {
    again_ = false;
    act();
  }
  updating_ = false;
  timer_.cancel();
  const std::optional<Time> next = next_event();
  if (!next) return;
  // A timer that is due at once with the group's end is still called.
  timer_ = loop_.at(lane_, *next, [&all = all_, id = id_] {
    if (Training* training = all.find(id)) training->update();
  });
}

// All that is due now. Ranks are called here, and may come back into any public function.
void Training::act() {
  const Time now = loop_.now();
  if (complete_ && *complete_ <= now) complete_.reset();
  if (!complete_) {
    for (int rank = 0; rank < world(); ++rank) {
      const Member& one = member(rank);
      if (one.phase == Phase::finishing && !one.is_stopped && one.end <= now) finish_step(rank);
    }
    if (trouble_) check_losses();
    plan_completion();
  }
}

bool Training::in_collective(int rank) const {
  if (rank >= world()) return false;
  const Member& one = members_[static_cast<std::size_t>(rank)];
  const Time now = loop_.now();
  if (one.phase == Phase::finishing) return complete_ && one.enter <= now && now < *complete_;
  return one.phase == Phase::stepping && one.enter <= now;
}

// Somebody has a step left after the one at hand, whose end is told rank by rank.
bool Training::anybody_goes_on() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& one) {
    const bool takes_part = one.phase == Phase::stepping || one.phase == Phase::finishing;
    const std::int64_t done = one.plan.done + (one.phase == Phase::finishing ? 1 : 0);
    return takes_part && done < one.plan.steps;
  });
}

void Training::finish_step(int rank) {
  Member& one = member(rank);
  if (one.constructed && one.plan.done >= one.plan.steps && one.plan.joins) {
    // It only went along.
  } else if (one.constructed) {
    ++one.plan.done;
    one.trainee->step_done(one.plan.done);
  } else if (one.plan.shapes != members_.front().plan.shapes) {
    one.phase = Phase::idle;
    trouble_ = true;
    one.trainee->lost({Loss::Kind::other_shapes});
  }
  one.constructed = true;
  ++one.collectives;
  if (one.phase != Phase::finishing) return;  // it died of it, or hangs
  if (one.plan.done >= one.plan.steps && !(one.plan.joins && anybody_goes_on())) {
    one.phase = Phase::idle;
    one.left_within = false;
    trouble_ = true;
    one.trainee->trained();
    return;
  }
  const bool goes_along = one.plan.done >= one.plan.steps;
  one.phase = Phase::stepping;
  one.start = loop_.now();
  one.enter = one.start + (goes_along ? Duration::zero() : one.plan.before);
}

// §8.1; the slower the link, the longer every hop over it.
Duration Training::duration_of_collective() const {
  const Member& first = members_.front();
  const std::uint64_t bytes =
      std::max_element(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
        return a.plan.bytes < b.plan.bytes;
      })->plan.bytes;
  Duration total = all_reduce(*model_.timing, bytes, world());
  if (!first.constructed) total += 2 * all_reduce(*model_.timing, small_call, world());
  if (!network_.any_fault()) return total;
  Duration delays{};
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    delays +=
        network_.link(members_[rank].seat.ip, members_[(rank + 1) % members_.size()].seat.ip).delay;
  }
  return total + delays * (2 * (world() - 1)) / world();
}

// When everybody is on the way into the same collective, its end is known.
void Training::plan_completion() {
  Time all_in = floor_;
  Time first_gives_up = Time(Duration::max());
  for (int rank = 0; rank < world(); ++rank) {
    const Member& one = member(rank);
    if (one.phase != Phase::stepping || one.is_stopped) return;
    if (is_cut(rank) && world() > 1) return;
    all_in = std::max(all_in, one.enter);
    first_gives_up = std::min(first_gives_up, one.enter + one.plan.timeout + one.late);
  }
  if (trouble_) {
    for (int rank = 0; rank < world(); ++rank) {
      const Member& one = member(rank);
      const Member& next = member(neighbour(rank, 1));
      const LinkFault fault = network_.link(one.seat.ip, next.seat.ip);
      if (fault.reset || network_.link(next.seat.ip, one.seat.ip).reset) return;
      if (one.plan.world_size != world()) return;
    }
    trouble_ = false;
  }
  const Time complete = all_in + duration_of_collective();
  if (world() > 1 && complete > first_gives_up) {
    trouble_ = true;
    return;
  }
  complete_ = complete;
  for (Member& one : members_) {
    if (one.phase != Phase::stepping) continue;
    one.phase = Phase::finishing;
    one.end = one.constructed ? std::max(complete, one.start + one.plan.step_time) : complete;
  }
}

void Training::consider(std::optional<Due>& first, Time time, Loss loss) {
  if (!first || time < first->time) first = Due{time, std::move(loss)};
}

Loss Training::loss_by(const Member& peer, Loss::Kind kind) {
  return {kind, peer.seat.ip, peer.seat.port};
}

// When its own part of the collective at hand began, or will. Nothing: that is not known, or never.
std::optional<Time> Training::entered_at(const Member& one) {
  if (one.phase == Phase::stepping && one.is_stopped && one.left > Duration::zero())
    return std::nullopt;
  if (one.phase == Phase::stepping || one.left_within) return one.enter;
  return std::nullopt;
}

// When the first parts of the rank after it have come, which it waits for before it minds whether
// its own are taken (gloo/allreduce.cc: waitRecv(), then waitSend()). A process that is stopped, or
// is no more, before both are there sends nothing.
std::optional<Time> Training::first_data_at(int rank) const {
  const Member& one = members_[static_cast<std::size_t>(rank)];
  const Member& sender = members_[static_cast<std::size_t>(neighbour(rank, 1))];
  const std::optional<Time> begun = entered_at(sender);
  if (!begun) return std::nullopt;
  const Time both = std::max(*begun, one.enter);
  if (sender.is_stopped && sender.stopped_at < both) return std::nullopt;
  if (sender.closed_at && *sender.closed_at < both) return std::nullopt;
  if (is_cut(rank) && *cuts_[static_cast<std::size_t>(rank)] <= both) return std::nullopt;
  return both;
}

// From when on a rank minds that the sockets of a neighbour closed: one wait at a time fails, and
// only by its own pair. Measured with 1.13.1, three ranks, T of 10 s: with the rank after it
// stopped it hears nothing of the death of the one before, and with the one before it missing
// nothing of the death of the one after, once that has sent. Nothing: not as things are.
std::optional<Time> Training::notices_at(int rank, int offset) const {
  const Member& one = members_[static_cast<std::size_t>(rank)];
  const Member& closed = members_[static_cast<std::size_t>(neighbour(rank, offset))];
  if (world() == 2 || *closed.closed_at <= one.enter) return closed.closed_at;
  const std::optional<Time> received = first_data_at(rank);
  if (offset < 0) {
    if (!received) return std::nullopt;
    return std::max(*closed.closed_at, *received);
  }
  if (!received) return closed.closed_at;
  const Member& taker = members_[static_cast<std::size_t>(neighbour(rank, -1))];
  const std::optional<Time> taken = entered_at(taker);
  if (!taken) return std::nullopt;
  return std::max(*closed.closed_at, *taken);
}

// Until a rank knows that another's sockets have closed.
Duration Training::loss_delay(const Member& closed, int rank, int offset) const {
  if (rules_.along_ring) return closed.loss_delay[offset < 0 ? 1 : 0];
  Random chance = Random(closed.chance).split(static_cast<std::uint64_t>(rank));
  return closed.chance == 0 ? rules_.peer_loss.least : rules_.peer_loss.drawn(chance);
}

// What the rank hears of that peer. `offset`: the side on which it is; 0: it is no neighbour.
void Training::consider_peer(std::optional<Due>& first, int rank, int other, int offset) {
  const Member& one = member(rank);
  const Member& peer = member(other);
  const int link = offset < 0 ? other : rank;
  const bool cut = offset != 0 && is_cut(link);
  Time from = std::max(one.enter, one.continued);
  if (!resumes_.empty() && offset != 0)
    from = std::max(from, resumes_[static_cast<std::size_t>(link)]);
  // What a peer's kernel says at its end does not pass a link that was cut before (§3.5, FM-068).
  const bool silent =
      cut && peer.closed_at && *cuts_[static_cast<std::size_t>(link)] <= *peer.closed_at;
  std::optional<Time> noticed;
  if (peer.closed_at && !silent)
    noticed = rules_.along_ring ? notices_at(rank, offset) : peer.closed_at;
  if (noticed)
    consider(first, std::max(from, *noticed) + loss_delay(peer, rank, offset),
             loss_by(peer, peer.in_flight ? Loss::Kind::reset : Loss::Kind::closed));
  if (network_.any_fault() && network_.link(peer.seat.ip, one.seat.ip).reset)
    consider(first, from + rules_.peer_loss.least, loss_by(peer, Loss::Kind::reset));
  if (cut)
    consider(first, std::max(from, *cuts_[static_cast<std::size_t>(link)]) + tcp_gives_up,
             loss_by(peer, Loss::Kind::tcp_gave_up));
  if (peer.phase == Phase::stepping && peer.plan.world_size != one.plan.world_size) {
    // §3.3: whose buffer is the smaller one aborts, and the other misses it then.
    Loss loss = loss_by(peer, Loss::Kind::other_size);
    loss.sent = ring_segment(peer.plan.bytes, peer.plan.world_size);
    loss.room = ring_segment(one.plan.bytes, one.plan.world_size);
    if (loss.sent > loss.room) consider(first, std::max(from, peer.enter), std::move(loss));
  }
}

// When and how the collective ends for a rank that waits in it, or will.
std::optional<Training::Due> Training::loss_of(int rank) {
  const Member& one = member(rank);
  if (one.phase != Phase::stepping || one.is_stopped || world() < 2) return std::nullopt;
  std::optional<Due> first;
  if (rules_.along_ring) {
    for (const int offset : {-1, 1}) consider_peer(first, rank, neighbour(rank, offset), offset);
  } else {
    for (int other = 0; other < world(); ++other) {
      const int offset = other == neighbour(rank, -1) ? -1 : other == neighbour(rank, 1) ? 1 : 0;
      if (other != rank) consider_peer(first, rank, other, offset);
    }
  }
  const Time late = one.enter + one.plan.timeout + one.late;
  Loss timed_out = loss_by(one, Loss::Kind::timed_out);
  const std::optional<Time> received = first_data_at(rank);
  const std::optional<Time> taken = entered_at(member(neighbour(rank, -1)));
  timed_out.sending = world() > 2 && received && *received <= late && (!taken || *taken > late);
  consider(first, late, std::move(timed_out));
  return first;
}

// Whose doing it is, as far as somebody did something: the neighbour's that the loss names, else
// anybody's whom it is waited for.
void Training::tell_why(int rank, const Loss& loss) const {
  constexpr std::array<std::string_view, 6> how{
      "was closed", "was reset", "brought nothing in time", "was given up", "", ""};
  const Member& own = members_[static_cast<std::size_t>(rank)];
  const Process& process = own.trainee->process();
  const auto is_named = [&](const Member& peer) {
    return peer.seat.ip == loss.peer_ip && peer.seat.port == loss.peer_port;
  };
  for (const bool named : {true, false})
    for (const Member& peer : members_) {
      if (&peer == &own || is_named(peer) != named) continue;
      const bool is_still = peer.closed_at || peer.is_stopped;
      if (!is_still && network_.cause_between(own.seat.ip, peer.seat.ip) == 0) continue;
      return process.connection_broke(peer.seat.ip, is_still ? peer.seat.process : 0,
                                      how[static_cast<std::size_t>(loss.kind)]);
    }
}

void Training::check_losses() {
  const Time now = loop_.now();
  std::vector<std::pair<int, Loss>> due;
  for (int rank = 0; rank < world(); ++rank) {
    std::optional<Due> loss = loss_of(rank);
    if (!loss || loss->time > now) continue;
    loss->loss.sequence = member(rank).collectives + 1;
    loss->loss.ran = now - member(rank).enter;
    due.emplace_back(rank, std::move(loss->loss));
  }
  for (const auto& [rank, loss] : due) {
    Member& one = member(rank);
    if (one.phase != Phase::stepping) continue;
    Trainee& trainee = *one.trainee;
    make_idle(one);
    one.has_lost = true;
    tell_why(rank, loss);
    if (loss.kind == Loss::Kind::timed_out && rules_.closes_at_timeout) close(rank);
    trainee.lost(loss);
  }
}

std::optional<Time> Training::next_event() {
  std::optional<Time> next;
  const auto earlier = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  for (int rank = 0; rank < world(); ++rank) {
    const Member& one = member(rank);
    if (one.phase == Phase::finishing && !one.is_stopped) earlier(one.end);
    if (one.phase != Phase::stepping) continue;
    trouble_ = true;  // somebody waits: whoever is to come may not
    if (const std::optional<Due> loss = loss_of(rank)) earlier(loss->time);
  }
  return next;
}

Trainings::Trainings(Loop& loop, Network& network, const Model& model)
    : loop_(loop), network_(network), model_(model) {
  watch_ = network_.watch_links([this] {
    for (const auto& [id, training] : trainings_) training->links_changed();
  });
}

Trainings::~Trainings() { network_.unwatch_links(watch_); }

Training& Trainings::make(Lane lane, std::vector<Training::Seat> seats, Backend backend) {
  const std::uint64_t id = ++last_;
  auto made =
      std::make_unique<Training>(id, *this, lane, std::move(seats),
                                 row_of(backend).rules(*model_.torch, model_.timing->machine));
  return *trainings_.emplace(id, std::move(made)).first->second;
}

Training* Trainings::find(std::uint64_t id) {
  const auto found = trainings_.find(id);
  return found == trainings_.end() ? nullptr : found->second.get();
}

void Trainings::expect_end(ProcessId process, std::uint64_t id, int rank) {
  second_seats_.emplace(process, Seat{id, rank});
}

void Trainings::process_ended(ProcessId process) {
  const auto [first, last] = second_seats_.equal_range(process);
  const std::vector<std::pair<ProcessId, Seat>> seats(first, last);
  second_seats_.erase(first, last);
  for (const auto& [id, seat] : seats) {
    if (Training* training = find(seat.id)) training->close(seat.rank);
  }
}

void Trainings::swept(std::uint64_t id, Lane lane) {
  const Training* training = find(id);
  if (training != nullptr && training->over())
    loop_.post(lane, [this, id] { trainings_.erase(id); });
}

}  // namespace ddptwin::model
