#include "runtime/images/image.hpp"

#include <algorithm>

#include "core/paths.hpp"

namespace ddptwin {

bool ImageCopy::brings(std::string_view host_path) const {
  return is_at_or_below(host_path, from) &&
         std::none_of(without.begin(), without.end(), [host_path](const std::string& left_out) {
           return is_at_or_below(host_path, left_out);
         });
}

void Image::set_env(const std::string& name, std::string value) {
  const auto found =
      std::find_if(env.begin(), env.end(), [&](const auto& entry) { return entry.first == name; });
  if (found != env.end()) {
    found->second = std::move(value);
  } else {
    env.emplace_back(name, std::move(value));
  }
}

std::vector<std::pair<std::string, std::string>> image_environment(const Image& image) {
  Image merged;
  merged.set_env("PATH", std::string(default_path));
  for (const auto& [name, value] : image.env) merged.set_env(name, value);
  if (!image.python.empty()) {
    merged.set_env("VIRTUAL_ENV", image.python);
    merged.set_env("PATH", image.python + "/bin:" + merged.env.front().second);
  }
  return merged.env;
}

}  // namespace ddptwin
