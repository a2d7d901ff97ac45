// nvidia-smi of a machine that has no card: what it prints of the modelled devices that a container
// was given, in the formats that programs read. The real runs' program (tools/nvidia_smi_main.cpp)
// and its model share it. Source: NVIDIA's manual page of nvidia-smi, spec/gpu.md §4.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

struct SmiAnswer {
  std::string text{};
  int code = 0;
};

// `devices`: the UUIDs, as NVIDIA_VISIBLE_DEVICES tells them; `date`: the first line of the table.
// Knows -L, --query-gpu=FIELDS with --format=csv[,noheader][,nounits], -i (index or UUID) and the
// table; other words are answered as unknown ones are.
SmiAnswer answer_nvidia_smi(const std::vector<std::string>& words,
                            const std::vector<std::string>& devices, std::string_view date);

// How many devices the container was granted.
int granted_gpus(const Process& process);
// Without any device there is no such program.
std::unique_ptr<Program> make_nvidia_smi(const std::vector<std::string>& argv);
// What of it the model does not know; empty: all is known.
std::string unknown_of_nvidia_smi(const std::vector<std::string>& argv);

}  // namespace ddptwin::model
