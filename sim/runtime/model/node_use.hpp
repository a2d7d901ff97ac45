// What the modelled containers of each node have of it together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "runtime/runtime.hpp"

namespace ddptwin::model {

// Who takes memory gives it back.
class NodeMemory {
 public:
  // A limit in bytes, above which it is short.
  NodeWatch watch(const std::string& node, std::int64_t limit) {
    Row& row = rows_[node];
    row.limit = static_cast<std::uint64_t>(limit);
    row.is_watched = true;
    row.is_told = row.is_short();
    return row.is_told ? NodeWatch::is_short : NodeWatch::tells;
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

// What is written is added up until there may be too much of it; then all that lies there is
// counted. What is removed meanwhile need not be known.
class NodeDisks {
 public:
  using Count = std::function<std::int64_t(const std::string& node)>;

  explicit NodeDisks(Count count) : count_(std::move(count)) {}

  // A limit in bytes, above which it is short.
  NodeWatch watch(const std::string& node, std::int64_t limit) {
    Row& row = rows_[node];
    row.limit = limit;
    row.room = limit - count_(node);
    row.is_armed = row.room >= 0;
    return row.is_armed ? NodeWatch::tells : NodeWatch::is_short;
  }
  // Whether it is short now, and nobody has been told since it is watched.
  bool grow(const std::string& node, std::int64_t bytes) {
    const auto found = rows_.find(node);
    if (bytes <= 0 || found == rows_.end() || !found->second.is_armed) return false;
    Row& row = found->second;
    row.room -= bytes;
    if (row.room >= 0) return false;
    row.room = row.limit - count_(node);
    if (row.room >= 0) return false;
    row.is_armed = false;
    return true;
  }

 private:
  struct Row {
    std::int64_t limit = 0, room = 0;
    bool is_armed = false;
  };
  Count count_;
  std::map<std::string, Row, std::less<>> rows_{};
};

}  // namespace ddptwin::model
