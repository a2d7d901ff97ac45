#include "controller/toolkit/denial.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "objects/validation.hpp"

namespace ddptwin::controller {

std::string denied_by(std::string_view webhook, std::string_view why) {
  return fmt::format("admission webhook \"{}\" denied the request: {}", webhook, why);
}

std::optional<Error> invalid_by(std::string_view webhook, const Object& object,
                                const ErrorList& errors) {
  if (errors.empty()) return std::nullopt;
  ErrorDetails details;
  details.name = object.metadata.name.str();
  details.group = object.kind().group;
  details.kind = object.kind().kind;
  details.causes = errors;
  Error refused{.reason = Reason::invalid, .message = denied_by(webhook, summary_of(errors))};
  refused.details = std::make_shared<const ErrorDetails>(std::move(details));
  return refused;
}

}  // namespace ddptwin::controller
