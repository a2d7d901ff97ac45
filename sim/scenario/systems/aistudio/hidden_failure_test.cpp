// A failed training that its entry command reports as a success is pointed out in the verdict.
#include <gmock/gmock.h>

#include "objects/kinds.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"
#include "scenario/systems/aistudio/parts.hpp"

namespace ddptwin::scenario::hidden_failure_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The page's, from where it keeps the code on.
std::string page_script(const std::string& last) {
  return "bash launch_ddp.sh | tee ${OUTPUT_DIR}/launch_ddp.log\n\n# 获取上一条命令的返回值\n"
         "ret=$?\nif [[ ${ret} -ne 0 ]]; then\n"
         "echo \"[$(date +\"%Y-%m-%d %H:%M:%S\")] $HOSTNAME 训练失败!现场保留时间为 10000s\"\n"
         "sleep 10000\nfi\n\n" +
         last + "\n";
}

std::string doubt(const std::string& script, const std::vector<std::string>& log) {
  DDPTask task;
  task.spec.edit().entrypoint = script;
  const std::vector<const std::vector<std::string>*> logs{&log};
  return hidden_failure(task, logs);
}

const std::vector<std::string> failed_log{
    "torchrun: error", "[2026-01-01 00:00:00] jo-x-worker-0 训练失败!现场保留时间为 10000s"};

TEST(AistudioHiddenFailure, the_pages_script_hides_it) {
  EXPECT_THAT(doubt(page_script("exit $?"), failed_log), HasSubstr("write `exit ${ret}`"));
  EXPECT_THAT(doubt(page_script("exit $?"), failed_log), HasSubstr("训练失败!现场保留时间为"));
}
TEST(AistudioHiddenFailure, not_where_the_branch_of_a_failure_has_printed_nothing) {
  EXPECT_THAT(doubt(page_script("exit $?"), {"step 1/1", "done"}), IsEmpty());
}
TEST(AistudioHiddenFailure, not_where_the_code_itself_is_given) {
  EXPECT_THAT(doubt(page_script("exit ${ret}"), failed_log), IsEmpty());
}
TEST(AistudioHiddenFailure, not_where_no_code_is_kept) {
  EXPECT_THAT(doubt("true\nif [ -n \"$DEBUG\" ]; then\necho \"a long debug line\"\nfi\nexit $?\n",
                    {"a long debug line"}),
              IsEmpty());
}

RunResult run(const std::string& last) {
  const std::string text =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n"
      "spec:\n  timeout: 60s\n"
      "---\napiVersion: aistudio.twin/v1\nkind: DDPTask\nmetadata: {name: t}\n"
      "spec:\n  workers: 2\n  image: ddptwin-worker\n  entrypoint: |\n"
      "    sh -c 'exit 7'\n    ret=$?\n    if [[ ${ret} -ne 0 ]]; then\n"
      "      echo \"$HOSTNAME training failed\"\n      sleep 3\n    fi\n    " +
      last + "\n";
  const KindRegistry kinds;
  const auto parsed = parse_scenario("s.yaml", kinds,
                                     [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(parsed) << parsed.error().text();
  if (!parsed) return {};
  auto result = run_virtually(*parsed, {.seed = 1});
  EXPECT_TRUE(result) << result.error().text();
  return result ? std::move(*result) : RunResult();
}

TEST(AistudioHiddenFailure, a_run_says_so_of_its_task) {
  EXPECT_THAT(run("exit $?").ends, Contains(HasSubstr("is reported as succeeded")));
}
TEST(AistudioHiddenFailure, a_run_says_nothing_of_a_failure_that_is_told) {
  EXPECT_THAT(run("exit ${ret}").ends, Each(Not(HasSubstr("reported as succeeded"))));
}

}  // namespace
}  // namespace ddptwin::scenario::hidden_failure_test
