// Labels or annotations as they shall be: those of another object but for some entries.
#pragma once

#include <boost/container/static_vector.hpp>
#include <optional>
#include <string_view>

#include "objects/type.hpp"

namespace ddptwin::controller::endpoints {

// It is compared far more often than made: what a plan finds nearly always is as it shall be.
class Amended {
 public:
  // Both the map and the texts given below outlive it.
  explicit Amended(const StringMap& from) : from_(from) {}

  // At most three entries, each once.
  void set(std::string_view key, std::string_view value) { changes_.push_back({key, value}); }
  void drop(std::string_view key) { changes_.push_back({key, std::nullopt}); }

  bool operator==(const StringMap& map) const;
  StringMap made() const;

 private:
  struct Change {
    std::string_view key;
    std::optional<std::string_view> value;
  };
  const Change* change_of(std::string_view key) const;

  const StringMap& from_;
  boost::container::static_vector<Change, 3> changes_{};
};

}  // namespace ddptwin::controller::endpoints
