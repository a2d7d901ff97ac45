#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ddptwin {

// The parts in one text, in one piece of memory.
inline std::string concat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text(size, ' ');
  char* at = text.data();
  for (const std::string_view part : parts) at += part.copy(at, part.size());
  return text;
}

// The parts in one text that somebody reads at once, here and now: without memory of its own unless
// it is long.
class ShortText {
 public:
  explicit ShortText(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) size_ += part.size();
    if (size_ > short_.size()) long_.resize(size_);
    char* at = size_ > short_.size() ? long_.data() : short_.data();
    for (const std::string_view part : parts) at += part.copy(at, part.size());
  }
  std::string_view view() const {
    return {size_ > short_.size() ? long_.data() : short_.data(), size_};
  }

 private:
  std::array<char, 120> short_;
  std::string long_{};
  std::size_t size_ = 0;
};

}  // namespace ddptwin
