#include "runtime/model/rank/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/communicator.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/model/mesh.hpp"
#include "runtime/model/messages.hpp"
#include "runtime/model/nccl_messages.hpp"
#include "runtime/model/rank/environment.hpp"
#include "runtime/model/store.hpp"
#include "runtime/model/watchdog.hpp"

namespace ddptwin::model {
namespace {

constexpr int lonely_port = 29500;     // torchrun's default
constexpr Duration eager_poll = 20ms;  // sim/workers/rendezvous.cpp
constexpr std::string_view checkpoint_magic = "ddptwin checkpoint";

std::uint64_t mixed(std::uint64_t one, std::uint64_t other) {
  return Random(one).split(other).next();
}

class Rank final : public Program, public Trainee {
 public:
  Rank(bool interpreter, MakePlan plan) : interpreter_(interpreter), make_plan_(std::move(plan)) {}

  void start(Process& process) override {
    process_ = &process;
    plan_ = make_plan_(process);
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
    if (joiner_) joiner_->progress();
  }
  void ended(Process& process, const ExitStatus&) override {
    attendee_.reset();
    joiner_.reset();
    if (Training* training = find_training()) training->close(place_.rank);
    Trainings& trainings = process.state().kernel->trainings();
    trainings.process_ended(process.id());
    trainings.swept(training_, process.lane());
  }

  Process& process() override { return *process_; }
  void step_done(std::int64_t step) override;
  void trained() override;
  void lost(const Loss& loss) override;
  void peer_dumps(int rank) override;

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
  void meet_later();
  void joined();
  void enter_training();
  void connect_group();
  void train();
  void stand(const Loss& loss);
  void tell_of_group();
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
  const BackendRow& backend() const { return row_of(plan_.backend); }

  bool interpreter_;
  MakePlan make_plan_;
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
  bool joined_ = false;
  bool standing_ = false;  // in a collective that failed, until a watchdog ends it
  std::int64_t done_ = 0;  // steps
  std::unique_ptr<StoreServer> server_{};
  std::unique_ptr<StoreClient> client_{};
  std::unique_ptr<Attendee> attendee_{};
  std::unique_ptr<Joiner> joiner_{};
  std::unique_ptr<Watchdog> watchdog_{};
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
  if (training != nullptr && entered_ && !standing_ && !training->in_collective(place_.rank))
    handle_term();
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
  if (backend().meets_in_collective) return meet_later();
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
        training_ = (*training)->id();
        attendee_.reset();
        joined();
      });
  attendee_->start();
}

// gpu.md §5: the store is all that init_process_group waits for.
void Rank::meet_later() {
  const NcclProfile* nccl = torch().nccl;
  if (nccl == nullptr) return fail_with(nccl_not_built(), 1);
  if (backend().needs_gpu && cards_of(*process_).empty()) return fail_with(no_gpus(*nccl), 1);
  process_->work(nccl->join.drawn(process_->random()), [this] { joined(); });
}

void Rank::joined() {
  joined_ = true;
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
  if (backend().meets_in_collective) return connect_group();
  train();
}

void Rank::connect_group() {
  if (client_->server() == nullptr) return fail_with(unique_id_lost(torch(), place_.rank), 1);
  client_->on_lost([this] {
    if (!joiner_) return;
    client_->tell_of_the_end();
    joiner_->store_lost();
  });
  const bool has_attempts = place_.uses_agent_store && torch().attempt_keys;
  const std::vector<std::string> cards = cards_of(*process_);
  const std::size_t card = card_of(*process_, cards.size());
  joiner_ = std::make_unique<Joiner>(
      *process_,
      client_->server()->groups().communicator(has_attempts ? place_.attempt : std::string()),
      Joiner::Place{place_.rank, place_.world_size, plan_.timeout, client_->server_ip(),
                    cards[card], bus_of(card)},
      [this](const Result<Training*>& training) {
        if (!training) return fail_with(training.error(), 1);
        training_ = (*training)->id();
        joiner_.reset();
        train();
      });
  joiner_->start();
}

void Rank::train() {
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
                    .done = done_,
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
  if (!plan_.destroys) tell_of_group();
  leave(plan_.exit_code, torch().clean_closing.on(machine()), torch().clean_leaving.on(machine()));
}

// The destructor of ProcessGroupNCCL does, in the first rank of each host.
void Rank::tell_of_group() {
  if (!backend().stands_after_loss || !joined_ || !torch().names_ranks) return;
  if (const std::size_t cards = cards_of(*process_).size();
      cards > 0 && static_cast<std::size_t>(place_.rank) % cards == 0)
    process_->print_error(not_destroyed(place_.rank));
}

// Its caller is within the collective, and hears of nothing.
void Rank::stand(const Loss& loss) {
  standing_ = true;
  watchdog_ = std::make_unique<Watchdog>(*process_);
  const FailedWork work{place_.rank, plan_.bytes / sizeof(float), plan_.timeout, loss};
  const std::optional<Error> raised = watchdog_->failed(work, [this] {
    if (Training* training = find_training()) training->dumps(place_.rank);
  });
  if (raised) fail_with(*raised, plan_.peer_loss_code);
}

void Rank::peer_dumps(int rank) {
  if (leaving_ || !torch().names_ranks) return;
  for (std::string& line : dump_signal_of(place_.rank, rank, done_))
    process_->print_error(std::move(line));
}

void Rank::lost(const Loss& loss) {
  if (backend().stands_after_loss && loss.kind != Loss::Kind::other_shapes) return stand(loss);
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
  const bool named = torch().names_ranks && interpreter_ && joined_ && code == 1;
  const std::string text = error.text();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    process_->print_error((named ? fmt::format("[rank{}]: ", place_.rank) : "") +
                          std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  tell_of_group();
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
  joiner_.reset();
  if (!interpreter_) return process_->exit(code);
  if (Training* training = find_training()) training->leave(place_.rank);
  process_->work(closing, [this] {
    if (Training* training = find_training()) training->close(place_.rank);
  });
  process_->work(leaving, [this, code] { process_->exit(code); });
}

}  // namespace

std::unique_ptr<Program> make_rank(bool interpreter, MakePlan plan) {
  return std::make_unique<Rank>(interpreter, std::move(plan));
}

}  // namespace ddptwin::model
