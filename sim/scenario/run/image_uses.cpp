#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cctype>
#include <set>
#include <tuple>

#include "objects/codec.hpp"
#include "runtime/container_role.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/rehearsal.hpp"
#include "scenario/systems/workloads.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

std::vector<std::string> texts_in(const json::value* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const json::value& text : list->as_array())
    if (text.is_string()) texts.emplace_back(text.as_string());
  return texts;
}

// ---- where things are written ------------------------------------------------------------------

// A container of a template, where a manifest has it.
struct ImagePlace {
  const Manifest* manifest = nullptr;
  const json::object* pod = nullptr;  // the template's spec
  const json::object* container = nullptr;
  bool init = false;
  std::string path{};
  std::set<std::string> names{};  // of what it stands in: members, and what their `name` says

  std::string where(std::string_view member) const {
    return manifest->document->where(fmt::format("{}.{}", path, member));
  }
};

// Calls `visit(value, path)` for all that a manifest says, what is inside first.
template <class Visit>
void each_written_value(const json::value& value, const std::string& path, const Visit& visit) {
  if (const auto* list = value.if_array())
    for (std::size_t i = 0; i < list->size(); ++i)
      each_written_value((*list)[i], fmt::format("{}[{}]", path, i), visit);
  if (const auto* object = value.if_object())
    for (const auto& member : *object) {
      const std::string key(member.key());
      each_written_value(member.value(), path.empty() ? key : path + "." + key, visit);
    }
  visit(value, path);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// "worker" of spec.pytorchReplicaSpecs.Worker.template, "node" of spec.replicatedJobs[1], which is
// called so. `path` ends with a dot.
std::set<std::string> names_on_the_way(const Manifest& manifest, const std::string& path) {
  std::set<std::string> names;
  std::size_t begin = 0;
  for (std::size_t end = path.find_first_of(".["); end != path.npos;
       end = path.find_first_of(".[", begin)) {
    const std::string member = path.substr(begin, end - begin);
    begin = end + 1;
    if (end < manifest.base.size()) continue;
    names.insert(lower_case(member));
    const json::value& here = manifest.document->value_at(path.substr(0, end));
    if (const json::value* name = member_at(here, {"name"}); name != nullptr && name->is_string())
      names.insert(lower_case(name->get_string()));
  }
  return names;
}

// Of every list named containers or initContainers, at any depth: so of any kind of workload.
std::vector<ImagePlace> image_places(const Manifest& manifest) {
  std::vector<ImagePlace> found;
  each_written_value(*manifest.value, manifest.base,
                     [&](const json::value& value, const std::string& at) {
                       const auto* pod = value.if_object();
                       if (pod == nullptr) return;
                       for (const auto& member : *pod) {
                         const auto* list = member.value().if_array();
                         const bool init = member.key() == "initContainers";
                         if (list == nullptr || (!init && member.key() != "containers")) continue;
                         for (std::size_t i = 0; i < list->size(); ++i)
                           if (const auto* container = (*list)[i].if_object())
                             found.push_back({&manifest, pod, container, init,
                                              fmt::format("{}{}{}[{}]", at, at.empty() ? "" : ".",
                                                          std::string_view(member.key()), i),
                                              names_on_the_way(manifest, at + ".")});
                       }
                     });
  return found;
}

// The first that says just this; empty: none does.
std::string where_written(const Manifest& manifest, const std::string& text) {
  std::string found;
  each_written_value(*manifest.value, manifest.base,
                     [&](const json::value& value, const std::string& at) {
                       if (found.empty() && value.is_string() && value.get_string() == text)
                         found = manifest.document->where(at);
                     });
  return found;
}

// ---- one container -----------------------------------------------------------------------------

struct UsedImage {
  const RehearsedPod& pod;
  const Container& container;
  bool init;
  std::shared_ptr<const json::object> spec{};   // of the pod, as the API shows it
  std::shared_ptr<const json::object> value{};  // of the container
  const ImagePlace* place = nullptr;            // null: no manifest has it
};

class UseList {
 public:
  explicit UseList(const Scenario& scenario) {
    const auto add = [this](const std::vector<Manifest>& manifests) {
      for (const Manifest& manifest : manifests) {
        manifests_.push_back(&manifest);
        auto more = image_places(manifest);
        std::move(more.begin(), more.end(), std::back_inserter(places_));
      }
    };
    add(scenario.manifests);
    for (const Step& step : scenario.steps)
      if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
    std::vector<RehearsedPod> pods = rehearse(scenario);
    for (const RehearsedPod& pod : pods) take(pod);
    take_idle(pods);
  }

  // In the order in which they are written; what is written nowhere after what is.
  std::vector<ImageUse> uses() {
    std::vector<ImageUse> list;
    for (auto& [key, use] : by_place_) list.push_back(std::move(use));
    return list;
  }

 private:
  // The manifest's number, the place's, and what differs between pods of one template.
  using Key = std::tuple<std::size_t, std::size_t, std::string, std::string,
                         std::vector<std::string>, std::vector<std::string>>;

  void take(const RehearsedPod& pod) {
    const auto spec = std::make_shared<const json::value>(to_json(*pod.pod->spec));
    const auto* members = &spec->as_object();
    for (const bool init : {true, false}) {
      const auto& list = init ? *pod.pod->spec->initContainers : *pod.pod->spec->containers;
      const json::value* written = members->if_contains(init ? "initContainers" : "containers");
      for (std::size_t i = 0; i < list.size(); ++i)
        // One without an image is a patch's: what it changes has the image.
        if (!list[i].image.empty())
          take({pod, list[i], init, {spec, members}, {spec, &written->at(i).as_object()}, nullptr});
    }
  }

  // Of a workload that makes no pod as things are (it is suspended, has no replicas): as written.
  void take_idle(const std::vector<RehearsedPod>& pods) {
    for (const Manifest* manifest : manifests_) {
      if (!is_workload(manifest->object->kind()) ||
          std::any_of(pods.begin(), pods.end(),
                      [&](const RehearsedPod& pod) { return pod.of == manifest; }))
        continue;
      const json::object* last = nullptr;
      for (const ImagePlace& place : places_)
        if (place.manifest == manifest && std::exchange(last, place.pod) != place.pod)
          take_template(*manifest, *place.pod);
    }
  }

  void take_template(const Manifest& manifest, const json::object& spec) {
    auto read = from_json<PodSpec>(spec);
    if (!read) return;  // preflight() says what is wrong with it
    auto pod = std::make_shared<Pod>();
    pod->metadata.namespace_ = manifest.object->metadata.namespace_;
    pod->spec = std::move(*read);
    if (pod->spec->restartPolicy.empty() && job_kind(manifest.object->kind()) == nullptr)
      pod->spec.edit().restartPolicy = "Always";
    OwnerReference owner;
    owner.kind = manifest.object->kind().kind;
    owner.controller = true;
    pod->metadata.ownerReferences = std::vector{owner};
    take({std::move(pod), &manifest, {}});
  }

  void take(UsedImage used) {
    used.place = place_of(used);
    const Manifest* of = used.pod.of;
    const auto number = static_cast<std::size_t>(
        std::find(manifests_.begin(), manifests_.end(), of) - manifests_.begin());
    const std::size_t place = used.place == nullptr
                                  ? places_.size()
                                  : static_cast<std::size_t>(used.place - places_.data());
    auto command = texts_in(used.value->if_contains("command"));
    auto args = texts_in(used.value->if_contains("args"));
    Key key{number,  place, std::string(used.container.name), std::string(used.container.image),
            command, args};
    const auto [at, is_new] = by_place_.try_emplace(std::move(key));
    ImageUse& use = at->second;
    if (!is_new) return forget_what_differs(use, variables_of(used));
    use.object = short_name(of != nullptr ? *of->object : *used.pod.pod);
    use.namespace_ = used.pod.pod->metadata.namespace_.str();
    use.container = used.container.name;
    use.role = container_role(*used.pod.pod, used.container);
    use.pod_spec = used.spec;
    use.value = used.value;
    use.image = used.container.image;
    use.where = where_of(used);
    use.command = std::move(command);
    use.args = std::move(args);
    use.execs = execs_of(used, use.where);
    use.variables = variables_of(used);
  }

  // In the manifest that the pod is of, or in any that something else takes it from.
  const ImagePlace* place_of(const UsedImage& used) const {
    const ImagePlace* best = nullptr;
    int points = 0;
    for (const bool own : {true, false}) {
      for (const ImagePlace& place : places_) {
        if ((place.manifest == used.pod.of) != own || place.init != used.init ||
            own_text(*place.container, "name") != used.container.name)
          continue;
        const int like = likeness(*place.container, *used.value) + told_by_labels(place, used);
        if (best != nullptr && like <= points) continue;
        best = &place;
        points = like;
      }
      if (best != nullptr) return best;
    }
    return nullptr;
  }

  // Of templates that are alike otherwise: a label says the group's name.
  static int told_by_labels(const ImagePlace& place, const UsedImage& used) {
    const StringMap& labels = *used.pod.pod->metadata.labels;
    return static_cast<int>(std::count_if(labels.begin(), labels.end(), [&](const auto& label) {
      return place.names.contains(lower_case(std::string_view(label.second)));
    }));
  }

  std::string where_of(const UsedImage& used) const {
    const std::string image(used.container.image);
    if (used.place != nullptr && own_text(*used.place->container, "image") == image)
      return used.place->where("image");
    if (used.pod.of == nullptr) return short_name(*used.pod.pod);
    if (std::string said = where_written(*used.pod.of, image); !said.empty()) return said;
    for (const Manifest* manifest : manifests_)
      if (std::string said = where_written(*manifest, image); !said.empty()) return said;
    const std::string& base = used.pod.of->base;
    return used.pod.of->document->where(base.empty() ? "metadata.name" : base + ".metadata.name");
  }

  static std::string own_text(const json::object& object, std::string_view member) {
    const json::value* found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string())
                                                  : std::string();
  }

  static std::vector<ExecUse> execs_of(const UsedImage& used, const std::string& where) {
    std::vector<ExecUse> execs;
    const json::value container(*used.value);
    const auto add = [&](std::initializer_list<std::string_view> path) {
      const json::value* handler = member_at(container, path);
      const json::value* command =
          handler == nullptr ? nullptr : member_at(*handler, {"exec", "command"});
      if (command == nullptr) return;
      const std::string at = fmt::format("{}.exec.command", fmt::join(path, "."));
      execs.push_back({used.place == nullptr ? where : used.place->where(at), texts_in(command)});
    };
    for (const std::string_view probe : {"startupProbe", "readinessProbe", "livenessProbe"})
      add({probe});
    for (const std::string_view hook : {"postStart", "preStop"}) add({"lifecycle", hook});
    return execs;
  }

  static VariableUses variables_of(const UsedImage& used) {
    VariableUses found;
    for (const EnvVar& variable : used.container.env) {
      VariableUse& use = found[variable.name.str()];
      use = {};
      if (!variable.valueFrom) use = {std::string(variable.value), where_of(used, variable)};
    }
    return found;
  }

  // Empty: nobody has written it.
  static std::string where_of(const UsedImage& used, const EnvVar& variable) {
    if (used.place != nullptr)
      if (const json::value* list = used.place->container->if_contains("env");
          list != nullptr && list->is_array())
        for (std::size_t i = 0; i < list->get_array().size(); ++i) {
          const json::value& one = list->get_array()[i];
          if (one.is_object() && own_text(one.get_object(), "name") == variable.name.view() &&
              own_text(one.get_object(), "value") == std::string_view(variable.value))
            return used.place->where(fmt::format("env[{}].value", i));
        }
    return used.pod.of == nullptr ? std::string()
                                  : where_written(*used.pod.of, std::string(variable.value));
  }

  // Who is looked at for all of them has no rank.
  static void forget_what_differs(ImageUse& use, const VariableUses& other) {
    for (auto& [name, variable] : use.variables) {
      const auto there = other.find(name);
      if (there == other.end() || there->second.value != variable.value) variable.value.reset();
    }
    for (const auto& [name, variable] : other) use.variables.try_emplace(name);
  }

  std::vector<const Manifest*> manifests_{};
  std::vector<ImagePlace> places_{};
  std::map<Key, ImageUse> by_place_{};
};

}  // namespace

std::vector<ImageUse> image_uses(const Scenario& scenario) {
  if (scenario.uses != nullptr) return *scenario.uses;
  return UseList(scenario).uses();
}

}  // namespace ddptwin::scenario
