// What containers' `sh -c` lines do: the modelled shell against the machine's own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdio>

#include "cluster/model_runtime/test_pods.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
using Strings = std::vector<std::string>;

struct Outcome {
  int code = 0;
  Strings lines{};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << fmt::format("{} [{}]", outcome.code, fmt::join(outcome.lines, "|"));
}

// A script from the grammar that is modelled. Its loops end: each counts by a variable of its own.
class Writer {
 public:
  std::string script() {
    std::string text;
    if (one_in(2)) text = "set -e\n";
    return text + list(3);
  }

 private:
  // Whatever the case's size; a smaller one says no.
  static bool one_in(int n) { return below(n) == n - 1; }
  static int below(int n) { return *gen::resize(rc::kNominalSize, gen::inRange(0, n)); }
  static std::string pick(const Strings& of) { return *gen::elementOf(of); }

  // Some text, or what a variable is worth.
  std::string word() {
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
                 "$((x0 < 2 || x1 == 1))"});
  }

  std::string command() {
    const std::string name = fmt::format("{}", below(100));
    return pick({"true",
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
                 "export x",
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
                 "sh -c 'exit 4' | tee /dev/null"});
  }

  std::string chain(int depth) {
    std::string text = one_in(6) ? "! " + part(depth) : part(depth);
    while (one_in(3)) text += pick({" && ", " || "}) + part(depth);
    return text;
  }

  std::string part(int depth) {
    if (depth == 0 || !one_in(3)) {
      if (one_in(loops_ > 0 ? 6 : 40)) return pick({"break", "continue"});
      return command();
    }
    const std::string inner = list(depth - 1);
    const std::string counter = fmt::format("x{}", counters_++);
    switch (below(6)) {
      case 0:
        return fmt::format("{{\n{}}}", inner);
      case 1:
        return fmt::format("if {}; then\n{}fi", chain(depth - 1), inner);
      case 2:
        return fmt::format("if {}; then\n{}elif {}; then\n{}else\n{}fi", chain(depth - 1), inner,
                           chain(0), list(depth - 1), list(depth - 1));
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

  int loops_ = 0, counters_ = 0;
};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

const Strings arguments{"name", "one", "two b"};

Outcome really(const std::string& script) {
  std::string command = "exec env -i PATH=\"$PATH\" timeout 20 sh -c " + quoted(script);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
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

Outcome modelled(const std::string& script) {
  model::TestPods pods;
  pods.pod("p");
  Strings argv{"sh", "-c", script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  pods.command("p", argv);
  Outcome outcome;
  outcome.code = pods.exit_code("p");
  for (const auto& line : pods.lines())
    if (!line.standard_error) outcome.lines.push_back(line.text);
  return outcome;
}

TEST(ShellProperties, AScriptSaysAndEndsAsTheMachinesOwnShellHasIt) {
  holds([] {
    const std::string script = Writer().script();
    const Outcome real = really(script);
    RC_LOG() << script << "really " << real << "\n";
    RC_ASSERT(real.code != 124);
    RC_ASSERT(modelled(script) == real);
  });
}

}  // namespace
}  // namespace ddptwin::property
