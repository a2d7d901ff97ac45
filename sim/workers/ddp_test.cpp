#include "ddp.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>

#include "error.hpp"

namespace ddptwin::workers::ddp_test {
namespace {

// A group of one with a log; as rank 1 it is told that rank 0 has sent `heard`, if there is any.
class LoggingGroup final : public Group {
 public:
  explicit LoggingGroup(int rank = 0, int size = 1) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(const std::vector<std::span<float>>& buffers) override {
    for (const auto buffer : buffers)
      log += "allreduce " + std::to_string(buffer.size_bytes()) + "\n";
  }
  void broadcast(std::span<std::byte> bytes) override {
    log += "broadcast " + std::to_string(bytes.size()) + "\n";
    if (on_broadcast) on_broadcast(bytes);
  }
  std::vector<std::byte> all_gather(std::span<const std::byte> bytes) override {
    log += "allgather " + std::to_string(bytes.size()) + "\n";
    return {bytes.begin(), bytes.end()};
  }

  std::string log;
  std::function<void(std::span<std::byte>)> on_broadcast;

 private:
  int rank_;
  int size_;
};

using Shapes = std::vector<std::vector<std::int64_t>>;

class FakeModel final : public Model {
 public:
  explicit FakeModel(const Shapes& shapes) {
    for (const auto& shape : shapes) {
      const auto size =
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies());
      auto& memory = memory_.emplace_back(std::make_unique<std::vector<float>>(size, 3.0F));
      parameters_.push_back(
          {.shape = shape, .value = *memory, .gradient = *memory, .momentum = *memory});
      order_.insert(order_.begin(), order_.size());
    }
  }
  std::vector<Parameter>& parameters() override { return parameters_; }
  float backward(const std::vector<std::int64_t>&) override { return 0; }
  const std::vector<std::size_t>& ready_order() const override { return order_; }
  void step() override {}

 private:
  std::vector<std::unique_ptr<std::vector<float>>> memory_;
  std::vector<Parameter> parameters_;
  std::vector<std::size_t> order_;
};

// spec/ddp-semantics.md §5.1 and §2.2: what each moment costs in collectives.
TEST(DistributedDataParallel, makes_the_collectives_of_pytorch_in_its_order) {
  FakeModel model(Shapes{{1024, 1024}, {64, 1024}, {1024, 256}});
  LoggingGroup group;
  DistributedDataParallel ddp(group, model);
  EXPECT_EQ(group.log, "allgather 8\nbroadcast 96\nbroadcast 5505024\n");

  group.log.clear();
  ddp.prepare_forward();
  ddp.reduce_gradients();
  EXPECT_EQ(group.log, "allreduce 5505024\n") << "the first iteration has a single bucket";

  group.log.clear();
  ddp.prepare_forward();
  ddp.reduce_gradients();
  EXPECT_EQ(group.log, "broadcast 16\nbroadcast 8\nallreduce 1048576\nallreduce 4456448\n");
  EXPECT_EQ(ddp.buckets(), (std::vector<Bucket>{{2}, {1, 0}}));

  group.log.clear();
  ddp.prepare_forward();
  ddp.reduce_gradients();
  EXPECT_EQ(group.log, "allreduce 1048576\nallreduce 4456448\n");
}

TEST(DistributedDataParallel, scales_gradients_before_they_are_summed) {
  FakeModel model(Shapes{{4}, {1}});
  LoggingGroup group(0, 3);
  group.log.clear();
  DistributedDataParallel ddp(group, model);
  ddp.reduce_gradients();  // this group sums nothing
  EXPECT_EQ(model.parameters()[0].gradient[0], 3.0F * static_cast<float>(1.0 / 3));
}

TEST(DistributedDataParallel, takes_the_values_and_the_buckets_of_rank_zero) {
  FakeModel model(Shapes{{2}, {3}});
  LoggingGroup group(1, 1);
  int broadcasts = 0;
  group.on_broadcast = [&](std::span<std::byte> bytes) {
    const auto put = [&](const auto& values) {
      const auto from = std::as_bytes(std::span(values));
      ASSERT_EQ(from.size(), bytes.size());
      std::ranges::copy(from, bytes.begin());
    };
    ++broadcasts;
    if (broadcasts == 2) put(std::vector<float>{1, 2, 3, 4, 5});
    if (broadcasts == 3) put(std::vector<std::int32_t>{0, 1, 2});  // 0 and 1, in 2 buckets
    if (broadcasts == 4) put(std::vector<std::int32_t>{1, 1});
  };
  DistributedDataParallel ddp(group, model);
  EXPECT_EQ(model.parameters()[0].value[1], 2);
  EXPECT_EQ(model.parameters()[1].value[2], 5);
  ddp.reduce_gradients();
  ddp.prepare_forward();
  EXPECT_EQ(ddp.buckets(), (std::vector<Bucket>{{0}, {1}}));
}

TEST(DistributedDataParallel, refuses_other_shapes_than_rank_zeros) {
  FakeModel model(Shapes{{3, 2}});
  LoggingGroup group(2, 1);
  group.on_broadcast = [](std::span<std::byte> bytes) { bytes[0] = std::byte{9}; };
  try {
    DistributedDataParallel ddp(group, model);
    ADD_FAILURE();
  } catch (const PythonError& error) {
    EXPECT_STREQ(
        error.what(),
        "[2]: params[0] in this process with sizes [3, 2] appears not to match sizes of the "
        "same param in process 0.");
  }
}

}  // namespace
}  // namespace ddptwin::workers::ddp_test
