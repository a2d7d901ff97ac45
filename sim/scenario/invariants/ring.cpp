#include "scenario/invariants/ring.hpp"

#include <algorithm>

#include "objects/describe.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr std::size_t chain_length_max = 12;
constexpr std::size_t headline_length_max = 220;

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

std::vector<std::string> Ring::chain(std::uint64_t id) const {
  std::vector<std::string> lines;
  while (id != 0 && lines.size() < chain_length_max) {
    const Record* record = find(id);
    if (record == nullptr) break;
    std::string line = std::to_string(id) + " " + describe(*record);
    if (line.size() > headline_length_max) line = line.substr(0, headline_length_max) + "...";
    lines.push_back(std::move(line));
    id = record->cause;
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace ddptwin::scenario::invariants
