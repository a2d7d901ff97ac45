#include "scenario/run/images.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "objects/image_reference.hpp"
#include "runtime/container_role.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/run/outlook.hpp"
#include "scenario/run/stand_ins.hpp"
#include "scenario/run/without_effect.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// Where its commands cannot be had here, a training of that shape takes their place.
void let_stand_in(NamedImage& image, const StandInShape& shape) {
  image.stand_in = true;
  if (!image.model) image.model = stand_in_workload(shape);
  image.model->stands_in = true;
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

std::string text_of(const json::value& value, std::string_view member) {
  const json::value* found = member_at(value, {member});
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
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

// What the object's system adds to each of its containers, behind the container's own.
VariableUses added_variables(const Manifest& manifest) {
  VariableUses added;
  for (const System* system : systems()) {
    if (system->told == nullptr) continue;
    for (ToldVariable& one : system->told(*manifest.value)) {
      const std::string path =
          (manifest.base.empty() ? "" : manifest.base + ".") + std::string(one.path);
      added[std::string(one.name)] = {std::move(one.value), manifest.document->where(path)};
    }
  }
  return added;
}

// Walks a manifest for containers.
class UseSearch {
 public:
  explicit UseSearch(const Manifest& manifest)
      : manifest_(manifest), added_(added_variables(manifest)) {}

  std::vector<ImageUse> run() {
    look_at(*manifest_.value, manifest_.base);
    return std::move(found_);
  }

 private:
  // `path` is where it stands.
  void look_at(const json::value& value, const std::string& path) {
    if (const auto* list = value.if_array()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        look_at((*list)[i], fmt::format("{}[{}]", path, i));
      return;
    }
    const auto* object = value.if_object();
    if (object == nullptr) return;
    for (const auto& member : *object) {
      const std::string key(member.key());
      const std::string here = path.empty() ? key : path + "." + key;
      look_at(member.value(), here);
      const auto* containers = member.value().if_array();
      if (containers == nullptr || (key != "containers" && key != "initContainers")) continue;
      for (std::size_t i = 0; i < containers->size(); ++i)
        take(*object, key, (*containers)[i], fmt::format("{}[{}]", here, i));
    }
  }

  void take(const json::object& spec, const std::string& list, const json::value& container,
            const std::string& at) {
    const std::string image = text_of(container, "image");
    if (image.empty()) return;
    const YamlDocument& document = *manifest_.document;
    ImageUse use;
    use.object = short_name(*manifest_.object);
    use.namespace_ = manifest_.object->metadata.namespace_.str();
    use.container = text_of(container, "name");
    use.role = role_of(spec, list, container);
    use.pod_spec = &spec;
    use.value = &container.get_object();
    use.image = image;
    use.where = document.where(at + ".image");
    use.command = texts_of(use.value->if_contains("command"));
    use.args = texts_of(use.value->if_contains("args"));
    use.execs = execs_of(document, container, at);
    use.variables = variables_of(document, *use.value, at);
    if (list == "containers")
      for (const auto& [name, variable] : added_) use.variables[name] = variable;
    found_.push_back(std::move(use));
  }

  ContainerRole role_of(const json::object& spec, const std::string& list,
                        const json::value& container) const {
    if (list == "initContainers")
      return text_of(container, "restartPolicy") == "Always" ? ContainerRole::sidecar
                                                             : ContainerRole::init;
    const std::string policy = text_of(spec, "restartPolicy");
    std::vector<std::string> names, ranks;
    for (const json::value& one : spec.at(list).get_array()) {
      names.push_back(text_of(one, "name"));
      const json::value* env = member_at(one, {"env"});
      if (env != nullptr && env->is_array() &&
          std::any_of(env->get_array().begin(), env->get_array().end(),
                      [](const json::value& variable) {
                        return tells_of_a_group(text_of(variable, "name"));
                      }))
        ranks.push_back(names.back());
    }
    return container_role({manifest_.object->kind().kind,
                           policy.empty() || policy == "Always",
                           {names.begin(), names.end()},
                           {ranks.begin(), ranks.end()}},
                          text_of(container, "name"));
  }

  const Manifest& manifest_;
  VariableUses added_;
  std::vector<ImageUse> found_{};
};

// Whether all that one description is of, the other is of too.
bool covers(const std::string& description, const std::string& other) {
  const std::string name = described_image(description);
  return name == described_image(other) || name == ImageReference::cut(other).repository();
}

}  // namespace

std::vector<ImageUse> image_uses(const Manifest& manifest) { return UseSearch(manifest).run(); }

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

void describe_plain_images(Scenario& scenario) {
  const bool anywhere = scenario.plain || scenario.stand_ins.wanted;
  for (NamedImage& image : scenario.images)
    if (image.stand_in || (anywhere && !image.missing && !image.model))
      let_stand_in(image, scenario.stand_ins);
  if (!anywhere) return;
  for (const ImageUse& use : image_uses(scenario)) {
    // Each has notes of its own, so what was added for one is not taken for another tag of it.
    const auto same = [&use](const NamedImage& one) { return is_same_image(one.name, use.image); };
    const bool is_own = canonical_image(use.image) == canonical_image(worker_image_name);
    if (is_own || std::any_of(scenario.images.begin(), scenario.images.end(), same)) continue;
    const NamedImage* described = description_of(scenario.images, use.image);
    if (described != nullptr && !described->of_host) continue;
    NamedImage named;
    named.name = use.image;
    named.of_host = true;
    let_stand_in(named, scenario.stand_ins);
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

void write_note(Trace& trace, std::string_view by, const std::string& subject,
                const std::string& text) {
  Record record;
  record.kind = RecordKind::image;
  record.actor = by;
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
  for (const StandIn& one : stand_ins_of(scenario, images, mode)) write(one.object, one.told());
  for (const NamedImage& image : images)
    for (const std::string& note : image.notes) write("image " + image.name, note);
  for (const std::string& image : runs_as_of_host(scenario, images, mode))
    write("image " + image, "no description: it is taken to be the host's own tools");
  for (const WithoutEffect& one : without_effect(scenario, mode)) write(one.object, one.text);
  if (mode == Mode::real) return;
  for (const NamedImage& image : images)
    for (const std::string& note : image.unread) write("image " + image.name, note);
  for (const ImageUse& use : image_uses(scenario))
    if (std::string text = told_of_script(images, use); !text.empty())
      write("image " + use.image, std::move(text));
}

}  // namespace ddptwin::scenario
