#include "controller/manager/go_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddptwin::controller {

std::string go_text(const LabelSelector& selector) {
  std::string text = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : selector.matchLabels)
    text += fmt::format("{}: {},", key.view(), value.view());
  text += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const LabelSelectorRequirement& one : selector.matchExpressions)
    text += fmt::format("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},", one.key,
                        one.operator_, fmt::join(one.values, " "));
  return text + "},}";
}

}  // namespace ddptwin::controller
