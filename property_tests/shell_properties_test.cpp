// What containers' `sh -c` lines do: the modelled shell against the machine's own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdio>

#include "cluster/model_runtime/test_pods.hpp"
#include "property.hpp"

namespace ddptwin::property::shell_properties_test {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  int code = 0;
  Strings lines{};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << fmt::format("{} [{}]", outcome.code, fmt::join(outcome.lines, "|"));
}

// Whether it takes the place of the shell that runs it.
const std::string place = "sh -c \"[ \\$\\$ = $$ ] && echo in place || echo beside\"";

// A script from the grammar that is modelled. Its loops end: each counts by a variable of its own.
class Writer {
 public:
  explicit Writer(bool for_bash) : for_bash_(for_bash) {}

  std::string script() {
    std::string text;
    if (one_in(2)) text = "set -e\n";
    text += list(3);
    // What stands last may take the shell's place; what it started may still be asked for.
    return text +
           pick({"", "", place, "if :; then " + place + "; fi", "{ sleep 0.01 & wait; }\n" + place,
                 "(sleep 0.02; exit 3) & p=$!; wait; wait $p; echo $?"});
  }

  static std::string matching() {
    const std::string test = "[[ " + pick({"$x", "job-12", "\"a b\"", "${a[0]}"}) + " =~ " +
                             pick({"-([0-9]+)$", "^(a|b)( b)?", "a.*", "\"a.\"", "[ab]+", "$y",
                                   "b$", "(x)|(a)", "\\.", "^$", "^\"a\"\\ ?b", "o(b)(-)"}) +
                             " ]]";
    return pick({test + "; echo $? ${#BASH_REMATCH[@]} \"${BASH_REMATCH[@]}\"",
                 "if " + test + "; then echo \"<${BASH_REMATCH[1]}>\"; fi", test + " || echo no",
                 "[[ -n $x && ! ( $x =~ a ) ]] && echo yes"});
  }

  static std::string word_of_bash() {
    const std::string quotes = pick({"", "\""});
    return quotes +
           pick({"${a[0]}",
                 "${a[1]}",
                 "${a[i]}",
                 "${a[$i+1]}",
                 "${a[@]}",
                 "${a[*]}",
                 "$a",
                 "${#a[@]}",
                 "${#a[1]}",
                 "${a[@]:1}",
                 "${a[@]:0:1}",
                 "${a[@]: -1}",
                 "${PIPESTATUS[@]}",
                 "${PIPESTATUS[0]}",
                 "$((10#0$i))",
                 "$((16#1f + 2#101))",
                 "${a[i++]}",
                 "${x/a/$(echo Q)}",
                 "${x:$(echo 1)}",
                 "${a[$(echo 1)]}",
                 "${x:0:i++}",
                 "${a[@]/b/Q}",
                 "${a[@]%b}",
                 "${a[*]^^}",
                 "${a[@]:-none}",
                 "${a[@]+set}",
                 "${a[1]:-d}",
                 "p${a[@]}s",
                 "${x/a/Q}",
                 "${x//a/Q}",
                 "${x/#a/Q}",
                 "${x/%b/Q}",
                 "${x//[ab]/}",
                 "${x/a*/Q}",
                 "${x//a/ }",
                 "${x//$y/-}",
                 "${x:1}",
                 "${x:1:2}",
                 "${x: -2}",
                 "${x:+${x:0:-1}}",
                 "${x:i:1}",
                 "${x^^}",
                 "${x^}",
                 "${x,,}",
                 "${p:+${!p}}",
                 "${p+${!p:-d}}",
                 "${@:1}",
                 "${@:2:1}",
                 "${@: -1}",
                 "${*/o/0}",
                 "${#@}",
                 "$((i++))",
                 "$((--v))"}) +
           quotes;
  }

 private:
  // Whatever the case's size; a smaller one says no.
  static bool one_in(int n) { return below(n) == n - 1; }
  static int below(int n) { return *gen::resize(rc::kNominalSize, gen::inRange(0, n)); }
  static std::string pick(const Strings& of) { return *gen::elementOf(of); }

  // Some text, or what a variable is worth.
  std::string word() {
    if (for_bash_ && one_in(3)) return word_of_bash();
    return pick({"a",
                 "b",
                 "'a b'",
                 "\"$x\"",
                 "$x",
                 "${x:-d e}",
                 "\"${y-d}\"",
                 "${x:+z}",
                 "${x#a}",
                 "\"${x%b*}\"",
                 "${x##*a}",
                 "${x%%[!a]*}",
                 "${x#[a-c]}",
                 "${00}",
                 "${#x}",
                 "$((x0 + 1))",
                 "$?",
                 "\"$@\"",
                 "$#",
                 "\\$x",
                 "$1",
                 "$(( (x1 * 3 - 7) % 4 ))",
                 "$((5 << 2 | x1 ^ 3 & ~1))",
                 "$(( 1 << x0 > 2 >> 1 == 1 ))",
                 "$((x1 | 6 & 3))",
                 "$((x0 ? 2 : x1 ? 3 : 4))",
                 "$((x1 > 0 ? (x1 = 5) : (x1 = 6)))",
                 "$((x0 < 2 || x1 == 1))",
                 "$(echo a; echo 'b  c')",
                 "\"$(printf 'p\\nq\\n\\n')\"",
                 "`echo $x`",
                 "${x:-$(echo s t)}",
                 "\"${x:-\"u  v\"}\"",
                 "$(( $(echo 2) * $# ))"});
  }

  // bash's case takes several words for its one in a way of its own.
  std::string one_word() {
    const std::string text = word();
    const bool many = text.find('@') != text.npos || text.find('*') != text.npos;
    return many ? "$x" : text;
  }

  std::string command_of_bash() {
    return pick({"a=(" + word() + " " + word() + ")",
                 "a=(x 'y z' \"$x\")",
                 "a=()",
                 "a+=(w " + word() + ")",
                 "a=(\n one # two\n\n$x\n)",
                 "a=q",
                 "unset a",
                 "a+=s",
                 "x+=" + one_word(),
                 "i+=1",
                 "(a=(1 2); echo ${#a[@]})",
                 "f() { local a; a=(l m); echo \"${a[@]}\"; }; f",
                 "for y in \"${a[@]}\"; do echo \"<$y>\"; done",
                 "for y in ${a[@]}; do echo \"<$y>\"; done",
                 "set -- \"${a[@]}\"; echo $#",
                 "set -- " + word() + "; echo $# $1",
                 "a=($(echo p q) \"$(echo r s)\")",
                 "{ c=(echo c); \"${c[@]}\" d; }",
                 "x=" + one_word(),
                 "export a; sh -c 'echo \"<$a>\"'",
                 "a=z sh -c 'echo \"<$a>\"'; echo ${a[@]}",
                 "((i = 5))",
                 "((i++))",
                 "((v--)) || :",
                 "((i > 2))",
                 "((i += 2))",
                 "((i % 2 == 0)) && echo even $i",
                 "((0 && i++)); echo $i",
                 "((1 || i++)); echo $i",
                 "echo $(( (i = 4) + i )) $((v -= 1)) $((i *= 2)) $((++v - v--))",
                 "if ((i < 3)); then echo less; fi",
                 "for y in 1 2; do ((y == 2)) || continue; echo $y; done",
                 "function g { echo g $1 $#; }; g u v",
                 "function g() { return 2; }; g",
                 "for ((n = 0; n < 2; n++)); do echo $n; done",
                 "for ((n = 3; n; n--)) do ((n == 2)) && "
                 "continue; echo $n; done; echo $n",
                 "for ((;;)); do break; done",
                 "for ((n = 5; n < 2; n++)) "
                 "do echo no; done; echo $n",
                 matching(),
                 matching(),
                 reading() + "; echo \"${PIPESTATUS[*]}\" $?",
                 "(exit 3) | grep no | cat; echo ${PIPESTATUS[*]}; echo ${PIPESTATUS[*]}",
                 "p=x",
                 "p=nobody",
                 "p=i",
                 "i=$((i + 1))",
                 "grep -c a <<< \"$x\"",
                 "cat <<< $x",
                 "tr a-z A-Z <<<\"${a[*]}\""});
  }

  std::string command() {
    if (for_bash_ && one_in(3)) return command_of_bash();
    const std::string name = fmt::format("{}", below(100));
    return pick(
        {"true",
         "false",
         "echo " + name,
         "echo " + name,
         "echo " + word(),
         "echo $?",
         "echo " + word() + " " + word(),
         "x=" + word(),
         "x='a ab b'",
         "unset x",
         ":",
         "[ " + pick({"\"$x\"", "a"}) + pick({" = ", " != "}) + "a ]",
         "test " + pick({"-n", "-z"}) + " \"$x\"",
         "[ $((x0)) -lt 2 ]",
         "[ ! a = b ]",
         "[ x -gt 1 ] 2>/dev/null",
         "no-such-program 2>/dev/null",
         "sh -c 'exit 3'",
         "x=q sh -c 'echo \"<$x$x0>\"'",
         "x=q y=$x sh -c 'echo \"<$x$y>\"'; echo \"<$x$y>\"",
         "x=q f w",
         "x=q echo $x",
         "x=q " + pick({":", "export w=$x", "unset w", "shift 0"}),
         "[ a == a ] 2>/dev/null",
         "[[ -n a ]] 2>/dev/null",
         "set -o pipefail 2>/dev/null",
         pick({"shift 2", "return x", ": > /none/x", "true > /none/x", "export v > /none/x"}) +
             " 2>/dev/null",
         "for y in ${w:-\"a b\" c} ${x+'u v'$x w}; do echo \"<$y>\"; done",
         "echo \"${@:-none}\"",
         "(cd /tmp; cd /; cd -; echo $OLDPWD)",
         "printf '%d %d %x\\n' 0x1f 017 255",
         "(local v=1; echo $v) 2>/dev/null",
         "export x",
         "unset w; export w; sh -c 'echo ${w-u}'; w=$x; sh -c 'echo ${w-u}'",
         "{ set -a; w2=$x; set +a; w3=1; sh -c 'echo $w2$w3'; }",
         "set -e",
         "set +e",
         "shift || :",
         "set -- x 'y z'",
         "exec echo e",
         "export z=\"$x b\"; echo $z",
         "x=$(seq 2)",
         "echo n 2> /dev/null",
         "echo n >  /dev/null",
         "[ ! = $# ]",
         "exec sh -c 'exit 5'",
         "exit",
         "exit " + pick({"0", "3", "257"}),
         "echo " + name + " >/dev/null",
         "echo " + name + " | tee /dev/null",
         "sh -c 'exit 4' | tee /dev/null",
         reading(),
         reading(),
         files(),
         files(),
         jobs(),
         "x=$(echo q; exit 3)",
         "{ set -e; x=$(false; echo in); echo \"<$x>\"; }",
         "{ set -e; (false; echo in) || echo out; set +e; }",
         "(x=r; exit 3)",
         "echo 'a\\tb\\' \"c\\nd\"",
         "echo -e 'a\\e[1mb\\e[0m'",
         "printf -- '-%s-\\n' a",
         "printf 'a\\e[1mb\\n%b' 'c\\ed\\n'",
         "echo -n n",
         "echo e >&2",
         "printf '%s|' a 'b c'; echo",
         "printf '%d-%02d %s\\n' 3 4 x 5",
         "printf 'no end'",
         fmt::format("f() {{\n{}\nreturn {}\n}}",
                     pick({"echo f $1 $#", "local x; x=l; echo $x", "sh -c 'echo \"<$x>\"'",
                           "local w x=$1; (local x=s; echo $x); echo $x"}),
                     below(3)),
         "f u 2>/dev/null; echo $# $1",
         "f() { echo f $1 $#; }; f u v; echo $# $1",
         "for y in 1 2; do f() { echo f $1 $#; }; f; " + pick({"break", "continue"}) + "; done",
         "sh -c \"[ \\$\\$ = $$ ] && echo in place || echo beside\"",
         "case $x in a) echo ca;; 'a ab'*|[d-q]) echo cb;; ?) ;; *) echo cc;; esac",
         "case $x$1 in a*) echo c1;; *n*|?) echo c2;; *) echo c3;; esac",
         "case " + one_word() + " in " + one_word() + ") echo same;; esac",
         "basename /a/b.c .c; dirname /a/b/",
         "trap 'echo bye $?' EXIT",
         "trap 'false; echo ever' EXIT",
         document(),
         "eval 'x=e; echo $x'",
         "eval \"echo $(echo q) '$$x'\" | wc -l",
         "eval " + pick({"", "false", "'false; echo in'", "'(exit 3)'", "break", "'return 2'"}) +
             "; echo $?",
         "{ y='echo \"<$x>\"'; eval $y || echo or; }",
         "{ eval 'f() { echo e $1; }'; f u; }",
         "echo $((v = 5)) $((v <<= 2)) $((v |= 3)) $((v &= 30)) $((v ^= 9)) $((v >>= 1))",
         "[ -d . ] && [ ! -d r ] && mkdir -p e && [ -d e ] && echo folders",
         "echo $((v = 4)) $((v += 2)) $((v *= 3)) $v $((0 && (v = 9))) $v",
         "trap - EXIT"});
  }

  // A pipe into what reads. Its writer writes once: the reader may be gone before a second time.
  static std::string reading() {
    return pick({"echo a-b-c", "seq 3", "printf '1 x\\n2  y z\\n'", "echo \"$x\"",
                 "(echo q; exit 3)", "sh -c 'echo s; exit 4'", "{ printf 'b\\na\\nb\\n'; }",
                 "printf 'a-b\\nb c'", "echo -n 1-a", "cat r 2>/dev/null"}) +
           " | " +
           pick({"cat",
                 "wc -l",
                 "wc -c",
                 "cut -d- -f2",
                 "cut -d ' ' -f 1,3-",
                 "cut -c2-3",
                 "head -n 1",
                 "head -2",
                 "tail -n 1",
                 "tail -n +2",
                 "tr a-c A-C",
                 "tr -d 'a\\n'",
                 "tr -s ' '",
                 "grep -o '[0-9]*$'",
                 "grep -v a",
                 "grep -c b",
                 "grep -qE 'x|y'",
                 "sed 's/[a-b]/<&>/g'",
                 "sed -E 's/([0-9]) +(.)/\\2\\1/'",
                 "awk '{print $2}'",
                 "awk -F- '{print $NF, $1}'",
                 "sort",
                 "sort -ru",
                 "tee s",
                 "tee s | wc -l",
                 "cat > t"});
  }

  // Its text stands behind the line, so it ends one.
  static std::string document() {
    const std::string text = pick({"$x \"q\" \\$x `echo b` $((1+1)) \\\" 'r' ${y:-\"d\"}\\\n on",
                                   "\tone\n\n\ttwo $#", "a\\b \\} } \\\\ $(echo i; echo j)", ""});
    return "{ cat " + pick({"<<E", "<<'E'", "<<-E", "> r <<E", "<<\\E", "<<E 2>/dev/null"}) +
           pick({"", " | tr a-z A-Z", " && echo then"}) + "\n" + text + (text.empty() ? "" : "\n") +
           "E\n}";
  }

  static std::string files() {
    const std::string name = pick({"r", "s", "t", "d/u"});
    return fmt::format(
        fmt::runtime(
            pick({"echo {0} > {0}", "echo x$x >> {0}", "cat {0} 2>/dev/null", "[ -f {0} ]",
                  "rm -f {0}", "mkdir -p d", "touch {0} 2>/dev/null",
                  "{{ echo a; echo b 1>&2; }} > r 2>&1", "x=$(cat {0} 2>/dev/null)",
                  "(mkdir -p d; cd d && [ -f u ] && pwd | grep -c /d$)", "echo g 2>&1 >s"})),
        name);
  }

  // Other processes and signals; nothing is printed by two at once. A signal to $$ ends a shell
  // without a trap, but for a container's first process: so not from within ( ).
  std::string jobs() {
    if (subshells_ == 0 && one_in(2)) {
      return pick({"{ trap 'echo usr $?' USR1; kill -USR1 $$; }",
                   "{ trap '' USR1; kill -USR1 $$; }",
                   "{ trap 'false; echo on' USR1; kill -USR1 $$; trap - USR1; }",
                   "{ trap 'echo long' USR1; kill -SIGUSR1 $$ 2>/dev/null; trap - USR1; }",
                   "{ trap 'echo int' INT; (sleep 0.05; kill -INT $$; sleep 0.05) & wait $!; echo "
                   "$?; wait; }",
                   "{ trap 'echo later' USR2; (sleep 0.03; kill -USR2 $$) & sleep 0.1; wait; }",
                   "{ trap 'echo t' TERM; trap 'echo u $?' USR1; (kill -TERM $$; kill -USR1 $$; "
                   "kill -USR1 $$; exit 3); trap - USR1 TERM; }",
                   "kill -0 $$", "{ trap 'echo gone' EXIT; exit 4; } > /dev/null"});
    }
    return pick({"{ (exit 4) & wait $!; }", "{ sleep 0.02 & wait; }",
                 "{ { sleep 0.01; echo j; } & wait $!; }", "wait 99999",
                 "{ (sleep 0.02; exit 3) & p=$!; wait; wait $p; echo $?; }",
                 "{ sleep 9 & sleep 0.02; kill $!; wait $!; }",
                 "{ sleep 9 & kill -9 $! && wait $!; }", "trap : NOTHING 2>/dev/null"});
  }

  std::string chain(int depth) {
    std::string text = one_in(6) ? "! " + part(depth) : part(depth);
    while (one_in(3)) text += pick({" && ", " || "}) + part(depth);
    return text;
  }

  std::string part(int depth) {
    if (depth == 0 || !one_in(3)) {
      if (one_in(loops_ > 0 ? 6 : 40)) return pick({"break", "continue", "break 2", "continue 2"});
      return command();
    }
    const int kind = below(8);
    subshells_ += kind == 6 ? 1 : 0;
    const std::string inner = list(depth - 1);
    subshells_ -= kind == 6 ? 1 : 0;
    const std::string counter = fmt::format("x{}", counters_++);
    switch (kind) {
      case 0:
        return fmt::format("{{\n{}}}", inner);
      case 1:
        return fmt::format("if {}; then\n{}fi", chain(depth - 1), inner);
      case 2:
        return fmt::format("if {}; then\n{}elif {}; then\n{}else\n{}fi", chain(depth - 1), inner,
                           chain(0), list(depth - 1), list(depth - 1));
      case 6:
        // Where ! X is all there is, bash heeds -e within X, and turns round what comes of it: no
        // script needs that.
        return fmt::format("(\n{}{})", inner.starts_with("! ") ? ":\n" : "", inner);
      case 7:
        return fmt::format("for y; do\n{}done", looped(depth));
      case 3:
        return fmt::format("for {} in {} {}; do\n{}done", pick({"x", "y"}), word(), word(),
                           looped(depth));
      case 4:
        return fmt::format("while [ $(({0})) -lt 2 ]; do\n{0}=$(({0} + 1))\n{1}done", counter,
                           looped(depth));
      default:
        return fmt::format("until [ $(({0})) -ge {2} ]; do {0}=$(({0} + 1)); {1}done", counter,
                           looped(depth), pick({"0", "2"}));
    }
  }

  std::string looped(int depth) {
    ++loops_;
    std::string text = list(depth - 1);
    --loops_;
    return text;
  }

  std::string list(int depth) {
    std::string text;
    const int count = 1 + below(3);
    for (int i = 0; i < count; ++i) text += chain(depth) + "\n";
    return text;
  }

  bool for_bash_;
  int loops_ = 0, counters_ = 0, subshells_ = 0;
};

std::string as_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

const Strings arguments{"name", "one", "two b"};

Outcome really(const std::string& script, const std::string& shell) {
  std::string command =
      "f=$(mktemp -d) && cd \"$f\" && env --default-signal -i PATH=\"$PATH\" LC_ALL=C timeout 20 " +
      shell + " -c " + as_word(script);
  for (const std::string& argument : arguments) command += " " + as_word(argument);
  command += " 2>/dev/null </dev/null; code=$?; cd /; rm -r \"$f\"; exit $code";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t size = fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), size);
  Outcome outcome;
  outcome.code = WEXITSTATUS(pclose(pipe));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    outcome.lines.push_back(text.substr(begin, end - begin));
    begin = end == text.npos ? text.size() : end + 1;
  }
  return outcome;
}

Outcome modelled(const std::string& script, const std::string& shell) {
  model::TestPods pods;
  pods.pod("p");
  Strings argv{shell, "-c", script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  pods.command("p", argv);
  Outcome outcome;
  outcome.code = pods.exit_code("p");
  for (const auto& line : pods.lines())
    if (!line.standard_error) outcome.lines.push_back(line.text);
  if (!pods.start_error().empty()) outcome.lines.push_back(pods.start_error());
  return outcome;
}

// For a real shell: waits until that process is in that state of /proc (S: it waits).
std::string until_state(const std::string& state, const std::string& process = "$!") {
  return "until grep -q '^State:." + state + "' /proc/" + process + "/status; do :; done; ";
}

// That the model of the script comes to what really came of it.
void expect_modelled(const Outcome& real, const std::string& script, const std::string& shell) {
  const Outcome made = modelled(script, shell);
  RC_LOG() << shell << " -c " << script << "\nreally " << real << "\nmodelled " << made << "\n";
  RC_ASSERT(made == real);
}

TEST(ShellProperties, AScriptSaysAndEndsAsTheMachinesOwnShellsHaveIt) {
  holds([] {
    const std::string shell = *gen::element<std::string>("sh", "bash");
    const std::string script = Writer(shell == "bash").script();
    const Outcome real = really(script, shell);
    RC_ASSERT(real.code != 124);
    expect_modelled(real, script, shell);
  });
}

TEST(ShellProperties, BashsArraysAndExpansionsAreAsBashHasThem) {
  holds(
      [] {
        const auto some = gen::elementOf(Strings{"''", "abba", "'a b'", "b", "'x  y'", "o"});
        std::string script = "x=" + *some + "; y=" + *some +
                             "; i=" + *gen::elementOf(Strings{"0", "1", "2"}) +
                             "; p=" + *gen::elementOf(Strings{"x", "i", "nobody"}) + "; a=(";
        const int elements = *gen::resize(rc::kNominalSize, gen::inRange(0, 4));
        for (int n = 0; n < elements; ++n) script += *some + " ";
        script += ")\nset -- " + *some + " " + *some + "\n";
        script += *gen::elementOf(Strings{
            "", "f() { local a; a=(l m); x=q; }; f\n",
            "f() { local v=1 a=(l m) x=q; echo \"${a[@]}\" $x$v; }; f\n",
            "f() { local x; x=(u v); }; f\n", "f() { local a; a=s; echo \"${a[@]}\"; }; f\n",
            "a+=(n o)\n", "unset a\n", "x+=z\n", "a=w\n", "x+=(z)\n"});
        for (int n = 0; n < 3; ++n)
          script += Writer::matching() + "; echo \"<${BASH_REMATCH[*]}>\"\n";
        for (int n = 0; n < 8; ++n)
          script += "printf '<%s>' " + Writer::word_of_bash() + " end; echo\n";
        expect_modelled(really(script, "bash"), script, "bash");
      },
      2);
}

// What stands where nothing is split, and numbers whose variables are none.
TEST(ShellProperties, BashJoinsWhereItDoesNotSplitAndWorksOutValues) {
  holds(
      [] {
        const auto many =
            gen::elementOf(Strings{"$@", "\"$@\"", "${a[@]}", "\"${a[@]}\"", "${a[*]}",
                                   "\"x${a[@]:1}y\"", "${@:2}", "\"${a[@]/b/c}\""});
        const auto value = gen::elementOf(Strings{"''", "5", "' 6 '", "v", "w", "'1 + 2'", "abc",
                                                  "3x", "'v = 4'", "true", "010"});
        std::string script = *gen::elementOf(Strings{"", "set -u\n", "set -e\n"});
        script += "a=(b 'c d' e); set -- p 'q r'; v=7; w=v\n";
        const int lines = *gen::resize(rc::kNominalSize, gen::inRange(1, 6));
        for (int n = 0; n < lines; ++n) {
          const std::string all = *many;
          std::string line = *gen::elementOf(
              Strings{"X=M; echo \"$X\"", "export X=M; sh -c 'echo \"$X\"'",
                      "f() { local y=M; echo \"$y\"; }; f", "cat <<< M", "[[ -n M ]] && echo some",
                      "[[ M == p* ]] && echo begins", "cat <<E\nM\nE",
                      "n=V; ((n > 0)) && echo more || echo less $?", "n=V; ((n)); echo $?",
                      "((nobody > 0)) || echo no $?", "n=V; if ((n == 7)); then echo seven; fi"});
          for (std::size_t at = line.find('M'); at != line.npos;
               at = line.find('M', at + all.size()))
            line.replace(at, 1, all);
          if (const std::size_t at = line.find('V'); at != line.npos) line.replace(at, 1, *value);
          script += line + "\n";
        }
        script += "echo over";
        expect_modelled(really(script, "bash"), script, "bash");
      },
      2);
}

TEST(ShellProperties, ADocumentIsReadAsItsEndSays) {
  holds(
      [] {
        const auto piece = gen::elementOf(Strings{"$@",
                                                  "$*",
                                                  "${@:-n}",
                                                  "${n:=v}$n",
                                                  "$((x2 = 3))",
                                                  "a",
                                                  " ",
                                                  "$x",
                                                  "\\$x",
                                                  "\\\\",
                                                  "\\q",
                                                  "\"",
                                                  "\\\"",
                                                  "'$x'",
                                                  "`echo b`",
                                                  "$(echo \"c\")",
                                                  "$((1 + 1))",
                                                  "${x:-d}",
                                                  "${y:-\"d e\"}",
                                                  "\t",
                                                  "\n",
                                                  "\n\t",
                                                  "\\\n",
                                                  "}",
                                                  "\\}",
                                                  "E",
                                                  "\\`"});
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        const std::string begin =
            *gen::elementOf(Strings{"<<END", "<<'END'", "<<-END", "<<\\END", "<<-\"END\""});
        std::string text;
        const int pieces = *gen::resize(rc::kNominalSize, gen::inRange(0, 10));
        for (int n = 0; n < pieces; ++n) {
          const std::string next = *piece;
          // dash does not join a line that begins with tabs and has nothing else.
          if (next != "\\\n" || shell != "sh" || begin != "<<-END") text += next;
        }
        if (*gen::weightedElement<bool>({{5, false}, {1, true}})) text += "$unset";
        const std::string script =
            *gen::elementOf(Strings{"", "", "set -u\n", "set -e\n"}) + "x='v w'\ncat " + begin +
            *gen::elementOf(Strings{"", " > f; cat f", " | cat", "; echo then", " && echo then"}) +
            "\n" + text + "\nEND\necho over";
        expect_modelled(really(script, shell), script, shell);
      },
      2);
}

// And that of bash goes on, for there is nothing to return from.
TEST(ShellProperties, AReturnEndsAScriptOfSh) {
  holds(
      [] {
        const std::string returns =
            *gen::elementOf(Strings{"return 3", "return", "eval 'return 4'"});
        const std::string around = *gen::elementOf(
            Strings{"{}", "! {}", "{} || echo or", "{} && echo and", "({}); echo $?",
                    "x=$({}; echo no); echo $?", "if {}; then echo then; fi",
                    "for y in 1 2; do {}; echo $y; done", "{} | cat; echo $?",
                    "f() { {}; echo no; }; f; echo $?"});
        const std::size_t at = around.find("{}");
        const std::string script =
            *gen::elementOf(Strings{"", "false\n", "trap 'echo bye $?' EXIT\n"}) +
            around.substr(0, at) + returns + around.substr(at + 2) + "\necho on";
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        expect_modelled(really(script, shell), script, shell);
      },
      2);
}

// One that has a trap to run has to outlive its last command.
TEST(ShellProperties, AShellGivesItsPlaceWhereItHasNothingToDo) {
  holds(
      [] {
        const auto line =
            gen::elementOf(Strings{"trap 'echo t' USR1", "trap '' USR1 TERM", "trap - USR1",
                                   "trap 'echo bye' EXIT", "trap - EXIT", "sleep 0.05 &", ":",
                                   "sleep 0.05 & :", "f() { :; }", "set -e", "x=$(:)"});
        std::string script;
        const int lines = *gen::resize(rc::kNominalSize, gen::inRange(0, 4));
        const auto end = gen::elementOf(Strings{"\n", "\n", "\n:; ", "\n: && "});
        for (int n = 0; n < lines; ++n) script += *line + *end;
        script += *gen::elementOf(Strings{"", "sleep 0.05 & "}) + place;
        const std::string around = *gen::elementOf(Strings{"", "", "(", "{ "});
        if (!around.empty()) script = around + script + (around == "(" ? "\n)" : "\n}");
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        // A container's first dash stays (FM-132), so it is none here.
        script = shell + " -c " + as_word(script) + "; echo $?";
        expect_modelled(really(script, "sh"), script, "sh");
      },
      2);
}

// pipefail is bash's; Debian's dash has none yet.
TEST(ShellProperties, APipeEndsAsItsLastCommandOrWithPipefailAsTheLastThatFailed) {
  holds([] {
    const auto reader = gen::elementOf(
        Strings{"cat", "wc -l", "grep -q y", "grep x", "tee /none/t 2>/dev/null", "tee t"});
    std::string script = *gen::arbitrary<bool>() ? "set -o pipefail\n" : "";
    script += *gen::elementOf(Strings{"(exit 3)", "{ echo x; exit 5; }", "echo x", "! echo y"});
    const int readers = *gen::resize(rc::kNominalSize, gen::inRange(1, 4));
    for (int i = 0; i < readers; ++i) script += " | " + *reader;
    script += "\necho $?";
    expect_modelled(really(script, "bash"), script, "bash");
  });
}

// Those without a trap end it by their default action, or do nothing where the trap is ''.
TEST(ShellProperties, WhatAStoppedShellWasSentIsSeenToOnceEachByTheNumber) {
  holds(
      [] {
        const auto signal = gen::elementOf(Strings{"HUP", "USR1", "USR2", "TERM"});
        const auto action =
            gen::elementOf(Strings{"echo a", "echo b $?", "echo c; exit 3", "", "echo d"});
        std::string child, sent;
        const int traps = *gen::resize(rc::kNominalSize, gen::inRange(1, 6));
        for (int i = 0; i < traps; ++i) child += "trap '" + *action + "' " + *signal + "; ";
        const int signals = *gen::resize(rc::kNominalSize, gen::inRange(1, 6));
        for (int i = 0; i < signals; ++i) sent += "kill -" + *signal + " $!; ";
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        child += ": > k; until [ -f e ]; do sleep 0.01; done; echo end";
        // A real process stops a moment after it is told to.
        const auto script = [&](const std::string& until_stopped) {
          return shell + " -c " + as_word(child) +
                 " & until [ -f k ]; do sleep 0.01; done; kill -STOP $!; " + until_stopped + sent +
                 "kill -CONT $!; : > e; wait $!; echo $?";
        };
        expect_modelled(really(script(until_state("T")), "sh"), script(""), "sh");
      },
      4);
}

// And what one was sent while it waited for a command.
TEST(ShellProperties, WhatAWaitingShellWasSentIsSeenToOnceEachByTheNumber) {
  holds(
      [] {
        Strings signals{"HUP", "USR1", "USR2", "TERM"};
        std::string child, sent;
        for (const std::string& signal : signals) {
          const std::string again = signal == "HUP" ? "" : "; kill -HUP $$; echo sent";
          child +=
              "trap '" +
              *gen::elementOf(Strings{"echo " + signal, "echo " + signal + " $?" + again, ""}) +
              "' " + signal + "; ";
        }
        const int count = *gen::resize(rc::kNominalSize, gen::inRange(1, 6));
        for (int i = 0; i < count; ++i) sent += "kill -" + *gen::elementOf(signals) + " $$; ";
        const std::string script = child + "(" + sent + "exit 3); echo $?";
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        expect_modelled(really(script, shell), script, shell);
      },
      2);
}

TEST(ShellProperties, AWaitEndsForASignalThatIsTrappedAndSaysWhich) {
  holds(
      [] {
        const std::string signal = *gen::elementOf(Strings{"HUP", "USR1", "USR2", "TERM"});
        const std::string action = *gen::elementOf(Strings{"echo a", "echo b; exit 3", "", ":"});
        const std::string whom = *gen::elementOf(Strings{"", " $s"});
        const std::string shell = *gen::elementOf(Strings{"sh", "bash"});
        const auto script = [&](const std::string& until_waiting) {
          return "trap '" + action + "' " + signal + "; sleep 0.5 & s=$!; { sleep 0.1; " +
                 until_waiting + "kill -" + signal + " $$; } & wait" + whom + "; echo $?";
        };
        expect_modelled(really(script(until_state("S", "$$")), shell), script(""), shell);
      },
      8);
}

TEST(ShellProperties, TimeoutHandsASignalOn) {
  holds(
      [] {
        const std::string signal = *gen::elementOf(Strings{"HUP", "USR1", "TERM"});
        const std::string trap = *gen::elementOf(Strings{"", "trap 'echo t; exit 3' TERM USR1; "});
        // The file k may be there before a real timeout knows whom it has started, and it hands
        // nothing on until it waits.
        const auto script = [&](const std::string& until_waiting) {
          return "timeout 9 sh -c " + as_word(trap + ": > k; sleep 1; echo over; : > o") +
                 " & until [ -f k ]; do sleep 0.01; done; " + until_waiting + "kill -" + signal +
                 " $!; wait $!; echo $?" +
                 // Then what it runs is left alone.
                 (signal == "USR1" ? "; until [ -f o ]; do sleep 0.01; done" : "");
        };
        expect_modelled(really(script(until_state("S")), "sh"), script(""), "sh");
      },
      15);
}

}  // namespace
}  // namespace ddptwin::property::shell_properties_test
