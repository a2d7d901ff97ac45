// What is to be done about one PyTorchTrainingJob (spec/t9k.md §6). Pure.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "controller/controller.hpp"
#include "controller/t9k/render.hpp"

namespace ddptwin::controller::t9k {

// All that a plan depends on beside the time. What it owns it owns by the job's UID.
struct View {
  std::shared_ptr<const PyTorchTrainingJob> job{};  // null: gone
  std::map<std::string, std::shared_ptr<const Pod>, std::less<>> pods{};
  std::map<std::string, std::shared_ptr<const Service>, std::less<>> services{};
  bool has_pod_group = false;
  std::shared_ptr<const TensorBoard> tensorboard{};
  // The cached job is as old as the last version that this controller wrote: what the status
  // remembers has gone into it.
  bool shows_own_write = true;
  bool expectations_met = true;
  std::string expectation_key{};
};

Plan plan(const View& seen, Time now);

}  // namespace ddptwin::controller::t9k
