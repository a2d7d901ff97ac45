// What containers' `sh -c` lines do: the modelled shell against the machine's own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdio>

#include "property.hpp"
#include "runtime/model/test_pods.hpp"
#include "shell_script.hpp"

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
    const std::string script = any_shell_script(shell == "bash");
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
          script += any_match_of_bash() + "; echo \"<${BASH_REMATCH[*]}>\"\n";
        for (int n = 0; n < 8; ++n)
          script += "printf '<%s>' " + any_word_of_bash() + " end; echo\n";
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
TEST(ShellProperties, AShellGivesItsPlaceWhereNothingIsLeftForIt) {
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
        script += *gen::elementOf(Strings{"", "sleep 0.05 & "}) + tells_its_place;
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
