#include "objects/field_path.hpp"

namespace ddptwin {

std::string FieldPath::text() const {
  std::string text;
  append_to(text);
  return text;
}

void FieldPath::append_to(std::string& text) const {
  if (parent_ != nullptr) parent_->append_to(text);
  if (step_ == Step::field) {
    if (!text.empty()) text += '.';
    text += name_;
    return;
  }
  text += '[';
  if (step_ == Step::item)
    text += std::to_string(index_);
  else
    text += name_;
  text += ']';
}

}  // namespace ddptwin
