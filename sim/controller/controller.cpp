#include "controller/controller.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller {

std::vector<ObjectPtr> Cache::select(const KindInfo& kind, std::string_view namespace_,
                                     const StringMap& labels) const {
  const LabelMatcher matcher = LabelMatcher::from(labels);
  std::vector<ObjectPtr> found = list(kind, namespace_);
  std::erase_if(
      found, [&](const ObjectPtr& object) { return !matcher.matches(*object->metadata.labels); });
  return found;
}

std::vector<ObjectPtr> Cache::services_selecting(std::string_view namespace_,
                                                 const StringMap& labels) const {
  std::vector<ObjectPtr> found = list(Service::info(), namespace_);
  std::erase_if(found, [&](const ObjectPtr& object) {
    const StringMap& selector = static_cast<const Service&>(*object).spec->selector;
    return selector.empty() || !LabelMatcher::from(selector).matches(labels);
  });
  return found;
}

}  // namespace ddptwin::controller
