// An input of the patch entries: a document, a newline, a patch, both JSON.
#pragma once

#include <boost/json.hpp>
#include <optional>

#include "entry.hpp"

namespace ddptwin::fuzz {

struct DocumentAndPatch {
  boost::json::value document{};
  boost::json::value patch{};
};

inline std::optional<DocumentAndPatch> read_both(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  const std::size_t cut = text.find('\n');
  if (cut == std::string_view::npos) return std::nullopt;
  const auto parse = [](std::string_view part, boost::json::value& to) {
    boost::json::error_code error;
    to = boost::json::parse(boost::json::string_view(part.data(), part.size()), error);
    return !error;
  };
  DocumentAndPatch both;
  if (!parse(text.substr(0, cut), both.document) || !parse(text.substr(cut + 1), both.patch))
    return std::nullopt;
  return both;
}

}  // namespace ddptwin::fuzz
