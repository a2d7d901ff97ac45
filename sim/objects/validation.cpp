#include "objects/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin {
namespace {

// What a character may be part of; each write of the API judges a hundred of them.
enum CharClass : std::uint8_t {
  lower_or_digit = 1,
  alphanumeric = 2,
  label_char = 4,  // lower_or_digit or '-'
  name_char = 8,   // alphanumeric, '-', '_' or '.'
};
constexpr std::array<std::uint8_t, 256> char_classes = [] {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&](char first, char last, int classes) {
    for (int c = first; c <= last; ++c)
      table[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(classes);
  };
  add('a', 'z', lower_or_digit | alphanumeric | label_char | name_char);
  add('0', '9', lower_or_digit | alphanumeric | label_char | name_char);
  add('A', 'Z', alphanumeric | name_char);
  add('-', '-', label_char | name_char);
  add('_', '_', name_char);
  add('.', '.', name_char);
  return table;
}();
bool is(char c, CharClass wanted) {
  return (char_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}
bool are(std::string_view text, CharClass wanted) {
  // A class is one bit. All are looked at without a question for each: nearly every text is right.
  unsigned common = wanted;
  for (const char c : text) common &= char_classes[static_cast<unsigned char>(c)];
  return common != 0;
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  return !text.empty() && is(text.front(), lower_or_digit) && is(text.back(), lower_or_digit) &&
         are(text, label_char);
}

// Such labels with dots between them, in one walk: nearly every write names its object.
bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || !is(text.front(), lower_or_digit) || !is(text.back(), lower_or_digit))
    return false;
  // What is no letter stands between two characters: behind a dot, and before one, is a letter.
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (is(text[i], lower_or_digit)) continue;
    const bool inside = text[i] == '-'   ? text[i - 1] != '.'
                        : text[i] == '.' ? is(text[i - 1], lower_or_digit)
                                         : false;
    if (!inside) return false;
  }
  return true;
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_name_part(std::string_view text) {
  return !text.empty() && is(text.front(), alphanumeric) && is(text.back(), alphanumeric) &&
         are(text, name_char);
}

// Names are said to be too long in characters, labels in bytes.
std::string too_long_text(std::size_t limit, std::string_view unit) {
  return fmt::format("must be no more than {} {}", limit, unit);
}

constexpr std::string_view subdomain_text =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view label_text =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view label_1035_text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view name_part_text =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view label_value_text =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', "
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

std::string shown_time(const std::optional<Time>& time) {
  return time ? quoted(format_rfc3339(*time)) : "null";
}

template <class T>
std::string to_shown_json(const T& value) {
  return boost::json::serialize(to_json(value));
}

ErrorCause immutable(std::string field, std::string_view shown_value) {
  return invalid(std::move(field), shown_value, "field is immutable");
}

}  // namespace

std::string summary_of(const ErrorList& causes) {
  std::vector<std::string> seen;
  for (const ErrorCause& cause : causes) {
    std::string one = cause.field + ": " + cause.message;
    // Two validators that find the same mistake say it once.
    if (std::find(seen.begin(), seen.end(), one) == seen.end()) seen.push_back(std::move(one));
  }
  if (seen.size() == 1) return seen.front();
  return fmt::format("[{}]", fmt::join(seen, ", "));
}

std::string quoted(std::string_view text) {
  struct Escape {
    char byte;
    std::string_view shown;
  };
  static constexpr std::array escapes{
      Escape{'"', "\\\""}, Escape{'\\', "\\\\"}, Escape{'\a', "\\a"},
      Escape{'\b', "\\b"}, Escape{'\f', "\\f"},  Escape{'\n', "\\n"},
      Escape{'\r', "\\r"}, Escape{'\t', "\\t"},  Escape{'\v', "\\v"}};
  std::string out = "\"";
  for (const char c : text) {
    const auto escape = std::find_if(escapes.begin(), escapes.end(),
                                     [c](const Escape& row) { return row.byte == c; });
    const auto byte = static_cast<unsigned char>(c);
    if (escape != escapes.end())
      out += escape->shown;
    else if (byte < ' ' || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string shown_or_null(const StringMap& map) { return map.empty() ? "null" : shown(map); }

std::string shown(const StringMap& map) {
  std::string out = "{";
  for (const auto& [key, value] : map)
    out += (out.size() > 1 ? "," : "") + quoted(key) + ":" + quoted(value);
  return out + "}";
}

ErrorCause required(std::string field, std::string_view detail) {
  return {"FieldValueRequired",
          detail.empty() ? "Required value" : fmt::format("Required value: {}", detail),
          std::move(field)};
}
ErrorCause invalid(std::string field, std::string_view shown_value, std::string_view detail) {
  return {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown_value, detail),
          std::move(field)};
}
ErrorCause forbidden(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", fmt::format("Forbidden: {}", detail), std::move(field)};
}
ErrorCause duplicate(std::string field, std::string_view shown_value) {
  return {"FieldValueDuplicate", fmt::format("Duplicate value: {}", shown_value), std::move(field)};
}
ErrorCause not_found(std::string field, std::string_view shown_value) {
  return {"FieldValueNotFound", fmt::format("Not found: {}", shown_value), std::move(field)};
}
ErrorCause too_long(std::string field, std::size_t limit) {
  return {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", limit),
          std::move(field)};
}
ErrorCause not_supported(std::string field, std::string_view shown_value,
                         const std::vector<std::string_view>& supported) {
  std::vector<std::string> names;
  for (const std::string_view name : supported) names.push_back(quoted(name));
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", shown_value,
                      fmt::join(names, ", ")),
          std::move(field)};
}

std::vector<std::string> dns_label_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long_text(63, "characters"));
  if (!is_dns_label(text))
    out.emplace_back(is_dns_subdomain(text) ? "must not contain dots" : label_text);
  return out;
}

std::vector<std::string> dns_subdomain_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 253) out.push_back(too_long_text(253, "characters"));
  if (!is_dns_subdomain(text)) out.emplace_back(subdomain_text);
  return out;
}

std::vector<std::string> dns_1035_label_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long_text(63, "characters"));
  if (!is_dns_label(text) || text.front() < 'a') out.emplace_back(label_1035_text);
  return out;
}

namespace {

bool is_prefix(std::string_view text) { return text.size() <= 253 && is_dns_subdomain(text); }

// Whether qualified_name_problems() finds none: nearly every label is right, and a pod has many.
// `prefix` is of the key before, and right: those of one prefix follow each other.
bool is_qualified_name(std::string_view text, std::string_view& prefix) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view own = text.substr(0, slash);
    if (own.empty() || (own != prefix && !is_prefix(own))) return false;
    prefix = own;
    text.remove_prefix(slash + 1);
  }
  return text.size() <= 63 && is_name_part(text);
}
bool is_label_value(std::string_view text) {
  return text.size() <= 63 && (text.empty() || is_name_part(text));
}

}  // namespace

std::vector<std::string> qualified_name_problems(std::string_view text) {
  std::vector<std::string> out;
  const std::size_t slash = text.find('/');
  std::string_view name = text;
  if (slash != std::string_view::npos) {
    if (text.find('/', slash + 1) != std::string_view::npos)
      return {"a valid label key " + std::string(name_part_text.substr(10)) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (prefix.empty())
      out.emplace_back("prefix part must be non-empty");
    else
      for (const std::string& problem : dns_subdomain_problems(prefix))
        out.push_back("prefix part " + problem);
  }
  if (name.empty())
    out.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    out.push_back("name part " + too_long_text(63, "bytes"));
  if (!is_name_part(name)) out.emplace_back(name_part_text);
  return out;
}

std::vector<std::string> label_value_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long_text(63, "bytes"));
  if (!text.empty() && !is_name_part(text)) out.emplace_back(label_value_text);
  return out;
}

void must_be_port(ErrorList& out, const FieldPath& path, std::int32_t port) {
  if (port < 1 || port > 65535)
    out.push_back(invalid(path, std::to_string(port), "must be between 1 and 65535, inclusive"));
}

ErrorList domain_path_problems(const std::string& field, const std::string& name) {
  if (name.empty()) return {required(field)};
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size())
    return {
        invalid(field, quoted(name), "must be a domain-prefixed path (such as \"acme.io/foo\")")};
  ErrorList out;
  const std::string domain = name.substr(0, slash), path = name.substr(slash + 1);
  for (const std::string& problem : dns_subdomain_problems(domain))
    out.push_back(invalid(field, quoted(domain), problem));
  constexpr std::string_view marks = "/-._~%!$&'()*+,;=:";
  const bool is_path = std::all_of(path.begin(), path.end(), [marks](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
  if (!is_path)
    out.push_back(
        invalid(field, quoted(path),
                "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
  return out;
}

void append(ErrorList& to, ErrorList&& more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

ErrorList validate_labels(const StringMap& labels, const FieldPath& path) {
  ErrorList out;
  std::string_view prefix;
  for (const auto& [key, value] : labels) {
    if (is_qualified_name(key, prefix) && is_label_value(value)) continue;
    for (const std::string& problem : qualified_name_problems(key))
      out.push_back(invalid(path, quoted(key), problem));
    for (const std::string& problem : label_value_problems(value))
      out.push_back(invalid(path, quoted(value), problem));
  }
  return out;
}

ErrorList validate_annotations(const StringMap& annotations, const FieldPath& path) {
  constexpr std::size_t limit = 256 * 1024;
  ErrorList out;
  std::size_t size = 0;
  std::string_view prefix;
  for (const auto& [key, value] : annotations) {
    size += key.size() + value.size();
    if (is_qualified_name(key, prefix)) continue;
    std::string lower = key.str();
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    for (const std::string& problem : qualified_name_problems(lower))
      out.push_back(invalid(path, quoted(key), problem));
  }
  if (size > limit) out.push_back(too_long(path, limit));
  return out;
}

namespace {

ErrorList validate_owners(const std::vector<OwnerReference>& owners) {
  constexpr std::string_view path = "metadata.ownerReferences";
  ErrorList out;
  const OwnerReference* controller = nullptr;
  for (const OwnerReference& owner : owners) {
    const auto empty = [&](std::string_view field, std::string_view value,
                           std::string_view detail) {
      if (value.empty()) out.push_back(invalid(fmt::format("{}.{}", path, field), "\"\"", detail));
    };
    empty("apiVersion", owner.apiVersion, "version must not be empty");
    empty("kind", owner.kind, "must not be empty");
    empty("name", owner.name, "must not be empty");
    empty("uid", owner.uid, "must not be empty");
    if (owner.kind == "Event" &&
        (owner.apiVersion == "v1" || owner.apiVersion == "events.k8s.io/v1"))
      out.push_back(
          invalid(std::string(path), to_shown_json(owner),
                  fmt::format("{} is disallowed from being an owner",
                              owner.apiVersion == "v1" ? "/v1, Kind=Event"
                                                       : "events.k8s.io/v1, Kind=Event")));
    if (!owner.controller.value_or(false)) continue;
    if (controller != nullptr)
      out.push_back(invalid(
          std::string(path), to_shown_json(owners),
          fmt::format("Only one reference can have Controller set to true. Found \"true\" in "
                      "references for {}/{} and {}/{}",
                      controller->kind, controller->name, owner.kind, owner.name)));
    else
      controller = &owner;
  }
  return out;
}

ErrorList validate_finalizers(const std::vector<std::string>& finalizers) {
  ErrorList out;
  bool orphan = false, foreground = false;
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const std::string& name = finalizers[i];
    const std::string path = fmt::format("metadata.finalizers[{}]", i);
    for (const std::string& problem : qualified_name_problems(name))
      out.push_back(invalid(path, quoted(name), problem));
    orphan = orphan || name == "orphan";
    foreground = foreground || name == "foregroundDeletion";
    if (name.find('/') == std::string::npos && name != "kubernetes" && name != "orphan" &&
        name != "foregroundDeletion")
      out.push_back(invalid(path, quoted(name),
                            "name is neither a standard finalizer name nor is it fully qualified"));
  }
  if (orphan && foreground)
    out.push_back(invalid("metadata.finalizers",
                          fmt::format("[\"{}\"]", fmt::join(finalizers, "\",\"")),
                          "finalizers orphan and foregroundDeletion cannot be both set"));
  return out;
}

// What is shared with a stored object was judged when that was stored.
void check_common(ErrorList& out, const ObjectMeta& meta, const ObjectMeta* old) {
  const auto is_new = [old](const auto& part, auto ObjectMeta::*where) {
    return !part.empty() && (old == nullptr || !part.same_as(old->*where));
  };
  if (is_new(meta.labels, &ObjectMeta::labels))
    append(out, validate_labels(*meta.labels, "metadata.labels"));
  if (is_new(meta.annotations, &ObjectMeta::annotations))
    append(out, validate_annotations(*meta.annotations, "metadata.annotations"));
  if (is_new(meta.ownerReferences, &ObjectMeta::ownerReferences))
    append(out, validate_owners(*meta.ownerReferences));
  if (!meta.finalizers.empty()) append(out, validate_finalizers(meta.finalizers));
}

}  // namespace

ErrorList validate_metadata(const Object& object, NameRule name_rule) {
  const NameRule rule = name_rule != nullptr ? name_rule : &dns_subdomain_problems;
  const ObjectMeta& meta = object.metadata;
  ErrorList out;
  if (const Text& prefix = meta.rest->generateName; !prefix.empty()) {
    // The prefix is judged as if a name were made of it.
    std::string_view base = prefix;
    if (base.ends_with("-")) base.remove_suffix(1);
    for (const std::string& problem : rule(base))
      out.push_back(invalid("metadata.generateName", quoted(prefix), problem));
  }
  if (meta.name.empty())
    out.push_back(required("metadata.name", "name or generateName is required"));
  else
    for (const std::string& problem : rule(meta.name))
      out.push_back(invalid("metadata.name", quoted(meta.name), problem));
  check_common(out, meta, nullptr);
  return out;
}

ErrorList validate_metadata_update(const Object& updated, const Object& old) {
  const ObjectMeta &now = updated.metadata, &then = old.metadata;
  ErrorList out;
  check_common(out, now, &then);
  if (then.deletionTimestamp) {
    std::vector<std::string> added;
    for (const std::string& name : now.finalizers)
      if (std::find(then.finalizers.begin(), then.finalizers.end(), name) == then.finalizers.end())
        added.push_back(quoted(name));
    std::sort(added.begin(), added.end());
    if (!added.empty())
      out.push_back(forbidden(
          "metadata.finalizers",
          fmt::format("no new finalizers can be added if the object is being deleted, found new "
                      "finalizers []string{{{}}}",
                      fmt::join(added, ", "))));
  }
  if (now.name != then.name) out.push_back(immutable("metadata.name", quoted(now.name)));
  if (now.namespace_ != then.namespace_)
    out.push_back(immutable("metadata.namespace", quoted(now.namespace_)));
  if (now.uid != then.uid) out.push_back(immutable("metadata.uid", quoted(now.uid)));
  if (now.creationTimestamp != then.creationTimestamp)
    out.push_back(immutable("metadata.creationTimestamp", shown_time(now.creationTimestamp)));
  if (now.deletionTimestamp != then.deletionTimestamp)
    out.push_back(immutable("metadata.deletionTimestamp", shown_time(now.deletionTimestamp)));
  return out;
}

}  // namespace ddptwin
