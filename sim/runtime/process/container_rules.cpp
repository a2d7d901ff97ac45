#include "runtime/process/container_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>

#include "core/hash.hpp"
#include "core/signals.hpp"
#include "core/utf8.hpp"
#include "objects/image_reference.hpp"
#include "runtime/process/protocol.hpp"

namespace ddptwin {

std::vector<std::string> command_line(const Image& image, const std::vector<std::string>& command,
                                      const std::vector<std::string>& args) {
  std::vector<std::string> argv = command.empty() ? image.entrypoint : command;
  const bool own_args = !args.empty() || !command.empty();
  const std::vector<std::string>& rest = own_args ? args : image.cmd;
  argv.insert(argv.end(), rest.begin(), rest.end());
  return argv;
}

std::vector<std::pair<std::string, std::string>> container_environment(
    const Image& image, const std::string& hostname,
    std::vector<std::pair<std::string, std::string>> own) {
  auto merged = image_environment(image);
  const auto set = [&merged](std::size_t known, std::string name, std::string value) {
    for (std::size_t i = 0; i < known; ++i) {
      if (merged[i].first != name) continue;
      merged[i].second = std::move(value);
      return;
    }
    merged.emplace_back(std::move(name), std::move(value));
  };
  merged.reserve(merged.size() + own.size() + 2);
  set(merged.size(), "HOSTNAME", hostname);
  const std::size_t of_image = merged.size();
  for (auto& [name, value] : own) set(of_image, std::move(name), std::move(value));
  const bool has_home = std::any_of(merged.begin(), merged.end(),
                                    [](const auto& entry) { return entry.first == "HOME"; });
  if (!has_home) merged.emplace_back("HOME", "/root");
  return merged;
}

int stop_signal_number(std::string_view name) { return signal_number(name).value_or(SIGTERM); }

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

std::string hex_name(std::string_view of, std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr int parts = 4, digits_of_part = 16;
  std::string text;
  text.reserve(parts * digits_of_part);
  std::uint64_t state = fnv1a(of) + number;
  for (int part = 0; part < parts; ++part) {
    state = scramble(state + golden_ratio);
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(state >> shift) & 15];
  }
  return text;
}

ImageStatus image_status(const std::string& canonical) {
  const std::string digest = "sha256:" + hex_name(canonical, 0);
  return ImageStatus{ImageReference::cut(canonical).repository() + "@" + digest, 0};
}

Error image_not_found(const std::string& canonical) {
  return Error{Reason::not_found, "NotFound",
               fmt::format("failed to pull and unpack image \"{0}\": failed to resolve reference "
                           "\"{0}\": {0}: not found",
                           canonical)};
}

Error no_such_container(const ContainerId& id) {
  return Error{
      Reason::not_found, "NotFound",
      fmt::format("an error occurred when try to find container \"{}\": not found", id.view())};
}

void start_failed(ContainerReport& report, std::string message, Time now) {
  constexpr int start_error_code = 128;
  report.phase = ContainerPhase::exited;
  report.exit_code = start_error_code;
  report.reason = "StartError";
  report.message = std::move(message);
  report.started_at = Time();
  report.finished_at = now;
}

std::string termination_text(std::string_view bytes) {
  return std::string(utf8_head(valid_utf8(bytes), sandbox::termination_message_max));
}

}  // namespace ddptwin
