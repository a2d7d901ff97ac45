#include "shell_script.hpp"

#include <fmt/format.h>

#include <vector>

#include "property.hpp"

namespace ddptwin::property {
namespace {

using Strings = std::vector<std::string>;

// A script from the grammar that is modelled. Its loops end: each counts by a variable of its own.
class Writer {
 public:
  explicit Writer(bool for_bash) : for_bash_(for_bash) {}

  std::string script() {
    const std::string place = tells_its_place;
    std::string text;
    if (one_in(2)) text = "set -e\n";
    text += list(3);
    // What stands last may take the shell's place; what it started may still be asked for.
    return text +
           pick({"", "", place, "if :; then " + place + "; fi", "{ sleep 0.01 & wait; }\n" + place,
                 "(sleep 0.02; exit 3) & p=$!; wait; wait $p; echo $?"});
  }

  // What a text and an expression have to do with each other, told.
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
                 input(),
                 "IFS=, read -r x y <<< \"a,b,$x\"; echo \"<$x|$y>\"",
                 "read -ra a <<< \"$x 1 2\"; echo \"${#a[@]} ${a[0]}\"",
                 "mapfile -t a < <(seq 2; echo \"$x\"); echo \"${a[@]}\"",
                 "{ echo p; echo q; } > >(cat > s); wait; sleep 0.05; cat s",
                 "a=(k); a[1]=$x; echo \"${a[@]}\"",
                 "a=(k l); a[i=1]+=m; echo \"${a[@]}\" $i",
                 "((v = 3, i = v ** 2)); echo $i $((-2 ** 2)) $((2 ** 3 ** 2))",
                 "[[ i+1 -eq 2 || $x < b ]] && echo less",
                 "printf '%s|' $'a\\tb\\x41\\101' $\"q\"; echo",
                 "declare y=$x; echo \"<$y>\"",
                 "f() { declare w=in; local -r z=1; declare -g y=out; }; f; echo \"<$w$z$y>\"",
                 "(readonly y=1; export y=2 || echo $? $y) 2>/dev/null",
                 "(readonly y=1; y=2; echo no) 2>/dev/null",
                 "type -t cd echo if no-such-program",
                 "let i=4 x=i-4 || echo zero $x; printf -v y '%s-' a b; echo $y",
                 "{ (sleep 0.3; exit 3) & (exit 4) & wait -n; echo $?; wait -n; echo $?; wait -n; "
                 "echo $?; }",
                 "[[ -v x ]] && echo set",
                 "for y in {1..3} a{b,\"$x\"}c {3..1..2} {a..c}{x,} {,q}; do echo \"<$y>\"; done",
                 "{ echo o; echo e >&2; } |& cat",
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
         input(),
         input(),
         separators(),
         "x=$(mktemp -d) && [ -d \"$x\" ] && : > \"$x/f\"; x=made",
         "(readonly v=1; v=2; echo no) 2>/dev/null",
         "command -v cd no-such-program > /dev/null || echo none",
         "f() { echo own; }; command f 2>/dev/null; command echo plain",
         "[ a = b -o \"$x\" = \"$x\" ] && [ ! a = b -a -n a ] && echo joined",
         "[ ! \\( a = b -o -z a \\) ] && echo closed",
         "{ HOME=/h; echo ~ ~/x \"~\" a~; y=~/b:~; echo $y; unset HOME; }",
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

  // Something that reads lines, and where they come from.
  static std::string input() {
    const std::string body = pick(
        {"while read -r x y; do echo \"<$x|$y>\"; done", "{ read x; read y z; echo \"$x,$y,$z\"; }",
         "{ read -r x; cat; }", "while IFS=: read x y z; do echo \"$x/$y/$z\"; done",
         "f() { while read x; do echo \"$x\"; done; }; f", "{ read x || echo end; echo \"$x\"; }",
         "{ IFS= read -r x; echo \"<$x>\"; }", "(read x; echo \"$x\"; read x; echo $? \"$x\")",
         "while read x && [ \"$x\" != b ]; do echo $x; done",
         "{ IFS=', ' read x y; echo \"$x;$y\"; }"});
    const std::string text = pick({"a b  c\nb\n", " p:q::r: \n", "x\\\\y z\\\n w\n", "", "\n\nu",
                                   "1, 2,,3 ,\n4", "b:\n:\nc : d\n"});
    std::string quoted;
    for (const char c : text) quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    const bool defines = body.starts_with("f()");
    const std::string reader = defines ? "f" : body;
    const std::string before = defines ? body.substr(0, body.rfind(';')) + "; " : "";
    switch (below(3)) {
      case 0:
        return "{ " + before + "printf '" + quoted + "' | " + reader + "; }";
      case 1:
        return "{ " + before + "printf '" + quoted + "' > r; " + reader + " < r; }";
      default:
        return "{ " + before + reader + " <<'E'\n" + text +
               (text.ends_with('\n') || text.empty() ? "" : "\n") + "E\n}";
    }
  }

  // What IFS makes of words.
  static std::string separators() {
    return "{ IFS='" + pick({":", ", ", "", "x", " :"}) + "'; y='" +
           pick({"a:b::c", ":a, b,,c ", " a : b", "xax", "a b", ""}) +
           "'; for w in $y \"$y\" ${n:-p:q r}; do echo \"<$w>\"; done; set -- $y; echo $#; echo "
           "\"$*\" $*; unset IFS; }";
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

}  // namespace

std::string any_shell_script(bool for_bash) { return Writer(for_bash).script(); }
std::string any_word_of_bash() { return Writer::word_of_bash(); }
std::string any_match_of_bash() { return Writer::matching(); }

}  // namespace ddptwin::property
