// Every rule of the controllers of this folder.
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller::endpoints::rules {

inline constexpr Rule create_endpoints{"create_endpoints", "spec/kubernetes.md §5"};
inline constexpr Rule update_endpoints{"update_endpoints", "spec/kubernetes.md §5"};
inline constexpr Rule delete_endpoints{"delete_endpoints", "spec/kubernetes.md §5"};
inline constexpr Rule create_slice{"create_slice", "spec/kubernetes.md §5"};
inline constexpr Rule update_slice{"update_slice", "spec/kubernetes.md §5"};
inline constexpr Rule delete_slice{"delete_slice", "spec/kubernetes.md §5"};
inline constexpr Rule own_write_unseen{"own_write_unseen", "EndpointSlice controller's tracker"};

}  // namespace ddptwin::controller::endpoints::rules
