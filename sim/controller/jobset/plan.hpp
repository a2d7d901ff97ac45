// The page of decisions of the JobSet controller (spec/trainjob.md §5.2).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/controller.hpp"
#include "controller/jobset/failure_policy.hpp"
#include "controller/jobset/profile.hpp"
#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

// All that a plan depends on beside the time.
struct View {
  std::shared_ptr<const JobSet> set{};          // null: gone
  std::vector<JobPtr> jobs{};                   // its own, by name
  bool has_service = false;                     // one of the subdomain's name is there, whosever
  std::set<std::string, std::less<>> claims{};  // of the namespace, by name
};

Plan plan(const View& seen, const Profile& profile, Time now);

}  // namespace ddptwin::controller::jobset
