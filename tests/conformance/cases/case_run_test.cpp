// A case of the table can fail: by what it says, and by how it says it.
#include "case_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects/yaml.hpp"

namespace ddptwin::conformance::case_run_test {
namespace {

std::string fault_of(const std::string& text) {
  const auto documents = parse_yaml(text, "case.yaml");
  EXPECT_TRUE(documents) << text;
  CaseTables tables;
  tables.folder = DDPTWIN_TEST_DIR;
  tables.base = boost::json::object{{"namespace", "ml"}};
  const auto fault = run_case(documents->front().value.as_object(), tables);
  return fault ? *fault : "holds";
}

const std::string pod =
    "objects: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {restartPolicy: Never, "
    "containers: [{name: c, image: ddptwin-worker, command: ['true']}]}}]\n";

TEST(ConformanceCase, every_key_is_judged) {
  const std::pair<const char*, const char*> rows[] = {
      {"expect: [{eventually: {of: pod/p, exitCode: 0}}]\n", "holds"},
      {"expect: [{eventually: {of: pod/p, exitCode: 1}}]\n", "it did not become so"},
      {"pods: [+p]\n", "holds"},
      {"pods: [+q]\n", "pods came and went so: +p"},
      {"addresses: {p: 1}\n", "holds"},
      {"addresses: {p: 2}\n", "p had 1 addresses"},
      {"answers: {p.ml: NXDOMAIN}\n", "nobody asked for p.ml"},
      {"env: {pod/ml/p: {RANK: null}}\n", "holds"},
      {"env: {pod/ml/p: {RANK: '0'}}\n", "pod/ml/p has RANK not at all"},
      {"env: {pod/ml/p: {RANK: null}}\npods: [+q]\n", "pods came and went so: +p"},
  };
  for (const auto& [said, fault] : rows)
    EXPECT_THAT(fault_of(pod + said), testing::HasSubstr(fault)) << said;
}

TEST(ConformanceCase, a_slip_is_refused) {
  const std::pair<const char*, const char*> rows[] = {
      {"answer: {p.ml: NXDOMAIN}\nexpect: [{finally: {of: pod/p}}]\n", "a case has no answer"},
      {"addresses: [p]\n", "addresses must be object"},
      {"title: nothing\n", "there is nothing that is judged of it"},
      {"expect: []\n", "there is nothing that is judged of it"},
      {"steps: [{wait: 1s}]\n", "there is nothing that is judged of it"},
  };
  for (const auto& [said, fault] : rows) EXPECT_EQ(fault_of(pod + said), fault) << said;
}

}  // namespace
}  // namespace ddptwin::conformance::case_run_test
