#include "scenario/run/scale_to_zero.hpp"

#include <boost/json.hpp>

#include "objects/apps_v1.hpp"
#include "scenario/systems/status_words.hpp"

namespace ddptwin::scenario {

std::vector<ScaleToZero::Call> ScaleToZero::due(const Observer& observer) {
  std::vector<Call> calls;
  for (const auto& [key, seen] : observer.objects(StatefulSet::info())) {
    const std::string_view good = status_words(StatefulSet::info()).good;
    if (seen.gone || observer.watched_state(*seen.last) != good) continue;
    if (!done_.insert(seen.last->metadata.uid.str()).second) continue;
    calls.push_back(
        {seen.last,
         api::patch(*seen.last, api::PatchType::merge,
                    boost::json::object{{"spec", boost::json::object{{"replicas", 0}}}}, "scale")});
  }
  return calls;
}

void ScaleToZero::refused(const Object& set) { refused_.insert(set.metadata.uid.str()); }

void ScaleToZero::try_again() {
  for (const std::string& uid : refused_) done_.erase(uid);
  refused_.clear();
}

}  // namespace ddptwin::scenario
