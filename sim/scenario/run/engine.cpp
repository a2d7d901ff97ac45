#include "scenario/run/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenario/judge/prospects.hpp"
#include "scenario/judge/why.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view actor = "scenario";

// Without its folder: the trace of a run depends on what a file says, not on where it lies.
std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The objects that stand beside the Scenario are its first step.
std::optional<Step> apply_manifests(const Scenario& scenario) {
  if (scenario.manifests.empty()) return std::nullopt;
  Apply apply;
  apply.manifests = scenario.manifests;
  Step step;
  step.text = fmt::format("apply {} object{} of {}", apply.manifests.size(),
                          apply.manifests.size() == 1 ? "" : "s", file_name(scenario.file));
  step.where = scenario.file;
  step.action = std::move(apply);
  return step;
}

}  // namespace

Engine::Engine(Loop& loop, Trace& trace, api::ApiClient& client, const Scenario& scenario,
               ContainerPorts containers, std::function<void()> over)
    : loop_(loop),
      trace_(trace),
      client_(client),
      scenario_(scenario),
      containers_(std::move(containers)),
      on_over_(std::move(over)),
      lane_(loop.new_lane()),
      outside_names_(scenario, observer_),
      invariants_(scenario.invariants),
      expectations_(scenario.expectations, observer_) {
  if (auto step = apply_manifests(scenario)) all_steps_.push_back(std::move(*step));
  all_steps_.insert(all_steps_.end(), scenario.steps.begin(), scenario.steps.end());
  for (const Step& step : all_steps_) {
    StepResult result;
    result.step = &step;
    steps_.push_back(std::move(result));
  }
  trace_.add_sink([this](const Record& record) { on_record(record); });
  trace_.set_keeper([this](Record&& record) { invariants_.keep(std::move(record)); });
}

void Engine::start() {
  started_at_ = loop_.now();
  expectations_.start(started_at_);
  timeout_timer_ = loop_.after(lane_, scenario_.timeout, [this] {
    timed_out_ = true;
    finish();
  });
  begin_step();
  wake();
}

void Engine::on_record(const Record& record) {
  observer_.on_record(record);
  outside_names_.on_record(record);
  invariants_.on_record(record);
  if (stage_ == Stage::idle) return;
  if (stage_ == Stage::over) {  // the world goes on, and what it breaks then is told then
    if (violations_reported_ < invariants_.violations().size()) tell_late();
    return;
  }
  // Judged at once: the next record may end the state. What is decided is written by check().
  const auto now_decided = expectations_.judge(loop_.now());
  decided_.insert(decided_.end(), now_decided.begin(), now_decided.end());
  if (const State* state = awaited(); state != nullptr && !state_seen_ && observer_.holds(*state))
    state_is_so(*state);
  wake();
}

void Engine::wake() {
  if (awake_ || stage_ == Stage::over || stage_ == Stage::idle) return;
  awake_ = true;
  loop_.post(lane_, [this] { check(); });
}

void Engine::tell_late() {
  if (awake_) return;
  awake_ = true;
  loop_.post(lane_, [this] {
    awake_ = false;
    report_violations();
  });
}

// It is posted by whatever record came first: each verdict and step has a cause of its own.
void Engine::check() {
  awake_ = false;
  if (stage_ == Stage::over) return;
  report_violations();
  report(std::exchange(decided_, {}));
  report(expectations_.judge(loop_.now()));
  if (scenario_.on_success == OnSuccess::scale_to_zero) scale_to_zero();
  look_at_state();
  const bool done = index_ == all_steps_.size();
  if (done) report(expectations_.give_up(loop_.now()));
  set_bound_timer();
  const bool failed = std::any_of(steps_.begin(), steps_.end(), [](const StepResult& result) {
    return result.verdict == Verdict::failed;
  });
  if (failed || (done && !expectations_.waiting())) finish();
}

void Engine::scale_to_zero() {
  for (ScaleToZero::Call& call : scale_to_zero_.due(observer_)) {
    const std::weak_ptr<int> alive = alive_;
    client_.call(std::move(call.request),
                 [this, alive, set = call.set](const Result<api::Response>& result) {
                   if (!result && !alive.expired() && stage_ != Stage::over)
                     scale_again(*set, result.error());
                 });
  }
}

// Whoever does it does not give up.
void Engine::scale_again(const Object& set, const Error& refusal) {
  write(RecordKind::step, "onSuccess: scaleToZero",
        fmt::format("{} is not scaled, it is tried again: {}", short_name(set), refusal.message));
  scale_to_zero_.refused(set);
  if (scale_timer_.pending()) return;
  scale_timer_ = loop_.after(lane_, ScaleToZero::patience, [this] {
    scale_to_zero_.try_again();
    wake();
  });
}

void Engine::finish() {
  if (stage_ == Stage::over) return;
  leave_step(Verdict::failed, "the run ended before");
  end_run();
  report(expectations_.finish(ended_at_));
  on_over_();
}

void Engine::interrupt() {
  if (stage_ == Stage::over) return;
  leave_step(Verdict::open, "the run was interrupted before");
  end_run();
  expectations_.leave_open();
  on_over_();
}

// The step in hand is not over.
void Engine::leave_step(Verdict verdict, std::string_view what) {
  if (stage_ == Stage::idle || index_ == all_steps_.size() ||
      steps_[index_].verdict != Verdict::open)
    return;
  StepResult& result = steps_[index_];
  result.verdict = verdict;
  const State* state = awaited();
  if (state == nullptr) {
    result.detail = fmt::format("{} it did", what);
    return;
  }
  Why found = why(observer_, state->of);
  result.detail = fmt::format("{} {}: {}{}", what, state->text, observer_.describe(state->of),
                              found.line.empty() ? "" : "; " + found.line);
  result.why = std::move(found.text);
}

void Engine::end_run() {
  for (Timer* timer : {&delay_timer_, &step_timer_, &bound_timer_, &timeout_timer_, &scale_timer_})
    timer->cancel();
  stage_ = Stage::over;
  ended_at_ = loop_.now();
  ends_ = told_ends(observer_);
  pass();
  report(std::exchange(decided_, {}));
}

void Engine::pass() {
  invariants_.pass(loop_.now());
  report_violations();
}

// ---- steps -------------------------------------------------------------------------------------

std::string Engine::step_name() const {
  const Step& step = all_steps_[index_];
  return step.name.empty() ? fmt::format("step {}", index_ + 1) : step.name;
}

void Engine::begin_step() {
  if (index_ == all_steps_.size()) {
    // Expectations may go on without a step in hand.
    stage_ = Stage::delay;
    return;
  }
  stage_ = Stage::delay;
  const Trigger& trigger = all_steps_[index_].trigger;
  Time due = loop_.now();
  if (trigger.after) due = due + *trigger.after;
  if (trigger.at) due = std::max(due, started_at_ + *trigger.at);
  delay_timer_ = loop_.at(lane_, due, [this] { delay_over(); });
}

void Engine::enter(Stage stage) {
  stage_ = stage;
  state_seen_ = false;
  step_cause_ = loop_.context();  // where it waits for nothing but the clock
  given_up_.reset();
}

void Engine::delay_over() {
  enter(Stage::when);
  set_step_timer();
  look_at_state();
  wake();
}

// A step whose states do not come true in time fails.
void Engine::set_step_timer() {
  const auto& within = all_steps_[index_].within;
  if (!within) return;
  step_timer_ = loop_.after(lane_, *within, [this, within] {
    if (stage_ != Stage::when && stage_ != Stage::until) return;
    const State* state = awaited();
    const ToContainer* about = about_containers(all_steps_[index_].action);
    const std::string detail = fmt::format("not so within {}", format_go_duration(*within));
    const ContextScope of_its_state(loop_,
                                    state != nullptr ? observer_.latest(*state) : step_cause_);
    if (state == nullptr && about == nullptr) return end_step(fail(Reason::timeout, detail));
    fail_step(Reason::timeout, detail, state != nullptr ? state->of : about->of);
  });
}

// Of a step that is about these objects.
void Engine::fail_step(Reason reason, const std::string& what, const Selection& of) {
  Why found = why(observer_, of);
  steps_[index_].why = std::move(found.text);
  end_step(fail(reason, fmt::format("{}: {}{}", what, observer_.describe(of),
                                    found.line.empty() ? "" : "; " + found.line)));
}

// The state that the step in hand waits for, or null.
const State* Engine::awaited() const {
  if (index_ == all_steps_.size()) return nullptr;
  const Step& step = all_steps_[index_];
  if (stage_ == Stage::when && step.trigger.when) return &*step.trigger.when;
  const Wait* wait = std::get_if<Wait>(&step.action);
  if (stage_ == Stage::until && wait != nullptr && wait->state) return &*wait->state;
  return nullptr;
}

void Engine::state_is_so(const State& state) {
  state_seen_ = true;
  step_cause_ = observer_.latest(state);
}

void Engine::look_at_state() {
  if (stage_ != Stage::when && stage_ != Stage::until) return;
  const State* state = awaited();
  if (state != nullptr && !state_seen_) {
    if (!observer_.holds(*state)) {
      // The steps that come later wait for this one.
      if (given_up_ != observer_.ends() && !may_come(observer_, *state)) {
        const ContextScope of_its_state(loop_, observer_.latest(*state));
        return fail_step(Reason::timeout, "it can never be so", state->of);
      }
      given_up_ = observer_.ends();
      return;
    }
    state_is_so(*state);
  }
  state_seen_ = true;  // of this stage; a kill may still wait for its container
  const ContextScope of_this_step(loop_, step_cause_);
  take_step_further();
}

void Engine::take_step_further() {
  if (stage_ == Stage::when) {
    if (!waits_for_container()) act();
    return;
  }
  end_step({});
}

void Engine::act() {
  stage_ = Stage::acting;
  StepResult& result = steps_[index_];
  result.began_at = loop_.now();
  write(RecordKind::step, step_name(), all_steps_[index_].text);
  step_record_ = loop_.context();
  std::visit([this](const auto& action) { act(action); }, all_steps_[index_].action);
}

void Engine::end_step(Status status) {
  step_timer_.cancel();
  StepResult& result = steps_[index_];
  result.verdict = status ? Verdict::held : Verdict::failed;
  result.ended_at = loop_.now();
  if (!result.began_at) result.began_at = result.ended_at;
  if (!status) {
    stage_ = Stage::failed;  // nothing is awaited any more
    result.detail = status.error().message;
    write(RecordKind::step, step_name(), "failed: " + result.detail);
  } else {
    write(RecordKind::step, step_name(), "done");
    expectations_.step_ended(all_steps_[index_].name, loop_.now());
    ++index_;
    begin_step();
  }
  wake();
}

// ---- verdicts ----------------------------------------------------------------------------------

void Engine::report(const std::vector<const ExpectationResult*>& decided) {
  for (const ExpectationResult* result : decided) {
    std::string text(to_string(result->verdict));
    if (!result->detail.empty()) text += ": " + result->detail;
    const ContextScope of_this_verdict(loop_, result->record);
    write(RecordKind::expectation, result->expectation->name, std::move(text));
  }
}

void Engine::report_violations() {
  while (violations_reported_ < invariants_.violations().size()) {
    invariants_.tell(violations_reported_, loop_.now());
    // A copy: to tell of it may show another.
    const Violation violation = invariants_.violations()[violations_reported_++];
    const ContextScope of_this_violation(loop_, violation.cause);
    write(RecordKind::invariant, std::string(violation.invariant), violation.text);
  }
}

void Engine::set_bound_timer() {
  const auto deadline = expectations_.deadline();
  if (!deadline) return bound_timer_.cancel();
  bound_timer_ = loop_.at(lane_, *deadline, [this] { wake(); });
}

void Engine::write(RecordKind kind, const std::string& subject, const std::string& text,
                   std::vector<std::pair<std::string_view, std::string>> values) {
  Record record;
  record.kind = kind;
  record.actor = actor;
  record.subject = subject;
  record.text = text;
  record.values = std::move(values);
  trace_.write(std::move(record));
}

}  // namespace ddptwin::scenario
