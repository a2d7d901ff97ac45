// Who sees in the trace what objects do not tell of themselves: whether the pods of a set train.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/trace.hpp"
#include "objects/object.hpp"

namespace ddptwin::scenario {

class StateWatch {
 public:
  virtual ~StateWatch() = default;
  virtual void on_record(const Record& record) = 0;
  // One of its kind's phases (status_words.hpp), a literal; empty: it knows nothing of the object.
  virtual std::string_view state_of(const Object& object) const = 0;
  // There is more to tell of the object than the state that each of its kind begins in: what it
  // watches for has been there. A set of web servers has such a state, but nothing to tell of it.
  virtual bool has_seen(const Object& object) const = 0;
  // The record that last moved the state of that object, or could have; 0: none has.
  virtual std::uint64_t latest(const Object& object) const = 0;
  // Of any object: it grows whenever a state may have changed.
  virtual std::uint64_t latest() const = 0;
};

}  // namespace ddptwin::scenario
