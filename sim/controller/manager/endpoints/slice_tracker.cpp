#include "controller/manager/endpoints/slice_tracker.hpp"

#include <algorithm>

#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/rules.hpp"

namespace ddptwin::controller::endpoints {
namespace {

bool is_same(const Object& a, const Object& b) {
  return &a == &b || a.metadata.uid == b.metadata.uid;
}

KeyParts key_of_slice(const Object& slice) {
  const Text* owner = slice.metadata.label(service_name_label);
  return {slice.metadata.namespace_, owner != nullptr ? std::string_view(*owner) : ""};
}

}  // namespace

std::size_t SliceTracker::index_of(const Object& slice) const {
  const auto found = std::find_if(written_.begin(), written_.end(),
                                  [&](const Written& one) { return is_same(*one.slice, slice); });
  return static_cast<std::size_t>(found - written_.begin());
}

void SliceTracker::accepted(const Step& step, const api::Response& answer) {
  const bool removes = step.removes != nullptr;
  const ObjectPtr& slice = removes ? step.removes : answer.object;
  const std::size_t at = index_of(*slice);
  if (at == written_.size()) written_.emplace_back();
  written_[at] = {slice, removes ? removed : slice->metadata.generation};
}

bool SliceTracker::is_news(const Object& slice) const {
  const std::size_t at = index_of(slice);
  return at == written_.size() || slice.metadata.generation > written_[at].generation;
}

bool SliceTracker::end_is_news(const Object& slice) {
  const std::size_t at = index_of(slice);
  if (at == written_.size()) return false;
  const bool unexpected = written_[at].generation != removed;
  written_.erase(written_.begin() + static_cast<std::ptrdiff_t>(at));
  return unexpected;
}

bool SliceTracker::is_ahead_of(const ExistingSlices& shown) const {
  const auto is_unseen = [&](const Written& written) {
    const auto seen = std::find_if(shown.begin(), shown.end(), [&](const EndpointSlice* slice) {
      return is_same(*slice, *written.slice);
    });
    if (written.generation == removed) return seen != shown.end();
    return seen == shown.end() || (*seen)->metadata.generation < written.generation;
  };
  return std::any_of(written_.begin(), written_.end(), is_unseen);
}

Reaction on_slice(const Change& change, std::string_view manager, const TrackerOf& tracker_of) {
  const Object& slice = change.object();
  const KeyParts key = key_of_slice(slice);
  const bool managed = is_managed_by(slice, manager);
  Reaction reaction;
  const auto wake = [&](const KeyParts& woken) {
    if (!woken.name.empty()) reaction.wake.push_back(woken);
  };
  if (!change.after) {
    SliceTracker* tracker = managed ? tracker_of(key) : nullptr;
    if (tracker != nullptr && tracker->end_is_news(slice)) wake(key);
    return reaction;
  }
  if (change.before && !same_texts(change.before->metadata.labels, slice.metadata.labels)) {
    // Nobody here changes these two labels: somebody did.
    const KeyParts key_before = key_of_slice(*change.before);
    if (key_before.name != key.name) {
      wake(key);
      wake(key_before);
      return reaction;
    }
    if (is_managed_by(*change.before, manager) != managed) {
      wake(key);
      return reaction;
    }
  }
  if (!managed) return reaction;
  const SliceTracker* tracker = tracker_of(key);
  if (tracker == nullptr || tracker->is_news(slice)) wake(key);
  return reaction;
}

Plan wait_for_own_write() {
  return {.steps = {{.rule = &rules::own_write_unseen, .text = "what it wrote is not seen yet"}},
          .requeue = true};
}

}  // namespace ddptwin::controller::endpoints
