// A call as HTTP carries it, and the body it is answered with (spec/kubernetes.md sections 1.1 to
// 1.3, 1.9, 1.15).
#pragma once

#include <string>

#include "api/client.hpp"

namespace ddptwin::api {

struct Call {
  std::string method = "GET";
  std::string path{};        // with its query, percent-encoded
  std::string media_type{};  // of the body; of a patch it says which
  std::string body{};        // JSON, or YAML where the media type says so
  std::string user_agent{};  // who writes, where the query names no fieldManager
};

// The request that a call is, or the answer of a server to one that is none. Where `list.watch` is
// set, the caller opens a watch with the target and these list options.
Result<Request> request_of(const KindRegistry& kinds, const Call& call);

// The body of a success: an object, a <Kind>List, or what the response brings along.
Json body_of(const Request& request, const Response& response);

}  // namespace ddptwin::api
