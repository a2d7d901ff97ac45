// What the modelled runtime makes of a kubelet's commands in containers and of its stops
// (spec/kubernetes.md §2.3, §2.8): whatever runs in them.
#include <algorithm>
#include <csignal>
#include <ostream>

#include "property.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::property::runtime_properties_test {
namespace {

using model::Strings;
using model::TestPods;

constexpr Duration soon = 20ms;

rc::Gen<int> any(int begin, int end) {
  return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
}

// A command in a container that is there.
struct Command {
  int after = 0;    // seconds since the one before
  int lasts = 1;    // seconds, if nobody ends it
  int timeout = 0;  // so many seconds and a half; 0: none
  enum class Kind : std::uint8_t { plain, shell, deaf } kind = Kind::plain;
};

void showValue(const Command& one, std::ostream& out) {
  constexpr const char* names[] = {"sleep", "a shell", "a deaf shell"};
  out << "after " << one.after << " s " << names[static_cast<int>(one.kind)] << " of " << one.lasts
      << " s";
  if (one.timeout != 0) out << ", given " << one.timeout << ".5 s";
}

Strings argv_of(const Command& one) {
  const std::string sleep = "sleep " + std::to_string(one.lasts);
  switch (one.kind) {
    case Command::Kind::plain:
      return {"sleep", std::to_string(one.lasts)};
    case Command::Kind::shell:
      return {"sh", "-c", sleep + "; exit 3"};
    case Command::Kind::deaf:
      break;
  }
  return {"bash", "-c", "trap '' TERM; " + sleep + "; exit 3"};
}

// A command is answered when it ends, when its container does, or at its timeout, whichever is
// first, and no other is touched by that.
TEST(RuntimeProperties, ACommandIsAnsweredAtItsTimeout) {
  holds([] {
    using Kind = Command::Kind;
    const auto commands =
        *gen::resize(
             5, gen::vector_of(gen::build<Command>(
                    gen::set(&Command::after, any(0, 5)), gen::set(&Command::lasts, any(1, 40)),
                    gen::set(&Command::timeout,
                             gen::weightedOneOf<int>({{1, gen::just(0)}, {3, any(1, 30)}})),
                    gen::set(&Command::kind, gen::element(Kind::plain, Kind::shell, Kind::deaf)))))
             .as("commands");
    const int lives = *any(20, 80).as("seconds that the container lives");
    TestPods pods;
    pods.pod("p");
    const auto id = pods.command("p", {"sleep", "1000"});
    pods.run(1s);
    struct Answer {
      Duration begun{}, wanted{}, at{};
      std::optional<ExecResult> result{};
    };
    std::vector<Answer> answers(commands.size());
    const Duration ends = pods.now() + std::chrono::seconds(lives) + 250ms;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Command& one = commands[i];
      pods.run(std::chrono::seconds(one.after));
      Answer& answer = answers[i];
      answer.begun = pods.now();
      const Duration timeout =
          one.timeout == 0 ? Duration::zero() : std::chrono::seconds(one.timeout) + 500ms;
      pods.runtime().exec(id, argv_of(one), timeout, [&](const Result<ExecResult>& result) {
        answer.at = pods.now();
        if (result) answer.result = *result;
      });
    }
    pods.run(ends - pods.now());
    pods.signal("p", SIGKILL);
    pods.run(60s);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Command& one = commands[i];
      const Answer& answer = answers[i];
      const Duration own = answer.begun + std::chrono::seconds(one.lasts);
      const Duration late = one.timeout == 0
                                ? Duration::max()
                                : answer.begun + std::chrono::seconds(one.timeout) + 500ms;
      const Duration wanted = std::min({own, late, ends});
      RC_LOG() << i << ": answered at " << seconds_of(answer.at) << ", wanted at "
               << seconds_of(wanted) << "\n";
      RC_ASSERT(answer.result.has_value());
      RC_ASSERT(answer.at >= wanted && answer.at <= wanted + soon);
      RC_ASSERT(answer.result->timed_out == (wanted == late));
      const int code = one.kind == Command::Kind::plain ? 0 : 3;
      RC_ASSERT(answer.result->exit_code == (wanted == own ? code : 137));
    }
  });
}

// KEP-4960: the signal that the container asks for, SIGTERM where it asks for none; then SIGKILL
// once the grace is over.
TEST(RuntimeProperties, AContainerGetsTheStopSignalThatItAsksFor) {
  holds([] {
    const Strings names{"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"};
    const auto asked =
        *gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(0, names.size() + 1))
             .as("stop signal, the last: none");
    const int takes = *any(0, 12).as("seconds from the signal to its end"),
              grace = *any(2, 12).as("grace");
    // It hears of the signal once it has slept for its second.
    RC_PRE(takes + 1 < grace || takes > grace);
    std::string script;
    for (std::size_t i = 0; i < names.size(); ++i)
      script += "trap 'echo got " + names[i] + "; sleep " + std::to_string(takes) + "; exit " +
                std::to_string(i + 1) + "' " + names[i] + "; ";
    TestPods pods;
    pods.pod("p");
    ContainerConfig made = pods.config("p", "plain", {});
    made.command = {"bash", "-c", script + "while :; do sleep 1; done"};
    if (asked < names.size()) made.stop_signal = "SIG" + names[asked];
    const auto id = pods.start("p", made);
    pods.run(std::chrono::milliseconds(*any(1000, 4000).as("ms until it is stopped")));
    const Duration since = pods.now();
    pods.runtime().stop_container(id, grace, [](const Result<void>&) {});
    pods.run(60s);
    RC_LOG() << pods.all_lines();
    RC_ASSERT(!pods.runs("p"));
    const std::size_t got = asked % names.size();
    for (std::size_t i = 0; i < names.size(); ++i)
      RC_ASSERT((pods.line("p", "got " + names[i]) != nullptr) == (i == got));
    const Duration lasted = pods.ended_at("p") - since;
    const bool in_time = takes < grace;
    RC_ASSERT(pods.report("p").exit_code == (in_time ? static_cast<int>(got) + 1 : 137));
    const Duration wanted = std::chrono::seconds(std::min(takes, grace));
    RC_ASSERT(lasted >= wanted);
    RC_ASSERT(lasted <= wanted + (in_time ? 1s : 0s) + soon);
  });
}

}  // namespace
}  // namespace ddptwin::property::runtime_properties_test
