#include "objects/limit_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/fields.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

using LimitNames = std::set<std::string, std::less<>>;

const LimitRange& limit_range_in(const Object& object) {
  return static_cast<const LimitRange&>(object);
}

void fill_amounts(Cow<ResourceList>& to, const Cow<ResourceList>& from) {
  for (const auto& [name, amount] : from)
    if (!to.contains(name)) to.edit()[name] = amount;
}

// A container that says nothing may have all that is allowed, and asks for all that it may have.
void set_limit_defaults(Object& object) {
  for (LimitRangeItem& item : static_cast<LimitRange&>(object).spec.limits) {
    if (item.type_ != "Container") continue;
    fill_amounts(item.default_, item.max);
    fill_amounts(item.defaultRequest, item.default_);
    fill_amounts(item.defaultRequest, item.min);
  }
}

std::optional<Quantity> amount_in(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? std::nullopt : std::optional(found->second);
}

// The bounds of one resource against each other (upstream: ValidateLimitRange).
class BoundsCheck {
 public:
  BoundsCheck(const LimitRangeItem& item, const FieldPath& path, const std::string& name)
      : path_(path),
        name_(name),
        min_(amount_in(item.min, name)),
        max_(amount_in(item.max, name)),
        request_(amount_in(item.defaultRequest, name)),
        limit_(amount_in(item.default_, name)),
        ratio_(amount_in(item.maxLimitRequestRatio, name)) {}

  ErrorList run();

 private:
  struct Side {
    const std::optional<Quantity>& amount;
    std::string_view words;
  };
  // `low` may not be above `high`.
  void order(const Side& low, const Side& high, std::string_view field,
             const std::optional<Quantity>& shown) {
    if (!low.amount || !high.amount || *low.amount <= *high.amount) return;
    refuse(field, shown,
           fmt::format("{} value {} is greater than {} value {}", low.words, low.amount->str(),
                       high.words, high.amount->str()));
  }
  void refuse(std::string_view field, const std::optional<Quantity>& shown, std::string detail) {
    const FieldPath list = path_.field(field);
    out_.push_back(invalid(list.key(name_), quoted(shown->str()), detail));
  }
  void check_ratio();

  const FieldPath& path_;
  const std::string& name_;
  std::optional<Quantity> min_, max_, request_, limit_, ratio_;
  ErrorList out_{};
};

void BoundsCheck::check_ratio() {
  if (!ratio_) return;
  if (*ratio_ < Quantity::of(1))
    refuse("maxLimitRequestRatio", ratio_, fmt::format("ratio {} is less than 1", ratio_->str()));
  if (!min_ || !max_ || min_->zero()) return;
  const double most =
      static_cast<double>(max_->milli_value()) / static_cast<double>(min_->milli_value());
  if (static_cast<double>(ratio_->milli_value()) / 1000 > most)
    refuse("maxLimitRequestRatio", ratio_,
           fmt::format("ratio {} is greater than max/min = {:f}", ratio_->str(), most));
}

ErrorList BoundsCheck::run() {
  const Side min{min_, "min"}, max{max_, "max"};
  order(min, max, "min", min_);
  order(min, {request_, "default request"}, "defaultRequest", request_);
  order({request_, "default request"}, max, "defaultRequest", request_);
  order({request_, "default request"}, {limit_, "default limit"}, "defaultRequest", request_);
  order(min, {limit_, "default"}, "default", min_);
  order({limit_, "default"}, max, "default", max_);
  check_ratio();
  // A device cannot be promised twice.
  if (name_.find('/') != std::string::npos && limit_ && request_ && *limit_ != *request_)
    refuse("defaultRequest", request_,
           fmt::format("default value {} must equal to defaultRequest value {} in {}",
                       limit_->str(), request_->str(), name_));
  return std::move(out_);
}

void check_limit_names(ErrorList& out, const FieldPath& path, const ResourceList& list,
                       LimitNames& seen) {
  static constexpr std::array<std::string_view, 4> standard{"cpu", "memory", "ephemeral-storage",
                                                            "storage"};
  for (const auto& [name, amount] : list) {
    seen.insert(name);
    const std::string at = path.key(name);
    for (const std::string& problem : qualified_name_problems(name))
      out.push_back(invalid(at, quoted(name), problem));
    const bool known = std::find(standard.begin(), standard.end(), name) != standard.end() ||
                       name.starts_with("hugepages-");
    if (name.find('/') == std::string::npos && !known)
      out.push_back(
          invalid(at, quoted(name), "must be a standard resource type or fully qualified"));
  }
}

void check_limit_item(ErrorList& out, const LimitRangeItem& item, const FieldPath& path) {
  for (const std::string& problem : qualified_name_problems(item.type_))
    out.push_back(invalid(path.field("type"), quoted(item.type_), problem));
  if (item.type_.find('/') == std::string::npos && item.type_ != "Container" &&
      item.type_ != "Pod" && item.type_ != "PersistentVolumeClaim")
    out.push_back(invalid(path.field("type"), quoted(item.type_),
                          "must be a standard limit type or fully qualified"));
  LimitNames names;
  check_limit_names(out, path.field("max"), item.max, names);
  check_limit_names(out, path.field("min"), item.min, names);
  if (item.type_ == "Pod") {
    constexpr std::string_view why = "may not be specified when `type` is 'Pod'";
    if (!item.default_.empty()) out.push_back(forbidden(path.field("default"), why));
    if (!item.defaultRequest.empty()) out.push_back(forbidden(path.field("defaultRequest"), why));
  } else {
    check_limit_names(out, path.field("default"), item.default_, names);
    check_limit_names(out, path.field("defaultRequest"), item.defaultRequest, names);
  }
  if (item.type_ == "PersistentVolumeClaim" && !item.min.contains("storage") &&
      !item.max.contains("storage"))
    out.push_back(required(path.field("limits"),
                           "either minimum or maximum storage value is required, but neither was "
                           "provided"));
  check_limit_names(out, path.field("maxLimitRequestRatio"), item.maxLimitRequestRatio, names);
  for (const std::string& name : names) append(out, BoundsCheck(item, path, name).run());
}

ErrorList validate_range(const Object& object) {
  const FieldPath spec("spec");
  const FieldPath limits = spec.field("limits");
  const auto& items = limit_range_in(object).spec.limits;
  ErrorList out;
  LimitNames types;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const FieldPath path = limits.item(i);
    if (!types.insert(items[i].type_).second)
      out.push_back(duplicate(path.field("type"), quoted(items[i].type_)));
    check_limit_item(out, items[i], path);
  }
  return out;
}

}  // namespace

const Type& LimitRangeItem::type() {
  using S = LimitRangeItem;
  static const Type t =
      structure<S>("v1.LimitRangeItem", {F(type_, .always = true), F(max), F(min), F(default_),
                                         F(defaultRequest), F(maxLimitRequestRatio)});
  return t;
}
const Type& LimitRangeSpec::type() {
  using S = LimitRangeSpec;
  static const Type t = structure<S>("v1.LimitRangeSpec",
                                     {F(limits, .always = true, .required = true, .atomic = true)});
  return t;
}
const Type& LimitRange::type() {
  using S = LimitRange;
  static const Type t = structure<S>("v1.LimitRange", {F(metadata), F(spec)});
  return t;
}

const KindInfo& LimitRange::info() {
  static const KindInfo kind{
      .version = "v1",
      .kind = "LimitRange",
      .plural = "limitranges",
      .singular = "limitrange",
      .short_names = {"limits"},
      .type = &LimitRange::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<LimitRange>(); },
      .strategy = {.defaults = &set_limit_defaults,
                   .validate = &validate_range,
                   .validate_update = [](const Object& updated, const Object&) {
                     return validate_range(updated);
                   }}};
  return kind;
}

}  // namespace ddptwin
