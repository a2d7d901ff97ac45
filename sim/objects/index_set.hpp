// Indexes of an Indexed Job as its status writes them: "1,3-5,7"; two neighbours stay "3,4"
// (spec/trainjob.md §6.6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

// Ordered, without overlap, both ends included.
class IndexSet {
 public:
  struct Interval {
    int first = 0, last = 0;
    bool operator==(const Interval&) const = default;
  };

  // What a status says; indexes from `limit` on, and what cannot be read, are left out.
  static IndexSet read(std::string_view text, int limit);
  // What a user says, with upstream's words where it is wrong.
  static Result<IndexSet> parse(std::string_view text, int limit);

  void add(int index);
  bool has(int index) const;
  int size() const;
  std::string text() const;
  const std::vector<Interval>& intervals() const { return intervals_; }
  bool operator==(const IndexSet&) const = default;

 private:
  void append(int first, int last);
  std::vector<Interval> intervals_{};
};

}  // namespace ddptwin
