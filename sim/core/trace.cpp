#include "core/trace.hpp"

#include <array>

namespace ddptwin {

namespace {

constexpr std::size_t unheard_max = 16;  // more than a cluster begins with

}  // namespace

std::string_view to_string(RecordKind kind) {
  static constexpr std::array<std::string_view, 16> names{
      "objectAdded", "objectModified", "objectDeleted", "apiRefused",  "rule",
      "schedule",    "container",      "log",           "image",       "dns",
      "connection",  "fault",          "step",          "expectation", "invariant",
      "note"};
  static_assert(names.size() == static_cast<std::size_t>(RecordKind::note) + 1);
  return names[static_cast<std::size_t>(kind)];
}

void Trace::add_sink(Sink sink) {
  listeners_.push_back({std::move(sink), ~0U});
  wanted_ = ~0U;
}

void Trace::add_sink(Sink sink, std::initializer_list<RecordKind> kinds) {
  Listener& added = listeners_.emplace_back(Listener{std::move(sink), 0});
  for (const RecordKind kind : kinds) added.kinds |= bit(kind);
  wanted_ |= added.kinds;
}

std::uint64_t Trace::skip() {
  loop_.set_context(++last_);
  return last_;
}

std::uint64_t Trace::write(Record&& record) {
  record.id = last_ + 1;
  record.cause = loop_.context();
  record.time = loop_.now();
  const std::uint64_t id = skip();
  for (const Listener& listener : listeners_)
    if ((listener.kinds & bit(record.kind)) != 0) listener.sink(record);
  if (keeper_)
    keeper_(std::move(record));
  else if (listeners_.empty() && unheard_.size() < unheard_max) {
    record.subject = record.text = {};
    unheard_.push_back(std::move(record));
  }
  return id;
}

}  // namespace ddptwin
