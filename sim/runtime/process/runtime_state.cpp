#include "runtime/process/runtime_state.hpp"

#include <sys/wait.h>

namespace ddptwin {
Error error_of(const sandbox::Reply& reply) {
  if (reply.outcome == sandbox::Outcome::unsupported)
    return Error{Reason::unsupported_machine, "Unimplemented", reply.message, nullptr, 0};
  const bool unknown_name = reply.outcome == sandbox::Outcome::not_found;
  return Error{unknown_name ? Reason::not_found : Reason::unknown,
               unknown_name ? "NotFound" : "Unknown", reply.message, nullptr, 0};
}

Error lost_error() {
  return Error{Reason::io, "Unavailable", std::string(sandbox::SupervisorClient::died), nullptr, 0};
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace ddptwin
