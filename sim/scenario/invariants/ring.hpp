// The last records of a run, so that a violation can tell what led to it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin::scenario::invariants {

// Bounded. Most records are of a write and say nothing in words: those of the others lie apart.
class Ring {
 public:
  // The record that is being judged: it is one of them, and is added before the next is shown.
  void show(const Record& record) {
    shown_ = &record;
    last_ = record.id;
  }
  void add(Record&& record);
  std::uint64_t last() const { return last_; }
  // The last of the object, as chain() has it; last() where none is kept.
  std::uint64_t last_of(std::string_view object) const;
  // The headlines of the record, of its causes, and of what was last told of the object up to then
  // ("Pod/default/p" and its containers), the earliest first; as far as they are kept.
  std::vector<std::string> chain(std::uint64_t id, std::string_view object) const;

 private:
  static constexpr std::size_t size_limit = 1024;
  static constexpr std::size_t block_size = 32;
  struct Words {
    std::uint32_t at = 0;  // in the block's letters: the subject, then the text
    std::uint32_t subject_size = 0, text_size = 0;
    std::string_view rule{};
  };
  struct WordsBlock {
    std::array<Words, block_size> words{};
    std::string letters{};  // of all of them
  };
  struct Kept {
    std::uint64_t id = 0;
    std::uint64_t cause = 0;
    Time time{};
    RecordKind kind = RecordKind::note;
    std::string_view actor{};
    std::shared_ptr<const Object> before{};
    std::shared_ptr<const Object> after{};
    std::uint64_t words = 0;  // their number; 0: none
  };
  std::uint64_t keep_words(const Record& record);
  // None where it is not kept. Its texts lie here, and it has values only while it is shown.
  std::optional<Record> find(std::uint64_t id) const;

  // Record id is at id % size_limit; blocks are made as they are reached.
  std::array<std::unique_ptr<std::array<Kept, block_size>>, size_limit / block_size> blocks_{};
  // By their numbers in the same way. A block begins anew as a whole: one more of them, so that the
  // last size_limit are there.
  std::array<std::unique_ptr<WordsBlock>, size_limit / block_size + 1> words_{};
  std::uint64_t words_count_ = 0;
  const Record* shown_ = nullptr;
  std::uint64_t last_ = 0;
};

}  // namespace ddptwin::scenario::invariants
