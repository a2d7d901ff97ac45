#include <fmt/format.h>

#include "objects/codec.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

// An API error names its place by a field path: in the causes, or in `where`.
std::string field_of(const Error& error) {
  if (error.details && !error.details->causes.empty()) return error.details->causes.front().field;
  return error.where;
}

}  // namespace

tl::unexpected<Error> api_error_at(const YamlDocument& document, const std::string& base,
                                   const Error& error) {
  const std::string field = field_of(error);
  const std::string path = base.empty() || field.empty() ? base + field : base + "." + field;
  return fail(Reason::bad_input, error.message, document.where(path));
}

Result<Manifest> parse_object(const Node& node, std::shared_ptr<const YamlDocument> document,
                              const ParseContext& context) {
  if (!node.value().is_object()) return node.must_be("a Kubernetes object");
  for (const std::string_view field : {"apiVersion", "kind"}) {
    const auto member = node.member(field);
    if (!member) return node.fail(fmt::format("the field {} is missing", field));
    TRY_VOID(member->as_text());
  }
  auto decoded = decode_object(context.kinds, node.value());
  if (!decoded) return api_error_at(node.document(), node.path(), decoded.error());
  ObjectMeta& metadata = decoded->object->metadata;
  if (metadata.name.empty() && metadata.generateName.empty())
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
    TRY(Manifest manifest, parse_object(Node(*shared, shared->value, ""), shared, context));
    manifests.push_back(std::move(manifest));
  }
  return manifests;
}

std::string beside(const ParseContext& context, const std::string& path) {
  return path.starts_with('/') ? path : context.folder + path;
}

}  // namespace ddptwin::scenario
