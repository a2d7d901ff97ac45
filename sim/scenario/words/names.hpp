// What things are called in all that ddptwin says: text, timeline, trace.jsonl, JSON, JUnit, faults
// and invariants (docs/reference/trace.md). One object has one name: KIND/NAME, and
// KIND/NAMESPACE/NAME where the namespace is not `default` (object_name() of describe.hpp); a
// container's is its pod's and /CONTAINER, as `kubectl logs --prefix` writes it. Upstream's own
// messages keep their words.
#pragma once

#include <string>
#include <string_view>

#include "core/trace.hpp"
#include "objects/core_v1.hpp"
#include "objects/describe.hpp"

namespace ddptwin::scenario {

std::string short_name(const Object& object);
// Of an Event's involvedObject.
std::string short_name(const ObjectReference& reference);
// Of a kind's "namespace/name".
std::string key_name(std::string_view kind, std::string_view key);
// Of "namespace/pod", or "namespace/pod/container": "pod/mnist-worker-0/pytorch".
std::string pod_name(std::string_view key);
// Of the keys of a system's controller; empty: no system has that one. Defined where those are.
std::string_view kind_of_controller(std::string_view actor);
// What a record's subject names; what is no object (a step, a DNS name) as it is.
std::string subject_name(const Record& record);

}  // namespace ddptwin::scenario
