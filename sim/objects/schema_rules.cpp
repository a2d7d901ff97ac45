#include "objects/schema_rules.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

namespace ddptwin {
namespace {

namespace json = boost::json;

// A member, or null where the value is no object or has none such.
const json::value* member_of_self(const json::value& self, std::string_view name) {
  const json::object* members = self.if_object();
  return members != nullptr ? members->if_contains(name) : nullptr;
}
bool has_member(const json::value& self, std::string_view name) {
  return member_of_self(self, name) != nullptr;
}

// The text at that place; empty where there is none, as of an object that is still to get its name.
std::string_view text_within(const json::value& self, std::string_view outer,
                             std::string_view inner) {
  const json::value* holder = member_of_self(self, outer);
  const json::value* text = holder != nullptr ? member_of_self(*holder, inner) : nullptr;
  return text != nullptr && text->is_string() ? std::string_view(text->get_string())
                                              : std::string_view();
}
std::string_view text_of_self(const json::value& self) {
  return self.is_string() ? std::string_view(self.get_string()) : std::string_view();
}

bool is_lower_char(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter_char(char c) { return is_lower_char(c) || (c >= 'A' && c <= 'Z'); }
bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

bool has_label_name(const json::value& self) {
  const std::string_view name = text_within(self, "metadata", "name");
  const auto may_end = [](char c) { return is_lower_char(c) || is_digit_char(c); };
  return name.empty() ||
         (is_lower_char(name.front()) && may_end(name.back()) &&
          std::all_of(name.begin(), name.end(), [&](char c) { return may_end(c) || c == '-'; }));
}

bool has_short_name(const json::value& self) {
  constexpr std::size_t longest = 63;
  return text_within(self, "metadata", "name").size() <= longest;
}

bool is_uri(const json::value& self) {
  const std::string_view text = text_of_self(self);
  if (text.empty()) return true;
  constexpr std::string_view after_scheme = "://";
  const auto of_scheme = [](char c) {
    return is_letter_char(c) || is_digit_char(c) || c == '+' || c == '.' || c == '-';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), of_scheme);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.begin()));
  // The dot of the expression is no line end.
  return is_letter_char(text.front()) && rest.starts_with(after_scheme) &&
         rest.size() > after_scheme.size() && rest.find('\n') == std::string_view::npos;
}

bool is_trainjob_manager(const json::value& self) {
  const std::string_view name = text_of_self(self);
  return name == "trainer.kubeflow.org/trainjob-controller" || name == "kueue.x-k8s.io/multikueue";
}

template <std::size_t n>
std::size_t how_many(const json::value& self, const std::array<std::string_view, n>& names) {
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [&](auto name) { return has_member(self, name); }));
}

bool has_one_policy(const json::value& self) {
  return how_many<5>(self, {"torch", "mpi", "jax", "xgboost", "flux"}) <= 1;
}
bool has_one_of_two_policies(const json::value& self) {
  return how_many<2>(self, {"torch", "mpi"}) <= 1;
}

bool counts_nodes_once(const json::value& self) {
  const json::value* torch = member_of_self(self, "torch");
  return !(has_member(self, "numNodes") && torch != nullptr && has_member(*torch, "elasticPolicy"));
}

bool is_number_or_word(const json::value& self) {
  const std::string_view word = text_of_self(self);
  return self.is_number() ? self.to_number<double>() > 0
                          : word == "auto" || word == "cpu" || word == "gpu";
}

bool is_positive(const json::value& self) {
  return !self.is_number() || self.to_number<double>() >= 1;
}

bool is_without_node(const json::value& self) {
  const json::array* names = self.if_array();
  return names == nullptr || std::none_of(names->begin(), names->end(), [](const auto& one) {
           return text_of_self(one) == "node";
         });
}

bool has_update_time(const json::value& self) { return has_member(self, "lastUpdatedTime"); }

bool orders_jobs_once(const json::value& self) {
  if (text_within(self, "startupPolicy", "startupPolicyOrder") != "InOrder") return true;
  const json::value* jobs = member_of_self(self, "replicatedJobs");
  return jobs == nullptr || !jobs->is_array() ||
         std::none_of(jobs->get_array().begin(), jobs->get_array().end(),
                      [](const auto& one) { return has_member(one, "dependsOn"); });
}

bool has_claims_of_no_namespace(const json::value& self) {
  const json::value* templates = member_of_self(self, "templates");
  return templates == nullptr || !templates->is_array() ||
         std::all_of(
             templates->get_array().begin(), templates->get_array().end(),
             [](const auto& one) { return text_within(one, "metadata", "namespace").empty(); });
}

struct KnownRule {
  std::string_view text;
  RuleHolds holds;
};

constexpr std::array known_rules{
    KnownRule{"self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", &has_label_name},
    KnownRule{"size(self.metadata.name) <= 63", &has_short_name},
    KnownRule{"self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')", &is_uri},
    KnownRule{"self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",
              &is_trainjob_manager},
    KnownRule{"[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),"
              "has(self.flux)].filter(x, x).size() <= 1",
              &has_one_policy},
    KnownRule{"!(has(self.torch) && has(self.mpi))", &has_one_of_two_policies},
    KnownRule{"!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))",
              &counts_nodes_once},
    KnownRule{"self > 0 || self in ['auto', 'cpu', 'gpu']", &is_number_or_word},
    KnownRule{"self >= 1", &is_positive},
    KnownRule{"!self.exists(c, c == 'node')", &is_without_node},
    KnownRule{"has(self.lastUpdatedTime)", &has_update_time},
    KnownRule{"!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
              "self.replicatedJobs.exists(x, has(x.dependsOn)))",
              &orders_jobs_once},
    KnownRule{"self.templates.all(t, !has(t.metadata.namespace) || "
              "size(t.metadata.namespace) == 0)",
              &has_claims_of_no_namespace},
};

}  // namespace

RuleHolds find_rule(std::string_view text) {
  const auto* found = std::find_if(known_rules.begin(), known_rules.end(),
                                   [&](const KnownRule& one) { return one.text == text; });
  return found != known_rules.end() ? found->holds : nullptr;
}

}  // namespace ddptwin
