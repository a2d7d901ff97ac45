#include "objects/type.hpp"

#include <boost/json.hpp>

namespace ddptwin {

struct RawJson::Part {
  mutable UniqueFunction<Json()> make;  // empty once the value is there
  mutable Json value;
};

RawJson::RawJson(Json value) : part_(std::make_shared<const Part>(Part{{}, std::move(value)})) {}

RawJson RawJson::later(UniqueFunction<Json()> make) {
  RawJson made;
  made.part_ = std::make_shared<const Part>(Part{std::move(make), {}});
  return made;
}

const Json* RawJson::get() const {
  if (part_ == nullptr) return nullptr;
  if (part_->make) part_->value = std::exchange(part_->make, nullptr)();
  return &part_->value;
}

bool RawJson::operator==(const RawJson& other) const {
  if (part_ == other.part_) return true;
  return part_ && other.part_ && *get() == *other.get();
}

const FieldInfo* Type::find(std::string_view field) const {
  for (const FieldInfo& f : fields)
    if (f.name == field && !f.options.embedded) return &f;
  return nullptr;
}

}  // namespace ddptwin
