// YAML files to a Scenario. Whatever is wrong is said with file, line and field, before anything
// starts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/language/fields.hpp"
#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// The text of a file, or why there is none. Paths are as the user wrote them, or beside the file
// that names them.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// What is said of the manifests of a run beside its objects.
struct Side {
  std::vector<ManifestNote> notes{};
  std::vector<SetAside> set_aside{};
};

// What parsing a part needs to know of the whole.
struct ParseContext {
  const KindRegistry& kinds;
  const ReadFile& read_file;
  std::string folder;                              // of the scenario's file, with its "/"; or empty
  std::string namespace_ = "default";              // of objects and selections that name none
  std::shared_ptr<const YamlDocument> document{};  // the Scenario's own
  Side* side = nullptr;                            // filled while files are read
};

// One file: its Scenario document, if there is one, and the objects beside it. Without a Scenario
// the defaults hold: one node, every job is to succeed.
Result<Scenario> parse_scenario(const std::string& file, const KindRegistry& kinds,
                                const ReadFile& read_file);

// Several files without a Scenario document are one run; precondition: none has one, and there
// is at least one.
Scenario merge_plain(std::vector<Scenario> scenarios);

// The parts, by file: cluster_parser.cpp, state_parser.cpp, step_parser.cpp, image_parser.cpp,
// model_parser.cpp, manifest.cpp.
Status parse_cluster(const YamlNode& node, Scenario& to, const ParseContext& context);
Result<State> parse_state(const YamlNode& node, const ParseContext& context);
Result<Selection> parse_selection(const YamlNode& node, const ParseContext& context);
Result<Range> parse_range(const YamlNode& node);
Result<Step> parse_step(const YamlNode& node, const ParseContext& context);
Result<Expectation> parse_expectation(const YamlNode& node, const ParseContext& context);
inline constexpr std::int64_t exit_code_max = 255;  // of a process
Result<NamedImage> parse_image(const YamlNode& node, const ParseContext& context);
// Of spec.cluster; `to` has those that are installed without it.
Status read_systems(const YamlNode& node, std::vector<InstalledSystem>& to);
Result<model::Workload> parse_model(const YamlNode& node, const ParseContext& context);
// One object that a scenario holds itself, decoded but not yet judged by the API (preflight.hpp
// does that).
Result<Manifest> parse_object(const YamlNode& node, std::shared_ptr<const YamlDocument> document,
                              const ParseContext& context);
// That there is an object, of a kind.
Status check_is_object(const YamlNode& node);
// Its `object`, from its value.
Status decode_manifest(Manifest& manifest, const ParseContext& context);
// An error of the API or of decoding, placed where the document has the field that it names. `base`
// is the object's own path in the document, `object` what was read there.
tl::unexpected<Error> api_error_at(const YamlDocument& document, const std::string& base,
                                   const Json& object, const Error& error);
// The objects of a file (documents.hpp).
Result<std::vector<Manifest>> read_manifests(const std::string& path, const ParseContext& context);

// The path of a file that a scenario names.
std::string beside(const ParseContext& context, const std::string& path);

// Fails with what the API says of a name, where that is anything.
Status check_name(const YamlNode& node, const std::vector<std::string>& problems);

// The language's tables, as the reference page shows them.
std::vector<ReferenceTable> reference_tables();
std::vector<ReferenceTable> cluster_tables();
std::vector<ReferenceTable> state_tables();
std::vector<ReferenceTable> step_tables();
std::vector<ReferenceTable> image_tables();
std::vector<ReferenceTable> model_tables();

}  // namespace ddptwin::scenario
