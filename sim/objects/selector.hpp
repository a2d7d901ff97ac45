// Label and field selectors: the query language of list, watch and of label selector objects.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "objects/pod_spec.hpp"

namespace ddptwin {

struct LabelRequirement {
  enum class Operator : std::uint8_t { exists, does_not_exist, in, not_in, greater, less };
  std::string key{};
  Operator op = Operator::exists;
  std::vector<std::string> values{};

  bool matches(const StringMap& labels) const;
};

// All requirements must hold; none of them matches everything.
class LabelMatcher {
 public:
  LabelMatcher() = default;
  // "a=b,c!=d,e in (x,y),!f"; refuses in the API's words (spec/kubernetes.md section 1.9).
  static Result<LabelMatcher> parse(std::string_view text);
  // A metav1.LabelSelector. An empty one matches everything.
  static Result<LabelMatcher> from(const LabelSelector& selector);
  static LabelMatcher from(const StringMap& labels);

  bool matches(const StringMap& labels) const;
  bool empty() const { return requirements_.empty(); }
  // metav1.FormatLabelSelector's text: "a=b,c in (x,y)".
  std::string text() const;

 private:
  std::vector<LabelRequirement> requirements_{};
};

struct FieldRequirement {
  std::string field{};
  std::string value{};
  bool negated = false;
};

// "metadata.name=x,spec.nodeName!=y". Whether a kind knows the fields is the caller's to say.
class FieldMatcher {
 public:
  static Result<FieldMatcher> parse(std::string_view text);

  // `value` answers what the field holds.
  bool matches(const std::function<std::string(std::string_view field)>& value) const;
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }
  bool empty() const { return requirements_.empty(); }

 private:
  std::vector<FieldRequirement> requirements_{};
};

}  // namespace ddptwin
