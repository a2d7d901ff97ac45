#include "scenario/run/stand_ins.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <filesystem>
#include <map>
#include <utility>

#include "core/paths.hpp"
#include "objects/core_v1.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/commands/at_hand.hpp"
#include "runtime/process/container_rules.hpp"
#include "runtime/process/own_folders.hpp"
#include "scenario/language/files.hpp"
#include "scenario/run/outlook.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

std::string member_text(const json::value& value, std::string_view name) {
  const auto* object = value.if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

const json::array& member_list(const json::object& object, std::string_view name) {
  static const json::array none;
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_array() ? found->get_array() : none;
}

const ConfigMap* find_config_map(const Scenario& scenario, std::string_view namespace_,
                                 std::string_view name) {
  for (const Manifest& manifest : scenario.manifests) {
    const auto* map = as<ConfigMap>(*manifest.object);
    if (map != nullptr && map->metadata.name == name && map->metadata.namespace_ == namespace_)
      return map;
  }
  return nullptr;
}

// Where a volume of that name would lie in the container; empty: nowhere.
std::vector<std::string> mounts_of(const ImageUse& use, const std::string& volume) {
  std::vector<std::string> paths;
  for (const json::value& mount : member_list(*use.value, "volumeMounts"))
    if (member_text(mount, "name") == volume && member_text(mount, "subPath").empty())
      paths.push_back(member_text(mount, "mountPath"));
  return paths;
}

// What ConfigMaps of the same scenario put into a container.
model::FilesByPath files_of(const Scenario& scenario, const ImageUse& use) {
  model::FilesByPath files;
  for (const json::value& volume : member_list(*use.pod_spec, "volumes")) {
    const json::value* source =
        volume.is_object() ? volume.get_object().if_contains("configMap") : nullptr;
    if (source == nullptr || !source->is_object()) continue;
    const ConfigMap* map = find_config_map(scenario, use.namespace_, member_text(*source, "name"));
    if (map == nullptr) continue;
    std::map<std::string, std::string> paths;  // by key
    for (const json::value& item : member_list(source->get_object(), "items"))
      paths[member_text(item, "key")] = member_text(item, "path");
    for (const std::string& folder : mounts_of(use, member_text(volume, "name")))
      for (const auto& [key, text] : *map->data) {
        const auto item = paths.find(key.str());
        if (!paths.empty() && item == paths.end()) continue;
        files[folder + "/" + (paths.empty() ? key.str() : item->second)] = text.str();
      }
  }
  return files;
}

// What a container finds at a path, by what is mounted there.
struct Mounted {
  std::string path{};          // where it is mounted
  model::FilesByPath files{};  // by their paths in the container
  std::string host{};          // a folder of the host; empty: none
};

// Pods have folders of their own there; /var/run leads to one. What the kernel puts into its own is
// there in a pod too.
bool is_hidden(std::string_view path) {
  constexpr std::array<std::string_view, 3> of_kernel{"/proc", "/sys", "/dev"};
  const auto holds = [path](std::string_view folder) { return is_at_or_below(path, folder); };
  if (holds("/dev/shm") || holds("/var/run")) return true;
  return sandbox::is_own_folder(path) && std::none_of(of_kernel.begin(), of_kernel.end(), holds);
}

std::string of_copies(const Image& image, const std::string& path) {
  for (const ImageCopy& copy : image.copies)
    if (is_at_or_below(path, copy.to) && copy.brings(copy.from + path.substr(copy.to.size())))
      return copy.from + path.substr(copy.to.size());
  return {};
}

bool exists_on_host(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

model::Surroundings surroundings(std::vector<Mounted> places, const Image& image) {
  // The file on the host, or the text of one that a ConfigMap brings.
  const auto find = [places = std::move(places),
                     image](const std::string& path) -> std::pair<std::string, const std::string*> {
    for (const Mounted& place : places) {
      if (!is_at_or_below(path, place.path)) continue;
      if (!place.host.empty()) return {place.host + path.substr(place.path.size()), nullptr};
      const auto text = place.files.find(path);
      return {{}, text == place.files.end() ? nullptr : &text->second};
    }
    if (std::string copied = of_copies(image, path); !copied.empty()) return {copied, nullptr};
    const bool own = !image.python.empty() && is_at_or_below(path, image.python);
    return {is_hidden(path) && !own ? std::string() : path, nullptr};
  };
  model::Surroundings around;
  around.has_file = [find](const std::string& path) {
    const auto [host, text] = find(path);
    return text != nullptr || (!host.empty() && exists_on_host(host));
  };
  around.read = [find](const std::string& path) -> std::optional<std::string> {
    const auto [host, text] = find(path);
    if (text != nullptr) return *text;
    std::error_code error;
    if (host.empty() || !std::filesystem::is_regular_file(host, error)) return std::nullopt;
    auto read = read_text_file(host);
    return read ? std::optional<std::string>(std::move(*read)) : std::nullopt;
  };
  around.folder = image.workdir;
  for (const auto& [name, value] : image_environment(image))
    if (name == "PATH") around.search_path = value;
  return around;
}

// As a manifest has it.
model::Surroundings surroundings_of(const Scenario& scenario, const NamedImage& image,
                                    const ImageUse& use) {
  std::vector<Mounted> places;
  const model::FilesByPath files = files_of(scenario, use);
  for (const json::value& volume : member_list(*use.pod_spec, "volumes"))
    for (const std::string& path : mounts_of(use, member_text(volume, "name"))) {
      const json::value* host = volume.get_object().if_contains("hostPath");
      places.push_back({path, files, host == nullptr ? "" : member_text(*host, "path")});
    }
  model::Surroundings around = surroundings(std::move(places), image.image);
  if (const std::string folder = member_text(*use.value, "workingDir"); !folder.empty())
    around.folder = folder;
  if (const auto path = use.variables.find("PATH");
      path != use.variables.end() && path->second.value)
    around.search_path = *path->second.value;
  return around;
}

// As the runtime has it.
model::Surroundings surroundings_of(const ContainerConfig& config, const Image& image) {
  std::vector<Mounted> places;
  for (const RuntimeMount& mount : config.mounts) {
    Mounted place{mount.container_path, {}, {}};
    if (mount.source == nullptr) {
      place.files[mount.container_path] = mount.content;
    } else if (mount.source->kind == VolumeSource::Kind::host_path) {
      place.host = mount.source->host_path + (mount.sub_path.empty() ? "" : "/" + mount.sub_path);
    } else {
      for (const auto& [path, file] : mount.source->files) {
        const std::string shown = mount.sub_path.empty() ? "/" + path
                                  : is_at_or_below(path, mount.sub_path)
                                      ? path.substr(mount.sub_path.size())
                                      : std::string();
        if (!shown.empty() || path == mount.sub_path)
          place.files[mount.container_path + shown] = file.content;
      }
    }
    places.push_back(std::move(place));
  }
  model::Surroundings around = surroundings(std::move(places), image);
  if (!config.working_dir.empty()) around.folder = config.working_dir;
  for (const auto& [name, value] : config.env)
    if (name == "PATH") around.search_path = value;
  return around;
}

std::string_view to_string(ContainerRole role) {
  constexpr std::array<std::string_view, 3> names{"training", "sidecar", "init"};
  return names[static_cast<std::size_t>(role)];
}

std::string launcher_text(Mode mode, const model::Surroundings& around) {
  if (mode == Mode::virtual_) return " under the modelled torchrun";
  return model::program_file("torchrun", around) ? " under the host's torchrun"
                                                 : " (this host has no torchrun)";
}

std::string training_text(const model::Outlook& outlook, const model::Workload& training,
                          const std::string& launcher) {
  std::string text = fmt::format("a training of {} steps stands in", training.steps);
  if (outlook.launches) text += launcher;
  std::vector<std::string> commands = outlook.trains;
  std::erase(commands, "");
  if (!commands.empty()) text += " for " + each_quoted(std::move(commands));
  if (!outlook.wants.empty())
    text += fmt::format(", which wants {}, and pods here have none", outlook.wants);
  return text;
}

bool is_absent(const std::vector<std::string>& command, const model::Surroundings& around) {
  const model::Outlook found = model::absent_of(command, around, ContainerRole::init);
  return !found.at_once.empty();
}

// Why, and what; empty: the container's own command runs.
std::string text_of(const Scenario& scenario, const NamedImage& image, const ImageUse& use,
                    Mode mode) {
  const model::Surroundings around = surroundings_of(scenario, image, use);
  const auto outlook =
      mode == Mode::virtual_
          ? outlook_of(image, use, files_of(scenario, use))
          : Result<model::Outlook>(absent_of(command_line_of(image, use), around, use.role));
  if (!outlook) return {};  // refused before the run
  std::vector<std::string> parts;
  const auto tell = [&parts](std::string text) { parts.push_back(std::move(text)); };
  std::vector<std::string> at_once = outlook->at_once;
  std::erase(at_once, "");
  if (!outlook->trains.empty())
    tell(training_text(*outlook, *image.model, launcher_text(mode, around)));
  if (outlook->stays)
    tell("something that stays until its pod ends stands in" +
         (at_once.empty() ? std::string() : " for " + each_quoted(at_once)));
  else if (!outlook->at_once.empty())
    tell((use.role == ContainerRole::init ? "an init container that ends well at once stands in"
                                          : "done at once, with success") +
         (at_once.empty() ? std::string()
                          : (use.role == ContainerRole::init ? " for " : ": ") +
                                each_quoted(std::move(at_once))));
  for (const ExecUse& exec : use.execs)
    if (mode == Mode::virtual_ ? !model::can_model_exec(exec.command, image.image)
                               : is_absent(exec.command, around))
      tell(fmt::format("`{}` beside it succeeds", fmt::format("{}", fmt::join(exec.command, " "))));
  if (parts.empty()) return {};
  return fmt::format("{} of image {}: {}", image.of_host ? "no description" : "no model", use.image,
                     fmt::join(parts, "; "));
}

// Of each container whose image allows a stand-in: empty where nothing stands in.
template <class Tell>
void each_container(const Scenario& scenario, const std::vector<NamedImage>& images, Mode mode,
                    const Tell& tell) {
  for (const ImageUse& use : image_uses(scenario)) {
    const NamedImage* image = description_of(images, use.image);
    if (image == nullptr || image->missing || !image->stand_in) continue;
    tell(use, *image, text_of(scenario, *image, use, mode));
  }
}

}  // namespace

std::string StandIn::told() const {
  // "job.yaml:12:3 spec.containers[0].image": the line is enough.
  std::string place = where.substr(0, where.find(' '));
  return fmt::format("container {} ({}): {}", container, place, text);
}

std::vector<StandIn> stand_ins_of(const Scenario& scenario, const std::vector<NamedImage>& images,
                                  Mode mode) {
  std::vector<StandIn> found;
  each_container(scenario, images, mode,
                 [&found](const ImageUse& use, const NamedImage&, const std::string& text) {
                   if (!text.empty()) found.push_back({use.object, use.container, use.where, text});
                 });
  return found;
}

std::vector<std::string> runs_as_of_host(const Scenario& scenario,
                                         const std::vector<NamedImage>& images, Mode mode) {
  std::vector<std::string> found;
  each_container(scenario, images, mode,
                 [&found](const ImageUse&, const NamedImage& image, const std::string& text) {
                   const bool told =
                       std::find(found.begin(), found.end(), image.name) != found.end();
                   if (text.empty() && image.of_host && !told) found.push_back(image.name);
                 });
  return found;
}

model::Workload stand_in_workload(const StandInShape& shape) {
  model::Workload workload;
  workload.steps = shape.steps;
  workload.step_time = shape.step_time;
  workload.stands_in = true;
  return workload;
}

std::function<std::vector<std::string>(const ContainerConfig&, const Image&)> stand_in_commands(
    const std::vector<NamedImage>& images) {
  std::vector<NamedImage> known = images;
  if (std::none_of(known.begin(), known.end(), [](const auto& one) { return one.stand_in; }))
    return {};
  return [known = std::move(known)](const ContainerConfig& config,
                                    const Image& image) -> std::vector<std::string> {
    const NamedImage* named =
        description_of(known, config.user_image.empty() ? config.image : config.user_image);
    if (named == nullptr || !named->stand_in) return {};
    const std::vector<std::string> argv = command_line(image, config.command, config.args);
    const model::Outlook absent =
        model::absent_of(argv, surroundings_of(config, image), config.role);
    if (absent.trains.empty() && absent.at_once.empty()) return {};
    std::vector<std::string> command{
        "/usr/local/bin/ddptwin-stand-in", std::string(to_string(config.role)),
        std::to_string(named->model->steps),
        fmt::format("{}ms", seconds_of(named->model->step_time) * 1000), "--"};
    command.insert(command.end(), argv.begin(), argv.end());
    return command;
  };
}

Status refuse_stand_ins(const Scenario& scenario, Mode mode) {
  const auto found = stand_ins_of(scenario, images_of(scenario, ""), mode);
  if (found.empty()) return {};
  return fail(Reason::bad_input,
              found.front().text +
                  ", and --stand-ins off wants none: say in a Scenario what the "
                  "image is on this machine (spec.images)",
              found.front().where);
}

}  // namespace ddptwin::scenario
