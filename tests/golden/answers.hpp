// Answers of the API as recordings show them.
#pragma once

#include "api/client.hpp"
#include "symbols.hpp"

namespace ddptwin::golden {

// An object without what differs from run to run or depends on races.
Json shown(const Object& object);
// The same with its managers, in the order of the recordings: by name, operation and subresource.
Json shown_with_managers(const Object& object);
// Versions and managed fields are left out of answers, wherever they stand.
void strip(Json& value);
// {code, warnings, body}: the body of a refusal always, of a success only where it is wanted.
Json answer_of(const Symbols& symbols, const Result<api::Response>& result, bool want_body);

}  // namespace ddptwin::golden
