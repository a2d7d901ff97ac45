// How torchrun's agent ends its workers (spec/ddp-semantics.md §4.3, §4.4, §9.5): as long as they
// are given, in a pod that ends and in one whose worker fails.
#include <algorithm>
#include <ostream>

#include "property.hpp"
#include "runtime/model/torchrun/options.hpp"
#include "runtime/model/torchrun/test_pods.hpp"

namespace ddptwin::property::torchrun_properties_test {
namespace {

constexpr int sigkill = 9, sigterm = 15, sigstop = 19;
constexpr int default_timeout = 30;
constexpr Duration soon = 100ms, leaves_within = 3s;

// By what means it is said how long workers have after SIGTERM.
struct Said {
  int argument = 0, variable = 0, other_variable = 0;  // seconds; 0: not said there
};

struct Stop {
  bool later = true;  // PyTorch 2.x; 1.13 knows no such option
  Said said{};
  int workers = 1;
  int deaf = 0;      // a bit for each that takes no notice of signals
  int fails = 0;     // the worker that is killed, where not the agent is told to stop
  bool ends = true;  // the pod does: SIGTERM to the agent, SIGKILL to all after the grace period
  int grace = 30;
  std::uint64_t seed = 1;
};

void showValue(const Stop& stop, std::ostream& out) {
  out << (stop.later ? "2.x" : "1.13") << ", --shutdown-timeout " << stop.said.argument
      << ", PET_SHUTDOWN_TIMEOUT " << stop.said.variable << ", TORCH_ELASTIC_SHUTDOWN_TIMEOUT "
      << stop.said.other_variable << ", of " << stop.workers
      << " workers those are deaf: " << stop.deaf;
  if (stop.ends)
    out << ", the pod ends with a grace period of " << stop.grace << " s";
  else
    out << ", worker " << stop.fails << " fails";
  out << ", seed " << stop.seed;
}

Stop any_stop() {
  const auto seconds = gen::weightedOneOf<int>({{2, gen::just(0)}, {1, gen::inRange(1, 90)}});
  Stop stop;
  stop.later = *gen::weightedElement<bool>({{3, true}, {1, false}});
  if (stop.later) stop.said.argument = *seconds;
  stop.said.variable = *seconds;
  stop.said.other_variable = *seconds;
  stop.workers = *gen::inRange(1, 4);
  stop.deaf = *gen::inRange(0, 1 << stop.workers);
  stop.fails = *gen::inRange(0, stop.workers);
  stop.ends = *gen::arbitrary<bool>();
  stop.grace = *gen::element(5, 30, 60, 120);
  stop.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  return stop;
}

// The command line goes before what stands for it in the environment, and that before the other
// variable (§9.5).
Duration timeout_of(const Stop& stop) {
  if (!stop.later) return std::chrono::seconds(default_timeout);
  for (const int said : {stop.said.argument, stop.said.variable, stop.said.other_variable})
    if (said != 0) return std::chrono::seconds(said);
  return std::chrono::seconds(default_timeout);
}

class Node {
 public:
  explicit Node(const Stop& stop)
      : stop_(stop), pods_(stop.later ? model::torch_2 : model::torch_1, stop.seed) {
    pods_.workload.steps = 1'000'000;
    pods_.add(1);
    if (stop.said.argument != 0)
      pods_.command.insert(pods_.command.begin() + 1,
                           "--shutdown_timeout=" + std::to_string(stop.said.argument));
    model::Environment environment{{"PET_REDIRECTS", "0:1"},
                                   {"PET_TEE", "0:1"},
                                   {"PET_NNODES", "1"},
                                   {"PET_RDZV_BACKEND", "c10d"},
                                   {"PET_RDZV_ENDPOINT", "pod-0"},
                                   {"PET_RDZV_ID", "job"},
                                   {"PET_MONITOR_INTERVAL", "1"},
                                   {"PET_MAX_RESTARTS", "0"},
                                   {"PET_NPROC_PER_NODE", std::to_string(stop.workers)}};
    const auto say = [&](const char* name, int seconds) {
      if (seconds != 0) environment.emplace_back(name, std::to_string(seconds));
    };
    say("PET_SHUTDOWN_TIMEOUT", stop.said.variable);
    say("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", stop.said.other_variable);
    pods_.start(0, environment);
    RC_ASSERT(pods_.until([&] { return pods_.printed(0, "step 5/"); }, 60s).has_value());
    for (int rank = 0; rank < stop.workers; ++rank)
      if (is_deaf(rank)) pods_.signal_worker(0, sigstop, rank);
  }

  torchrun::Pods& pods() { return pods_; }
  bool is_deaf(int rank) const { return (stop_.deaf >> rank & 1) != 0; }
  // Those deaf ones that have not been killed.
  bool all_deaf_live() const {
    for (int rank = 0; rank < stop_.workers; ++rank)
      if (is_deaf(rank) && !(rank == stop_.fails && !stop_.ends) &&
          pods_.worker(0, rank) == nullptr)
        return false;
    return true;
  }
  bool any_deaf() const {
    const int killed = stop_.ends ? 0 : 1 << stop_.fails;
    return (stop_.deaf & ~killed) != 0;
  }
  void run_until(Duration time) { pods_.run(std::max(time - pods_.now(), Duration::zero())); }

 private:
  Stop stop_;
  torchrun::Pods pods_;
};

// The others go at once; the kubelet does not wait longer than the pod's grace period.
void judge_end_of_pod(Node& node, const Stop& stop) {
  torchrun::Pods& pods = node.pods();
  const Duration sent = pods.now();
  const Duration grace = std::chrono::seconds(stop.grace);
  pods.signal_agent(0, sigterm);
  const Duration last = node.any_deaf() ? std::min(timeout_of(stop), grace) : 0s;
  node.run_until(sent + soon);
  for (int rank = 0; rank < stop.workers; ++rank)
    RC_ASSERT((pods.worker(0, rank) != nullptr) == node.is_deaf(rank));
  if (node.any_deaf()) {
    node.run_until(sent + last - soon);
    RC_ASSERT(node.all_deaf_live());
    RC_ASSERT(pods.agent_runs(0));
  }
  const bool in_time = last + leaves_within < grace;
  if (!in_time) {
    node.run_until(sent + grace);
    pods.kill_pod(0);
  }
  node.run_until(sent + last + soon);
  RC_ASSERT(pods.workers(0) == 0);
  node.run_until(sent + last + leaves_within);
  RC_LOG() << pods.log(0);
  RC_ASSERT(pods.agent_end(0).has_value());
  if (in_time) RC_ASSERT(pods.agent_end(0)->status.shown() == 1);  // and not 143 (§4.4)
}

// The agent notices it at its next look.
void judge_failure(Node& node, const Stop& stop) {
  torchrun::Pods& pods = node.pods();
  const Duration failed = pods.now();
  pods.signal_worker(0, sigkill, stop.fails);
  node.run_until(failed + 2s);
  if (node.any_deaf()) {
    const auto sent = pods.line(0, "closing signal SIGTERM", failed);
    RC_ASSERT(sent.has_value());
    const Duration last = *sent + timeout_of(stop);
    node.run_until(std::max(failed + 2s, last - soon));
    if (last - soon >= failed + 2s) RC_ASSERT(node.all_deaf_live());
    node.run_until(std::max(failed + 2s, last) + soon);
  }
  RC_LOG() << pods.log(0);
  RC_ASSERT(pods.workers(0) == 0);
}

TEST(TorchrunProperties, WorkersHaveAsLongAsItIsSaidAfterSigterm) {
  holds([] {
    const auto drawn = gen::resize(rc::kNominalSize, gen::exec(any_stop));
    const Stop stop = *drawn.as("stop");
    Node node(stop);
    if (stop.ends)
      judge_end_of_pod(node, stop);
    else
      judge_failure(node, stop);
  });
}

// --- where agents meet ---

// Whether the command line says it, the environment, or nobody; a command line is believed first
// (spec/ddp-semantics.md §4.1, §9.5).
struct Told {
  std::optional<std::string> flag{}, variable{};
  const std::string* said() const { return flag ? &*flag : variable ? &*variable : nullptr; }
};

TEST(TorchrunProperties, AgentsMeetWhereTheyAreTold) {
  holds([] {
    std::vector<std::string> arguments;
    StringMap environment;
    const auto told = [&](const std::string& option, const std::vector<std::string>& values) {
      Told one;
      if (*gen::weightedElement<bool>({{3, false}, {1, true}}))
        one.flag = *gen::elementOf(values).as("--" + option);
      if (*gen::weightedElement<bool>({{2, false}, {1, true}}))
        one.variable = *gen::elementOf(values).as("variable of " + option);
      if (one.flag) arguments.push_back("--" + option + "=" + *one.flag);
      std::string name = "PET_" + option;
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (one.variable) environment.insert_or_assign(name, *one.variable);
      return one;
    };
    const Told nodes = told("nnodes", {"1", "1:1", "2", "1:2"});
    const Told endpoint = told("rdzv_endpoint", {"a:1000", "b:2000"});
    const Told backend = endpoint.said() ? told("rdzv_backend", {"static", "c10d"}) : Told();
    const Told address = told("master_addr", {"m", "n"});
    const Told port = told("master_port", {"3000", "4000"});
    const Told id = told("rdzv_id", {"x", "y"});
    const bool standalone = *gen::weightedElement<bool>({{4, false}, {1, true}}).as("standalone");
    if (standalone) arguments.emplace_back("--standalone");
    arguments.emplace_back("train.py");
    const bool new_one = *gen::arbitrary<bool>().as("2.x");
    const auto options =
        torchrun::read_options(new_one ? torchrun::torchrun_2 : torchrun::torchrun_1, "torchrun",
                               arguments, environment, {2, 0, "unique"});
    RC_ASSERT(options.has_value());

    const auto or_else = [](const Told& one, const std::string& otherwise) {
      return one.said() ? *one.said() : otherwise;
    };
    const bool one_node = !or_else(nodes, "1").ends_with('2');
    std::string wanted_backend = or_else(backend, "static"), wanted_id = or_else(id, "none");
    std::string where =
        or_else(endpoint, or_else(address, "127.0.0.1") + ":" + or_else(port, "29500"));
    const bool alone = new_one && one_node && !endpoint.said() && !port.said();
    if (standalone || alone) {
      wanted_backend = "c10d";
      where = new_one ? "localhost:0" : "localhost:29400";
      wanted_id = "unique";
    }
    RC_ASSERT((options->backend == torchrun::Backend::c10d) == (wanted_backend == "c10d"));
    RC_ASSERT(options->endpoint.host + ":" + std::to_string(options->endpoint.port) == where);
    RC_ASSERT(options->run_id == wanted_id);
  });
}

}  // namespace
}  // namespace ddptwin::property::torchrun_properties_test
