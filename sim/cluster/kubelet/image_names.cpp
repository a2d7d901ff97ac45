#include "cluster/kubelet/image_names.hpp"

#include <fmt/format.h>

#include "objects/image_reference.hpp"

namespace ddptwin::kubelet {

Result<std::string> with_default_tag(const std::string& image) {
  const ImageReference reference = ImageReference::cut(image);
  if (const std::string fault = image_reference_fault(image, reference); !fault.empty())
    return fail(Reason::invalid,
                fmt::format("Failed to apply default image tag \"{0}\": couldn't parse image name "
                            "\"{0}\": {1}",
                            image, fault));
  return reference.tag || reference.digest ? image : image + ":latest";
}

}  // namespace ddptwin::kubelet
