// What Trainer's mutating webhook fills into a TrainJob.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "controller/toolkit/denial.hpp"
#include "controller/trainer/webhook.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::trainer {
namespace {

constexpr std::string_view defaulter_name = "defaulter.trainjob.trainer.kubeflow.org";

// The webhook answers with what it has changed: all else stays as it was sent, 8 where its encoder
// would write "8".
void lay_changes_over(Json& sent, const Json& was, Json filled) {
  if (was == filled) return;
  if (sent.is_object() && was.is_object() && filled.is_object()) {
    for (auto& member : filled.get_object()) {
      Json* there = sent.get_object().if_contains(member.key());
      const Json* before = was.get_object().if_contains(member.key());
      if (before != nullptr && *before == member.value()) continue;
      if (there != nullptr && before != nullptr)
        lay_changes_over(*there, *before, std::move(member.value()));
      else
        sent.get_object()[member.key()] = std::move(member.value());
    }
    return;
  }
  const auto are_alike = [](const Json& a, const Json& b) {
    return a.is_array() && b.is_array() && a.get_array().size() == b.get_array().size();
  };
  if (!are_alike(sent, filled) || !are_alike(was, filled)) {
    sent = std::move(filled);
    return;
  }
  for (std::size_t i = 0; i < sent.get_array().size(); ++i)
    lay_changes_over(sent.get_array()[i], was.get_array()[i], std::move(filled.get_array()[i]));
}

bool differ(RuntimePatch a, RuntimePatch b) {
  a.time = b.time = {};
  return !equal(a, b);
}

void stamp(TrainJobSpec& spec, const TrainJobSpec* old, Time now) {
  for (RuntimePatch& patch : spec.runtimePatches) {
    const RuntimePatch* was = nullptr;
    if (old != nullptr)
      for (const RuntimePatch& one : old->runtimePatches)
        if (one.manager == patch.manager) was = &one;
    if (was == nullptr) {
      if (!patch.time) patch.time = now;
    } else if (differ(*was, patch)) {
      patch.time = now;
    } else {
      patch.time = was->time;
    }
  }
}

// The first text where a Go program wants a number, in its words.
std::optional<std::string> wrong_type(const Json& sent) {
  TrainJobSpec read;
  DecodeNotes notes;
  if (auto done = decode(TrainJobSpec::type(), &read, sent, FieldPath("spec"), notes); !done)
    return done.error().message;
  return std::nullopt;
}
std::optional<std::string> wrong_processes(const TrainJobSpec& spec) {
  if (!spec.trainer || !spec.trainer->numProcPerNode || !spec.trainer->numProcPerNode->is_text)
    return std::nullopt;
  return "json: cannot unmarshal string into Go struct field Trainer.spec.trainer.numProcPerNode "
         "of type int32";
}

// Of a device plugin, not of Kubernetes itself.
bool is_device(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos &&
         resource.substr(0, slash).find("kubernetes.io") == std::string_view::npos;
}

// Fields of older releases as today's are, and the limit of a device that is only requested,
// without which no pod is made (spec/trainjob.md §0.3). What else was done is told to the client.
std::vector<std::string> normalise(TrainJobSpec& spec, Json& sent) {
  std::vector<std::string> told;
  if (!spec.trainer) return told;
  if (auto& said = spec.trainer->numProcPerNode; said && said->is_text) {
    if (const auto number = whole_number<std::int32_t>(said->text)) {
      said = IntOrString{.number = *number};
    } else if (said->text == "auto") {
      said.reset();
      sent.get_object()["trainer"].get_object().erase("numProcPerNode");
    }
  }
  if (!spec.trainer->resourcesPerNode) return told;
  ResourceRequirements& resources = *spec.trainer->resourcesPerNode;
  for (const auto& [name, amount] : *resources.requests) {
    if (!is_device(name) || resources.limits->contains(name)) continue;
    resources.limits.edit().insert_or_assign(name, amount);
    told.push_back(fmt::format(
        "spec.trainer.resourcesPerNode.limits[{}]: set to the request, {}: a pod that requests a "
        "device needs a limit that is equal",
        std::string_view(name), amount.str()));
  }
  return told;
}

}  // namespace

Result<std::vector<std::string>> fill_in(TrainJob& job, const TrainJob* old, Time now,
                                         const Profile& profile) {
  std::vector<std::string> warnings;
  if (!profile.stamps_patches) return warnings;
  const Json* source = job.spec.source().get();
  Json sent = source != nullptr ? *source : to_json(*job.spec);
  const auto refuse = [](std::string_view why) {
    return fail(Reason::bad_request, denied_by(defaulter_name, why));
  };
  if (auto wrong = wrong_type(sent)) return refuse(*wrong);
  if (!profile.proc_words)
    if (auto wrong = wrong_processes(*job.spec)) return refuse(*wrong);
  const Json was = to_json(*job.spec);
  TrainJobSpec& spec = job.spec.edit();
  stamp(spec, old != nullptr ? &*old->spec : nullptr, now);
  if (profile.normalises) warnings = normalise(spec, sent);
  lay_changes_over(sent, was, to_json(spec));
  job.spec.set_source(RawJson(std::move(sent)));
  return warnings;
}

}  // namespace ddptwin::controller::trainer
