// What nobody is to read by accident: the values of Secrets, in whatever ddptwin prints or keeps.
// What a program prints is its own words and stays as it is.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "objects/codec.hpp"

namespace ddptwin::scenario {

// Each value becomes "<masked 1, 12 bytes>": equal values have the same number, others another.
class SecretMask {
 public:
  explicit SecretMask(bool show = false) : show_(show) {}

  // A whole object as JSON: of a Secret `data`, `stringData` and what kubectl keeps of them in an
  // annotation.
  Json object(const Object& object);
  // Where two versions of an object differ.
  std::vector<Difference> changes(const Object& before, const Object& after);
  // A value as a program would read it.
  std::string value(std::string_view secret);
  // A text that may have such values in it.
  std::string within(std::string text, const std::vector<std::string>& secrets);

 private:
  void mask(Json& whole, bool encoded);
  void mask_change(const std::string& path, Json& value);

  bool show_;
  std::map<std::string, std::size_t, std::less<>> numbers_{};
};

}  // namespace ddptwin::scenario
