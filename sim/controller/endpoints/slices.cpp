#include "controller/endpoints/slices.hpp"

#include <algorithm>
#include <string_view>

#include "controller/endpoints/rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::endpoints {
namespace {

// One slice as it shall be. Without `old` it is new.
struct Draft {
  SlicePtr old{};
  std::string address_type{};
  std::vector<SlicePort> ports{};
  std::vector<Endpoint> endpoints{};
};

// The same pod at the same address: its conditions may have changed.
bool same_place(const Endpoint& a, const Endpoint& b) {
  const auto uid = [](const Endpoint& e) {
    return e.targetRef ? std::string_view(e.targetRef->uid) : std::string_view();
  };
  return a.addresses == b.addresses && uid(a) == uid(b);
}

// The part of `left` that already is in the old slice, in its order; taken out of `left`.
std::vector<Endpoint> keep_known(const EndpointSlice& old, std::vector<Endpoint>& left) {
  std::vector<Endpoint> kept;
  for (const Endpoint& known : old.endpoints) {
    const auto found = std::find_if(left.begin(), left.end(),
                                    [&](const Endpoint& e) { return same_place(e, known); });
    if (found == left.end()) continue;
    if (equal(*found, known))
      kept.push_back(known);  // what stays stays shared
    else
      kept.push_back(std::move(*found));
    left.erase(found);
  }
  return kept;
}

void fill(Draft& draft, std::vector<Endpoint>& left, std::size_t limit) {
  const std::size_t room = limit - std::min(limit, draft.endpoints.size());
  const auto count = static_cast<std::ptrdiff_t>(std::min(room, left.size()));
  std::move(left.begin(), left.begin() + count, std::back_inserter(draft.endpoints));
  left.erase(left.begin(), left.begin() + count);
}

std::vector<Draft> drafts_of(const SliceGroup& group, std::vector<SlicePtr>& existing,
                             std::size_t limit) {
  std::vector<Draft> drafts;
  std::vector<Endpoint> left = group.endpoints;
  for (const SlicePtr& slice : existing)
    if (slice->addressType == group.address_type && same_ports(slice->ports, group.ports))
      drafts.push_back({slice, group.address_type, slice->ports, keep_known(*slice, left)});
  for (Draft& draft : drafts) fill(draft, left, limit);
  while (!left.empty()) {
    Draft draft{nullptr, group.address_type, group.ports, {}};
    fill(draft, left, limit);
    drafts.push_back(std::move(draft));
  }
  // Slices that nothing stayed in are free, unless an empty one is what is wanted.
  if (group.endpoints.empty()) {
    if (drafts.empty()) drafts.push_back({nullptr, group.address_type, group.ports, {}});
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
  return *old.metadata.labels == shape.labels && *old.metadata.annotations == shape.annotations &&
         old.addressType == draft.address_type && equal(old.endpoints, draft.endpoints) &&
         equal(old.ports, draft.ports);
}

std::shared_ptr<EndpointSlice> written(const Draft& draft, const SliceShape& shape) {
  const auto slice = draft.old ? std::static_pointer_cast<EndpointSlice>(draft.old->clone())
                               : std::make_shared<EndpointSlice>();
  if (!draft.old) {
    slice->metadata.generateName = shape.service + "-";
    slice->metadata.namespace_ = shape.namespace_;
    slice->metadata.ownerReferences = std::vector{shape.owner};
  }
  // What stays stays shared.
  if (*slice->metadata.labels != shape.labels) slice->metadata.labels = shape.labels;
  if (*slice->metadata.annotations != shape.annotations)
    slice->metadata.annotations = shape.annotations;
  slice->addressType = draft.address_type;
  slice->endpoints = draft.endpoints;
  slice->ports = draft.ports;
  return slice;
}

}  // namespace

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
      return slice->addressType == draft.address_type;
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
  for (const SlicePtr& slice : unused)
    steps.push_back({.rule = &rules::delete_slice,
                     .request = api::remove(*slice),
                     .tolerated = Reason::not_found});
  return steps;
}

}  // namespace ddptwin::controller::endpoints
