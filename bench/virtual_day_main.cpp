// How much virtual time passes in a second while one big job trains (issue 7, point 9).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "training_world.hpp"

int main(int argc, char** argv) {
  using namespace ddptwin;
  int pods = 1000, hours = 24;
  CLI::App app{"One job that trains for a virtual day."};
  app.add_option("--pods", pods, "Pods of the job, one GPU each")->capture_default_str();
  app.add_option("--hours", hours, "Of training")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto start = std::chrono::steady_clock::now();
  bench::TrainingWorld training({.nodes = (pods + 7) / 8, .order = VirtualLoop::Order::fifo});
  training.create(bench::job_of({.workers = pods - 1, .steps = hours * 3600}));
  const Time began = training.loop().now();
  const bool done = training.run_until_cleaned_up(1);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double passed = seconds_of(training.loop().now() - began);
  fmt::print("{} pods for {} h: {}\n", pods, hours, done ? "Succeeded and gone" : "NOT DONE");
  fmt::print("  {:.2f} s, {:.0f} s of virtual time in each, {} events\n", took, passed / took,
             training.loop().steps());
  return done ? 0 : 1;
}
