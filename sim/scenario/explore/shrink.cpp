#include "scenario/explore/shrink.hpp"

#include <algorithm>

namespace ddptwin::scenario {
namespace {

// From the least on towards a number, halving what is left: 1, then the middle, then one less.
template <class Number>
std::vector<Number> towards(Number number, Number least, Number unit) {
  std::vector<Number> found;
  for (Number step = number - least; step >= unit; step = step / 2) found.push_back(number - step);
  return found;
}

// In whole seconds, below one second in milliseconds.
std::vector<Duration> shorter(Duration from) {
  const Duration unit = from >= 1s ? Duration(1s) : Duration(1ms);
  std::vector<Duration> found;
  if (from < unit) return found;
  for (const Duration candidate : towards(from, Duration::zero(), unit))
    found.push_back(candidate / unit * unit);
  found.push_back((from - Duration(1)) / unit * unit);
  return found;
}

// The plan without those in [begin, begin + count).
FaultPlan without(const FaultPlan& plan, std::size_t begin, std::size_t count) {
  FaultPlan less = plan;
  const auto first = less.faults.begin() + static_cast<std::ptrdiff_t>(begin);
  less.faults.erase(first, first + static_cast<std::ptrdiff_t>(count));
  return less;
}

class Search {
 public:
  Search(FaultPlan plan, const Fails& fails, std::size_t tries_max)
      : plan_(std::move(plan)), fails_(fails), left_(tries_max) {}

  Shrunk go() {
    bool better = true;
    while (better && left_ > 0) {
      better = drop();
      better = simplify() || better;
    }
    return {std::move(plan_), runs_, left_ > 0};
  }

 private:
  bool accept(FaultPlan candidate) {
    if (left_ == 0) return false;
    --left_;
    ++runs_;
    if (!fails_(candidate)) return false;
    plan_ = std::move(candidate);
    return true;
  }

  // Halves first, then single faults, the last one first.
  bool drop() {
    bool better = false;
    for (std::size_t count = std::max<std::size_t>(plan_.faults.size() / 2, 1); count > 0;
         count /= 2) {
      std::size_t end = plan_.faults.size();
      while (end >= count && left_ > 0) {
        const std::size_t begin = end - count;
        better = accept(without(plan_, begin, count)) || better;
        end = std::min(begin, plan_.faults.size());
      }
    }
    return better;
  }

  bool simplify() {
    bool better = false;
    for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
      for (bool again = true; again && left_ > 0;) {
        again = false;
        for (Fault& candidate : simpler(plan_.faults[i])) {
          FaultPlan next = plan_;
          next.faults[i] = std::move(candidate);
          if (!accept(std::move(next))) continue;
          again = better = true;
          break;
        }
      }
    }
    return better;
  }

  FaultPlan plan_;
  const Fails& fails_;
  std::size_t left_;
  std::size_t runs_ = 0;
};

}  // namespace

std::vector<Fault> simpler(const Fault& fault) {
  std::vector<Fault> found;
  const auto with = [&](auto member, auto value) {
    Fault next = fault;
    next.*member = std::move(value);
    if (!(next == fault)) found.push_back(std::move(next));
  };
  const FaultRow& row = row_of(fault.kind);
  // Without what is said, where nothing has to be said.
  for (const auto member : {&Fault::lasts, &Fault::delay})
    if (fault.*member) with(member, std::optional<Duration>());
  for (const auto member : {&Fault::signal, &Fault::code})
    if (fault.*member) with(member, std::optional<std::int64_t>());
  if (fault.at) {
    with(&Fault::at, std::optional<Duration>());
    for (const Duration earlier : shorter(*fault.at)) with(&Fault::at, std::optional(earlier));
  }
  if (fault.nth &&
      (row.counts == Occurrence::call || row.counts == Occurrence::event ||
       row.counts == Occurrence::question) &&
      *fault.nth == 1)
    with(&Fault::nth, std::optional<std::int64_t>());
  if (fault.nth)
    for (const std::int64_t earlier : towards<std::int64_t>(*fault.nth, 1, 1))
      with(&Fault::nth, std::optional(earlier));
  if (fault.step)
    for (const std::int64_t earlier : towards<std::int64_t>(*fault.step, 1, 1))
      with(&Fault::step, std::optional(earlier));
  if (fault.lasts)
    for (const Duration less : shorter(*fault.lasts))
      if (less > Duration::zero() || can_last_nothing(row))
        with(&Fault::lasts, std::optional(less));
  if (fault.delay)
    for (const Duration less : shorter(*fault.delay)) with(&Fault::delay, std::optional(less));
  return found;
}

Shrunk shrink(FaultPlan plan, const Fails& fails, std::size_t tries_max) {
  return Search(std::move(plan), fails, tries_max).go();
}

}  // namespace ddptwin::scenario
