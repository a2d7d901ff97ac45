#include "controller/aistudio/webhook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/aistudio/policy.hpp"
#include "controller/toolkit/denial.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::aistudio {
namespace {

constexpr std::array<std::string_view, 3> known_items{"network", "gpu", "storage"};

template <class List>
bool is_in(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

void judge_name(const DDPTask& task, ErrorList& errors) {
  const std::string name = task.metadata.name.str();
  for (const std::string& problem : dns_label_problems(name))
    errors.push_back(invalid("metadata.name", quoted(name), problem));
}

void judge_variables(const DDPTaskSpec& spec, ErrorList& errors) {
  constexpr std::uint16_t port_max = 65535;
  for (std::size_t i = 0; i < spec.env.size(); ++i) {
    const DDPTaskVariable& one = spec.env[i];
    const std::string path = fmt::format("spec.env[{}]", i);
    if (is_in(reserved_variables, one.name))
      errors.push_back(forbidden(
          path + ".name", fmt::format("the platform sets {}: it may not be set here", one.name)));
    const auto port = whole_number<int>(one.value);
    if (one.name == port_variable && (!port || *port < 1 || *port > port_max))
      errors.push_back(
          invalid(path + ".value", quoted(one.value), "must be a port between 1 and 65535"));
  }
}

void judge_mounts(const DDPTaskSpec& spec, ErrorList& errors) {
  std::set<std::string_view> names, paths;
  for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
    const DDPTaskMount& one = spec.mounts[i];
    const std::string path = fmt::format("spec.mounts[{}]", i);
    for (const std::string& problem : dns_label_problems(one.name))
      errors.push_back(invalid(path + ".name", quoted(one.name), problem));
    if (!names.insert(one.name).second)
      errors.push_back(duplicate(path + ".name", quoted(one.name)));
    if (!one.path.starts_with('/') || one.path.find(',') != one.path.npos)
      errors.push_back(
          invalid(path + ".path", quoted(one.path), "must be an absolute path without commas"));
    if (!paths.insert(one.path).second)
      errors.push_back(duplicate(path + ".path", quoted(one.path)));
  }
}

void judge_check(const DDPTaskSpec& spec, ErrorList& errors) {
  if (!spec.selfCheck.items) return;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < spec.selfCheck.items->size(); ++i) {
    const std::string& item = (*spec.selfCheck.items)[i];
    const std::string path = fmt::format("spec.selfCheck.items[{}]", i);
    if (!is_in(known_items, item))
      errors.push_back(
          invalid(path, quoted(item), "supported values: \"network\", \"gpu\", \"storage\""));
    if (!seen.insert(item).second) errors.push_back(duplicate(path, quoted(item)));
  }
}

// All but the stop button, which stays pressed.
void judge_change(const DDPTask& task, const DDPTask& before, ErrorList& errors) {
  DDPTaskSpec now = *task.spec, was = *before.spec;
  if (was.stop && !now.stop)
    errors.push_back(forbidden("spec.stop", "a task that was stopped stays stopped"));
  now.stop = was.stop = false;
  if (to_json(now) != to_json(was))
    errors.push_back(forbidden("spec", "field is immutable: create a new task to run it again"));
}

}  // namespace

std::optional<Error> review(const DDPTask& task, const DDPTask* old) {
  ErrorList errors;
  const DDPTaskSpec& spec = *task.spec;
  judge_name(task, errors);
  judge_variables(spec, errors);
  judge_mounts(spec, errors);
  judge_check(spec, errors);
  if (old != nullptr) judge_change(task, *old, errors);
  return invalid_by(webhook_name, task, errors);
}

}  // namespace ddptwin::controller::aistudio
