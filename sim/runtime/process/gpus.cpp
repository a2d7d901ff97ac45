#include "runtime/process/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/numbers.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view card_prefix = "nvidia";
constexpr std::array control_devices{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                     "nvidia-modeset"};
constexpr const char* smi_in_pods = "/usr/local/bin/nvidia-smi";

std::vector<std::string> devices_of(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  const auto told = std::find_if(variables.begin(), variables.end(), [](const auto& variable) {
    return variable.first == visible_devices_variable;
  });
  return visible_devices(told == variables.end() ? std::string_view() : told->second);
}

}  // namespace

Gpus::Gpus(std::string device_folder, std::string smi)
    : folder_(std::move(device_folder)), smi_(std::move(smi)) {
  std::map<int, std::string> numbered;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(card_prefix)) continue;
    if (const auto number = whole_number<int>(std::string_view(name).substr(card_prefix.size())))
      numbered.emplace(*number, name);
  }
  for (auto& [number, name] : numbered) cards_.push_back(std::move(name));
  for (const char* name : control_devices)
    if (!cards_.empty() && std::filesystem::exists(folder_ + "/" + name, error))
      shared_.emplace_back(name);
}

std::vector<sandbox::Mount> Gpus::mounts(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  using sandbox::Mount;
  std::vector<Mount> mounts;
  const std::vector<std::string> devices = devices_of(variables);
  if (devices.empty()) return mounts;
  if (cards_.empty()) {
    tell(
        "pods were given GPUs and this machine has none: nvidia-smi lists the modelled ones in "
        "them, CUDA finds no device");
    if (!smi_.empty()) mounts.push_back({Mount::Kind::host, smi_, "", smi_in_pods, true});
    return mounts;
  }
  std::set<std::string> shown(shared_.begin(), shared_.end());
  for (const std::string& device : devices) {
    const auto laid = laid_.try_emplace(device, laid_.size() % cards_.size()).first;
    shown.insert(cards_[laid->second]);
  }
  tell(fmt::format(
      "pods' GPUs are laid onto the {} of this machine round robin; several may share one",
      cards_.size()));
  for (const std::string& name : shown)
    mounts.push_back({Mount::Kind::host, folder_ + "/" + name, "", "/dev/" + name, false});
  return mounts;
}

void Gpus::tell(const std::string& note) {
  if (const auto noted = std::exchange(noted_, nullptr)) noted(note);
}

}  // namespace ddptwin
