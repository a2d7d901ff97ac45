#include "scenario/report/secrets.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>

#include "objects/base64.hpp"
#include "objects/core_v1.hpp"
#include "objects/describe.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view applied = "kubectl.kubernetes.io/last-applied-configuration";

// Fields of a Secret whose values are secret, and whether they are base64.
struct SecretField {
  std::string_view name;
  bool encoded;
};
constexpr std::array<SecretField, 2> secret_fields{{{"data", true}, {"stringData", false}}};

Json* field_within(Json& object, std::string_view name) {
  return object.is_object()
             ? object.as_object().if_contains(boost::json::string_view(name.data(), name.size()))
             : nullptr;
}

}  // namespace

std::string SecretMask::value(std::string_view secret) {
  if (show_) return std::string(secret);
  const auto [entry, added] = numbers_.try_emplace(std::string(secret), numbers_.size() + 1);
  return fmt::format("<masked {}, {} bytes>", entry->second, secret.size());
}

std::string SecretMask::within(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (show_ || secret.empty()) continue;
    const std::string masked = value(secret);
    for (std::size_t at = text.find(secret); at != text.npos;
         at = text.find(secret, at + masked.size()))
      text.replace(at, secret.size(), masked);
  }
  return text;
}

// A map of values, or one of them; what is no text is masked as it is written.
void SecretMask::mask(Json& whole, bool encoded) {
  if (whole.is_null()) return;
  if (whole.is_object()) {
    for (auto& entry : whole.as_object()) mask(entry.value(), encoded);
    return;
  }
  const std::string text =
      whole.is_string() ? std::string(whole.as_string()) : boost::json::serialize(whole);
  if (!encoded) {
    whole = value(text);
    return;
  }
  const auto bytes = from_base64(text);
  whole = value(bytes ? std::string(bytes->begin(), bytes->end()) : text);
}

Json SecretMask::object(const Object& object) {
  Json whole = encode(object);
  if (show_ || as<Secret>(object) == nullptr) return whole;
  for (const SecretField& field : secret_fields)
    if (Json* values = field_within(whole, field.name)) mask(*values, field.encoded);
  if (Json* metadata = field_within(whole, "metadata"))
    if (Json* annotations = field_within(*metadata, "annotations"))
      if (Json* text = field_within(*annotations, applied)) mask(*text, false);
  return whole;
}

// Of the annotations as a whole only the one that kubectl keeps.
void SecretMask::mask_change(const std::string& path, Json& value) {
  Json* const kept = path == "metadata.annotations" ? field_within(value, applied) : &value;
  if (kept != nullptr) mask(*kept, path.starts_with("data"));
}

std::vector<Difference> SecretMask::changes(const Object& before, const Object& after) {
  std::vector<Difference> changes = diff(before, after);
  if (show_ || as<Secret>(after) == nullptr) return changes;
  for (Difference& change : changes) {
    if (!is_secret(after, change.path)) continue;
    mask_change(change.path, change.before);
    mask_change(change.path, change.after);
  }
  return changes;
}

}  // namespace ddptwin::scenario
