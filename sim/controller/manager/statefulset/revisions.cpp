#include "controller/manager/statefulset/revisions.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <tuple>

#include "controller/manager/statefulset/names.hpp"
#include "controller/manager/statefulset/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::statefulset {
namespace {

namespace json = boost::json;

// As Kubernetes writes numbers into names: no vowels, so no words (rand.SafeEncodeString).
std::string safe_text(std::uint32_t number) {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text = std::to_string(number);
  for (char& c : text) c = letters[static_cast<unsigned char>(c) % letters.size()];
  return text;
}

// Which hash does not matter to anybody, as long as equal data have an equal one (upstream: 32 bit
// FNV over the data and the number of collisions).
std::string hash_of(const RawJson& data, std::int32_t collisions) {
  std::uint32_t hash = 2166136261U;
  const std::string text = json::serialize(*data.get()) + std::to_string(collisions);
  for (const char c : text) hash = (hash * 16777619U) ^ static_cast<unsigned char>(c);
  return safe_text(hash);
}

std::int64_t next_number(const std::vector<RevisionPtr>& own) {
  return own.empty() ? 1 : own.back()->revision + 1;
}

std::shared_ptr<ControllerRevision> new_revision(const StatefulSet& set, std::int64_t number,
                                                 std::int32_t collisions) {
  auto revision = std::make_shared<ControllerRevision>();
  revision->data = revision_data(set);
  revision->revision = number;
  const std::string hash = hash_of(revision->data, collisions);
  revision->metadata.name = set.metadata.name + "-" + hash;
  revision->metadata.namespace_ = set.metadata.namespace_;
  revision->metadata.labels = set.spec->template_.metadata.labels;
  revision->metadata.labels.edit()[label::revision_hash] = hash;
  revision->metadata.annotations = set.metadata.annotations;
  revision->metadata.ownerReferences = std::vector{controller_reference(set)};
  return revision;
}

RevisionPtr named(const std::vector<RevisionPtr>& own, std::string_view name) {
  for (const RevisionPtr& revision : own)
    if (revision->metadata.name == name) return revision;
  return nullptr;
}

}  // namespace

RawJson revision_data(const StatefulSet& set) {
  json::object pods = to_json(set.spec->template_).as_object();
  pods["$patch"] = "replace";
  return RawJson(json::object{{"spec", json::object{{"template", std::move(pods)}}}});
}

void sort_by_number(std::vector<RevisionPtr>& revisions) {
  const auto order = [](const RevisionPtr& r) {
    return std::tuple(r->revision, r->metadata.creationTimestamp.value_or(Time()),
                      r->metadata.name.view());
  };
  std::sort(revisions.begin(), revisions.end(),
            [&](const RevisionPtr& a, const RevisionPtr& b) { return order(a) < order(b); });
}

Revisions revisions_of(const StatefulSet& set, const std::vector<RevisionPtr>& own) {
  Revisions found;
  found.collision_count = set.status.collisionCount.value_or(0);
  const auto wanted = new_revision(set, next_number(own), found.collision_count);
  const auto same = std::find_if(own.rbegin(), own.rend(), [&](const RevisionPtr& revision) {
    return revision->data == wanted->data;
  });
  if (same == own.rend()) {
    found.update = wanted;
    Step step{.rule = &rules::create_revision, .request = api::create(wanted)};
    step.tolerated = Reason::already_exists;  // made before, and the cache does not show it yet
    found.step = std::move(step);
  } else if (same == own.rbegin()) {
    found.update = *same;
  } else {
    auto raised = std::make_shared<ControllerRevision>(**same);
    raised->revision = wanted->revision;
    found.step = Step{.rule = &rules::roll_back, .request = api::update(raised)};
    found.update = std::move(raised);
  }
  found.current = named(own, set.status.currentRevision);
  if (!found.current) found.current = found.update;
  return found;
}

Result<StatefulSet> as_of(const StatefulSet& set, const ControllerRevision& revision) {
  const json::value* data = revision.data.get();
  const json::value* spec =
      data != nullptr && data->is_object() ? data->get_object().if_contains("spec") : nullptr;
  const json::value* pods =
      spec != nullptr && spec->is_object() ? spec->get_object().if_contains("template") : nullptr;
  if (pods == nullptr || !pods->is_object())
    return fail(Reason::internal_error, "the data of ControllerRevision " + revision.metadata.name +
                                            " have no spec.template");
  json::object content = pods->get_object();
  content.erase("$patch");
  StatefulSet applied(set);
  TRY(applied.spec.edit().template_, from_json<PodTemplateSpec>(json::value(std::move(content))));
  return applied;
}

std::vector<Step> trim_history(const StatefulSet& set, const std::vector<RevisionPtr>& own,
                               const std::vector<std::string_view>& live) {
  std::vector<RevisionPtr> unused;
  for (const RevisionPtr& revision : own)
    if (std::find(live.begin(), live.end(), revision->metadata.name.view()) == live.end())
      unused.push_back(revision);
  const auto limit =
      static_cast<std::size_t>(std::max(0, set.spec->revisionHistoryLimit.value_or(10)));
  std::vector<Step> steps;
  for (std::size_t i = 0; i + limit < unused.size(); ++i)
    steps.push_back(Step{.rule = &rules::trim_history,
                         .request = api::remove(*unused[i]),
                         .tolerated = Reason::not_found});
  return steps;
}

}  // namespace ddptwin::controller::statefulset
