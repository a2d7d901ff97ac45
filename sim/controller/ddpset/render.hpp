// The two objects of the platform as a DDPSet asks for them (spec/statefulset-platform.md §3), and
// the five variables that it puts into every container (§4; rules.hpp has them).
#pragma once

#include <string_view>

#include "objects/apps_v1.hpp"
#include "objects/ddpset.hpp"

namespace ddptwin::controller::ddpset {

// Which generation of the DDPSet an object was made from: an edit of the DDPSet renders it anew,
// an edit of the object itself (a scale past the platform) stays.
inline constexpr std::string_view generation_annotation = "platform.ddptwin.dev/generation";

std::shared_ptr<Service> service_of(const DDPSet& set);
std::shared_ptr<StatefulSet> statefulset_of(const DDPSet& set);

// It was made from the DDPSet as it is now.
bool is_rendered(const Object& object, const DDPSet& set);

}  // namespace ddptwin::controller::ddpset
