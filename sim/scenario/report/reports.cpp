#include "scenario/report/reports.hpp"

#include <ostream>

namespace ddptwin::scenario {

Result<std::unique_ptr<Reports>> Reports::open(const ReportOptions& options, std::ostream& text) {
  std::unique_ptr<Reports> reports(new Reports(options, text));
  if (options.artefacts.folder != nullptr) {
    TRY(reports->artefacts_, Artefacts::open(options.artefacts));
  }
  return reports;
}

void Reports::attach(Trace& trace) {
  if (!artefacts_) return;
  for (const Record& record : trace.unheard()) artefacts_->on_record(record);
  trace.add_sink([this](const Record& record) { artefacts_->on_record(record); });
}

void Reports::attach(Trace& trace, const Observer& observer, const std::string& title, Time now) {
  if (options_.quiet) return;
  trace.add_sink([this](const Record& record) { timeline_.on_record(record); });
  if (options_.columns > 0) {
    view_.emplace(text_, observer, title, options_.columns, now);
    return;
  }
  lines_.emplace(text_, now);
  trace.add_sink([this](const Record& record) { lines_->on_record(record); });
}

void Reports::draw(Time now) {
  if (view_) view_->draw(now);
}

Status Reports::finish(const RunResult& result) {
  draw(result.ended_at);
  if (!options_.quiet) {
    text_ << "\nTimeline (<- names the row that led to it, and the controller's rule)\n";
    print_timeline(text_, timeline_, result.started_at);
    text_ << "\nVerdicts\n";
  }
  print_verdicts(text_, result);
  Status written;
  if (artefacts_) {
    written = artefacts_->finish(result);
    if (const std::string there = artefacts_->text(); !there.empty())
      text_ << "artefacts: " << there << '\n';
  }
  text_ << last_line(result) << '\n';
  text_.flush();
  return written;
}

}  // namespace ddptwin::scenario
