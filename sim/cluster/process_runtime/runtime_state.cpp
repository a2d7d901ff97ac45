#include "cluster/process_runtime/runtime_state.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <boost/json.hpp>

#include "objects/image_reference.hpp"

namespace ddptwin {
namespace {

std::uint64_t mix(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return value;
}

}  // namespace

Error error_of(const sandbox::Reply& reply) {
  const bool unknown_name = reply.outcome == sandbox::Outcome::not_found;
  return Error{unknown_name ? Reason::not_found : Reason::unknown,
               unknown_name ? "NotFound" : "Unknown", reply.message, nullptr, 0};
}

Error lost_error() {
  return Error{Reason::io, "Unavailable", std::string(sandbox::SupervisorClient::died), nullptr, 0};
}

ImageStatus image_status(const std::string& canonical) {
  const std::string digest = "sha256:" + hex_name(canonical, 0);
  return ImageStatus{ImageReference::cut(canonical).repository() + "@" + digest, digest, 0};
}

std::string hex_name(const std::string& of, std::uint64_t number) {
  std::uint64_t state = hash(of) + number;
  std::string text;
  for (int part = 0; part < 4; ++part) text += fmt::format("{:016x}", state = mix(state));
  return text;
}

bool shares_processes(const RawJson& linux_config) {
  const Json* value = linux_config.get();
  if (value == nullptr) return false;
  for (const char* name : {"securityContext", "namespaceOptions"}) {
    const auto* object = value->if_object();
    value = object != nullptr ? object->if_contains(name) : nullptr;
    if (value == nullptr) return false;
  }
  const auto* options = value->if_object();
  if (options == nullptr) return false;
  const Json* pid = options->if_contains("pid");
  return pid == nullptr || *pid == Json("POD") || *pid == Json(0);
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace ddptwin
