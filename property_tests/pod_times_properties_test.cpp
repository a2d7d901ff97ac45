// What a kubelet does when: the way to an end, sidecars, pulls, deadlines and gates
// (spec/kubernetes.md §2.2, §2.3, §2.5, §2.6).
#include <algorithm>
#include <boost/json.hpp>
#include <ostream>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::pod_times_properties_test {
namespace {

constexpr std::int64_t grace_min = 2;

// The hook runs first; what it leaves of the grace, and two seconds at least, is the signal's.
TEST(PodTimes, AHookBeforeTheEndTakesItsTimeFromTheGrace) {
  holds(
      [] {
        const int hook = *gen::element(0, 1, 3, 10, 29).as("seconds of the hook");
        const int grace = *gen::element(1, 2, 5, 12, 30).as("grace");
        const auto on_term = *gen::element<std::string>("", "ignore", "0 after 3").as("on SIGTERM");
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        LifecycleHandler handler;
        if (*gen::arbitrary<bool>().as("an action"))
          handler.sleep = SleepAction{hook};
        else
          handler.exec = ExecAction{{"sleep", std::to_string(hook)}};
        container.lifecycle.emplace().preStop = handler;
        pod->spec.edit().containers.edit().push_back(container);
        pod->spec.edit().terminationGracePeriodSeconds = grace;
        if (!on_term.empty()) pod->metadata.annotations.edit()["rig/term.c0"] = on_term;
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(5s);
        const Time deleted = node.now();
        node.remove(std::nullopt);
        node.rest(60s);
        node.require_safe();
        RC_ASSERT(node.pod() == nullptr);
        const int hooked = std::min(hook, grace);
        const std::int64_t left = std::max<std::int64_t>(grace_min, grace - hooked);
        const std::int64_t dies = on_term.empty()       ? 0
                                  : on_term == "ignore" ? left
                                                        : std::min<std::int64_t>(3, left);
        const auto calls = node.calls();
        const std::string stop = "StopContainer c0 attempt 0 timeout " + std::to_string(left);
        RC_LOG() << stop << "\n";
        RC_ASSERT(std::count(calls.begin(), calls.end(), stop) == 1);
        const ContainerRun run = first_run(node, "c0");
        RC_ASSERT(run.ended.has_value());
        RC_ASSERT(*run.ended >= deleted + seconds(hooked + dies));
        RC_ASSERT(*run.ended <= deleted + seconds(hooked + dies) + slack);
      },
      2);
}

// Whoever comes next waits for it, in another round too (§2.1, KEP-3960).
TEST(PodTimes, AHookAfterTheStartHoldsTheNextOneBack) {
  holds(
      [] {
        const auto any = [](int begin, int end) {
          return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
        };
        const int sidecars = *any(0, 3).as("sidecars");
        const int others = *any(1, 4).as("others");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        std::vector<std::string> names;
        std::vector<int> hooks;
        int total = 0;
        for (int i = 0; i < sidecars + others; ++i) {
          const bool is_sidecar = i < sidecars;
          names.push_back((is_sidecar ? "s" : "c") + std::to_string(i));
          Container container = container_named(names.back());
          if (is_sidecar) container.restartPolicy = "Always";
          const int hook =
              *gen::element(0, 0, 1, 5, 17).as("seconds of the hook of " + names.back());
          LifecycleHandler handler;
          if (*gen::arbitrary<bool>().as("an action"))
            handler.sleep = SleepAction{hook};
          else
            handler.exec = ExecAction{{"sleep", std::to_string(hook)}};
          if (hook > 0) container.lifecycle.emplace().postStart = handler;
          hooks.push_back(hook);
          total += hook;
          (is_sidecar ? spec.initContainers : spec.containers).edit().push_back(container);
        }
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        const int rounds = *any(1, 3).as("rounds");
        for (int round = 0; round < rounds; ++round) {
          const auto at = static_cast<std::size_t>(round);
          // All of them at once, and the first time without a back-off.
          const bool again = round > 0;
          if (again)
            for (const std::string& name : names) node.exit(name, 1, false);
          node.rest(seconds(total) + (sidecars + 1) * slack);
          for (std::size_t i = 0; i < names.size(); ++i) {
            const auto& runs = node.runs_of(names[i]);
            RC_ASSERT(runs.size() == at + 1);
            if (i == 0) continue;
            const Time began = node.runs_of(names[i - 1])[at].began;
            const Duration waited = runs[at].began - began;
            RC_LOG() << names[i] << " begins " << seconds_of(waited) << " s after the one before, "
                     << hooks[i - 1] << " s wanted\n";
            RC_ASSERT(waited >= seconds(hooks[i - 1]));
            RC_ASSERT(waited <= seconds(hooks[i - 1]) + slack);
          }
          RC_ASSERT(node.pod()->status.phase == "Running");
        }
        node.require_safe();
      },
      1);
}

// Begun one after the other, before the others; ended after them, in the reverse order.
TEST(PodTimes, SidecarsFrameTheOthers) {
  holds(
      [] {
        const int count = *gen::inRange(1, 5).as("sidecars");
        const bool deleted = *gen::arbitrary<bool>().as("deleted");
        const int main_runs = *gen::inRange(1, 9).as("seconds of the other");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = "Never";
        spec.terminationGracePeriodSeconds = 60;
        StringMap& script = pod->metadata.annotations.edit();
        for (int i = 0; i < count; ++i) {
          Container sidecar = container_named("s" + std::to_string(i));
          sidecar.restartPolicy = "Always";
          script["rig/term." + sidecar.name] =
              "0 after " + std::to_string(*gen::inRange(1, 4).as("to the end of " + sidecar.name));
          spec.initContainers.edit().push_back(sidecar);
        }
        spec.containers.edit().push_back(container_named("c0"));
        if (!deleted) script["rig/exit.c0"] = "0 after " + std::to_string(main_runs);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(10 + 2 * count));
        if (deleted) {
          RC_ASSERT(node.pod()->status.phase == "Running");
          node.remove(std::nullopt);
        }
        node.rest(60s);
        node.require_safe();
        if (deleted)
          RC_ASSERT(node.pod() == nullptr);
        else
          RC_ASSERT(node.pod()->status.phase == "Succeeded");
        ContainerRun inner = first_run(node, "c0");
        for (int i = count - 1; i >= 0; --i) {
          const auto& runs = node.runs_of("s" + std::to_string(i));
          RC_ASSERT(runs.size() == 1u);
          RC_ASSERT(runs[0].ended.has_value());
          RC_ASSERT(inner.ended.has_value());
          RC_ASSERT(runs[0].began <= inner.began);
          RC_ASSERT(*runs[0].ended > *inner.ended);
          inner = runs[0];
        }
      },
      2);
}

// A sidecar that crashes too holds nobody back who has begun before (kubernetes#136969): the other
// comes again when its own back-off is over.
TEST(PodTimes, ACrashedSidecarHoldsNoOtherBack) {
  holds(
      [] {
        const auto script = [](const std::string& whose) {
          std::string text;
          const int runs = *gen::inRange(2, 5).as("runs of " + whose);
          for (int i = 0; i < runs; ++i)
            text += (i == 0 ? "" : ", ") + std::string("1 after ") +
                    std::to_string(*gen::inRange(1, 20).as("seconds of " + whose));
          return text;
        };
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = "Always";
        spec.containers.edit().push_back(container_named("c0"));
        Container sidecar = container_named("s0");
        sidecar.restartPolicy = "Always";
        spec.initContainers.edit().push_back(sidecar);
        StringMap& scripts = pod->metadata.annotations.edit();
        scripts["rig/exit.c0"] = script("the other");
        scripts["rig/exit.s0"] = script("the sidecar");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(600s);
        node.require_safe();
        const auto& runs = node.runs_of("c0");
        RC_ASSERT(runs.size() > 3U);
        Duration delay = 10s;
        for (std::size_t i = 1; i < runs.size(); ++i) {
          // The first restart waits for nothing. A retry comes a quarter later than it says, or
          // with a look that something else causes.
          const Duration waited = runs[i].began - *runs[i - 1].ended;
          RC_LOG() << i << ": after " << seconds_of(waited) << " s\n";
          RC_ASSERT(waited <= (i == 1 ? slack : delay + delay / 4 + slack));
          if (i > 1) delay = std::min<Duration>(2 * delay, 300s);
        }
      },
      2);
}

// How often an image may have been asked for in that time: at once, and after 10, 20, 40, 80, 160,
// 300, 300 ... seconds.
int pulls_in(Duration time) {
  int pulls = 1;
  for (Duration wait = 10s; wait <= time; wait = std::min<Duration>(2 * wait, 300s)) {
    time -= wait;
    ++pulls;
  }
  return pulls;
}

// Whoever minds SIGTERM late or never: the others first, then each sidecar with what they left.
TEST(PodTimes, ADeletedPodWithSidecarsKeepsItsGrace) {
  holds(
      [] {
        const int sidecars = *gen::inRange(1, 4).as("sidecars");
        const int grace = *gen::element(5, 20, 40).as("grace");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.terminationGracePeriodSeconds = grace;
        bool is_deaf = false;
        // Drawn most: a sidecar that minds nothing, whose hook ends before its turn comes.
        const auto draw_end = [&](const std::string& name, const std::string& most) {
          const std::string end =
              *gen::element<std::string>("", "0 after 3", "0 after 11", "ignore", most, most)
                   .as(name);
          if (!end.empty()) pod->metadata.annotations.edit()["rig/term." + name] = end;
          is_deaf = is_deaf || end == "ignore";
        };
        for (int i = 0; i < sidecars; ++i) {
          Container sidecar = container_named("s" + std::to_string(i));
          sidecar.restartPolicy = "Always";
          draw_end(sidecar.name, "ignore");
          // Its time is part of the grace, and counts once.
          if (const int hook = *gen::element(0, 2, 9).as("seconds of its hook"); hook > 0) {
            LifecycleHandler handler;
            handler.exec = ExecAction{{"sleep", std::to_string(hook)}};
            sidecar.lifecycle.emplace().preStop = handler;
          }
          spec.initContainers.edit().push_back(sidecar);
        }
        spec.containers.edit().push_back(container_named("c0"));
        draw_end("c0", "0 after 11");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(20s);
        RC_ASSERT(node.pod()->status.phase == "Running");
        node.remove(std::nullopt);
        int lasted = 0;
        for (; node.pod() != nullptr && lasted < 300; ++lasted) node.rest(1s);
        node.require_safe();
        RC_LOG() << "gone after " << lasted << " s of " << grace << "\n";
        RC_ASSERT(lasted <= grace + (sidecars + 1) * grace_min + 3);
        if (is_deaf) RC_ASSERT(lasted >= grace);
      },
      1);
}

// Its pod begins as a new one does.
TEST(PodTimes, ALostSandboxBeginsWithTheFirstInitContainer) {
  holds(
      [] {
        const int inits = *gen::inRange(1, 4).as("init containers");
        const int lost_at = *gen::inRange(0, 40).as("sandbox lost after");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = *gen::element<std::string>("Always", "OnFailure").as("policy");
        std::vector<std::string> names;
        for (int i = 0; i < inits; ++i) {
          names.push_back("i" + std::to_string(i));
          spec.initContainers.edit().push_back(container_named(names.back()));
          const int lasts = *gen::inRange(0, 12).as("seconds of " + names.back());
          pod->metadata.annotations.edit()["rig/exit." + names.back()] =
              "0 after " + std::to_string(lasts);
        }
        names.push_back("c0");
        spec.containers.edit().push_back(container_named("c0"));
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(lost_at));
        const Time lost = node.now();
        node.lose_sandbox();
        node.rest(200s);
        node.require_safe();
        Time may_begin = lost;
        for (const std::string& name : names) {
          const auto& runs = node.runs_of(name);
          RC_ASSERT(!runs.empty());
          RC_LOG() << name << " began last " << seconds_of(runs.back().began - lost)
                   << " s after the loss\n";
          RC_ASSERT(runs.back().began >= may_begin);
          if (name == "c0") break;
          RC_ASSERT(runs.back().ended.has_value());
          may_begin = *runs.back().ended;
        }
        RC_ASSERT(!node.runs_of("c0").back().ended.has_value());
      },
      4);
}

// Who has ended well is begun anew in another sandbox only where all ends are (upstream
// computePodActions).
TEST(PodTimes, WhatIsDoneIsNotDoneAgainInAnotherSandbox) {
  holds(
      [] {
        const bool always = *gen::arbitrary<bool>().as("policy Always");
        const int code = *gen::element(0, 0, 1).as("exit code");
        const int lasts = *gen::element(1, 5, 15).as("seconds of the first");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = always ? "Always" : "OnFailure";
        for (const std::string name : {"c0", "c1"})
          spec.containers.edit().push_back(container_named(name));
        // Again it would run on.
        pod->metadata.annotations.edit()["rig/exit.c0"] =
            std::to_string(code) + " after " + std::to_string(lasts) + ", run";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(lasts + *gen::element(4, 40).as("seconds until the sandbox is lost")));
        node.lose_sandbox();
        const Time lost = node.now();
        node.rest(100s);
        node.require_safe();
        RC_ASSERT(node.runs_of("c1").size() == 2U);
        const auto& runs = node.runs_of("c0");
        RC_ASSERT((runs.back().began > lost) == (always || code != 0));
        RC_ASSERT(node.pod()->status.phase == "Running");
      },
      4);
}

// An image that cannot be had is asked for again after a delay that doubles, up to five minutes,
// and half of it more; another pod's failures cost nothing.
TEST(PodTimes, APodWaitsForItsOwnPullsAlone) {
  holds(
      [] {
        const int heals = *gen::inRange(0, 1000).as("the first heals after");
        const int second = *gen::inRange(0, 400).as("the second comes after");
        const auto pod_of = [](const std::string& name) {
          auto pod = NodeRun::pod_named(name);
          Container container = container_named("c0");
          container.image = "registry.example/" + name + ":1";
          pod->spec.edit().containers.edit().push_back(container);
          return pod;
        };
        auto first = pod_of("p"), other = pod_of("q");
        const bool same = *gen::arbitrary<bool>().as("of the same image");
        if (same)
          other->spec.edit().containers.edit().front().image =
              first->spec->containers.front().image;
        first->metadata.annotations.edit()["rig/pull"] = "NotFound: no such image";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        const Time made = node.now();
        node.create(first);
        node.rest(seconds(second));
        const Time made_other = node.now();
        node.create(other);
        // What one has pulled is there for all.
        const Time healed = same ? made_other : std::max(made + seconds(heals), made_other);
        node.rest(healed - made_other);
        RC_ASSERT(node.runs_of("c0", "p").empty());
        const int failed = node.told("p", "Error: ErrImagePull");
        RC_ASSERT(failed <= pulls_in(healed - made));
        if (healed - made > slack) RC_ASSERT(failed > 0);
        if (!same) node.script("p", "pull", "");
        node.rest(600s);
        node.require_safe();
        const auto& runs = node.runs_of("c0", "p");
        const auto& others = node.runs_of("c0", "q");
        RC_ASSERT(runs.size() == 1u);
        RC_ASSERT(others.size() == 1u);
        RC_ASSERT(others[0].began <= made_other + slack);
        const Duration longest = std::min<Duration>(healed - made + 10s, 300s);
        RC_LOG() << "begun " << seconds_of(runs[0].began - healed) << " s after it was healed\n";
        RC_ASSERT(runs[0].began <= healed + longest * 3 / 2 + slack);
      },
      4);
}

// Nor do those of a pod that had its name.
TEST(PodTimes, APodMadeAnewPullsAtOnce) {
  holds(
      [] {
        const int lived = *gen::inRange(1, 400).as("seconds that the first lived");
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        container.image = "registry.example/p:1";
        pod->spec.edit().containers.edit().push_back(container);
        pod->metadata.annotations.edit()["rig/pull"] = "NotFound: no such image";
        node.create(pod);
        node.rest(seconds(lived));
        node.remove(0);
        node.rest(5s);
        RC_ASSERT(!node.pod());
        const Time made = node.now();
        auto anew = std::make_shared<Pod>(*pod);
        anew->metadata.annotations = {};
        node.create(anew);
        node.rest(400s);
        const auto& runs = node.runs_of("c0");
        RC_ASSERT(runs.size() == 1U);
        RC_LOG() << "begun " << seconds_of(runs[0].began - made) << " s after it was made\n";
        RC_ASSERT(runs[0].began <= made + slack);
      },
      4);
}

// One image at a time, in the order in which they are asked for (serializeImagePulls).
TEST(PodTimes, ImagesArePulledOneAfterTheOther) {
  holds(
      [] {
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        const int pods = *gen::inRange(1, 5).as("pods");
        Time pulled = node.now();
        std::vector<Time> may_begin;
        for (int i = 0; i < pods; ++i) {
          const int takes = *gen::element(1, 5, 12, 30).as("seconds of the pull");
          auto pod = NodeRun::pod_named("p" + std::to_string(i));
          Container container = container_named("c0");
          container.image = "registry.example/" + std::to_string(i) + ":1";
          pod->spec.edit().containers.edit().push_back(container);
          pod->metadata.annotations.edit()["rig/pull"] = "delay " + std::to_string(takes);
          node.create(pod);
          pulled = std::max(pulled, node.now()) + seconds(takes);
          may_begin.push_back(pulled);
          node.rest(seconds(*gen::element(1, 3, 20).as("seconds after it")));
        }
        node.rest(200s);
        for (int i = 0; i < pods; ++i) {
          const auto& runs = node.runs_of("c0", "p" + std::to_string(i));
          RC_ASSERT(runs.size() == 1U);
          const Time wanted = may_begin[static_cast<std::size_t>(i)];
          RC_LOG() << "p" << i << " began " << seconds_of(runs[0].began - wanted) << " s late\n";
          RC_ASSERT(runs[0].began >= wanted);
          RC_ASSERT(runs[0].began <= wanted + slack);
        }
      },
      4);
}

// It counts from when the kubelet took the pod, however long that waited for a node.
TEST(PodTimes, ADeadlineCountsFromThePodsStart) {
  holds(
      [] {
        const int waits = *gen::element(0, 3, 40, 500).as("seconds without a node");
        const int deadline = *gen::element(1, 5, 20, 90).as("deadline");
        const bool ends = *gen::arbitrary<bool>().as("ends by itself");
        const int runs = *gen::inRange(0, 100).as("seconds that it runs");
        // Somebody brings it forward: from then on it is that one, or at once where that has
        // passed.
        const int sooner = *gen::element(deadline, deadline, 1, 10).as("another deadline");
        const int changed = *gen::inRange(0, 60).as("seconds until it is set");
        auto pod = NodeRun::pod_named("p", false);
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = "Never";
        spec.activeDeadlineSeconds = deadline;
        spec.containers.edit().push_back(container_named("c0"));
        if (ends)
          pod->metadata.annotations.edit()["rig/exit.c0"] = "0 after " + std::to_string(runs);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(waits));
        const Time bound = node.now();
        node.bind("p");
        node.rest(seconds(changed));
        int last = deadline;
        if (sooner < deadline && !is_over(*node.pod())) {
          node.patch("p", {{"spec", {{"activeDeadlineSeconds", sooner}}}});
          last = std::min(deadline, std::max(sooner, changed));
        }
        node.rest(200s);
        node.require_safe();
        const auto left = node.pod();
        const ContainerRun run = first_run(node, "c0");
        RC_ASSERT(run.ended.has_value());
        if (ends && runs + 4 < last) {
          RC_ASSERT(left->status.phase == "Succeeded");
        } else if (!ends || runs > last + 4) {
          RC_ASSERT(left->status.phase == "Failed");
          RC_ASSERT(left->status.rest->reason == "DeadlineExceeded");
          // A kubelet that begins anew has nothing else to say.
          node.restart_kubelet();
          node.rest(30s);
          RC_ASSERT(node.pod()->status.phase == "Failed");
          RC_ASSERT(node.pod()->status.rest->reason == "DeadlineExceeded");
          RC_ASSERT(node.pod()->status.rest->message == left->status.rest->message);
          RC_ASSERT(*run.ended >= bound + seconds(last) - 1s);
          RC_ASSERT(*run.ended <= bound + seconds(last) + slack);
        }
      },
      4);
}

// Who has gates is Ready while its containers are and everybody has said True of each gate; what
// the kubelet does not own it leaves as it is.
TEST(PodTimes, AGateIsOpenWhileItIsSaidToBe) {
  holds(
      [] {
        const auto gate = gen::element<std::string>("example.com/a", "example.com/b");
        using Names = std::vector<std::string>;
        const auto gates = *gen::element(Names{"example.com/a"}, Names{"example.com/b"},
                                         Names{"example.com/a", "example.com/b"});
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        for (const std::string& name : gates)
          spec.rest.edit().readinessGates.edit().push_back({.conditionType = name});
        spec.containers.edit().push_back(container_named("c0"));
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        std::map<std::string, std::string> said;
        for (int round = *gen::inRange(1, 6).as("rounds"); round > 0; --round) {
          if (*gen::weightedElement<bool>({{3, false}, {1, true}})) node.exit("c0", 1, false);
          node.rest(seconds(*gen::inRange(3, 20)));
          const std::string name = *gate,
                            status = *gen::element<std::string>("True", "True", "False", "Unknown");
          node.patch("p", {{"status", {{"conditions", {{{"type", name}, {"status", status}}}}}}},
                     "status");
          said[name] = status;
          node.rest(3s);
          const PodStatus& seen = node.pod()->status;
          const bool open = std::all_of(gates.begin(), gates.end(), [&](const std::string& one) {
            return said[one] == "True";
          });
          const bool runs = seen.condition("ContainersReady")->status == "True";
          RC_ASSERT((seen.condition("Ready")->status == "True") == (open && runs));
          RC_ASSERT(seen.condition(name)->status == status);
        }
        node.require_safe();
      },
      4);
}

// A registry's port is no tag.
TEST(PodTimes, AnImagesIdentifierNamesItsRepository) {
  holds(
      [] {
        const std::string repository =
            *gen::element<std::string>("", "team/", "registry.example/", "registry:5000/",
                                       "registry:5000/team/")
                 .as("where") +
            "busybox";
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        container.image =
            repository +
            *gen::element<std::string>("", ":1", "@sha256:" + std::string(64, 'a')).as("tag");
        pod->spec.edit().containers.edit().push_back(container);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(10s);
        const std::string id = status_of(*node.pod(), "c0")->rest->imageID.str();
        RC_ASSERT(id.substr(0, id.find('@')) == repository);
      },
      4);
}

}  // namespace
}  // namespace ddptwin::property::pod_times_properties_test
