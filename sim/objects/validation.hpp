// The vocabulary of validation: the API's causes and the rules that many kinds share, in upstream's
// own words (spec/kubernetes.md sections 1.4 and 1.11).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "objects/field_path.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

// Causes. A value is given as it is to be shown: quoted("x"), std::to_string(3).
ErrorCause required(std::string field, std::string_view detail = {});
ErrorCause invalid(std::string field, std::string_view shown_value, std::string_view detail);
ErrorCause forbidden(std::string field, std::string_view detail);
ErrorCause duplicate(std::string field, std::string_view shown_value);
ErrorCause not_found(std::string field, std::string_view shown_value);
ErrorCause too_long(std::string field, std::size_t limit);
ErrorCause not_supported(std::string field, std::string_view shown_value,
                         const std::vector<std::string_view>& supported);
// Causes as one text: "field: message", several in brackets, equal ones once.
std::string summary_of(const ErrorList& causes);
// Go's %q of a byte string: what is printable stays, UTF-8 too.
std::string quoted(std::string_view text);
// A string map as the API shows it: {"a":"b"}.
std::string shown(const StringMap& map);
std::string shown_or_null(const StringMap& map);  // of an empty one Go says null

// Each returns what is wrong with the text, nothing when it is right.
std::vector<std::string> dns_label_problems(std::string_view text);
std::vector<std::string> dns_subdomain_problems(std::string_view text);
// A domain, a slash and a path, as a manager's name is (upstream: IsDomainPrefixedPath).
ErrorList domain_path_problems(const std::string& field, const std::string& name);
std::vector<std::string> dns_1035_label_problems(std::string_view text);
std::vector<std::string> qualified_name_problems(std::string_view text);
std::vector<std::string> label_value_problems(std::string_view text);

using NameRule = std::vector<std::string> (*)(std::string_view);

void append(ErrorList& to, ErrorList&& more);
void must_be_port(ErrorList& out, const FieldPath& path, std::int32_t port);
ErrorList validate_labels(const StringMap& labels, const FieldPath& path);
ErrorList validate_annotations(const StringMap& annotations, const FieldPath& path);

// metadata of any object on create, and on update against what is stored.
ErrorList validate_metadata(const Object& object, NameRule name_rule);
ErrorList validate_metadata_update(const Object& updated, const Object& old);

}  // namespace ddptwin
