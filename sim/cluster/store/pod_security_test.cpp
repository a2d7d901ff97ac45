#include "cluster/store/pod_security.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/batch_v1.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::pod_security_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PodSecurity : public testing::Test {
 protected:
  // The refusal, or else the warnings, one a line; empty: let in without a word.
  std::string say(const Result<api::Response>& answer) {
    if (!answer) return answer.error().message;
    std::string lines;
    for (const std::string& one : answer->warnings) lines += (lines.empty() ? "" : "\n") + one;
    return lines;
  }
  std::string label(const std::string& labels) {
    const auto found = store_.find<Namespace>({}, "team");
    auto object = std::make_shared<Namespace>();
    if (found != nullptr) object = std::make_shared<Namespace>(*found);
    object->metadata.name = "team";
    StringMap map;
    const boost::json::value parsed = boost::json::parse("{" + labels + "}");
    for (const auto& [key, value] : parsed.get_object())
      map["pod-security.kubernetes.io/" + std::string(key)] = std::string(value.get_string());
    object->metadata.labels = map;
    return say(store_.call(found != nullptr ? api::update(object) : api::create(object), "test"));
  }
  // `more`: members of the pod's specification and, behind |, of its container.
  Result<api::Response> create(const std::string& name, const std::string& more) {
    const std::size_t bar = more.find('|');
    const std::string of_pod = more.substr(0, bar);
    const std::string of_container = bar == more.npos ? "" : more.substr(bar + 1);
    auto pod = std::make_shared<Pod>();
    auto spec = from_json<PodSpec>(boost::json::parse(fmt::format(
        R"({{"terminationGracePeriodSeconds":30,"containers":[{{"name":"c","image":"i"{}{}}}]{}{}}})",
        of_container.empty() ? "" : ",", of_container, of_pod.empty() ? "" : ",", of_pod)));
    EXPECT_TRUE(spec) << more;
    pod->spec = std::move(*spec);
    pod->metadata.name = name;
    pod->metadata.namespace_ = "team";
    return store_.call(api::create(pod), "test");
  }

  VirtualLoop loop_{Random(1), Time{std::chrono::hours(24)}};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(7), trace_, kinds_, Store::Options()};
};

TEST_F(PodSecurity, without_labels_everything_is_let_in) {
  EXPECT_EQ(label(""), "");
  EXPECT_EQ(say(create(
                "p", R"("hostNetwork":true,"hostPID":true|"securityContext":{"privileged":true})")),
            "");
}

// One pod a check, in upstream's words.
TEST_F(PodSecurity, baseline_forbids) {
  ASSERT_EQ(label(R"("enforce":"baseline")"), "");
  const std::pair<const char*, std::string> rows[] = {
      {"", ""},
      {R"("hostNetwork":true,"hostIPC":true)", "host namespaces (hostNetwork=true, hostIPC=true)"},
      {R"(|"ports":[{"containerPort":1,"hostPort":80}])",
       R"(hostPort (container "c" uses hostPort 80))"},
      {R"(|"ports":[{"containerPort":1}])", ""},
      {R"(|"livenessProbe":{"tcpSocket":{"port":1,"host":"h"}})",
       R"(probe or lifecycle host (container "c" uses probe or lifecycle host "h"))"},
      {R"(|"securityContext":{"privileged":true})",
       R"(privileged (container "c" must not set securityContext.privileged=true))"},
      {R"(|"securityContext":{"procMount":"Unmasked"})",
       R"(procMount (container "c" must not set securityContext.procMount to "Unmasked"))"},
      {R"("securityContext":{"seLinuxOptions":{"type":"x","user":"u"}})",
       R"(seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; user may not be set))"},
      {R"("securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"},{"name":"net.ipv4.tcp_syncookies","value":"1"}]})",
       "forbidden sysctls (kernel.msgmax)"},
      {R"(|"securityContext":{"capabilities":{"add":["SYS_ADMIN","CHOWN","NET_RAW"]}})",
       R"(non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add))"},
      {R"("volumes":[{"name":"h","hostPath":{"path":"/"}},{"name":"e","emptyDir":{}}])",
       R"(hostPath volumes (volume "h"))"},
      {R"("securityContext":{"seccompProfile":{"type":"Unconfined"}})",
       R"(seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"))"},
      {R"("hostNetwork":true|"securityContext":{"privileged":true})",
       R"(host namespaces (hostNetwork=true), privileged (container "c" must not set securityContext.privileged=true))"},
  };
  int number = 0;
  for (const auto& [more, why] : rows) {
    const std::string name = fmt::format("p{}", ++number);
    EXPECT_EQ(
        say(create(name, more)),
        why.empty()
            ? ""
            : fmt::format("pods \"{}\" is forbidden: violates PodSecurity \"baseline:latest\": {}",
                          name, why))
        << more;
  }
}

TEST_F(PodSecurity, restricted_demands) {
  ASSERT_EQ(label(R"("enforce":"restricted","enforce-version":"v1.30")"), "");
  EXPECT_EQ(
      say(create("p", "")),
      "pods \"p\" is forbidden: violates PodSecurity \"restricted:v1.30\": "
      "allowPrivilegeEscalation != false (container \"c\" must set "
      "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
      "\"c\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod "
      "or container \"c\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or "
      "container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
      "\"Localhost\")");
  const std::string good =
      R"("securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}|)"
      R"("securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})";
  EXPECT_EQ(say(create("good", good)), "");
  const auto with = [&](const std::string& more) { return say(create("q", more + good)); };
  EXPECT_THAT(
      with(R"("volumes":[{"name":"n","nfs":{"server":"s","path":"/"}}],)"),
      HasSubstr(R"(: restricted volume types (volume "n" uses restricted volume type "nfs"))"));
  EXPECT_THAT(
      say(create(
          "q",
          R"("securityContext":{"runAsNonRoot":false,"runAsUser":0,"seccompProfile":{"type":"Localhost"}}|)"
          R"("securityContext":{"allowPrivilegeEscalation":false,"runAsUser":0,"capabilities":{"drop":["ALL"],"add":["CHOWN"]}})")),
      HasSubstr(
          R"(: unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add), )"
          R"(runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), )"
          R"(runAsUser=0 (pod and container "c" must not set runAsUser=0))"));
}

// A version that is older than a check does not know it.
TEST_F(PodSecurity, a_version_has_the_checks_of_its_time) {
  ASSERT_EQ(label(R"("enforce":"restricted","enforce-version":"v1.18")"), "");
  EXPECT_EQ(
      say(create(
          "p",
          R"("securityContext":{"runAsNonRoot":true,"runAsUser":0}|"securityContext":{"allowPrivilegeEscalation":false})")),
      "");
}

TEST_F(PodSecurity, who_makes_pods_is_warned) {
  ASSERT_EQ(label(R"("enforce":"privileged","warn":"baseline")"), "");
  const std::string said =
      "would violate PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)";
  EXPECT_EQ(say(create("p", R"("hostNetwork":true)")), said);
  auto job = std::make_shared<Job>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "team";
  PodSpec& spec = job->spec.edit().template_.spec.edit();
  spec.restartPolicy = "Never";
  spec.hostNetwork = true;
  spec.containers = {{.name = "c", .image = "i"}};
  EXPECT_EQ(say(store_.call(api::create(job), "test")), said);
  // Without a word on warnings those of what is enforced are given: a Job is let in all the same.
  ASSERT_EQ(label(R"("enforce":"baseline")").substr(0, 13), "existing pods");
  auto other = std::make_shared<Job>(*job);
  other->metadata.name = "k";
  EXPECT_EQ(say(store_.call(api::create(other), "test")), said);
}

TEST_F(PodSecurity, a_namespace_that_becomes_stricter_tells_of_its_pods) {
  ASSERT_EQ(label(""), "");
  for (const char* name : {"b", "a", "z"}) ASSERT_TRUE(create(name, R"("hostPID":true)"));
  ASSERT_TRUE(create("ports", R"(|"ports":[{"containerPort":1,"hostPort":80}])"));
  ASSERT_TRUE(create("good", ""));
  EXPECT_EQ(label(R"("enforce":"baseline")"),
            "existing pods in namespace \"team\" violate the new PodSecurity enforce level "
            "\"baseline:latest\"\n"
            "a (and 2 other pods): host namespaces\n"
            "ports: hostPort");
  EXPECT_EQ(label(R"("enforce":"baseline")"), "") << "nothing new";
  EXPECT_EQ(label(R"("enforce":"baselin")"),
            "Namespace \"team\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: "
            "Invalid value: \"baselin\": must be one of privileged, baseline, restricted");
  EXPECT_THAT(label(R"("enforce-version":"1.30")"), HasSubstr("must be \"latest\" or \"v1.x\""));
}

// A pod that was let in before is let be, whoever changes its labels.
TEST_F(PodSecurity, what_changes_nothing_that_is_looked_at_is_let_in) {
  ASSERT_EQ(label(""), "");
  ASSERT_TRUE(create("p", R"("hostPID":true)"));
  label(R"("enforce":"baseline")");
  auto pod = std::make_shared<Pod>(*store_.find<Pod>("team", "p"));
  pod->metadata.labels = StringMap{{"a", "b"}};
  EXPECT_EQ(say(store_.call(api::update(pod), "test")), "");
  pod = std::make_shared<Pod>(*store_.find<Pod>("team", "p"));
  pod->spec.edit().containers.edit().front().image = "j";
  EXPECT_THAT(say(store_.call(api::update(pod), "test")), HasSubstr("violates PodSecurity"));
}

}  // namespace
}  // namespace ddptwin::pod_security_test
