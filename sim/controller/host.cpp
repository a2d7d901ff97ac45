#include "controller/host.hpp"

#include <algorithm>
#include <array>

#include "core/concat.hpp"

namespace ddptwin::controller {

using namespace std::string_view_literals;

const Rule await_own_writes{"await_own_writes", "KEP-5647"};

// A process that crashed is started again by its kubelet: soon, then after 10 s, doubling to
// 300 s; ten minutes of health clear that (spec/kubernetes.md §2).
namespace {

constexpr Duration restart_first = std::chrono::seconds(1);
constexpr Duration restart_base = std::chrono::seconds(10);
constexpr Duration restart_max = std::chrono::seconds(300);
constexpr Duration healthy_after = std::chrono::minutes(10);

// What an event tells of an error; `longest` 0: all.
std::string told_of(const Error& error, std::size_t longest) {
  if (longest == 0 || error.message.size() <= longest) return error.message;
  return error.message.substr(0, longest) + " ...";
}

Duration restart_delay(int panics_before) {
  if (panics_before == 0) return restart_first;
  Duration delay = restart_base;
  for (int i = 1; i < panics_before && delay < restart_max; ++i) delay *= 2;
  return std::min(delay, restart_max);
}

// Again with back-off: a cache has not seen yet what was written.
Plan waiting(std::string why) {
  Plan plan;
  Step& step = plan.steps.emplace_back();
  step.rule = &await_own_writes;
  step.text = std::move(why);
  plan.requeue = true;
  return plan;
}

ShortText describe(const api::Request& request) {
  const api::Target& target = request.target;
  std::string_view name = name_of(request);
  if (name.empty() && request.object) name = request.object->metadata.rest->generateName;
  return ShortText({to_string(request.verb), " ", target.kind->kind, " ", name,
                    target.subresource.empty() ? ""sv : "/"sv, target.subresource});
}

}  // namespace

// One watched kind.
struct ControllerHost::Source {
  Source(api::SharedInformers& informers, const Watched& watched)
      : kind(watched.kind), informer(informers.of(*watched.kind)), resync(watched.resync) {}

  // A copy: what hears of one may change them.
  std::vector<ObjectPtr> objects() const {
    std::vector<ObjectPtr> all;
    for (const auto& [key, object] : informer.objects()) all.push_back(object);
    return all;
  }

  const KindInfo* kind;
  api::Informer& informer;
  std::optional<Duration> resync;
  Timer resync_timer{};
};

class ControllerHost::InformerCache final : public Cache {
 public:
  explicit InformerCache(const std::vector<std::unique_ptr<Source>>& sources) : sources_(sources) {}

  ObjectPtr find(const KindInfo& kind, std::string_view namespace_,
                 std::string_view name) const override {
    const Source* source = of(kind);
    return source != nullptr ? source->informer.find(namespace_, name) : nullptr;
  }

  std::vector<ObjectPtr> list(const KindInfo& kind, std::string_view namespace_) const override {
    const Source* source = of(kind);
    return source != nullptr ? source->informer.objects().of_namespace(namespace_)
                             : std::vector<ObjectPtr>();
  }

  void each(const KindInfo& kind, std::string_view namespace_, const StringMap& labels,
            const Visitor& visitor) const override {
    if (const Source* source = of(kind); source != nullptr)
      for (const ObjectPtr* place : source->informer.select(namespace_, labels)) visitor(*place);
  }

  void each(const KindInfo& kind, const api::LabelQuery& query,
            const Visitor& visitor) const override {
    if (const Source* source = of(kind); source != nullptr)
      for (const ObjectPtr* place : source->informer.select(query)) visitor(*place);
  }

  void each(const KindInfo& kind, std::string_view namespace_, std::string_view label,
            std::string_view value, const Visitor& visitor) const override {
    if (const Source* source = of(kind); source != nullptr)
      for (const ObjectPtr* place : source->informer.select(namespace_, label, value))
        visitor(*place);
  }

  void each_selecting(std::string_view namespace_, const Cow<StringMap>& labels,
                      const ServiceVisitor& visitor) const override {
    if (const Source* source = of(Service::info()); source != nullptr)
      for (const ObjectPtr* place : source->informer.selecting(namespace_, labels))
        visitor(static_cast<const Service&>(**place));
  }

  std::vector<const KindInfo*> kinds() const override {
    std::vector<const KindInfo*> all;
    for (const auto& source : sources_) all.push_back(source->kind);
    return all;
  }

 private:
  const Source* of(const KindInfo& kind) const {
    for (const auto& source : sources_)
      if (source->kind == &kind) return source.get();
    return nullptr;
  }

  const std::vector<std::unique_ptr<Source>>& sources_;
};

ControllerHost::ControllerHost(Loop& loop, api::ApiClient& client, api::SharedInformers& informers,
                               Trace& trace, Random random, Controller& controller, Options options)
    : loop_(loop),
      client_(client),
      part_(client, informers),
      trace_(trace),
      random_(random),
      controller_(controller),
      options_(options),
      lane_(loop.new_lane()),
      queue_(loop, controller.retries(), [this] { pump(); }),
      throttle_(options.client_per_second, options.client_burst),
      cache_(std::make_unique<InformerCache>(sources_)) {
  const std::vector<Watched> all = controller_.watches(client_.kinds());
  sources_.reserve(all.size());
  for (const Watched& watched : all) {
    Source& source = *sources_.emplace_back(std::make_unique<Source>(informers, watched));
    part_.hear(*watched.kind, [this, &source](const ObjectPtr& before, const ObjectPtr& after) {
      const bool is_old = part_.is_told_of_old() || !source.informer.synced();
      on_change(source, {before, after, !before && is_old});
    });
  }
}

ControllerHost::~ControllerHost() = default;

void ControllerHost::start() {
  restart_.cancel();
  started_at_ = loop_.now();
  recorder_ = std::make_unique<api::EventRecorder>(loop_, client_, std::string(controller_.name()),
                                                   std::string(), options_.events);
  if (!controller_.event_action().empty())
    series_ = std::make_unique<api::EventSeries>(loop_, client_, controller_.name());
  for (const auto& source : sources_)
    if (source->resync) resync_later(*source);
  part_.begin();
}

void ControllerHost::crash() {
  restart_.cancel();  // of a process that had ended by itself
  if (!running()) return;
  part_.end();
  run_.reset();
  queue_.clear();
  throttle_ = TokenBucket(options_.client_per_second, options_.client_burst);
  throttled_.cancel();
  expectations_.clear();
  written_.clear();
  recorder_.reset();
  series_.reset();
  controller_.reset();
  for (const auto& source : sources_) source->resync_timer.cancel();
}

void ControllerHost::panic(const std::string& text) {
  Record record;
  record.kind = RecordKind::note;
  record.actor = controller_.name();
  const std::string said = "panic: " + text;
  record.text = said;
  trace_.write(std::move(record));
  if (loop_.now() - started_at_ > healthy_after) panics_ = 0;
  crash();
  restart_ = loop_.after(lane_, restart_delay(panics_++), [this] { start(); });
}

void ControllerHost::on_change(Source& source, const Change& change) {
  if (!change.after && !written_.empty()) forget_written(*change.before);
  Reaction reaction = controller_.observe(change, *cache_, expectations_, loop_.now());
  if (reaction.panic) return panic(*reaction.panic);
  for (const KeyParts& key : reaction.wake)
    if (reaction.wake_after > Duration::zero())
      queue_.add_after(joined_key(key), reaction.wake_after);
    else
      queue_.add(key);
  if (reaction.replace_cached) source.informer.replace_cached(reaction.replace_cached);
  // The last cache to be filled may report nothing that wakes anybody.
  pump();
}

void ControllerHost::resync(Source& source) {
  for (const ObjectPtr& object : source.objects()) {
    if (!running()) return;  // a change may make the process crash
    const ContextScope of_this_object(loop_);
    on_change(source, {object, object});
  }
  resync_later(source);
}

void ControllerHost::resync_later(Source& source) {
  source.resync_timer = loop_.after(lane_, *source.resync, [this, s = &source] { resync(*s); });
}

bool ControllerHost::synced() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source->informer.synced(); });
}

void ControllerHost::pump() {
  if (pumping_ || run_ || queue_.empty()) return;
  pumping_ = true;
  loop_.post(lane_, [this] { take_next(); });
}

void ControllerHost::take_next() {
  pumping_ = false;
  if (!running() || run_ || queue_.empty()) return;
  if (!synced()) {
    // Caches come first (WaitForCacheSync, which looks every 100 ms).
    throttled_ = loop_.after(lane_, std::chrono::milliseconds(100), [this] { pump(); });
    return;
  }
  WorkQueue::Entry& entry = *queue_.take();
  const Observed seen{*cache_, expectations_, random_.split(++plans_)};
  // Who woke the queue did so for its first key alone.
  loop_.set_context(entry.context());
  std::string waits_for = behind(entry.key());
  run_.emplace(Run{entry,
                   waits_for.empty() ? controller_.plan(entry.key(), seen, loop_.now())
                                     : waiting(std::move(waits_for)),
                   entry.context(), entry.context()});
  next_step();
}

std::string ControllerHost::behind(const Key& key) {
  const auto found = written_.find(key);
  if (found == written_.end()) return {};
  const std::vector<std::uint64_t>& versions = found->second.versions;
  for (std::size_t i = 0; i != sources_.size(); ++i) {
    const std::uint64_t read = sources_[i]->informer.version();
    if (versions[i] > read)
      return concat({"read version: ", std::to_string(read),
                     " is not as new as written version: ", std::to_string(versions[i]),
                     " for group resource ", sources_[i]->kind->resource()});
  }
  written_.erase(found);
  return {};
}

void ControllerHost::note_written(const ObjectPtr& object) {
  if (!object || !run_->plan.about) return;
  const auto& awaited = options_.own_writes_of;
  if (std::find(awaited.begin(), awaited.end(), &object->kind()) == awaited.end()) return;
  Written& written = written_[run_->key()];
  const Text& owner = run_->plan.about->metadata.uid;
  if (written.owner != owner) written = {owner, {}};
  written.versions.resize(sources_.size());
  for (std::size_t i = 0; i != sources_.size(); ++i)
    if (sources_[i]->kind == &object->kind())
      written.versions[i] =
          std::max(written.versions[i], api::version_of(object->metadata.resourceVersion.view()));
}

void ControllerHost::forget_written(const Object& gone) {
  const auto found = written_.find(joined_key(parts_of(gone)));
  if (found != written_.end() && found->second.owner == gone.metadata.uid) written_.erase(found);
}

// Goes through the steps that need no call, and stops at one that does: its answer comes back here.
// Each follows from its rule, and that from what the plan was made for: what one step wrote is no
// cause of the next.
void ControllerHost::next_step() {
  while (run_->at < run_->plan.steps.size()) {
    Step& step = run_->step();
    loop_.set_context(step.rule != nullptr ? run_->cause : run_->taken);
    record(step);
    run_->taken = loop_.context();
    if (step.request) return step.only_if_alive ? read_first() : call();
    if (!step.expected.empty()) {
      expect(step, Expected::When::reset);
      expect(step, Expected::When::before_call);
      expect(step, Expected::When::after_call);
    }
    tell(step.event);
    ++run_->at;
  }
  finish();
}

void ControllerHost::read_first() {
  const api::Target& target = run_->step().request->target;
  ask(std::unique_ptr<api::Asked>(
          new api::Asked{api::get(*target.kind, target.namespace_, target.name), {}}),
      &ControllerHost::on_read);
}

void ControllerHost::on_read(const Result<api::Response>& result) {
  if (!result && result.error().reason != Reason::not_found) return refused(result.error());
  if (result && !result->object->metadata.deletionTimestamp) return call();
  expect(run_->step(), Expected::When::after_call);
  ++run_->at;
  next_step();
}

void ControllerHost::call() {
  expect(run_->step(), Expected::When::reset);
  expect(run_->step(), Expected::When::before_call);
  expect(run_->step(), Expected::When::unless_refused);
  api::Request& request = *run_->step().request;
  if (run_->step().follows && run_->answered && request.object) {
    const std::shared_ptr<Object> current = request.object->clone();
    current->metadata.resourceVersion = run_->answered->metadata.resourceVersion;
    request.object = current;
  }
  ask(std::unique_ptr<api::Asked>(new api::Asked{std::move(request), {}}),
      &ControllerHost::on_answer);
}

void ControllerHost::ask(std::unique_ptr<api::Asked> asked, OnAnswer on) {
  asked->done.emplace(
      part_.until_end([this, on](const Result<api::Response>& result) { (this->*on)(result); }));
  const Duration wait = throttle_.reserve(loop_.now());
  if (wait <= Duration::zero()) return client_.post(std::move(asked));
  throttled_ = loop_.after(
      lane_, wait, [this, asked = std::move(asked)]() mutable { client_.post(std::move(asked)); });
}

void ControllerHost::on_answer(const Result<api::Response>& result) {
  if (!result) return refused(result.error());
  controller_.accepted(run_->key(), run_->step(), *result);
  // A deletion is not awaited. Of a spent request the verb is left.
  if (run_->step().request->verb != api::Verb::remove) note_written(result->object);
  const ObjectPtr& about = run_->plan.about;
  if (about && result->object && result->object->metadata.uid == about->metadata.uid)
    run_->answered = result->object;
  accepted(result->object);
}

void ControllerHost::accepted(const ObjectPtr& answer) {
  Step& step = run_->step();
  expect(step, Expected::When::after_call);
  tell(step.event, answer);
  ++run_->at;
  next_step();
}

void ControllerHost::refused(const Error& error) {
  const Step& step = run_->step();
  if (step.refused != nullptr)
    tell("Warning", step.refused->reason, concat({step.refused->message, error.message}));
  if (step.refusal && step.refusal->untold != error.reason)
    tell("Warning", step.refusal->reason,
         concat({step.refusal->message, told_of(error, step.refusal->longest_error)}));
  if (step.tolerated == error.reason) {
    take_back(step, Expected::When::unless_refused);
    expect(step, Expected::When::after_call);
    ++run_->at;
    return next_step();
  }
  take_back(step, Expected::When::before_call);
  take_back(step, Expected::When::unless_refused);
  if ((step.instead || step.instead_for) && step.instead_unless != error.reason &&
      (!step.instead_of || *step.instead_of == error.reason)) {
    std::vector<Step> instead = step.instead_for ? (*step.instead_for)(error) : *step.instead;
    if (step.instead_fails) run_->plan.error = error;
    run_->plan.steps = std::move(instead);
    run_->at = 0;
    run_->cause = run_->taken = loop_.context();  // the refusal
    return next_step();
  }
  run_->plan.steps.clear();
  run_->plan.error = error;
  run_->plan.panic.reset();
  finish();
}

void ControllerHost::finish() {
  const Key& key = run_->key();
  const Plan& plan = run_->plan;
  if (plan.panic) return panic(std::string(*plan.panic));
  if (plan.error || plan.requeue) {
    retry();
  } else {
    queue_.forget(key);
    if (plan.requeue_after) queue_.add_after(key, *plan.requeue_after);
  }
  queue_.done(run_->entry);
  run_.reset();
  pump();
}

// The key in hand has failed.
void ControllerHost::retry() {
  if (queue_.add_rate_limited(run_->key())) return;
  trace_.write({.kind = RecordKind::note,
                .actor = controller_.name(),
                .subject = run_->key(),
                .text = "dropped out of the queue: its retries are spent"});
}

std::vector<ControllerHost::Remembered> ControllerHost::remembered() const {
  std::vector<Key> keys = controller_.remembered();
  for (Key& key : queue_.failing()) keys.push_back(std::move(key));
  for (Key& key : keys_of(written_)) keys.push_back(std::move(key));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto is_there = [this](const KeyParts& parts) {
    const auto kinds = cache_->kinds();
    return std::any_of(kinds.begin(), kinds.end(), [&](const KindInfo* kind) {
      return cache_->find(*kind, parts.namespace_, parts.name) != nullptr;
    });
  };
  std::vector<Remembered> out;
  for (Key& key : keys) {
    const bool is_gone = !is_there(split_key(key));
    out.push_back({std::move(key), is_gone});
  }
  return out;
}

void ControllerHost::expect(const Step& step, Expected::When when) {
  for (const Expected& expected : step.expected) {
    if (expected.when != when) continue;
    if (when == Expected::When::reset)
      expectations_.set(expected.key, expected.adds, expected.dels, loop_.now());
    else
      expectations_.raise(expected.key, expected.adds, expected.dels, loop_.now());
  }
}

void ControllerHost::take_back(const Step& step, Expected::When when) {
  for (const Expected& expected : step.expected)
    if (expected.when == when) expectations_.lower(expected.key, expected.adds, expected.dels);
}

void ControllerHost::tell(const std::optional<EventText>& event, const ObjectPtr& answer) {
  if (!event) return;
  const bool named = event->names_answer && answer;
  tell(event->type, event->reason,
       concat({event->lead, named ? answer->metadata.name.view() : event->message.view()}));
}

void ControllerHost::tell(std::string_view type, std::string_view reason, std::string message) {
  const ObjectPtr& about = run_->plan.about;
  if (about == nullptr) return;
  if (series_)
    series_->event(*about, {type, reason, controller_.event_action(), std::move(message)});
  else
    recorder_->event(*about, type, reason, std::move(message));
}

void ControllerHost::record(const Step& step) {
  if (step.rule == nullptr) return;
  if (!trace_.wants(RecordKind::rule)) {
    trace_.skip();
    return;
  }
  Record record{.kind = RecordKind::rule,
                .actor = controller_.name(),
                .subject = run_->key(),
                .rule = step.rule->name,
                .text = step.text.view()};
  if (!step.request || !step.text.empty()) {
    trace_.write(std::move(record));
    return;
  }
  const ShortText text = describe(*step.request);
  record.text = text.view();
  trace_.write(std::move(record));
}

}  // namespace ddptwin::controller
