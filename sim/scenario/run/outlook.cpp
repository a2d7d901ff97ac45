#include "scenario/run/outlook.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "cluster/kubelet/env.hpp"
#include "runtime/process/container_rules.hpp"

namespace ddptwin::scenario {
namespace {

// As the kubelet hands it on: $(NAME) is a variable's value, whatever that will be, $$ is $.
// Variables have capitals; $(hostname) is the shell's own.
std::vector<std::string> with_variables(std::vector<std::string> argv) {
  const auto value = [](std::string_view name) -> std::optional<std::string> {
    const bool capitals = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    return capitals ? std::optional<std::string>("1") : std::nullopt;
  };
  for (std::string& word : argv) word = kubelet::expand(word, value);
  return argv;
}

}  // namespace

std::string each_quoted(std::vector<std::string> commands) {
  for (std::string& one : commands) one = "`" + one + "`";
  return fmt::format("{}", fmt::join(commands, ", "));
}

std::vector<std::string> command_line_of(const NamedImage& image, const ImageUse& use) {
  return with_variables(command_line(image.image, use.command, use.args));
}

Result<model::Outlook> outlook_of(const NamedImage& image, const ImageUse& use,
                                  model::FilesByPath files) {
  StringMap environment;
  for (const auto& [name, value] : image_environment(image.image)) environment[name] = value;
  for (const auto& [name, variable] : use.variables) {
    if (variable.value)
      environment[name] = *variable.value;
    else
      environment.erase(name);
  }
  model::Outlook known{std::move(environment)};
  known.files = std::move(files);
  model::CommandContext context{&image.image, image.model ? &*image.model : nullptr, false,
                                use.role};
  const bool built_in = description_of(built_in_images(), image.name) != nullptr;
  context.has_more = !image.model && !image.of_host && !built_in;
  const auto* folder = use.value->if_contains("workingDir");
  if (folder != nullptr && folder->is_string()) context.folder = folder->as_string();
  return model::can_model(command_line_of(image, use), std::move(context), std::move(known));
}

std::string told_of_script(const std::vector<NamedImage>& images, const ImageUse& use) {
  const NamedImage* named = description_of(images, use.image);
  if (named == nullptr || !named->model || named->stand_in) return {};
  const auto outlook = outlook_of(*named, use);
  if (!outlook || outlook->at_once.empty()) return {};
  if (use.role == ContainerRole::init)
    return fmt::format("{}: an init container is no rank: done at once, with success: {}",
                       use.where, each_quoted(outlook->at_once));
  return fmt::format(
      "{}: of its start script {} is what its model describes; done at once, with success: {}",
      use.where, outlook->trains.empty() ? "nothing" : each_quoted(outlook->trains),
      each_quoted(outlook->at_once));
}

}  // namespace ddptwin::scenario
