#include "runtime/model/commands/backend_said.hpp"

#include "runtime/model/commands/at_hand.hpp"
#include "runtime/model/programs/nvidia_smi.hpp"

namespace ddptwin::model {

Backend backend_said(const Process& process, bool stands_in) {
  const bool has_gpu = granted_gpus(process) > 0;
  if (stands_in && !has_gpu) return Backend::gloo;
  Surroundings around;
  around.has_file = [&process](const std::string& path) { return process.file_exists(path); };
  around.read = [&process](const std::string& path) -> std::optional<std::string> {
    if (!process.file_exists(path)) return std::nullopt;
    auto text = process.read_file(path);
    return text ? std::optional(std::move(*text)) : std::nullopt;
  };
  around.folder = process.working_directory();
  return wants_nccl(process.argv(), around, has_gpu) ? Backend::nccl : Backend::gloo;
}

}  // namespace ddptwin::model
