#include "scenario/invariants/ring.hpp"

#include <algorithm>
#include <set>

#include "objects/describe.hpp"
#include "objects/kinds.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr std::size_t causes_max = 12, own_records_max = 6;
constexpr std::size_t headline_length_max = 220;
constexpr std::size_t usual_letters =
    48;  // "default/mnist-worker-0" and "create Pod mnist-worker-0"

// "pod/p" is told of in records of its writes, of "default/p" and of "default/p/c".
bool is_of(std::string_view object, const Record& record) {
  if (const ObjectPtr& written = record.after != nullptr ? record.after : record.before)
    return object_name(*written) == object;
  std::string_view subject = record.subject;
  const std::string_view key = object.substr(std::min(object.find('/') + 1, object.size()));
  constexpr std::string_view usual = "default/";
  const bool is_usual = subject.starts_with(usual) && key.find('/') == key.npos;
  if (is_usual) subject.remove_prefix(usual.size());
  // Of a namespace all begin with its name.
  const bool in_namespace = is_usual || key.find('/') != key.npos;
  return subject.starts_with(key) &&
         (subject.size() == key.size() || (in_namespace && subject[key.size()] == '/'));
}

}  // namespace

void Ring::add(Record&& record) {
  shown_ = nullptr;
  last_ = record.id;
  const std::size_t place = record.id % size_limit;
  auto& block = blocks_[place / block_size];
  if (block == nullptr) block = std::make_unique<std::array<Kept, block_size>>();
  Kept& kept = (*block)[place % block_size];
  kept.id = record.id;
  kept.cause = record.cause;
  kept.time = record.time;
  kept.kind = record.kind;
  kept.actor = record.actor;
  kept.before = std::move(record.before);
  kept.after = std::move(record.after);
  const bool speaks = !record.subject.empty() || !record.rule.empty() || !record.text.empty();
  kept.words = speaks ? keep_words(record) : 0;
}

std::uint64_t Ring::keep_words(const Record& record) {
  const std::uint64_t number = ++words_count_;
  auto& block = words_[number / block_size % words_.size()];
  if (block == nullptr) {
    block = std::make_unique<WordsBlock>();
    block->letters.reserve(block_size * usual_letters);
  }
  std::string& letters = block->letters;
  if (number % block_size == 0) letters.clear();
  block->words[number % block_size] = {static_cast<std::uint32_t>(letters.size()),
                                       static_cast<std::uint32_t>(record.subject.size()),
                                       static_cast<std::uint32_t>(record.text.size()), record.rule};
  letters.append(record.subject).append(record.text);
  return number;
}

std::optional<Record> Ring::find(std::uint64_t id) const {
  if (shown_ != nullptr && shown_->id == id) return *shown_;
  // What is older may lie there yet, where numbers were left out, but its words may not.
  if (last_ - id > size_limit) return std::nullopt;
  const std::size_t place = id % size_limit;
  const auto& block = blocks_[place / block_size];
  if (block == nullptr || (*block)[place % block_size].id != id) return std::nullopt;
  const Kept& kept = (*block)[place % block_size];
  Record record{.id = id,
                .cause = kept.cause,
                .time = kept.time,
                .kind = kept.kind,
                .actor = kept.actor,
                .before = kept.before,
                .after = kept.after};
  if (kept.words == 0) return record;
  const WordsBlock& said = *words_[kept.words / block_size % words_.size()];
  const Words& words = said.words[kept.words % block_size];
  const std::string_view letters = std::string_view(said.letters).substr(words.at);
  record.subject = letters.substr(0, words.subject_size);
  record.rule = words.rule;
  record.text = letters.substr(words.subject_size, words.text_size);
  return record;
}

std::uint64_t Ring::last_of(std::string_view object) const {
  for (std::uint64_t at = last_; at != 0 && last_ - at < size_limit; --at) {
    const auto record = find(at);
    if (record && is_of(object, *record)) return at;
  }
  return last_;
}

std::vector<std::string> Ring::chain(std::uint64_t id, std::string_view object) const {
  std::set<std::uint64_t> ids;
  std::size_t own = 0;
  for (std::uint64_t at = id; at != 0 && id - at < size_limit && own < own_records_max; --at) {
    const auto record = find(at);
    if (!record) break;
    if (!is_of(object, *record)) continue;
    ids.insert(at);
    ++own;
  }
  std::size_t causes = 0;
  for (std::uint64_t at = id; at != 0 && causes < causes_max; ++causes) {
    const auto record = find(at);
    if (!record) break;
    ids.insert(at);
    at = record->cause;
  }
  std::vector<std::string> lines;
  for (const std::uint64_t at : ids) {
    Record told = *find(at);
    told.values.clear();  // they are not kept
    const std::string subject = subject_name(told);
    told.subject = subject;
    std::string line = std::to_string(at) + " " + describe(told);
    if (line.size() > headline_length_max) line = line.substr(0, headline_length_max) + "...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ddptwin::scenario::invariants
