#include "runtime/model/rank/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/model/mesh.hpp"
#include "runtime/model/messages.hpp"
#include "runtime/model/store.hpp"
#include "runtime/model/torchrun/options.hpp"

namespace ddptwin::model {
namespace {

constexpr int lonely_port = 29500;     // torchrun's default
constexpr Duration eager_poll = 20ms;  // sim/workers/rendezvous.cpp
constexpr std::string_view checkpoint_magic = "ddptwin checkpoint";

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string master_addr{};
  int master_port = 0;
  bool uses_agent_store = false;
  std::string attempt = "0";
  bool hosts_store() const { return rank == 0 && !uses_agent_store; }
};

Result<int> integer_of(std::string_view text) {
  const std::optional<std::int64_t> value = torchrun::python_int(text);
  if (!value || !std::in_range<int>(*value)) return fail(not_a_number(text));
  return static_cast<int>(*value);
}

Result<std::string_view> required(const Process& process, std::string_view name) {
  const std::string_view value = process.env(name);
  if (value.empty()) return fail(variable_missing(name));
  return value;
}

// In the order of env://, an empty value counting as none (ddp-semantics §9.2).
Result<RankEnvironment> read_environment(const Process& process) {
  RankEnvironment read;
  TRY(const std::string_view rank, required(process, "RANK"));
  TRY(read.rank, integer_of(rank));
  TRY(const std::string_view world, required(process, "WORLD_SIZE"));
  TRY(read.world_size, integer_of(world));
  TRY(const std::string_view address, required(process, "MASTER_ADDR"));
  read.master_addr = address;
  TRY(const std::string_view port, required(process, "MASTER_PORT"));
  TRY(read.master_port, integer_of(port));
  if (read.master_port < 0 || read.master_port > 65535) return fail(port_outside(read.master_port));
  read.uses_agent_store = process.env("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (const auto count = process.env("TORCHELASTIC_RESTART_COUNT"); !count.empty())
    read.attempt = count;
  return read;
}

bool names_no_group(const Process& process) {
  constexpr std::string_view names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return process.env(name).empty(); });
}

std::uint64_t mixed(std::uint64_t one, std::uint64_t other) {
  return Random(one).split(other).next();
}

class Rank final : public Program, public Trainee {
 public:
  Rank(bool interpreter, std::function<RankPlan(const Model&)> plan)
      : interpreter_(interpreter), make_plan_(std::move(plan)) {}

  void start(Process& process) override {
    process_ = &process;
    plan_ = make_plan_(process.model());
    take_share();
    if (!plan_.start_varies) {
      process.work(plan_.start, [this] { begin(); });
      return;
    }
    process.state().kernel->starts().begin(process, plan_.start, [this] { begin(); });
  }
  bool signal(Process&, int number) override;
  bool is_first_process() const override { return interpreter_; }
  void stopped(Process&) override {
    if (Training* training = find_training()) training->stopped(place_.rank);
  }
  void continued(Process&) override {
    if (Training* training = find_training()) training->continued(place_.rank);
    if (attendee_) attendee_->progress();
  }
  void ended(Process& process, const ExitStatus&) override {
    attendee_.reset();
    if (Training* training = find_training()) training->close(place_.rank);
    Trainings& trainings = process.state().kernel->trainings();
    trainings.process_ended(process.id());
    trainings.swept(training_, process.lane());
  }

  Process& process() override { return *process_; }
  void step_done(std::int64_t step) override;
  void trained() override;
  void lost(const Loss& loss) override;

 private:
  void take_share();
  void handle_term();
  void fail_now();
  void plan_failure_within(std::int64_t step);
  void begin();
  void await_master();
  void make_store(std::string known_ip);
  void await_world();
  void world_is_there();
  void meet();
  void joined(Training& training);
  void enter_training();
  std::optional<std::int64_t> resume();
  void save(std::int64_t step);
  bool write_if_due(std::int64_t step);
  bool allocate_if_due(std::int64_t step);
  void fail_if_due(std::int64_t step);
  bool leave_mark();
  void print_step(std::int64_t step);
  void print_own(const std::vector<std::string>& lines, std::int64_t step);
  void fail_with(const Error& error, int code);
  void leave_by_exception(int code);
  void leave(int code, Duration closing, Duration leaving);
  Training* find_training() {
    return training_ == 0 ? nullptr : process_->state().kernel->trainings().find(training_);
  }
  const TorchProfile& torch() const { return *process_->model().torch; }
  Machine machine() const { return process_->model().timing->machine; }

  bool interpreter_;
  std::function<RankPlan(const Model&)> make_plan_;
  RankPlan plan_{};
  Process* process_ = nullptr;
  RankEnvironment place_{};
  Time eager_end_{};
  Time world_since_{};
  TimerId world_limit_ = 0;
  bool waiting_for_world_ = false;
  bool leaving_ = false;
  bool entered_ = false;  // its loop of steps
  bool begun_ = false;    // its script runs, and has installed its handlers
  bool term_came_ = false;
  std::int64_t done_ = 0;  // steps
  std::unique_ptr<StoreServer> server_{};
  std::unique_ptr<StoreClient> client_{};
  std::unique_ptr<Attendee> attendee_{};
  std::uint64_t training_ = 0;
};

// What the variables say, which the script itself reads later.
void Rank::take_share() {
  const auto rank = integer_of(process_->env("RANK"));
  const auto own = plan_.ranks.find(rank.value_or(plan_.may_be_alone ? 0 : -1));
  if (plan_.start_varies)
    plan_.start = varied_start(torch(), plan_.start, process_->random().split("start"));
  if (own == plan_.ranks.end()) return;
  if (own->second.start) plan_.start_varies = false;
  plan_.start = own->second.start.value_or(plan_.start);
  plan_.before = own->second.step_time.value_or(plan_.before);
  plan_.steps = own->second.steps.value_or(plan_.steps);
}

// spec/ddp-semantics.md §9.5: a handler does not run while the rank is inside init or a collective.
bool Rank::signal(Process&, int number) {
  if (number != SIGTERM || !plan_.on_term || !begun_) return false;
  if (leaving_) return true;
  term_came_ = true;
  const Training* training = find_training();
  if (training != nullptr && entered_ && !training->in_collective(place_.rank)) handle_term();
  return true;
}

void Rank::handle_term() {
  if (leaving_) return;
  term_came_ = false;
  const TermHandler& handler = *plan_.on_term;
  for (const std::string& line : handler.says)
    process_->print(filled_in(line, {place_.rank, place_.world_size, plan_.steps, done_}));
  if (handler.save && place_.rank == 0 && !plan_.checkpoint.empty()) save(done_);
  if (leaving_) return;
  if (handler.at_once) return process_->exit(handler.code);
  leave(handler.code, torch().clean_closing.on(machine()), torch().clean_leaving.on(machine()));
}

void Rank::begin() {
  begun_ = true;
  Result<RankEnvironment> read = plan_.may_be_alone && names_no_group(*process_)
                                     ? RankEnvironment{0, 1, "127.0.0.1", lonely_port}
                                     : read_environment(*process_);
  if (!read) return fail_with(read.error(), 1);
  place_ = std::move(*read);
  // Another rank of the pod may have it: whoever asks for the port finds that one.
  for (const ListeningPort& one : plan_.listens)
    static_cast<void>(
        process_->network().listen(process_->ip(), one.port, process_->id(), nullptr, one.answers));
  if (plan_.memory > 0 && !process_->allocate(plan_.memory)) return;
  if (!allocate_if_due(0) || !write_if_due(0)) return;
  eager_end_ = process_->now() + plan_.eager_connect;
  if (plan_.eager_connect > Duration::zero()) return await_master();
  make_store({});
}

// sim/workers/README.md, "Differences": every 20 ms, before c10d's own tries.
void Rank::await_master() {
  if (process_->now() >= eager_end_) return make_store({});
  process_->lookup(place_.master_addr, [this](const Resolved& answer) {
    const auto again = [this] { process_->after(eager_poll, [this] { await_master(); }); };
    if (answer.error != 0 || answer.addresses.empty()) return again();
    std::string ip = answer.addresses.front();
    if (place_.hosts_store()) return make_store(std::move(ip));
    const Duration patience = std::max(eager_end_ - process_->now(), Duration::zero());
    process_->connect(ip, static_cast<std::uint16_t>(place_.master_port), patience,
                      [this, ip, again](Connect outcome) {
                        if (outcome == Connect::refused) return again();
                        make_store(outcome == Connect::accepted ? ip : std::string());
                      });
  });
}

void Rank::make_store(std::string known_ip) {
  if (place_.hosts_store()) {
    auto server = StoreServer::listen(*process_, static_cast<std::uint16_t>(place_.master_port));
    if (!server) return fail_with(server.error(), 1);
    server_ = std::move(*server);
    server_->on_client([this] { world_is_there(); });
  }
  client_ = std::make_unique<StoreClient>(
      *process_, StoreAddress{place_.master_addr, static_cast<std::uint16_t>(place_.master_port)},
      plan_.timeout);
  const auto connect = [this](std::string ip) {
    client_->connect(
        [this](const Status& status) {
          if (!status) return fail_with(status.error(), 1);
          if (place_.hosts_store()) return await_world();
          meet();
        },
        std::move(ip));
  };
  Duration spread{};
  if (torch().spread_per_rank > Duration::zero() && place_.world_size > 0) {
    const std::uint64_t share =
        1 + process_->random().below(static_cast<std::uint64_t>(place_.world_size));
    spread = torch().spread_per_rank * static_cast<std::int64_t>(share);
  }
  if (spread == Duration::zero()) return connect(std::move(known_ip));
  process_->after(spread,
                  [connect, ip = std::move(known_ip)]() mutable { connect(std::move(ip)); });
}

// §3.2: rank 0 counts clients until more than T, in whole seconds; 1.13 then goes on without them.
void Rank::await_world() {
  waiting_for_world_ = true;
  world_since_ = process_->now();
  const Duration limit = plan_.timeout + torch().world_slack;
  world_limit_ = process_->after(limit, [this, limit] {
    waiting_for_world_ = false;
    if (!torch().fails_without_world) return meet();
    fail_with(clients_missing(torch(), limit, server_->clients(), place_.world_size), 1);
  });
  world_is_there();
}

// Seen at rank 0's next look at the counter.
void Rank::world_is_there() {
  if (!waiting_for_world_ || server_->clients() < place_.world_size) return;
  waiting_for_world_ = false;
  process_->cancel(world_limit_);
  const Duration poll = torch().world_poll;
  const Duration waited = process_->now() - world_since_;
  process_->after((waited + poll - Duration(1)) / poll * poll - waited, [this] { meet(); });
}

void Rank::meet() {
  StoreServer* store = client_->server();
  if (store == nullptr) return fail_with(store_closed(torch()), 1);
  client_->on_lost([this] {
    if (training_ != 0 || !attendee_ || !attendee_->needs_store()) return;
    client_->tell_of_the_end();
    fail_with(store_closed(torch()), 1);
  });
  const bool has_attempts = place_.uses_agent_store && torch().attempt_keys;
  const std::string prefix =
      has_attempts ? fmt::format("/worker/attempt_{}/default_pg", place_.attempt) : "default_pg";
  attendee_ = std::make_unique<Attendee>(
      *process_, store->groups().mesh(prefix),
      Attendee::Place{place_.rank, place_.world_size, plan_.timeout, client_->server_ip()},
      [this](const Result<Training*>& training) {
        if (!training) return fail_with(training.error(), 1);
        joined(**training);
      });
  attendee_->start();
}

void Rank::joined(Training& training) {
  training_ = training.id();
  attendee_.reset();
  if (plan_.prints.joined)
    print_own(*plan_.prints.joined, 0);
  else
    process_->print(fmt::format("joined rank {} world_size {}", place_.rank, place_.world_size));
  if (plan_.first_ddp == Duration::zero()) return enter_training();
  process_->work(plan_.first_ddp, [this] { enter_training(); });
}

void Rank::enter_training() {
  const std::optional<std::int64_t> done = resume();
  if (!done) return;
  done_ = *done;
  entered_ = true;
  if (term_came_) return handle_term();
  plan_failure_within(done_ + 1);
  if (leaving_) return;
  if (Training* training = find_training()) {
    training->join(place_.rank, *this,
                   {.world_size = place_.world_size,
                    .before = plan_.before,
                    .step_time = plan_.step_time,
                    .bytes = plan_.bytes,
                    .shapes = plan_.shapes,
                    .timeout = plan_.timeout,
                    .done = *done,
                    .steps = plan_.steps,
                    .joins = plan_.joins});
  }
}

// Nothing: the checkpoint cannot be used, and the rank ends of it.
std::optional<std::int64_t> Rank::resume() {
  if (plan_.checkpoint.empty() || !process_->file_exists(plan_.checkpoint)) return 0;
  const Result<std::string> content = process_->read_file(plan_.checkpoint);
  if (!content) {
    fail_with(content.error(), 1);
    return std::nullopt;
  }
  std::string_view text = *content;
  const bool known = text.starts_with(checkpoint_magic);
  if (known) text.remove_prefix(checkpoint_magic.size() + 1);
  const auto step = take_number<std::int64_t>(text);
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  const auto shapes = take_number<std::uint64_t>(text);
  if (!known || !step || !shapes) {
    fail_with(Error{Reason::invalid,
                    "RuntimeError",
                    fmt::format("checkpoint {} is damaged", plan_.checkpoint),
                    nullptr,
                    0,
                    {}},
              1);
    return std::nullopt;
  }
  if (*shapes != plan_.shapes) {
    fail_with(Error{Reason::invalid,
                    "RuntimeError",
                    "Error(s) in loading state_dict: size mismatch: the checkpoint was made with "
                    "another model",
                    nullptr,
                    0,
                    {}},
              1);
    return std::nullopt;
  }
  process_->print(fmt::format("resumed from step {}", *step));
  return step;
}

void Rank::step_done(std::int64_t step) {
  print_step(step);
  const bool last = step == plan_.steps;
  const bool due = last || (plan_.checkpoint_every > 0 && step % plan_.checkpoint_every == 0);
  if (!plan_.checkpoint.empty() && place_.rank == 0 && due) save(step);
  if (leaving_ || !allocate_if_due(step) || !write_if_due(step)) return;
  done_ = step;
  if (term_came_) return handle_term();
  fail_if_due(step);
  if (!leaving_) plan_failure_within(step + 1);
}

// The loss falls, and is each rank's own, as of its own samples.
void Rank::print_step(std::int64_t step) {
  if (!process_->prints_steps()) return;
  if (plan_.prints.step) return print_own(*plan_.prints.step, step);
  const std::int64_t noise = static_cast<std::int64_t>(
      mixed(plan_.identity, static_cast<std::uint64_t>(step * place_.world_size + place_.rank)) %
      100);
  const std::int64_t loss = 100'000 / (step + 20) + noise;
  process_->print(fmt::format("step {}/{} rank {} loss {}.{:04}", step, plan_.steps, place_.rank,
                              loss / 10'000, loss % 10'000));
}

void Rank::print_own(const std::vector<std::string>& lines, std::int64_t step) {
  const LineFacts facts{place_.rank, place_.world_size, plan_.steps, step};
  for (const std::string& line : lines) process_->print(filled_in(line, facts));
}

void Rank::save(std::int64_t step) {
  Status saved = process_->write_file(
      plan_.checkpoint, fmt::format("{} {} {}", checkpoint_magic, step, plan_.shapes));
  if (saved) saved = process_->append_blank(plan_.checkpoint, {.written = plan_.checkpoint_bytes});
  if (!saved) return fail_with(saved.error(), 1);
  if (process_->prints_steps()) process_->print(fmt::format("checkpoint step {}", step));
}

// Step 0 is the start. False: it could not, and leaves.
bool Rank::write_if_due(std::int64_t step) {
  const LineFacts facts{place_.rank, place_.world_size, plan_.steps, step};
  for (const Writes& one : plan_.writes) {
    const bool is_due = one.every == 0 ? step == 0 : step > 0 && step % one.every == 0;
    if (!is_due || one.rank.value_or(place_.rank) != place_.rank) continue;
    const std::string path = filled_in(one.path, facts);
    process_->make_room(path);
    Status written = one.every == 0 ? process_->write_file(path, "") : Status();
    if (written) written = process_->append_blank(path, {.written = one.bytes});
    if (!written) return fail_with(written.error(), 1), false;
  }
  return true;
}

// False: it was killed for it.
bool Rank::allocate_if_due(std::int64_t step) {
  if (plan_.allocate == 0 || step != plan_.allocate_at_step) return true;
  if (plan_.allocate_rank.value_or(place_.rank) != place_.rank) return true;
  process_->print(fmt::format("allocating {} bytes rank {}", plan_.allocate, place_.rank));
  return process_->allocate(plan_.allocate);
}

// True for the first time only.
bool Rank::leave_mark() {
  if (plan_.checkpoint.empty())
    return process_->state().container->config.attempt == 0 && place_.attempt == "0";
  const std::string mark = fmt::format("{}.failed-rank-{}", plan_.checkpoint, place_.rank);
  if (process_->file_exists(mark)) return false;
  const Status left = process_->write_file(mark, {});
  if (!left) fail_with(left.error(), 1);
  return left.has_value();
}

void Rank::fail_if_due(std::int64_t step) {
  if (plan_.fail_within_step || step != plan_.fail_at_step) return;
  fail_now();
}

// In the middle of the step's own work, which others have entered or will.
void Rank::plan_failure_within(std::int64_t step) {
  if (!plan_.fail_within_step || step != plan_.fail_at_step) return;
  process_->work(plan_.before / 2, [this] {
    if (!leaving_) fail_now();
  });
}

void Rank::fail_now() {
  if (plan_.fail_rank.value_or(place_.rank) != place_.rank) return;
  if (plan_.fail_once && !leave_mark()) return;
  if (plan_.fail_says) {
    for (const std::string& line : *plan_.fail_says)
      process_->print_error(
          filled_in(line, {place_.rank, place_.world_size, plan_.steps, plan_.fail_at_step}));
  } else {
    process_->print(fmt::format("failing rank {} at step {}", place_.rank, plan_.fail_at_step));
  }
  switch (plan_.fail_with) {
    case Failing::exit:
      if (!interpreter_) return process_->exit(plan_.fail_code);
      return leave_by_exception(plan_.fail_code);
    case Failing::abort:
      return process_->die(SIGABRT);
    case Failing::segv:
      return process_->die(SIGSEGV);
    case Failing::hang:
      if (Training* training = find_training()) training->hang(place_.rank);
      return;
  }
}

void Rank::trained() {
  if (plan_.prints.finished) {
    print_own(*plan_.prints.finished, plan_.steps);
  } else {
    const std::uint64_t seed = mixed(plan_.identity, static_cast<std::uint64_t>(plan_.steps));
    process_->print(fmt::format("finished rank {} steps {} parameters {:016x}", place_.rank,
                                plan_.steps,
                                mixed(seed, static_cast<std::uint64_t>(place_.world_size))));
  }
  leave(plan_.exit_code, torch().clean_closing.on(machine()), torch().clean_leaving.on(machine()));
}

void Rank::lost(const Loss& loss) {
  if (loss.kind == Loss::Kind::other_size) {
    for (std::string& line : tensor_size(torch(), loss)) process_->print_error(std::move(line));
    return process_->die(SIGABRT);
  }
  if (loss.kind == Loss::Kind::other_shapes)
    return fail_with(other_shapes(place_.rank, plan_.first_shape), 1);
  fail_with(loss_error(torch(), loss, plan_.timeout), plan_.peer_loss_code);
}

void Rank::fail_with(const Error& error, int code) {
  if (leaving_) return;
  // Once it has joined, 2.x says whose traceback it is; a script that ends by a code of its own has
  // caught the exception.
  const bool named = torch().names_ranks && interpreter_ && training_ != 0 && code == 1;
  process_->print_error((named ? fmt::format("[rank{}]: ", place_.rank) : "") + error.text());
  leave_by_exception(code);
}

void Rank::leave_by_exception(int code) {
  leave(code, torch().closing.on(machine()) - plan_.sooner,
        torch().leaving.on(machine()) - plan_.sooner);
}

// §3.1, §9.3: an interpreter closes its sockets on its way out, and is gone later.
void Rank::leave(int code, Duration closing, Duration leaving) {
  if (leaving_) return;
  leaving_ = true;
  attendee_.reset();
  if (!interpreter_) return process_->exit(code);
  if (Training* training = find_training()) training->leave(place_.rank);
  process_->work(closing, [this] {
    if (Training* training = find_training()) training->close(place_.rank);
  });
  process_->work(leaving, [this, code] { process_->exit(code); });
}

// It has no handler of signals: as process 1 it outlasts SIGTERM.
class Server final : public Program {
 public:
  Server(std::vector<ListeningPort> listens, Duration start)
      : listens_(std::move(listens)), start_(start) {}
  void start(Process& process) override {
    process.work(start_, [this, &process] {
      for (const ListeningPort& one : listens_)
        static_cast<void>(
            process.network().listen(process.ip(), one.port, process.id(), nullptr, one.answers));
    });
  }

 private:
  std::vector<ListeningPort> listens_;
  Duration start_;
};

}  // namespace

RankPlan plan_of(const Workload& workload, const Model& model) {
  const TorchProfile& torch = *model.torch;
  const Machine machine = model.timing->machine;
  RankPlan plan;
  plan.start = workload.start.value_or(torch.python_start.on(machine));
  plan.start_varies = !workload.start;
  plan.first_ddp = workload.ddp ? torch.first_ddp.on(machine) : Duration::zero();
  plan.sooner = workload.ddp ? Duration::zero() : torch.without_ddp;
  plan.memory = workload.memory + (workload.ddp ? torch.python_memory : torch.plain_memory);
  plan.steps = workload.steps;
  plan.before = workload.step_time;
  plan.bytes = workload.gradient_bytes;
  plan.shapes = workload.gradient_bytes;
  plan.first_shape = fmt::format("[{}]", workload.gradient_bytes / sizeof(float));
  plan.timeout = workload.timeout;
  plan.checkpoint = workload.checkpoint;
  plan.checkpoint_every = workload.checkpoint_every;
  plan.checkpoint_bytes = workload.checkpoint_bytes;
  plan.writes = workload.writes;
  plan.exit_code = workload.exit_code;
  plan.listens = workload.listens;
  plan.peer_loss_code = workload.peer_loss_code;
  plan.fail_at_step = workload.fail_at_step.value_or(0);
  plan.fail_code = workload.fail_code;
  plan.fail_rank = workload.fail_rank;
  plan.fail_once = workload.fail_once;
  plan.fail_within_step = workload.fail_within_step;
  if (!workload.fail_says.empty()) plan.fail_says = workload.fail_says;
  plan.ranks = workload.ranks;
  plan.joins = workload.joins;
  plan.on_term = workload.on_term;
  plan.identity = workload.gradient_bytes;
  plan.prints = workload.prints;
  return plan;
}

std::unique_ptr<Program> make_server(std::vector<ListeningPort> listens, Duration start) {
  return std::make_unique<Server>(std::move(listens), start);
}

std::unique_ptr<Program> make_rank(bool interpreter, std::function<RankPlan(const Model&)> plan) {
  return std::make_unique<Rank>(interpreter, std::move(plan));
}

}  // namespace ddptwin::model
