#include "controller/endpoints/slices.hpp"

#include <algorithm>
#include <string_view>

#include "controller/endpoints/membership.hpp"
#include "controller/endpoints/rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::endpoints {
namespace {

// One slice as it shall be. Without `old` it is new.
struct Draft {
  SlicePtr old{};
  const SliceGroup* group = nullptr;
  const std::vector<SlicePort>* ports = nullptr;  // the group's, in the order of the old slice
  // Of the old slice where they stay as they are, else of the group.
  std::vector<const Endpoint*> endpoints{};
};

// The same pod at the same address: its conditions may have changed.
bool same_place(const Endpoint& a, const Endpoint& b) {
  const auto uid = [](const Endpoint& e) {
    return e.targetRef ? std::string_view(e.targetRef->uid) : std::string_view();
  };
  return a.addresses == b.addresses && uid(a) == uid(b);
}

// The part of `left` that already is in the old slice, in its order; taken out of `left`.
std::vector<const Endpoint*> keep_known(const EndpointSlice& old,
                                        std::vector<const Endpoint*>& left) {
  std::vector<const Endpoint*> kept;
  for (const Endpoint& known : old.endpoints) {
    const auto found = std::find_if(left.begin(), left.end(),
                                    [&](const Endpoint* e) { return same_place(*e, known); });
    if (found == left.end()) continue;
    kept.push_back(equal(**found, known) ? &known : *found);
    left.erase(found);
  }
  return kept;
}

void fill(Draft& draft, std::vector<const Endpoint*>& left, std::size_t limit) {
  const std::size_t room = limit - std::min(limit, draft.endpoints.size());
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(std::min(room, left.size()));
  draft.endpoints.insert(draft.endpoints.end(), left.begin(), end);
  left.erase(left.begin(), end);
}

std::vector<Draft> drafts_of(const SliceGroup& group, std::vector<SlicePtr>& existing,
                             std::size_t limit) {
  std::vector<Draft> drafts;
  std::vector<const Endpoint*> left;
  left.reserve(group.endpoints.size());
  for (const Endpoint& endpoint : group.endpoints) left.push_back(&endpoint);
  for (const SlicePtr& slice : existing)
    if (slice->addressType == group.address_type && same_ports(slice->ports, group.ports))
      drafts.push_back({slice, &group, &slice->ports, keep_known(*slice, left)});
  for (Draft& draft : drafts) fill(draft, left, limit);
  while (!left.empty()) {
    Draft draft{nullptr, &group, &group.ports, {}};
    fill(draft, left, limit);
    drafts.push_back(std::move(draft));
  }
  // Slices that nothing stayed in are free, unless an empty one is what is wanted.
  if (group.endpoints.empty()) {
    if (drafts.empty()) drafts.push_back({nullptr, &group, &group.ports, {}});
    drafts.resize(1);
  } else {
    std::erase_if(drafts, [](const Draft& draft) { return draft.endpoints.empty(); });
  }
  for (const Draft& draft : drafts)
    std::erase_if(existing, [&](const SlicePtr& slice) { return slice == draft.old; });
  return drafts;
}

// Whether the old slice is what `written` would make of it.
bool is_as_wanted(const Draft& draft, const SliceShape& shape) {
  const EndpointSlice& old = *draft.old;
  const auto stays = [](const Endpoint& there, const Endpoint* shall) { return &there == shall; };
  return draft.ports == &old.ports &&
         std::equal(old.endpoints.begin(), old.endpoints.end(), draft.endpoints.begin(),
                    draft.endpoints.end(), stays) &&
         shape.labels == old.metadata.labels && shape.annotations == old.metadata.annotations;
}

OwnerReference reference_to_owner(const Object& owner) {
  return {.apiVersion = owner.kind().api_version(),
          .kind = owner.kind().kind,
          .name = owner.metadata.name,
          .uid = owner.metadata.uid,
          .controller = true,
          .blockOwnerDeletion = true};
}

std::shared_ptr<EndpointSlice> written(const Draft& draft, const SliceShape& shape) {
  const auto slice = draft.old ? std::static_pointer_cast<EndpointSlice>(draft.old->clone())
                               : std::make_shared<EndpointSlice>();
  if (!draft.old) {
    slice->metadata.generateName = shape.owner.metadata.name + "-";
    slice->metadata.namespace_ = shape.owner.metadata.namespace_;
    slice->metadata.ownerReferences = std::vector{reference_to_owner(shape.owner)};
  }
  // What stays stays shared.
  if (shape.labels != slice->metadata.labels) slice->metadata.labels = shape.labels.made();
  if (shape.annotations != slice->metadata.annotations)
    slice->metadata.annotations = shape.annotations.made();
  slice->addressType = draft.group->address_type;
  slice->endpoints.clear();
  slice->endpoints.reserve(draft.endpoints.size());
  for (const Endpoint* endpoint : draft.endpoints) slice->endpoints.push_back(*endpoint);
  slice->ports = *draft.ports;
  return slice;
}

}  // namespace

bool is_managed_by(const Object& slice, std::string_view manager) {
  const std::string* label = slice.metadata.label(slice_manager_label);
  return label != nullptr && *label == manager;
}

std::vector<SlicePtr> slices_of(const KeyParts& service, std::string_view manager,
                                const Cache& cache) {
  StringMap labels;
  labels.emplace(service_name_label, service.name);
  std::vector<SlicePtr> slices = cache.select<EndpointSlice>(service.namespace_, labels);
  std::erase_if(slices, [&](const SlicePtr& slice) {
    return !is_managed_by(*slice, manager) || slice->metadata.deletionTimestamp;
  });
  return slices;
}

bool same_ports(const std::vector<SlicePort>& a, const std::vector<SlicePort>& b) {
  return a.size() == b.size() &&
         std::is_permutation(a.begin(), a.end(), b.begin(),
                             [](const SlicePort& x, const SlicePort& y) { return equal(x, y); });
}

std::vector<Step> reconcile_slices(const SliceShape& shape, const std::vector<SliceGroup>& wanted,
                                   const std::vector<SlicePtr>& existing,
                                   const std::string& expectation_key) {
  std::vector<SlicePtr> unused = existing;
  std::vector<Draft> drafts;
  for (const SliceGroup& group : wanted)
    for (Draft& draft : drafts_of(group, unused, shape.endpoints_max))
      drafts.push_back(std::move(draft));
  for (Draft& draft : drafts) {
    if (draft.old) continue;
    const auto again = std::find_if(unused.begin(), unused.end(), [&](const SlicePtr& slice) {
      return slice->addressType == draft.group->address_type;
    });
    if (again == unused.end()) continue;
    draft.old = *again;
    unused.erase(again);
  }

  std::vector<Step> steps;
  for (const Draft& draft : drafts) {
    if (!draft.old)
      steps.push_back({.rule = &rules::create_slice,
                       .request = api::create(written(draft, shape)),
                       .expected = {{.key = expectation_key, .adds = 1}}});
    else if (!is_as_wanted(draft, shape))
      steps.push_back(
          {.rule = &rules::update_slice, .request = api::update(written(draft, shape))});
  }
  for (Step& step : delete_slices(unused)) steps.push_back(std::move(step));
  return steps;
}

std::vector<Step> delete_slices(const std::vector<SlicePtr>& slices) {
  std::vector<Step> steps;
  for (const SlicePtr& slice : slices)
    steps.push_back({.rule = &rules::delete_slice,
                     .request = api::remove(*slice),
                     .tolerated = Reason::not_found});
  return steps;
}

}  // namespace ddptwin::controller::endpoints
