// Every rule of the controller by name, with its source.
#pragma once

#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::statefulset::rules {

inline constexpr Rule set_is_gone{"set_is_gone", "spec/kubernetes.md §4"};
inline constexpr Rule set_is_being_deleted{"set_is_being_deleted", "spec/kubernetes.md §4 step 2"};
inline constexpr Rule adopt_pod{"adopt_pod", "spec/kubernetes.md §4"};
inline constexpr Rule release_pod{"release_pod", "spec/kubernetes.md §4"};
inline constexpr Rule adopt_revision{"adopt_revision", "spec/kubernetes.md §4"};
inline constexpr Rule create_revision{"create_revision", "spec/kubernetes.md §4, Revisions"};
inline constexpr Rule roll_back{"roll_back", "spec/kubernetes.md §4, Revisions"};
inline constexpr Rule trim_history{"trim_history", "spec/kubernetes.md §4, Revisions"};
inline constexpr Rule replace_finished_pod{"replace_finished_pod", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule create_pod{"create_pod", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule await_stale_claim{"await_stale_claim", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule await_termination{"await_termination", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule await_ready{"await_ready", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule restore_identity{"restore_identity", "spec/kubernetes.md §4 step 3"};
inline constexpr Rule create_claim{"create_claim", "spec/kubernetes.md §4"};
inline constexpr Rule claim_is_being_deleted{"claim_is_being_deleted", "spec/kubernetes.md §4"};
inline constexpr Rule hand_on_claim{"hand_on_claim",
                                    "spec/kubernetes.md §4, persistentVolumeClaimRetentionPolicy"};
inline constexpr Rule scale_down_pod{"scale_down_pod", "spec/kubernetes.md §4 step 4"};
inline constexpr Rule update_pod{"update_pod", "spec/kubernetes.md §4 step 5"};
inline constexpr Rule await_updated_pod{"await_updated_pod", "spec/kubernetes.md §4 step 5"};
inline constexpr Rule write_status{"write_status", "spec/kubernetes.md §4, Status"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::statefulset::rules
