// What is filled in and refused (spec/trainjob.md §4.2, §5.9), and where pods are put (§5.10).
#include "controller/jobset/webhook.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "controller/jobset/names.hpp"
#include "controller/jobset/pod_webhook.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::jobset::webhook_test {
namespace {

using testing::HasSubstr;

std::shared_ptr<JobSet> set_of(std::string_view spec) {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "js";
  set->metadata.namespace_ = "ml";
  Json source = boost::json::parse(spec);
  auto read = from_json<JobSetSpec>(source);
  EXPECT_TRUE(read.has_value());
  set->spec.edit() = *read;
  set->spec.set_source(RawJson(std::move(source)));
  fill_in(*set);
  return set;
}

constexpr std::string_view one_group =
    R"({"replicatedJobs": [{"name": "w", "groupName": "default", "replicas": 1, "template":
        {"spec": {"completions": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}}}]})";

std::string refusal(const JobSet& set, const Profile& profile = default_profile()) {
  const auto refused = review_new(set, profile, nullptr);
  return refused ? refused->message : "";
}
std::string refusal_of_change(const JobSet& now, const JobSet& old,
                              const Profile& profile = default_profile()) {
  const auto refused = review_change(now, old, profile);
  return refused ? refused->message : "";
}

TEST(JobSetWebhook, fills_in_what_upstream_fills_in) {
  const auto set = set_of(one_group);
  const JobSetSpec& spec = *set->spec;
  EXPECT_EQ(spec.successPolicy->operator_, "All");
  EXPECT_EQ(spec.startupPolicy->startupPolicyOrder, "AnyOrder");
  EXPECT_EQ(spec.network->enableDNSHostnames, true);
  EXPECT_EQ(spec.network->publishNotReadyAddresses, true);
  const JobSpec& job = *spec.replicatedJobs.front().template_.spec;
  EXPECT_EQ(job.completionMode, "Indexed");
  EXPECT_EQ(job.template_.spec->restartPolicy, "OnFailure");
  EXPECT_EQ(refusal(*set), "");
}

TEST(JobSetWebhook, leaves_what_its_encoder_would_leave_out) {
  const auto set = set_of(
      R"({"replicatedJobs": [{"name": "w", "groupName": "default", "replicas": 0, "template":
          {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}}]})");
  const auto& jobs = set->spec.source().get()->as_object().at("replicatedJobs").as_array();
  EXPECT_EQ(jobs.front().as_object().at("replicas"), 0);
  EXPECT_TRUE(jobs.front().as_object().at("template").as_object().contains("metadata"));
}

TEST(JobSetWebhook, names_rules_that_have_no_name) {
  const auto set = set_of(R"({"failurePolicy": {"rules": [{"action": "FailJobSet"},
                                                          {"action": "FailJobSet"}]}})");
  EXPECT_EQ(set->spec->failurePolicy->rules[1].name, "failurePolicyRule1");
}

TEST(JobSetWebhook, refuses_names_that_become_too_long) {
  const auto set = set_of(one_group);
  set->metadata.name = std::string(52, 'a');
  EXPECT_EQ(refusal(*set),
            "admission webhook \"vjobset.kb.io\" denied the request: JobSet.jobset.x-k8s.io \"" +
                std::string(52, 'a') + "\" is invalid: spec.replicatedJobs[0].name: Invalid " +
                "value: \"" + std::string(52, 'a') +
                "-w-0\": JobSet name is too long, pod names generated for this JobSet will exceed "
                "63 characters");
  set->metadata.name = std::string(51, 'a');
  EXPECT_EQ(refusal(*set), "");
}

TEST(JobSetWebhook, refuses_dependencies_on_what_comes_later) {
  const auto set = set_of(one_group);
  JobSetSpec& spec = set->spec.edit();
  spec.replicatedJobs.push_back(spec.replicatedJobs.front());
  spec.replicatedJobs[1].name = "v";
  spec.replicatedJobs[1].dependsOn = std::vector{JobSetDependency{"x", "Ready"}};
  EXPECT_THAT(refusal(*set), HasSubstr("<nil>: Internal error: replicatedJob: v cannot depend on "
                                       "replicatedJob: x"));
  spec.replicatedJobs[1].dependsOn->front().name = "v";  // upstream lets it wait for itself
  EXPECT_EQ(refusal(*set), "");
  spec.replicatedJobs[0].dependsOn = std::vector<JobSetDependency>();
  EXPECT_THAT(refusal(*set), HasSubstr("DependsOn can't be set for the first ReplicatedJob"));
}

TEST(JobSetWebhook, refuses_a_coordinator_that_is_nowhere) {
  const auto set = set_of(one_group);
  set->spec.edit().coordinator = JobSetCoordinator{"x", 0, 0};
  EXPECT_THAT(refusal(*set), HasSubstr("coordinator replicatedJob x does not exist"));
  set->spec.edit().coordinator = JobSetCoordinator{"w", 1, 0};
  EXPECT_THAT(refusal(*set), HasSubstr("coordinator job index 1 is invalid for replicatedJob w"));
  set->spec.edit().coordinator = JobSetCoordinator{"w", 0, 1};
  EXPECT_THAT(refusal(*set),
              HasSubstr("coordinator pod index 1 is invalid for replicatedJob w job index 0"));
  set->spec.edit().coordinator = JobSetCoordinator{"w", 0, 0};
  EXPECT_EQ(refusal(*set), "");
  EXPECT_EQ(coordinator_of(*set), "js-w-0-0.js");
}

TEST(JobSetWebhook, older_releases_refuse_with_a_text_alone) {
  const auto set = set_of(one_group);
  set->spec.edit().coordinator = JobSetCoordinator{"x", 0, 0};
  const auto refused = review_new(*set, *find_profile("v0.11"), nullptr);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->reason, Reason::forbidden);
  EXPECT_EQ(refused->message,
            "admission webhook \"vjobset.kb.io\" denied the request: coordinator replicatedJob x "
            "does not exist");
}

TEST(JobSetWebhook, claims_must_be_mounted_and_fit_what_is_there) {
  const auto set = set_of(one_group);
  ClaimTemplate claim;
  claim.metadata.name = "data";
  set->spec.edit().volumeClaimPolicies = {
      {.templates = {claim}, .retentionPolicy = JobSetClaimRetention{.whenDeleted = "Delete"}}};
  EXPECT_THAT(refusal(*set), HasSubstr("don't have a matching volumeMount: data"));
  VolumeMount mount;
  mount.name = "data";
  PodSpec& pod = set->spec.edit().replicatedJobs[0].template_.spec.edit().template_.spec.edit();
  pod.containers.edit().front().volumeMounts.edit().push_back(mount);
  EXPECT_EQ(refusal(*set), "");
  const auto refused = review_new(*set, default_profile(), [](std::string_view name) {
    EXPECT_EQ(name, "data-js");
    return std::make_shared<const PersistentVolumeClaim>();
  });
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(refused->message, HasSubstr("retentionPolicy must be retain when PVC exists"));
}

TEST(JobSetWebhook, a_template_changes_only_while_suspended_and_only_where_kueue_changes_it) {
  const auto old = set_of(one_group);
  const auto change = [](JobSet& set) -> PodSpec& {
    return set.spec.edit().replicatedJobs[0].template_.spec.edit().template_.spec.edit();
  };
  auto now = std::static_pointer_cast<JobSet>(old->clone());
  change(*now).nodeSelector = StringMap{{"pool", "p1"}};
  EXPECT_THAT(refusal_of_change(*now, *old), HasSubstr("spec.replicatedJobs: Invalid value"));
  now->spec.edit().suspend = true;
  EXPECT_EQ(refusal_of_change(*now, *old), "");
  change(*now).containers.edit().front().image = "other";
  EXPECT_THAT(refusal_of_change(*now, *old), HasSubstr("field is immutable"));
}

TEST(JobSetWebhook, scaling_is_gated) {
  const auto old = set_of(one_group);
  const auto scaled = [&](std::int32_t parallelism, std::int32_t completions) {
    auto now = std::static_pointer_cast<JobSet>(old->clone());
    JobSpec& job = now->spec.edit().replicatedJobs[0].template_.spec.edit();
    job.parallelism = parallelism;
    job.completions = completions;
    return now;
  };
  Profile gated = default_profile();
  ASSERT_TRUE(set_gates("ElasticJobSet=true", gated));
  EXPECT_THAT(refusal_of_change(*scaled(3, 3), *old), HasSubstr("field is immutable"));
  EXPECT_EQ(refusal_of_change(*scaled(3, 3), *old, gated), "");
  EXPECT_THAT(refusal_of_change(*scaled(2, 3), *old, gated),
              HasSubstr("completions must be equal to parallelism for Elastic Indexed Jobs"));
  EXPECT_THAT(refusal_of_change(*scaled(0, 0), *old, gated), HasSubstr("must be >= 1"));
}

// ---- exclusive placement -----------------------------------------------------------------------

std::shared_ptr<Pod> pod_of(std::string_view name, std::string_view index) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "ml";
  pod->metadata.labels = StringMap{{Text(keys::jobset_name), Text("js")},
                                   {Text(keys::replicated_job), Text("w")},
                                   {Text(keys::job_index), Text("0")},
                                   {Text(keys::job_key), Text("k")}};
  pod->metadata.annotations =
      StringMap{{Text(keys::jobset_name), Text("js")},
                {Text(keys::exclusive), Text("rack")},
                {Text("batch.kubernetes.io/job-completion-index"), Text(index)}};
  OwnerReference owner;
  owner.kind = "Job";
  owner.uid = "u-job";
  owner.controller = true;
  pod->metadata.ownerReferences = std::vector{owner};
  pod->spec.edit().priority = 7;
  return pod;
}

struct ExclusivePlacement : testing::Test {
  std::vector<std::shared_ptr<const Pod>> pods{};
  std::shared_ptr<Node> node = std::make_shared<Node>();
  Surroundings around{.pods = [this](std::string_view) { return pods; },
                      .node = [this](std::string_view) { return node; }};
};

TEST_F(ExclusivePlacement, the_leader_draws_the_domain) {
  const auto leader = pod_of("js-w-0-0-abcde", "0");
  ASSERT_TRUE(place(*leader, around, default_profile()));
  EXPECT_EQ(leader->metadata.label(keys::priority)->view(), "7");
  const auto& terms =
      leader->spec->affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms.front().topologyKey, "rack");
  EXPECT_EQ(terms.front().labelSelector->matchExpressions.size(), 3U);
  EXPECT_TRUE(review_placement(*leader, around));
}

TEST_F(ExclusivePlacement, followers_wait_for_its_node_and_go_where_it_is) {
  const auto follower = pod_of("js-w-0-1-fghij", "1");
  ASSERT_TRUE(place(*follower, around, default_profile()));
  EXPECT_EQ(review_placement(*follower, around).error().message,
            "admission webhook \"vpod.kb.io\" denied the request: follower pod node selector not "
            "set");
  const auto leader = pod_of("js-w-0-0-abcde", "0");
  leader->spec.edit().nodeName = "n1";
  pods = {leader};
  EXPECT_EQ(place(*follower, around, default_profile()).error().message,
            "admission webhook \"mpod.kb.io\" denied the request: node does not have topology "
            "label: rack");
  node->metadata.labels = StringMap{{Text("rack"), Text("r1")}};
  ASSERT_TRUE(place(*follower, around, default_profile()));
  EXPECT_EQ(follower->spec->nodeSelector->at(Text("rack")).view(), "r1");
  EXPECT_TRUE(review_placement(*follower, around));
  pods.push_back(pod_of("js-w-0-0-klmno", "0"));
  EXPECT_THAT(review_placement(*follower, around).error().message,
              HasSubstr("expected 1 leader pod (js-w-0-0), but got 2"));
}

TEST_F(ExclusivePlacement, pods_of_others_are_left_alone) {
  const auto pod = pod_of("x", "1");
  pod->metadata.annotations = {};
  ASSERT_TRUE(place(*pod, around, default_profile()));
  EXPECT_TRUE(pod->spec->nodeSelector.empty());
  EXPECT_TRUE(review_placement(*pod, around));
}

}  // namespace
}  // namespace ddptwin::controller::jobset::webhook_test
