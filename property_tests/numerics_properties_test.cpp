// The arithmetic of the worker: ranks that train together have the same parameters after each step,
// those of one process that sees all samples, and lose nothing by a kill and a resume
// (spec/ddp-semantics.md §2.3, §5). Ranks are threads here; their group is a ring without a
// network.
#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <ostream>
#include <span>
#include <thread>

#include "property.hpp"
#include "workers/checkpoint.hpp"
#include "workers/ddp.hpp"
#include "workers/error.hpp"
#include "workers/linear_model.hpp"
#include "workers/sampler.hpp"

namespace ddptwin::property::numerics_properties_test {
namespace {

namespace w = workers;

constexpr std::size_t segment_max = 1 << 20;  // bytes

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }
std::size_t divide_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// Gloo's ring all-reduce: chunk k begins at rank k-1 and goes down round the ring (§2.3).
std::vector<float> ring_sum(const std::vector<std::vector<float>>& of_rank) {
  const std::size_t ranks = of_rank.size(), size = of_rank.front().size();
  const std::size_t bytes = size * sizeof(float);
  const std::size_t segments = round_up(std::max(divide_up(bytes, segment_max), 2 * ranks), ranks);
  const std::size_t chunk =
      segments / ranks * round_up(divide_up(bytes, segments), sizeof(float)) / sizeof(float);
  std::vector<float> sum(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t k = i / chunk;
    float value = of_rank[(k + ranks - 1) % ranks][i];
    for (std::size_t hop = 2; hop <= ranks; ++hop)
      value = of_rank[(k + 2 * ranks - hop) % ranks][i] + value;
    sum[i] = value;
  }
  return sum;
}

// Where ranks wait for each other: each brings its bytes and goes on when all have come. A rank
// that leaves breaks it, and all others with it.
class Meeting {
 public:
  explicit Meeting(std::size_t ranks) : brought_(ranks) {}

  std::vector<std::vector<std::byte>> exchange(std::size_t rank, std::span<const std::byte> bytes) {
    std::unique_lock lock(mutex_);
    if (broken_) throw broken();
    brought_[rank].assign(bytes.begin(), bytes.end());
    const std::uint64_t turn = turn_;
    if (++arrived_ == brought_.size()) {
      arrived_ = 0;
      ++turn_;
      shown_ = brought_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return turn_ != turn || broken_; });
    if (turn_ == turn) throw broken();
    return shown_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    all_here_.notify_all();
  }

 private:
  static w::CollectiveError broken() { return {"RuntimeError", "Connection closed by peer"}; }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<std::vector<std::byte>> brought_;
  std::vector<std::vector<std::byte>> shown_{};
  std::size_t arrived_ = 0;
  std::uint64_t turn_ = 0;
  bool broken_ = false;
};

class RingGroup final : public w::Group {
 public:
  RingGroup(Meeting& meeting, int rank, int size) : meeting_(meeting), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(const std::vector<std::span<float>>& buffers) override {
    for (const std::span<float> buffer : buffers) {
      std::vector<std::vector<float>> values;
      for (const auto& bytes : meet(std::as_bytes(buffer))) {
        auto& one = values.emplace_back(bytes.size() / sizeof(float));
        std::memcpy(one.data(), bytes.data(), bytes.size());
      }
      std::ranges::copy(ring_sum(values), buffer.begin());
    }
  }
  void broadcast(std::span<std::byte> bytes) override {
    std::ranges::copy(meet(bytes).front(), bytes.begin());
  }
  std::vector<std::byte> all_gather(std::span<const std::byte> bytes) override {
    std::vector<std::byte> all;
    for (const auto& one : meet(bytes)) all.insert(all.end(), one.begin(), one.end());
    return all;
  }

 private:
  std::vector<std::vector<std::byte>> meet(std::span<const std::byte> bytes) {
    return meeting_.exchange(static_cast<std::size_t>(rank_), bytes);
  }

  Meeting& meeting_;
  int rank_, size_;
};

struct Training {
  int ranks = 2;
  int batch = 4;       // samples a rank and step
  int steps = 6;       // of the whole training
  int save_every = 2;  // steps
  int seed = 0;
  bool shuffle = true;
  int killed_rank = 0;
  int killed_after = 3;  // steps
};

void showValue(const Training& t, std::ostream& out) {
  out << t.ranks << " ranks, " << t.steps << " steps of " << t.batch << " samples, saved every "
      << t.save_every << ", seed " << t.seed << (t.shuffle ? "" : ", not shuffled") << "; rank "
      << t.killed_rank << " is killed after step " << t.killed_after;
}

rc::Gen<Training> any_training() {
  return gen::resize(rc::kNominalSize, gen::exec([] {
                       Training t;
                       t.ranks = *gen::inRange(2, 5);
                       t.batch = *gen::inRange(1, 6);
                       t.steps = *gen::inRange(1, 9);
                       t.save_every = *gen::inRange(1, 4);
                       t.seed = *gen::inRange(0, 1000);
                       t.shuffle = *gen::arbitrary<bool>();
                       t.killed_rank = *gen::inRange(0, t.ranks);
                       t.killed_after = *gen::inRange(0, t.steps);
                       return t;
                     }));
}

w::Options options_of(const Training& t) {
  w::Options options;
  options.seed = t.seed;
  options.batch = t.batch;
  return options;
}

// Every rank has as many samples in every step: then the mean of means is the mean of all.
std::int64_t dataset_of(const Training& t) { return t.ranks * t.batch * 3; }

std::vector<std::int64_t> samples_of(const Training& t, int rank, std::int64_t step) {
  const std::int64_t steps_per_epoch = 3;
  const auto all = w::sample_indices({.dataset = dataset_of(t),
                                      .world_size = t.ranks,
                                      .rank = rank,
                                      .seed = t.seed,
                                      .epoch = step / steps_per_epoch,
                                      .shuffle = t.shuffle});
  const auto first = all.begin() + step % steps_per_epoch * t.batch;
  return {first, first + t.batch};
}

std::vector<float> values_of(w::Model& model) {
  std::vector<float> all;
  for (const w::Parameter& parameter : model.parameters())
    all.insert(all.end(), parameter.value.begin(), parameter.value.end());
  return all;
}

// What is left of one attempt: after each step the parameters of each rank, and the last file.
struct Attempt {
  std::vector<std::vector<std::vector<float>>> parameters{};  // by rank, then by step done
  std::optional<w::Checkpoint> saved{};
  int ended_by_a_peer = 0;
};

// All ranks from that state on; `killed`: one of them leaves where the training says.
Attempt train(const Training& t, const std::optional<w::Checkpoint>& from, bool killed) {
  Attempt attempt;
  attempt.parameters.resize(static_cast<std::size_t>(t.ranks));
  attempt.saved = from;
  Meeting meeting(attempt.parameters.size());
  std::mutex counting;
  const auto run_rank = [&](int rank) {
    RingGroup group(meeting, rank, t.ranks);
    w::LinearModel model(options_of(t));
    std::int64_t done = 0;
    if (from) {
      w::restore_checkpoint(*from, model.parameters());
      done = from->step;
    }
    try {
      w::DistributedDataParallel ddp(group, model);
      while (done < t.steps) {
        if (killed && rank == t.killed_rank && done == t.killed_after) return meeting.leave();
        ddp.prepare_forward();
        model.backward(samples_of(t, rank, done));
        ddp.reduce_gradients();
        model.step();
        ++done;
        attempt.parameters[static_cast<std::size_t>(rank)].push_back(values_of(model));
        if (rank == 0 && done % t.save_every == 0)
          attempt.saved = w::take_checkpoint(done, model.parameters());
      }
    } catch (const w::CollectiveError&) {
      const std::lock_guard lock(counting);
      ++attempt.ended_by_a_peer;
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < t.ranks; ++rank) threads.emplace_back(run_rank, rank);
  for (std::thread& thread : threads) thread.join();
  return attempt;
}

// One process that sees the samples of all ranks.
std::vector<float> train_alone(const Training& t) {
  w::LinearModel model(options_of(t));
  for (std::int64_t step = 0; step < t.steps; ++step) {
    std::vector<std::int64_t> samples;
    for (int rank = 0; rank < t.ranks; ++rank)
      for (const std::int64_t sample : samples_of(t, rank, step)) samples.push_back(sample);
    model.backward(samples);
    model.step();
  }
  return values_of(model);
}

// 1e-4 of the greatest: spec/ddp-semantics.md §8.2.
bool are_near(const std::vector<float>& a, const std::vector<float>& b) {
  float greatest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    greatest = std::max(greatest, std::abs(b[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return a.size() == b.size() && apart <= 1e-4F * greatest;
}

TEST(NumericsProperties, RanksAgreeToTheBitAfterEachStepAndWithOneProcess) {
  holds([] {
    const Training t = *any_training().as("training");
    const Attempt together = train(t, std::nullopt, false);
    for (const auto& steps : together.parameters) {
      RC_ASSERT(static_cast<int>(steps.size()) == t.steps);
      RC_ASSERT(steps == together.parameters.front());
    }
    RC_ASSERT(are_near(together.parameters.front().back(), train_alone(t)));
  });
}

TEST(NumericsProperties, AKillAndAResumeLoseNothing) {
  holds([] {
    const Training t = *any_training().as("training");
    const Attempt whole = train(t, std::nullopt, false);
    const Attempt broken = train(t, std::nullopt, true);
    // Whoever was left is told, and nobody has made a step that not all have made.
    RC_ASSERT(broken.ended_by_a_peer == t.ranks - 1);
    for (const auto& steps : broken.parameters) {
      RC_ASSERT(static_cast<int>(steps.size()) == t.killed_after);
      RC_ASSERT(std::equal(steps.begin(), steps.end(), whole.parameters.front().begin()));
    }
    const int kept = t.killed_after / t.save_every * t.save_every;
    RC_ASSERT((broken.saved ? broken.saved->step : 0) == kept);
    const Attempt resumed = train(t, broken.saved, false);
    for (const auto& steps : resumed.parameters) {
      RC_ASSERT(static_cast<int>(steps.size()) == t.steps - kept);
      RC_ASSERT(steps == resumed.parameters.front());
    }
    const auto& end = resumed.parameters.front().back();
    const auto& wanted = whole.parameters.front().back();
    // The buckets of a resumed run begin anew, and with them the order of a sum; of two it is none.
    RC_ASSERT((t.ranks == 2 ? end == wanted : are_near(end, wanted)));
  });
}

TEST(NumericsProperties, EverySampleIsSeenOnceAnEpoch) {
  holds([] {
    w::SamplerOptions options;
    options.dataset = *gen::inRange(1, 60);
    options.world_size = *gen::inRange(1, 6);
    options.seed = *gen::inRange(0, 1000);
    options.epoch = *gen::inRange(0, 5);
    options.shuffle = *gen::arbitrary<bool>();
    std::vector<int> seen(static_cast<std::size_t>(options.dataset));
    std::size_t all = 0;
    for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
      const auto mine = w::sample_indices(options);
      RC_ASSERT(static_cast<std::int64_t>(mine.size()) == w::samples_per_rank(options));
      for (const std::int64_t sample : mine) ++seen[static_cast<std::size_t>(sample)];
      all += mine.size();
    }
    // Those that fill the last round up come from the front once more, as often as it takes.
    const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
    RC_ASSERT(*least >= 1);
    RC_ASSERT(*most - *least <= 1);
    RC_ASSERT(all - seen.size() < static_cast<std::size_t>(options.world_size));
  });
}

}  // namespace
}  // namespace ddptwin::property::numerics_properties_test
