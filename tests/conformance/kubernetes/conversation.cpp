#include "conversation.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <regex>

#include "api/call.hpp"
#include "api/path.hpp"
#include "api/status.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"
#include "objects/kinds.hpp"
#include "objects/pytorchjob.hpp"
#include "runtime/script_runtime.hpp"

namespace ddptwin::conformance {
namespace {

namespace json = boost::json;
using Fault = std::optional<std::string>;

constexpr const char* actor = "python-requests";
constexpr std::uint64_t seed = 1;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> short_paths{{
    {"P", "/api/v1/namespaces/default/pods"},
    {"C", "/api/v1/namespaces/default/configmaps"},
    {"S", "/apis/apps/v1/namespaces/default/statefulsets"},
    {"L", "/apis/coordination.k8s.io/v1/namespaces/default/leases"},
    {"N", "/api/v1/namespaces/default"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> patch_types{{
    {"merge", "application/merge-patch+json"},
    {"strategic", "application/strategic-merge-patch+json"},
    {"json", "application/json-patch+json"},
    {"apply", "application/apply-patch+yaml"},
}};

std::string media_type_of(std::string_view patch_type) {
  for (const auto& [name, media_type] : patch_types)
    if (patch_type == name) return std::string(media_type);
  return std::string(patch_types.front().second);
}

bool is_set(const json::object& object, std::string_view key) {
  const Json* member = object.if_contains(key);
  return member != nullptr && member->is_bool() && member->get_bool();
}

// A part of a path: a name, an index, or the element whose member says so ([type=Ready]).
struct Part {
  std::string name{};
  std::optional<std::size_t> index{};
  std::string wanted{};  // of the element: its member `name` is this
};

// What stands in brackets.
Part bracket(std::string_view text) {
  if (text.starts_with('\'')) return {std::string(text.substr(1, text.size() - 2)), {}, {}};
  if (const std::size_t equal = text.find('='); equal != std::string_view::npos)
    return {std::string(text.substr(0, equal)), {}, std::string(text.substr(equal + 1))};
  std::size_t index = 0;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return {{}, index, {}};
}

std::vector<Part> parts_of(std::string_view path) {
  std::vector<Part> parts;
  while (!path.empty()) {
    if (path.starts_with('[')) {
      const std::size_t end = path.find(']');
      parts.push_back(bracket(path.substr(1, end - 1)));
      path.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      parts.push_back({std::string(path.substr(0, end)), {}, {}});
      path.remove_prefix(end);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return parts;
}

const Json* part_of(const Json& value, const Part& part) {
  if (!part.wanted.empty() && value.is_array()) {
    for (const Json& each : value.get_array())
      if (each.is_object() && text_member(each.get_object(), part.name) == part.wanted)
        return &each;
    return nullptr;
  }
  if (part.index)
    return value.is_array() && *part.index < value.get_array().size()
               ? &value.get_array()[*part.index]
               : nullptr;
  return value.is_object() ? value.get_object().if_contains(part.name) : nullptr;
}

// Numbers of either sign's type are the same number; a text that begins with '~' is a pattern.
bool agrees(const Json& wanted, const Json& got) {
  if (wanted.is_string() && wanted.get_string().starts_with("~"))
    return got.is_string() &&
           std::regex_search(got.get_string().c_str(), std::regex(wanted.get_string().c_str() + 1));
  return wanted == got;
}

}  // namespace

const Json* value_at(const Json& value, std::string_view path) {
  const Json* at = &value;
  for (const Part& part : parts_of(path))
    if (at != nullptr) at = part_of(*at, part);
  return at;
}

Conversation::Conversation(const json::object& description)
    : description_(description),
      loop_(Random(seed).split("loop"), virtual_start, VirtualLoop::Order::fifo),
      runtime_(std::make_unique<ScriptRuntime>(loop_, ScriptRuntime::Keep::calls)) {
  WorldOptions options;
  options.seed = seed;
  options.scheduler = is_set(description, "scheduler");
  if (description.contains("needs"))
    options.kinds.assign(built_in_kinds().begin(), built_in_kinds().end());
  options.kinds.push_back(
      &PyTorchJob::info());  // the custom kind of the table, without a controller
  options.dns.host = {{"192.168.0.254"}, {"example.org"}, {"timeout:2"}};
  if (const Json* nodes = description.if_contains("nodes"))
    for (const Json& node : nodes->as_array()) {
      NodeOptions made;
      made.name = text_member(node.as_object(), "name");
      made.kubelet = is_set(node.as_object(), "kubelet");
      made.unschedulable = is_set(node.as_object(), "unschedulable");
      if (const Json* taints = node.as_object().if_contains("taints"))
        made.taints = from_json<std::vector<Taint>>(*taints).value_or(std::vector<Taint>());
      if (const Json* capacity = node.as_object().if_contains("capacity"))
        made.capacity = from_json<ResourceList>(*capacity).value_or(ResourceList());
      options.nodes.push_back(std::move(made));
    }
  world_ = std::make_unique<World>(loop_, std::move(options), runtime_.get());
  client_ = world_->client(actor);
  feed_ = std::make_unique<dns::ZoneFeed>(loop_, *client_, zone_);
}

Conversation::~Conversation() {
  watch_.reset();
  feed_.reset();
  client_.reset();
}

Fault Conversation::hold() {
  world_->start();
  feed_->start();
  loop_.run_until(loop_.now() + 1s);
  int number = 0;
  for (const Json& each : description_.at("do").as_array()) {
    ++number;
    if (Fault fault = step(each.as_object())) return fmt::format("step {}: {}", number, *fault);
  }
  return std::nullopt;
}

Fault Conversation::step(const json::object& step) {
  if (const Json* seconds = step.if_contains("wait")) {
    loop_.run_until(loop_.now() + std::chrono::duration_cast<Duration>(
                                      std::chrono::duration<double>(seconds->to_number<double>())));
    return std::nullopt;
  }
  if (is_set(step, "compact")) {
    world_->store().compact();
    return std::nullopt;
  }
  if (const Json* pod = step.if_contains("runtime"))
    return check_values(step.at("has").as_object(),
                        runtime_->requests("default", pod->as_string().c_str()));
  if (const Json* exit = step.if_contains("exit")) {
    const json::object& how = exit->as_object();
    runtime_->container_exit("default", text_member(how, "pod"), text_member(how, "container"),
                             static_cast<int>(how.at("code").as_int64()), is_set(how, "oom"));
    return std::nullopt;
  }
  if (step.contains("ask")) return ask(step);
  if (step.contains("watch")) return open_watch(step);
  if (step.contains("events")) return check_events(step);
  if (step.contains("absent")) return check_absence(step);
  int code = 0;
  warnings_.clear();
  const Json body = answer_to(step, code);
  loop_.drain();
  save(step, body);
  return check(step, body, code);
}

Json Conversation::answer_to(const json::object& step, int& code) {
  const auto refused = [&](const Error& error) {
    code = api::code_of(error);
    return api::status_of(error);
  };
  const std::string said = filled(text_member(step, "call"));
  const std::size_t space = said.find(' ');
  api::Call call{said.substr(0, space), path_of(said.substr(space + 1)), {}, {}};
  if (call.method == "PATCH") call.media_type = media_type_of(text_member(step, "type"));
  if (step.contains("media")) call.media_type = text_member(step, "media");
  if (const Json* body = step.if_contains("body")) call.body = json::serialize(filled(*body));
  if (step.contains("raw")) call.body = filled(text_member(step, "raw"));
  const auto request = api::request_of(world_->kinds(), call);
  if (!request) return refused(request.error());
  const auto result = world_->call(*request, actor);
  if (!result) return refused(result.error());
  code = result->code;
  warnings_ = result->warnings;
  return api::body_of(*request, *result);
}

Fault Conversation::check(const json::object& step, const Json& body, int code) {
  const std::string shown = json::serialize(body);
  const Json* wanted = step.if_contains("code");
  if (wanted != nullptr ? wanted->as_int64() != code : code / 100 != 2)
    return fmt::format("answers {} {}", code, shown);
  const std::string message = body.is_object() ? text_member(body.as_object(), "message") : "";
  if (step.contains("message") && filled(text_member(step, "message")) != message)
    return fmt::format("says \"{}\" instead of \"{}\"", message,
                       filled(text_member(step, "message")));
  if (!message.starts_with(text_member(step, "starts")))
    return fmt::format("says \"{}\", which does not begin with \"{}\"", message,
                       text_member(step, "starts"));
  if (message.find(text_member(step, "contains")) == std::string::npos)
    return fmt::format("says \"{}\", where \"{}\" is missing", message,
                       text_member(step, "contains"));
  if (step.contains("warning") &&
      text_member(step, "warning") != fmt::format("{}", fmt::join(warnings_, "; ")))
    return fmt::format("warns \"{}\" instead of \"{}\"", fmt::join(warnings_, "; "),
                       text_member(step, "warning"));
  if (const Json* values = step.if_contains("has"))
    if (Fault fault = check_values(values->as_object(), body)) return fault;
  return std::nullopt;
}

Fault Conversation::check_values(const json::object& wanted, const Json& body) {
  for (const auto& [path, value] : wanted) {
    const Json* got = value_at(body, path);
    if (value.is_null() && got == nullptr) continue;
    const Json want = filled(value);
    if (got == nullptr || value.is_null() || !agrees(want, *got))
      return fmt::format("{} is {} instead of {}", std::string_view(path),
                         got == nullptr ? "absent" : json::serialize(*got),
                         value.is_null() ? "absent" : json::serialize(want));
  }
  return std::nullopt;
}

Fault Conversation::open_watch(const json::object& step) {
  const auto path = api::parse_path(world_->kinds(), path_of(filled(text_member(step, "watch"))));
  if (!path) return path.error().message;
  const auto options = api::list_options(*path);
  if (!options) return options.error().message;
  watch_ = std::make_unique<OpenWatch>();
  watch_->watch =
      client_->watch(path->target, *options, [watch = watch_.get()](const api::WatchEvent& event) {
        Json object = event.object ? encode(*event.told()) : Json(json::object());
        if (event.type == api::WatchEventType::error) object = api::status_of(event.error);
        watch->events.push_back(
            json::object{{"type", api::to_string(event.type)}, {"object", std::move(object)}});
      });
  loop_.drain();
  return std::nullopt;
}

// All events since the last look, in their order: {type, has}.
Fault Conversation::check_events(const json::object& step) {
  loop_.drain();
  const std::vector<Json> events = std::exchange(watch_->events, {});
  const json::array& wanted = step.at("events").as_array();
  std::string types;
  for (const Json& event : events) types += " " + text_member(event.as_object(), "type");
  if (events.size() != wanted.size())
    return fmt::format("{} events instead of {}:{}", events.size(), wanted.size(), types);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const json::object& want = wanted[i].as_object();
    if (text_member(want, "type") != text_member(events[i].as_object(), "type"))
      return fmt::format("event {} is wrong:{}", i, types);
    if (const Json* values = want.if_contains("has"))
      if (Fault fault = check_values(values->as_object(), events[i].at("object"))) return fault;
  }
  return std::nullopt;
}

// "absent: PATH": the answer to a GET is 404.
Fault Conversation::check_absence(const json::object& step) {
  int code = 0;
  const Json body = answer_to(json::object{{"call", "GET " + text_member(step, "absent")}}, code);
  if (code == 404) return std::nullopt;
  return fmt::format("{} is still there: {}", text_member(step, "absent"), json::serialize(body));
}

// "ask: TYPE NAME" of the zone that CoreDNS would serve; PTR takes an IPv4 address as well.
Fault Conversation::ask(const json::object& step) {
  static constexpr std::array<std::pair<std::string_view, dns::RecordType>, 4> types{
      {{"A", dns::RecordType::a},
       {"AAAA", dns::RecordType::aaaa},
       {"SRV", dns::RecordType::srv},
       {"PTR", dns::RecordType::ptr}}};
  const std::string asked = filled(text_member(step, "ask"));
  const std::size_t space = asked.find(' ');
  std::string name = asked.substr(space + 1);
  if (const auto ip = dns::parse_ipv4(name))
    name = fmt::format("{}.{}.{}.{}.in-addr.arpa", (*ip)[3], (*ip)[2], (*ip)[1], (*ip)[0]);
  dns::Question question{dns::Name::parse(name).value(), dns::RecordType::a};
  for (const auto& [word, type] : types)
    if (asked.substr(0, space) == word) question.type = type;
  const dns::Answer answer = zone_.answer(question);
  const std::string said = dns::to_text(answer), wanted = filled(text_member(step, "says"));
  if (said != wanted) return fmt::format("{} is {} instead of {}", asked, said, wanted);
  const Json* minimum = step.if_contains("minimum");
  if (minimum == nullptr) return std::nullopt;
  const auto* soa =
      answer.authority.empty() ? nullptr : std::get_if<dns::Soa>(&answer.authority.front().data);
  if (soa == nullptr) return asked + " comes without a SOA";
  if (soa->minimum != minimum->to_number<std::uint32_t>() ||
      soa->minimum != answer.authority.front().ttl)
    return fmt::format("{} has a SOA with minimum {}", asked, soa->minimum);
  return std::nullopt;
}

void Conversation::save(const json::object& step, const Json& body) {
  const Json* names = step.if_contains("save");
  if (names == nullptr) return;
  for (const auto& [name, path] : names->as_object()) {
    const Json* value = value_at(body, path.as_string());
    if (value != nullptr)
      saved_[std::string(name)] =
          value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  }
}

std::string Conversation::filled(std::string_view text) const {
  std::string out(text);
  for (const auto& [name, value] : saved_) {
    const std::string symbol = "$(" + name + ")";
    for (std::size_t at = out.find(symbol); at != std::string::npos; at = out.find(symbol, at)) {
      out.replace(at, symbol.size(), value);
      at += value.size();
    }
  }
  return out;
}

Json Conversation::filled(const Json& value) const {
  if (value.is_string()) return Json(filled(std::string_view(value.get_string())));
  if (value.is_array()) {
    json::array out;
    for (const Json& each : value.get_array()) out.push_back(filled(each));
    return out;
  }
  if (!value.is_object()) return value;
  json::object out;
  for (const auto& [key, each] : value.get_object())
    out[filled(std::string_view(key))] = filled(each);
  return out;
}

std::string Conversation::path_of(std::string_view text) const {
  for (const auto& [short_form, path] : short_paths)
    if (text == short_form || text.starts_with(std::string(short_form) + "/") ||
        text.starts_with(std::string(short_form) + "?"))
      return std::string(path) + std::string(text.substr(short_form.size()));
  return std::string(text);
}

}  // namespace ddptwin::conformance
