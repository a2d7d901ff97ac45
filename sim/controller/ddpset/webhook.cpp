#include "controller/ddpset/webhook.hpp"

#include <fmt/format.h>

#include "controller/toolkit/denial.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::ddpset {
namespace {

// A label's value and a host's name.
constexpr std::size_t pod_name_max = 63;

void judge_name(const DDPSet& set, ErrorList& errors) {
  const std::string name = set.metadata.name.str();
  for (const std::string& problem : dns_label_problems(name))
    errors.push_back(invalid("metadata.name", quoted(name), problem));
  const std::int64_t last =
      std::int64_t{ordinals_start_of(*set.spec)} + std::max(replicas_of(*set.spec) - 1, 0);
  const std::string pod = fmt::format("{}-{}", name, last);
  if (pod.size() > pod_name_max)
    errors.push_back(invalid("metadata.name", quoted(name),
                             fmt::format("its pod {} would have a name of {} characters: must be "
                                         "no more than {}",
                                         pod, pod.size(), pod_name_max)));
}

void judge_service_name(const DDPSet& set, ErrorList& errors) {
  const std::string name = service_name_of(set);
  for (const std::string& problem : dns_1035_label_problems(name))
    errors.push_back(invalid("spec.serviceName", quoted(name), problem));
}

void judge_template(const DDPSet& set, ErrorList& errors) {
  const PodSpec& pod = *set.spec->template_.spec;
  if (pod.containers.empty()) errors.push_back(required("spec.template.spec.containers"));
  if (!pod.restartPolicy.empty() && pod.restartPolicy != "Always")
    errors.push_back(not_supported("spec.template.spec.restartPolicy",
                                   quoted(std::string(pod.restartPolicy)), {"Always"}));
}

void judge_update(const DDPSet& set, const DDPSet& old, ErrorList& errors) {
  const auto must_stay = [&errors](std::string_view field, const std::string& now,
                                   const std::string& was) {
    if (now != was)
      errors.push_back(invalid(std::string(field), quoted(now), "field is immutable"));
  };
  must_stay("spec.serviceName", service_name_of(set), service_name_of(old));
  must_stay("spec.podManagementPolicy", set.spec->podManagementPolicy,
            old.spec->podManagementPolicy);
}

}  // namespace

std::optional<Error> review(const DDPSet& set, const DDPSet* old) {
  ErrorList errors;
  judge_name(set, errors);
  judge_service_name(set, errors);
  judge_template(set, errors);
  if (old != nullptr) judge_update(set, *old, errors);
  if (errors.empty()) return std::nullopt;
  return Error{.reason = Reason::forbidden, .message = denied_by(webhook_name, summary_of(errors))};
}

}  // namespace ddptwin::controller::ddpset
