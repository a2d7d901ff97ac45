#include "scenario/run.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "core/real_loop.hpp"
#include "objects/codec.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/report/reports.hpp"
#include "scenario/run/end_signals.hpp"
#include "scenario/run/exec_door.hpp"
#include "scenario/run/judged_faults.hpp"
#include "scenario/run/namespaces.hpp"
#include "scenario/run/real_cluster.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario {
namespace {

// A real run waits no longer for what is judged late.
constexpr Duration awaited_max = std::chrono::minutes(2);

// Who compares two runs hears of as much of both: not of what a run goes on for by itself.
Trace::Sink while_settling(const Engine& engine, const RunOptions& options) {
  return [&engine, watch = options.watch, settle = options.settle](const Record& record) {
    if (!engine.over() || record.time <= engine.ended_at() + settle) watch(record);
  };
}

namespace asio = boost::asio;

// Whether a manifest or an image names the built-in worker that links libtorch.
bool uses_worker(const Scenario& scenario, const std::vector<NamedImage>& images) {
  constexpr std::string_view worker = "ddptwin-worker";
  const auto names_it = [&](const std::string& word) { return word == worker; };
  for (const NamedImage& image : images)
    for (const auto* words : {&image.image.entrypoint, &image.image.cmd})
      if (std::any_of(words->begin(), words->end(), names_it)) return true;
  const std::string quoted = '"' + std::string(worker) + '"';
  return std::any_of(scenario.manifests.begin(), scenario.manifests.end(),
                     [&](const Manifest& manifest) {
                       return to_text(*manifest.object).find(quoted) != std::string::npos;
                     });
}

bool cuts_links(const FaultPlan& plan) {
  return std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
    const std::string_view port = row_of(fault.kind).port;
    return port == "link" || port == "node";
  });
}

// All that one run in real time needs, alive as long as it.
class RealRun {
 public:
  RealRun(const Scenario& scenario, const RunOptions& options, Reports& reports)
      : scenario_(scenario), options_(options), reports_(reports) {}

  Result<RunResult> go();

 private:
  Status start(const std::vector<NamedImage>& images);
  void give_up(const Error& error);
  void draw_again();
  void on_signal();
  void settle(Duration least);

  const Scenario& scenario_;
  const RunOptions& options_;
  Reports& reports_;
  asio::io_context io_{1};
  RealLoop loop_{io_};
  EndSignals signals_{io_, [this] { loop_.enter([this] { on_signal(); }); }};
  std::unique_ptr<FaultInjector> injector_{};  // null: no faults in this run
  std::unique_ptr<RealCluster> cluster_{};
  std::unique_ptr<api::ApiClient> client_{};
  std::unique_ptr<Engine> engine_{};
  std::optional<ExecDoor> exec_door_{};
  Timer redraw_{}, settled_{};
  bool interrupted_ = false;
  std::optional<Error> failed_{};  // the run itself, not what it watches
};

Result<RunResult> RealRun::go() {
  const auto images = images_of(scenario_, options_.python);
  WorldOptions cluster = cluster_options(scenario_, options_.seed);
  const FaultPlan& plan = scenario_.faults;
  if (!plan.faults.empty() || plan.heal) {
    injector_ = std::make_unique<FaultInjector>(loop_, plan);
    cluster.faults = injector_.get();
  }
  TRY(cluster_, RealCluster::make(loop_, std::move(cluster), images, uses_worker(scenario_, images),
                                  cuts_links(plan)));
  World& world = cluster_->world();
  if (injector_)
    injector_->attach(world, cluster_->fault_ports([this](const Error& error) { give_up(error); }));
  client_ = world.client("user");
  engine_ = std::make_unique<Engine>(loop_, world.trace(), *client_, scenario_,
                                     ports_of(cluster_->runtime(), world.metrics()),
                                     [this] { settle(options_.settle); });
  engine_->watch_host();
  exec_door_.emplace(io_, loop_, world, scenario_.namespace_,
                     ports_of(cluster_->runtime(), world.metrics()).exec);
  reports_.attach(world.trace());
  cluster_->runtime().on_lost([this](const Error& error) { give_up(error); });
  loop_.enter([this, &images] {
    if (auto started = start(images); !started) give_up(started.error());
  });
  if (!failed_) io_.run();
  redraw_.cancel();
  if (failed_) return fail(std::move(*failed_));
  RunResult result = result_of(scenario_, *engine_);
  result.stand_ins = stand_ins_of(scenario_, images, Mode::real);
  result.seed = options_.seed;
  result.python = options_.python;
  result.timeout = options_.timeout;
  result.interrupted = interrupted_;
  if (injector_ && !plan.faults.empty())
    result.faults = judged_faults(plan, *injector_, engine_->started_at(), loop_.now());
  result.artefacts = options_.artefacts.path();
  TRY_VOID(reports_.finish(result));
  return result;
}

void RealRun::give_up(const Error& error) {
  if (!failed_) failed_ = error;
  io_.stop();
}

Status RealRun::start(const std::vector<NamedImage>& images) {
  TRY_VOID(cluster_->start());
  World& world = cluster_->world();
  reports_.attach(world.trace(), engine_->observer(), scenario_.name, loop_.now());
  if (options_.watch) world.trace().add_sink(while_settling(*engine_, options_));
  if (reports_.live()) draw_again();
  TRY_VOID(add_namespaces(world, scenario_));
  TRY_VOID(add_claims(world, scenario_));
  write_notes(world.trace(), images, scenario_, Mode::real);
  for (const std::string& note : cluster_->runtime().host_notes())
    write_note(world.trace(), "kubelet", "host", note);
  cluster_->runtime().on_note(
      [&world](const std::string& note) { write_note(world.trace(), "kubelet", "host", note); });
  if (injector_) TRY_VOID(injector_->start());
  engine_->start();
  return {};
}

void RealRun::draw_again() {
  reports_.draw(loop_.now());
  redraw_ = loop_.after(Lane{0}, LiveView::period, [this] { draw_again(); });
}

void RealRun::on_signal() {
  if (std::exchange(interrupted_, true) || engine_ == nullptr) return;
  if (engine_->over()) return io_.stop();  // it was settling
  engine_->interrupt();
}

// A run that wants to see what is judged later only goes on until then.
void RealRun::settle(Duration least) {
  Duration lasts = least;
  if (const auto awaited = engine_->judged_next();
      awaited && *awaited < engine_->ended_at() + awaited_max)
    lasts = std::max(lasts, *awaited - loop_.now() + std::chrono::seconds(1));
  if (interrupted_ || lasts <= Duration::zero()) return io_.stop();
  settled_ = loop_.after(Lane{0}, lasts, [this] {
    engine_->pass();
    settle(Duration::zero());
  });
}

Result<RunResult> run_in_virtual_time(const Scenario& scenario, const RunOptions& options,
                                      Reports& reports) {
  VirtualRun run(scenario, {.seed = options.seed, .torch = options.torch, .cpus = options.cpus});
  Trace& trace = run.world().trace();
  reports.attach(trace);
  TRY_VOID(run.start([&] {
    reports.attach(trace, run.engine().observer(), scenario.name, run.loop().now());
    if (options.watch) trace.add_sink(while_settling(run.engine(), options));
  }));
  asio::io_context io;
  bool interrupted = false;
  const EndSignals signals(io, [&] { interrupted = true; });
  std::uint64_t asked = 0;
  TRY(RunResult result, run.finish([&] {
    constexpr std::uint64_t period = 256;  // callbacks of the run
    if (++asked % period == 0) io.poll();
    return interrupted;
  }));
  result.timeout = options.timeout;
  result.interrupted = interrupted;
  result.stand_ins = stand_ins_of(scenario, images_of(scenario, ""), Mode::virtual_);
  result.artefacts = options.artefacts.path();
  TRY_VOID(reports.finish(result));
  return result;
}

}  // namespace

Result<RunResult> run_scenario(const Scenario& scenario, const RunOptions& options,
                               std::ostream& text) {
  // What happens in virtual time is over before anybody could watch it: plain lines tell it.
  const int columns = options.mode == Mode::real ? options.columns : 0;
  ReportOptions shown{options.artefacts, options.quiet, columns};
  shown.artefacts.at_once = options.mode == Mode::real;
  TRY(const auto reports, Reports::open(shown, text));
  if (options.mode == Mode::virtual_) return run_in_virtual_time(scenario, options, *reports);
  RealRun run(scenario, options, *reports);
  return run.go();
}

}  // namespace ddptwin::scenario
