// Data-parallel training as a user's document tells it (docs/spec/seed-checklist.md, S1-015 to
// S1-034): four replicas, one batch, gradients of their own, one mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <numeric>
#include <thread>

#include "ddp.hpp"
#include "linear_model.hpp"
#include "sampler.hpp"

namespace ddptwin::workers::replicas_test {
namespace {

constexpr int world = 4;
constexpr std::int64_t batch = 256;
using Values = std::vector<float>;

// What four threads share to be one group.
struct Meeting {
  std::barrier<> all{world};
  std::vector<std::vector<std::span<float>>> buffers{world};
  std::vector<std::vector<std::byte>> bytes{world};
};

class MeetingGroup final : public Group {
 public:
  MeetingGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return world; }
  void all_reduce(const std::vector<std::span<float>>& buffers) override {
    meeting_.buffers[at()] = buffers;
    meeting_.all.arrive_and_wait();
    std::vector<Values> sums;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      Values& sum = sums.emplace_back(buffers[i].size());
      for (const auto& one : meeting_.buffers)
        std::transform(sum.begin(), sum.end(), one[i].begin(), sum.begin(), std::plus());
    }
    meeting_.all.arrive_and_wait();
    for (std::size_t i = 0; i < buffers.size(); ++i)
      std::copy(sums[i].begin(), sums[i].end(), buffers[i].begin());
  }
  void broadcast(std::span<std::byte> bytes) override {
    const std::vector<std::byte> everybodys = all_gather(bytes);
    std::copy_n(everybodys.begin(), bytes.size(), bytes.begin());
  }
  std::vector<std::byte> all_gather(std::span<const std::byte> bytes) override {
    meeting_.bytes[at()].assign(bytes.begin(), bytes.end());
    meeting_.all.arrive_and_wait();
    std::vector<std::byte> joined;
    for (const auto& one : meeting_.bytes) joined.insert(joined.end(), one.begin(), one.end());
    meeting_.all.arrive_and_wait();
    return joined;
  }

 private:
  std::size_t at() const { return static_cast<std::size_t>(rank_); }
  Meeting& meeting_;
  int rank_;
};

// What one replica saw.
struct Replica {
  Values begun{}, ended{};
  std::vector<Values> own{};   // gradients of each step, before they are summed
  std::vector<Values> used{};  // and those that it went along
};

Values joined(Model& model, std::span<float> Parameter::*part) {
  Values all;
  for (const Parameter& parameter : model.parameters())
    all.insert(all.end(), (parameter.*part).begin(), (parameter.*part).end());
  return all;
}

std::vector<std::int64_t> shard(int rank, std::int64_t epoch) {
  return sample_indices({.dataset = batch, .world_size = world, .rank = rank, .epoch = epoch});
}

Replica train(Meeting& meeting, int rank, bool together, std::int64_t seed) {
  Options options;
  options.seed = seed;
  LinearModel model(options);
  MeetingGroup group(meeting, rank);
  DistributedDataParallel ddp(group, model);
  Replica replica;
  replica.begun = joined(model, &Parameter::value);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    if (together) ddp.prepare_forward();
    model.backward(shard(rank, epoch));
    replica.own.push_back(joined(model, &Parameter::gradient));
    if (together) ddp.reduce_gradients();
    replica.used.push_back(joined(model, &Parameter::gradient));
    model.step();
  }
  replica.ended = joined(model, &Parameter::value);
  return replica;
}

std::vector<Replica> train_all(bool together, std::function<std::int64_t(int)> seed) {
  Meeting meeting;
  std::vector<Replica> replicas(world);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      replicas[static_cast<std::size_t>(rank)] = train(meeting, rank, together, seed(rank));
    });
  for (std::thread& one : ranks) one.join();
  return replicas;
}

TEST(Replicas, begin_alike_whatever_each_was_seeded_with) {
  for (const Replica& one : train_all(true, [](int rank) { return 42 + rank; })) {
    Options options;
    options.seed = 42;  // rank 0's
    LinearModel first(options);
    EXPECT_EQ(one.begun, joined(first, &Parameter::value));
  }
}

TEST(Replicas, have_gradients_of_their_own_and_go_along_the_mean_of_all) {
  const auto replicas = train_all(true, [](int) { return 0; });
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < replicas[0].own[step].size(); ++i) {
      float mean = 0;
      for (const Replica& one : replicas) mean += one.own[step][i] / world;
      EXPECT_NEAR(replicas[0].used[step][i], mean, 1e-6F);
    }
    for (std::size_t rank = 1; rank < world; ++rank) {
      EXPECT_NE(replicas[rank].own[step], replicas[0].own[step]);
      EXPECT_EQ(replicas[rank].used[step], replicas[0].used[step]);
    }
  }
}

TEST(Replicas, stay_equal_to_the_last_bit) {
  const auto replicas = train_all(true, [](int) { return 0; });
  EXPECT_NE(replicas[0].ended, replicas[0].begun);
  for (const Replica& one : replicas) EXPECT_EQ(one.ended, replicas[0].ended);
}

TEST(Replicas, drift_apart_where_nobody_sums_their_gradients) {
  const auto replicas = train_all(false, [](int) { return 0; });
  for (std::size_t rank = 1; rank < world; ++rank) {
    EXPECT_EQ(replicas[rank].begun, replicas[0].begun);
    EXPECT_NE(replicas[rank].ended, replicas[0].ended);
  }
}

TEST(Replicas, split_a_batch_of_256_round_robin_and_not_in_blocks) {
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < world; ++rank) {
    const auto mine =
        sample_indices({.dataset = batch, .world_size = world, .rank = rank, .shuffle = false});
    ASSERT_EQ(mine.size(), 64U);
    for (std::size_t i = 0; i < mine.size(); ++i)
      EXPECT_EQ(mine[i], rank + world * static_cast<std::int64_t>(i));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::int64_t> every(batch);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(all, every);
}

// set_epoch(): without it every epoch has the order of the first.
TEST(Replicas, see_another_order_in_each_epoch) {
  EXPECT_NE(shard(0, 0), shard(0, 1));
  EXPECT_EQ(shard(0, 0), shard(0, 0));
}

}  // namespace
}  // namespace ddptwin::workers::replicas_test
