#include "scenario/run/judged_faults.hpp"

#include <fmt/format.h>

#include "scenario/language/fault_yaml.hpp"

namespace ddptwin::scenario {
namespace {

std::string why_never(const FaultPlan& plan, const Fault& fault, Duration lasted) {
  if (fault.at && *fault.at >= lasted)
    return fmt::format("it never acted: the run was over after {}, before its time",
                       format_go_duration(lasted));
  if (plan.heal && *plan.heal <= lasted)
    return fmt::format("it never acted before all faults were healed, after {}",
                       format_go_duration(*plan.heal));
  return "it never acted";
}

}  // namespace

std::vector<RunResult::Judged> judged_faults(const FaultPlan& plan, const FaultInjector& injector,
                                             Time began, Time ended) {
  std::vector<RunResult::Judged> judged;
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const Acted& acted = injector.acted()[i];
    RunResult::Judged& one = judged.emplace_back();
    one.name = to_yaml(plan.faults[i]);
    one.where = plan.faults[i].where;
    one.verdict = acted.times > 0 ? Verdict::held : Verdict::failed;
    if (acted.times > 0)
      one.at = acted.first - began;
    else
      one.detail = why_never(plan, plan.faults[i], ended - began);
  }
  return judged;
}

}  // namespace ddptwin::scenario
