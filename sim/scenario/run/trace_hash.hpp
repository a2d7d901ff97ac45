// One number for all that happened in a run: two runs with the same number were the same run,
// record for record (docs/reference/trace.md, "The hash").
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace.hpp"

namespace ddptwin::scenario {

// Mixes words and texts, in their order, into 64 bits. The same on every machine: it depends on
// values alone, never on how memory holds them.
class Digest {
 public:
  void add(std::uint64_t word);
  void add(std::string_view text);  // with its length, so that "ab" "c" is not "a" "bc"
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

// A sink of the trace. Of each record its number, cause, time in nanoseconds, kind, actor, subject,
// rule, text and values; of the object all that the API would show, but for managedFields, which
// follow from the writes. What an object was before a change is in an earlier record. The version
// of ddptwin comes first.
class TraceHash {
 public:
  TraceHash();
  void on_record(const Record& record);
  std::uint64_t value() const { return digest_.value(); }
  std::uint64_t records() const { return records_; }

 private:
  Digest digest_{};
  std::uint64_t records_ = 0;
};

// Sixteen hexadecimal digits.
std::string hash_text(std::uint64_t hash);

std::uint64_t hash_of(const Object& object);

}  // namespace ddptwin::scenario
