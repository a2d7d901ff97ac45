#include "controller/endpoints/slice_tracker.hpp"

#include <algorithm>

#include "controller/endpoints/membership.hpp"
#include "controller/endpoints/rules.hpp"

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

std::size_t SliceTracker::index_of(const OfKey& written, const Object& slice) {
  const auto found = std::find_if(written.begin(), written.end(),
                                  [&](const Written& one) { return is_same(*one.slice, slice); });
  return static_cast<std::size_t>(found - written.begin());
}

void SliceTracker::accepted(const Key& key, const Step& step, const api::Response& answer) {
  const bool removes = step.removes != nullptr;
  const ObjectPtr& slice = removes ? step.removes : answer.object;
  OfKey& written = written_[key];
  const std::size_t at = index_of(written, *slice);
  if (at == written.size()) written.emplace_back();
  written[at] = {slice, removes ? removed : slice->metadata.generation};
}

bool SliceTracker::is_news(const KeyParts& key, const Object& slice) const {
  const auto found = written_.find(key);
  if (found == written_.end()) return true;
  const OfKey& written = found->second;
  const std::size_t at = index_of(written, slice);
  return at == written.size() || slice.metadata.generation > written[at].generation;
}

bool SliceTracker::end_is_news(const KeyParts& key, const Object& slice) {
  const auto found = written_.find(key);
  if (found == written_.end()) return false;
  OfKey& written = found->second;
  const std::size_t at = index_of(written, slice);
  if (at == written.size()) return false;
  const bool unexpected = written[at].generation != removed;
  written.erase(written.begin() + static_cast<std::ptrdiff_t>(at));
  if (written.empty()) written_.erase(found);
  return unexpected;
}

bool SliceTracker::is_ahead_of(const Key& key, const ExistingSlices& shown) const {
  const auto found = written_.find(key);
  if (found == written_.end()) return false;
  const auto is_unseen = [&](const Written& written) {
    const auto seen = std::find_if(shown.begin(), shown.end(), [&](const EndpointSlice* slice) {
      return is_same(*slice, *written.slice);
    });
    if (written.generation == removed) return seen != shown.end();
    return seen == shown.end() || (*seen)->metadata.generation < written.generation;
  };
  return std::any_of(found->second.begin(), found->second.end(), is_unseen);
}

Reaction on_slice(const Change& change, std::string_view manager, SliceTracker& tracker) {
  const Object& slice = change.object();
  const KeyParts key = key_of_slice(slice);
  const bool managed = is_managed_by(slice, manager);
  Reaction reaction;
  const auto wake = [&](const KeyParts& woken) {
    if (!woken.name.empty()) reaction.wake.push_back(woken);
  };
  if (!change.after) {
    if (managed && tracker.end_is_news(key, slice)) wake(key);
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
  if (managed && tracker.is_news(key, slice)) wake(key);
  return reaction;
}

Plan wait_for_own_write() {
  return {.steps = {{.rule = &rules::own_write_unseen, .text = "what it wrote is not seen yet"}},
          .requeue = true};
}

}  // namespace ddptwin::controller::endpoints
