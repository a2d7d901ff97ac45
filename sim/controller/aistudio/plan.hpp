// What is to be done about one DDPTask (spec/aistudio.md §4, §5). Pure.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "controller/aistudio/render.hpp"
#include "controller/controller.hpp"

namespace ddptwin::controller::aistudio {

// All that a plan depends on beside the time. What it owns it owns by the task's UID.
struct View {
  std::shared_ptr<const DDPTask> task{};  // null: gone
  std::map<std::string, std::shared_ptr<const Pod>, std::less<>> pods{};
  std::map<std::string, std::shared_ptr<const Service>, std::less<>> services{};
  // The cached task is as old as the last version that this controller wrote: what the status
  // remembers has gone into it.
  bool shows_own_write = true;
  bool expectations_met = true;
  std::string expectation_key{};
};

Plan plan(const View& seen, Time now);

}  // namespace ddptwin::controller::aistudio
