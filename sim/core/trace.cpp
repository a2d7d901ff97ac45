#include "core/trace.hpp"

#include <array>

namespace ddptwin {

std::string_view to_string(RecordKind kind) {
  static constexpr std::array<std::string_view, 15> names{
      "objectAdded", "objectModified", "objectDeleted", "apiRefused", "rule",
      "schedule",    "container",      "log",           "image",      "dns",
      "fault",       "step",           "expectation",   "invariant",  "note"};
  static_assert(names.size() == static_cast<std::size_t>(RecordKind::note) + 1);
  return names[static_cast<std::size_t>(kind)];
}

std::uint64_t Trace::write(Record record) {
  record.id = ++last_;
  record.cause = loop_.context();
  record.time = loop_.now();
  loop_.set_context(record.id);
  for (const Sink& sink : sinks_) sink(record);
  return record.id;
}

}  // namespace ddptwin
