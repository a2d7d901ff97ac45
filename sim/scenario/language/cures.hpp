// Ways out for who has a manifest that is refused: words behind the refusal.
#pragma once

#include <string>
#include <string_view>

#include "objects/kinds.hpp"
#include "objects/yaml.hpp"

namespace ddptwin {
struct System;
}

namespace ddptwin::scenario {

// Why its kinds are not there.
std::string absence_of(const System& system);

// Of a text that somebody else's tool was to fill in: ${IMAGE}, {{ .Values.image }}. Empty: it is
// none.
std::string cure_of_template(std::string_view text);

// Of a refusal by the API, by what stands at its place in the document. Empty: nothing is known.
std::string cure_of_refusal(const Error& refusal, const YamlDocument& document,
                            std::string_view path);

// Of what a controller made and the API refused, by the API's words. Empty: they say it all.
std::string_view cure_of_denial(std::string_view message);

// Of a kind that nobody serves: a slip, or a version of old with fields of old.
std::string cure_of_kind(const KindRegistry& kinds, const boost::json::value& object);

// Of a text that is not YAML before a template was rendered.
std::string cure_of_syntax(const Error& error, std::string_view text);

// Why a document is no manifest but another tool's file, and what makes manifests of it. Empty: it
// may be one.
std::string not_a_manifest(const YamlDocument& document);

// Behind a refusal that only a Scenario can answer, where there is none.
inline constexpr std::string_view write_a_scenario =
    "; a manifest alone cannot say it: write a Scenario beside it (ddptwin list --reference shows "
    "how)";

}  // namespace ddptwin::scenario
