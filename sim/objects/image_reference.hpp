// References of images as container runtimes read them (distribution/reference;
// spec/kubernetes.md §2.3). Nobody else takes one apart or writes out its defaults.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddptwin {

// The parts of a reference, Docker Hub's short forms written out: "x" is docker.io/library/x.
// Cutting checks nothing.
struct ImageReference {
  std::string domain{};                 // docker.io, registry.local:5000
  std::string path{};                   // library/busybox
  std::optional<std::string> tag{};     // as written: absent is not yet `latest`
  std::optional<std::string> digest{};  // sha256:...

  static ImageReference cut(std::string_view image);
  // "docker.io/library/busybox"
  std::string repository() const;
};

// One name per image: "x", "x:latest" and "docker.io/library/x:latest" all give the last. A digest
// is dropped, because no image of the twin has contents to compare it with.
std::string canonical_image(std::string_view image);
bool is_same_image(std::string_view one, std::string_view other);
// What a description of images goes by: canonical_image(), or the repository() alone where the name
// has neither a tag nor a digest, for it then stands for every tag. To find the description of an
// image look for its canonical_image() first, for its repository() next.
std::string described_image(std::string_view name);

// What is wrong with the reference, in the words of distribution/reference; empty where it is good.
std::string image_reference_fault(const std::string& image, const ImageReference& reference);

}  // namespace ddptwin
