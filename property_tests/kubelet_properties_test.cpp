// The life of a pod on its node: what becomes of random containers under every restart policy, and
// what holds whatever is done to them (spec/kubernetes.md §2.2, §2.4 to §2.6).
#include <algorithm>
#include <boost/json.hpp>
#include <ostream>

#include "node_run.hpp"
#include "objects/codec.hpp"
#include "property.hpp"

namespace ddptwin::property::kubelet_properties_test {
namespace {

constexpr std::int64_t grace_min = 2;

// One run of a container: how it ends, and after how many seconds.
struct Attempt {
  int code = 0;
  int seconds = 0;
};
struct ContainerShape {
  std::string name{};
  bool init = false;
  std::vector<Attempt> attempts{};  // the last is what all later ones do
  std::string on_term{};            // "": ends at once; "ignore"; "0 after 3"
};
struct PodShape {
  std::string policy{};
  std::vector<ContainerShape> containers{};  // those that initialise come first
  int grace = 30;
};

void showValue(const PodShape& pod, std::ostream& out) {
  out << pod.policy << ", grace " << pod.grace;
  for (const ContainerShape& container : pod.containers) {
    out << "\n  " << (container.init ? "init " : "") << container.name << ":";
    for (const Attempt& attempt : container.attempts)
      out << " " << attempt.code << " after " << attempt.seconds << ",";
    if (!container.on_term.empty()) out << " on SIGTERM " << container.on_term;
  }
}

ContainerShape any_container(const std::string& name, bool init) {
  ContainerShape container{.name = name, .init = init};
  for (int n = *gen::inRange(0, 3); n > 0; --n)
    container.attempts.push_back({*gen::element(0, 1, 1, 2, 137, 143), *gen::inRange(0, 8)});
  container.attempts.push_back({*gen::element(0, 0, 0, 1), *gen::inRange(0, 8)});
  container.on_term = *gen::element<std::string>("", "ignore", "0 after 3");
  return container;
}

rc::Gen<PodShape> any_pod() {
  return gen::resize(rc::kNominalSize, gen::exec([] {
                       PodShape pod;
                       pod.policy = *gen::element<std::string>("Never", "OnFailure", "Always");
                       for (int n = *gen::inRange(0, 3), i = 0; i < n; ++i)
                         pod.containers.push_back(any_container("i" + std::to_string(i), true));
                       for (int n = *gen::inRange(1, 3), i = 0; i < n; ++i)
                         pod.containers.push_back(any_container("c" + std::to_string(i), false));
                       pod.grace = *gen::element(0, 1, 5, 30);
                       return pod;
                     }));
}

std::string script_of(const ContainerShape& container) {
  std::string text;
  for (const Attempt& attempt : container.attempts)
    text += (text.empty() ? "" : ", ") + std::to_string(attempt.code) + " after " +
            std::to_string(attempt.seconds);
  return text;
}

std::shared_ptr<Pod> pod_object(const PodShape& shape) {
  auto pod = NodeRun::pod_named("p");
  StringMap& script = pod->metadata.annotations.edit();
  PodSpec& spec = pod->spec.edit();
  spec.restartPolicy = shape.policy;
  spec.terminationGracePeriodSeconds = shape.grace;
  for (const ContainerShape& one : shape.containers) {
    Container container;
    container.name = one.name;
    container.image = "busybox";
    (one.init ? spec.initContainers : spec.containers).edit().push_back(std::move(container));
    script["rig/exit." + one.name] = script_of(one);
    if (!one.on_term.empty()) script["rig/term." + one.name] = one.on_term;
  }
  return pod;
}

// --- a pod left to itself ---

bool restarts(const std::string& policy, bool init, int code) {
  return code != 0 ? policy != "Never" : policy == "Always" && !init;
}

// What becomes of one container: its attempts, one after the other. A loop that never ends has no
// end here either.
struct Outcome {
  bool ends = false;
  int code = 0;
  int restarts = 0;
};
Outcome outcome_of(const std::string& policy, const ContainerShape& container) {
  Outcome outcome;
  for (const Attempt& attempt : container.attempts) {
    outcome.code = attempt.code;
    outcome.ends = !restarts(policy, container.init, attempt.code);
    if (outcome.ends) return outcome;
    ++outcome.restarts;
  }
  return outcome;
}

void check_end(const ContainerStatus& status, const Outcome& wanted) {
  RC_ASSERT(status.state.terminated.has_value());
  RC_ASSERT(status.state.terminated->exitCode == wanted.code);
  RC_ASSERT(status.state.terminated->reason == (wanted.code == 0 ? "Completed" : "Error"));
  RC_ASSERT(status.restartCount == wanted.restarts);
}

// Which of the initialising containers had their turn, and how the pod ends.
void check_whole_life(NodeRun& node, const PodShape& shape) {
  const auto pod = node.pod();
  bool held = false, fails = false, endless = false;
  Time mains_may_begin{};
  for (const ContainerShape& container : shape.containers) {
    const auto& runs = node.runs_of(container.name);
    if (held) {
      RC_ASSERT(runs.empty());
      continue;
    }
    const Outcome wanted = outcome_of(shape.policy, container);
    RC_ASSERT(!runs.empty());
    RC_ASSERT(runs.front().began >= mains_may_begin);
    if (wanted.ends) {
      check_end(*status_of(*pod, container.name), wanted);
      RC_ASSERT(static_cast<int>(runs.size()) == wanted.restarts + 1);
    } else {
      RC_ASSERT(runs.size() >= container.attempts.size());
      endless = true;
    }
    fails = fails || (wanted.ends && wanted.code != 0);
    if (!container.init) continue;
    held = !wanted.ends || wanted.code != 0;
    mains_may_begin = *runs.back().ended;
  }
  if (!endless)
    RC_ASSERT(pod->status.phase == (fails ? "Failed" : "Succeeded"));
  else
    RC_ASSERT(!is_over(*pod));
}

TEST(KubeletProperties, APodLeftToItselfEndsAsItsScriptsAndPolicySay) {
  holds([] {
    const PodShape shape = *any_pod().as("pod");
    NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    node.create(pod_object(shape));
    node.rest(300s);  // three restarts of each in turn: 10 + 20 s at most
    node.require_safe();
    check_whole_life(node, shape);
  });
}

TEST(KubeletProperties, AContainerThatFailedForGoodLeavesTheOtherAlone) {
  holds(
      [] {
        const int first = *gen::inRange(0, 6).as("seconds of the first");
        const int longer = *gen::inRange(1, 8).as("how much longer the other runs");
        PodShape shape{.policy = "Never"};
        shape.containers = {
            {.name = "c0", .attempts = {{*gen::element(1, 2, 137).as("code"), first}}},
            {.name = "c1",
             .attempts = {{*gen::element(0, 1).as("the other's code"), first + longer}}}};
        if (*gen::arbitrary<bool>().as("in the other order"))
          std::swap(shape.containers[0], shape.containers[1]);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod_object(shape));
        node.rest(60s);
        node.require_safe();
        check_whole_life(node, shape);
      },
      4);
}

// --- back-off ---

// 10 s, 20 s, ... 300 s from the end of the last run; the first restart at once; anew after ten
// quiet minutes. A look comes up to a quarter of the wait, or of a minute, and a tick late.
void check_waits(const std::vector<ContainerRun>& seen) {
  std::optional<Duration> delay;
  Time updated{};
  for (std::size_t i = 1; i < seen.size(); ++i) {
    const Time end = *seen[i - 1].ended;
    const bool anew = !delay || end - updated > 600s;
    const Duration wait = anew ? Duration{0} : *delay;
    const Duration waited = seen[i].began - end;
    RC_LOG() << "restart " << i << ": " << seconds_of(waited) << " s of " << seconds_of(wait)
             << "\n";
    RC_ASSERT(waited >= wait);
    RC_ASSERT(waited <= wait + std::min<Duration>(wait, 60s) / 4 + 3s);
    delay = anew ? 10s : std::min<Duration>(2 * wait, 300s);
    updated = seen[i].began;
  }
}

TEST(KubeletProperties, RestartsComeAfterADelayThatDoubles) {
  holds(
      [] {
        PodShape shape{.policy = *gen::element<std::string>("OnFailure", "Always").as("policy")};
        ContainerShape crashing{.name = "c0"};
        // So many crashes take it to its longest wait.
        const int crashes = *gen::inRange(0, 8).as("crashes at once");
        for (int i = 0; i < crashes; ++i) crashing.attempts.push_back({1, 0});
        const auto runs = *gen::resize(9, gen::vector_of(gen::element(0, 1, 5, 30, 400, 1300)))
                               .as("seconds of the runs");
        for (const int seconds : runs) crashing.attempts.push_back({1, seconds});
        crashing.attempts.push_back({1, 100'000});
        // Another's waits are its own.
        ContainerShape other{.name = "c1"};
        const int others = *gen::inRange(0, 8).as("crashes of the other");
        for (int i = 0; i < others; ++i) other.attempts.push_back({1, *gen::element(0, 2, 50)});
        other.attempts.push_back({1, 100'000});
        shape.containers = {crashing, other};
        NodeRun node(1);
        node.create(pod_object(shape));
        node.rest(6h);
        node.require_safe();
        for (const ContainerShape& one : shape.containers) {
          RC_ASSERT(node.runs_of(one.name).size() == one.attempts.size());
          check_waits(node.runs_of(one.name));
        }
      },
      4);
}

// A rule of one container restarts them all, each counted as often (KEP-5532).
TEST(KubeletProperties, ARestartOfAllIsCountedForEach) {
  holds(
      [] {
        PodShape shape{.policy = *gen::element<std::string>("Never", "OnFailure").as("policy")};
        shape.containers = {{.name = "c0"}, {.name = "c1"}};
        if (*gen::arbitrary<bool>().as("with an init container"))
          shape.containers.insert(shape.containers.begin(),
                                  {.name = "i0", .init = true, .attempts = {{0, 1}}});
        for (ContainerShape& one : shape.containers)
          if (!one.init) one.attempts = {{0, 100'000}};
        const auto pod = pod_object(shape);
        Container& first = pod->spec.edit().containers.edit().front();
        first.restartPolicy = "Never";
        first.restartPolicyRules = {
            {.action = "RestartAllContainers", .exitCodes = ExitCodesRule{"In", {42}}}};
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(60s);
        const int rounds = *gen::inRange(1, 5).as("rounds");
        for (int round = 1; round <= rounds; ++round) {
          node.exit("c0", 42, false);
          node.rest(std::chrono::seconds(*gen::element(60, 700)));
          for (const ContainerShape& one : shape.containers) {
            RC_ASSERT(status_of(*node.pod(), one.name)->restartCount == round);
            RC_ASSERT(node.runs_of(one.name).size() == static_cast<std::size_t>(round) + 1);
          }
        }
        // Who ends by itself afterwards has an end of its own.
        if (shape.policy == "Never") return;
        node.exit("c1", 7, false);
        node.rest(700s);
        const ContainerStatus& last = *status_of(*node.pod(), "c1");
        RC_ASSERT(last.restartCount == rounds + 1);
        RC_ASSERT(last.lastState->terminated.has_value());
        RC_ASSERT(last.lastState->terminated->exitCode == 7);
      },
      8);
}

// --- a pod to which things happen ---

struct Happening {
  enum class Kind : std::uint8_t { exit, oom, lose_sandbox, restart_kubelet, rest };
  Kind kind = Kind::rest;
  std::string container{};
  int code = 0;
  int seconds = 0;  // afterwards
};
constexpr const char* happening_names[] = {"exit of ", "OOM kill of ", "lost sandbox ",
                                           "kubelet restart ", "rest "};

void showValue(const Happening& one, std::ostream& out) {
  out << happening_names[static_cast<int>(one.kind)] << one.container << " with " << one.code
      << ", then " << one.seconds << " s";
}

rc::Gen<Happening> any_happening() {
  using Kind = Happening::Kind;
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::weightedElement<Kind>({{4, Kind::exit},
                                                             {1, Kind::oom},
                                                             {1, Kind::lose_sandbox},
                                                             {1, Kind::restart_kubelet},
                                                             {2, Kind::rest}})),
      gen::set(&Happening::container, gen::element<std::string>("c0", "c1", "i0", "i1")),
      gen::set(&Happening::code, gen::element(0, 1, 137, 143)),
      gen::set(&Happening::seconds, gen::element(0, 1, 3, 15)));
}

void apply(NodeRun& node, const Happening& one) {
  using Kind = Happening::Kind;
  if (one.kind == Kind::exit) node.exit(one.container, one.code, false);
  if (one.kind == Kind::oom) node.exit(one.container, 137, true);
  if (one.kind == Kind::lose_sandbox) node.lose_sandbox();
  if (one.kind == Kind::restart_kubelet) node.restart_kubelet();
  node.rest(std::chrono::seconds(one.seconds));
}

TEST(KubeletProperties, StatusesStaySoundWhateverHappens) {
  holds([] {
    const PodShape shape = *any_pod().as("pod");
    const auto happenings = *gen::resize(8, gen::vector_of(any_happening())).as("happenings");
    NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    node.create(pod_object(shape));
    for (const Happening& one : happenings) {
      apply(node, one);
      node.require_safe();
    }
    node.rest(120s);
    node.require_safe();
  });
}

TEST(KubeletProperties, WhoRunsOutOfMemoryIsKilledWith137) {
  holds(
      [] {
        PodShape shape{.policy = *gen::element<std::string>("Never", "OnFailure").as("policy")};
        shape.containers = {{.name = "c0", .attempts = {{0, 500}}}};
        NodeRun node(1);
        node.create(pod_object(shape));
        node.rest(3s);
        node.exit("c0", 137, true);
        node.rest(4s);  // two looks: one starts it anew, the next shows it
        const auto pod = node.pod();
        const ContainerStatus& status = *status_of(*pod, "c0");
        const auto& end =
            shape.policy == "Never" ? status.state.terminated : status.lastState->terminated;
        RC_ASSERT(end.has_value());
        RC_ASSERT(end->exitCode == 137);
        RC_ASSERT(end->reason == "OOMKilled");
      },
      25);
}

// Deleted pods get the signal at once, their grace and no more, and go when nothing of them runs.
TEST(KubeletProperties, ADeletedPodGoesWithinItsGrace) {
  holds(
      [] {
        PodShape shape = *any_pod().as("pod");
        for (ContainerShape& container : shape.containers) container.attempts = {{0, 0}};
        for (ContainerShape& container : shape.containers)
          if (!container.init) container.attempts = {{0, 10'000}};
        const auto asked = *gen::element<int>(-1, 1, 7, 40).as("grace asked for");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod_object(shape));
        node.rest(std::chrono::seconds(*gen::element(8, 12).as("deleted after")));
        RC_ASSERT(node.pod()->status.phase == "Running");
        const std::int64_t grace =
            std::max<std::int64_t>(grace_min, asked < 0 ? shape.grace : asked);
        const Time deleted = node.now();
        const bool at_once = asked < 0 && shape.grace == 0;
        node.remove(asked < 0 ? std::nullopt : std::optional<std::int64_t>(asked));
        std::int64_t needed = 0;
        for (const ContainerShape& container : shape.containers) {
          if (container.init || container.on_term.empty()) continue;
          needed = std::max(
              needed, container.on_term == "ignore" ? grace : std::min<std::int64_t>(3, grace));
        }
        if (needed > 1 && !at_once) {
          node.rest(std::chrono::seconds(needed) - 500ms);
          RC_ASSERT(node.pod() != nullptr);
          RC_ASSERT(node.pod()->metadata.deletionTimestamp.has_value());
        }
        node.rest(deleted + std::chrono::seconds(needed) + 6s - node.now());
        RC_ASSERT(node.pod() == nullptr);
        const auto calls = node.calls();
        for (const ContainerShape& container : shape.containers) {
          if (container.init) continue;
          const std::string stop =
              "StopContainer " + container.name + " attempt 0 timeout " + std::to_string(grace);
          RC_LOG() << stop << "\n";
          RC_ASSERT(std::count(calls.begin(), calls.end(), stop) == 1);
          RC_ASSERT(node.runs_of(container.name).size() == 1u);
        }
        node.require_safe();
      },
      2);
}

// --- what others write over ---

namespace json = boost::json;

constexpr Duration sync_period = 10s;  // of upstream's status manager
const std::vector<std::string> kubelet_conditions{"PodReadyToStartContainers", "Initialized",
                                                  "Ready", "ContainersReady", "PodScheduled"};

json::object odd_condition() {
  return {{"type", *gen::elementOf(kubelet_conditions)},
          {"status", *gen::element("True", "False", "Unknown")},
          {"reason", "Odd"},
          {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
}

// A patch of a status by somebody who has no business there: of what each look works out anew, and
// where nobody is to look, of anything.
json::object any_overwrite(const Pod& pod, bool anything) {
  json::object status;
  for (int parts = *gen::inRange(1, 4).as("parts"); parts > 0; --parts) {
    const int part = *gen::inRange(0, anything ? 7 : 4).as("what is written over");
    if (part == 0) status["conditions"] = json::array{odd_condition()};
    if (part == 1)
      status["conditions"] = json::array{json::object{{"$patch", "delete"}, {"type", "Ready"}}};
    if (part == 2) status["podIP"] = "1.2.3.4";
    if (part == 3) {
      json::value seen = to_json(pod.status).at("containerStatuses");
      json::object& first = seen.as_array().at(0).as_object();
      first["ready"] = !first.at("ready").as_bool();
      first["imageID"] = "odd";
      status["containerStatuses"] = std::move(seen);
    }
    if (part == 4) status["phase"] = *gen::element("Pending", "Running", "Failed", "Succeeded");
    if (part == 5) status["startTime"] = "2026-01-01T00:00:00Z";
    if (part == 5) status["reason"] = "Odd";
    if (part == 6) status["containerStatuses"] = nullptr;
  }
  RC_LOG() << json::serialize(status) << "\n";
  return status;
}

// What of a pod's status is its kubelet's.
std::string own_status(const Pod& pod, bool with_times = true) {
  json::object status = to_json(pod.status).as_object();
  json::object own;
  for (json::value& one : status["conditions"].as_array()) {
    json::object& condition = one.as_object();
    if (!with_times) condition.erase("lastTransitionTime");
    const std::string type(condition.at("type").as_string());
    if (std::count(kubelet_conditions.begin(), kubelet_conditions.end(), type) > 0)
      own[type] = condition;
  }
  status["conditions"] = std::move(own);  // by type
  return json::serialize(status);
}

void write_over(NodeRun& node, json::object status) {
  node.patch("p", {{"status", std::move(status)}}, "status");
}

// At the ticks that its kubelet counts from its own start, and not before.
TEST(KubeletProperties, WhatIsWrittenOverIsPutRightAtTheNextTick) {
  holds(
      [] {
        PodShape shape = *any_pod().as("pod");
        for (ContainerShape& one : shape.containers) one.attempts = {{0, one.init ? 1 : 100'000}};
        const bool over = *gen::weightedElement<bool>({{2, false}, {1, true}}).as("has ended");
        if (over) shape.policy = *gen::element<std::string>("Never", "OnFailure").as("its policy");
        if (over)
          for (ContainerShape& one : shape.containers) one.attempts = {{0, 1}};
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod_object(shape));
        node.rest(40s);
        RC_ASSERT(is_over(*node.pod()) == over);
        std::string right = own_status(*node.pod());
        const std::string timeless = own_status(*node.pod(), false);
        std::map<std::string, std::string> said;
        for (int round = *gen::inRange(1, 6).as("rounds"); round > 0; --round) {
          node.rest(std::chrono::milliseconds(*gen::inRange(1, 12'000).as("rest")));
          const bool away =
              !over && *gen::weightedElement<bool>({{3, false}, {1, true}}).as("kubelet is away");
          if (away) node.stop_kubelet();
          node.write_elsewhere(*gen::element(0, 20, 50).as("writes elsewhere"));
          write_over(node, any_overwrite(*node.pod(), !away));
          const std::string other = *gen::element<std::string>("DisruptionTarget", "example.com/a");
          said[other] = *gen::element<std::string>("True", "False").as(other);
          write_over(node, {{"conditions", {{{"type", other}, {"status", said[other]}}}}});
          const std::string version = node.pod()->metadata.resourceVersion.str();
          if (away) {
            node.rest(std::chrono::seconds(*gen::inRange(1, 30).as("away for")));
            RC_ASSERT(node.pod()->metadata.resourceVersion == version);
            node.start_kubelet();
            node.rest(5s);
            RC_ASSERT(own_status(*node.pod(), false) == timeless);
            right = own_status(*node.pod());
          } else {
            const Duration since = node.now() - node.kubelet_since();
            const Duration left = sync_period - since % sync_period;
            node.rest(left - 1ms);
            RC_ASSERT(node.pod()->metadata.resourceVersion == version);
            node.rest(100ms);
            RC_ASSERT(own_status(*node.pod()) == right);
          }
          for (const auto& [type, status] : said) {
            const PodCondition* theirs = node.pod()->status.condition(type);
            RC_ASSERT(theirs != nullptr);
            RC_ASSERT(theirs->status == status);
          }
        }
        const std::string version = node.pod()->metadata.resourceVersion.str();
        node.rest(60s);
        RC_ASSERT(node.pod()->metadata.resourceVersion == version);
      },
      2);
}

// Whatever becomes of the pod meanwhile: once it is quiet, it is as if nobody had, to the second.
TEST(KubeletProperties, WhatIsWrittenOverLeavesNoTrace) {
  holds(
      [] {
        const PodShape shape = *any_pod().as("pod");
        // In an order that another's writes do not change.
        NodeRun quiet(1, NodeRun::Order::fifo), meddled(1, NodeRun::Order::fifo);
        for (NodeRun* node : {&quiet, &meddled}) {
          node->create(pod_object(shape));
          node->rest(1s);
        }
        for (int n = *gen::inRange(1, 6).as("happenings"); n > 0; --n) {
          const Happening one = *any_happening().as("happening");
          const bool restarts = one.kind == Happening::Kind::restart_kubelet;
          if (!restarts) write_over(meddled, any_overwrite(*meddled.pod(), false));
          const auto rest = std::chrono::milliseconds(*gen::inRange(0, 9'000).as("rest"));
          for (NodeRun* node : {&quiet, &meddled}) {
            if (!restarts) apply(*node, one);
            node->rest(rest);
          }
        }
        for (NodeRun* node : {&quiet, &meddled}) node->rest(400s);
        RC_ASSERT(own_status(*meddled.pod()) == own_status(*quiet.pod()));
      },
      2);
}

// Its own deletion of what has ended too. What happens on the node waits for nobody.
TEST(KubeletProperties, WhatTheServerRefusesIsWrittenAtTheNextTick) {
  holds(
      [] {
        const PodShape shape = *any_pod().as("pod");
        NodeRun quiet(1, NodeRun::Order::fifo), refused(1, NodeRun::Order::fifo);
        const std::vector<NodeRun*> both{&quiet, &refused};
        for (NodeRun* node : both) {
          node->create(pod_object(shape));
          node->rest(1s);
        }
        const auto rest = [&both](Duration duration) {
          for (NodeRun* node : both) node->rest(duration);
        };
        bool removed = false;
        for (int n = *gen::inRange(1, 5).as("windows"); n > 0; --n) {
          rest(std::chrono::milliseconds(*gen::inRange(0, 9'000).as("before")));
          // What is refused changes within one window: what a read meets, its write need not.
          const auto refuse = [&refused] {
            const int code = *gen::element(409, 429, 500, 503).as("code");
            refused.refuse_kubelet(
                code, *gen::element<std::optional<api::Verb>>(std::nullopt, api::Verb::get,
                                                              api::Verb::patch, api::Verb::remove)
                           .as("verb"));
          };
          refuse();
          for (int more = *gen::inRange(0, 3).as("changes"); more > 0; --more) {
            rest(std::chrono::milliseconds(*gen::inRange(0, 9'000).as("as long")));
            refuse();
          }
          rest(std::chrono::milliseconds(*gen::inRange(0, 9'000).as("and on")));
          if (!removed && *gen::weightedElement<bool>({{2, false}, {1, true}}).as("is deleted")) {
            removed = true;
            const int grace = *gen::element(1, 5, 30).as("grace");
            for (NodeRun* node : both)
              if (node->pod()) node->remove(grace);
          }
          rest(std::chrono::milliseconds(*gen::inRange(0, 20'000).as("and then")));
          refused.refuse_kubelet(0);
          const Duration since = refused.now() - refused.kubelet_since();
          rest(sync_period - since % sync_period);
          // What begins at the tick itself may need a look more, and so long a pod that is ending
          // keeps the phase that was written before (merge_for_write).
          const auto is_same = [&] {
            if (!quiet.pod() || !refused.pod()) return !quiet.pod() && !refused.pod();
            return own_status(*quiet.pod(), false) == own_status(*refused.pod(), false);
          };
          for (Duration waited{}; waited < slack && !is_same(); waited += 100ms) rest(100ms);
          RC_ASSERT(is_same());
        }
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::kubelet_properties_test
