// How many processes torchrun starts on a node, and torchtune's command line (spec/trainjob.md
// §3.3, §3.9).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/trainer/info.hpp"

namespace ddptwin::controller::trainer {

// PET_NPROC_PER_NODE: a number, or a word that torchrun resolves (auto, and up to v2.1 cpu, gpu).
struct Processes {
  std::optional<std::int32_t> number{};
  std::string word{};
  std::string text() const { return number ? std::to_string(*number) : word; }
};
Processes processes_per_node(const Info& info, const TrainJob& job);

// Whether the TrainJob's command is torchtune's, which has a command line made for it.
bool is_torchtune(const TrainJobTrainer& trainer);

// "llama3_2/1B" of a runtime called torchtune-llama3.2-1b; empty where it has not three parts.
std::string model_of_runtime(std::string_view runtime);

struct Recipe {
  std::string recipe{};
  std::string config{};
};
Recipe recipe_of(std::int32_t nodes, const Processes& processes, std::int64_t gpus,
                 const TrainJob& job);
bool asks_for_lora(const std::vector<std::string>& args);
bool asks_for_qlora(const std::vector<std::string>& args);

// Keys that a runtime's command says and nobody may change.
bool is_fixed_config(std::string_view argument);

}  // namespace ddptwin::controller::trainer
