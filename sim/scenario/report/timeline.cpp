#include "scenario/report/timeline.hpp"

#include <fmt/format.h>

#include <ostream>

#include "scenario/language/narrator.hpp"

namespace ddptwin::scenario {

Timeline::Origin Timeline::origin_of(const Record& record) {
  if (record.cause > 0 && record.cause < origins_.size()) return origins_[record.cause];
  const auto fault = faults_.find(record.subject);
  if (record.kind != RecordKind::container || fault == faults_.end()) return {};
  const Origin origin{fault->second, {}};
  faults_.erase(fault);
  return origin;
}

void Timeline::on_record(const Record& record) {
  Origin origin = origin_of(record);
  auto told = tell(record);
  if (told) {
    if (origin.row == 0 && record.after != nullptr) origin.row = last_[told->subject];
    last_[told->subject] = rows_.size() + 1;
    rows_.push_back({record.id, record.time, std::move(told->subject), std::move(told->text),
                     origin.row, origin.rule});
    origin = {rows_.size(), {}};
    if (record.kind == RecordKind::fault)
      faults_.insert_or_assign(std::string(record.subject), rows_.size());
  } else if (record.kind == RecordKind::rule) {
    origin.rule = record.rule;
  }
  origins_.resize(record.id + 1);
  origins_[record.id] = origin;
}

void print_timeline(std::ostream& out, const Timeline& timeline, Time start) {
  std::size_t number = 0;
  for (const Timeline::Row& row : timeline.rows()) {
    out << fmt::format("{:>4} {:>9}  {} {}", ++number, elapsed(row.time - start), row.subject,
                       row.text);
    if (row.because > 0) out << fmt::format("  <- {}", row.because);
    if (!row.rule.empty()) out << fmt::format(" {}", row.rule);
    out << '\n';
  }
}

}  // namespace ddptwin::scenario
