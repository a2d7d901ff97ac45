// The verb `api` of a recording: calls as HTTP carries them (tests/recordings/README.md, "Further
// keys of a call").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/call.hpp"
#include "core/virtual_loop.hpp"
#include "scenario/world/world.hpp"
#include "symbols.hpp"

namespace ddptwin::golden {

class ApiCalls {
 public:
  ApiCalls(VirtualLoop& loop, World& world, Symbols& symbols, const char* actor)
      : loop_(loop), world_(world), symbols_(symbols), actor_(actor) {}

  // One call, or a list of them, done in order without waiting; the answer, or a list of answers.
  Json perform(const Json& argument);

 private:
  Json one(const boost::json::object& call);
  Json answer(const boost::json::object& call, const api::Request& request,
              const Result<api::Response>& result);
  Json watched(const boost::json::object& call, const api::Request& request);
  std::string actual(std::string text) const;
  std::string body_of_call(const boost::json::object& call);
  void save(const boost::json::object& call, const Json& body);
  std::string version_of(const Json& body);

  VirtualLoop& loop_;
  World& world_;
  Symbols& symbols_;
  const char* actor_;  // outlives the trace
  std::map<std::string, std::string> saved_{};
  std::map<std::string, std::vector<std::string>> versions_{};  // by uid, in the order seen
};

}  // namespace ddptwin::golden
