#include "objects/type.hpp"

#include <boost/json.hpp>

namespace ddptwin {

struct RawJson::Part : cow_detail::Sharers {
  explicit Part(Json made) : value(std::move(made)) {}
  explicit Part(UniqueFunction<Json()> maker) : make(std::move(maker)) {}
  mutable UniqueFunction<Json()> make{};  // empty once the value is there
  mutable Json value{};
};

void RawJson::let_go(cow_detail::Sharers* part) {
  if (part->drop()) delete static_cast<Part*>(part);
}

const RawJson::Part& RawJson::part() const { return *static_cast<const Part*>(part_.get()); }

RawJson::RawJson(Json value) : part_(new Part(std::move(value))) {}

RawJson RawJson::later(UniqueFunction<Json()> make) {
  RawJson made;
  made.part_ = decltype(part_)(new Part(std::move(make)));
  return made;
}

const Json* RawJson::get() const {
  if (absent()) return nullptr;
  if (part().make) part().value = std::exchange(part().make, nullptr)();
  return &part().value;
}

bool RawJson::operator==(const RawJson& other) const {
  if (part_ == other.part_) return true;
  return !absent() && !other.absent() && *get() == *other.get();
}

const FieldInfo* Type::find(std::string_view field) const {
  for (const FieldInfo& f : fields)
    if (f.name == field && !f.options.embedded) return &f;
  return nullptr;
}

}  // namespace ddptwin
