#include "controller/controller.hpp"

#include <algorithm>

#include "objects/selector.hpp"

namespace ddptwin::controller {

void Cache::each(const KindInfo& kind, std::string_view namespace_, const StringMap& labels,
                 const Visitor& visitor) const {
  const LabelMatcher matcher = LabelMatcher::from(labels);
  for (const ObjectPtr& object : list(kind, namespace_))
    if (matcher.matches(*object->metadata.labels)) visitor(object);
}

void Cache::each(const KindInfo& kind, const api::LabelQuery& query, const Visitor& visitor) const {
  each(kind, query.name_space(), query.labels(), visitor);
}

void Cache::each(const KindInfo& kind, std::string_view namespace_, std::string_view label,
                 std::string_view value, const Visitor& visitor) const {
  for (const ObjectPtr& object : list(kind, namespace_)) {
    const Text* own = object->metadata.label(label);
    if (own != nullptr && *own == value) visitor(object);
  }
}

void Cache::each_selecting(std::string_view namespace_, const Cow<StringMap>& labels,
                           const ServiceVisitor& visitor) const {
  for (const ObjectPtr& object : list(Service::info(), namespace_)) {
    const auto& service = static_cast<const Service&>(*object);
    const StringMap& selector = api::endpoint_selector(service);
    if (!selector.empty() && LabelMatcher::from(selector).matches(labels)) visitor(service);
  }
}

}  // namespace ddptwin::controller
