// The one table of kinds: what the API calls each, what it can do, and how its objects are treated.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "objects/object.hpp"

namespace ddptwin {

// Where the scale subresource of a kind reads and writes (CustomResourceSubresourceScale).
struct ScalePaths {
  std::string spec_replicas;    // .spec.replicas
  std::string status_replicas;  // .status.replicas
  std::string label_selector;   // .status.selector, a LabelSelector (.spec.selector), or empty
};

struct PrinterColumn {
  std::string name{};
  std::string type{};  // string, integer, date, boolean, number
  std::string format{};
  std::string description{};
  std::string json_path{};  // of a custom resource
  int priority = 0;
  std::function<std::string(const Object&, Time now)> cell{};  // of a built-in kind
};

// A list of field errors, in the API's order; see validation.hpp.
using ErrorList = std::vector<ErrorCause>;

// What a kind's own code does on the way into the store (upstream: defaulting, strategy,
// validation). Absent functions do nothing.
struct Strategy {
  // What is wrong with a name; null: a DNS subdomain is asked (validation.hpp).
  std::vector<std::string> (*name_rule)(std::string_view name) = nullptr;
  void (*defaults)(Object&) = nullptr;
  // The part of `defaults` that is about the status; a write of /status leaves all else as it is.
  void (*status_defaults)(Object&) = nullptr;
  // On create and update: drop what the client may not set, keep what it may not change, bump
  // generation.
  void (*prepare_create)(Object&) = nullptr;
  void (*prepare_update)(Object& updated, const Object& old) = nullptr;
  void (*prepare_status_update)(Object& updated, const Object& old) = nullptr;
  ErrorList (*validate)(const Object&) = nullptr;
  ErrorList (*validate_update)(const Object& updated, const Object& old) = nullptr;
  ErrorList (*validate_status_update)(const Object& updated, const Object& old) = nullptr;
  std::vector<std::string> (*warnings)(const Object&) = nullptr;
  // A deletion with grace: the grace period this object gets for the one asked (pods), or 0 for at
  // once.
  std::optional<std::int64_t> (*grace_period)(const Object&,
                                              std::optional<std::int64_t> asked) = nullptr;
  // Told where a deletion does not say what is to become of dependants, which stay then; empty:
  // they go.
  std::string_view orphans_unasked{};
  // Field selectors beyond metadata.name and metadata.namespace: the field's value, or nothing.
  std::optional<std::string> (*field)(const Object&, std::string_view path) = nullptr;
  std::span<const std::string_view> fields{};
  // So long after its last write an object goes by itself; zero: it stays.
  Duration time_to_live{};
};

struct KindInfo {
  std::string group{};  // "" for the core group
  std::string version{};
  std::string kind{};
  std::string plural{};
  std::string singular{};
  std::vector<std::string> short_names{};
  std::vector<std::string> categories{};
  bool namespaced = true;
  bool status = false;  // has the status subresource
  std::optional<ScalePaths> scale{};
  bool custom = false;  // stored as a custom resource: verbatim, generation bumped on spec change
  bool generation = false;  // built-in kinds that count their spec's versions; custom ones do
  bool generation_of_labels = false;  // counts changes of labels too
  RawJson schema{};  // of a custom resource: openAPIV3Schema, for pruning, defaults, validation
  TypeRef type = nullptr;  // null: GenericObject
  std::shared_ptr<Object> (*make)() = nullptr;
  Strategy strategy{};
  std::vector<PrinterColumn> columns{};

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // "pods", "pytorchjobs.kubeflow.org": the name in error messages.
  std::string resource() const { return group.empty() ? plural : plural + "." + group; }
};

// Kinds by name. Built-in rows live for ever; rows of CRDs come and go with them.
class KindRegistry {
 public:
  // All built-in kinds.
  KindRegistry();

  void add(std::shared_ptr<const KindInfo> kind);
  void remove(std::string_view group, std::string_view kind);
  const KindInfo* find(std::string_view api_version, std::string_view kind) const;
  const KindInfo* find_plural(std::string_view group, std::string_view version,
                              std::string_view plural) const;
  std::shared_ptr<const KindInfo> share(const KindInfo& kind) const;
  // In the order of their adding.
  std::vector<const KindInfo*> all() const;
  // A new, empty object of that kind.
  std::shared_ptr<Object> make(const KindInfo& kind) const;

 private:
  std::vector<std::shared_ptr<const KindInfo>> kinds_;
};

// Every built-in row; one line a kind in kinds.cpp.
std::span<const KindInfo* const> built_in_kinds();

}  // namespace ddptwin
