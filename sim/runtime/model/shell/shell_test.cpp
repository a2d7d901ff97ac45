// What a container's `sh -c` line says, when, and how it ends. What dash and bash do with scripts
// made at random: property_tests/shell_properties_test.cpp.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::shell_test {
namespace {

struct Script {
  std::string name;
  std::string text;
  Strings lines;
  int code = 0;
  std::string shell = "sh";
};

Strings words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

class ShellScript : public testing::TestWithParam<Script> {};
INSTANTIATE_TEST_SUITE_P(
    Shell, ShellScript,
    testing::Values(
        Script{"output", "x=$(echo a; echo b; echo; false); echo $? \"$x\"", {"1 a", "b"}},
        Script{"long",
               [] {
                 std::string script = "n=0\n";
                 for (int i = 0; i < 3000; ++i) script += "n=$((n + 1))\n";
                 return script + "echo $n";
               }(),
               {"3000"}},
        Script{
            "signals_once_and_by_number",
            "trap 'echo t' TERM; trap 'echo u' USR1; (kill -TERM $$; kill -USR1 $$; kill -USR1 $$)",
            {"u", "t"}},
        Script{
            "end_as_it_was",
            "printf 'a\\nb' | tail -n 1; echo; printf 'a\\nb' | head -n 1; printf a | sed s/a/b/; "
            "printf a | head",
            {"b", "a", "ba"}},
        Script{"output_in_output",
               "echo \"$(echo \"$(hostname)-$(nproc)\")\" `echo b`",
               {"pod-0-2 b"}},
        Script{"output_in_a_default", "echo ${RANK:-$(hostname | cut -d- -f2)}", {"0"}},
        Script{"output_in_arithmetic", "echo $(( $(nproc) * ${N:-4} ))", {"8"}},
        Script{"date",
               "echo $(date +%s) $(date -u +%Y-%m-%dT%H:%M:%SZ)",
               {"1700000000 2023-11-14T22:13:20Z"}},
        Script{
            "no_such_program_in_a_pipe", "n=$(nvidia-smj -L 2>/dev/null | wc -l); echo $n", {"0"}},
        Script{"pipe_status",
               "(exit 3) | cat; echo $?; set -o pipefail; (exit 3) | cat; echo $?",
               {"0", "3"},
               0,
               "bash"},
        Script{"tee_keeps_a_file",
               "{ echo a; echo b >&2; } 2>&1 | tee -a /tmp/log /tmp/other | grep b; cat /tmp/log",
               {"b", "a", "b"}},
        Script{"tee_without_its_folder",
               "set -o pipefail; echo a | tee /none/log; echo $?",
               {"tee: /none/log: No such file or directory", "a", "1"},
               0,
               "bash"},
        Script{"files",
               "echo a > /tmp/f; echo b >> /tmp/f; cat /tmp/f; [ -s /tmp/f ] && echo full",
               {"a", "b", "full"}},
        Script{"files_of_the_working_directory",
               "cd /tmp; echo a > f; cat ../tmp/./f; pwd",
               {"a", "/tmp"}},
        Script{
            "tests_of_folders",
            "for d in / /tmp /tmp/none /data /etc; do [ -d $d ] && echo $d; done; [ -d /data ] || "
            "mkdir -p /data/x; [ -d /data ] && [ ! -f "
            "/data ] && [ -e /data ] && echo made; echo a > /tmp/f; [ -d /tmp/f ] || echo file",
            {"/", "/tmp", "/etc", "made", "file"}},
        Script{"folder_made",
               "echo a > /out/x/f; mkdir -p /out/x; echo b > /out/x/f; cat /out/x/f",
               {"sh: 1: cannot create /out/x/f: Directory nonexistent", "b"}},
        Script{"everything_into_a_file", "exec > /tmp/all; echo a; cat /tmp/all >&2", {"a"}},
        Script{"case",
               "case job-worker-12 in *-master-*) r=0;; *-worker-*) r=1;; esac; exit $r",
               {},
               1},
        Script{"case_of_nothing", "case x in y) false;; esac", {}},
        Script{"function",
               "retry() { n=$1; shift; until \"$@\"; do n=$((n-1)); [ $n -gt 0 ] || return 7; "
               "done; }; "
               "retry 2 false; echo $?; retry 1 true",
               {"7"}},
        Script{"local", "x=1; f() { local x=2; y=$x; }; f; echo $x $y", {"1 2"}},
        Script{"subshell", "(cd /tmp; x=2; exit 4); echo $? $x $(pwd)", {"4 /"}},
        Script{"break_two",
               "for i in 1 2; do for j in 1 2; do echo $i$j; break 2; done; done",
               {"11"}},
        Script{"printf",
               "printf '%s=%03d\\n' a 7 b 12; printf half; printf '%%\\n'",
               {"a=007", "b=012", "half%"}},
        Script{"echo_without_an_end", "echo -n a; hostname", {"apod-0"}},
        Script{"echo_of_dash", "echo 'a\\tb'", {"a\tb"}},
        Script{"echo_of_bash", "echo 'a\\tb'; echo -e 'a\\tb'", {"a\\tb", "a\tb"}, 0, "bash"},
        Script{
            "rank_of_a_name",
            "export RANK=$(echo $HOSTNAME | grep -o '[0-9]*$' | sed 's/^0*//'); echo \"<$RANK>\"",
            {"<>"}},
        Script{"address", "hostname -i | awk -F. '{print $1}'", {"10"}},
        Script{"jobs",
               "(sleep 2; exit 3) & p=$!; sleep 1 & wait; wait $p; echo $?; wait $p; echo $?; : & "
               "wait $p; echo $?",
               {"3", "3", "127"}},
        Script{"jobs_of_bash",
               "(sleep 2; exit 3) & p=$!; (exit 4) & wait; wait $p; echo $?; (exit 5) & wait $!; "
               "wait $!; "
               "echo $?",
               {"127", "5"},
               0,
               "bash"},
        Script{"job_status", "(exit 3) & wait $!; echo $?", {"3"}},
        Script{"job_killed", "sleep 60 & kill $!; wait $!; echo $?", {"143"}},
        Script{"job_of_parentheses",
               "(while :; do sleep 1; done; echo no) & kill $!; wait $!; echo $?",
               {"143"}},
        Script{"job_before_exec", "sleep 0.1 & exec sh -c 'sleep 1; echo over'", {"over"}},
        Script{"output_that_nobody_asks_for",
               "set -e; A=1; B=${A:-$(false)}; echo ${C+$(echo no)}$B",
               {"1"}},
        Script{"many_commands",
               "f() { :; :; :; :; :; :; :; :; :; :; }; i=0; while [ $i -lt 500 ]; do f; "
               "i=$((i+1)); done; "
               "f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; f; echo $i",
               {"500"}},
        Script{"recursion",
               "f() { f; }; f",
               {"sh: 1: Maximum function recursion depth (1000) reached"},
               2},
        Script{"first_process_is_guarded", "kill -9 1; echo still", {"still"}},
        Script{"wide_format",
               "printf '%5000d' 1 | wc -c; printf '%s' \"$(seq 2000)\" | wc -c",
               {"5000", "8892"}},
        Script{"local_of_a_function_that_exited",
               "trap 'sleep 1; local y=2' EXIT; f() { local x=1; exit 3; }; f",
               {"sh: 1: local: not in a function"},
               2},
        Script{"sequence_too_long",
               "n=$(seq 1 1000000); echo $?",
               {"seq: not modelled: more than 100000 numbers", "126"}},
        Script{"bomb", "f() { f & f & }; f 2>/dev/null; sleep 0.02; echo over", {"over"}},
        Script{
            "what_sh_refuses",
            "[ a == a ] || echo $?; [[ -n x ]] 2>/dev/null || echo $?; "
            "kill -SIGTERM $$ 2>/dev/null || echo $?; echo \"<$RANDOM>\"; set -o pipefail; echo no",
            {"sh: 1: [: a: unexpected operator", "2", "127", "2", "<>",
             "sh: 1: set: Illegal option -o pipefail"},
            2},
        Script{
            "errors_of_bash",
            "[ a == a ] && [[ $x -eq 0 ]] && echo y; shift 5; echo $?; echo a > /none/x; echo $?; "
            "f() { return 300; }; f; echo $?",
            {"y", "1", "bash: /none/x: No such file or directory", "1", "44"},
            0,
            "bash"},
        Script{"error_of_a_special_built_in",
               "exec > /none/x; echo no",
               {"sh: 1: cannot create /none/x: Directory nonexistent"},
               2},
        Script{"process_1_of_dash", "sh -c 'echo $$'", {"2"}},
        Script{"process_1_of_bash", "true; sh -c 'echo $$'", {"1"}, 0, "bash"},
        Script{"process_1_of_bash_with_a_list", "true && sh -c 'echo $$'", {"1"}, 0, "bash"},
        Script{"process_1_of_bash_with_a_list_on_the_next_line",
               "true;\ntrue && sh -c 'echo $$'",
               {"1"},
               0,
               "bash"},
        Script{"process_1_of_bash_with_a_list_behind_another",
               "true; true && sh -c 'echo $$'",
               {"2"},
               0,
               "bash"},
        Script{"process_1_of_bash_with_a_group", "{ sh -c 'echo $$'; }", {"2"}, 0, "bash"},
        Script{"process_1_of_bash_with_a_choice",
               "if true; then sh -c 'echo $$'; fi",
               {"2"},
               0,
               "bash"},
        Script{"process_1_of_bash_with_a_file", "sh -c 'echo $$' 2>/dev/null", {"2"}, 0, "bash"},
        Script{"last_trap_says_where_the_script_does",
               "trap 'echo bye' EXIT; { exit 3; } >/dev/null",
               {"bye"},
               3},
        Script{"last_trap_before_a_missing_program",
               "trap 'echo bye' EXIT; exec nosuch 2>/dev/null",
               {"bye"},
               127},
        Script{"exit_in_the_last_trap", "trap 'false; exit' EXIT; exit 5", {}, 5},
        Script{"folder_removed",
               "mkdir -p /a/b; echo x > /a/b/f; rm -r /a; cat /a/b/f; rm -r /a; echo $?",
               {"cat: /a/b/f: No such file or directory",
                "rm: cannot remove '/a': No such file or directory", "1"}},
        Script{"device_by_a_variable",
               "exec > ${LOG:-/dev/stdout}; echo a; echo b > \"/dev/null\"",
               {"a"}},
        Script{"output_in_a_reader_s_file", "echo a | cat > /tmp/x$(echo 1); cat /tmp/x1", {"a"}},
        Script{"exported_in_one_word", "x='A=1 B=2'; export $x; sh -c 'echo $A$B'", {"12"}},
        Script{"long_options", "false; echo x", {"x"}, 0, "bash --noprofile --norc"},
        Script{
            "folders",
            "mkdir -p /tmp/a/b /tmp/c; cd /tmp/a; cd b; cd -; echo $OLDPWD; HOME=/tmp/c; cd; pwd; "
            "cd ../a; pwd; cd /usr/share/doc && cd /var/log && echo y",
            {"/tmp/a", "/tmp/a/b", "/tmp/c", "/tmp/a", "y"}},
        Script{"no_such_folder",
               "cd /none; echo $?; pwd; cd /tmp/no || exit 15",
               {"sh: 1: cd: can't cd to /none", "2", "/", "sh: 1: cd: can't cd to /tmp/no"},
               15},
        Script{"no_such_folder_of_bash",
               "cd /none; echo $?; set -e; cd /tmp/no; echo no",
               {"bash: cd: /none: No such file or directory", "1",
                "bash: cd: /tmp/no: No such file or directory"},
               1,
               "bash"},
        Script{"reads_a_file",
               "cd /tmp; echo 'A=5; f() { echo \"<$1 $A>\"; return 3; }' > env; . ./env; f x; echo "
               "$?; "
               "echo 'return 4; echo no' > env; . ./env; echo $?; echo 'false; echo no' > env; "
               "(set -e; . ./env); echo $?; . ./env || echo n",
               {"<x 5>", "3", "4", "1", "no"}},
        Script{"reads_a_file_with_arguments",
               "echo 'echo $1 $#; set -- c; return 2' > /tmp/f; source /tmp/f a b; echo $? $#; cd "
               "/tmp; "
               ". f; echo $#",
               {"a 2", "2 1", "c 1", "1"},
               0,
               "bash"},
        Script{"reads_no_file",
               ". /tmp/f; echo no",
               {"sh: 1: .: cannot open /tmp/f: No such file"},
               2},
        Script{"looks_for_a_file_along_path",
               "cd /tmp; echo 'echo a' > f; . f; echo no",
               {"sh: 1: .: f: not found"},
               2},
        Script{"reads_no_file_of_bash",
               "source /tmp/f; echo $?; set -e; . /tmp/f; echo no",
               {"bash: /tmp/f: No such file or directory", "1",
                "bash: /tmp/f: No such file or directory"},
               1,
               "bash"},
        Script{"source_is_bashs", "source /tmp/f; echo $?", {"sh: 1: source: not found", "127"}},
        Script{"reads_what_nobody_knows",
               "echo 'getopts x' > /tmp/f; . /tmp/f; echo $?",
               {"sh: 1: its script uses getopts", "126"}},
        Script{"evaluates_what_nobody_knows",
               "x='getopts y'; eval \"$x\"; echo $?",
               {"sh: 1: its script uses getopts", "126"}},
        Script{"eval_in_the_shell_itself",
               "eval 'f() { A=$1; cd /tmp; }'; f x; eval \"B$A=\\$(pwd)\"; echo $Bx; set -e; eval "
               "'false; echo on' || :; eval 'echo last; exit 4'",
               {"/tmp", "on", "last"},
               4},
        Script{"return_ends_a_script", "! return 3; echo no", {}, 3},
        Script{"document",
               "cat <<END > /tmp/f\nhost $HOSTNAME\n\"$(nproc)\" \\$x\nEND\ncat /tmp/f; "
               "grep -c o /tmp/f; tr a-z A-Z <<-'END'\n\t$x y\n\tEND\necho over",
               {"host pod-0", "\"2\" $x", "1", "$X Y", "over"}},
        Script{"arguments_in_an_array",
               "ARGS=(\n  --nnodes ${N:-2} # how many\n  --rdzv-id 'a b'\n)\nARGS+=(-m x)\n"
               "for y in \"${ARGS[@]}\"; do echo \"<$y>\"; done; echo ${#ARGS[@]} ${ARGS[-1]}",
               {"<--nnodes>", "<2>", "<--rdzv-id>", "<a b>", "<-m>", "<x>", "6 x"},
               0,
               "bash"},
        Script{"function_of_bash",
               "function main { local n=$1; ((n > 1)) && echo many || echo one; }; main 2; main 1",
               {"many", "one"},
               0,
               "bash"},
        Script{"status_within_a_pipe",
               "(exit 3) | tee /tmp/log; s=(${PIPESTATUS[@]}); cat <<< a > /dev/null; echo "
               "${#PIPESTATUS[@]}; exit ${s[0]}",
               {"1"},
               3,
               "bash"},
        Script{"numbers_of_a_counted_loop_are_no_commands",
               "(exit 1) | tee /tmp/log; for ((n = 0; n < 0; n++)); do :; done; echo "
               "${PIPESTATUS[*]} $?; for "
               "((n = 0; n < 2; n++)); do (exit 4); done; echo ${PIPESTATUS[*]} $?; for ((n = 1; n "
               "< 2; n += 1 / 0)); do :; done 2> /dev/null; echo ${PIPESTATUS[*]} $?",
               {"1 0 0", "4 4", "0 1"},
               0,
               "bash"},
        Script{
            "ordinal_of_a_pod",
            "[[ $HOSTNAME =~ -([0-9]+)$ ]] || exit 1; echo ${BASH_REMATCH[1]}; for ((i = 0; i < 3; "
            "i++)); do ((i == 1)) || echo $i; done; [[ a =~ a{2,1} ]]; echo $?",
            {"0", "0", "2", "2"},
            0,
            "bash"},
        Script{
            "expansions_of_bash",
            "h=job-worker-12.svc; echo ${h%%.*} ${h//-/_} ${h:4:6} ${h^^}; n=h; echo ${!n}; r=0; "
            "until ((++r >= 3)); do :; done; echo $r $((r -= 2)) $r",
            {"job-worker-12 job_worker_12.svc worker JOB-WORKER-12.SVC", "job-worker-12.svc",
             "3 1 1"},
            0,
            "bash"},
        Script{
            "unset_of_bash", "echo a; echo $X", {"a", "bash: X: unbound variable"}, 127, "bash -u"},
        Script{"unset_of_bash_that_exits", "echo $X", {"bash: X: unbound variable"}, 1, "bash -eu"},
        Script{"errors_of_bash_have_its_words",
               "python4; echo ${X:?}",
               {"bash: python4: command not found", "bash: X: parameter null or not set"},
               127,
               "bash"},
        Script{"termination_log",
               "set -e; printf why > /dev/termination-log; cat /dev/termination-log /etc/hostname",
               {"whypod-0"}},
        Script{
            "trap_with_small_letters", "trap -- 'echo t' term; kill -TERM $$; echo a", {"t", "a"}},
        Script{"trap_at_the_end", "trap 'echo over $?' EXIT; echo a; exit 5", {"a", "over 5"}, 5},
        Script{
            "trap_of_an_error", "set -e; trap 'echo over $?' EXIT; false; echo no", {"over 1"}, 1},
        Script{
            "command_v",
            "command -v sleep; command -v python4 || echo none; command -v cd >/dev/null && echo c",
            {"/usr/bin/sleep", "none", "c"}},
        Script{"env",
               "env A=1 B='x y' sh -c 'echo $A $B'; echo \"<$A>\"; nohup echo c",
               {"1 x y", "<>", "c"}},
        Script{"waits_for_a_port",
               "timeout 5 sh -c 'until nc -z pod-0 80; do sleep 1; done'; echo $?",
               {"124"}},
        Script{"brackets",
               "r='a b'; [[ -n $r && ( $r == a* || $r == c ) && ! $r == 'a*' ]] && echo y; "
               "[[ $r != *b ]] || echo z; set -e; [[ -z $r || 1 -gt 2 ]]; echo no",
               {"y", "z"},
               1,
               "bash"},
        Script{"brackets_of_a_master",
               "[[ $HOSTNAME == *-0 && $(nproc) -eq 2 ]]; echo $?",
               {"0"},
               0,
               "bash"},
        Script{"document_in_a_variable",
               "read -r -d '' S << EOM\n\n  import os\n\tprint(\"a\\n\", f'{os}')\nEOM\necho $?; "
               "p=$(mktemp -d); printf '%s' \"$S\" > \"$p/x.py\"; cat $p/x.py; echo; [ -d $p ] && "
               "[[ $p == /tmp/tmp.?????????? ]] && wc -l < $p/x.py",
               {"1", "import os", "\tprint(\"a\\n\", f'{os}')", "1"},
               0,
               "bash"},
        Script{
            "names_of_mktemp_differ",
            "a=$(mktemp); b=$(mktemp -t job.XXXX) c=$(mktemp -d /tmp/d-XXXXXX); [ -f $a ] && [ -f "
            "$b ] && [ -d $c ] && [ $a != $(mktemp) ] && echo ${b%.*} ${#c}; mktemp /none/XXX; "
            "mktemp x",
            {"/tmp/job 13",
             "mktemp: failed to create file via template '/none/XXX': No such file or directory",
             "mktemp: too few X's in template 'x'"},
            1},
        Script{
            "reads_lines",
            "printf 'a b  c\\nd\\n e' > /tmp/f; while read -r x y; do echo \"<$x|$y>\"; done < "
            "/tmp/f; echo \"$x\"; read x < /none || echo $?; echo '1:2:3' | { IFS=: read a b; echo "
            "$b-$a; }; echo $a; read x; echo $?",
            {"<a|b  c>", "<d|>", "e", "sh: 1: cannot open /none: No such file", "2", "2:3-1", "",
             "1"}},
        Script{
            "reads_what_a_loop_left",
            "printf '1\\n2\\n3\\n' > /tmp/f; { read x; read y; cat; } < /tmp/f; echo $x$y; while "
            "read x; do echo $x; cat > /tmp/g; done < /tmp/f; cat /tmp/g | wc -l",
            {"3", "12", "1", "2"}},
        Script{"reads_of_bash",
               "IFS=, read -ra a <<< 'x,y z,,w'; echo ${#a[@]} \"${a[1]}\"; read <<< ' p '; echo "
               "\"<$REPLY>\"; read -n 2 x <<< abc; echo $x; mapfile -t l < <(seq 3); echo ${l[*]}; "
               "read -t 1 x < <(sleep 5); echo $?",
               {"4 y z", "< p >", "ab", "1 2 3", "142"},
               0,
               "bash"},
        Script{"document_for_a_group",
               "{ read x; tr a-z A-Z; } <<E\na\n$HOSTNAME\nE\necho $x; f() { cat; }; f <<E\nb\nE\n"
               "for i in 1 2; do read l; echo $i$l; done <<E\np\nq\nE",
               {"POD-0", "a", "b", "1p", "2q"}},
        Script{"redirection_before_its_command",
               "> /tmp/f echo a; < /tmp/f cat; > /tmp/f; cat /tmp/f; 2>&1 cat /none; cat <<E > "
               "/tmp/g\nb\nE\ncat < /tmp/g 2>&1",
               {"a", "cat: /none: No such file or directory", "b"}},
        Script{"output_through_a_command",
               "exec > >(tee -a /tmp/log) 2>&1; echo a; no-such-program; cat /tmp/log | wc -l; "
               "{ echo x; echo y; } > >(sed 's/^/>/'); sleep 1",
               {"a", "bash: no-such-program: command not found", "2", ">x", ">y"},
               0,
               "bash"},
        Script{"everything_of_a_pipe",
               "{ echo a; echo b >&2; } |& grep -c .; echo x >& /tmp/f; cat /tmp/f; nosuch 2>&- | "
               "cat; "
               "echo ${PIPESTATUS[*]}",
               {"2", "x", "127 0"},
               0,
               "bash"},
        Script{"home_and_escapes",
               "cd ~; pwd; HOME=/tmp; cd ~; pwd; x=~/a:~; echo $x ~/b '~' \"~\" a~; printf '%s|' "
               "$'a\\tb\\x41\\'' $\"q\"; echo",
               {"/root", "/tmp", "/tmp/a:/tmp /tmp/b ~ ~ a~", "a\tbA'|q|"},
               0,
               "bash"},
        Script{
            "elements_and_powers",
            "a=(x y); a[1]=z; a[2]=w; a[i=0]+=v; ((a[2] = 2 ** 10, i += a[2])); echo ${a[@]} $i "
            "$((-2 ** 2)) $((2 ** 3 ** 2)); [[ 2+3 -eq 5 && i -gt 1000 && abc < abd ]] && echo y; "
            "a[9]=q; echo no",
            {"xv z 1024 1024 4 512", "y", "bash: its script uses an array with elements left out"},
            126,
            "bash"},
        Script{
            "what_never_changes",
            "readonly A=1 B; declare -rx C=2; export A=3; echo $? $A; unset B; echo $?; sh -c "
            "'echo "
            "$C'; f() { local -r L=1; declare G=2; declare -g H=3; }; f; echo \"<$L$G>$H\"; A=5; "
            "echo no",
            {"bash: A: readonly variable", "1 1", "bash: unset: B: cannot unset: readonly variable",
             "1", "2", "<>3", "bash: A: readonly variable"},
            1,
            "bash"},
        Script{
            "where_commands_are",
            "[ -x \"$(command -v pip)\" ] && echo pip; command -v nosuch || echo $?; type -t cd "
            "pip "
            "if nosuch f; f() { :; }; type f sleep; which python nosuch; echo $?; command echo c; "
            "hostname() { echo no; }; command hostname",
            {"pip", "1", "builtin", "file", "keyword", "f is a function", "sleep is /usr/bin/sleep",
             "/usr/bin/python", "1", "c", "pod-0"},
            0,
            "bash"},
        Script{"braces",
               "x=q; for i in {1..3} {c..a} {08..10}; do printf '%s ' $i; done; echo p{a,{1,2},}s "
               "{1..9..4} {x} {a} '{a,b}' y={a,b}; a=({0..2}); echo ${#a[@]}; z={a,b}; echo $z",
               {"1 2 3 c b a 08 09 10 pas p1s p2s ps 1 5 9 {x} {a} {a,b} y=a y=b", "3", "{a,b}"},
               0,
               "bash"},
        Script{"jobs_that_run",
               "sleep 9 & sleep 8 & : & sleep 0.1; jobs -p | wc -l; kill $(jobs -p); wait; jobs "
               "-p; kill "
               "$nobody 2>/dev/null; echo $?",
               {"2", "2"},
               0,
               "bash"},
        Script{
            "next_job",
            "(sleep 2; exit 3) & (sleep 1; exit 4) & wait -n; echo $?; wait -n; echo $?; wait -n; "
            "echo $?",
            {"4", "3", "127"},
            0,
            "bash"},
        Script{"group",
               "trap 'kill 0' EXIT; sleep 100 & (trap 'echo t; exit' TERM; sleep 1 & wait) & sleep "
               "0.1; echo over",
               {"over", "t"},
               0,
               "bash"},
        Script{
            "joined_tests",
            "[ a = a -a -n b ] && [ -z a -o ! \\( b = c \\) ] && echo y; [ a -a \"\" ] || echo n; "
            "[ -t 1 ] || echo t; [ a -o ] || echo $?",
            {"y", "n", "t", "sh: 1: [: a: unexpected operator", "2"}},
        Script{"separators",
               "IFS=:; x=a::b; set -- $x; echo $#; p=/a:/b; for d in $p; do echo $d; done; echo "
               "\"$*\"; "
               "unset IFS; set -- $x; echo $#",
               {"3", "/a", "/b", "a::b", "1"}},
        Script{
            "numbers_of_bash",
            "n=$RANDOM; [ $n -ge 0 ] && [ $n -le 32767 ] && sleep 2.5 && echo $SECONDS $UID; let "
            "'x = 3' x*=2 && echo $x; printf -v y %03d 7; echo $y",
            {"2 0", "6", "007"},
            0,
            "bash"},
        Script{
            "trap_of_bash", "trap 'echo t' SIGUSR1; kill -USR1 $$; echo a", {"t", "a"}, 0, "bash"}),
    [](const auto& one) { return one.param.name; });

TEST_P(ShellScript, says_and_ends_as_it_should) {
  TestPods pods;
  pods.pod("pod-0");
  Strings argv = words_of(GetParam().shell);
  argv.insert(argv.end(), {"-c", GetParam().text});
  pods.command("pod-0", argv);
  EXPECT_EQ(pods.exit_code("pod-0"), GetParam().code);
  Strings said;
  for (const TestPods::Line& line : pods.lines()) said.push_back(line.text);
  EXPECT_EQ(said, GetParam().lines) << pods.start_error();
}

// As a script counts the ranks of its node.
TEST(Shell, nvidia_smi_lists_what_was_granted) {
  for (const bool granted : {true, false}) {
    TestPods pods;
    pods.pod("pod-0");
    Environment env;
    if (granted) env.emplace_back("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2");
    ContainerConfig config = pods.config("pod-0", "plain", {}, env);
    config.command = {"bash", "-c",
                      "n=$(nvidia-smi -L 2>/dev/null | wc -l); command -v nvidia-smi; "
                      "nvidia-smi --query-gpu=index,name --format=csv,noheader; echo $n"};
    pods.start("pod-0", config);
    EXPECT_EQ(pods.exit_code("pod-0"), 0);
    Strings said;
    for (const TestPods::Line& line : pods.lines()) said.push_back(line.text);
    EXPECT_EQ(said, granted ? Strings({"/usr/bin/nvidia-smi", "0, NVIDIA H100 80GB HBM3",
                                       "1, NVIDIA H100 80GB HBM3", "2"})
                            : Strings({"nvidia-smi: command not found", "0"}));
  }
}

// What reads a pipe has each line when it is written, and its end when nobody writes any more.
TEST(Shell, a_pipe_is_read_while_it_is_written) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"bash", "-c",
                         "{ echo a; sleep 5; echo b; (sleep 5; echo c) & } | while read l; do echo "
                         "got $l; done; echo over"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  const auto at = [&pods](const std::string& text) { return pods.line("pod-0", text)->at; };
  EXPECT_NEAR(static_cast<double>((at("got b") - at("got a")).count()), 5e9, 1e8);
  EXPECT_NEAR(static_cast<double>((at("got c") - at("got b")).count()), 5e9, 1e8);
  EXPECT_LT(at("over") - at("got c"), 1s);
}

// As a real tee: a line is in the log when it is printed, not at the pipe's end.
TEST(Shell, tee_shows_each_line_at_once) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "{ echo a; sleep 5; echo b; } | tee /tmp/log"});
  pods.exit_code("pod-0");
  EXPECT_GE(pods.line("pod-0", "b")->at - pods.line("pod-0", "a")->at, 5s);
}

}  // namespace
}  // namespace ddptwin::model::shell_test
