#include "scenario/report/live.hpp"

#include <fmt/format.h>

#include <ostream>

#include "core/printable.hpp"
#include "objects/kinds.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

constexpr int pods_shown_max = 30;

std::string last_line(const Observer& observer, const Pod& pod) {
  const std::string beginning = key_of(pod.metadata) + "/";
  std::string line;
  for (auto log = observer.logs().lower_bound(beginning);
       log != observer.logs().end() && log->first.starts_with(beginning); ++log) {
    if (!log->second.lines.empty()) line = log->second.lines.back();
  }
  return printable_line(line);
}

// Cut to so many characters, never within one.
std::string cut(std::string text, int columns) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (++seen > columns) {
      text.resize(i);
      break;
    }
  }
  return text;
}

std::vector<const KindInfo*> shown_kinds() {
  std::vector<const KindInfo*> kinds;
  for (const JobKind& kind : job_kinds()) kinds.push_back(&kind.info());
  for (const StandingKind& kind : standing_kinds()) kinds.push_back(&kind.info());
  kinds.push_back(&Pod::info());
  return kinds;
}

}  // namespace

void PlainLines::on_record(const Record& record) {
  const std::string time = elapsed(record.time - start_);
  if (record.kind == RecordKind::log) {
    out_ << fmt::format("{:>9}  {} | {}\n", time, subject_name(record),
                        printable_line(record.text));
  } else if (const auto told = tell(record)) {
    out_ << fmt::format("{:>9}  {} {}\n", time, told->subject, told->text);
  }
  out_.flush();
}

std::string LiveView::line_of(const Object& object) const {
  const Pod* pod = as<Pod>(object);
  if (pod == nullptr)
    return fmt::format("{:<34} {}", short_name(object), printable(summary_of(object)));
  const std::string phase = pod->metadata.deletionTimestamp ? "Terminating"
                            : pod->status.phase.empty()     ? "-"
                                                            : pod->status.phase.str();
  return fmt::format("  {:<32} {:<11} {:>2} restarts  {}", pod->metadata.name, phase,
                     restarts_of(*pod, ""), last_line(observer_, *pod));
}

void LiveView::put(std::string line) {
  out_ << cut(std::move(line), columns_ - 1) << "\x1b[K\n";
  ++drawn_;
}

void LiveView::draw(Time now) {
  if (drawn_ > 0) out_ << fmt::format("\x1b[{}A", drawn_);
  drawn_ = 0;
  put(fmt::format("{}  {:.1f}s", title_, seconds_of(now - start_)));
  for (const KindInfo* kind : shown_kinds()) {
    int shown = 0;
    for (const auto& [key, seen] : observer_.objects(*kind)) {
      if (!seen.gone && shown++ < pods_shown_max) put(line_of(*seen.last));
    }
    if (shown > pods_shown_max) put(fmt::format("  ... and {} more", shown - pods_shown_max));
  }
  out_ << "\x1b[J" << std::flush;
}

}  // namespace ddptwin::scenario
