#include "controller/manager/pod_autoscaler/behavior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "objects/json_members.hpp"

namespace ddptwin::controller::pod_autoscaler {
namespace {

namespace json = boost::json;

constexpr ConditionWords ready_for_more{"ReadyForNewScale",
                                        "recommended size matches current size"};
constexpr ConditionWords up_stabilized{
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent "
    "recommendation"};
constexpr ConditionWords down_stabilized{
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation"};
constexpr ConditionWords within{"DesiredWithinRange",
                                "the desired count is within the acceptable range"};
constexpr ConditionWords up_limit{
    "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"};
constexpr ConditionWords down_limit{
    "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"};
constexpr ConditionWords too_many{
    "TooManyReplicas", "the desired replica count is more than the maximum replica count"};
constexpr ConditionWords too_few{
    "TooFewReplicas", "the desired replica count is less than the minimum replica count"};

std::int32_t int_of(const json::object& from, std::string_view name, std::int32_t otherwise) {
  return static_cast<std::int32_t>(integer_of(from, name).value_or(otherwise));
}

ScalingRules rules_of(const json::object& behavior, std::string_view name, Duration window) {
  using std::chrono::duration_cast;
  ScalingRules rules;
  rules.window = static_cast<std::int32_t>(duration_cast<std::chrono::seconds>(window).count());
  const json::object* written = map_of(behavior, name);
  if (written == nullptr) return rules;
  const json::object& from = *written;
  rules.window = int_of(from, "stabilizationWindowSeconds", rules.window);
  rules.select = text_of(from, "selectPolicy");
  if (const auto tolerance = quantity_of(from, "tolerance"))
    rules.tolerance = static_cast<double>(tolerance->milli_value()) / 1000;
  if (const Json* list = from.if_contains("policies"); list != nullptr && list->is_array())
    for (const Json& one : list->get_array())
      if (one.is_object())
        rules.policies.push_back({text_of(one.get_object(), "type"),
                                  int_of(one.get_object(), "value", 0),
                                  int_of(one.get_object(), "periodSeconds", 0)});
  return rules;
}

// A record that nobody looks at any more makes room for the new one; the last such.
template <class Row, class IsOld>
void put(std::vector<Row>& rows, const Row& row, const IsOld& is_old) {
  const auto old = std::find_if(rows.rbegin(), rows.rend(), is_old);
  if (old != rows.rend())
    *old = row;
  else
    rows.push_back(row);
}

std::int32_t change_within(const std::vector<Memory::Change>& changes, std::int32_t period,
                           Time now) {
  std::int32_t sum = 0;
  for (const Memory::Change& one : changes)
    if (one.at > now - std::chrono::seconds(period)) sum += one.by;
  return sum;
}

// How many there were when the period began.
std::int32_t at_begin(const Memory& memory, std::int32_t now_are, std::int32_t period, Time now) {
  return now_are - change_within(memory.ups, period, now) +
         change_within(memory.downs, period, now);
}

std::int32_t most_of(const ScalingRules& rules, const Memory& memory, std::int32_t now_are,
                     Time now) {
  if (rules.select == "Disabled") return now_are;
  std::int32_t result = rules.select == "Min" ? std::numeric_limits<std::int32_t>::max() : 0;
  for (const ScalingPolicy& policy : rules.policies) {
    const std::int32_t began = at_begin(memory, now_are, policy.period, now);
    const std::int32_t proposed =
        policy.type == "Pods"
            ? began + policy.value
            : static_cast<std::int32_t>(std::ceil(began * (1 + policy.value / 100.0)));
    result = rules.select == "Min" ? std::min(result, proposed) : std::max(result, proposed);
  }
  return std::max(result, now_are);
}

std::int32_t least_of(const ScalingRules& rules, const Memory& memory, std::int32_t now_are,
                      Time now) {
  if (rules.select == "Disabled") return now_are;
  std::int32_t result = rules.select == "Min" ? 0 : std::numeric_limits<std::int32_t>::max();
  for (const ScalingPolicy& policy : rules.policies) {
    const std::int32_t began = at_begin(memory, now_are, policy.period, now);
    const std::int32_t proposed =
        policy.type == "Pods" ? began - policy.value
                              : static_cast<std::int32_t>(began * (1 - policy.value / 100.0));
    result = rules.select == "Min" ? std::max(result, proposed) : std::min(result, proposed);
  }
  return std::min(result, now_are);
}

// Nothing but a fall waits: for the window of the controller's own.
std::int32_t stabilized(Memory& memory, std::int32_t wanted, Time now) {
  const Time cutoff = now - downscale_stabilization;
  std::int32_t result = wanted;
  for (const Memory::Recommendation& one : memory.recommendations)
    if (one.at >= cutoff) result = std::max(result, one.replicas);
  put(memory.recommendations, Memory::Recommendation{wanted, now},
      [cutoff](const auto& one) { return one.at < cutoff; });
  return result;
}

// As many as there are, unless all that was wished for within its window was more, or less.
std::int32_t stabilized(Memory& memory, const Behavior& behavior, std::int32_t now_are,
                        std::int32_t wanted, Time now) {
  const Time up = now - std::chrono::seconds(behavior.up.window);
  const Time down = now - std::chrono::seconds(behavior.down.window);
  std::int32_t lowest = wanted, highest = wanted;
  for (const Memory::Recommendation& one : memory.recommendations) {
    if (one.at > up) lowest = std::min(lowest, one.replicas);
    if (one.at > down) highest = std::max(highest, one.replicas);
  }
  put(memory.recommendations, Memory::Recommendation{wanted, now},
      [&](const auto& one) { return one.at < up && one.at < down; });
  return std::min(std::max(now_are, lowest), highest);
}

struct Limited {
  std::int32_t replicas = 0;
  ConditionWords why = within;
};

Limited limited_plainly(std::int32_t now_are, std::int32_t wanted, Bounds bounds) {
  const std::int32_t fastest = std::max(2 * now_are, 4);
  const bool is_rate = bounds.most > fastest;
  const std::int32_t most = is_rate ? fastest : bounds.most;
  if (wanted < bounds.least) return {bounds.least, too_few};
  if (wanted > most) return {most, is_rate ? up_limit : too_many};
  return {wanted};
}

Limited limited_by(const Behavior& behavior, const Memory& memory, std::int32_t now_are,
                   std::int32_t wanted, Bounds bounds, Time now) {
  if (wanted > now_are) {
    const std::int32_t fastest = most_of(behavior.up, memory, now_are, now);
    const bool is_rate = bounds.most > fastest;
    const std::int32_t most = is_rate ? fastest : bounds.most;
    if (wanted > most) return {most, is_rate ? up_limit : too_many};
  } else if (wanted < now_are) {
    const std::int32_t fastest = least_of(behavior.down, memory, now_are, now);
    const bool is_rate = bounds.least < fastest;
    const std::int32_t least = is_rate ? fastest : bounds.least;
    if (wanted < least) return {least, is_rate ? down_limit : too_few};
  }
  return {wanted};
}

}  // namespace

std::int32_t ScalingRules::longest_period() const {
  std::int32_t longest = 0;
  for (const ScalingPolicy& policy : policies) longest = std::max(longest, policy.period);
  return longest;
}

std::optional<Behavior> Behavior::of(const HorizontalPodAutoscaler& autoscaler) {
  const Json* written = autoscaler.spec.behavior.get();
  if (written == nullptr || !written->is_object()) return std::nullopt;
  const json::object& from = written->get_object();
  return Behavior{rules_of(from, "scaleUp", Duration::zero()),
                  rules_of(from, "scaleDown", downscale_stabilization)};
}

Verdict judge(Memory& memory, const std::optional<Behavior>& behavior, std::int32_t now_are,
              std::int32_t wanted, Bounds bounds, Time now) {
  const std::int32_t stable = behavior ? stabilized(memory, *behavior, now_are, wanted, now)
                                       : stabilized(memory, wanted, now);
  const bool goes_up = behavior && wanted >= now_are;
  Verdict verdict;
  verdict.able = stable == wanted ? ready_for_more : goes_up ? up_stabilized : down_stabilized;
  const Limited outcome = behavior ? limited_by(*behavior, memory, now_are, stable, bounds, now)
                                   : limited_plainly(now_are, stable, bounds);
  verdict.replicas = outcome.replicas;
  verdict.is_limited = outcome.replicas != stable;
  verdict.limited = outcome.why;
  return verdict;
}

void note_change(Memory& memory, const std::optional<Behavior>& behavior, std::int32_t before,
                 std::int32_t after, Time now) {
  if (!behavior) return;
  const bool is_up = after > before;
  const ScalingRules& rules = is_up ? behavior->up : behavior->down;
  const Time cutoff = now - std::chrono::seconds(rules.longest_period());
  put(is_up ? memory.ups : memory.downs,
      Memory::Change{is_up ? after - before : before - after, now},
      [cutoff](const Memory::Change& one) { return one.at < cutoff; });
}

}  // namespace ddptwin::controller::pod_autoscaler
