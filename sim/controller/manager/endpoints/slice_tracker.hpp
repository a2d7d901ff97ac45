// Which states of slices are a controller's own work.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>

#include "controller/controller.hpp"
#include "controller/manager/endpoints/slices.hpp"

namespace ddptwin::controller::endpoints {

// What one controller's plans of one key have written of its slices: so it plans for no change that
// is its own, and not on a cache that does not show its last one yet. Slices are known by uid and
// generation. Declared memory; a crash loses it. Source: EndpointSliceTracker upstream.
class SliceTracker {
 public:
  // A call of the plan was accepted. `step.removes` tells a removal's slice.
  void accepted(const Step& step, const api::Response& answer);

  // Whether this state of the slice, which the cache shows, is somebody else's work, or of a time
  // before this memory.
  bool is_news(const Object& slice) const;
  // The slice is gone, and forgotten. Whether it was tracked and nobody here removed it.
  bool end_is_news(const Object& slice);
  // Whether the cache, which shows all of these, shows less than was written.
  bool is_ahead_of(const ExistingSlices& shown) const;

 private:
  static constexpr std::int64_t removed = -1;
  struct Written {
    ObjectPtr slice{};            // as it was written: the cache's own object, mostly
    std::int64_t generation = 0;  // or `removed`
  };

  std::size_t index_of(const Object& slice) const;  // the size of `written_`: none

  boost::container::small_vector<Written, 1> written_{};
};

// What a change of a slice means to the controller that is its manager: the keys of those that it
// stands or stood behind are to be planned, but for the controller's own writes. `tracker_of` finds
// what is known of a key; null: nothing.
using TrackerOf = std::function<SliceTracker*(const KeyParts& key)>;
Reaction on_slice(const Change& change, std::string_view manager, const TrackerOf& tracker_of);

// The plan of a key whose tracker is ahead of the cache: again with back-off.
Plan wait_for_own_write();

}  // namespace ddptwin::controller::endpoints
