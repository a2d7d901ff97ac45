#include "scenario/run/scale_to_zero.hpp"

#include <boost/json.hpp>

#include "objects/apps_v1.hpp"
#include "scenario/systems/status_words.hpp"

namespace ddptwin::scenario {

std::vector<api::Request> ScaleToZero::due(const Observer& observer) {
  std::vector<api::Request> calls;
  for (const auto& [key, seen] : observer.objects(StatefulSet::info())) {
    const std::string_view good = status_words(StatefulSet::info()).good;
    if (seen.gone || observer.watched_state(*seen.last) != good) continue;
    if (!done_.insert(std::string(std::string_view(seen.last->metadata.uid))).second) continue;
    calls.push_back(api::patch(*seen.last, api::PatchType::merge,
                               boost::json::object{{"spec", boost::json::object{{"replicas", 0}}}},
                               "scale"));
  }
  return calls;
}

}  // namespace ddptwin::scenario
