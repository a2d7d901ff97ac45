// meta.k8s.io Table: what `kubectl get` prints (spec/kubernetes.md section 1.12).
#pragma once

#include "api/client.hpp"

namespace ddptwin::api {

// The Table of a get or list. Rows carry a PartialObjectMetadata each (includeObject=Metadata).
Json table_of(const KindInfo& kind, const Response& response, Time now);

}  // namespace ddptwin::api
