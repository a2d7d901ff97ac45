#include "runtime/model/torchrun/torchrun.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/model/kernel.hpp"
#include "runtime/model/programs/nvidia_smi.hpp"
#include "runtime/model/torchrun/messages.hpp"
#include "runtime/model/torchrun/workers.hpp"

namespace ddptwin::torchrun {
namespace {

constexpr int sigterm = 15;
constexpr std::string_view agent_file = "agent/server/api";

// What the agent is doing; monitoring is the only state in which it looks at its workers.
enum class Phase : std::uint8_t { starting, meeting, monitoring, stopping, finishing, leaving };

std::string random_name(Random& random) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string out{};
  for (int i = 0; i < 8; ++i) out += letters[random.below(letters.size())];
  return out;
}

std::string random_digits(Random& random) {
  std::string out = std::to_string(random.next());
  return out + std::to_string(random.next());
}

StringMap as_map(const model::Environment& environment) {
  StringMap out{};
  for (const auto& [name, value] : environment) out.insert_or_assign(name, value);
  return out;
}

// How ChildFailedError calls the job: the first argument that is no option.
std::string entrypoint_name(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i)
    if (!command[i].empty() && command[i][0] != '-') return command[i];
  return {};
}

class Torchrun final : public model::Program {
 public:
  explicit Torchrun(Launch launch) : launch_(std::move(launch)) {}

  void start(model::Process& process) override;
  bool signal(model::Process& process, int number) override;
  void child_exited(model::Process& process, model::ProcessId child,
                    const model::ExitStatus& status) override;

 private:
  // All there is once the command line is read.
  struct Run {
    Run(model::Process& process, const Profile& profile, Options given)
        : options(std::move(given)), agent{process, profile, options}, workers(agent) {}
    Options options;
    Agent agent;
    WorkerGroup workers;
    std::unique_ptr<Meeting> meeting{};
    std::unique_ptr<model::StoreServer> shared_store{};  // 2.x: of group rank 0's agent
    std::optional<Endpoint> shared_master{};             // 2.x: the first one heard, kept for ever
    World world{};
    GroupRanks ranks{};
    Endpoint master{};
    int remaining_restarts = 0;
    std::string log_dir{};
  };

  void begin(model::Process& process);
  void rendezvous();
  void entered(const World& world);
  void agree_on_master(UniqueFunction<void()> next);
  void agree_on_ranks(UniqueFunction<void()> next);
  void start_workers();
  void monitor();
  void tick();
  void look_at_members();
  void workers_failed();
  void workers_succeeded();
  void restart();
  void fail_finally();
  void raise(const Error& error);
  void close_and_leave(Callback last_words, int code);
  void leave(int code);

  bool shares_store() const;
  void schedule_tick(Time earliest);
  void end_monitoring(Phase next);
  int restart_count() const { return run_->options.max_restarts - run_->remaining_restarts; }

  Launch launch_;
  std::unique_ptr<Run> run_{};
  Phase phase_ = Phase::starting;
  bool handles_signals_ = false;
  // Ticks lie on a grid that begins when the workers start; only those are made at which there is
  // something to see, so that a quiet agent costs one callback a second.
  Time grid_{};
  std::optional<Time> tick_at_{};
  bool asks_ = false;  // how many nodes wait; its thread does nothing else meanwhile
  Time members_seen_{};
  model::TimerId tick_ = 0;
  std::vector<Worker> failed_{};  // the last failed group: what the summary tells of
};

void Torchrun::start(model::Process& process) {
  const Profile& profile = profile_of(*process.model().torch);
  const Duration start = profile.start.on(process.model().timing->machine);
  process.state().kernel->starts().begin(
      process, model::varied_start(*process.model().torch, start, process.random().split("start")),
      [this, &process] { begin(process); });
}

void Torchrun::begin(model::Process& process) {
  const Profile& profile = profile_of(*process.model().torch);
  const Hardware hardware{process.cpus(), model::granted_gpus(process),
                          random_digits(process.random())};
  auto options = read_options(profile, launch_.program, launch_.arguments,
                              as_map(process.environment()), hardware);
  if (!options) {
    for (const std::string& line : options.error().lines) process.print_error(line);
    return process.exit(options.error().exit_code);
  }
  run_ = std::make_unique<Run>(process, profile, std::move(*options));
  const Options& told = run_->options;
  run_->remaining_restarts = told.max_restarts;
  const std::string base =
      told.log_dir.empty() ? "/tmp/torchelastic_" + random_name(process.random()) : told.log_dir;
  run_->log_dir = fmt::format("{}/{}_{}", base, told.run_id, random_name(process.random()));
  if (told.sets_omp_threads)
    say(run_->agent, Level::warning, "run",
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to "
        "avoid your system being overloaded, please further tune the variable for optimal "
        "performance in your application as needed.");
  run_->meeting =
      told.backend == Backend::static_
          ? make_static_meeting(run_->agent)
          : make_c10d_meeting(run_->agent, [this](const Error& error) { raise(error); });
  phase_ = Phase::meeting;
  run_->meeting->connect([this](const Status& connected) {
    if (!connected) return raise(connected.error());
    rendezvous();
  });
}

bool Torchrun::signal(model::Process&, int number) {
  if (!handles_signals_) return false;
  const std::string handled = "," + run_->options.signals_to_handle + ",";
  if (handled.find("," + signal_name(number) + ",") == std::string::npos) return false;
  if (phase_ == Phase::leaving) return true;
  end_monitoring(Phase::leaving);
  run_->meeting->interrupt();
  say(run_->agent, Level::warning, agent_file,
      fmt::format("Received {} death signal, shutting down workers", number));
  // It leaves the rendezvous open and its own name in it: others wait for its lease (§4.4).
  run_->workers.stop(number, [this, number] {
    say_uncaught(run_->agent,
                 fmt::format("torch.distributed.elastic.multiprocessing.api.SignalException: "
                             "Process {} got signal: {}",
                             run_->agent.process.pid(), number));
    leave(1);
  });
  return true;
}

void Torchrun::child_exited(model::Process& process, model::ProcessId child,
                            const model::ExitStatus& status) {
  run_->workers.exited(child, status);
  if (phase_ == Phase::monitoring && !asks_) schedule_tick(process.now());
}

void Torchrun::rendezvous() {
  if (phase_ == Phase::leaving) return;
  phase_ = Phase::meeting;
  say(run_->agent, Level::info, agent_file,
      fmt::format("[{}] Rendezvous'ing worker group", run_->options.role));
  run_->meeting->next([this](Result<World> world) {
    if (phase_ != Phase::meeting) return;
    if (!world) return raise(world.error());
    entered(*world);
  });
}

// 2.x agrees on the master while it is still in the rendezvous, so that a newcomer whom nobody
// tells it dies there; 1.13 after the ranks are known (§9.5).
void Torchrun::entered(const World& world) {
  run_->world = world;
  if (run_->agent.profile.master_before_ranks)
    return agree_on_master([this] { agree_on_ranks([this] { start_workers(); }); });
  agree_on_ranks([this] { agree_on_master([this] { start_workers(); }); });
}

bool Torchrun::shares_store() const {
  return run_->agent.profile.shares_store &&
         run_->agent.process.env("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
}

void Torchrun::agree_on_master(UniqueFunction<void()> next) {
  if (run_->world.master || (shares_store() && run_->shared_master)) {
    run_->master = run_->world.master ? *run_->world.master : *run_->shared_master;
    return next();
  }
  std::optional<std::uint16_t> port{};
  if (shares_store() && run_->world.group_rank == 0) {
    auto server = model::StoreServer::listen(run_->agent.process, 0);
    if (!server) return raise(server.error());
    run_->shared_store = std::move(*server);
    port = run_->shared_store->port();
  }
  agree_master(run_->agent, run_->world, port,
               [this, next = std::move(next)](Result<Endpoint> master) mutable {
                 if (phase_ != Phase::meeting) return;
                 if (!master) return raise(master.error());
                 run_->master = *master;
                 if (shares_store()) run_->shared_master = *master;
                 next();
               });
}

void Torchrun::agree_on_ranks(UniqueFunction<void()> next) {
  agree_ranks(run_->agent, run_->world,
              [this, next = std::move(next)](Result<GroupRanks> ranks) mutable {
                if (phase_ != Phase::meeting) return;
                if (!ranks) return raise(ranks.error());
                run_->ranks = *ranks;
                next();
              });
}

void Torchrun::start_workers() {
  run_->agent.process.work(run_->agent.profile.spawn, [this] {
    if (phase_ != Phase::meeting) return;
    const bool no_streams = run_->options.redirects == "0" || run_->options.tee == "0";
    if (run_->agent.process.model().torch->needs_redirects && no_streams)
      return raise(Error{Reason::bad_input,
                         {},
                         "AttributeError: 'NoneType' object has no attribute 'get'",
                         nullptr,
                         0,
                         {}});
    handles_signals_ = true;
    const bool static_ = run_->options.backend == Backend::static_;
    const Status started =
        run_->workers.start(WorkerPlace{0, run_->world, run_->ranks, run_->master,
                                        static_ || shares_store(), restart_count(), run_->log_dir});
    if (!started) return raise(started.error());
    monitor();
  });
}

void Torchrun::monitor() {
  phase_ = Phase::monitoring;
  grid_ = run_->agent.process.now();
  members_seen_ = grid_;
  // A worker that could not live until here has ended already.
  if (!run_->workers.any_running()) schedule_tick(grid_);
  if (run_->meeting->watches_members()) schedule_tick(grid_ + run_->agent.profile.poll);
}

// The first tick of the grid that is later than the last one made and not before `earliest`.
void Torchrun::schedule_tick(Time earliest) {
  const Duration interval = run_->options.monitor_interval;
  const Duration since = std::max(earliest, run_->agent.process.now()) - grid_;
  const auto steps = std::max<std::int64_t>(1, (since + interval - Duration(1)) / interval);
  const Time at = grid_ + interval * steps;
  if (tick_at_ && *tick_at_ <= at) return;
  run_->agent.process.cancel(tick_);
  tick_at_ = at;
  tick_ = run_->agent.process.after(at - run_->agent.process.now(), [this] {
    tick_at_.reset();
    tick();
  });
}

void Torchrun::tick() {
  if (run_->workers.any_failed()) return workers_failed();
  if (!run_->workers.any_running()) return workers_succeeded();
  const Time now = run_->agent.process.now();
  if (!run_->meeting->watches_members()) return;
  if (now - members_seen_ < run_->agent.profile.poll)
    return schedule_tick(members_seen_ + run_->agent.profile.poll);
  look_at_members();
}

// Nodes that wait for the next round get it: a restart that is not counted (§4.4 accounting).
void Torchrun::look_at_members() {
  members_seen_ = run_->agent.process.now();
  asks_ = true;
  run_->meeting->nodes_waiting([this](Result<int> waiting) {
    asks_ = false;
    if (phase_ != Phase::monitoring) return;
    if (!waiting) return raise(waiting.error());
    if (*waiting > 0) {
      say(run_->agent, Level::info, agent_file,
          fmt::format("[{}] Detected {} new nodes from group_rank={}; will restart worker group",
                      run_->options.role, *waiting, run_->world.group_rank));
      return restart();
    }
    const Time now = run_->agent.process.now();
    // The grid's next tick, not this one again; for who ended meanwhile that one.
    const bool ended = run_->workers.any_failed() || !run_->workers.any_running();
    const Time again = ended ? now : members_seen_ + run_->agent.profile.poll;
    schedule_tick(std::max(now + Duration(1), again));
  });
}

// With a tick that is still to come: the agent has one thread, and looks at its workers again when
// a group runs.
void Torchrun::end_monitoring(Phase next) {
  phase_ = next;
  run_->agent.process.cancel(tick_);
  tick_at_.reset();
}

void Torchrun::workers_failed() {
  end_monitoring(Phase::stopping);
  std::vector<Worker> failed{};
  for (const Worker& worker : run_->workers.workers())
    if (worker.failed()) failed.push_back(worker);
  run_->workers.stop(sigterm, [this, failed = std::move(failed)] {
    const std::string binary =
        run_->options.command.front() == "python3" ? "/usr/bin/python3" : run_->options.command[0];
    const Worker& first = first_failure(failed);
    say(run_->agent, Level::error, "multiprocessing/api",
        fmt::format("failed (exitcode: {}) local_rank: {} (pid: {}) of binary: {}",
                    first.return_code(), first.local_rank, first.pid, binary));
    if (run_->remaining_restarts > 0) {
      say(run_->agent, Level::info, agent_file,
          fmt::format("[{}] Worker group FAILED. {}/{} attempts left; will restart worker group",
                      run_->options.role, run_->remaining_restarts, run_->options.max_restarts));
      --run_->remaining_restarts;
      return rendezvous();
    }
    failed_ = failed;
    fail_finally();
  });
}

void Torchrun::restart() {
  end_monitoring(Phase::stopping);
  run_->workers.stop(sigterm, [this] { rendezvous(); });
}

void Torchrun::workers_succeeded() {
  end_monitoring(Phase::finishing);
  run_->meeting->fall_silent();
  pass_exit_barrier(run_->agent, run_->world, [this] { close_and_leave({}, 0); });
}

// §9.1 5: a failed agent of 1.13 still waits for the others in the exit barrier.
void Torchrun::fail_finally() {
  phase_ = Phase::finishing;
  auto say_summary = [this] {
    const std::string type = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ";
    say_uncaught(run_->agent, type);
    const auto block = child_failed_error(entrypoint_name(run_->options.command),
                                          run_->agent.process.fqdn(), failed_);
    for (const std::string& line : block) run_->agent.process.print_error(line);
  };
  if (!run_->agent.profile.barrier_on_failure) return close_and_leave(std::move(say_summary), 1);
  run_->meeting->fall_silent();
  pass_exit_barrier(run_->agent, run_->world,
                    [this, say_summary = std::move(say_summary)]() mutable {
                      close_and_leave(std::move(say_summary), 1);
                    });
}

// An exception in the agent itself: its workers end with it.
void Torchrun::raise(const Error& error) {
  if (phase_ == Phase::leaving || phase_ == Phase::finishing) return;
  end_monitoring(Phase::finishing);
  run_->meeting->interrupt();
  run_->workers.stop(sigterm, [this, text = error.text()] {
    close_and_leave([this, text] { say_uncaught(run_->agent, text); }, 1);
  });
}

// Unless a signal ends it, an agent that goes closes the rendezvous for all (§4.4).
void Torchrun::close_and_leave(Callback last_words, int code) {
  if (phase_ == Phase::leaving) return;
  run_->meeting->close([this, last_words = std::move(last_words), code]() mutable {
    if (phase_ == Phase::leaving) return;
    phase_ = Phase::leaving;
    if (last_words) last_words();
    leave(code);
  });
}

void Torchrun::leave(int code) {
  const Profile& profile = run_->agent.profile;
  const model::OnMachine& leaving = code == 0 ? profile.leaving : profile.failed_leaving;
  run_->agent.process.work(leaving.on(run_->agent.process.model().timing->machine),
                           [this, code] { run_->agent.process.exit(code); });
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::optional<Launch> launch_of(const std::vector<std::string>& argv) {
  if (argv.empty()) return std::nullopt;
  const std::string_view program = base_name(argv[0]);
  if (program == "torchrun") return Launch{"torchrun", {argv.begin() + 1, argv.end()}};
  if (!program.starts_with("python")) return std::nullopt;
  for (std::size_t i = 1; i + 1 < argv.size() && argv[i].starts_with("-"); ++i) {
    if (argv[i] != "-m") continue;
    const bool old = argv[i + 1] == "torch.distributed.launch";
    if (argv[i + 1] != "torch.distributed.run" && !old) return std::nullopt;
    Launch launch{old ? "launch.py" : "run.py",
                  {argv.begin() + static_cast<std::ptrdiff_t>(i) + 2, argv.end()}};
    // Its one option of its own, of how the script hears of its rank; what stands behind the
    // script is the script's.
    if (old) {
      const auto script =
          std::find_if(launch.arguments.begin(), launch.arguments.end(),
                       [](const std::string& word) { return word.ends_with(".py"); });
      launch.arguments.erase(std::remove_if(launch.arguments.begin(), script,
                                            [](const std::string& word) {
                                              return word == "--use_env" || word == "--use-env";
                                            }),
                             script);
    }
    return launch;
  }
  return std::nullopt;
}

// Both versions choose alike; the later one knows all spellings. A text that nobody knows yet may
// be any number of words where it stands by itself, but for one that an option waits for.
std::string unmodelled_backend(const Launch& launch, const StringMap& environment) {
  std::vector<std::string> arguments;
  for (std::string word : launch.arguments) {
    const bool awaited = !arguments.empty() && arguments.back().starts_with('-') &&
                         arguments.back().find('=') == std::string::npos;
    if (word == unknown_text && !awaited) continue;
    for (std::size_t at = word.find(unknown_text); at != word.npos; at = word.find(unknown_text))
      word.replace(at, unknown_text.size(), "1");
    arguments.push_back(std::move(word));
  }
  std::string backend = chosen_backend(torchrun_2, launch.program, arguments, environment);
  return is_etcd(backend) ? backend : std::string();
}

std::unique_ptr<model::Program> make_torchrun(Launch launch) {
  return std::make_unique<Torchrun>(std::move(launch));
}

}  // namespace ddptwin::torchrun
