// A case of spec/kubernetes.md §8 as a conversation with a twin in virtual time.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"
#include "core/virtual_loop.hpp"
#include "dns/zone_feed.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin {
class ScriptRuntime;
}

namespace ddptwin::conformance {

// What a conversation is written in (api.yaml tells it at its head). Each case has a cluster of its
// own.
class Conversation {
 public:
  explicit Conversation(const boost::json::object& description);
  ~Conversation();

  // Nothing: every answer was as told. Otherwise what the first other one was.
  std::optional<std::string> hold();

 private:
  struct OpenWatch {
    std::unique_ptr<api::Watch> watch{};
    std::vector<Json> events{};  // {type, object} or {type: ERROR, object: Status}, as on the wire
  };

  std::optional<std::string> step(const boost::json::object& step);
  std::optional<std::string> open_watch(const boost::json::object& step);
  std::optional<std::string> check_events(const boost::json::object& step);
  std::optional<std::string> check_absence(const boost::json::object& step);
  std::optional<std::string> ask(const boost::json::object& step);
  Json answer_to(const boost::json::object& step, int& code);
  std::optional<std::string> check(const boost::json::object& step, const Json& body, int code);
  std::optional<std::string> check_values(const boost::json::object& wanted, const Json& body);
  void save(const boost::json::object& step, const Json& body);
  // $(name) by what was saved; P, C, S and L at the head of a path are the spec's short forms.
  std::string filled(std::string_view text) const;
  Json filled(const Json& value) const;
  std::string path_of(std::string_view text) const;

  const boost::json::object& description_;
  VirtualLoop loop_;
  std::unique_ptr<ScriptRuntime> runtime_;
  std::unique_ptr<World> world_;
  std::unique_ptr<api::ApiClient> client_;
  std::map<std::string, std::string, std::less<>> saved_{};
  std::unique_ptr<OpenWatch> watch_{};
  std::vector<std::string> warnings_{};  // of the last call
  dns::Zone zone_{};
  std::unique_ptr<dns::ZoneFeed> feed_{};
};

// The value at a path such as "spec.containers[0].env[2].value" or "metadata.labels['a.b']"; null
// where it leads nowhere.
const Json* value_at(const Json& value, std::string_view path);

}  // namespace ddptwin::conformance
