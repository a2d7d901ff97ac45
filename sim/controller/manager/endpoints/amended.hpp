// Labels or annotations as they shall be: those of another object but for some entries.
#pragma once

#include <boost/container/static_vector.hpp>
#include <optional>
#include <utility>

#include "objects/type.hpp"

namespace ddptwin::controller::endpoints {

class Amended {
 public:
  // The map outlives it.
  explicit Amended(const StringMap& from) : from_(from) {}

  // At most three entries, each once.
  void set(Text key, Text value) { changes_.push_back({std::move(key), std::move(value)}); }
  void drop(Text key) { changes_.push_back({std::move(key), std::nullopt}); }

  StringMap made() const;

 private:
  struct Change {
    Text key;
    std::optional<Text> value;
  };

  const StringMap& from_;
  boost::container::static_vector<Change, 3> changes_{};
};

}  // namespace ddptwin::controller::endpoints
