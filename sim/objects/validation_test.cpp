#include "objects/validation.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/apps_v1.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/defaults.hpp"
#include "objects/validation_apps_v1.hpp"
#include "objects/validation_core_v1.hpp"

namespace ddptwin::validation_test {
namespace {

std::vector<std::string> lines(const ErrorList& causes) {
  std::vector<std::string> out;
  for (const ErrorCause& cause : causes) out.push_back(cause.field + ": " + cause.message);
  return out;
}

using Lines = std::vector<std::string>;

// Recorded: api/api-invalid-pod-containers, -env and -volumes.
TEST(PodValidation, SaysItInTheServersWords) {
  const std::pair<const char*, Lines> rows[] = {
      {R"({})", {"spec.containers: Required value"}},
      {R"({"containers":[{"name":"c","image":"a"},{"name":"c","image":"a"}]})",
       {"spec.containers[1].name: Duplicate value: \"c\""}},
      {R"({"containers":[{"name":"c","image":" a"}]})",
       {"spec.containers[0].image: Invalid value: \" a\": must not have leading or trailing "
        "whitespace"}},
      {R"({"containers":[{"name":"c","image":"a"}],"restartPolicy":"Sometimes"})",
       {"spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
        "\"OnFailure\", \"Never\""}},
      {R"({"containers":[{"name":"c","image":"a","imagePullPolicy":"Sometimes",)"
       R"("terminationMessagePolicy":"X"}]})",
       {"spec.containers[0].terminationMessagePolicy: Unsupported value: \"X\": supported values: "
        "\"File\", \"FallbackToLogsOnError\"",
        "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: "
        "\"Always\", \"IfNotPresent\", \"Never\""}},
      {R"({"containers":[{"name":"c","image":"a","env":[{"name":"A=B","value":"x"}]}]})",
       {"spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name "
        "must consist only of printable ASCII characters other than '='"}},
      {R"({"containers":[{"name":"c","image":"a","volumeMounts":[{"name":"v","mountPath":"/v"}]}]})",
       {"spec.containers[0].volumeMounts[0].name: Not found: \"v\""}},
      {R"({"volumes":[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}}],)"
       R"("containers":[{"name":"c","image":"a"}]})",
       {"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"}},
      {R"({"containers":[{"name":"c","image":"a","resources":{"limits":{"cpu":"1"},)"
       R"("requests":{"cpu":"2"}}}]})",
       {"spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
        "to cpu limit of 1"}},
  };
  for (const auto& [text, expected] : rows) {
    auto spec = from_json<PodSpec>(boost::json::parse(text));
    ASSERT_TRUE(spec.has_value()) << text;
    Pod pod;
    pod.spec = std::move(*spec);
    default_pod(pod);
    EXPECT_EQ(lines(validate_pod(pod)), expected) << text;
  }
}

TEST(Names, AreJudgedByTheirRule) {
  EXPECT_TRUE(dns_subdomain_problems("a.b-c.d").empty());
  EXPECT_EQ(dns_label_problems("a.b"), Lines{"must not contain dots"});
  EXPECT_EQ(dns_label_problems(std::string(64, 'x')), Lines{"must be no more than 63 characters"});
  EXPECT_EQ(label_value_problems(std::string(64, 'x')), Lines{"must be no more than 63 bytes"});
  EXPECT_EQ(qualified_name_problems("/a"), Lines{"prefix part must be non-empty"});
  EXPECT_TRUE(qualified_name_problems("kubernetes.io/metadata.name").empty());
  EXPECT_FALSE(dns_1035_label_problems("1a").empty());
}

TEST(PodUpdate, ChangesImagesAndLittleElse) {
  Pod old;
  PodSpec& spec = old.spec.edit();
  spec.containers = {{.name = "c", .image = "a"}};
  default_pod(old);
  Pod image = old;
  image.spec.edit().containers.edit()[0].image = "b";
  EXPECT_TRUE(validate_pod_update(image, old).empty());
  Pod node = old;
  node.spec.edit().nodeName = "n";
  ASSERT_EQ(validate_pod_update(node, old).size(), 1u);
  EXPECT_TRUE(validate_pod_update(node, old)[0].message.starts_with(
      "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"));
}

struct AddressCase {
  const char* name;
  std::vector<const char*> ips;
  const char* refused;  // null: taken
};
class PodAddresses : public ::testing::TestWithParam<AddressCase> {};
TEST_P(PodAddresses, are_one_of_each_family_at_most) {
  Pod old, pod;
  old.status.rest.edit().podIPs = std::vector<IpEntry>{{"not-an-ip"}};
  for (const char* ip : GetParam().ips) pod.status.rest.edit().podIPs.edit().push_back({ip});
  set_primary_address(pod, old);
  const ErrorList errors = validate_pod_status_update(pod, old);
  EXPECT_EQ(lines(errors), GetParam().refused == nullptr ? Lines{} : Lines{GetParam().refused});
  const std::string_view first = GetParam().ips.empty() ? "" : GetParam().ips.front();
  EXPECT_EQ(pod.status.rest->podIP, first);
}
INSTANTIATE_TEST_SUITE_P(
    of, PodAddresses,
    ::testing::Values(
        AddressCase{"none", {}, nullptr}, AddressCase{"one", {"10.0.0.1"}, nullptr},
        AddressCase{"both_families", {"fd00::1", "10.0.0.1"}, nullptr},
        AddressCase{"two_of_one",
                    {"10.0.0.1", "10.0.0.2"},
                    "status.podIPs: Invalid value: [{\"IP\":\"10.0.0.1\"},{\"IP\":\"10.0.0.2\"}]: "
                    "may specify no more than one IP for each IP family"},
        AddressCase{"three",
                    {"10.0.0.1", "fd00::1", "fd00::2"},
                    "status.podIPs: Invalid value: [{\"IP\":\"10.0.0.1\"},{\"IP\":\"fd00::1\"},{"
                    "\"IP\":\"fd00::2\"}]: may specify no more than one IP for each IP family"},
        AddressCase{"no_address",
                    {"x"},
                    "status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. "
                    "10.9.8.7 or 2001:db8::ffff)"},
        AddressCase{"no_address_that_was_there_before", {"not-an-ip"}, nullptr}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(PodAddresses, the_primary_one_is_authoritative) {
  Pod old, pod;
  pod.status.rest.edit().podIP = "10.0.0.9";
  pod.status.rest.edit().podIPs = std::vector<IpEntry>{{"10.0.0.1"}, {"fd00::1"}};
  set_primary_address(pod, old);
  ASSERT_EQ(pod.status.rest->podIPs->size(), 1u);
  EXPECT_EQ(pod.status.rest->podIPs->front().ip, "10.0.0.9");
  pod.status.rest.edit().hostIP = "192.168.0.1";
  pod.status.rest.edit().hostIPs = std::vector<IpEntry>{{"192.168.0.2"}};
  EXPECT_EQ(lines(validate_pod_status_update(pod, old)),
            Lines{"status.hostIPs[0].ip: Invalid value: \"192.168.0.2\": must be equal to "
                  "`hostIP`"});
}

// The claims' volumes are no part of the template; the pods have them all the same.
TEST(StatefulSetValidation, ItsContainersMayMountItsClaims) {
  const auto problems = [](const std::string& mounted) {
    auto set = from_json<StatefulSet>(boost::json::parse(
        R"({"metadata":{"name":"s","namespace":"default"},"spec":{"serviceName":"s","selector":)"
        R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":)"
        R"({"containers":[{"name":"c","image":"i","volumeMounts":[{"mountPath":"/m","name":")" +
        mounted +
        R"("}]}],"volumes":[{"name":"tmp","emptyDir":{}}]}},"volumeClaimTemplates":[{"metadata":)"
        R"({"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
        R"({"storage":"1Gi"}}}}]}})"));
    EXPECT_TRUE(set) << set.error().text();
    if (!set) return Lines();
    default_stateful_set(*set);
    return lines(validate_stateful_set(*set));
  };
  EXPECT_EQ(problems("data"), Lines());
  EXPECT_EQ(problems("tmp"), Lines());
  EXPECT_EQ(problems("other"),
            Lines{"spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"other\""});
}

TEST(Validation, QuotesTextAsGoDoes) {
  EXPECT_EQ(quoted("a\"b\\c\n\t\r\a\b\f\v\x01\x7f\u00e9"),
            "\"a\\\"b\\\\c\\n\\t\\r\\a\\b\\f\\v\\x01\\x7f\u00e9\"");
}

}  // namespace
}  // namespace ddptwin::validation_test
