#include "objects/describe.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "objects/codec.hpp"

namespace ddptwin {
namespace {

constexpr std::size_t value_length_max = 80;

std::string short_text(const Json& value) {
  std::string text =
      value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
  if (text.size() > value_length_max) text.replace(value_length_max, std::string::npos, "...");
  return text;
}

std::string changes(const Object& before, const Object& after) {
  std::string text;
  for (const Difference& d : diff(before, after)) {
    if (d.path == "metadata.resourceVersion" || d.path.starts_with("metadata.managedFields"))
      continue;
    text += (text.empty() ? "" : "; ") + d.path + " ";
    text +=
        is_secret(after, d.path) ? "<masked>" : short_text(d.before) + " -> " + short_text(d.after);
  }
  return text;
}

}  // namespace

bool is_secret(const Object& object, std::string_view path) {
  if (object.kind().kind != "Secret" || !object.kind().group.empty()) return false;
  const auto is_in = [path](std::string_view field) {
    return path.starts_with(field) &&
           (path.size() == field.size() || path[field.size()] == '.' || path[field.size()] == '[');
  };
  return is_in("data") || is_in("stringData") || path == "metadata.annotations" ||
         path.find("kubectl.kubernetes.io/last-applied-configuration") != path.npos;
}

std::string object_name(std::string_view kind, std::string_view namespace_, std::string_view name) {
  std::string out(kind);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  out += '/';
  if (!namespace_.empty() && namespace_ != "default") out.append(namespace_).append("/");
  return out.append(name);
}

std::string object_name(const Object& object) {
  return object_name(object.kind().kind, object.metadata.namespace_, object.metadata.name);
}

std::string subject_of(const Record& record) {
  if (record.after) return object_name(*record.after);
  if (record.before) return object_name(*record.before);
  return std::string(record.subject);
}

std::string describe(const Record& record) {
  std::string text = format_rfc3339_micro(record.time) + " ";
  text += std::string(record.actor) + " " + std::string(to_string(record.kind)) + " " +
          subject_of(record);
  if (!record.rule.empty()) text += " [" + std::string(record.rule) + "]";
  if (!record.text.empty()) text.append(": ").append(record.text);
  if (record.before && record.after) text += ": " + changes(*record.before, *record.after);
  for (const auto& [key, value] : record.values) text += " " + std::string(key) + "=" + value;
  return text;
}

}  // namespace ddptwin
