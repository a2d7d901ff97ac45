#include "scenario/images.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "objects/image_reference.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

NamedImage plain_image(std::string name) {
  NamedImage named;
  named.name = std::move(name);
  return named;
}

NamedImage worker_image() {
  NamedImage named = plain_image("ddptwin-worker");
  named.image.entrypoint = {"ddptwin-worker"};
  return named;
}

std::vector<std::string> texts_of(const json::value* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const json::value& text : list->as_array())
    if (text.is_string()) texts.emplace_back(text.as_string());
  return texts;
}

// The members in turn; null: there is no such place.
const json::value* value_at(const json::value& value,
                            std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const std::string_view key : path) {
    const auto* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::vector<ExecUse> execs_of(const YamlDocument& document, const json::value& container,
                              const std::string& path) {
  std::vector<ExecUse> execs;
  const auto add = [&](std::initializer_list<std::string_view> place) {
    const json::value* handler = value_at(container, place);
    const json::value* command =
        handler == nullptr ? nullptr : value_at(*handler, {"exec", "command"});
    if (command == nullptr) return;
    const std::string where = fmt::format("{}.{}.exec.command", path, fmt::join(place, "."));
    execs.push_back({document.where(where), texts_of(command)});
  };
  for (const std::string_view probe : {"startupProbe", "readinessProbe", "livenessProbe"})
    add({probe});
  for (const std::string_view hook : {"postStart", "preStop"}) add({"lifecycle", hook});
  return execs;
}

// Walks a document; `path` is where it stands.
void find_uses(const YamlDocument& document, const json::value& value, const std::string& path,
               std::vector<ImageUse>& uses) {
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      find_uses(document, (*list)[i], fmt::format("{}[{}]", path, i), uses);
    return;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& member : *object) {
    const std::string key(member.key());
    const std::string here = path.empty() ? key : path + "." + key;
    find_uses(document, member.value(), here, uses);
    const auto* containers = member.value().if_array();
    if (containers == nullptr || (key != "containers" && key != "initContainers")) continue;
    for (std::size_t i = 0; i < containers->size(); ++i) {
      const auto* container = (*containers)[i].if_object();
      const auto* image = container != nullptr ? container->if_contains("image") : nullptr;
      if (image != nullptr && image->is_string() && !image->as_string().empty())
        uses.push_back(
            {std::string(image->as_string()), document.where(fmt::format("{}[{}].image", here, i)),
             texts_of(container->if_contains("command")), texts_of(container->if_contains("args")),
             execs_of(document, (*containers)[i], fmt::format("{}[{}]", here, i))});
    }
  }
}

}  // namespace

const std::vector<NamedImage>& built_in_images() {
  // alpine:3.10 is the init container that waits for the master (spec/pytorchjob.md §2.4).
  static const std::vector<NamedImage> images{worker_image(), plain_image("alpine:3.10")};
  return images;
}

std::vector<ImageUse> image_uses(const Manifest& manifest) {
  std::vector<ImageUse> uses;
  find_uses(*manifest.document, *manifest.value, manifest.base, uses);
  return uses;
}

std::vector<ImageUse> image_uses(const Scenario& scenario) {
  std::vector<ImageUse> uses;
  const auto add = [&uses](const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      auto more = image_uses(manifest);
      std::move(more.begin(), more.end(), std::back_inserter(uses));
    }
  };
  add(scenario.manifests);
  for (const Step& step : scenario.steps) {
    if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
  }
  return uses;
}

bool is_described(const Scenario& scenario, const std::string& image) {
  const auto named = [&image](const NamedImage& known) { return is_same_image(known.name, image); };
  return std::any_of(scenario.images.begin(), scenario.images.end(), named) ||
         std::any_of(built_in_images().begin(), built_in_images().end(), named);
}

void describe_plain_images(Scenario& scenario) {
  for (const ImageUse& use : image_uses(scenario)) {
    if (is_described(scenario, use.image)) continue;
    NamedImage named = plain_image(use.image);
    named.notes.push_back("no description: it is taken to be the host's own tools");
    scenario.images.push_back(std::move(named));
  }
}

std::vector<NamedImage> images_of(const Scenario& scenario, const std::string& python) {
  std::vector<NamedImage> images = scenario.images;
  for (const NamedImage& image : built_in_images()) {
    const bool replaced = std::any_of(
        images.begin(), images.end(),
        [&image](const NamedImage& own) { return is_same_image(own.name, image.name); });
    if (!replaced) images.push_back(image);
  }
  std::erase_if(images, [](const NamedImage& image) { return image.missing; });
  if (!python.empty()) {
    for (NamedImage& image : images) image.image.python = python;
  }
  return images;
}

void write_notes(Trace& trace, const std::vector<NamedImage>& images) {
  for (const NamedImage& image : images) {
    for (const std::string& note : image.notes) {
      Record record;
      record.kind = RecordKind::image;
      record.actor = "kubelet";
      record.subject = "image " + image.name;
      record.text = note;
      trace.write(std::move(record));
    }
  }
}

}  // namespace ddptwin::scenario
