#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "objects/codec.hpp"
#include "scenario/language/absent_kinds.hpp"
#include "scenario/language/cures.hpp"
#include "scenario/language/documents.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

// The first word of a message that is a path into the object: `spec.a[0].b`.
std::string path_in(std::string_view message, const Json& object) {
  constexpr std::string_view ends = " \":,;`";
  while (!message.empty()) {
    const std::string_view word = message.substr(0, message.find_first_of(ends));
    const std::string_view head = word.substr(0, word.find_first_of(".["));
    if (head.size() < word.size() && object.as_object().contains(head)) return std::string(word);
    message.remove_prefix(std::min(word.size() + 1, message.size()));
  }
  return {};
}

// The member of metadata that a message begins with: "resourceVersion should not be set ...".
std::string metadata_in(std::string_view message, const Json& object) {
  const std::string word(message.substr(0, message.find(' ')));
  return member_at(object, {"metadata", word}) == nullptr ? std::string() : "metadata." + word;
}

// An API error names its place by a field path: in the causes, in `where`, or in its words.
std::string field_of(const Error& error, const Json& object) {
  if (error.details)
    for (const ErrorCause& cause : error.details->causes)
      if (cause.field != "<nil>") return cause.field;  // so the API calls no field at all
  if (!error.where.empty()) return error.where;
  std::string path = path_in(error.message, object);
  return path.empty() ? metadata_in(error.message, object) : path;
}

std::string with_cure(const std::string& message, const std::string& cure) {
  return cure.empty() ? message : fmt::format("{}: {}", message, cure);
}

// One that kubectl apply does not take: it would make another one each time.
Status check_name_given(const YamlNode& node, const ObjectMeta& metadata) {
  if (!metadata.name.empty()) return {};
  const Text& prefix = metadata.rest->generateName;
  if (prefix.empty()) return node.fail_at("metadata", "an object needs metadata.name");
  return node.fail_at("metadata.generateName",
                      fmt::format("from {}: cannot use generate name with apply: give it a "
                                  "metadata.name (kubectl create would make one up)",
                                  prefix));
}

}  // namespace

tl::unexpected<Error> api_error_at(const YamlDocument& document, const std::string& base,
                                   const Json& object, const Error& error) {
  const std::string field = field_of(error, object);
  const std::string path = base.empty() || field.empty() ? base + field : base + "." + field;
  return fail(Reason::bad_input, with_cure(error.message, cure_of_refusal(error, document, path)),
              document.where(path));
}

Status check_is_object(const YamlNode& node) {
  if (!node.value().is_object()) return node.must_be("a Kubernetes object");
  for (const std::string_view field : {"apiVersion", "kind"}) {
    const auto member = node.member(field);
    if (!member) return node.fail(fmt::format("the field {} is missing", field));
    TRY_VOID(member->as_text());
  }
  return {};
}

Status decode_manifest(Manifest& manifest, const ParseContext& context) {
  const YamlDocument& document = *manifest.document;
  auto decoded = decode_object(context.kinds, *manifest.value);
  if (!decoded && decoded.error().reason == Reason::not_found)
    decoded.error().message =
        with_cure(decoded.error().message, cure_of_kind(context.kinds, *manifest.value));
  if (!decoded) return api_error_at(document, manifest.base, *manifest.value, decoded.error());
  ObjectMeta& metadata = decoded->object->metadata;
  TRY_VOID(check_name_given(YamlNode(document, *manifest.value, manifest.base), metadata));
  if (decoded->object->kind().namespaced && metadata.namespace_.empty())
    metadata.namespace_ = context.namespace_;
  manifest.object = std::move(decoded->object);
  return {};
}

Result<Manifest> parse_object(const YamlNode& node, std::shared_ptr<const YamlDocument> document,
                              const ParseContext& context) {
  TRY_VOID(check_is_object(node));
  const std::string kind = text_at(node.value(), {"kind"});
  if (const auto absent =
          absent_kind(context.kinds, text_at(node.value(), {"apiVersion"}), kind, node.value()))
    return node.member("kind")->fail(refusal_of(*absent));
  Manifest manifest{document, {document, &node.value()}, node.path(), nullptr};
  TRY_VOID(decode_manifest(manifest, context));
  return manifest;
}

Result<Documents> parse_documents(const std::string& text, const std::string& path) {
  auto parsed = parse_yaml(text, path, {.last_key_holds = true});
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.message = with_cure(error.message, cure_of_syntax(error, text));
    return fail(std::move(error));
  }
  Documents documents;
  for (YamlDocument& document : *parsed)
    documents.push_back(std::make_shared<const YamlDocument>(std::move(document)));
  return documents;
}

Result<std::vector<Manifest>> read_manifests(const std::string& path, const ParseContext& context) {
  TRY(const std::string text, context.read_file(path));
  TRY(const Documents documents, parse_documents(text, path));
  return take_objects(documents, context);
}

std::string beside(const ParseContext& context, const std::string& path) {
  return path.starts_with('/') ? path : context.folder + path;
}

}  // namespace ddptwin::scenario
