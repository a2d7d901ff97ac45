#include "cluster/store/list_options.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "api/status.hpp"
#include "cluster/store/store_errors.hpp"
#include "core/numbers.hpp"
#include "objects/base64.hpp"
#include "objects/json_text.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::string_view exact = "Exact";
constexpr std::string_view not_older_than = "NotOlderThan";
constexpr std::string_view token_version = "meta.k8s.io/v1";
const std::string match_field = "resourceVersionMatch";

Status verdict(ErrorList causes) {
  if (causes.empty()) return {};
  return fail(api::invalid_options("ListOptions", std::move(causes)));
}

tl::unexpected<Error> bad_token(std::string_view why) {
  return fail(Reason::bad_request, fmt::format("invalid continue token: {}", why));
}

// What Go's decoder says of a text that is not JSON, as far as a token can show it: its first byte.
std::string json_fault(std::string_view text) {
  if (text.empty() || text.front() == '{') return "unexpected end of JSON input";
  const auto byte = static_cast<unsigned char>(text.front());
  // Go prints a byte as the code point of that number.
  const std::string shown = byte < 0x80 ? std::string(1, text.front())
                                        : std::string{static_cast<char>(0xc0 | byte >> 6),
                                                      static_cast<char>(0x80 | (byte & 0x3f))};
  return fmt::format("invalid character '{}' looking for beginning of value", shown);
}

}  // namespace

Status validate_list_options(const api::ListOptions& options) {
  const std::string& match = options.resource_version_match;
  if (match.empty() && !options.send_initial_events) return {};
  ErrorList causes;
  if (!match.empty()) {
    if (options.resource_version.empty())
      causes.push_back(forbidden(match_field,
                                 "resourceVersionMatch is forbidden unless resourceVersion is "
                                 "provided"));
    if (!options.continue_.empty())
      causes.push_back(
          forbidden(match_field, "resourceVersionMatch is forbidden when continue is provided"));
    if (match != exact && match != not_older_than)
      causes.push_back(not_supported(match_field, quoted(match), {exact, not_older_than, ""}));
    if (match == exact && options.resource_version == "0")
      causes.push_back(forbidden(
          match_field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  }
  if (options.send_initial_events)
    causes.push_back(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  return verdict(std::move(causes));
}

Status validate_watch_options(const api::ListOptions& options) {
  const std::string& match = options.resource_version_match;
  if (match.empty() && !options.send_initial_events) return {};
  ErrorList causes;
  if (!options.send_initial_events && !match.empty())
    causes.push_back(
        forbidden(match_field,
                  "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                  "provided"));
  if (options.send_initial_events && match != not_older_than)
    causes.push_back(forbidden(
        match_field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  return verdict(std::move(causes));
}

Result<std::uint64_t> version_number(std::string_view text) {
  if (text.empty()) return 0;
  const auto number = go_integer<std::uint64_t>(text);
  if (number) return *number;
  return fail(plain_error(
      fmt::format("resourceVersion: Invalid value: {0}: strconv.ParseUint: parsing {0}: {1}",
                  quoted(text), number.error())));
}

void set_version(ObjectMeta& metadata, std::uint64_t revision) {
  std::array<char, 20> text{};  // the largest number has as many digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), revision).ptr;
  metadata.resourceVersion =
      std::string_view(text.data(), static_cast<std::size_t>(end - text.data()));
}

std::string Continuation::token() const {
  return to_base64_url(
      json::serialize(json::object{{"v", token_version}, {"rv", revision}, {"start", start}}));
}

Result<Continuation> Continuation::parse(std::string_view token) {
  const auto text = from_base64_url(token);
  if (!text)
    return bad_token(fmt::format("continue key is not valid: illegal base64 data at input byte {}",
                                 text.error()));
  json::error_code error;
  const Json value = json::parse(*text, error);
  if (error || !value.is_object())
    return bad_token("continue key is not valid: " + json_fault(*text));
  const json::object& members = value.get_object();
  if (const std::string version = text_member(members, "v"); version != token_version)
    return bad_token(fmt::format(
        "continue key is not valid: server does not recognize this encoded version {}", version));
  const Json* revision = members.if_contains("rv");
  if (revision == nullptr || !revision->is_int64() || revision->get_int64() == 0 ||
      revision->get_int64() < as_it_is_now)
    return bad_token(
        fmt::format("incorrect encoded start resourceVersion (version {})", token_version));
  Continuation out{revision->get_int64(), text_member(members, "start")};
  if (out.start.empty())
    return bad_token(fmt::format("continue key is not valid: encoded start key empty (version {})",
                                 token_version));
  return out;
}

}  // namespace ddptwin
