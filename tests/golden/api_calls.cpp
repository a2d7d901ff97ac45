#include "api_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "answers.hpp"
#include "api/status.hpp"
#include "api/table.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"
#include "objects/patch.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

Json refusal(const Error& error) {
  json::object out{{"code", api::code_of(error)}};
  if (!error.warnings.empty()) out.emplace("warnings", json::value_from(error.warnings));
  out.emplace("body", api::status_of(error));
  return out;
}

// The text at "metadata.continue".
std::string text_at(const Json& body, std::string_view path) {
  const Json* at = &body;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    at = at->is_object() ? at->get_object().if_contains(path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at != nullptr && at->is_string() ? std::string(at->get_string()) : "";
}

// Bookmarks that carry no annotation are left out of recorded watches.
bool is_shown(const api::WatchEvent& event) {
  return event.type != api::WatchEventType::bookmark ||
         !event.object->metadata.annotations->empty();
}

}  // namespace

Json ApiCalls::perform(const Json& argument) {
  if (!argument.is_array()) return symbols_.symbolic(one(argument.as_object()));
  json::array answers;
  for (const Json& call : argument.get_array())
    answers.push_back(symbols_.symbolic(one(call.as_object())));
  return answers;
}

// $(x) by what was saved, then what the recording's symbols stand for.
std::string ApiCalls::actual(std::string text) const {
  for (const auto& [name, value] : saved_) {
    const std::string symbol = "$(" + name + ")";
    for (std::size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at)) {
      text.replace(at, symbol.size(), value);
      at += value.size();
    }
  }
  return symbols_.actual(std::move(text));
}

std::string ApiCalls::body_of_call(const json::object& call) {
  if (call.contains("raw")) return actual(text_member(call, "raw"));
  const Json* body = call.if_contains("body");
  if (body == nullptr || body->is_null()) return "";
  if (!call.contains("from")) return actual(json::serialize(*body));
  const auto got =
      api::request_of(world_.kinds(), {"GET", actual(text_member(call, "from")), {}, {}});
  if (!got) return "";
  const auto base = world_.call(*got, actor_);
  if (!base || !base->object) return "";
  const auto merged =
      apply_merge_patch(encode(*base->object), json::parse(actual(json::serialize(*body))));
  return merged ? json::serialize(*merged) : "";
}

void ApiCalls::save(const json::object& call, const Json& body) {
  const Json* names = call.if_contains("save");
  if (names == nullptr) return;
  for (const auto& member : names->as_object())
    saved_[std::string(member.key())] = text_at(body, member.value().as_string());
}

// "~1" is the first version of an object that was shown, the same number while it stays.
std::string ApiCalls::version_of(const Json& body) {
  std::vector<std::string>& seen = versions_[text_at(body, "metadata.uid")];
  const std::string version = text_at(body, "metadata.resourceVersion");
  const auto found = std::find(seen.begin(), seen.end(), version);
  const auto number = found - seen.begin() + 1;
  if (found == seen.end()) seen.push_back(version);
  return fmt::format("~{}", number);
}

Json ApiCalls::one(const json::object& call) {
  api::Call said;
  if (const std::string method = text_member(call, "method"); !method.empty()) said.method = method;
  said.path = actual(text_member(call, "path"));
  said.media_type = text_member(call, "contentType");
  said.body = body_of_call(call);
  said.user_agent = "python-requests/2.32";
  const auto request = api::request_of(world_.kinds(), said);
  if (!request) return refusal(request.error());
  if (request->list->watch) return watched(call, *request);
  return answer(call, *request, world_.call(*request, actor_));
}

Json ApiCalls::answer(const json::object& call, const api::Request& request,
                      const Result<api::Response>& result) {
  Json out = answer_of(symbols_, result, call.contains("show"));
  auto& members = out.get_object();
  if (const Json* wanted = call.if_contains("headers"); wanted != nullptr && !result) {
    json::object headers;
    const auto& details = result.error().details;
    if (details != nullptr && details->retry_after_seconds > 0)
      headers.emplace("Retry-After", std::to_string(details->retry_after_seconds));
    members.emplace("headers", std::move(headers));
  }
  if (!result) return out;
  const Json body = api::body_of(request, *result);
  save(call, body);
  if (call.contains("rv")) members.emplace("rv", version_of(body));
  const bool list = request.verb == api::Verb::list || request.verb == api::Verb::remove_collection;
  Json shown_body;
  if (text_member(call, "show") == "managed" && result->object) {
    // As recorded: by manager, operation and subresource.
    members["body"] = symbols_.symbolic(shown_with_managers(*result->object));
    return out;
  }
  if (text_member(call, "accept") == "table")
    shown_body = api::table_of(*request.target.kind, *result, loop_.now());
  else if (list && call.contains("show"))
    shown_body = body;
  else
    return out;
  strip(shown_body);
  members["body"] = symbols_.symbolic(shown_body);
  return out;
}

// The events of a watch, until it is over: it lasts as long as it says, or ends with an error.
Json ApiCalls::watched(const json::object& call, const api::Request& request) {
  json::array events;
  std::optional<Error> error;
  const auto client = world_.client(actor_);
  const auto watch =
      client->watch(request.target, *request.list, [&](const api::WatchEvent& event) {
        if (event.type == api::WatchEventType::error) {
          error = *event.error;
        } else if (is_shown(event)) {
          Json object = shown(*event.told());
          events.push_back(
              json::object{{"type", api::to_string(event.type)}, {"object", std::move(object)}});
        }
      });
  loop_.drain();
  // Options are refused before the stream begins, a version that is too old in it.
  if (error && error->reason != Reason::expired) return refusal(*error);
  if (error) events.push_back(json::object{{"type", "ERROR"}, {"object", api::status_of(*error)}});
  json::object out{{"code", 200}};
  if (call.contains("show")) out.emplace("body", symbols_.symbolic(std::move(events)));
  return out;
}

}  // namespace ddptwin::golden
