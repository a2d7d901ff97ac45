// What a kubelet that was away makes of what happened meanwhile (spec/kubernetes.md §2.1, §2.4,
// §2.5, §2.12): the runtime goes on without it, and tells nobody.
#include <algorithm>
#include <array>
#include <ostream>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::kubelet_absence_properties_test {
namespace {

constexpr std::int64_t grace_min = 2;
const std::array<std::string, 2> containers{"c0", "c1"};

// A pod of two containers that run until they are told to end, and what becomes of it while no
// kubelet runs.
struct Story {
  enum class Kind : std::uint8_t {
    nothing,
    end,  // some of its containers
    lose_sandbox,
    remove,     // with its grace
    take_away,  // by force
    replace,    // by another of its name, after that
    come,       // it is new
  };
  static constexpr int runs_on = -1;

  Kind kind = Kind::nothing;
  std::string policy{};
  std::string on_term{};
  int grace = 30;
  std::array<int, 2> codes{runs_on, runs_on};  // of those that end
  int before = 0;                              // seconds until it happens
};
constexpr const char* story_names[] = {"nothing",    "ends",          "its sandbox is lost",
                                       "is deleted", "is taken away", "is replaced",
                                       "is made"};

void showValue(const Story& story, std::ostream& out) {
  out << "after " << story.before << " s " << story_names[static_cast<int>(story.kind)] << " ("
      << story.policy << ", grace " << story.grace << ", on SIGTERM '" << story.on_term << "'";
  if (story.kind == Story::Kind::end)
    for (const int code : story.codes) out << ", " << code;
  out << ")";
}

rc::Gen<Story> any_story() {
  using Kind = Story::Kind;
  const auto code = gen::element(Story::runs_on, 0, 1, 137);
  return gen::build<Story>(
      gen::set(&Story::kind, gen::weightedElement<Kind>({{1, Kind::nothing},
                                                         {4, Kind::end},
                                                         {1, Kind::lose_sandbox},
                                                         {2, Kind::remove},
                                                         {2, Kind::take_away},
                                                         {2, Kind::replace},
                                                         {1, Kind::come}})),
      gen::set(&Story::policy, gen::element<std::string>("Never", "OnFailure", "Always")),
      gen::set(&Story::on_term, gen::element<std::string>("", "0 after 1", "0 after 4", "ignore")),
      gen::set(&Story::grace, gen::element(1, 3, 10, 30)),
      gen::set(&Story::codes, gen::container<std::array<int, 2>>(code)),
      gen::set(&Story::before, gen::element(0, 0, 1, 7)));
}

std::shared_ptr<Pod> pod_of(const Story& story, const std::string& name) {
  auto pod = NodeRun::pod_named(name);
  PodSpec& spec = pod->spec.edit();
  spec.restartPolicy = story.policy;
  spec.terminationGracePeriodSeconds = story.grace;
  for (const std::string& container : containers) {
    spec.containers.edit().push_back(container_named(container));
    if (!story.on_term.empty())
      pod->metadata.annotations.edit()["rig/term." + container] = story.on_term;
  }
  return pod;
}

// How long its containers take to end, if they have that many seconds.
std::int64_t takes(const Story& story, std::int64_t grace) {
  if (story.on_term.empty()) return 0;
  const std::int64_t wanted = story.on_term == "ignore"      ? grace
                              : story.on_term == "0 after 1" ? 1
                                                             : 4;
  return std::min(wanted, grace);
}

// One pod, before the kubelet goes, while it is away and once it is back.
class Life {
 public:
  Life(Story story, int index) : story_(std::move(story)), name_("p" + std::to_string(index)) {}

  void begin(NodeRun& node) const {
    if (story_.kind != Story::Kind::come) node.create(pod_of(story_, name_));
  }
  void leave(const NodeRun& node) {
    if (story_.kind == Story::Kind::come) return;
    before_ = node.pod(name_);
    RC_ASSERT(before_->status.phase == "Running");
  }
  void happen(NodeRun& node);
  void check_unheard(const NodeRun& node) const;
  void check_removal(const NodeRun& node, Time back) const;
  void check(NodeRun& node, Time back) const;

 private:
  using Kind = Story::Kind;
  bool object_goes() const {
    return story_.kind == Kind::take_away || story_.kind == Kind::replace;
  }
  void check_end(NodeRun& node, std::size_t which, Time back) const;

  Story story_;
  std::string name_;
  std::shared_ptr<const Pod> before_{};
  Time when_{};
};

void Life::happen(NodeRun& node) {
  node.rest(seconds(story_.before));
  when_ = node.now();
  if (story_.kind == Kind::lose_sandbox) node.lose_sandbox(name_);
  if (story_.kind == Kind::remove) node.remove(std::nullopt, name_);
  if (object_goes()) node.remove(0, name_);
  if (story_.kind == Kind::replace || story_.kind == Kind::come) node.create(pod_of(story_, name_));
  if (story_.kind != Kind::end) return;
  for (std::size_t i = 0; i < containers.size(); ++i)
    if (story_.codes[i] != Story::runs_on) node.exit(containers[i], story_.codes[i], false, name_);
}

// As long as no kubelet looks nothing is told, and nobody stops anything.
void Life::check_unheard(const NodeRun& node) const {
  RC_LOG() << name_ << "\n";
  if (story_.kind == Kind::come) return;
  const auto pod = node.pod(name_);
  RC_ASSERT((pod == nullptr) == (story_.kind == Kind::take_away));
  if (pod && !object_goes()) RC_ASSERT(pod->status.phase == "Running");
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < containers.size(); ++i)
    if (story_.kind != Kind::lose_sandbox &&
        (story_.kind != Kind::end || story_.codes[i] == Story::runs_on))
      wanted.push_back(containers[i]);
  RC_ASSERT(node.running_in(before_->metadata.uid.str()) == wanted);
}

// Who has no object any more has the two seconds that everybody has, who is deleted its grace.
void Life::check_removal(const NodeRun& node, Time back) const {
  if (story_.kind != Kind::remove && !object_goes()) return;
  const std::int64_t grace =
      object_goes() ? grace_min : std::max<std::int64_t>(grace_min, story_.grace);
  const Time ends = back + seconds(takes(story_, grace));
  const auto left = node.running_in(before_->metadata.uid.str());
  RC_LOG() << name_ << " " << seconds_of(node.now() - back) << " s later: " << left.size()
           << " run\n";
  if (node.now() < ends) RC_ASSERT(left.size() == containers.size());
  if (node.now() > ends + slack) RC_ASSERT(left.empty());
}

void Life::check(NodeRun& node, Time back) const {
  RC_LOG() << name_ << "\n";
  const auto pod = node.pod(name_);
  if (story_.kind == Kind::remove || story_.kind == Kind::take_away) {
    RC_ASSERT(pod == nullptr);
    return;
  }
  RC_ASSERT(pod != nullptr);
  if (story_.kind == Kind::end || story_.kind == Kind::lose_sandbox) {
    for (std::size_t i = 0; i < containers.size(); ++i) check_end(node, i, back);
    bool any_runs = false, any_failed = false;
    for (const ContainerStatus& status : pod->status.containerStatuses) {
      any_runs = any_runs || status.state.running;
      any_failed =
          any_failed || (status.state.terminated && status.state.terminated->exitCode != 0);
    }
    RC_ASSERT(pod->status.phase == (any_runs ? "Running" : any_failed ? "Failed" : "Succeeded"));
    return;
  }
  RC_ASSERT(pod->status.phase == "Running");
  RC_ASSERT(node.running_in(pod->metadata.uid.str()).size() == containers.size());
  for (const std::string& container : containers) {
    const ContainerStatus& status = *status_of(*pod, container);
    RC_ASSERT(status.restartCount == 0);
    if (story_.kind == Kind::nothing)
      RC_ASSERT(status.rest->containerID == status_of(*before_, container)->rest->containerID);
  }
}

// It ended when it did, and not when the kubelet heard of it; what is to come again comes at once,
// since a new kubelet knows of no back-off (§2.4).
void Life::check_end(NodeRun& node, std::size_t which, Time back) const {
  const bool by_loss = story_.kind == Kind::lose_sandbox;
  const std::string& container = containers[which];
  const int code = by_loss ? 137 : story_.codes[which];
  const ContainerStatus& status = *status_of(*node.pod(name_), container);
  const auto& runs = node.runs_of(container, name_);
  RC_LOG() << container << " restarted " << status.restartCount << " times\n";
  if (code == Story::runs_on) {
    RC_ASSERT(runs.size() == 1U);
    RC_ASSERT(status.state.running.has_value());
    RC_ASSERT(status.restartCount == 0);
    return;
  }
  const bool again = story_.policy == "Always" || (story_.policy == "OnFailure" && code != 0);
  RC_ASSERT(runs.size() == (again ? 2U : 1U));
  RC_ASSERT(status.restartCount == (again ? 1 : 0));
  RC_ASSERT(status.state.running.has_value() == again);
  if (again) RC_ASSERT(runs[1].began >= back);
  if (again) RC_ASSERT(runs[1].began <= back + slack);
  const auto& end = again ? status.lastState->terminated : status.state.terminated;
  RC_ASSERT(end.has_value());
  RC_ASSERT(end->exitCode == code);
  RC_ASSERT(end->reason == (code == 0 ? "Completed" : "Error"));
  RC_ASSERT(end->finishedAt == when_.floor_seconds());
}

TEST(KubeletProperties, WhatHappenedWhileItWasAwayIsMadeGood) {
  holds(
      [] {
        const auto stories =
            *gen::suchThat(gen::resize(4, gen::vector_of(any_story())), [](const auto& some) {
               return !some.empty();
             }).as("stories");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        std::vector<Life> lives;
        for (const Story& story : stories)
          lives.emplace_back(story, static_cast<int>(lives.size())).begin(node);
        node.rest(10s);
        for (Life& life : lives) life.leave(node);
        node.stop_kubelet();
        for (Life& life : lives) life.happen(node);
        node.rest(seconds(*gen::inRange(1, 60).as("seconds that it stays away")));
        for (const Life& life : lives) life.check_unheard(node);
        node.start_kubelet();
        const Time back = node.now();
        for (int look = 0; look < 60; ++look) {
          node.rest(1s - 1ms);
          for (const Life& life : lives) life.check_removal(node, back);
          node.rest(1ms);
        }
        for (const Life& life : lives) life.check(node, back);
        node.require_safe();
      },
      1);
}

}  // namespace
}  // namespace ddptwin::property::kubelet_absence_properties_test
