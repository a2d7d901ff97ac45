#include "scenario/run/never_printed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenario/language/claims.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/outlook.hpp"

namespace ddptwin::scenario {
namespace {

// Each state that something else waits for.
std::vector<const State*> awaited_in(const Scenario& scenario) {
  std::vector<const State*> found;
  for (const Step& step : scenario.steps) {
    if (step.trigger.when) found.push_back(&*step.trigger.when);
    if (const Wait* wait = std::get_if<Wait>(&step.action); wait != nullptr && wait->state)
      found.push_back(&*wait->state);
  }
  for (const Fault& fault : scenario.faults.faults)
    if (fault.when) found.push_back(&*fault.when->state);
  return found;
}

bool tells_step(const std::vector<std::string>& lines, std::int64_t wanted,
                const model::LineFacts& facts) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return step_of(model::filled_in(line, facts)).step >= wanted;
  });
}

// Why a described script never tells the end of that step or a later one; empty: it does.
std::string why_never(const std::string& image, const model::Workload& described,
                      std::int64_t wanted) {
  if (described.serves) return fmt::format("images[].model of \"{}\" is no rank", image);
  std::int64_t steps = described.steps;
  for (const auto& [rank, share] : described.ranks)
    steps = std::max(steps, share.steps.value_or(steps));
  if (steps < wanted) return fmt::format("images[].model of \"{}\" has {} steps", image, steps);
  const model::Prints& prints = described.prints;
  if (!prints.step) return {};
  const model::LineFacts at_end{.steps = steps, .step = steps};
  if (tells_step(*prints.step, wanted, at_end)) return {};
  if (prints.joined && tells_step(*prints.joined, wanted, {.steps = steps})) return {};
  if (prints.finished && tells_step(*prints.finished, wanted, at_end)) return {};
  return fmt::format("images[].model of \"{}\" prints no line with \"step {{step}}\"", image);
}

// Whether the use is of a pod that the state looks at, as far as names tell.
bool looks_at(const State& state, const ImageUse& use) {
  if (!state.container.empty() && state.container != use.container) return false;
  const std::string owner = use.object.substr(use.object.rfind('/') + 1);
  return state.of.name.empty() || state.of.name.starts_with(owner);
}

}  // namespace

Status refuse_never_printed(const Scenario& scenario) {
  const auto images = images_of(scenario, "");
  const auto uses = image_uses(scenario);
  for (const State* state : awaited_in(scenario)) {
    for (const Claim& claim : state->claims) {
      const StepClaim* wanted = std::get_if<StepClaim>(&claim);
      if (wanted == nullptr) continue;
      std::string why;
      bool may_come = false;
      for (const ImageUse& use : uses) {
        if (!looks_at(*state, use) || use.role != ContainerRole::training) continue;
        const NamedImage* image = description_of(images, use.image);
        const bool described = image != nullptr && image->model && !image->stand_in;
        const auto outlook =
            described ? outlook_of(*image, use) : Result<model::Outlook>(model::Outlook{});
        const bool trains = outlook && !outlook->trains.empty();
        std::string never;
        if (trains) never = why_never(image->name, *image->model, wanted->step);
        if (never.empty()) may_come = true;
        why = std::move(never);
      }
      if (!may_come && !why.empty())
        return fail(Reason::bad_input, fmt::format("step {} never comes: {}", wanted->step, why),
                    state->where);
    }
  }
  return {};
}

}  // namespace ddptwin::scenario
