// Labels or annotations as they shall be: those of another object but for some entries.
#pragma once

#include <boost/container/static_vector.hpp>
#include <optional>
#include <string_view>

#include "objects/type.hpp"

namespace ddptwin::controller::endpoints {

class Amended {
 public:
  // Both the map and the texts given below outlive it.
  explicit Amended(const StringMap& from) : from_(from) {}

  // At most three entries, each once.
  void set(std::string_view key, std::string_view value) { changes_.push_back({key, value}); }
  void drop(std::string_view key) { changes_.push_back({key, std::nullopt}); }

  StringMap made() const;

 private:
  struct Change {
    std::string_view key;
    std::optional<std::string_view> value;
  };

  const StringMap& from_;
  boost::container::static_vector<Change, 3> changes_{};
};

}  // namespace ddptwin::controller::endpoints
