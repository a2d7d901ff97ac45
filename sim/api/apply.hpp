// Server-side apply as a request (spec/kubernetes.md section 1.7).
#pragma once

#include "api/client.hpp"

namespace ddptwin::api {

// The object is to have these fields, which then are that manager's; what it applied before and
// leaves out now goes, unless another owns it. Made where there is none. Another manager's field of
// another value is a conflict, unless it is taken by force. The configuration names its apiVersion,
// kind, name and namespace itself.
Request apply(const KindInfo& kind, Json configuration, std::string manager, bool force = false,
              Subresource subresource = {});
// The same of an object that holds just the fields to be applied. Unsaid goes what stands in every
// object of its type (resources: {}) and, but for /status, the status.
Request apply(const Object& object, std::string manager, bool force = false,
              Subresource subresource = {});

}  // namespace ddptwin::api
