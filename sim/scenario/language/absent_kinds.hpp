// Kinds that a real cluster serves and the twin does not. A document of one is set aside: most are
// no part of a run. What runs (a Deployment, another system's job) is refused where nothing else
// does: a run would be green with nothing in it.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "objects/kinds.hpp"

namespace ddptwin::scenario {

struct AbsentKind {
  std::string_view api_version{};
  std::string_view kind{};
  std::string_view instead{};  // what holds here without it, or what to do
  bool runs = false;           // it has pods
};

std::span<const AbsentKind> absent_kinds();

// What is known of the kind of a document, which may be another's custom resource; nothing: the
// twin has it, or no cluster is known to serve it. The texts are those of the arguments, or
// literals.
std::optional<AbsentKind> absent_kind(const KindRegistry& kinds, std::string_view api_version,
                                      std::string_view kind, const boost::json::value& object);

// Why a document of it is refused.
std::string refusal_of(const AbsentKind& absent);

}  // namespace ddptwin::scenario
