#include "runtime/model/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "runtime/model/communicator.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/model/messages.hpp"

namespace ddptwin::model {
namespace {

constexpr int address_bytes = 136;  // of a sockaddr as gloo 2022 publishes it (§3.3)

std::uint32_t number_of(std::string_view ip) {
  std::uint32_t number = 0;
  for (int part = 0; part < 4; ++part) {
    number = number << 8U | static_cast<std::uint32_t>(take_number<int>(ip).value_or(0));
    ip.remove_prefix(std::min<std::size_t>(1, ip.size()));
  }
  return number;
}

bool is_own_loopback(std::string_view ip) { return ip.starts_with("127."); }

// Gloo listens on, and tells its peers, the address of the interface that it is told to take
// (§2.4); of those that a pod has one is the loopback, which each pod has for itself.
std::string gloo_address(const Process& process) {
  const std::string_view interfaces = process.env("GLOO_SOCKET_IFNAME");
  return interfaces.substr(0, interfaces.find(',')) == "lo" ? "127.0.0.1" : process.ip();
}

}  // namespace

Mesh::~Mesh() {
  for (Attendee* one : attendees_) one->mesh_ = nullptr;
}

Mesh::Entry* Mesh::entry(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return index < entries_.size() && entries_[index].process != 0 ? &entries_[index] : nullptr;
}

bool Mesh::has_name(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return index < names_.size() && names_[index];
}

// Gloo listens on a port that the kernel chooses, whose order decides who of one address dials
// (§9.5). Nobody but ranks asks for these.
std::uint16_t Mesh::free_port(const Process& process) const {
  constexpr std::uint16_t first = 32768;
  constexpr std::uint64_t count = 28232;
  Random random = process.random().split("gloo port");
  const auto is_taken = [&](std::uint16_t port) {
    const auto has_it = [&](const std::string& ip, std::uint16_t its) {
      return its == port && (ip == process.ip() || is_own_loopback(ip));
    };
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& one) { return has_it(one.ip, one.port); }) ||
           std::any_of(attendees_.begin(), attendees_.end(),
                       [&](const Attendee* one) { return has_it(one->process_.ip(), one->port_); });
  };
  for (;;) {
    const auto port = static_cast<std::uint16_t>(first + random.below(count));
    if (!is_taken(port)) return port;
  }
}

void Mesh::arrive(Attendee& attendee) {
  attendees_.push_back(&attendee);
  const auto index = static_cast<std::size_t>(attendee.place_.rank);
  if (names_.size() <= index) names_.resize(index + 1);
  names_[index] = true;
}

void Mesh::publish(Attendee& attendee) {
  const auto index = static_cast<std::size_t>(attendee.place_.rank);
  if (entries_.size() <= index) entries_.resize(index + 1);
  entries_[index] = {attendee.process_.id(),    &attendee,        attendee.ip_,
                     attendee.process_.ip(),    attendee.number_, attendee.port_,
                     attendee.place_.world_size};
}

void Mesh::leave(Attendee& attendee) {
  std::erase(attendees_, &attendee);
  Entry* own = entry(attendee.place_.rank);
  if (own == nullptr || own->process != attendee.process_.id()) return;
  own->attendee = nullptr;
  Training* training = trainings_.find(forming_);
  const int rank = attendee.place_.rank;
  if (training == nullptr || !training->expects(rank, attendee.process_.id())) return;
  // A peer has joined already; that this one never does is known when its sockets close.
  if (attendee.process_.alive())
    trainings_.expect_end(attendee.process_.id(), forming_, rank);
  else
    training->close(rank);
}

// Nobody leaves by it: what ends a meeting is told later.
void Mesh::wake(int rank) {
  for (std::size_t i = 0; i < attendees_.size(); ++i) {
    if (attendees_[i]->next_ == rank) attendees_[i]->progress();
  }
}

Training& Mesh::training_for(const Attendee& attendee) {
  const auto size = static_cast<std::size_t>(attendee.place_.world_size);
  Training* forming = trainings_.find(forming_);
  if (forming != nullptr && forming->expects(attendee.place_.rank, attendee.process_.id()))
    return *forming;
  std::vector<Training::Seat> seats(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    if (rank >= entries_.size()) continue;
    const Entry& from = entries_[rank];
    seats[rank] = {from.process, from.ip, from.port, !attendee.process_.is_alive(from.process)};
  }
  Training& made = trainings_.make(attendee.process_.lane(), std::move(seats), Backend::gloo);
  forming_ = made.id();
  for (std::size_t rank = 0; rank < std::min(size, entries_.size()); ++rank) {
    const Entry& from = entries_[rank];
    if (from.attendee == nullptr && attendee.process_.is_alive(from.process))
      trainings_.expect_end(from.process, made.id(), static_cast<int>(rank));
  }
  return made;
}

GroupStore::GroupStore(Trainings& trainings) : trainings_(trainings) {}
GroupStore::~GroupStore() = default;

Communicator& GroupStore::communicator(const std::string& prefix) {
  std::unique_ptr<Communicator>& found = communicators_[prefix];
  if (!found) found = std::make_unique<Communicator>(trainings_);
  return *found;
}

Mesh& GroupStore::mesh(const std::string& prefix) {
  std::unique_ptr<Mesh>& found = meshes_[prefix];
  if (!found) found = std::make_unique<Mesh>(trainings_);
  return *found;
}

Attendee::Attendee(Process& process, Mesh& mesh, Place place, Done done)
    : process_(process),
      mesh_(&mesh),
      place_(std::move(place)),
      done_(std::move(done)),
      ip_(gloo_address(process)),
      port_(mesh.free_port(process)),
      number_(number_of(ip_)) {}

Attendee::~Attendee() {
  process_.cancel(limit_);
  if (watch_ != 0) process_.network().unwatch_links(watch_);
  if (mesh_ != nullptr) mesh_->leave(*this);
}

void Attendee::start() {
  const int world = place_.world_size;
  if (world < 1 || place_.rank >= world || place_.rank < 0) {
    return finish(fail(rank_outside(*process_.model().torch, place_.rank, world)));
  }
  dialled_by_.resize(static_cast<std::size_t>(world));
  watch_ = process_.network().watch_links([this] { progress(); });
  mesh_->arrive(*this);
  const bool names = process_.model().torch->names_first;
  read_.resize(static_cast<std::size_t>(world));
  if (!names) publish();
  progress();
  if (names && mesh_ != nullptr) mesh_->wake(place_.rank);
}

void Attendee::publish() {
  go_on_to(process_.model().torch->names_first ? Phase::pairs : Phase::keys);
  mesh_->publish(*this);
  published_ = true;
}

void Attendee::go_on_to(Phase phase) {
  phase_ = phase;
  next_ = 0;
}

// To dial lets the other side go on, which may dial this one.
void Attendee::progress() {
  again_ = true;
  if (progressing_ || process_.is_stopped() || mesh_ == nullptr) return;
  progressing_ = true;
  while (std::exchange(again_, false)) {
    while (phase_ != Phase::over && step() == Next::go_on) {
    }
  }
  progressing_ = false;
  if (std::exchange(published_, false)) mesh_->wake(place_.rank);
}

Attendee::Next Attendee::step() {
  const bool names = phase_ == Phase::names;
  if (next_ < (names ? place_.rank : place_.world_size)) {
    const bool own = next_ == place_.rank;
    const Next outcome = own                     ? Next::go_on
                         : names                 ? read_name(next_)
                         : phase_ == Phase::keys ? read_key(next_)
                                                 : pair_with(next_);
    if (outcome != Next::go_on) return outcome;
    process_.cancel(std::exchange(limit_, 0));
    ++next_;
    return Next::go_on;
  }
  if (names) {
    publish();
    return Next::go_on;
  }
  if (phase_ == Phase::keys) {
    go_on_to(Phase::pairs);
    return Next::go_on;
  }
  phase_ = Phase::over;
  const TorchProfile& torch = *process_.model().torch;
  const Duration mesh = torch.mesh_per_rank.on(process_.model().timing->machine);
  limit_ = process_.work(place_.world_size > 1 ? mesh * place_.world_size : Duration::zero(),
                         [this] { connected(); });
  return Next::wait;
}

// gloo 2022 counts who is on its host among the ranks before it.
Attendee::Next Attendee::read_name(int rank) {
  if (mesh_->has_name(rank) && !store_is_cut()) return Next::go_on;
  return wait_for(place_.timeout, rank, true);
}

bool Attendee::store_is_cut() const {
  const Network& network = process_.network();
  return network.any_fault() && network.link(process_.ip(), place_.store_ip).drop;
}

// What the peer has published last, which may be an attempt that is over (§9.5).
Attendee::Next Attendee::read_key(int rank) {
  const Mesh::Entry* published = mesh_->entry(rank);
  if (published == nullptr || store_is_cut()) return wait_for(place_.timeout, rank, true);
  if (waiting_for_key_) {
    waiting_for_key_ = false;
    process_.cancel(std::exchange(limit_, 0));
  }
  read_[static_cast<std::size_t>(rank)] = *published;
  return Next::go_on;
}

Attendee::Next Attendee::pair_with(int rank) {
  const TorchProfile& torch = *process_.model().torch;
  if (torch.names_first)
    if (const Next read = read_key(rank); read != Next::go_on) return read;
  const Mesh::Entry* peer = &read_[static_cast<std::size_t>(rank)];
  if (torch.checks_address_size && peer->world_size != place_.world_size) {
    // A rank shows one address for each of its peers, and the reader divides by the number of its
    // own.
    const int others = std::max(1, place_.world_size - 1);
    finish(fail(address_size(address_bytes, address_bytes * (peer->world_size - 1) / others)));
    return Next::failed;
  }
  peer_ip_ = peer->ip;
  peer_port_ = peer->port;
  const bool dials = std::pair(number_, port_) > std::pair(peer->number, peer->port);
  if (dials) return dial(*peer, rank);
  if (dialled_by_[static_cast<std::size_t>(rank)]) return Next::go_on;
  return wait_for(torch.pair_timeouts * place_.timeout, rank, false);
}

Attendee::Next Attendee::dial(const Mesh::Entry& peer, int rank) {
  const Network& network = process_.network();
  const TorchProfile& torch = *process_.model().torch;
  const LinkFault fault = network.link(process_.ip(), peer.ip);
  if (fault.drop) {
    return wait_for(torch.pair_timeouts * place_.timeout, rank, false);
  }
  // It may have gone, or gone on, since its address was read.
  const Mesh::Entry* now = mesh_->entry(rank);
  Attendee* attendee = now != nullptr && now->process == peer.process ? now->attendee : nullptr;
  // On another pod's loopback it listens for others.
  const bool reached = !is_own_loopback(peer.ip) || peer.pod_ip == process_.ip();
  const bool listens =
      reached && process_.is_alive(peer.process) && (attendee != nullptr || torch.keeps_listening);
  if (!listens || fault.reset || network.link(peer.ip, process_.ip()).reset) {
    process_.connection_broke(peer.ip, listens || !reached ? 0 : peer.process, "is refused");
    finish(fail(pair_refused(torch, peer.ip, peer.port)));
    return Next::failed;
  }
  if (attendee != nullptr && place_.rank < attendee->place_.world_size) {
    attendee->dialled_by_[static_cast<std::size_t>(place_.rank)] = true;
    attendee->progress();
  }
  return Next::go_on;
}

Attendee::Next Attendee::wait_for(Duration limit, int rank, bool key) {
  waiting_for_key_ = key;
  if (limit_ == 0) {
    limit_ = process_.after(limit, [this, rank, key] {
      limit_ = 0;
      gave_up(rank, key);
    });
  }
  return Next::wait;
}

bool Attendee::needs_store() const {
  return phase_ != Phase::pairs || waiting_for_key_ || limit_ == 0;
}

void Attendee::gave_up(int rank, bool key) {
  const TorchProfile& torch = *process_.model().torch;
  if (key) process_.connection_broke(place_.store_ip, 0, "brought nothing in time");
  if (key) return finish(fail(key_missing(torch, place_.timeout, address_key(rank))));
  process_.connection_broke(peer_ip_, 0, "is not answered");
  finish(fail(pair_timed_out(torch, peer_ip_, peer_port_)));
}

void Attendee::connected() {
  limit_ = 0;
  if (mesh_ == nullptr) return;  // whoever waits for the meeting hears of the store
  if (!process_.model().torch->store_barrier) return finish(&mesh_->training_for(*this));
  mesh_->training_for(*this);  // who ends from now on is missed by the others
  ++mesh_->barrier_;
  wait_at_barrier(process_.now());
}

void Attendee::wait_at_barrier(Time since) {
  if (mesh_ == nullptr) return;
  if (mesh_->barrier_ >= place_.world_size) return finish(&mesh_->training_for(*this));
  if (process_.now() - since > place_.timeout) {
    return finish(fail(barrier_timed_out(place_.rank, place_.world_size, mesh_->barrier_)));
  }
  limit_ = process_.after(process_.model().torch->barrier_poll, [this, since] {
    limit_ = 0;
    wait_at_barrier(since);
  });
}

void Attendee::finish(Result<Training*> result) {
  if (!done_) return;
  process_.cancel(std::exchange(limit_, 0));
  phase_ = Phase::over;
  Done done = std::exchange(done_, nullptr);
  // Not now: somebody else's progress may have led here.
  process_.after(Duration::zero(),
                 [done = std::move(done), result = std::move(result)]() mutable { done(result); });
}

}  // namespace ddptwin::model
