// Pieces of the objects that Trainer applies, as JSON: an apply says what it wants and nothing
// else, and an empty value is not the same as none (upstream: pkg/apply).
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "objects/core_v1.hpp"

namespace ddptwin::controller::trainer {

// A variable of that name, a volume of that name or a mount of that path is replaced where it
// stands, whole; another one is added.
void upsert_variable(boost::json::array& to, boost::json::object variable);
void upsert_volume(boost::json::array& to, boost::json::object volume);
void upsert_mount(boost::json::array& to, boost::json::object mount);
// Of that number or of that name: two ports without a name have the same one.
void upsert_port(boost::json::array& to, boost::json::object port);

boost::json::object variable(std::string_view name, std::string_view value);
boost::json::object variable_of_field(std::string_view name, std::string_view path);
// What of a variable is applied: its value also where it is empty, and references without their
// versions.
boost::json::object applied(const EnvVar& variable);

// A list in an object, made where it is missing. Only for who adds something to it.
boost::json::array& list_in(boost::json::object& object, std::string_view key);
// Null where it is missing or is none.
boost::json::array* find_list(boost::json::object& object, std::string_view key);
boost::json::object& object_in(boost::json::object& object, std::string_view key);
// Empty where it is missing or is none.
std::string_view text_in(const boost::json::object& object, std::string_view key);

}  // namespace ddptwin::controller::trainer
