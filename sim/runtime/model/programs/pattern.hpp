#pragma once

#include <regex.h>

#include <array>
#include <optional>
#include <string>

namespace ddptwin::model {

// A regular expression of the C library: the same that grep, sed and bash have. `flags` are
// regcomp(3)'s.
class Pattern {
 public:
  Pattern(const std::string& text, int flags) {
    // The C library reads it by calls within calls.
    constexpr std::size_t size_max = 1000;
    good_ = text.size() <= size_max && regcomp(&compiled_, text.c_str(), flags) == 0;
  }
  ~Pattern() {
    if (good_) regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool good() const { return good_; }
  std::size_t groups() const { return compiled_.re_nsub; }
  // Where it is first found at or behind `from`: begin and end, and of its groups.
  using Found = std::array<regmatch_t, 10>;
  std::optional<Found> find(const std::string& text, std::size_t from) const {
    Found found{};
    if (regexec(&compiled_, text.c_str() + from, found.size(), found.data(),
                from > 0 ? REG_NOTBOL : 0) != 0)
      return std::nullopt;
    for (regmatch_t& one : found) {
      if (one.rm_so < 0) continue;
      one.rm_so += static_cast<regoff_t>(from);
      one.rm_eo += static_cast<regoff_t>(from);
    }
    return found;
  }

 private:
  regex_t compiled_{};
  bool good_ = false;
};

}  // namespace ddptwin::model
