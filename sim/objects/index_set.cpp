#include "objects/index_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace ddptwin {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Calls visit(part) for each of the comma's parts; an empty text has none.
template <class Visit>
void each_part(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    visit(text.substr(at, comma - at));
    at = comma + 1;
  }
}

struct Part {
  std::string_view first, last;
};
Part split(std::string_view part) {
  const std::size_t dash = part.find('-');
  return dash == part.npos ? Part{part, part} : Part{part.substr(0, dash), part.substr(dash + 1)};
}

}  // namespace

IndexSet IndexSet::read(std::string_view text, int limit) {
  IndexSet set;
  each_part(text, [&](std::string_view part) {
    const auto [first, last] = split(part);
    const auto from = number(first), to = number(last);
    if (!from || !to || *from >= limit || *to < *from) return;
    set.append(*from, std::min(*to, limit - 1));
  });
  return set;
}

Result<IndexSet> IndexSet::parse(std::string_view text, int limit) {
  IndexSet set;
  std::optional<Error> problem;
  int after = -1;
  const auto refuse = [&](std::string message) {
    if (!problem) problem = Error{.reason = Reason::invalid, .message = std::move(message)};
  };
  each_part(text, [&](std::string_view part) {
    if (std::count(part.begin(), part.end(), '-') > 1)
      return refuse(fmt::format(
          "the fragment \"{}\" violates the requirement that an index interval can have "
          "at most two parts separated by '-'",
          part));
    const auto [first, last] = split(part);
    for (const std::string_view one : {first, last})
      if (!number(one))
        return refuse(fmt::format("cannot convert string to integer for index: \"{}\"", one));
    const int from = *number(first), to = *number(last);
    for (const auto& [index, written] : {std::pair{from, first}, std::pair{to, last}})
      if (index >= limit) return refuse(fmt::format("too large index: \"{}\"", written));
    if (from <= after)
      return refuse(fmt::format("non-increasing order, previous: {}, current: {}", after, from));
    if (to < from || (to == from && part.find('-') != part.npos))
      return refuse(fmt::format("non-increasing order, previous: {}, current: {}", from, to));
    set.append(from, to);
    after = to;
  });
  if (problem) return fail(std::move(*problem));
  return set;
}

void IndexSet::append(int first, int last) {
  if (!intervals_.empty() && intervals_.back().last + 1 >= first)
    intervals_.back().last = std::max(intervals_.back().last, last);
  else
    intervals_.push_back({first, last});
}

void IndexSet::add(int index) {
  if (has(index)) return;
  const auto after = std::find_if(intervals_.begin(), intervals_.end(),
                                  [&](const Interval& one) { return one.first > index; });
  std::vector<Interval> rest(after, intervals_.end());
  intervals_.erase(after, intervals_.end());
  append(index, index);
  for (const Interval& one : rest) append(one.first, one.last);
}

bool IndexSet::has(int index) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [&](const Interval& one) { return one.first <= index && index <= one.last; });
}

int IndexSet::size() const {
  int sum = 0;
  for (const Interval& one : intervals_) sum += one.last - one.first + 1;
  return sum;
}

std::string IndexSet::text() const {
  std::string text;
  for (const Interval& one : intervals_) {
    if (!text.empty()) text += ',';
    text += std::to_string(one.first);
    if (one.last > one.first) {
      text += one.last == one.first + 1 ? ',' : '-';
      text += std::to_string(one.last);
    }
  }
  return text;
}

}  // namespace ddptwin
