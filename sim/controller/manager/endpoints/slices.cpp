#include "controller/manager/endpoints/slices.hpp"

#include <algorithm>
#include <string_view>

#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/rules.hpp"

namespace ddptwin::controller::endpoints {
namespace {

// One slice as it shall be. Without `old` it is new.
struct Draft {
  const EndpointSlice* old = nullptr;
  const SliceGroup* group = nullptr;
  const Cow<std::vector<SlicePort>>* ports = nullptr;  // the group's, in the order of the old slice
  // One of the old slice where it stays as it is, else one of the group.
  struct Place {
    const Endpoint* known = nullptr;
    Endpoint* made = nullptr;
  };
  boost::container::small_vector<Place, 2> endpoints{};
};
using Drafts = boost::container::small_vector<Draft, 1>;

// Those of a group that have no place yet.
using Left = boost::container::small_vector<Endpoint*, 4>;

bool same_reference(const Rare<ObjectReference>& a, const Rare<ObjectReference>& b) {
  return a.same_as(b) || (a && b && *a == *b);
}
bool same_text(const Rare<std::string>& a, const Rare<std::string>& b) {
  return a.same_as(b) || (a && b && *a == *b);
}

bool same_endpoint(const Endpoint& a, const Endpoint& b) {
  const auto& [addresses, conditions, hostname, target, topology, node, zone, hints] = a;
  const auto& [ready, serving, terminating] = conditions;
  return addresses == b.addresses && ready == b.conditions.ready &&
         serving == b.conditions.serving && terminating == b.conditions.terminating &&
         same_text(hostname, b.hostname) && same_reference(target, b.targetRef) &&
         *topology == *b.deprecatedTopology && node == b.nodeName && same_text(zone, b.zone) &&
         hints == b.hints;
}

// The same pod at the same address: its conditions may have changed.
bool same_place(const Endpoint& a, const Endpoint& b) {
  const auto uid = [](const Endpoint& e) {
    return e.targetRef ? std::string_view(e.targetRef->uid) : std::string_view();
  };
  return a.addresses == b.addresses && uid(a) == uid(b);
}

// The part of `left` that already is in the old slice, in its order; taken out of `left`.
void keep_known(Draft& draft, Left& left) {
  for (const Endpoint& known : draft.old->endpoints) {
    const auto found = std::find_if(left.begin(), left.end(),
                                    [&](const Endpoint* e) { return same_place(*e, known); });
    if (found == left.end()) continue;
    if (same_endpoint(**found, known))
      draft.endpoints.push_back({.known = &known});
    else
      draft.endpoints.push_back({.made = *found});
    left.erase(found);
  }
}

void fill(Draft& draft, Left& left, std::size_t limit) {
  const std::size_t room = limit - std::min(limit, draft.endpoints.size());
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(std::min(room, left.size()));
  for (auto at = left.begin(); at != end; ++at) draft.endpoints.push_back({.made = *at});
  left.erase(left.begin(), end);
}

// Adds the group's. Takes those that it uses out of `existing`.
void add_drafts(Drafts& all, SliceGroup& group, ExistingSlices& existing, std::size_t limit) {
  const std::size_t first = all.size();
  Left left;
  left.reserve(group.endpoints.size());
  for (Endpoint& endpoint : group.endpoints) left.push_back(&endpoint);
  for (const EndpointSlice* slice : existing)
    if (slice->addressType == group.address_type && same_ports(slice->ports, group.ports))
      keep_known(all.emplace_back(Draft{slice, &group, &slice->ports, {}}), left);
  for (std::size_t i = first; i < all.size(); ++i) fill(all[i], left, limit);
  while (!left.empty())
    fill(all.emplace_back(Draft{nullptr, &group, &group.ports, {}}), left, limit);
  // Slices that nothing stayed in are free, unless an empty one is what is wanted.
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  if (!group.endpoints.empty())
    all.erase(std::remove_if(begin, all.end(),
                             [](const Draft& draft) { return draft.endpoints.empty(); }),
              all.end());
  else if (begin == all.end())
    all.push_back(Draft{nullptr, &group, &group.ports, {}});
  else
    all.erase(begin + 1, all.end());
  for (std::size_t i = first; i < all.size(); ++i)
    existing.erase(std::remove(existing.begin(), existing.end(), all[i].old), existing.end());
}

// Whether the old slice is what `written` would make of it.
bool is_as_wanted(const Draft& draft, const SliceShape& shape) {
  const EndpointSlice& old = *draft.old;
  const auto stays = [](const Endpoint& there, const Draft::Place& shall) {
    return &there == shall.known;
  };
  return draft.ports == &old.ports &&
         std::equal(old.endpoints.begin(), old.endpoints.end(), draft.endpoints.begin(),
                    draft.endpoints.end(), stays) &&
         same_texts(shape.labels, old.metadata.labels) &&
         same_texts(shape.annotations, old.metadata.annotations);
}

// Takes over the endpoints that were made.
std::shared_ptr<EndpointSlice> written(const Draft& draft, const SliceShape& shape) {
  const auto slice = std::make_shared<EndpointSlice>();
  if (draft.old != nullptr) {
    slice->metadata = draft.old->metadata;
    slice->extra = draft.old->extra;
  } else {
    slice->metadata.rest.edit().generateName = Text::of({shape.owner.metadata.name, "-"});
    slice->metadata.namespace_ = shape.owner.metadata.namespace_;
    slice->metadata.ownerReferences = shape.owners;
  }
  slice->metadata.labels = shape.labels;
  slice->metadata.annotations = shape.annotations;
  slice->addressType = draft.group->address_type;
  slice->endpoints.reserve(draft.endpoints.size());
  for (const auto& [known, made] : draft.endpoints)
    if (known != nullptr)
      slice->endpoints.push_back(*known);
    else
      slice->endpoints.push_back(std::move(*made));
  slice->ports = *draft.ports;
  return slice;
}

}  // namespace

const Endpoint& KnownEndpoints::of(const Pod& pod) {
  static const Endpoint none{};
  // Once round: of the slice where it begins the rest, and at last all.
  for (std::size_t looks = 0; looks <= slices_.size() && !slices_.empty(); ++looks) {
    const std::vector<Endpoint>& endpoints = slices_[slice_]->endpoints;
    while (at_ < endpoints.size()) {
      const Endpoint& endpoint = endpoints[at_++];
      if (endpoint.targetRef && endpoint.targetRef->uid == pod.metadata.uid) return endpoint;
    }
    slice_ = (slice_ + 1) % slices_.size();
    at_ = 0;
  }
  return none;
}

std::vector<OwnerReference> owners_of(const Object& owner) {
  return {{.apiVersion = owner.kind().api_version(),
           .kind = owner.kind().kind,
           .name = owner.metadata.name,
           .uid = owner.metadata.uid,
           .controller = true,
           .blockOwnerDeletion = true}};
}

bool is_managed_by(const Object& slice, std::string_view manager) {
  const Text* label = slice.metadata.label(slice_manager_label);
  return label != nullptr && *label == manager;
}

ExistingSlices slices_of(const KeyParts& service, std::string_view manager, const Cache& cache,
                         const Cow<StringMap>& own_labels) {
  ExistingSlices slices;
  cache.each<EndpointSlice>(
      service.namespace_, service_name_label, service.name, [&](const EndpointSlice& slice) {
        const bool managed =
            slice.metadata.labels.same_as(own_labels) || is_managed_by(slice, manager);
        if (managed && !slice.metadata.deletionTimestamp) slices.push_back(&slice);
      });
  return slices;
}

bool same_ports(const Cow<std::vector<SlicePort>>& a, const Cow<std::vector<SlicePort>>& b) {
  return a.same_as(b) ||
         (a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin()));
}

std::vector<Step> reconcile_slices(const SliceShape& shape, SliceGroups&& wanted,
                                   ExistingSlices&& existing, const Cache& cache) {
  Drafts drafts;
  for (SliceGroup& group : wanted) add_drafts(drafts, group, existing, shape.endpoints_max);
  for (Draft& draft : drafts) {
    if (draft.old != nullptr) continue;
    const auto again =
        std::find_if(existing.begin(), existing.end(), [&](const EndpointSlice* slice) {
          return slice->addressType == draft.group->address_type;
        });
    if (again == existing.end()) continue;
    draft.old = *again;
    existing.erase(again);
  }

  std::vector<Step> steps;
  for (const Draft& draft : drafts) {
    if (draft.old == nullptr) {
      Step& step = steps.emplace_back();
      step.rule = &rules::create_slice;
      step.request = api::create(written(draft, shape));
    } else if (!is_as_wanted(draft, shape)) {
      Step& step = steps.emplace_back();
      step.rule = &rules::update_slice;
      step.request = api::update(written(draft, shape));
    }
  }
  for (Step& step : delete_slices(existing, cache)) steps.push_back(std::move(step));
  return steps;
}

std::vector<Step> delete_slices(const ExistingSlices& slices, const Cache& cache) {
  std::vector<Step> steps;
  for (const EndpointSlice* slice : slices)
    steps.push_back({.rule = &rules::delete_slice,
                     .request = api::remove(*slice),
                     .tolerated = Reason::not_found,
                     .removes = cache.find(EndpointSlice::info(), slice->metadata.namespace_,
                                           slice->metadata.name)});
  return steps;
}

}  // namespace ddptwin::controller::endpoints
