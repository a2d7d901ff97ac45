// Many jobs on a big cluster, each pod through its whole life (issue 7, point 9). Prints what it
// took; --against compares the cost of a pod with that in a smaller run.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "training_world.hpp"

namespace ddptwin::bench {
namespace {

struct Scale {
  int jobs = 1000, pods = 100, nodes = 12'500, steps = 20, kills = 100;
  std::uint64_t seed = 1;
  bool fair = false;
  // Nobody waits for his turn, so that all pods live at the same time; and finished pods wait for
  // their jobs: see ControlPlaneFlags.
  ControlPlaneFlags flags{.kube_api_qps = -1, .terminated_pod_gc_threshold = 0};
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

rusage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

// Of the processor, on which a busy machine's other work does not count.
double processor_seconds() {
  const rusage used = usage();
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

double peak_gib() { return static_cast<double>(usage().ru_maxrss) / (1024.0 * 1024.0); }

// Seconds of the processor a pod; nothing where a job did not come to its end or an invariant did
// not hold.
std::optional<double> run(const Scale& scale) {
  const auto start = std::chrono::steady_clock::now();
  const double used_before = processor_seconds();
  TrainingWorld training({.nodes = scale.nodes,
                          .seed = scale.seed,
                          .order = scale.fair ? VirtualLoop::Order::fair : VirtualLoop::Order::fifo,
                          .flags = scale.flags});
  const double nodes = processor_seconds() - used_before;
  for (int i = 0; i < scale.jobs; ++i)
    training.create(job_of(
        {.name = fmt::format("job-{}", i), .workers = scale.pods - 1, .steps = scale.steps}));
  Random random = Random(scale.seed).split("kills");
  for (int i = 0; i < scale.kills; ++i) {
    const auto job = random.below(static_cast<std::uint64_t>(scale.jobs));
    const auto pod = random.below(static_cast<std::uint64_t>(scale.pods));
    training.kill_once_running(pod == 0 ? fmt::format("job-{}-master-0", job)
                                        : fmt::format("job-{}-worker-{}", job, pod - 1),
                               Duration(random.below(10) * 1'000'000'000));
  }
  const Time began = training.loop().now();
  const bool done = training.run_until_cleaned_up(scale.jobs);
  const double all = processor_seconds() - used_before;
  const double pods = static_cast<double>(training.pods_made());
  fmt::print(
      "{} jobs of {} pods on {} nodes: {}\n"
      "  {:.2f} s of the processor ({:.2f} s of it for the nodes), {:.2f} s by the clock\n"
      "  {:.1f} us a pod, {:.2f} GiB at most\n"
      "  {} pods, {} restarts, {} writes, {} events ({:.2f} M/s), {:.0f} s of virtual time\n",
      scale.jobs, scale.pods, scale.nodes, done ? "all Succeeded and gone" : "NOT DONE", all, nodes,
      seconds_since(start), all * 1e6 / pods, peak_gib(), training.pods_made(), training.restarts(),
      training.writes(), training.loop().steps(),
      static_cast<double>(training.loop().steps()) / all / 1e6,
      seconds_of(training.loop().now() - began));
  for (const std::string& violation : training.violations()) fmt::print("  {}\n", violation);
  return done ? std::optional(all / pods) : std::nullopt;
}

}  // namespace
}  // namespace ddptwin::bench

int main(int argc, char** argv) {
  using namespace ddptwin::bench;
  Scale scale;
  int against = 0;
  CLI::App app{"Many jobs on a big cluster in virtual time."};
  app.add_option("--jobs", scale.jobs, "PyTorchJobs")->capture_default_str();
  app.add_option("--pods", scale.pods, "Pods of each")->capture_default_str();
  app.add_option("--nodes", scale.nodes, "Nodes of 8 GPUs")->capture_default_str();
  app.add_option("--steps", scale.steps, "Steps of a second each")->capture_default_str();
  app.add_option("--kills", scale.kills, "Random SIGKILLs")->capture_default_str();
  app.add_option("--seed", scale.seed, "Of all chance")->capture_default_str();
  app.add_option("--kube-api-qps", scale.flags.kube_api_qps, "Of each controller; -1: not limited")
      ->capture_default_str();
  app.add_option("--kube-api-burst", scale.flags.kube_api_burst, "Of each controller")
      ->capture_default_str();
  app.add_option("--terminated-pod-gc-threshold", scale.flags.terminated_pod_gc_threshold,
                 "Of the pod garbage collector; 0: none")
      ->capture_default_str();
  app.add_flag("--fair", scale.fair, "The seed chooses between lanes that are ready");
  app.add_option("--against", against, "Jobs of a smaller run, made first, to compare with");
  CLI11_PARSE(app, argc, argv);
  std::optional<double> small;
  if (against > 0) {
    Scale smaller = scale;
    smaller.jobs = against;
    smaller.nodes = std::max(1, scale.nodes * against / scale.jobs);
    small = run(smaller);
    if (!small) return 1;
  }
  const std::optional<double> large = run(scale);
  if (!large) return 1;
  if (small)
    fmt::print("a pod costs {:.2f} times what it costs in the smaller run\n", *large / *small);
  return 0;
}
