// The two objects of the platform as a DDPSet asks for them (spec/statefulset-platform.md §3), and
// the five variables that it puts into every container (§4).
#pragma once

#include <array>
#include <string_view>

#include "objects/apps_v1.hpp"
#include "objects/ddpset.hpp"

namespace ddptwin::controller::ddpset {

// Which generation of the DDPSet an object was made from: an edit of the DDPSet renders it anew,
// an edit of the object itself (a scale past the platform) stays.
inline constexpr std::string_view generation_annotation = "platform.ddptwin.dev/generation";

// A variable by name, and in words where its value comes from.
struct VariableRow {
  std::string_view name;
  std::string_view rule;
};
// All that is injected, in this order, before the user's own.
extern const std::array<VariableRow, 5> variable_rows;

std::shared_ptr<Service> service_of(const DDPSet& set);
std::shared_ptr<StatefulSet> statefulset_of(const DDPSet& set);

// It was made from the DDPSet as it is now.
bool is_rendered(const Object& object, const DDPSet& set);

}  // namespace ddptwin::controller::ddpset
