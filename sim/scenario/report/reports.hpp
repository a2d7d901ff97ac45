// Everything that one run tells to people and keeps in files, fed from its trace.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>

#include "scenario/report/artefacts.hpp"
#include "scenario/report/live.hpp"
#include "scenario/report/timeline.hpp"

namespace ddptwin::scenario {

struct ReportOptions {
  ArtefactOptions artefacts{};
  bool quiet = false;  // no live view and no timeline
  int columns = 0;     // of the terminal that shows a live view; 0: plain lines instead
};

class Reports {
 public:
  // All outlive the reports. Errors: io (the artefacts).
  static Result<std::unique_ptr<Reports>> open(const ReportOptions& options, std::ostream& text);

  // Before the cluster starts: the artefacts hold everything.
  void attach(Trace& trace);
  // After it: the cluster's own objects are no news to people.
  void attach(Trace& trace, const Observer& observer, const std::string& title, Time now);
  // Where there is a live view: LiveView::period is how often.
  bool live() const { return view_.has_value(); }
  void draw(Time now);

  // Prints timeline and verdicts, closes the artefacts, and says which there are. Errors: io.
  Status finish(const RunResult& result);

 private:
  Reports(const ReportOptions& options, std::ostream& text) : options_(options), text_(text) {}

  ReportOptions options_;
  std::ostream& text_;
  std::unique_ptr<Artefacts> artefacts_{};
  Timeline timeline_{};
  std::optional<PlainLines> lines_{};
  std::optional<LiveView> view_{};
};

}  // namespace ddptwin::scenario
