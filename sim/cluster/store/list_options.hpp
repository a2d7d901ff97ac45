// What a list, a get or a watch may be asked with (spec/kubernetes.md sections 1.9 and 1.10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/client.hpp"

namespace ddptwin {

Status validate_list_options(const api::ListOptions& options);
Status validate_watch_options(const api::ListOptions& options);

// Of a resourceVersion: its number, 0 where none is named. The error is the API's text.
Result<std::uint64_t> version_number(std::string_view text);

void set_version(ObjectMeta& metadata, std::uint64_t revision);

// Where the next page of a list begins, and of which state. As a token it travels in base64.
struct Continuation {
  static constexpr std::int64_t as_it_is_now = -1;
  std::int64_t revision = as_it_is_now;
  std::string start{};  // no key of the page is less; behind the namespace where the list has one

  std::string token() const;
  static Result<Continuation> parse(std::string_view token);
};

}  // namespace ddptwin
