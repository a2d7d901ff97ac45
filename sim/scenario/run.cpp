#include "scenario/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <optional>
#include <ostream>

#include "controller/pytorchjob/profile.hpp"
#include "core/real_loop.hpp"
#include "objects/codec.hpp"
#include "scenario/real_cluster.hpp"
#include "scenario/report/artefacts.hpp"
#include "scenario/report/live.hpp"
#include "scenario/report/narrator.hpp"
#include "scenario/report/timeline.hpp"

namespace ddptwin::scenario {
namespace {

namespace asio = boost::asio;

WorldOptions world_options(const Scenario& scenario, const RunOptions& options) {
  WorldOptions world;
  world.seed = options.seed;
  world.scheduler = true;
  world.training_operator = *controller::pytorchjob::find_profile(scenario.training_operator);
  world.nodes = scenario.nodes;
  // A kubelet looks at its runtime once a second; this one hears of every change from the runtime
  // itself, so that a run in real time takes no longer than its programs.
  world.kubelet.clocks.first_look = Duration::zero();
  world.kubelet.clocks.relist = std::chrono::milliseconds(1);
  world.kubelet.clocks.status_delay = std::chrono::milliseconds(1);
  return world;
}

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

// All that one run needs, alive as long as it.
class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options, std::ostream& text)
      : scenario_(scenario), options_(options), text_(text) {}

  Result<RunResult> go();

 private:
  Status start(const std::vector<NamedImage>& images);
  void attach_reports();
  void write_image_notes(const std::vector<NamedImage>& images);
  void draw_again();
  void on_signal();
  RunResult report();

  const Scenario& scenario_;
  const RunOptions& options_;
  std::ostream& text_;
  asio::io_context io_{1};
  RealLoop loop_{io_};
  asio::signal_set signals_{io_, SIGINT, SIGTERM};
  std::unique_ptr<Artefacts> artefacts_{};
  Timeline timeline_{};
  std::optional<PlainLines> lines_{};
  std::optional<LiveView> view_{};
  std::unique_ptr<RealCluster> cluster_{};
  std::unique_ptr<api::ApiClient> client_{};
  std::unique_ptr<Engine> engine_{};
  Timer redraw_{};
  bool interrupted_ = false;
  std::optional<Error> failed_{};  // the run itself, not what it watches
};

Result<RunResult> Run::go() {
  if (!options_.out.empty()) {
    TRY(artefacts_, Artefacts::open(options_.out));
  }
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (!error) loop_.enter([this] { on_signal(); });
  });
  const auto images = images_of(scenario_, options_.python);
  TRY(cluster_, RealCluster::make(loop_, world_options(scenario_, options_), images,
                                  uses_worker(scenario_, images)));
  World& world = cluster_->world();
  client_ = world.client("user");
  engine_ = std::make_unique<Engine>(
      loop_, world.trace(), *client_, scenario_,
      [this](const ContainerId& id, int signal, Done<void> done) {
        cluster_->runtime().signal_container(id, signal, std::move(done));
      },
      [this] { io_.stop(); });
  if (artefacts_) {
    cluster_->world().trace().add_sink(
        [this](const Record& record) { artefacts_->on_record(record); });
  }
  cluster_->runtime().on_lost([this](const Error& error) {
    if (!failed_) failed_ = error;
    io_.stop();
  });
  loop_.enter([this, &images] {
    if (auto started = start(images); !started) {
      failed_ = std::move(started).error();
      io_.stop();
    }
  });
  if (!failed_) io_.run();
  if (failed_) return fail(std::move(*failed_));
  RunResult result = report();
  if (artefacts_) TRY_VOID(artefacts_->finish(engine_->observer(), result));
  return result;
}

Status Run::start(const std::vector<NamedImage>& images) {
  TRY_VOID(cluster_->start());
  attach_reports();  // after it: the cluster's own objects are no news
  if (scenario_.namespace_ != "default")
    TRY_VOID(cluster_->world().add_namespace(scenario_.namespace_));
  write_image_notes(images);
  engine_->start();
  return {};
}

void Run::attach_reports() {
  Trace& trace = cluster_->world().trace();
  trace.add_sink([this](const Record& record) { timeline_.on_record(record); });
  if (options_.quiet) return;
  if (options_.columns > 0) {
    view_.emplace(text_, engine_->observer(), scenario_.name, options_.columns, loop_.now());
    draw_again();
    return;
  }
  lines_.emplace(text_, loop_.now());
  trace.add_sink([this](const Record& record) { lines_->on_record(record); });
}

void Run::draw_again() {
  view_->draw(loop_.now());
  redraw_ = loop_.after(Lane{0}, LiveView::period, [this] { draw_again(); });
}

void Run::write_image_notes(const std::vector<NamedImage>& images) {
  for (const NamedImage& image : images) {
    for (const std::string& note : image.notes) {
      Record record;
      record.kind = RecordKind::image;
      record.actor = "kubelet";
      record.subject = "image " + image.name;
      record.text = note;
      cluster_->world().trace().write(std::move(record));
    }
  }
}

void Run::on_signal() {
  interrupted_ = true;
  engine_->finish();
}

RunResult Run::report() {
  redraw_.cancel();
  if (view_) view_->draw(engine_->ended_at());
  RunResult result = result_of(scenario_, *engine_);
  result.seed = options_.seed;
  result.interrupted = interrupted_;
  result.artefacts = options_.out;
  if (!options_.quiet) {
    text_ << "\nTimeline (<- names the row that led to it, and the controller's rule)\n";
    print_timeline(text_, timeline_, engine_->started_at());
    text_ << "\nVerdicts\n";
  }
  print_verdicts(text_, result);
  if (!options_.out.empty())
    text_ << fmt::format("artefacts: {0}/trace.jsonl, {0}/logs/, {0}/result.json\n", options_.out);
  text_.flush();
  return result;
}

}  // namespace

Result<RunResult> run_scenario(const Scenario& scenario, const RunOptions& options,
                               std::ostream& text) {
  Run run(scenario, options, text);
  return run.go();
}

}  // namespace ddptwin::scenario
