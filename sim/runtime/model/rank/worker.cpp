// The built-in worker: its own command line, as sim/workers reads it.
#include <fmt/format.h>

#include "runtime/model/commands.hpp"
#include "runtime/model/rank/rank.hpp"
#include "workers/options.hpp"

namespace ddptwin::model {
namespace {

constexpr std::string_view torch_program = "ddptwin-worker", gloo_program = "ddptwin-worker-gloo";
constexpr Duration step_work = 200us;              // ddp-semantics §7.1: one MLP step by itself
constexpr std::int64_t features = 32;              // sim/workers/data.hpp
constexpr std::uint64_t torch_memory = 2U << 20U;  // §1.3: private bytes of a fork from the zygote

std::uint64_t add(std::uint64_t identity, std::uint64_t part) {
  return Random(identity).split(part).next();
}

// What decides which parameters the training ends with.
std::uint64_t identity_of(const workers::Options& options, bool gloo) {
  std::uint64_t identity = gloo ? 1 : 0;
  for (const std::int64_t part :
       {options.seed, options.hidden, options.batch, options.dataset,
        static_cast<std::int64_t>(options.learning_rate * 1e9),
        static_cast<std::int64_t>(options.momentum * 1e9), std::int64_t{options.shuffle}})
    identity = add(identity, static_cast<std::uint64_t>(part));
  return identity;
}

Failing failing(workers::FailureMode mode) {
  switch (mode) {
    case workers::FailureMode::exit:
      return Failing::exit;
    case workers::FailureMode::abort:
      return Failing::abort;
    case workers::FailureMode::segv:
      return Failing::segv;
    case workers::FailureMode::hang:
      return Failing::hang;
  }
  return Failing::exit;
}

RankPlan plan_of(const workers::Options& options, bool gloo, const Model& model) {
  const auto hidden = static_cast<std::uint64_t>(options.hidden);
  const std::uint64_t parameters =
      gloo ? features + 1 : (features + 1) * hidden + (hidden + 1) * hidden + hidden + 1;
  RankPlan plan;
  plan.start = gloo ? model.timing->program_start : model.timing->worker_start;
  plan.memory = torch_memory;
  plan.steps = options.steps;
  plan.before = step_work;
  plan.step_time = options.step_time;
  plan.bytes = parameters * sizeof(float);
  plan.shapes = parameters;
  plan.first_shape = fmt::format("[{}, {}]", gloo ? 1 : options.hidden, features);
  if (options.backend == workers::Backend::nccl) {
    plan.backend = Backend::nccl;
    if (model.torch->nccl != nullptr) plan.start = model.torch->nccl->worker_start;
  }
  plan.timeout = options.timeout;
  plan.eager_connect = options.eager_connect;
  plan.checkpoint = options.checkpoint;
  plan.checkpoint_every = options.checkpoint_every;
  plan.peer_loss_code = options.peer_loss_code;
  plan.fail_at_step = options.fail_at_step;
  plan.fail_code = options.fail_code;
  plan.fail_with = failing(options.fail_with);
  plan.fail_rank = options.fail_rank;
  plan.fail_once = options.fail_once;
  plan.allocate = options.allocate;
  plan.allocate_at_step = options.allocate_at_step;
  plan.allocate_rank = options.allocate_rank;
  plan.identity = identity_of(options, gloo);
  return plan;
}

// What it says when it does not train: each line on stderr or stdout, and a code.
class Refusal final : public Program {
 public:
  Refusal(std::string line, int code) : line_(std::move(line)), code_(code) {}
  void start(Process& process) override {
    process.print_error(std::move(line_));
    process.exit(code_);
  }
  bool is_first_process() const override { return false; }

 private:
  std::string line_;
  int code_;
};

class Help final : public Program {
 public:
  explicit Help(std::string text) : text_(std::move(text)) {}
  void start(Process& process) override {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      process.print(std::string(rest.substr(0, end)));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    process.exit(0);
  }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Program> make_worker(const std::vector<std::string>& argv) {
  const std::string name = base_name(argv.front());
  const workers::Parsed parsed = workers::parse_options({argv.begin() + 1, argv.end()});
  if (!parsed.error.empty())
    return std::make_unique<Refusal>(fmt::format("{}: {}", torch_program, parsed.error), 2);
  if (parsed.help) return std::make_unique<Help>(workers::help_text(name));
  if (parsed.version) return std::make_unique<Help>(fmt::format("{} (modelled)\n", name));
  if (parsed.options.zygote)
    return std::make_unique<Refusal>(
        fmt::format("{}: --zygote is for a process only", torch_program), 2);
  const bool gloo = parsed.options.engine ? *parsed.options.engine == workers::Engine::gloo
                                          : name == gloo_program;
  if (gloo && parsed.options.backend == workers::Backend::nccl)
    return std::make_unique<Refusal>("RuntimeError: Distributed package doesn't have NCCL built in",
                                     1);
  return make_rank(false, [options = parsed.options, gloo](const Process& process) {
    return plan_of(options, gloo, process.model());
  });
}

}  // namespace ddptwin::model
