// Errors are values across module borders (style.md section 7).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace ddptwin {

// Why something was refused: the Kubernetes API's own reasons (metav1.StatusReason), and below them
// the few that only this program needs.
enum class Reason : std::uint8_t {
  unknown,
  bad_request,
  unauthorized,
  forbidden,
  not_found,
  already_exists,
  conflict,
  gone,
  expired,
  invalid,
  not_acceptable,
  unsupported_media_type,
  method_not_allowed,
  request_entity_too_large,
  too_many_requests,
  server_timeout,
  timeout,
  service_unavailable,
  internal_error,
  // ours: a file that does not parse, a machine that lacks something, a failed system call
  bad_input,
  unsupported_machine,
  io,
};

// The API's spelling ("NotFound", "AlreadyExists", ...; "" for unknown) and its HTTP status code.
std::string_view to_string(Reason reason);
int http_code(Reason reason);

// One cause of a refusal, as in Status.details.causes.
struct ErrorCause {
  std::string reason{};  // FieldValueInvalid, FieldValueRequired, ...
  std::string message{};
  std::string field{};  // a path: spec.containers[0].image
};

// What an API Status carries beside its message (metav1.StatusDetails).
struct ErrorDetails {
  std::string name{};
  std::string group{};
  std::string kind{};
  std::string uid{};
  std::vector<ErrorCause> causes{};
  int retry_after_seconds = 0;
  std::string continue_{};  // of an expired page of a list: a token for the rest as it is now
};

struct Error {
  Reason reason = Reason::unknown;
  std::string where{};    // "job.yaml:12 spec.replicas", or empty where the message says it
  std::string message{};  // what was found, what was expected
  std::shared_ptr<const ErrorDetails> details{};
  int code = 0;  // the HTTP status where it is not the reason's usual one, else 0
  std::vector<std::string> warnings{};  // what the API server warned of beside refusing

  // "where: message", or the message alone.
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) { return tl::make_unexpected(std::move(error)); }
inline tl::unexpected<Error> fail(Reason reason, std::string message, std::string where = {}) {
  return tl::make_unexpected(Error{reason, std::move(where), std::move(message), nullptr, 0, {}});
}

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace ddptwin

// TRY(decl, expr): evaluates expr, a Result; returns its error from this function, or declares decl
// with its value.
#define DDPTWIN_CONCAT2(a, b) a##b
#define DDPTWIN_CONCAT(a, b) DDPTWIN_CONCAT2(a, b)
#define TRY(decl, ...) DDPTWIN_TRY_IMPL(DDPTWIN_CONCAT(try_result_, __LINE__), decl, __VA_ARGS__)
#define DDPTWIN_TRY_IMPL(name, decl, ...)                           \
  auto name = (__VA_ARGS__);                                        \
  if (!name) return ::tl::make_unexpected(std::move(name).error()); \
  decl = std::move(*name)
// TRY_VOID(expr): the same for a Status, or where the value is not wanted.
#define TRY_VOID(...)                                                             \
  do {                                                                            \
    auto try_result = (__VA_ARGS__);                                              \
    if (!try_result) return ::tl::make_unexpected(std::move(try_result).error()); \
  } while (false)

// A broken invariant of ours: on in every build; it prints what the process registered (seed, last
// records) and ends the run.
#define DDPTWIN_ASSERT(expression)        \
  (static_cast<bool>(expression) ? void() \
                                 : ::ddptwin::assertion_failed(#expression, __FILE__, __LINE__))
