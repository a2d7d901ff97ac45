// Carries a scenario out: takes its steps, judges its expectations, watches the invariants. It acts
// through the API and the ports of containers, and learns of everything from the trace.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "controller/manager/pod_autoscaler/metrics.hpp"
#include "runtime/runtime.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/judge/expect.hpp"
#include "scenario/judge/outside_names.hpp"
#include "scenario/run/scale_to_zero.hpp"

namespace ddptwin::scenario {

struct StepResult {
  const Step* step = nullptr;
  Verdict verdict = Verdict::open;  // open: it was not reached, or is under way
  std::optional<Time> began_at{};
  std::optional<Time> ended_at{};
  std::string detail{};            // why it failed
  std::vector<std::string> why{};  // the same at length
};

// A signal to a process of a container, by the id that the runtime gave it. NotFound: none is
// meant.
using SignalPort = std::function<void(const ContainerId& id, int signal,
                                      const ProcessChoice& choice, Done<void> done)>;
// A command in a running container.
using ExecPort = std::function<void(const ContainerId& id, std::vector<std::string> command,
                                    Duration timeout, Done<ExecResult> done)>;
using MeasurePort = std::function<void(controller::pod_autoscaler::Measured measured)>;
struct ContainerPorts {
  SignalPort signal{};
  ExecPort exec{};
  MeasurePort measure{};
};
// As that runtime does them, and what its cluster's metrics server is to say.
template <class Runtime>
ContainerPorts ports_of(Runtime& runtime, controller::pod_autoscaler::MetricsApi& metrics) {
  return {.signal =
              [&runtime](const ContainerId& id, int signal, const ProcessChoice& choice,
                         Done<void> done) {
                runtime.signal_container(id, signal, choice, std::move(done));
              },
          .exec =
              [&runtime](const ContainerId& id, std::vector<std::string> command, Duration timeout,
                         Done<ExecResult> done) {
                runtime.exec(id, std::move(command), timeout, std::move(done));
              },
          .measure =
              [&metrics](controller::pod_autoscaler::Measured measured) {
                metrics.measure(std::move(measured));
              }};
}

class Engine {
 public:
  // All references outlive the engine. `over` is called once, on a lane of the engine. The engine
  // adds a sink to the trace: make it before the run begins.
  Engine(Loop& loop, Trace& trace, api::ApiClient& client, const Scenario& scenario,
         ContainerPorts containers, std::function<void()> over);

  // The scenario's time begins; its manifests are applied first.
  void start();
  // Ends the run now, judging things as they are.
  void finish();
  // Breaks it off: what is not decided yet stays open.
  void interrupt();
  // Also after the end: judges the invariants about what has come to rest by now.
  void pass();

  const Observer& observer() const { return observer_; }
  const OutsideNames& outside_names() const { return outside_names_; }
  void watch_host() { observer_.watch_host(); }  // before start(): it is a real run
  const std::vector<StepResult>& steps() const { return steps_; }
  const std::vector<ExpectationResult>& expectations() const { return expectations_.results(); }
  const std::vector<Violation>& violations() const { return invariants_.violations(); }
  // Every invariant that is watched, and whether it is as the scenario wants it.
  std::vector<InvariantWatch::Judged> invariants() const { return invariants_.judged(); }
  std::optional<Time> next_alarm() const { return invariants_.next_alarm(); }
  std::optional<Time> standstill_at() const { return invariants_.standstill_at(); }
  std::optional<Time> judged_next() const { return invariants_.judged_next(); }
  Time started_at() const { return started_at_; }
  Time ended_at() const { return ended_at_; }
  bool over() const { return stage_ == Stage::over; }
  bool timed_out() const { return timed_out_; }
  // How each job and each pod of its own had ended by the end, the bad first.
  const std::vector<std::string>& ends() const { return ends_; }

  // A container that a step is about.
  struct Target {
    std::shared_ptr<const Pod> pod{};
    const ContainerStatus* status = nullptr;  // of it
    std::string text() const;                 // "default/train-0/main"
    ContainerId id() const;
  };

 private:
  // Where the engine is within the step in hand.
  enum class Stage : std::uint8_t { idle, delay, when, acting, until, failed, over };

  void on_record(const Record& record);
  void wake();
  void tell_late();
  void check();
  void scale_to_zero();
  void scale_again(const Object& set, const Error& refusal);
  void end_run();
  void leave_step(Verdict verdict, std::string_view what);
  void fail_step(Reason reason, const std::string& what, const Selection& of);
  void begin_step();
  void enter(Stage stage);
  void delay_over();
  void act();
  void end_step(Status status);
  void look_at_state();
  void take_step_further();
  void state_is_so(const State& state);
  const State* awaited() const;
  bool waits_for_container() const;
  void report(const std::vector<const ExpectationResult*>& decided);
  void report_violations();
  void set_bound_timer();
  void set_step_timer();
  void write(RecordKind kind, const std::string& subject, const std::string& text,
             std::vector<std::pair<std::string_view, std::string>> values = {});
  std::string step_name() const;

  // engine_actions.cpp: each calls acted() when it is done.
  void act(const Apply& action);
  void act(const Delete& action);
  void act(const Evict& action);
  void act(const Kill& action);
  void killed(const std::string& subject, Status result);
  std::vector<Target> reach(const ToContainer& action, std::string_view what);
  void act(const Exec& action);
  void executed(const std::string& subject, const Result<ExecResult>& result);
  void act(const Patch& action);
  void act(const Wait& action);
  void act(const Measure& action);
  void apply_next(std::size_t index);
  void call_for_each(const Selection& of, std::string_view what,
                     const std::function<api::Request(const Object&)>& request);
  void change_existing(ObjectPtr object, std::size_t index);
  void acted(Status status);

  Loop& loop_;
  Trace& trace_;
  api::ApiClient& client_;
  const Scenario& scenario_;
  ContainerPorts containers_;
  std::function<void()> on_over_;
  Lane lane_;
  Observer observer_{};
  OutsideNames outside_names_;
  InvariantWatch invariants_;
  Expectations expectations_;
  ScaleToZero scale_to_zero_{};
  std::vector<Step> all_steps_{};  // the manifests' own first
  std::vector<StepResult> steps_{};
  std::size_t index_ = 0;
  Stage stage_ = Stage::idle;
  bool any_hit_ = false;   // of the processes that a kill means
  std::size_t to_do_ = 0;  // calls of the action that have not been answered
  std::size_t violations_reported_ = 0;
  bool awake_ = false;             // a check is posted
  bool state_seen_ = false;        // what the step in hand waits for was so since the stage began
  std::uint64_t step_cause_ = 0;   // what decided that
  std::uint64_t step_record_ = 0;  // of the beginning of the step in hand
  std::optional<std::uint64_t>
      given_up_{};  // the observer's ends() when its state could still come
  std::vector<const ExpectationResult*> decided_{};  // judged, not yet written
  bool timed_out_ = false;
  std::vector<std::string> ends_{};
  Time started_at_{}, ended_at_{};
  Timer delay_timer_{}, step_timer_{}, bound_timer_{}, timeout_timer_{}, scale_timer_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace ddptwin::scenario
