// Values by their merge types: what server-side apply checks, compares, merges and takes away
// (spec/kubernetes.md section 1.7). Lists that have keys are compared item by item, what is atomic
// as one.
#pragma once

#include <string>
#include <vector>

#include "objects/field_set.hpp"
#include "objects/merge_type.hpp"

namespace ddptwin {

// What a type does not allow, in upstream's words: ".data.a: expected string, got ...".
std::vector<std::string> type_errors(const MergeType& type, const Json& value);

// The fields that an applied configuration names.
FieldSet fields_of(const MergeType& type, const Json& value);

struct FieldChanges {
  FieldSet added{}, modified{}, removed{};
};
FieldChanges compare(const MergeType& type, const Json& before, const Json& after);

// The live value with what is applied over it. Items of lists stand in the order of the applied
// ones, others where they stood among them.
Json merge_applied(const MergeType& type, const Json& live, const Json& applied);

// Without these fields. A list or map that loses all it has is null.
Json without_fields(const MergeType& type, const Json& value, const FieldSet& fields);

// With each structure's member that has some of its own fields in the set.
FieldSet with_structures(const MergeType& type, const FieldSet& fields);

}  // namespace ddptwin
