// A trace record as one line of text.
#pragma once

#include "core/trace.hpp"
#include "objects/object.hpp"

namespace ddptwin {

// What ddptwin calls an object wherever it speaks of one: the kind in small letters, the namespace
// where it is not `default`: "pod/mnist-worker-0", "pod/team/mnist-worker-0", "node/n1".
std::string object_name(std::string_view kind, std::string_view namespace_, std::string_view name);
std::string object_name(const Object& object);
// Whether what stands at this path (of diff()) of the object is for nobody's eyes: values of
// Secrets, and what kubectl keeps of them in an annotation.
bool is_secret(const Object& object, std::string_view path);
// What a record is about: its object, or its subject.
std::string subject_of(const Record& record);
// Without secrets: "2026-01-01T00:00:05Z kubelet objectModified pod/p: status.phase Pending
// -> Running".
std::string describe(const Record& record);

}  // namespace ddptwin
