// What a container sees of the GPUs that it was given: the host's device nodes, or where the host
// has none, the twin's own nvidia-smi (spec/gpu.md §2 and §4).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/protocol.hpp"

namespace ddptwin {

class Gpus {
 public:
  // `device_folder`: /dev, of which the cards are read once; `smi`: the program, empty: there is
  // none.
  Gpus(std::string device_folder, std::string smi);

  // Of a container with these variables; none without devices in NVIDIA_VISIBLE_DEVICES. Modelled
  // devices are laid onto the host's cards round robin, as they first come; several may share one.
  std::vector<sandbox::Mount> mounts(
      const std::vector<std::pair<std::string, std::string>>& variables);
  // Hears once what a container that was given devices finds here.
  void on_note(std::function<void(const std::string&)> noted) { noted_ = std::move(noted); }

 private:
  std::string folder_;
  std::string smi_;
  std::vector<std::string> cards_{};   // "nvidia0", in the order of their numbers
  std::vector<std::string> shared_{};  // what each user of a card needs beside it
  void tell(const std::string& note);

  std::map<std::string, std::size_t> laid_{};        // by UUID, onto which card
  std::function<void(const std::string&)> noted_{};  // called once
};

}  // namespace ddptwin
