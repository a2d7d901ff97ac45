// The last records of a run, so that a violation can tell what led to it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace ddptwin::scenario::invariants {

// Bounded; what is written over keeps its memory, so that a record costs no allocation.
class Ring {
 public:
  void add(const Record& record);
  std::uint64_t last() const { return last_; }
  // The headlines of the record and of its causes, the earliest first; as far as they are kept.
  std::vector<std::string> chain(std::uint64_t id) const;

 private:
  static constexpr std::size_t size_limit = 1024;
  std::vector<Record> records_{};  // record id is at id % size_limit
  std::uint64_t last_ = 0;
};

}  // namespace ddptwin::scenario::invariants
