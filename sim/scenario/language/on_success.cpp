#include "scenario/language/on_success.hpp"

#include <array>

#include "objects/apps_v1.hpp"
#include "objects/ddpset.hpp"
#include "objects/image_reference.hpp"
#include "runtime/process/container_rules.hpp"

namespace ddptwin::scenario {
namespace {

struct OnSuccessRow {
  std::string_view word;
  OnSuccess meaning;
};
constexpr std::array on_success_rows{OnSuccessRow{"restart", OnSuccess::restart},
                                     OnSuccessRow{"hold", OnSuccess::hold},
                                     OnSuccessRow{"scaleToZero", OnSuccess::scale_to_zero}};

// The stop signal reaches the command while it runs, and ends the wait afterwards.
constexpr std::string_view hold_script = R"("$@" &
child=$!
trap 'kill -TERM $child' TERM
wait $child; rc=$?
[ $rc -eq 0 ] || exit $rc
echo "onSuccess: hold: ended with 0"
trap 'exit 0' TERM
sleep infinity &
wait
)";

const NamedImage* description_by(const std::vector<NamedImage>& images, const std::string& image) {
  for (const std::string& name : {canonical_image(image), ImageReference::cut(image).repository()})
    for (const NamedImage& known : images)
      if (described_image(known.name) == name) return &known;
  return nullptr;
}

void hold(Container& container, const std::vector<NamedImage>& images) {
  const NamedImage* named = description_by(images, container.image);
  const Image none;
  const std::vector<std::string> argv =
      command_line(named != nullptr ? named->image : none, container.command, container.args);
  if (argv.empty()) return;  // there is nothing that could end
  container.command = {"/bin/sh", "-c", std::string(hold_script), "hold"};
  container.args = argv;
}

void hold(PodTemplateSpec& pods, const std::vector<NamedImage>& images) {
  for (Container& container : pods.spec.edit().containers.edit()) hold(container, images);
}

void hold(std::vector<Manifest>& manifests, const std::vector<NamedImage>& images) {
  for (Manifest& manifest : manifests) {
    const std::shared_ptr<Object> changed = manifest.object->clone();
    if (auto* set = dynamic_cast<StatefulSet*>(changed.get()))
      hold(set->spec.edit().template_, images);
    else if (auto* ddpset = dynamic_cast<DDPSet*>(changed.get()))
      hold(ddpset->spec.edit().template_, images);
    else
      continue;
    manifest.object = changed;
  }
}

}  // namespace

std::optional<OnSuccess> on_success_of(std::string_view word) {
  for (const OnSuccessRow& row : on_success_rows)
    if (row.word == word) return row.meaning;
  return std::nullopt;
}

void hold_containers(Scenario& scenario) {
  hold(scenario.manifests, scenario.images);
  for (Step& step : scenario.steps)
    if (auto* apply = std::get_if<Apply>(&step.action)) hold(apply->manifests, scenario.images);
}

}  // namespace ddptwin::scenario
