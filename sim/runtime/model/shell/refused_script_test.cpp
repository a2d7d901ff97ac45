// The scripts that the model shell does not know are refused before the run, by what they use.
#include <gtest/gtest.h>

#include "runtime/model/commands.hpp"

namespace ddptwin::model::refused_script_test {
namespace {

struct Refused {
  std::string name;
  std::string script;
  std::string what;
  std::string shell = "sh";
};
class RefusedScript : public testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(
    Shell, RefusedScript,
    testing::Values(
        Refused{"read_of_another_stream", "read -u 3 x", "read with -u"},
        Refused{"document_without_an_end", "cat <<E\na", "<< without its end"},
        Refused{"here_string", "cat <<< a", "<<<"},
        Refused{"array_of_sh", "a=(b c)", "( ) where a command is due"},
        Refused{"element", "a[1 + 1]=b",
                "an assignment to an element of an array with blanks in its [ ]", "bash"},
        Refused{"array_of_another_kind", "declare -A a", "declare with -A", "bash"},
        Refused{"file_of_a_command", "diff <(echo a) f", "<(", "bash"},
        Refused{"array_by_keys", "a=([x]=b)", "[ ]= in an array", "bash"},
        Refused{"array_before_a_command", "a=(b) true", "an array before a command", "bash"},
        Refused{"matched_text", "echo ${x/a/<&>}", "& in ${NAME/...}", "bash"},
        Refused{"counting_in_sh", "echo $((x++))",
                "(( )) with more than numbers, names and the operators of C"},
        Refused{"expression", "[ $HOSTNAME =~ x ]", "test with =~", "bash"},
        Refused{"made_up", "echo $BASH_SOURCE", "$BASH_SOURCE", "bash"},
        Refused{"bash_in_sh", "echo a &>/tmp/x", "&>, which `sh` takes for & and a >"},
        Refused{"third_stream", "exec 3>&1", "3>"}, Refused{"home", "cat ~you/x", "~you"},
        Refused{"job", "trap 'kill %1' EXIT", "`kill %1`"},
        Refused{"in_an_output", "x=$(getopts a)", "getopts"},
        Refused{"in_a_trap", "trap 'times x' TERM; sleep 1", "times"},
        Refused{"in_a_branch", "case a in b) getopts x;; esac", "getopts"},
        Refused{"in_an_eval", "eval 'hash x'", "hash"},
        Refused{"in_a_command_that_reads", "exec > >(getopts a)", "getopts", "bash"},
        Refused{"out_of_place", "echo a; done", "`done` out of its place"},
        Refused{"two_semicolons", "echo a;; echo b", ";; outside of case"},
        Refused{"empty_command", "echo a; ; echo b", "an operator without a command"},
        Refused{"half_a_parenthesis", "(echo a", "( without its end"},
        Refused{"half_a_substitution", "echo $(echo a", "$( without its end"},
        Refused{"format", "printf '%f' 1", "printf with %f"}),
    [](const auto& one) { return one.param.name; });

TEST_P(RefusedScript, is_refused_by_name_before_the_run) {
  const auto status = can_model({GetParam().shell, "-c", GetParam().script}, Image(), nullptr);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(", for its script uses " + GetParam().what + ": "),
            std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace ddptwin::model::refused_script_test
