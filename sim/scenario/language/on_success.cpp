#include "scenario/language/on_success.hpp"

#include <fmt/format.h>

#include <array>

#include "runtime/process/container_rules.hpp"
#include "scenario/language/known_images.hpp"
#include "scenario/systems/ddpset_watch.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

struct OnSuccessRow {
  std::string_view word;
  OnSuccess meaning;
};
constexpr std::array on_success_rows{OnSuccessRow{"restart", OnSuccess::restart},
                                     OnSuccessRow{"hold", OnSuccess::hold},
                                     OnSuccessRow{"scaleToZero", OnSuccess::scale_to_zero}};

// Process 1 of the container. The stop signal reaches the command while it runs, which may take its
// time over it: a `wait` that a signal has ended is made again. Who was told to stop is not held.
std::string hold_script() {
  return fmt::format(R"("$@" &
child=$!
stopped=
trap 'stopped=1; kill -TERM $child' TERM
wait $child; rc=$?
while [ $rc -gt 128 ] && kill -0 $child 2>/dev/null; do wait $child; rc=$?; done
trap 'exit $rc' TERM
if [ $rc -ne 0 ] || [ -n "$stopped" ]; then exit $rc; fi
echo "{}"
sleep infinity &
wait
)",
                     held_line);
}

// What it starts; empty: nobody knows. Of an image for which something stands in, only what it says
// itself is known.
std::vector<std::string> command_of(const Container& container, const NamedImage* image) {
  static const Image nothing;
  if (!container.command.empty()) return command_line(nothing, container.command, container.args);
  if (image == nullptr) return {};
  const bool says = !image->image.entrypoint.empty() || !image->image.cmd.empty();
  if (image->stand_in && !says) return {};
  return command_line(image->image, {}, container.args);
}

Status hold(Container& container, const Scenario& scenario) {
  const NamedImage* image = known_image(scenario, container.image);
  if (image != nullptr && image->missing) return {};  // it will never be started
  std::vector<std::string> argv = command_of(container, image);
  if (argv.empty())
    return fail(Reason::bad_input,
                fmt::format("onSuccess: hold puts a shell around the command of each container, "
                            "and that of \"{}\" is not known: give the container a command, or say "
                            "under spec.images of the Scenario what the image \"{}\" runs",
                            container.name, container.image));
  container.command = {"/bin/sh", "-c", hold_script(), "hold"};
  container.args = std::move(argv);
  return {};
}

Status hold(std::vector<Manifest>& manifests, const Scenario& scenario) {
  for (Manifest& manifest : manifests) {
    const StandingKind* kind = standing_kind(manifest.object->kind());
    if (kind == nullptr || kind->makes != nullptr) continue;
    const std::shared_ptr<Object> changed = manifest.object->clone();
    std::vector<Container>& containers = kind->pods(*changed).spec.edit().containers.edit();
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string path = fmt::format("spec.template.spec.containers[{}].image", i);
      if (const Status held = hold(containers[i], scenario); !held)
        return fail(
            held.error().reason, held.error().message,
            manifest.document->where(manifest.base.empty() ? path : manifest.base + "." + path));
    }
    manifest.object = changed;
  }
  return {};
}

}  // namespace

std::optional<OnSuccess> on_success_of(std::string_view word) {
  for (const OnSuccessRow& row : on_success_rows)
    if (row.word == word) return row.meaning;
  return std::nullopt;
}

Status hold_containers(Scenario& scenario) {
  TRY_VOID(hold(scenario.manifests, scenario));
  for (Step& step : scenario.steps)
    if (auto* apply = std::get_if<Apply>(&step.action)) TRY_VOID(hold(apply->manifests, scenario));
  return {};
}

}  // namespace ddptwin::scenario
