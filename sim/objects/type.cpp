#include "objects/type.hpp"

#include <boost/json.hpp>

namespace ddptwin {

RawJson::RawJson(Json value) : value_(std::make_shared<const Json>(std::move(value))) {}

bool RawJson::operator==(const RawJson& other) const {
  if (value_ == other.value_) return true;
  return value_ && other.value_ && *value_ == *other.value_;
}

const FieldInfo* Type::find(std::string_view field) const {
  for (const FieldInfo& f : fields)
    if (f.name == field && !f.options.embedded) return &f;
  return nullptr;
}

}  // namespace ddptwin
