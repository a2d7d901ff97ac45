#include "scenario/images.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "objects/image_reference.hpp"
#include "scenario/member_at.hpp"
#include "scenario/outlook.hpp"
#include "scenario/without_effect.hpp"

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

std::vector<ExecUse> execs_of(const YamlDocument& document, const json::value& container,
                              const std::string& path) {
  std::vector<ExecUse> execs;
  const auto add = [&](std::initializer_list<std::string_view> place) {
    const json::value* handler = member_at(container, place);
    const json::value* command =
        handler == nullptr ? nullptr : member_at(*handler, {"exec", "command"});
    if (command == nullptr) return;
    const std::string where = fmt::format("{}.{}.exec.command", path, fmt::join(place, "."));
    execs.push_back({document.where(where), texts_of(command)});
  };
  for (const std::string_view probe : {"startupProbe", "readinessProbe", "livenessProbe"})
    add({probe});
  for (const std::string_view hook : {"postStart", "preStop"}) add({"lifecycle", hook});
  return execs;
}

using VariableUses = std::map<std::string, VariableUse, std::less<>>;

VariableUses variables_of(const YamlDocument& document, const json::object& container,
                          const std::string& path) {
  VariableUses found;
  const json::value* list = container.if_contains("env");
  if (list == nullptr || !list->is_array()) return found;
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    const json::value* name = member_at(list->as_array()[i], {"name"});
    const json::value* value = member_at(list->as_array()[i], {"value"});
    if (name == nullptr || !name->is_string()) continue;
    const std::string key(name->as_string());
    found[key] = value != nullptr && value->is_string()
                     ? VariableUse{std::string(value->as_string()),
                                   document.where(fmt::format("{}.env[{}].value", path, i))}
                     : VariableUse{};
  }
  return found;
}

// What the training operator adds to each container of a job, behind the container's own
// (spec/pytorchjob.md §2.3): of that only what no model can do is of use here.
VariableUses added_variables(const Manifest& manifest) {
  const json::value* elastic = manifest.object->kind().kind == "PyTorchJob"
                                   ? member_at(*manifest.value, {"spec", "elasticPolicy"})
                                   : nullptr;
  if (elastic == nullptr || !elastic->is_object()) return {};
  const json::value* backend = member_at(*elastic, {"rdzvBackend"});
  const std::string path =
      (manifest.base.empty() ? "" : manifest.base + ".") + "spec.elasticPolicy.rdzvBackend";
  return {{"PET_RDZV_BACKEND",
           {backend != nullptr && backend->is_string() ? std::string(backend->as_string()) : "c10d",
            manifest.document->where(path)}}};
}

// Walks a document; `path` is where it stands.
void find_uses(const YamlDocument& document, const json::value& value, const std::string& path,
               const VariableUses& added, std::vector<ImageUse>& uses) {
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      find_uses(document, (*list)[i], fmt::format("{}[{}]", path, i), added, uses);
    return;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& member : *object) {
    const std::string key(member.key());
    const std::string here = path.empty() ? key : path + "." + key;
    find_uses(document, member.value(), here, added, uses);
    const auto* containers = member.value().if_array();
    if (containers == nullptr || (key != "containers" && key != "initContainers")) continue;
    for (std::size_t i = 0; i < containers->size(); ++i) {
      const auto* container = (*containers)[i].if_object();
      const auto* image = container != nullptr ? container->if_contains("image") : nullptr;
      if (image == nullptr || !image->is_string() || image->as_string().empty()) continue;
      const std::string at = fmt::format("{}[{}]", here, i);
      VariableUses variables = variables_of(document, *container, at);
      if (key == "containers")
        for (const auto& [name, use] : added) variables[name] = use;
      uses.push_back({std::string(image->as_string()), document.where(at + ".image"),
                      texts_of(container->if_contains("command")),
                      texts_of(container->if_contains("args")),
                      execs_of(document, (*containers)[i], at), std::move(variables)});
    }
  }
}

// Whether all that one description is of, the other is of too.
bool covers(const std::string& description, const std::string& other) {
  const std::string name = described_image(description);
  return name == described_image(other) || name == ImageReference::cut(other).repository();
}

}  // namespace

const std::vector<NamedImage>& built_in_images() {
  // alpine:3.10 is the init container that waits for the master (spec/pytorchjob.md §2.4).
  static const std::vector<NamedImage> images{worker_image(), plain_image("alpine:3.10")};
  return images;
}

std::vector<ImageUse> image_uses(const Manifest& manifest) {
  std::vector<ImageUse> uses;
  find_uses(*manifest.document, *manifest.value, manifest.base, added_variables(manifest), uses);
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

const NamedImage* description_of(const std::vector<NamedImage>& images, const std::string& image) {
  for (const std::string& name :
       {canonical_image(image), ImageReference::cut(image).repository()}) {
    for (const NamedImage& known : images)
      if (described_image(known.name) == name) return &known;
  }
  return nullptr;
}

bool is_described(const Scenario& scenario, const std::string& image) {
  return description_of(scenario.images, image) != nullptr ||
         description_of(built_in_images(), image) != nullptr;
}

void describe_plain_images(Scenario& scenario) {
  for (const ImageUse& use : image_uses(scenario)) {
    // Each has a note of its own, so what was added for one is not taken for another tag of it.
    const auto same = [&use](const NamedImage& one) { return is_same_image(one.name, use.image); };
    if (std::any_of(scenario.images.begin(), scenario.images.end(), same) ||
        description_of(built_in_images(), use.image) != nullptr)
      continue;
    NamedImage named = plain_image(use.image);
    named.notes.push_back("no description: it is taken to be the host's own tools");
    scenario.images.push_back(std::move(named));
  }
}

std::vector<NamedImage> images_of(const Scenario& scenario, const std::string& python) {
  std::vector<NamedImage> images = scenario.images;
  for (const NamedImage& image : built_in_images()) {
    const bool replaced =
        std::any_of(images.begin(), images.end(),
                    [&image](const NamedImage& own) { return covers(own.name, image.name); });
    if (!replaced) images.push_back(image);
  }
  if (!python.empty()) {
    for (NamedImage& image : images) image.image.python = python;
  }
  return images;
}

void write_note(Trace& trace, std::string_view actor, const std::string& subject,
                const std::string& text) {
  Record record;
  record.kind = RecordKind::image;
  record.actor = actor;
  record.subject = subject;
  record.text = text;
  trace.write_alone(std::move(record));
}

void write_notes(Trace& trace, const std::vector<NamedImage>& images, const Scenario& scenario,
                 Mode mode) {
  for (const ManifestNote& note : scenario.notes) write_note(trace, "user", note.object, note.text);
  const auto write = [&trace](const std::string& subject, const std::string& text) {
    write_note(trace, "kubelet", subject, text);
  };
  for (const NamedImage& image : images)
    for (const std::string& note : image.notes) write("image " + image.name, note);
  for (const WithoutEffect& one : without_effect(scenario, mode)) write(one.object, one.text);
  if (mode == Mode::real) return;
  for (const ImageUse& use : image_uses(scenario))
    if (std::string text = told_of_script(images, use); !text.empty())
      write("image " + use.image, std::move(text));
}

}  // namespace ddptwin::scenario
