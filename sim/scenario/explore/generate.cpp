#include "scenario/explore/generate.hpp"

#include <algorithm>
#include <array>

#include "scenario/explore/points.hpp"

namespace ddptwin::scenario {
namespace {

// Draws the fields of one fault.
class Draw {
 public:
  Draw(Random random, const Census& census, const PlanBounds& bounds)
      : random_(random), census_(census), bounds_(bounds) {}

  std::optional<Fault> fault(const FaultRow& row) {
    Fault fault;
    fault.kind = row.kind;
    using Aim = bool (Draw::*)(const FaultRow&, Fault&);
    constexpr std::array<Aim, 6> aims{&Draw::call,  &Draw::event,    &Draw::write,
                                      &Draw::start, &Draw::question, &Draw::link};
    if (!(this->*aims[static_cast<std::size_t>(row.counts)])(row, fault)) return std::nullopt;
    measures(row, fault);
    return fault;
  }

 private:
  template <class Map>
  const typename Map::value_type* one_of(const Map& map) {
    if (map.empty()) return nullptr;
    return &*std::next(map.begin(), static_cast<std::ptrdiff_t>(random_.below(map.size())));
  }

  // Somewhat beyond what there was: a disturbed run is longer.
  std::int64_t nth(std::int64_t count) {
    return 1 + static_cast<std::int64_t>(
                   random_.below(static_cast<std::uint64_t>(count + count / 4 + 1)));
  }
  Duration moment() {
    const auto milliseconds = bounds_.length / Duration(1ms);
    return 1ms * static_cast<std::int64_t>(random_.below(
                     static_cast<std::uint64_t>(std::max<std::int64_t>(milliseconds, 1))));
  }
  // Most things that go wrong last short, a few of them long.
  Duration span() {
    constexpr std::array spans{Duration(100ms), Duration(1s),  Duration(5s),
                               Duration(15s),   Duration(60s), Duration(330s)};
    return spans[random_.below(spans.size())];
  }

  bool call(const FaultRow&, Fault& fault) {
    std::map<Census::Process, std::int64_t> fitting = census_.calls;
    std::erase_if(fitting, [](const auto& row) { return row.first.first == "user"; });
    const auto* found = one_of(fitting);
    if (found == nullptr) return false;
    fault.of = name_of(found->first);
    fault.nth = nth(found->second);
    if (random_.chance(0.2)) fault.lasts = span();
    return true;
  }

  bool event(const FaultRow&, Fault& fault) {
    const auto* found = one_of(census_.events);  // the user watches nothing
    if (found == nullptr) return false;
    fault.of = name_of(found->first.first);
    fault.object_kind = found->first.second;
    fault.nth = nth(found->second);
    if (fault.kind != FaultKind::watch_relist && random_.chance(0.3)) fault.lasts = span();
    return true;
  }

  // At a moment, or after a write.
  bool write(const FaultRow& row, Fault& fault) {
    std::map<Census::Process, std::int64_t> fitting;
    for (const auto& [process, count] : census_.writes)
      if (is_writer(row, process, census_)) fitting.emplace(process, count);
    const auto* found = one_of(fitting);
    if (found == nullptr) return false;
    if (row.port != "scheduler") fault.of = found->first.second;
    if (random_.chance(0.7))
      fault.nth = nth(found->second);
    else
      fault.at = moment();
    if (takes(row, "for") && random_.chance(0.7)) fault.lasts = span();
    return true;
  }

  bool start(const FaultRow&, Fault& fault) {
    const auto* steps = one_of(census_.steps);
    if (steps != nullptr && random_.chance(0.7)) {
      fault.of = steps->first;
      fault.step = nth(steps->second);
      return true;
    }
    const auto* found = one_of(census_.starts);
    if (found == nullptr) return false;
    fault.of = found->first.first;
    fault.container = found->first.second;
    if (random_.chance(0.5))
      fault.nth = nth(found->second);
    else
      fault.at = moment();
    return true;
  }

  bool link(const FaultRow& row, Fault& fault) {
    const auto* one = one_of(census_.steps);
    const auto* other = one_of(census_.steps);
    if (one == nullptr) return false;
    fault.of = one->first;
    if (other->first != one->first) fault.to = other->first;
    fault.step = nth(one->second);
    if (takes(row, "for") && random_.chance(0.6)) fault.lasts = span();
    return true;
  }

  bool question(const FaultRow& row, Fault& fault) {
    const auto* found = one_of(census_.questions);
    if (found == nullptr) return false;
    fault.of = found->first;
    if (fault.of.back() != '.') fault.of += '.';
    fault.nth = nth(found->second);
    if (random_.chance(0.4)) fault.lasts = span();
    if (row.kind == FaultKind::dns_wrong) fault.address = "192.0.2.1";  // nobody's (RFC 5737)
    return true;
  }

  void measures(const FaultRow& row, Fault& fault) {
    if (takes(row, "delay") && random_.chance(0.5)) fault.delay = span();
    if (row.kind == FaultKind::api_error && random_.chance(0.5)) fault.code = 503;
    if (row.kind == FaultKind::process_kill && random_.chance(0.5)) {
      constexpr std::array<std::int64_t, 3> signals{15, 6, 11};
      fault.signal = signals[random_.below(signals.size())];
    }
    // No 0: a rank that says it is done does no wrong in the cluster's eyes.
    if (row.kind == FaultKind::process_exit) {
      constexpr std::array<std::int64_t, 4> codes{1, 3, 137, 143};
      fault.code = codes[random_.below(codes.size())];
    }
  }

  Random random_;
  const Census& census_;
  const PlanBounds& bounds_;
};

}  // namespace

FaultPlan random_plan(Random random, const Census& census, std::span<const FaultRow* const> kinds,
                      const PlanBounds& bounds) {
  FaultPlan plan;
  if (kinds.empty()) return plan;
  std::vector<const FaultRow*> enabled;
  std::vector<std::uint64_t> weights;
  std::uint64_t all = 0;
  for (const FaultRow* row : kinds) {
    if (!random.chance(0.4)) continue;
    enabled.push_back(row);
    weights.push_back(1 + random.below(8));
    all += weights.back();
  }
  if (enabled.empty()) {
    enabled.push_back(kinds[random.below(kinds.size())]);
    weights.push_back(all = 1);
  }
  const std::size_t count = 1 + random.below(bounds.faults_max);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t ticket = random.below(all);
    std::size_t chosen = 0;
    while (ticket >= weights[chosen]) ticket -= weights[chosen++];
    // A stream of its own: one more draw in one fault leaves the others as they are.
    Draw draw(random.split(i), census, bounds);
    if (auto fault = draw.fault(*enabled[chosen])) plan.faults.push_back(std::move(*fault));
  }
  return plan;
}

}  // namespace ddptwin::scenario
