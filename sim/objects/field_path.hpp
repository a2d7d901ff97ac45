#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddptwin {

// The place of a field in a body, "spec.containers[0].image": a chain of steps on the stack, from
// the innermost outwards. A walk over a body carries one along and makes a text of it only where it
// has something to say of that place. It refers to the place above it and to the names it was made
// with: a place that others are made of has a name of its own.
class FieldPath {
 public:
  FieldPath() = default;                               // the whole body
  FieldPath(std::string_view root) : name_(root) {}    // NOLINT: a text stands for its path
  FieldPath(const char* root) : name_(root) {}         // NOLINT
  FieldPath(const std::string& root) : name_(root) {}  // NOLINT

  FieldPath field(std::string_view name) const& { return {*this, Step::field, name, 0}; }
  FieldPath item(std::size_t index) const& { return {*this, Step::item, {}, index}; }
  FieldPath key(std::string_view key) const& { return {*this, Step::key, key, 0}; }
  FieldPath field(std::string_view name) const&& = delete;
  FieldPath item(std::size_t index) const&& = delete;
  FieldPath key(std::string_view key) const&& = delete;

  // A field's name stands behind a dot, unless it is the first; an index and a key in brackets.
  std::string text() const;
  operator std::string() const { return text(); }  // NOLINT: what errors are made with
  // Whether it is the body itself.
  bool is_root() const { return parent_ == nullptr && name_.empty(); }

 private:
  enum class Step : std::uint8_t { field, item, key };
  FieldPath(const FieldPath& parent, Step step, std::string_view name, std::size_t index)
      : parent_(&parent), name_(name), index_(index), step_(step) {}
  void append_to(std::string& text) const;

  const FieldPath* parent_ = nullptr;
  std::string_view name_{};
  std::size_t index_ = 0;
  Step step_ = Step::field;
};

}  // namespace ddptwin
