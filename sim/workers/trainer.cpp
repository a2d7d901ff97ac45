#include "trainer.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "ddp.hpp"
#include "error.hpp"
#include "faults.hpp"
#include "hash.hpp"
#include "sampler.hpp"

namespace ddptwin::workers {
namespace {

template <class... Values>
void say(const char* format, Values... values) {
  std::printf(format, values...);
  std::fflush(stdout);
}

// Deals out the batches of one rank: epoch by epoch, as a DataLoader over a DistributedSampler.
class Batches {
 public:
  Batches(const Options& options, const RankEnvironment& environment)
      : batch_(options.batch),
        sampler_{.dataset = options.dataset,
                 .world_size = environment.world_size,
                 .rank = environment.rank,
                 .seed = options.seed,
                 .epoch = -1,
                 .shuffle = options.shuffle} {}

  std::vector<std::int64_t> of_step(std::int64_t step) {
    const std::int64_t steps_per_epoch = (samples_per_rank(sampler_) + batch_ - 1) / batch_;
    if (const std::int64_t epoch = step / steps_per_epoch; epoch != sampler_.epoch) {
      sampler_.epoch = epoch;
      indices_ = sample_indices(sampler_);
    }
    const auto first = indices_.begin() + step % steps_per_epoch * batch_;
    const auto left = indices_.end() - first;
    return {first, first + std::min<std::int64_t>(batch_, left)};
  }

 private:
  std::int64_t batch_;
  SamplerOptions sampler_;
  std::vector<std::int64_t> indices_;
};

// Keeps each step at its least duration, measured from its start.
class Pace {
 public:
  explicit Pace(Duration step_time) : step_time_(step_time) {}
  void start() { ::clock_gettime(CLOCK_MONOTONIC, &start_); }
  void wait() const {
    if (step_time_ <= Duration::zero()) return;
    timespec end = start_;
    end.tv_sec += static_cast<time_t>(step_time_.count() / 1000000000);
    end.tv_nsec += static_cast<long>(step_time_.count() % 1000000000);
    if (end.tv_nsec >= 1000000000) ++end.tv_sec, end.tv_nsec -= 1000000000;
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
    }
  }

 private:
  Duration step_time_;
  timespec start_{};
};

// Nothing if no checkpoint is wanted or there is none yet: step 0.
std::int64_t resume(const Options& options, Model& model) {
  if (options.checkpoint.empty()) return 0;
  const std::optional<Checkpoint> found = read_checkpoint(options.checkpoint);
  if (!found) return 0;
  restore_checkpoint(*found, model.parameters());
  say("resumed from step %lld\n", static_cast<long long>(found->step));
  return found->step;
}

void save_if_due(const Options& options, int rank, std::int64_t step, Model& model) {
  const bool due = step % options.checkpoint_every == 0 || step == options.steps;
  if (options.checkpoint.empty() || rank != 0 || !due) return;
  write_checkpoint(options.checkpoint, take_checkpoint(step, model.parameters()));
  say("checkpoint step %lld\n", static_cast<long long>(step));
}

struct Rank {
  std::unique_ptr<Group> group;
  std::unique_ptr<Model> model;
  std::optional<DistributedDataParallel> ddp;
};

void train(const Options& options, const RankEnvironment& environment, Rank& rank) {
  Model& model = *rank.model;
  std::int64_t done = resume(options, model);
  DistributedDataParallel& ddp = rank.ddp.emplace(*rank.group, model);
  Batches batches(options, environment);
  Pace pace(options.step_time);
  while (done < options.steps) {
    pace.start();
    const std::vector<std::int64_t> samples = batches.of_step(done);
    ddp.prepare_forward();
    const float loss = model.backward(samples);
    ddp.reduce_gradients();
    model.step();
    pace.wait();
    ++done;
    say("step %lld/%lld rank %d loss %.4f\n", static_cast<long long>(done),
        static_cast<long long>(options.steps), environment.rank, static_cast<double>(loss));
    save_if_due(options, environment.rank, done, model);
    allocate_if_due(options, environment.rank, done);
    fail_if_due(options, environment.rank, done);
  }
}

void finish(int rank, std::int64_t steps, Model& model) {
  Hash hash;
  for (const Parameter& parameter : model.parameters()) hash.add(parameter.value);
  say("finished rank %d steps %lld parameters %016llx\n", rank, static_cast<long long>(steps),
      static_cast<unsigned long long>(hash.value()));
}

void run(const Options& options, const Engineering& engine, Rank& rank) {
  const RankEnvironment environment = read_environment([](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  });
  // Without it gloo's I/O thread spins away whole time slices when ranks share a core (§7.1).
  const sched_param priority{};
  ::sched_setscheduler(0, SCHED_BATCH, &priority);
  allocate_if_due(options, environment.rank, 0);
  rank.group = engine.join(options, environment);
  say("joined rank %d world_size %d\n", environment.rank, environment.world_size);
  rank.model = engine.build(options, environment);
  train(options, environment, rank);
  finish(environment.rank, options.steps, *rank.model);
}

int fail(const std::string& type, const char* message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", type.c_str(), message);
  return code;
}

}  // namespace

int run_rank(const Options& options, const Engineering& engine) {
  std::signal(SIGPIPE, SIG_IGN);  // as Python does: a dead peer is an exception, not a 141
  auto* rank =
      new Rank;  // never deleted: an exception must not pull memory from under gloo's threads
  try {
    run(options, engine, *rank);
    return 0;
  } catch (const CollectiveError& error) {
    return fail(error.type(), error.what(), options.peer_loss_code);
  } catch (const PythonError& error) {
    return fail(error.type(), error.what(), 1);
  } catch (const std::exception& error) {
    return fail("RuntimeError", error.what(), 1);
  }
}

}  // namespace ddptwin::workers
