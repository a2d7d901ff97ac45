#include "cluster/kubelet/status_writer.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/status.hpp"
#include "cluster/kubelet/status_patch.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"

namespace ddptwin::kubelet {
namespace {

void cut(OptionalTime& time) {
  if (time) time = time->floor_seconds();
}
void cut(PodCondition& condition) {
  cut(condition.lastProbeTime);
  cut(condition.lastTransitionTime);
}
void cut(ContainerState& state) {
  if (state.running) cut(state.running->startedAt);
  if (!state.terminated) return;
  ContainerStateTerminated& end = state.terminated.edit();
  cut(end.startedAt);
  cut(end.finishedAt);
}

bool is_cut(const OptionalTime& time) { return !time || *time == time->floor_seconds(); }
bool is_cut(const PodCondition& condition) {
  return is_cut(condition.lastProbeTime) && is_cut(condition.lastTransitionTime);
}
bool is_cut(const ContainerState& state) {
  return (!state.running || is_cut(state.running->startedAt)) &&
         (!state.terminated ||
          (is_cut(state.terminated->startedAt) && is_cut(state.terminated->finishedAt)));
}
bool is_cut(const ContainerStatus& container) {
  return is_cut(container.state) && is_cut(*container.lastState);
}

void cut(ContainerStatus& container) {
  cut(container.state);
  if (!is_cut(*container.lastState)) cut(container.lastState.edit());
}

// What needs no cut stays shared.
template <class T>
void cut(Cow<std::vector<T>>& list) {
  const auto done = [](const T& item) { return is_cut(item); };
  if (std::all_of(list.begin(), list.end(), done)) return;
  for (T& item : list.edit()) cut(item);
}

// Lists that differ mostly do so in what costs little to compare.
bool same(const std::vector<PodCondition>& left, const std::vector<PodCondition>& right) {
  const auto looks_same = [](const PodCondition& a, const PodCondition& b) {
    return a.lastTransitionTime == b.lastTransitionTime && a.status.size() == b.status.size() &&
           a.reason.size() == b.reason.size();
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), looks_same) &&
         left == right;
}
bool same(const Cow<std::vector<PodCondition>>& left, const Cow<std::vector<PodCondition>>& right) {
  return left.same_as(right) || same(*left, *right);
}

using ddptwin::surely_same;
bool surely_same(const ContainerState& a, const ContainerState& b) {
  const bool run_alike = a.running && b.running ? a.running->startedAt == b.running->startedAt
                                                : a.running.has_value() == b.running.has_value();
  return run_alike && surely_same(a.waiting, b.waiting) && surely_same(a.terminated, b.terminated);
}
// All members, so that one that is added does not compile until it is compared.
bool surely_same(const ContainerStatus& left, const ContainerStatus& right) {
  const auto& [a1, a2, a3, a4, a5, a6, a7] = left;
  const auto& [b1, b2, b3, b4, b5, b6, b7] = right;
  return surely_same(a1, b1) && surely_same(a2, b2) && surely_same(a3, b3) && surely_same(a4, b4) &&
         surely_same(a5, b5) && surely_same(a6, b6) && surely_same(a7, b7);
}

// A list that says what the one before it says becomes that: whoever compares the two later sees it
// at once.
void cut_and_share(const Cow<std::vector<ContainerStatus>>& before,
                   Cow<std::vector<ContainerStatus>>& list) {
  if (list.same_as(before)) return;
  cut(list);
  const auto is_same = [](const auto& a, const auto& b) { return surely_same(a, b); };
  if (std::equal(before.begin(), before.end(), list.begin(), list.end(), is_same)) list = before;
}

// Of one object's versions, which are numbers (KEP-5504).
std::uint64_t version_of(const Pod& pod) {
  std::string_view text = pod.metadata.resourceVersion;
  return take_number<std::uint64_t>(text).value_or(0);
}

}  // namespace

// The wire keeps whole seconds, and upstream's status manager remembers no more: probes count from
// these times too.
void StatusWriter::set(const Pod& pod, PodStatus&& status) {
  const PodStatus& before = told_ ? told_->status : pod.status;
  settle_times(pod, before, status, host_.node().loop.now());
  cut(status.conditions);
  const bool conditions_stay = told_ && same(before.conditions, status.conditions);
  if (conditions_stay)
    status.conditions = before.conditions;
  else
    status.conditions = host_.node().view.conditions()(
        [&](const std::vector<PodCondition>& known) {
          return &known == &*status.conditions || same(known, *status.conditions);
        },
        [&] { return std::move(status.conditions); });
  cut_and_share(before.initContainerStatuses, status.initContainerStatuses);
  cut_and_share(before.containerStatuses, status.containerStatuses);
  if (conditions_stay && equal(before, status)) return;
  is_news_ = !is_draft_ && told_ && told_ == written_;
  if (!is_draft_) told_ = std::make_shared<Pod>();
  is_draft_ = true;
  told_->status = std::move(status);
  dirty_ = true;
  context_ = host_.node().loop.context();
  timer_.cancel();  // a retry that is further away
  schedule(host_.node().clocks.status_delay);
}

void StatusWriter::finish() {
  finished_ = true;
  dirty_ = true;
  context_ = host_.node().loop.context();
  timer_.cancel();
  schedule(host_.node().clocks.status_delay);
}

void StatusWriter::poke() { schedule(host_.node().clocks.status_delay); }

// A write that is under way compares when it has ended. A pod from before the last answer says
// nothing: a newer one is on its way.
void StatusWriter::compare() {
  put_right_.cancel();
  const std::shared_ptr<const Pod>& pod = host_.pod();
  if (!told_ || told_ == pod || busy_ || timer_.pending() || gone_ || removed_) return;
  if (version_of(*pod) < answered_) return;
  if (!is_written_over(pod->status, told_->status, host_.may_run())) return;
  const NodeContext& node = host_.node();
  put_right_ = node.loop.at(node.lane, node.next_tick(node.clocks.status_sync), [this] {
    put_right_ = {};
    schedule(Duration::zero());
  });
}

void StatusWriter::compare_no_more() {
  removed_ = true;
  put_right_.cancel();
}

void StatusWriter::schedule(Duration delay) {
  if (busy_ || gone_ || timer_.pending()) return;
  const NodeContext& node = host_.node();
  timer_ = node.loop.after(node.lane, delay, [this] {
    timer_ = {};
    begin();
  });
}

template <class F>
void StatusWriter::call(api::Request&& request, F then) {
  host_.node().client.call(std::move(request), [alive = host_.weak_from_this(),
                                                then](const Result<api::Response>& answer) {
    if (!alive.expired()) then(answer);
  });
}

void StatusWriter::begin() {
  busy_ = true;
  dirty_ = false;
  const ObjectMeta& meta = host_.pod()->metadata;
  call(api::Request{.target = {&Pod::info(), meta.namespace_, meta.name, {}}},
       [this](const Result<api::Response>& answer) { on_read(answer); });
}

// Null: what the API server has says it already.
std::shared_ptr<Pod> StatusWriter::to_write(const Pod& server) {
  // Mostly the API server has what was written last, which then need not be looked at.
  const bool is_written = &server == written_.get();
  if (is_written && told_ == written_) return nullptr;
  const PodStatus &there = server.status, &told = told_->status;
  const auto is_there = [&](const PodStatus& status) {
    return same(status.conditions, there.conditions) && equal(status, there);
  };
  const bool is_own = says_only_own(told);
  const bool is_known = is_written && is_news_ && !is_terminal_phase(told.phase);
  if (is_known ? is_own : is_merged(there, told, host_.may_run())) {
    if (!is_known && is_there(told)) return nullptr;
    if (std::exchange(is_draft_, false)) {
      told_->take_all_but_status(server);
      written_ = is_own ? told_ : nullptr;
      return told_;
    }
  }
  auto pod = std::make_shared<Pod>(server, told_->status);
  merge_for_write(there, pod->status, host_.may_run());
  return is_there(pod->status) ? nullptr : pod;
}

void StatusWriter::on_read(const Result<api::Response>& answer) {
  if (!answer) {
    if (answer.error().reason == Reason::not_found) gone_ = true;
    return end_pass(!gone_);
  }
  const std::shared_ptr<const Pod> server = as<Pod>(answer->object);
  if (!server || server->metadata.uid != host_.pod()->metadata.uid) {
    gone_ = true;
    return end_pass(false);
  }
  answered_ = version_of(*server);
  if (!told_) return end_pass(false);
  const std::shared_ptr<Pod> pod = to_write(*server);
  if (!pod) return let_go(*server);
  api::Request request{
      .verb = api::Verb::patch,
      .patch_type = api::PatchType::strategic,
      .target = {&Pod::info(), server->metadata.namespace_, server->metadata.name, "status"}};
  request.body = RawJson::later(
      [server, pod] { return status_patch(server->metadata.uid, server->status, pod->status); });
  request.patched = [server, pod](const ObjectPtr& stored) -> std::shared_ptr<Object> {
    return stored == server ? pod : nullptr;
  };
  call(std::move(request), [this](const Result<api::Response>& written) { on_written(written); });
}

void StatusWriter::on_written(const Result<api::Response>& answer) {
  if (!answer) {
    if (answer.error().reason == Reason::not_found) gone_ = true;
    return end_pass(!gone_);
  }
  const std::shared_ptr<const Pod> server = as<Pod>(answer->object);
  if (!server) return end_pass(false);
  answered_ = version_of(*server);
  let_go(*server);
}

// The kubelet's own DELETE ends the grace period. A finalizer may still hold the object.
void StatusWriter::let_go(const Pod& server) {
  const ObjectMeta& meta = server.metadata;
  const auto is_held = [&] { return meta.deletionGracePeriodSeconds.value_or(-1) == 0; };
  if (!finished_ || dirty_ || !meta.deletionTimestamp || is_held() ||
      !is_terminal_phase(server.status.phase))
    return end_pass(false);
  api::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = meta.uid.view();
  call(api::remove(server, options), [this](const Result<api::Response>& answer) {
    if (!answer && answer.error().reason == Reason::not_found) gone_ = true;
    end_pass(!answer && !gone_);
  });
}

void StatusWriter::end_pass(bool retry) {
  const NodeContext& node = host_.node();
  busy_ = false;
  if (dirty_) {  // by what came meanwhile, not by what was written
    const ContextScope of_the_news(node.loop, context_);
    schedule(node.clocks.status_delay);
  } else if (retry)
    schedule(node.next_tick(node.clocks.status_sync) - node.loop.now());
  compare();
}

}  // namespace ddptwin::kubelet
