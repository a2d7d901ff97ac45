// The last records of a run, so that a violation can tell what led to it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin::scenario::invariants {

// Bounded.
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
  const Record* find(std::uint64_t id) const;

  // Record id is at id % size_limit; blocks are filled as they are reached.
  std::array<std::vector<Record>, size_limit / block_size> blocks_{};
  const Record* shown_ = nullptr;
  std::uint64_t last_ = 0;
};

}  // namespace ddptwin::scenario::invariants
