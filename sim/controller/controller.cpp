#include "controller/controller.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller {

void Cache::each(const KindInfo& kind, std::string_view namespace_, const StringMap& labels,
                 const Visitor& visitor) const {
  const LabelMatcher matcher = LabelMatcher::from(labels);
  for (const ObjectPtr& object : list(kind, namespace_))
    if (matcher.matches(*object->metadata.labels)) visitor(object);
}

void Cache::each(const KindInfo& kind, std::string_view namespace_, std::string_view label,
                 std::string_view value, const Visitor& visitor) const {
  for (const ObjectPtr& object : list(kind, namespace_)) {
    const std::string* own = object->metadata.label(label);
    if (own != nullptr && *own == value) visitor(object);
  }
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
