#include "scenario/explore/explorer.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "scenario/explore/points.hpp"
#include "scenario/explore/shrink.hpp"

namespace ddptwin::scenario {
namespace {

constexpr Duration second = std::chrono::seconds(1);
// What a fault may last at most, and the disturbed run be longer (generate.cpp, span()).
constexpr Duration disturbance = std::chrono::minutes(7);
constexpr std::uint64_t world_seed_max = 1U << 31U;  // short to read and to type

// The runs that failed one way.
struct Way {
  std::uint64_t first = 0, last = 0, runs = 0;
  std::size_t place = 0;  // among what failed in the first

  // Runs come in any order.
  void add(std::uint64_t run, std::size_t at) {
    if (run == last) return;
    last = run;
    if (runs++ > 0 && run > first) return;
    first = run;
    place = at;
  }
};

bool fails_with(const Trial& trial, const std::string& what) {
  return std::any_of(trial.failures.begin(), trial.failures.end(),
                     [&](const Failure& failure) { return failure.what == what; });
}

class Explorer {
 public:
  Explorer(const Subject& subject, const ExploreOptions& options, const OnProgress& on_progress)
      : subject_(subject), options_(options), on_progress_(on_progress) {}

  Result<Explored> go() {
    TRY_VOID(look_undisturbed());
    if (found_.findings.empty()) {
      if (options_.exhaustive) points_ = every_point(found_.census, options_.kinds);
      found_.points = points_.size();
      found_.runs = options_.exhaustive ? points_.size() : options_.runs;
      TRY_VOID(run_all());
      TRY_VOID(explain_failures());
    }
    return std::move(found_);
  }

 private:
  // The scenario as it is, for its length and its points; then which of its jobs come to an end.
  Status look_undisturbed() {
    TRY(const Scenario own, subject_.own());
    const Trial natural = try_plan(own, {}, options_.seed);
    found_.census = natural.census;
    Subject::Demand& demand = found_.demand;
    demand.strict = options_.strict;
    demand.own_expectations = options_.own_expectations;
    if (may_time_out()) demand.within = end_after_timeouts;
    demand.due = subject_.jobs();
    TRY(const Scenario demanding, subject_.scenario(demand, {}, options_.seed));
    const Trial quiet = try_plan(demanding, {}, options_.seed);
    std::erase_if(demand.due,
                  [&](const std::string& job) { return fails_with(quiet, Subject::end_of(job)); });
    // Faults are drawn from the lives of the jobs, which may go on when the scenario has seen
    // enough; where one has no end, from all that was simulated.
    const bool all_end = demand.due.size() == subject_.jobs().size();
    found_.undisturbed = all_end ? std::max(natural.lasted, quiet.lasted) : natural.length;
    for (const Failure& failure : quiet.failures)
      if (!Subject::is_end(failure.what))
        found_.findings.push_back({failure, {}, options_.seed, 0, 0, 1, 0, true});
    demand.heal = found_.undisturbed / second * second + second + disturbance;
    demand.heal = std::max(demand.heal, subject_.faults().heal.value_or(Duration::zero()));
    for (const Fault& fault : subject_.faults().faults)  // none may begin after healing
      if (fault.at) demand.heal = std::max(demand.heal, *fault.at + second);
    return {};
  }

  bool may_time_out() const {
    const std::vector<Fault>& own = subject_.faults().faults;
    return std::any_of(options_.kinds.begin(), options_.kinds.end(),
                       [](const FaultRow* row) { return row->kind == FaultKind::api_timeout; }) ||
           std::any_of(own.begin(), own.end(),
                       [](const Fault& fault) { return fault.kind == FaultKind::api_timeout; });
  }

  // Beside the scenario's own faults.
  Trial try_plan(const Scenario& scenario, const FaultPlan& plan, std::uint64_t seed) const {
    return try_faults(scenario, subject_.with_own(plan),
                      {seed, options_.torch, options_.strict, subject_.faults().faults.size()});
  }

  Drawn drawn(std::uint64_t run) const {
    if (!options_.exhaustive)
      return draw_run(options_, run, found_.census, found_.undisturbed, found_.demand.heal);
    return {{{points_[run - 1]}, found_.demand.heal}, options_.seed};
  }

  Status run_all() {
    end_ = found_.runs;
    const unsigned helpers =
        static_cast<unsigned>(std::min<std::uint64_t>(options_.jobs, found_.runs));
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < helpers; ++i) threads.emplace_back([this] { work(false); });
    work(true);
    for (std::thread& thread : threads) thread.join();
    found_.runs_left = found_.runs - done_;
    found_.runs = done_;
    return failed_ ? Status(fail(Error(*failed_))) : Status();
  }

  // Takes runs until none is left. Each thread has its own scenario; what they share is the
  // counter.
  void work(bool reports) {
    const auto scenario = subject_.scenario(found_.demand, {}, options_.seed);
    if (!scenario) {
      const std::lock_guard lock(mutex_);
      failed_ = scenario.error();
      return;
    }
    for (;;) {
      const std::uint64_t run = next_.fetch_add(1) + 1;
      if (run > end_) return;
      const Drawn drawn_run = drawn(run);
      const Trial trial = try_plan(*scenario, drawn_run.plan, drawn_run.world_seed);
      add(run, trial);
      if (reports && on_progress_ && !report()) end_ = 0;
    }
  }

  void add(std::uint64_t run, const Trial& trial) {
    const std::lock_guard lock(mutex_);
    for (std::size_t place = 0; place < trial.failures.size(); ++place)
      ways_[trial.failures[place].what].add(run, place);
    failures_ += trial.failures.empty() ? 0 : 1;
    found_.coverage.merge(trial.coverage);
    found_.cut_short += trial.step_failed ? 1 : 0;
    found_.disturbed += trial.disturbed ? 1 : 0;
    found_.records += trial.records;
    found_.simulated += trial.length;
    ++done_;
  }

  bool report() {
    Coverage coverage;
    Progress progress;
    {
      const std::lock_guard lock(mutex_);
      coverage = found_.coverage;
      progress = {done_, found_.runs, failures_, &coverage};
    }
    return on_progress_(progress);
  }

  // The first run of each way to fail, made small.
  Status explain_failures() {
    TRY(const Scenario scenario, subject_.scenario(found_.demand, {}, options_.seed));
    std::vector<std::pair<std::string, Way>> ways(ways_.begin(), ways_.end());
    std::sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) {
      return std::tie(a.second.first, a.second.place) < std::tie(b.second.first, b.second.place);
    });
    for (const auto& [what, way] : ways)
      found_.findings.push_back(explain_one(scenario, what, way));
    return {};
  }

  Finding explain_one(const Scenario& scenario, const std::string& what, const Way& way) {
    Finding finding;
    finding.run = way.first;
    finding.runs_failed = way.runs;
    const Drawn first = drawn(finding.run);
    finding.world_seed = first.world_seed;
    finding.faults_before = first.plan.faults.size();
    Shrunk shrunk = shrink(
        first.plan,
        [&](const FaultPlan& plan) {
          return fails_with(try_plan(scenario, plan, first.world_seed), what);
        },
        options_.shrink_max);
    finding.tries = shrunk.runs;
    finding.minimal = shrunk.minimal;
    finding.plan = std::move(shrunk.plan);
    for (const Failure& failure : try_plan(scenario, finding.plan, first.world_seed).failures)
      if (failure.what == what) finding.failure = failure;
    return finding;
  }

  const Subject& subject_;
  const ExploreOptions& options_;
  const OnProgress& on_progress_;
  Explored found_{};
  std::vector<Fault> points_{};
  std::atomic<std::uint64_t> next_ = 0, end_ = 0;
  std::mutex mutex_{};                 // of what follows, and of the sums in found_
  std::map<std::string, Way> ways_{};  // by what failed
  std::uint64_t done_ = 0, failures_ = 0;
  std::optional<Error> failed_{};
};

}  // namespace

Drawn draw_run(const ExploreOptions& options, std::uint64_t run, const Census& census,
               Duration undisturbed, Duration heal) {
  const Random random = Random(options.seed).split("explore").split(run);
  PlanBounds bounds;
  bounds.faults_max = options.faults_max;
  bounds.length = undisturbed;
  Drawn drawn;
  drawn.plan = random_plan(random.split("plan"), census, options.kinds, bounds);
  drawn.plan.heal = heal;
  drawn.world_seed = random.split("world").below(world_seed_max);
  return drawn;
}

Result<Explored> explore(const Subject& subject, const ExploreOptions& options,
                         const OnProgress& on_progress) {
  return Explorer(subject, options, on_progress).go();
}

}  // namespace ddptwin::scenario
