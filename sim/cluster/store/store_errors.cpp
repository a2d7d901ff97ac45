#include "cluster/store/store_errors.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "objects/validation.hpp"

namespace ddptwin {
namespace {

std::shared_ptr<ErrorDetails> details_of(const KindInfo& kind, std::string_view name) {
  auto details = std::make_shared<ErrorDetails>();
  details->name = name;
  details->group = kind.group;
  details->kind = kind.plural;
  return details;
}

}  // namespace

Error not_found_error(const KindInfo& kind, std::string_view name) {
  const std::string resource = kind.resource();
  std::string message;
  message.reserve(resource.size() + name.size() + 13);
  message.append(resource).append(" \"").append(name).append("\" not found");
  return {Reason::not_found, {}, std::move(message), details_of(kind, name), 0};
}

Error already_exists_error(const KindInfo& kind, std::string_view name) {
  return {Reason::already_exists,
          {},
          fmt::format("{} \"{}\" already exists", kind.resource(), name),
          details_of(kind, name),
          0};
}

Error conflict_error(const KindInfo& kind, std::string_view name, std::string_view why) {
  return {Reason::conflict,
          {},
          fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", kind.resource(), name, why),
          details_of(kind, name),
          0};
}

Error modified_error(const KindInfo& kind, std::string_view name) {
  return conflict_error(kind, name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
}

Error wrong_uid_error(const KindInfo& kind, const ObjectMeta& stored, std::string_view meant) {
  const std::string key = key_of(stored);
  return conflict_error(
      kind, stored.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: "
                  "0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in "
                  "object meta: {}",
                  kind.plural, key, meant, stored.uid.view()));
}

Error forbidden_error(const KindInfo& kind, std::string_view name, std::string_view why) {
  const std::string what =
      name.empty() ? kind.resource() : fmt::format("{} \"{}\"", kind.resource(), name);
  return {Reason::forbidden,
          {},
          fmt::format("{} is forbidden: {}", what, why),
          details_of(kind, name),
          0};
}

Error invalid_error(const KindInfo& kind, std::string_view name, ErrorList causes) {
  auto details = details_of(kind, name);
  details->kind = kind.kind;
  const std::string group_kind = kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
  std::string message =
      fmt::format("{} \"{}\" is invalid: {}", group_kind, name, summary_of(causes));
  details->causes = std::move(causes);
  return {Reason::invalid, {}, std::move(message), std::move(details), 0};
}

Error method_not_allowed_error() {
  return {Reason::method_not_allowed,
          {},
          "the server does not allow this method on the requested resource",
          std::make_shared<ErrorDetails>(),
          0};
}

Error resource_not_found_error() {
  return {Reason::not_found,
          {},
          "the server could not find the requested resource",
          std::make_shared<ErrorDetails>(),
          0};
}

Error too_large_version_error(std::uint64_t asked, std::uint64_t current) {
  auto details = std::make_shared<ErrorDetails>();
  details->causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}};
  details->retry_after_seconds = 1;
  return {Reason::timeout,
          {},
          fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current),
          std::move(details),
          0,
          {}};
}

Error expired_page_error(std::string rest) {
  auto details = std::make_shared<ErrorDetails>();
  details->continue_ = std::move(rest);
  return {Reason::expired,
          {},
          "The provided continue parameter is too old to display a consistent list result. You can "
          "start a new list without the continue parameter, or use the continue token in this "
          "response to retrieve the remainder of the results. Continuing with the provided token "
          "results in an inconsistent list - objects that were created, modified, or deleted "
          "between the time the first chunk was returned and now may show up in the list.",
          std::move(details),
          0,
          {}};
}

Error plain_error(std::string message) {
  return {Reason::unknown, {}, std::move(message), nullptr, 500};
}

RawJson created_status_body() {
  static const RawJson status(boost::json::object{{"kind", "Status"},
                                                  {"apiVersion", "v1"},
                                                  {"metadata", boost::json::object()},
                                                  {"status", "Success"},
                                                  {"code", 201}});
  return status;
}

}  // namespace ddptwin
