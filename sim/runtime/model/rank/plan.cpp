#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/model/rank/rank.hpp"

namespace ddptwin::model {
namespace {

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

RankPlan plan_of(const Workload& workload, const Model& model, Backend said) {
  const TorchProfile& torch = *model.torch;
  const Machine machine = model.timing->machine;
  RankPlan plan;
  plan.backend = workload.backend.value_or(said);
  plan.destroys = workload.destroys;
  Duration python_start = torch.python_start.on(machine);
  if (plan.backend == Backend::nccl && torch.nccl != nullptr)
    python_start = std::max(python_start, torch.nccl->python_start);
  plan.start = workload.start.value_or(python_start);
  plan.start_varies = !workload.start;
  plan.first_ddp = workload.ddp ? torch.first_ddp.on(machine) : Duration::zero();
  plan.sooner = workload.ddp ? Duration::zero() : torch.without_ddp;
  plan.memory = workload.memory + (workload.ddp ? torch.python_memory : torch.plain_memory);
  plan.steps = workload.steps;
  plan.before = workload.step_time;
  plan.bytes = workload.gradient_bytes;
  plan.shapes = workload.gradient_bytes;
  plan.first_shape = fmt::format("[{}]", workload.gradient_bytes / sizeof(float));
  plan.timeout = workload.timeout.value_or(row_of(plan.backend).timeout(torch));
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

}  // namespace ddptwin::model
