// How much memory the modelled containers of each node have together.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/runtime.hpp"

namespace ddptwin::model {

class NodeMemory {
 public:
  // A limit in bytes, above which it is short.
  MemoryWatch watch(const std::string& node, std::int64_t limit) {
    Row& row = rows_[node];
    row.limit = static_cast<std::uint64_t>(limit);
    row.is_watched = true;
    row.is_told = row.is_short();
    return row.is_told ? MemoryWatch::is_short : MemoryWatch::tells;
  }
  // Whether it is short now and was not before.
  bool take(const std::string& node, std::uint64_t bytes) {
    Row& row = rows_[node];
    row.used += bytes;
    if (!row.is_short() || row.is_told) return false;
    return row.is_told = true;
  }
  void give_back(const std::string& node, std::uint64_t bytes) {
    if (bytes == 0) return;
    Row& row = rows_[node];
    row.used -= bytes;
    row.is_told = row.is_told && row.is_short();
  }

 private:
  struct Row {
    std::uint64_t limit = 0, used = 0;
    bool is_watched = false, is_told = false;
    bool is_short() const { return is_watched && used > limit; }
  };
  std::map<std::string, Row, std::less<>> rows_{};
};

}  // namespace ddptwin::model
