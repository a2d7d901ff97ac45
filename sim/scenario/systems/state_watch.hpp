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
  // Grows whenever a state may have changed.
  virtual std::uint64_t changes() const = 0;
};

}  // namespace ddptwin::scenario
