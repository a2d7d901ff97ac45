// The nodes of a recording: four that stand beside every case, and those that a case makes,
// silences and brings up again (golden/README.md, "Steps").
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "scenario/world/world.hpp"

namespace ddptwin::golden {

// node-0..3, of which recordings show nothing.
void make_standing_nodes(World& world);
bool is_standing(const Object& node);

// An entry of the verb `nodes`. The error of a node that the API refuses.
Status add_node(World& world, const boost::json::object& argument);
// An entry of the verb `nodeUp`: `actor`, the recorder, writes all that a kubelet posts anew.
// bad_input: there is no such node.
Status bring_up(World& world, const std::string& name, std::string_view actor);

}  // namespace ddptwin::golden
