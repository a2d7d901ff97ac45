#include "core/result.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace ddptwin {
namespace {

struct ReasonRow {
  Reason reason;
  std::string_view name;
  int code;
};

// metav1.StatusReason and the HTTP status each travels with (spec/kubernetes.md section 1.11).
constexpr std::array rows{
    ReasonRow{Reason::unknown, "", 500},
    ReasonRow{Reason::bad_request, "BadRequest", 400},
    ReasonRow{Reason::unauthorized, "Unauthorized", 401},
    ReasonRow{Reason::forbidden, "Forbidden", 403},
    ReasonRow{Reason::not_found, "NotFound", 404},
    ReasonRow{Reason::already_exists, "AlreadyExists", 409},
    ReasonRow{Reason::conflict, "Conflict", 409},
    ReasonRow{Reason::gone, "Gone", 410},
    ReasonRow{Reason::expired, "Expired", 410},
    ReasonRow{Reason::invalid, "Invalid", 422},
    ReasonRow{Reason::not_acceptable, "NotAcceptable", 406},
    ReasonRow{Reason::unsupported_media_type, "UnsupportedMediaType", 415},
    ReasonRow{Reason::method_not_allowed, "MethodNotAllowed", 405},
    ReasonRow{Reason::request_entity_too_large, "RequestEntityTooLarge", 413},
    ReasonRow{Reason::too_many_requests, "TooManyRequests", 429},
    ReasonRow{Reason::server_timeout, "ServerTimeout", 500},
    ReasonRow{Reason::timeout, "Timeout", 504},
    ReasonRow{Reason::service_unavailable, "ServiceUnavailable", 503},
    ReasonRow{Reason::internal_error, "InternalError", 500},
    ReasonRow{Reason::bad_input, "BadInput", 400},
    ReasonRow{Reason::unsupported_machine, "UnsupportedMachine", 500},
    ReasonRow{Reason::io, "IO", 500},
};

const ReasonRow& row(Reason reason) { return rows[static_cast<std::size_t>(reason)]; }

constexpr bool rows_are_in_enum_order() {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].reason) != i) return false;
  return true;
}
static_assert(rows_are_in_enum_order());

}  // namespace

std::string_view to_string(Reason reason) { return row(reason).name; }
int http_code(Reason reason) { return row(reason).code; }

std::string Error::text() const { return where.empty() ? message : where + ": " + message; }

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "ddptwin: broken invariant: %s (%s:%d); this is a bug of ddptwin\n",
               expression, file, line);
  std::abort();
}

}  // namespace ddptwin
