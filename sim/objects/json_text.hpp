// JSON text of a request: its value, and the members it names twice (spec/kubernetes.md §1.15); and
// the texts in a value.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

struct JsonText {
  boost::json::value value{};  // of a doubled member: its last value
  // Paths, each once, in the order of the text: data.a, spec.containers[0].image.
  std::vector<std::string> doubled{};
};

// A text that is not JSON is a bad request, as Go says it.
Result<JsonText> parse_json(std::string_view text);

// The member of that name where it is a text.
std::string text_member(const boost::json::object& object, std::string_view name,
                        std::string_view otherwise = {});

}  // namespace ddptwin
