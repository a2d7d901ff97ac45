#include "runtime/model/torchrun/test_pods.hpp"

#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::torchrun {

class Pods::Holder final : public model::Program {
 public:
  Holder(const Pods& pods, Pod& pod) : pods_(pods), pod_(pod) {}
  void start(model::Process&) override {}
  bool signal(model::Process&, int) override { return true; }
  void child_exited(model::Process&, model::ProcessId child,
                    const model::ExitStatus& status) override {
    if (child == pod_.agent) pod_.end = End{pods_.now(), status};
  }

 private:
  const Pods& pods_;
  Pod& pod_;
};

Pods::Pods(const model::TorchProfile& torch, std::uint64_t seed)
    : begin_(1'795'000'000s), loop_(Random(seed), begin_) {
  const model::Model model{&torch, &model::host_timing, 2};
  const Lane dns = loop_.new_lane();
  const auto lookup = [this, dns](const model::DnsQuestion& question,
                                  UniqueFunction<void(model::DnsAnswer)> done) {
    model::DnsAnswer answer{model::DnsOutcome::nx_domain, {}};
    for (std::size_t number = 0; number < pods_.size(); ++number)
      if (question.name == pods_[number]->state.config.hostname)
        answer = {model::DnsOutcome::found, {ip(static_cast<int>(number))}};
    loop_.post(dns, [answer, done = std::move(done)]() mutable { done(answer); });
  };
  model::Kernel::Hooks hooks{};
  hooks.ended = [](model::ModelContainer&, const model::ExitStatus&) {};
  hooks.process_ended = [](model::ProcessId, const model::ExitStatus&) {};
  hooks.printed = [this](model::ModelContainer& container) {
    for (model::PrintedLine& line : container.untold)
      lines_.push_back({now(), container.pod->config.hostname, std::move(line.text)});
    container.untold.clear();
  };
  kernel_ = std::make_unique<model::Kernel>(loop_, Random(seed).split("runtime"), model, lookup,
                                            true, std::move(hooks));
}

Pods::~Pods() = default;

void Pods::add(int count) {
  for (int i = 0; i < count; ++i) {
    const int number = static_cast<int>(pods_.size());
    pods_.push_back(std::make_unique<Pod>());
    Pod& made = *pods_.back();
    const std::string name = "pod-" + std::to_string(number);
    made.state.config.hostname = made.state.config.name = made.state.config.uid = name;
    made.state.config.dns.servers = {"10.96.0.10"};
    made.state.lane = loop_.new_lane();
    made.state.address = ip(number);
    made.container.pod = &made.state;
    made.container.image = &image_;
    made.container.workload = described ? &workload : nullptr;
    made.container.config.name = "pytorch";
    RuntimeMount hosts{};
    hosts.container_path = "/etc/hosts";
    hosts.content = "127.0.0.1 localhost\n" + ip(number) + " " + name + "\n";
    made.container.config.mounts.push_back(hosts);
    kernel_->network().attach(made.state.address);
    made.holder =
        kernel_->make(made.container, {{"holder"}, {}, std::make_unique<Holder>(*this, made)});
    kernel_->begin(made.holder);
  }
}

void Pods::start(int number, const model::Environment& environment) {
  Pod& in = *pods_.at(static_cast<std::size_t>(number));
  in.end.reset();
  in.agent = kernel_->make(in.container,
                           {command, environment, make_torchrun(*launch_of(command)), in.holder});
  kernel_->begin(in.agent);
}

void Pods::kill_pod(int number) {
  constexpr int sigkill = 9;
  const Pod& in = pod(number);
  const std::vector<model::ProcessId> processes = in.container.processes;
  for (const model::ProcessId process : processes)
    if (process != in.holder) kernel_->signal(process, sigkill);
}

void Pods::signal_agent(int number, int signal) { kernel_->signal(pod(number).agent, signal); }

void Pods::signal_worker(int number, int signal, int local_rank) {
  kernel_->signal(worker(number, local_rank)->id(), signal);
}

std::optional<Duration> Pods::until(const std::function<bool()>& holds, Duration limit) {
  const Duration end = now() + limit;
  while (!holds()) {
    if (now() >= end) return std::nullopt;
    run(10ms);
  }
  return now();
}

bool Pods::agent_runs(int number) const { return kernel_->find(pod(number).agent) != nullptr; }

const std::optional<Pods::End>& Pods::agent_end(int number) const { return pod(number).end; }

const model::Process* Pods::worker(int number, int local_rank) const {
  for (const model::ProcessId id : pod(number).container.processes) {
    const model::Process* process = kernel_->find(id);
    if (process != nullptr && process->env("LOCAL_RANK") == std::to_string(local_rank))
      return process;
  }
  return nullptr;
}

int Pods::workers(int number) const {
  int count = 0;
  for (const model::ProcessId id : pod(number).container.processes) {
    const model::Process* process = kernel_->find(id);
    if (process != nullptr && !process->env("LOCAL_RANK").empty()) ++count;
  }
  return count;
}

std::string Pods::worker_env(int number, std::string_view name, int local_rank) const {
  const model::Process* process = worker(number, local_rank);
  return process == nullptr ? std::string("(no worker)") : std::string(process->env(name));
}

std::optional<Duration> Pods::line(int number, std::string_view text, Duration since) const {
  for (const Line& line : lines_)
    if (line.at >= since && line.pod == pod(number).state.config.hostname &&
        line.text.find(text) != std::string::npos)
      return line.at;
  return std::nullopt;
}

std::string Pods::log(int number) const {
  std::string out{};
  for (const Line& line : lines_)
    if (line.pod == pod(number).state.config.hostname)
      out += std::to_string(seconds_of(line.at)) + " " + line.text + "\n";
  return out;
}

}  // namespace ddptwin::torchrun
