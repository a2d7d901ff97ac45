#include "runtime/model/communicator.hpp"

#include <algorithm>
#include <utility>

#include "runtime/model/kernel.hpp"
#include "runtime/model/nccl_messages.hpp"

namespace ddptwin::model {
namespace {

const NcclProfile& nccl_of(const Process& process) { return *process.model().torch->nccl; }

// NCCL takes a host by a hash of its name; NCCL_HOSTID replaces that (gpu.md §2).
std::string host_of(const Process& process) {
  const std::string_view named = process.env("NCCL_HOSTID");
  return named.empty() ? process.hostname() : std::string(named);
}

}  // namespace

Communicator::~Communicator() {
  for (Joiner* one : joiners_) one->communicator_ = nullptr;
}

void Communicator::publish(ProcessId root) {
  root_ = root;
  for (std::size_t i = 0; i < joiners_.size(); ++i) joiners_[i]->progress();
}

void Communicator::form() {
  std::vector<Joiner*> ranks;
  for (Joiner* one : joiners_) {
    if (one->phase_ != Joiner::Phase::connecting || one->root_ != root_) continue;
    if (one->process_.is_stopped()) return;
    ranks.resize(std::max(ranks.size(), static_cast<std::size_t>(one->place_.rank) + 1));
    ranks[static_cast<std::size_t>(one->place_.rank)] = one;
  }
  if (ranks.empty() || ranks.front() == nullptr) return;
  if (ranks.size() != static_cast<std::size_t>(ranks.front()->place_.world_size)) return;
  if (std::find(ranks.begin(), ranks.end(), nullptr) != ranks.end()) return;

  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (std::size_t k = i + 1; k < ranks.size(); ++k) {
      if (host_of(ranks[i]->process_) != host_of(ranks[k]->process_)) continue;
      if (ranks[i]->place_.card != ranks[k]->place_.card) continue;
      // Source: whose card is nobody else's hears of the end of those two.
      for (Joiner* one : ranks) {
        const NcclProfile& nccl = nccl_of(one->process_);
        const bool is_one = one == ranks[i] || one == ranks[k];
        one->finish(fail(is_one ? duplicate_gpu(nccl, static_cast<int>(i), static_cast<int>(k),
                                                one->place_.bus)
                                : peer_gone_at_start(nccl)),
                    nccl.first_collective.drawn(one->process_.random()));
      }
      return;
    }

  std::vector<Training::Seat> seats;
  for (Joiner* one : ranks) {
    // NCCL listens on a port that the kernel chooses, which only its messages show.
    constexpr std::uint64_t first = 32768, count = 28232;
    const std::uint64_t port = first + one->process_.random().split("nccl port").below(count);
    seats.push_back({one->process_.id(), one->process_.ip(), static_cast<std::uint16_t>(port)});
  }
  Training& made = trainings_.make(ranks.front()->process_.lane(), std::move(seats), Backend::nccl);
  for (Joiner* one : ranks) {
    one->training_ = made.id();
    one->finish(&made, nccl_of(one->process_).first_collective.drawn(one->process_.random()));
  }
}

Joiner::Joiner(Process& process, Communicator& communicator, Place place, Done done)
    : process_(process),
      communicator_(&communicator),
      place_(std::move(place)),
      done_(std::move(done)) {}

Joiner::~Joiner() {
  process_.cancel(limit_);
  if (watch_ != 0) process_.network().unwatch_links(watch_);
  if (communicator_ == nullptr) return;
  std::erase(communicator_->joiners_, this);
  if (training_ == 0 || !done_) return;
  if (Training* training = communicator_->trainings_.find(training_)) training->close(place_.rank);
}

void Joiner::start() {
  watch_ = process_.network().watch_links([this] { progress(); });
  communicator_->joiners_.push_back(this);
  if (place_.rank == 0) return communicator_->publish(process_.id());
  progress();
  if (phase_ != Phase::waits_for_id) return;
  limit_ = process_.after(place_.timeout, [this] {
    limit_ = 0;
    process_.connection_broke(place_.store_ip, 0, "brought nothing in time");
    finish(fail(unique_id_missing(*process_.model().torch, place_.rank, place_.timeout)),
           Duration::zero());
  });
}

bool Joiner::store_is_cut() const {
  const Network& network = process_.network();
  return network.any_fault() && network.link(process_.ip(), place_.store_ip).drop;
}

void Joiner::progress() {
  if (communicator_ == nullptr || process_.is_stopped()) return;
  if (phase_ == Phase::waits_for_id && communicator_->root_ != 0 && !store_is_cut()) {
    process_.cancel(std::exchange(limit_, 0));
    root_ = communicator_->root_;
    phase_ = Phase::connecting;
    if (!process_.is_alive(root_)) {
      // The id of an attempt that is over: nobody listens there any more (source).
      process_.connection_broke(place_.store_ip, root_, "is refused");
      const NcclProfile& nccl = nccl_of(process_);
      return finish(fail(root_refuses(nccl)), nccl.refused);
    }
  }
  if (phase_ == Phase::connecting) communicator_->form();
}

// The id is not there, and never will be.
void Joiner::store_lost() {
  if (phase_ != Phase::waits_for_id) return;
  finish(fail(unique_id_lost(*process_.model().torch, place_.rank)), Duration::zero());
}

void Joiner::finish(Result<Training*> result, Duration after) {
  if (phase_ == Phase::over || phase_ == Phase::connected) return;
  process_.cancel(std::exchange(limit_, 0));
  phase_ = result ? Phase::connected : Phase::over;
  process_.work(after, [this, result = std::move(result)]() mutable {
    Done done = std::exchange(done_, nullptr);
    if (done) done(result);
  });
}

}  // namespace ddptwin::model
