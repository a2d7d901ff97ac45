// Making existing slices into wanted ones with as few writes as may be: what the EndpointSlice
// controller and the mirroring controller have in common. Pure.
#pragma once

#include <boost/container/small_vector.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "controller/controller.hpp"
#include "controller/manager/endpoints/amended.hpp"
#include "objects/discovery_v1.hpp"

namespace ddptwin::controller::endpoints {

// They outlive the plan, as the cache does. A service has one, mostly.
using ExistingSlices = boost::container::small_vector<const EndpointSlice*, 2>;

// Finds the endpoints of pods in what there is, so that what they have in common is the same
// memory. Pods come in the order of their endpoints, mostly: each search begins where the last one
// ended.
class KnownEndpoints {
 public:
  // The slices outlive it.
  explicit KnownEndpoints(const ExistingSlices& slices) : slices_(slices) {}
  // An empty one where there is none.
  const Endpoint& of(const Pod& pod);

 private:
  const ExistingSlices& slices_;
  std::size_t slice_ = 0, at_ = 0;
};

// The endpoints that share a family and a list of ports.
struct SliceGroup {
  std::string_view address_type{};  // of its Service or Endpoints, or a literal
  Cow<std::vector<SlicePort>> ports{};
  std::vector<Endpoint> endpoints{};
};

// Of one family and one list of ports, mostly.
using SliceGroups = boost::container::small_vector<SliceGroup, 1>;

// What every slice of one service or Endpoints has. The owner outlives it.
struct SliceShape {
  const Object& owner;  // the service or the Endpoints; names are made from its own
  Cow<std::vector<OwnerReference>> owners{};  // that one
  Cow<StringMap> labels{};
  Cow<StringMap> annotations{};
  std::size_t endpoints_max = 100;
};

// As slices name who owns them.
std::vector<OwnerReference> owners_of(const Object& owner);
// By its label.
bool is_managed_by(const Object& slice, std::string_view manager);
// The manager's slices of that service, but for those that are being deleted. Those that carry
// `own_labels`, which the manager gives to all that it writes for the service, are told by that.
ExistingSlices slices_of(const KeyParts& service, std::string_view manager, const Cache& cache,
                         const Cow<StringMap>& own_labels = {});
// The same ports, in whatever order.
bool same_ports(const Cow<std::vector<SlicePort>>& a, const Cow<std::vector<SlicePort>>& b);

// Endpoints stay in the slice that they are in; new ones go where there is room. A slice that would
// be deleted is used again where one would be made.
std::vector<Step> reconcile_slices(const SliceShape& shape, SliceGroups&& wanted,
                                   ExistingSlices&& existing, const Cache& cache);
// It does not matter whether they are gone already. Precondition: the cache holds them.
std::vector<Step> delete_slices(const ExistingSlices& slices, const Cache& cache);

}  // namespace ddptwin::controller::endpoints
