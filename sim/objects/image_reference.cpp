#include "objects/image_reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin {
namespace {

constexpr std::size_t max_path = 255;
constexpr std::size_t max_tag = 128;
constexpr std::size_t identifier_length = 64;
constexpr std::size_t min_digest = 32;
constexpr std::string_view docker_hub = "docker.io";
constexpr std::string_view docker_hub_once = "index.docker.io";
constexpr std::string_view default_tag = "latest";
constexpr std::string_view bad_format = "invalid reference format";

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return is_alnum(c) || c == '_'; }

template <class Test>
bool all(std::string_view text, Test test) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

// Whether the test holds of each part between separators.
template <class Test>
bool all_parts(std::string_view text, char separator, Test test) {
  for (;;) {
    const std::size_t end = text.find(separator);
    if (!test(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// Letters and digits, parted by '.', '_', '__' or any number of '-'.
bool is_path_component(std::string_view text) {
  if (text.empty() || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  for (std::size_t at = 0; at < text.size();) {
    if (is_lower_alnum(text[at])) {
      ++at;
      continue;
    }
    const std::size_t next = text.find_first_of("abcdefghijklmnopqrstuvwxyz0123456789", at);
    const std::string_view separator = text.substr(at, next - at);
    const bool dashes = all(separator, [](char c) { return c == '-'; });
    if (!dashes && separator != "." && separator != "_" && separator != "__") return false;
    at = next;
  }
  return true;
}

bool is_domain(std::string_view text) {
  if (const std::size_t colon = text.rfind(':');
      colon != std::string_view::npos && !text.ends_with(']')) {
    if (!all(text.substr(colon + 1), is_digit)) return false;
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']'))
    return all(text.substr(1, text.size() - 2), [](char c) { return is_hex(c) || c == ':'; });
  return all_parts(text, '.', [](std::string_view label) {
    return all(label, [](char c) { return is_alnum(c) || c == '-'; }) && is_alnum(label.front()) &&
           is_alnum(label.back());
  });
}

bool is_tag(std::string_view text) {
  return text.size() <= max_tag &&
         all(text, [](char c) { return is_word(c) || c == '.' || c == '-'; }) &&
         is_word(text.front());
}

bool is_digest(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_alnum(text.front())) return false;
  const std::string_view hex = text.substr(colon + 1);
  return hex.size() >= min_digest && all(hex, is_hex);
}

bool names_a_registry(std::string_view first) {
  return first.find_first_of(".:") != std::string_view::npos || first == "localhost" ||
         std::any_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

ImageReference ImageReference::cut(std::string_view image) {
  ImageReference out;
  const std::size_t slash = image.find('/');
  std::string rest(image);
  out.domain = docker_hub;
  if (slash != std::string_view::npos && names_a_registry(image.substr(0, slash))) {
    out.domain = image.substr(0, slash);
    rest = image.substr(slash + 1);
  }
  if (out.domain == docker_hub_once) out.domain = docker_hub;
  if (out.domain == docker_hub && rest.find('/') == std::string::npos) rest = "library/" + rest;
  if (const std::size_t at = rest.find('@'); at != std::string::npos) {
    out.digest = rest.substr(at + 1);
    rest.resize(at);
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
    out.tag = rest.substr(colon + 1);
    rest.resize(colon);
  }
  out.path = std::move(rest);
  return out;
}

std::string ImageReference::repository() const { return domain + "/" + path; }

std::string canonical_image(std::string_view image) {
  const ImageReference reference = ImageReference::cut(image);
  return fmt::format("{}:{}", reference.repository(),
                     reference.tag ? std::string_view(*reference.tag) : default_tag);
}

std::string described_image(std::string_view name) {
  const ImageReference reference = ImageReference::cut(name);
  return reference.tag || reference.digest ? canonical_image(name) : reference.repository();
}

bool is_same_image(std::string_view one, std::string_view other) {
  return one == other || canonical_image(one) == canonical_image(other);
}

std::string image_reference_fault(const std::string& image, const ImageReference& reference) {
  if (image.size() == identifier_length &&
      all(image, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }))
    return fmt::format("invalid repository name ({}), cannot specify 64-byte hexadecimal strings",
                       image);
  if (std::any_of(reference.path.begin(), reference.path.end(),
                  [](char c) { return c >= 'A' && c <= 'Z'; }))
    return fmt::format("{}: repository name ({}) must be lowercase", bad_format, reference.path);
  const bool good = is_domain(reference.domain) &&
                    all_parts(reference.path, '/', is_path_component) &&
                    (!reference.tag || is_tag(*reference.tag)) &&
                    (!reference.digest || is_digest(*reference.digest));
  if (!good) return std::string(bad_format);
  if (reference.path.size() > max_path)
    return fmt::format("repository name must not be more than {} characters", max_path);
  return "";
}

}  // namespace ddptwin
