// The API server's paths: /api/v1/namespaces/NS/pods/NAME/status, /apis/GROUP/VERSION/...
// (spec/kubernetes.md section 1.1).
#pragma once

#include <map>

#include "api/client.hpp"

namespace ddptwin::api {

struct Path {
  Target target{};
  std::map<std::string, std::string, std::less<>>
      query{};  // percent-decoded; the last of equal names
};

// What a path and its query mean. Not found where no such kind is served.
Result<Path> parse_path(const KindRegistry& kinds, std::string_view path);
// Whether a query sets that option: present, and neither 0 nor false (spec/kubernetes.md section
// 1.2).
bool is_set(const Path& path, std::string_view option);
// The list options in a query.
Result<ListOptions> list_options(const Path& path);
// The delete options in a query, under those of a DeleteOptions body (may be null).
Result<DeleteOptions> delete_options(const Path& path, const Json* body);

}  // namespace ddptwin::api
