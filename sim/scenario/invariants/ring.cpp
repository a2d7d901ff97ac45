#include "scenario/invariants/ring.hpp"

#include <algorithm>
#include <set>

#include "objects/describe.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr std::size_t causes_max = 12, own_records_max = 6;
constexpr std::size_t headline_length_max = 220;

// "Pod/default/p" is told of in records of its writes, of "default/p" and of "default/p/c".
bool is_of(std::string_view object, const Record& record) {
  if (const ObjectPtr& written = record.after != nullptr ? record.after : record.before)
    return written->kind().kind + "/" + key_of(written->metadata) == object;
  const std::string_view subject = record.subject;
  const std::string_view key = object.substr(std::min(object.find('/') + 1, object.size()));
  // Of a namespace all begin with its name.
  const bool in_namespace = key.find('/') != key.npos;
  return subject.starts_with(key) &&
         (subject.size() == key.size() || (in_namespace && subject[key.size()] == '/'));
}

}  // namespace

void Ring::add(const Record& record) {
  last_ = record.id;
  const std::size_t place = record.id % size_limit;
  auto& block = blocks_[place / block_size];
  if (block == nullptr) block = std::make_unique<Record[]>(block_size);
  Record& kept = block[place % block_size];
  kept.id = record.id;
  kept.cause = record.cause;
  kept.time = record.time;
  kept.kind = record.kind;
  kept.actor = record.actor;
  kept.rule = record.rule;
  kept.before = record.before;
  kept.after = record.after;
  kept.subject = record.subject;
  kept.text = record.text;
}

const Record* Ring::find(std::uint64_t id) const {
  const std::size_t place = id % size_limit;
  const auto& block = blocks_[place / block_size];
  return block != nullptr && block[place % block_size].id == id ? &block[place % block_size]
                                                                : nullptr;
}

std::uint64_t Ring::last_of(std::string_view object) const {
  for (std::uint64_t at = last_; at != 0 && last_ - at < size_limit; --at) {
    const Record* record = find(at);
    if (record != nullptr && is_of(object, *record)) return at;
  }
  return last_;
}

std::vector<std::string> Ring::chain(std::uint64_t id, std::string_view object) const {
  std::set<std::uint64_t> ids;
  std::size_t own = 0;
  for (std::uint64_t at = id; at != 0 && id - at < size_limit && own < own_records_max; --at) {
    const Record* record = find(at);
    if (record == nullptr) break;
    if (!is_of(object, *record)) continue;
    ids.insert(at);
    ++own;
  }
  std::size_t causes = 0;
  for (std::uint64_t at = id; at != 0 && causes < causes_max; ++causes) {
    const Record* record = find(at);
    if (record == nullptr) break;
    ids.insert(at);
    at = record->cause;
  }
  std::vector<std::string> lines;
  for (const std::uint64_t at : ids) {
    std::string line = std::to_string(at) + " " + describe(*find(at));
    if (line.size() > headline_length_max) line = line.substr(0, headline_length_max) + "...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ddptwin::scenario::invariants
