// What a plain (unquoted) YAML scalar means to Kubernetes.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string_view>

namespace ddptwin {

// The value as sigs.k8s.io/yaml reads it (YAML 1.1: yes, no, on, off, y and n are booleans, 010 is
// octal, 1_000 is a thousand, a timestamp stays text). Nothing where JSON has no such value: .nan
// and .inf.
std::optional<boost::json::value> resolve_plain_scalar(std::string_view text);

}  // namespace ddptwin
