// Virtual time against the clock: lifetimes of a job, a world's start and end, and the same loop
// with nothing to do (issue 7, point 9). Figures: docs/performance.md.
#include <benchmark/benchmark.h>

#include "training_world.hpp"

namespace ddptwin::bench {
namespace {

// 1 master and 3 workers, 20 steps, one SIGKILL and the restart after it, from create to Succeeded
// and cleaned up; each in a world of its own.
void lifetime(benchmark::State& state) {
  const auto order = state.range(0) == 0 ? VirtualLoop::Order::fifo : VirtualLoop::Order::fair;
  const auto job = job_of({});
  std::uint64_t seed = 0, writes = 0, steps = 0;
  for (auto _ : state) {
    TrainingWorld training({.seed = ++seed, .order = order});
    training.create(job);
    training.kill_after("job-worker-1", 20s);
    if (!training.run_until_cleaned_up(1) || training.restarts() < 1) {
      state.SkipWithError("the job did not come to its end");
      break;
    }
    writes += training.writes();
    steps += training.loop().steps();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["lifetimes/s"] = benchmark::Counter(runs, benchmark::Counter::kIsRate);
  state.counters["writes"] = static_cast<double>(writes) / runs;
  state.counters["events"] = static_cast<double>(steps) / runs;
}
BENCHMARK(lifetime)->ArgName("fair")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// The whole of a cluster with one node, and its end.
void world_start_end(benchmark::State& state) {
  for (auto _ : state) {
    TrainingWorld training({});
    benchmark::DoNotOptimize(training.loop().steps());
  }
}
BENCHMARK(world_start_end)->Unit(benchmark::kMicrosecond);

// The same, with the second until it has nothing to do.
void world_start_settle_end(benchmark::State& state) {
  for (auto _ : state) {
    TrainingWorld training({});
    training.loop().run_until(training.loop().now() + 1s);
  }
}
BENCHMARK(world_start_settle_end)->Unit(benchmark::kMicrosecond);

// The ceiling: the same loop, `pending` timers that each ask for the next and do nothing else.
void loop_alone(benchmark::State& state) {
  VirtualLoop loop(Random(1), Time(), VirtualLoop::Order::fifo);
  Random random(2);
  struct Ticker {
    VirtualLoop& loop;
    Random& random;
    Lane lane;
    Timer timer{};
    void next() {
      timer = loop.after(lane, Duration(1 + static_cast<std::int64_t>(random.below(1000))),
                         [this] { next(); });
    }
  };
  std::vector<std::unique_ptr<Ticker>> tickers;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    tickers.push_back(std::make_unique<Ticker>(Ticker{loop, random, loop.new_lane()}));
    tickers.back()->next();
  }
  for (auto _ : state) loop.step();
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(loop_alone)->ArgName("pending")->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace ddptwin::bench

BENCHMARK_MAIN();
