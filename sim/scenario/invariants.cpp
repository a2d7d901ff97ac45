#include "scenario/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/kinds.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::scenario {
namespace {

std::string_view finished_condition(const PyTorchJob& job) {
  if (!job.status) return {};
  for (const std::string_view type : {"Succeeded", "Failed"}) {
    if (job.status->is_true(type)) return type;
  }
  return {};
}

bool is_finished_phase(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

std::string name_of(const Object& object) {
  return fmt::format("{} {}", object.kind().kind, key_of(object.metadata));
}

// INV-TERMINAL: Succeeded and Failed never flip; a pod's phase never leaves them.
class Terminal final : public Invariant {
  std::string after(const Record& record) override {
    if (record.kind != RecordKind::object_modified) return {};
    if (const auto* before = as<Pod>(*record.before), *now = as<Pod>(*record.after);
        before != nullptr && is_finished_phase(before->status.phase) &&
        before->status.phase != now->status.phase)
      return fmt::format("{} was {} and became {}", name_of(*now), before->status.phase,
                         now->status.phase);
    if (const auto* before = as<PyTorchJob>(*record.before), *now = as<PyTorchJob>(*record.after);
        before != nullptr && !finished_condition(*before).empty() &&
        finished_condition(*before) != finished_condition(*now))
      return fmt::format(
          "{} was {} and is {}", name_of(*now), finished_condition(*before),
          finished_condition(*now).empty() ? "no longer finished" : finished_condition(*now));
    return {};
  }
};

// INV-TERMINAL: a finished job gets no new pods.
class NoNewPods final : public Invariant {
  std::string after(const Record& record) override {
    if (record.after == nullptr) return {};
    if (const auto* job = as<PyTorchJob>(*record.after)) {
      if (!finished_condition(*job).empty()) finished_.insert(job->metadata.uid);
      return {};
    }
    if (record.kind != RecordKind::object_added || as<Pod>(*record.after) == nullptr) return {};
    const OwnerReference* owner = record.after->metadata.controller();
    if (owner == nullptr || finished_.count(owner->uid) == 0) return {};
    return fmt::format("{} was made for {} {}, which has finished", name_of(*record.after),
                       owner->kind, owner->name);
  }
  std::set<std::string> finished_{};
};

// INV-MONO: generations and restart counts never decrease.
class Monotone final : public Invariant {
  std::string after(const Record& record) override {
    if (record.kind != RecordKind::object_modified) return {};
    if (record.after->metadata.generation < record.before->metadata.generation)
      return fmt::format("the generation of {} went from {} to {}", name_of(*record.after),
                         record.before->metadata.generation, record.after->metadata.generation);
    const auto *before = as<Pod>(*record.before), *now = as<Pod>(*record.after);
    if (now == nullptr) return {};
    for (const ContainerStatus& was : before->status.containerStatuses) {
      for (const ContainerStatus& is : now->status.containerStatuses) {
        if (is.name == was.name && is.restartCount < was.restartCount)
          return fmt::format("the restart count of {}/{} went from {} to {}", name_of(*now),
                             is.name, was.restartCount, is.restartCount);
      }
    }
    return {};
  }
};

// INV-TIME: startTime is not after completionTime.
class Times final : public Invariant {
  std::string after(const Record& record) override {
    const auto* job = record.after ? as<PyTorchJob>(*record.after) : nullptr;
    if (job == nullptr || !job->status || !job->status->completionTime) return {};
    const auto& start = job->status->startTime;
    if (!start) return {};
    if (*start <= *job->status->completionTime) return {};
    return fmt::format("{} was completed at {} and started at {}", name_of(*job),
                       format_rfc3339(*job->status->completionTime), format_rfc3339(*start));
  }
};

// INV-STATUS-TRUTH: not Succeeded and Failed at once, not Running and Restarting at once.
class OneState final : public Invariant {
  std::string after(const Record& record) override {
    const auto* job = record.after ? as<PyTorchJob>(*record.after) : nullptr;
    if (job == nullptr || !job->status) return {};
    if (job->status->is_true("Succeeded") && job->status->is_true("Failed"))
      return fmt::format("{} is Succeeded and Failed at once", name_of(*job));
    if (job->status->is_true("Running") && job->status->is_true("Restarting"))
      return fmt::format("{} is Running and Restarting at once", name_of(*job));
    return {};
  }
};

// INV-NO-DUP: at most one pod that has not ended per job, replica type and index.
class NoDuplicates final : public Invariant {
  std::string after(const Record& record) override {
    const ObjectPtr& object = record.after ? record.after : record.before;
    const auto* pod = object ? as<Pod>(*object) : nullptr;
    if (pod == nullptr) return {};
    const OwnerReference* owner = pod->metadata.controller();
    const std::string* type = pod->metadata.label("training.kubeflow.org/replica-type");
    const std::string* index = pod->metadata.label("training.kubeflow.org/replica-index");
    if (owner == nullptr || type == nullptr || index == nullptr) return {};
    auto& live = live_[fmt::format("{}/{}/{}", owner->uid, *type, *index)];
    if (record.kind == RecordKind::object_deleted || is_finished_phase(pod->status.phase))
      live.erase(pod->metadata.uid);
    else
      live.insert(pod->metadata.uid);
    if (live.size() < 2) return {};
    return fmt::format("{} has {} live pods for {} {}", owner->name, live.size(), *type, *index);
  }
  std::map<std::string, std::set<std::string>> live_{};
};

template <class T>
std::unique_ptr<Invariant> make() {
  return std::make_unique<T>();
}

constexpr std::array rows{
    InvariantRow{"terminal", "What has Succeeded or Failed stays so: pods and jobs.",
                 &make<Terminal>},
    InvariantRow{"no-new-pods", "A finished job gets no new pods.", &make<NoNewPods>},
    InvariantRow{"monotone", "Generations and restart counts never decrease.", &make<Monotone>},
    InvariantRow{"times", "A job's startTime is not after its completionTime.", &make<Times>},
    InvariantRow{"one-state",
                 "A job is not Succeeded and Failed, or Running and Restarting, at once.",
                 &make<OneState>},
    InvariantRow{"no-duplicates", "A replica has at most one pod that has not ended.",
                 &make<NoDuplicates>},
};

}  // namespace

std::span<const InvariantRow> invariant_rows() { return rows; }

InvariantWatch::InvariantWatch(const std::map<std::string, std::string, std::less<>>& off) {
  for (const InvariantRow& row : rows) {
    if (off.find(row.name) == off.end()) watched_.push_back({&row, row.make()});
  }
}

void InvariantWatch::on_record(const Record& record) {
  for (Watched& watched : watched_) {
    std::string text = watched.invariant->after(record);
    if (text.empty() || violated(watched.row->name)) continue;
    violations_.push_back({watched.row->name, record.id, record.time, std::move(text)});
  }
}

bool InvariantWatch::violated(std::string_view name) const {
  return std::any_of(violations_.begin(), violations_.end(),
                     [name](const Violation& violation) { return violation.invariant == name; });
}

}  // namespace ddptwin::scenario
