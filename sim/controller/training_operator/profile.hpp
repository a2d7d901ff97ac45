// The versions of training-operator that the twin can be, and in what they differ
// (spec/pytorchjob.md §0.1, §8). README.md shows the table.
#pragma once

#include <span>
#include <string_view>

namespace ddptwin::controller::pytorchjob {

struct Profile {
  std::string_view version;  // "v1.9.0"

  bool validates_in_reconcile = false;    // §1.4 V7; from v1.8.0 on a webhook does (webhook.hpp)
  bool permanent_exit_code_fails = true;  // Q2, #2071
  bool nproc_without_master = true;       // Q32, #1948; also moves PET_NPROC_PER_NODE one down
  bool first_worker_is_master = true;     // Q32, #1969: job-role=master without a Master
  bool set_event_reasons = true;          // `Set...` for V7's `Setted...`
  std::string_view default_queue = "default";   // volcano, #1977
  bool keeps_queue = true;                      // volcano, #2079
  bool suspended_keeps_ttl = true;              // Q16, #2243: TTL does not count while suspended
  bool managed_by = true;                       // #2203
  bool elastic_needs_worker = true;             // webhook, #2320
  bool keyed_lists = true;                      // CRD: containers and env keyed by name
  bool immutable_queue = true;                  // CRD
  bool recovers_panics = true;                  // controller-runtime 0.19: Q12
  bool limit_honours_clean_pod_policy = false;  // Q5, #3420
};

// Oldest first: v1.7.0, v1.8.0, v1.8.1, v1.9.0, v1.9.4.
std::span<const Profile> profiles();
// By tag ("v1.9.2", "1.8.1") or release ("v1.9"); null when there is none such.
const Profile* find_profile(std::string_view version);
// v1.9.0: what a scenario gets that names none.
const Profile& default_profile();

}  // namespace ddptwin::controller::pytorchjob
