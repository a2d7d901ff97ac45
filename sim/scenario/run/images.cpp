#include "scenario/run/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "objects/image_reference.hpp"
#include "scenario/run/outlook.hpp"
#include "scenario/run/stand_ins.hpp"
#include "scenario/run/without_effect.hpp"

namespace ddptwin::scenario {
namespace {

// Where its commands cannot be had here, a training of that shape takes their place.
void let_stand_in(NamedImage& image, const StandInShape& shape) {
  image.stand_in = true;
  if (!image.model) image.model = stand_in_workload(shape);
  image.model->stands_in = true;
}

// Whether all that one description is of, the other is of too.
bool covers(const std::string& description, const std::string& other) {
  const std::string name = described_image(description);
  return name == described_image(other) || name == ImageReference::cut(other).repository();
}

}  // namespace

void describe_plain_images(Scenario& scenario) {
  scenario.uses = std::make_shared<const std::vector<ImageUse>>(image_uses(scenario));
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

namespace {

constexpr const char* redirects_missing =
    "the torchrun of this machine, Debian's 1.13 under Python 3.11, starts no worker whose streams "
    "are not redirected: give the container PET_REDIRECTS=0:1 and PET_TEE=0:1, or its image by "
    "images[].env";

// Whether a real run's torchrun would die of it (spec/ddp-semantics.md §4).
bool needs_redirects(const std::vector<NamedImage>& images, const ImageUse& use) {
  namespace fs = std::filesystem;
  const NamedImage* named = description_of(images, use.image);
  if (named == nullptr || named->missing || !named->image.python.empty()) return false;
  constexpr const char* name = "PET_REDIRECTS";
  const auto variable = use.variables.find(name);
  if (variable != use.variables.end() && variable->second.value) return false;
  for (const auto& [set, value] : named->image.env)
    if (set == name) return false;
  for (const std::string& word : command_line_of(*named, use))
    if (word.find("redirects") != word.npos) return false;
  const auto outlook = outlook_of(*named, use);
  // A stand-in sees to it itself.
  if (!outlook || !outlook->launches || named->stand_in) return false;
  std::error_code error;
  return fs::exists("/usr/lib/python3/dist-packages/torch", error) &&
         fs::exists("/usr/bin/python3.11", error);
}

}  // namespace

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
  for (const ImageUse& use : image_uses(scenario))
    if (mode == Mode::real && needs_redirects(images, use)) write(use.object, redirects_missing);
  if (mode == Mode::real) return;
  for (const NamedImage& image : images)
    for (const std::string& note : image.unread) write("image " + image.name, note);
  for (const ImageUse& use : image_uses(scenario))
    if (std::string text = told_of_script(images, use); !text.empty())
      write("image " + use.image, std::move(text));
}

}  // namespace ddptwin::scenario
