#include "scenario/language/known_images.hpp"

#include "objects/image_reference.hpp"

namespace ddptwin::scenario {

const std::vector<NamedImage>& built_in_images() {
  static const std::vector<NamedImage> images = [] {
    NamedImage worker, waiting;
    worker.name = worker_image_name;
    worker.image.entrypoint = {worker_image_name};
    // The init container that waits for the master (spec/pytorchjob.md §2.4).
    waiting.name = "alpine:3.10";
    return std::vector{std::move(worker), std::move(waiting)};
  }();
  return images;
}

const NamedImage* description_of(const std::vector<NamedImage>& images, const std::string& image) {
  for (const std::string& name :
       {canonical_image(image), ImageReference::cut(image).repository()}) {
    for (const NamedImage& known : images)
      if (described_image(known.name) == name) return &known;
  }
  return nullptr;
}

const NamedImage* known_image(const Scenario& scenario, const std::string& image) {
  const NamedImage* own = description_of(scenario.images, image);
  return own != nullptr ? own : description_of(built_in_images(), image);
}

}  // namespace ddptwin::scenario
