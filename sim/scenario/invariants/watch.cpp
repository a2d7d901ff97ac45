#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/describe.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/invariants/ring.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

constexpr std::array<std::string_view, topic_count> topic_names{
    "jobs",        "pods",     "Services",    "EndpointSlices", "other objects",
    "Warnings",    "refusals", "rules",       "containers",     "log lines",
    "DNS answers", "faults",   "other things"};

std::size_t index_of(const InvariantRow& row) {
  return static_cast<std::size_t>(&row - invariant_rows().data());
}

constexpr int explain_width = 92;

// Breaks a text into lines of that width, each behind the indent.
std::string wrap(std::string_view text, std::string_view indent) {
  std::string out(indent);
  std::size_t column = indent.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column > indent.size() && column + 1 + word.size() > explain_width) {
      out += '\n';
      out += indent;
      column = indent.size();
    }
    if (column > indent.size()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

// A system's own are of its own workloads, and of those that these make to have their pods; what is
// of none its judges look at themselves.
bool concerns(const InvariantRow& row, const Sight& sight) {
  if (sight.job == nullptr) return true;
  if (row.system.empty()) return row.of_parts || !sight.job->is_part;
  const auto is_of = [&row](const WorkloadReader& reader) {
    return reader.system == row.system && (row.kind == nullptr || row.kind == reader.info);
  };
  if (is_of(*sight.job->reader)) return true;
  if (sight.job->is_part && !row.of_parts) return false;
  const JobFacts* maker = sight.job->is_part ? sight.facts.whole_of(*sight.job)
                                             : sight.facts.maker_of(*sight.job->last);
  return maker != nullptr && is_of(*maker->reader);
}

}  // namespace

std::string InvariantRow::when() const {
  std::string records;
  for (std::size_t i = 0; i < topic_count; ++i) {
    if ((topics & (1U << i)) == 0) continue;
    if (!records.empty()) records += ", ";
    records += topic_names[i];
  }
  std::string out;
  if (!records.empty()) out = "after every record about " + records;
  if (at_rest != nullptr)
    out += std::string(out.empty() ? "" : "; ") + "when nothing of the job has changed for " +
           format_go_duration(rest_time) +
           ", after faults and where the operator is refused over and over " +
           format_go_duration(rest_time_after_faults) +
           ", and the operator is not busy with other jobs";
  if (when_due != nullptr) out += (out.empty() ? "" : "; ") + std::string(due);
  return out;
}

const InvariantRow* find_invariant(std::string_view name) {
  for (const InvariantRow& row : invariant_rows())
    if (row.name == name) return &row;
  return nullptr;
}

std::string explain(const InvariantRow& row) {
  std::string out = fmt::format("{} ({})\n{}\n\n{}\n\n", row.name, row.id, wrap(row.meaning, "  "),
                                wrap(row.explanation, "  "));
  if (!row.system.empty()) out += fmt::format("  of          {} alone\n", row.system);
  out += fmt::format("  judged      {}\n", row.when());
  out += fmt::format("  upstream    {}\n", row.broken_by.empty()
                                               ? std::string("keeps it")
                                               : fmt::format("breaks it: {}", row.broken_by));
  out += fmt::format(
      "  watched     {}\n",
      row.strict ? "where a scenario names it under invariants.also or .violated" : "in every run");
  return out;
}

std::string explain(const Violation& violation) {
  std::string out =
      fmt::format("{}: {} (record {})", violation.invariant, violation.text, violation.record);
  for (const std::string& line : violation.chain) out += "\n  " + line;
  return out;
}

bool InvariantPolicy::watches(const InvariantRow& row) const {
  const bool wanted = !row.strict || also.contains(row.name) || violated.contains(row.name);
  return wanted && !off.contains(row.name) && !without.contains(row.system);
}

InvariantPolicy kept_by_upstream() {
  InvariantPolicy policy;
  for (const InvariantRow& row : invariant_rows())
    if (!row.broken_by.empty() && !row.strict)
      policy.off.emplace(row.name, "upstream breaks it: " + std::string(row.broken_by));
  return policy;
}

WatchedInvariants::WatchedInvariants(InvariantPolicy of)
    : policy(std::move(of)), by_topic(topic_count) {
  for (const InvariantRow& row : invariant_rows()) {
    if (!policy.watches(row)) continue;
    for (std::size_t i = 0; i < topic_count; ++i)
      if ((row.topics & (1U << i)) != 0) by_topic[i].push_back(&row);
    if (row.at_rest != nullptr) at_rest.push_back(&row);
    if (row.when_due != nullptr) when_due.push_back(&row);
  }
}

InvariantWatch::InvariantWatch(const InvariantPolicy& policy)
    : InvariantWatch(std::make_shared<const WatchedInvariants>(policy)) {}

InvariantWatch::InvariantWatch(std::shared_ptr<const WatchedInvariants> watched)
    : watched_(std::move(watched)),
      asked_(invariant_rows().size()),
      facts_(std::make_unique<Facts>()),
      ring_(std::make_unique<Ring>()) {
  facts_->set_progress_within(watched_->policy.progress_within);
  facts_->set_awaited_events(watched_->policy.awaited_events);
}

InvariantWatch::~InvariantWatch() = default;

void InvariantWatch::on_record(const Record& record) {
  const Time before = record.time - Duration(1);
  if (facts_->is_due(before)) pass_due(before);
  ring_->show(record);
  const Topic topic = topic_of(record);
  const Rows& rows = watched_->by_topic[static_cast<std::size_t>(topic)];
  const Sight sight = facts_->take(record, topic);
  const bool part = topic == Topic::job && sight.job == nullptr;  // of another workload
  if (!rows.empty() && !part) judge(sight, rows, &InvariantRow::after);
}

void InvariantWatch::keep(Record&& record) { ring_->add(std::move(record)); }

void InvariantWatch::pass(Time now) { pass_due(now); }

void InvariantWatch::pass_due(Time now) {
  while (const auto due = facts_->next_due(now)) {
    Sight sight{*facts_};
    sight.now = due->at;
    sight.job = due->job;
    if (due->at_rest)
      judge(sight, watched_->at_rest, &InvariantRow::at_rest);
    else
      judge(sight, watched_->when_due, &InvariantRow::when_due);
  }
}

void InvariantWatch::judge(const Sight& sight, const Rows& rows, Judge InvariantRow::*which) {
  for (const InvariantRow* row : rows) {
    if (!concerns(*row, sight)) continue;
    Verdicts verdicts(*this, sight, *row);
    if ((row->*which)(sight, verdicts)) asked_[index_of(*row)] = 1;
  }
}

void InvariantWatch::violated(const Sight& sight, const InvariantRow& row, std::string object,
                              std::string text) {
  if (violation(row.name) != nullptr) return;
  Violation one;
  one.invariant = row.name;
  one.record = sight.record != nullptr ? sight.record->id : ring_->last();
  one.time = sight.now;
  one.object = std::move(object);
  one.text = std::move(text);
  // What is judged at rest has no record of its own: another object's may have been the last.
  const std::uint64_t from = sight.record != nullptr ? one.record : ring_->last_of(one.object);
  one.cause = from;
  one.chain = ring_->chain(from, one.object);
  violations_.push_back(std::move(one));
}

const Violation* InvariantWatch::violation(std::string_view name) const {
  for (const Violation& one : violations_)
    if (one.invariant == name) return &one;
  return nullptr;
}

std::vector<InvariantWatch::Judged> InvariantWatch::judged() const {
  const InvariantPolicy& policy = watched_->policy;
  std::vector<Judged> all;
  for (const InvariantRow& row : invariant_rows()) {
    if (!policy.watches(row)) continue;
    Judged one;
    one.row = &row;
    one.violation = violation(row.name);
    one.asked = asked_[index_of(row)] != 0 || one.violation != nullptr;
    const auto expected = policy.violated.find(row.name);
    if (expected != policy.violated.end()) one.expected = expected->second;
    one.held = (one.violation != nullptr) == (expected != policy.violated.end());
    all.push_back(one);
  }
  return all;
}

std::optional<Time> InvariantWatch::next_alarm() const { return facts_->next_alarm(); }

std::optional<Time> InvariantWatch::standstill_at() const { return facts_->standstill_at(); }

std::optional<Time> InvariantWatch::judged_next() const {
  const auto all = judged();
  const bool any = std::any_of(all.begin(), all.end(), [](const Judged& one) {
    return !one.expected.empty() && !one.asked &&
           (one.row->at_rest != nullptr || one.row->when_due != nullptr);
  });
  return any ? next_alarm() : std::nullopt;
}

bool InvariantWatch::held() const {
  const auto all = judged();
  return std::all_of(all.begin(), all.end(), [](const Judged& one) { return one.held; });
}

namespace invariants {

void Verdicts::violated(std::string object, std::string text) {
  watch_.violated(sight_, row_, std::move(object), std::move(text));
}

std::string name_of(const Object& object) { return short_name(object); }

}  // namespace invariants
}  // namespace ddptwin::scenario
