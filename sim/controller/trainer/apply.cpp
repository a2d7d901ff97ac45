#include "controller/trainer/apply.hpp"

#include "api/apply.hpp"
#include "controller/trainer/names.hpp"

namespace ddptwin::controller::trainer {

api::Request apply_object(Applied object) {
  return api::apply(*object.kind, Json(std::move(object.body)), std::string(field_manager),
                    /*force=*/true);
}

}  // namespace ddptwin::controller::trainer
