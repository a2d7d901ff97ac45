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

void Ring::add(Record&& record) {
  shown_ = nullptr;
  last_ = record.id;
  if (!record.values.empty()) record.values = {};
  const std::size_t place = record.id % size_limit, at = place % block_size;
  std::vector<Record>& block = blocks_[place / block_size];
  if (block.empty()) block.reserve(block_size);
  while (block.size() < at) block.emplace_back();  // numbers of records that nobody read
  if (block.size() == at)
    block.push_back(std::move(record));
  else
    block[at] = std::move(record);
}

const Record* Ring::find(std::uint64_t id) const {
  if (shown_ != nullptr && shown_->id == id) return shown_;
  const std::size_t place = id % size_limit, at = place % block_size;
  const std::vector<Record>& block = blocks_[place / block_size];
  return at < block.size() && block[at].id == id ? &block[at] : nullptr;
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
    Record told = *find(at);
    told.values.clear();  // they are not kept
    std::string line = std::to_string(at) + " " + describe(told);
    if (line.size() > headline_length_max) line = line.substr(0, headline_length_max) + "...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ddptwin::scenario::invariants
