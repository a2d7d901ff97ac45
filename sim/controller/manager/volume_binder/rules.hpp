// Every rule of the binder, the provisioner and the protection of volumes, with its source.
#pragma once

#include "controller/controller.hpp"

namespace ddptwin::controller::volume_binder::rules {

inline constexpr Rule set_default_class{"set_default_class", "spec/kubernetes.md §3.7"};
inline constexpr Rule wait_for_consumer{"wait_for_consumer", "spec/kubernetes.md §3.7"};
inline constexpr Rule no_volume_and_no_class{"no_volume_and_no_class", "spec/kubernetes.md §3.7"};
inline constexpr Rule cannot_provision{"cannot_provision", "spec/kubernetes.md §3.7"};
inline constexpr Rule ask_provisioner{"ask_provisioner", "spec/kubernetes.md §3.7"};
inline constexpr Rule requested_volume_is_missing{"requested_volume_is_missing",
                                                  "spec/kubernetes.md §3.7"};
inline constexpr Rule requested_volume_mismatches{"requested_volume_mismatches",
                                                  "spec/kubernetes.md §3.7"};
inline constexpr Rule requested_volume_is_taken{"requested_volume_is_taken",
                                                "spec/kubernetes.md §3.7"};
inline constexpr Rule keep_volume_for_claim{"keep_volume_for_claim", "spec/kubernetes.md §3.7"};
inline constexpr Rule volume_is_bound{"volume_is_bound", "spec/kubernetes.md §3.7"};
inline constexpr Rule name_volume_in_claim{"name_volume_in_claim", "spec/kubernetes.md §3.7"};
inline constexpr Rule claim_is_bound{"claim_is_bound", "spec/kubernetes.md §3.7"};
inline constexpr Rule claim_is_lost{"claim_is_lost", "spec/kubernetes.md §3.7"};
inline constexpr Rule volume_is_available{"volume_is_available", "spec/kubernetes.md §3.7"};
inline constexpr Rule volume_is_released{"volume_is_released", "spec/kubernetes.md §3.7"};
inline constexpr Rule free_volume{"free_volume", "spec/kubernetes.md §3.7"};
inline constexpr Rule nobody_deletes_volume{"nobody_deletes_volume", "spec/kubernetes.md §3.7"};
inline constexpr Rule provision_volume{"provision_volume", "spec/kubernetes.md §3.7"};
inline constexpr Rule choose_node_again{"choose_node_again", "spec/kubernetes.md §3.7"};
inline constexpr Rule delete_volume{"delete_volume", "spec/kubernetes.md §3.7"};
inline constexpr Rule volume_is_unused{"volume_is_unused", "spec/kubernetes.md §3.7"};

}  // namespace ddptwin::controller::volume_binder::rules
