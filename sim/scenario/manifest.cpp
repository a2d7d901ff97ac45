#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "objects/codec.hpp"
#include "scenario/absent_kinds.hpp"
#include "scenario/scenario_parser.hpp"

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

// An API error names its place by a field path: in the causes, in `where`, or in its words.
std::string field_of(const Error& error, const Json& object) {
  if (error.details && !error.details->causes.empty()) return error.details->causes.front().field;
  return error.where.empty() ? path_in(error.message, object) : error.where;
}

// The API of the twin would say what a real one says of a kind that nobody has.
Status check_not_absent(const YamlNode& node) {
  const YamlNode kind_node = *node.member("kind");
  TRY(const std::string api_version, node.member("apiVersion")->as_text());
  TRY(const std::string kind, kind_node.as_text());
  const AbsentKind* absent = find_absent_kind(api_version, kind);
  if (absent == nullptr) return {};
  return kind_node.fail(fmt::format("the twin has no kind {} of {}, which real clusters have: {}",
                                    kind, api_version, absent->instead));
}

}  // namespace

tl::unexpected<Error> api_error_at(const YamlDocument& document, const std::string& base,
                                   const Json& object, const Error& error) {
  const std::string field = field_of(error, object);
  const std::string path = base.empty() || field.empty() ? base + field : base + "." + field;
  return fail(Reason::bad_input, error.message, document.where(path));
}

Result<Manifest> parse_object(const YamlNode& node, std::shared_ptr<const YamlDocument> document,
                              const ParseContext& context) {
  if (!node.value().is_object()) return node.must_be("a Kubernetes object");
  for (const std::string_view field : {"apiVersion", "kind"}) {
    const auto member = node.member(field);
    if (!member) return node.fail(fmt::format("the field {} is missing", field));
    TRY_VOID(member->as_text());
  }
  TRY_VOID(check_not_absent(node));
  auto decoded = decode_object(context.kinds, node.value());
  if (!decoded) return api_error_at(node.document(), node.path(), node.value(), decoded.error());
  ObjectMeta& metadata = decoded->object->metadata;
  if (metadata.name.empty() && metadata.rest->generateName.empty())
    return node.fail_at("metadata", "an object needs metadata.name or metadata.generateName");
  if (decoded->object->kind().namespaced && metadata.namespace_.empty())
    metadata.namespace_ = context.namespace_;
  return Manifest{std::move(document), &node.value(), node.path(), std::move(decoded->object)};
}

Result<std::vector<Manifest>> read_manifests(const std::string& path, const ParseContext& context) {
  TRY(const std::string text, context.read_file(path));
  TRY(auto documents, parse_yaml(text, path));
  std::vector<Manifest> manifests;
  for (YamlDocument& document : documents) {
    const auto shared = std::make_shared<const YamlDocument>(std::move(document));
    TRY(Manifest manifest, parse_object(YamlNode(*shared, shared->value, ""), shared, context));
    manifests.push_back(std::move(manifest));
  }
  return manifests;
}

std::string beside(const ParseContext& context, const std::string& path) {
  return path.starts_with('/') ? path : context.folder + path;
}

}  // namespace ddptwin::scenario
