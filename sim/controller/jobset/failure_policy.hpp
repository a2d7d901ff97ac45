// Which failed Job a JobSet answers, and by what (spec/trainjob.md §5.4).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "controller/controller.hpp"
#include "controller/jobset/profile.hpp"
#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

using JobPtr = std::shared_ptr<const Job>;

// What an action does. Literals.
struct ActionRow {
  std::string_view name;
  const Rule* rule;
  enum class Does : std::uint8_t { fail, restart_all, restart_job } does;
  bool counts;               // towards maxRestarts
  std::string_view event;    // reason of its event
  std::string_view message;  // of that and of the condition, before the Job's name
};
// Null: no such action.
const ActionRow* action_named(std::string_view name);

struct Answer {
  JobPtr job{};                             // that failed first, of those that the rule is about
  const JobSetFailureRule* rule = nullptr;  // null: none matches
};
// Precondition: some have failed.
Answer answer_to(const JobSetFailurePolicy& policy, const std::vector<JobPtr>& failed,
                 const Profile& profile);
// The one that failed first.
JobPtr first_failed(const std::vector<JobPtr>& failed);

}  // namespace ddptwin::controller::jobset
