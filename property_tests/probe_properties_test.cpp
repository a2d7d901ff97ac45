// What comes of probes, and when (spec/kubernetes.md §2.5, §2.7).
#include <boost/json.hpp>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::probe_properties_test {
namespace {

Probe any_probe(const std::string& command) {
  Probe probe;
  probe.exec = ExecAction{{command}};
  probe.initialDelaySeconds = *gen::element(0, 0, 3, 12, 25).as("initial delay of " + command);
  probe.periodSeconds = *gen::element(1, 2, 5, 10).as("period of " + command);
  probe.failureThreshold = *gen::element(1, 2, 3).as("failure threshold of " + command);
  probe.timeoutSeconds = 1;
  probe.successThreshold = 1;
  return probe;
}

// Started, told of, and not older than the delay; then so many times in a row.
TEST(PodTimes, AFailingLivenessProbeKillsAfterItsDelayAndItsThreshold) {
  holds(
      [] {
        const Probe live = any_probe("live");
        const int before = *gen::element(0, 4, 30).as("seconds of the init container");
        const bool gated = *gen::arbitrary<bool>().as("gated by a startup probe");
        const int up_at = *gen::inRange(0, 25).as("up after");
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy = *gen::element<std::string>("Always", "OnFailure").as("policy");
        if (before > 0) {
          spec.initContainers.edit().push_back(container_named("i0"));
          pod->metadata.annotations.edit()["rig/exit.i0"] = "0 after " + std::to_string(before);
        }
        Container container = container_named("c0");
        container.livenessProbe = live;
        Probe start = live;
        if (gated) {
          start = any_probe("up");
          start.failureThreshold = 100;
          container.startupProbe = start;
        }
        spec.containers.edit().push_back(container);
        pod->metadata.annotations.edit()["rig/exec.c0.live"] = "1 dead";
        pod->metadata.annotations.edit()["rig/exec.c0.up"] = "1 not yet";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(up_at));
        const Time up = node.now();
        node.script("p", "exec.c0.up", "0 up");
        node.rest(seconds(before + 100 + 2 * (live.initialDelaySeconds + 4 * live.periodSeconds) +
                          2 * start.initialDelaySeconds));
        node.require_safe();
        const auto& runs = node.runs_of("c0");
        RC_ASSERT(runs.size() > 2u);
        for (std::size_t i = 0; i < 2; ++i) {
          const Time began = runs[i].began;
          // When the first probe that counts comes, at the earliest and at the latest.
          Time first = began + seconds(live.initialDelaySeconds);
          Time last = first;
          if (gated) {
            const Time ready = std::max(up, began + seconds(start.initialDelaySeconds));
            first = std::max(first, ready);
            last = std::max(last, ready + seconds(start.periodSeconds) + slack);
          }
          const int more = live.failureThreshold - 1;
          RC_ASSERT(runs[i].ended.has_value());
          RC_LOG() << "run " << i << " ended after " << seconds_of(*runs[i].ended - began)
                   << " s; from " << seconds_of(first - began) << " s\n";
          RC_ASSERT(*runs[i].ended >= first + seconds(more * live.periodSeconds) - 1s);
          RC_ASSERT(*runs[i].ended <= last + seconds((more + 1) * live.periodSeconds) + slack);
        }
      },
      4);
}

// What its predecessor answered counts for nobody.
TEST(PodTimes, AProbeBeginsAnewWithItsContainer) {
  holds(
      [] {
        const Probe live = any_probe("live");
        const auto rests = *gen::resize(7, gen::vector_of(gen::element(1, 4, 9, 14, 33, 80)))
                                .as("seconds between its own ends");
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        container.livenessProbe = live;
        pod->spec.edit().containers.edit().push_back(container);
        pod->metadata.annotations.edit()["rig/exec.c0.live"] = "1 dead";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        std::vector<Time> own_ends;
        for (const int rest : rests) {
          node.rest(seconds(rest));
          own_ends.push_back(node.now());
          node.exit("c0", 1, false);
        }
        node.rest(100s);
        node.require_safe();
        const Duration least =
            seconds(live.initialDelaySeconds + (live.failureThreshold - 1) * live.periodSeconds) -
            1s;
        int ended_by_probe = 0;
        for (const ContainerRun& run : node.runs_of("c0")) {
          if (!run.ended || std::count(own_ends.begin(), own_ends.end(), *run.ended) > 0) continue;
          ++ended_by_probe;
          RC_LOG() << "ended by its probe after " << seconds_of(*run.ended - run.began) << " s\n";
          RC_ASSERT(*run.ended - run.began >= least);
        }
        RC_CLASSIFY(ended_by_probe > 0, "its probe ended it");
      },
      4);
}

// A sidecar comes again whatever the pod's policy is, and with it its probes; who waits for it gets
// its turn.
TEST(PodTimes, ASidecarIsProbedAgainWhateverThePodsPolicy) {
  holds(
      [] {
        Probe up = any_probe("up");
        up.failureThreshold = 100;
        // Often enough to see it down.
        if (*gen::arbitrary<bool>().as("each second")) up.periodSeconds = 1;
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy =
            *gen::element<std::string>("Never", "OnFailure", "Always").as("policy");
        Container sidecar = container_named("s0");
        sidecar.restartPolicy = "Always";
        sidecar.startupProbe = up;
        spec.initContainers.edit().push_back(sidecar);
        Container container = container_named("c0");
        const bool gated = *gen::arbitrary<bool>().as("the other has a startup probe too");
        if (gated) container.startupProbe = up;
        spec.containers.edit().push_back(container);
        const int ends = *gen::inRange(0, 3).as("ends of the sidecar");
        std::string script;
        for (int i = 0; i < ends; ++i)
          script += std::to_string(*gen::element(0, 1).as("code")) + " after " +
                    std::to_string(*gen::inRange(1, 30).as("after")) + ", ";
        pod->metadata.annotations.edit()["rig/exit.s0"] = script + "run";
        pod->metadata.annotations.edit()["rig/exec.s0.up"] = "0 up";
        pod->metadata.annotations.edit()["rig/exec.c0.up"] = "0 up";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(400s);
        node.require_safe();
        RC_ASSERT(node.runs_of("s0").size() == static_cast<std::size_t>(ends) + 1);
        RC_ASSERT(node.runs_of("c0").size() == 1U);
        for (const char* name : {"s0", "c0"})
          RC_ASSERT(status_of(*node.pod(), name)->started.value_or(false));
      },
      1);
}

TEST(PodTimes, ReadinessFollowsItsProbe) {
  holds(
      [] {
        const Probe ready = any_probe("ready");
        const int well_until = *gen::inRange(60, 90).as("well until");
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        container.readinessProbe = ready;
        pod->spec.edit().containers.edit().push_back(container);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(well_until));
        const auto well = node.pod();
        const auto* condition = well->status.condition("Ready");
        const Time began = first_run(node, "c0").began;
        RC_ASSERT(condition != nullptr);
        RC_ASSERT(condition->status == "True");
        RC_ASSERT(*condition->lastTransitionTime >=
                  (began + seconds(ready.initialDelaySeconds)).floor_seconds());
        RC_ASSERT(*condition->lastTransitionTime <=
                  began + seconds(ready.initialDelaySeconds + ready.periodSeconds) + slack);
        const Time ill = node.now();
        node.script("p", "exec.c0.ready", "1 ill");
        node.rest(seconds(60));
        node.require_safe();
        const auto later = node.pod();
        condition = later->status.condition("Ready");
        RC_ASSERT(condition->status == "False");
        RC_ASSERT(later->status.phase == "Running");
        RC_ASSERT(node.runs_of("c0").size() == 1u);
        const int more = ready.failureThreshold - 1;
        RC_ASSERT(*condition->lastTransitionTime >=
                  (ill + seconds(more * ready.periodSeconds)).floor_seconds());
        RC_ASSERT(*condition->lastTransitionTime <=
                  ill + seconds((more + 1) * ready.periodSeconds) + slack);
      },
      4);
}

// What was said of another run of it counts for nothing.
TEST(PodTimes, AContainerIsReadyByTheProbesOfItsOwnRunAlone) {
  holds(
      [] {
        Probe ready = any_probe("ready");
        ready.initialDelaySeconds = *gen::element(3, 8).as("initial delay");
        auto pod = NodeRun::pod_named("p");
        Container container = container_named("c0");
        container.readinessProbe = ready;
        pod->spec.edit().containers.edit().push_back(container);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        for (int round = *gen::inRange(1, 4).as("crashes"); round > 0; --round) {
          node.rest(seconds(*gen::inRange(5, 40).as("seconds until a crash")));
          node.exit("c0", 1, false);
          for (int look = 0; look < 100; ++look) {
            node.rest(100ms);
            const ContainerStatus* seen = status_of(*node.pod(), "c0");
            if (!seen->ready) continue;
            const ContainerRun& run =
                node.runs_of("c0").at(static_cast<std::size_t>(seen->restartCount));
            if (run.ended) {
              RC_ASSERT(node.now() <= *run.ended + 1s);  // until the kubelet has said so
              continue;
            }
            RC_ASSERT(node.now() >= run.began + seconds(ready.initialDelaySeconds));
          }
        }
        node.require_safe();
      },
      4);
}

// Whose probe has killed the container says how long it may take, or else the pod.
TEST(PodTimes, AKilledContainerHasTheGraceOfTheProbeThatKilledIt) {
  holds(
      [] {
        const auto any_grace = [](const char* of) {
          return *gen::element<std::optional<std::int64_t>>(std::nullopt, 3, 7, 20).as(of);
        };
        const bool starts = *gen::arbitrary<bool>().as("gets past its startup probe");
        Container container = container_named("c0");
        Probe up = any_probe("up"), live = any_probe("live");
        up.terminationGracePeriodSeconds = any_grace("grace of up");
        live.terminationGracePeriodSeconds = any_grace("grace of live");
        if (starts || *gen::arbitrary<bool>().as("has a startup probe"))
          container.startupProbe = up;
        container.livenessProbe = live;
        auto pod = NodeRun::pod_named("p");
        pod->spec.edit().terminationGracePeriodSeconds = *gen::element(2, 11, 30).as("grace");
        pod->spec.edit().containers.edit().push_back(container);
        pod->metadata.annotations.edit()["rig/exec.c0.up"] = starts ? "0 up" : "1 not yet";
        pod->metadata.annotations.edit()["rig/exec.c0.live"] = "1 dead";
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(200s);
        node.require_safe();
        const Probe& kills = container.startupProbe && !starts ? up : live;
        const std::string stop = "StopContainer c0 attempt 0 timeout " +
                                 std::to_string(kills.terminationGracePeriodSeconds.value_or(
                                     pod->spec->terminationGracePeriodSeconds.value_or(0)));
        const auto calls = node.calls();
        RC_LOG() << stop << "\n";
        RC_ASSERT(std::count(calls.begin(), calls.end(), stop) == 1);
      },
      4);
}

// Who ends is asked whether it is ready, and nothing else: nobody tells of its health, and nothing
// but its grace ends it (§2.7, kubernetes#98571). What has ended is not started again.
TEST(PodTimes, WhoEndsIsAskedForItsReadinessAlone) {
  holds(
      [] {
        const bool deleted = *gen::arbitrary<bool>().as("deleted, or else past its deadline");
        const bool starts = *gen::arbitrary<bool>().as("gets past its startup probe");
        const int hook = *gen::element(0, 0, 4).as("seconds of its hook");
        constexpr int grace = 80, takes = 50;
        auto pod = NodeRun::pod_named("p");
        PodSpec& spec = pod->spec.edit();
        spec.restartPolicy =
            *gen::element<std::string>("Never", "OnFailure", "Always").as("policy");
        spec.terminationGracePeriodSeconds = grace;
        constexpr int deadline = 40;
        if (!deleted) spec.activeDeadlineSeconds = deadline;
        Container container = container_named("c0");
        Probe up = any_probe("up"), live = any_probe("live"), ready = any_probe("ready");
        up.failureThreshold = 100;
        container.startupProbe = up;
        container.livenessProbe = live;
        container.readinessProbe = ready;
        if (hook > 0) {
          LifecycleHandler handler;
          handler.sleep = SleepAction{hook};
          container.lifecycle.emplace().preStop = handler;
        }
        spec.containers.edit().push_back(container);
        StringMap& script = pod->metadata.annotations.edit();
        script["rig/exec.c0.up"] = starts ? "0 up" : "1 not yet";
        script["rig/term.c0"] = "0 after " + std::to_string(takes);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        const auto is_ready = [&node] {
          return node.pod()->status.condition("Ready")->status == "True";
        };
        // Late enough for all that any_probe() draws.
        node.rest(deleted ? 90s : seconds(deadline) + slack);
        if (deleted) {
          RC_ASSERT(is_ready() == starts);
          node.remove(std::nullopt);
          node.rest(std::chrono::milliseconds(*gen::inRange(1'100, 4'000).as("ms since then")));
        }
        const auto told = [&node](const std::string& text) { return node.told("p", text); };
        const int startup_failures = told("Startup probe failed: not yet");
        for (const char* probe : {"live", "up", "ready"})
          node.script("p", std::string("exec.c0.") + probe, "1 ill");
        const auto rest = [&](int period, int times) {
          node.rest(seconds(period * times) + slack);
        };
        rest(ready.periodSeconds, ready.failureThreshold);
        if (deleted && starts) RC_ASSERT(told("Readiness probe failed: ill") > 0);
        RC_ASSERT(!is_ready());
        node.script("p", "exec.c0.ready", "0 well");
        if (deleted) {
          rest(ready.periodSeconds, 1);
          RC_ASSERT(is_ready() == starts);
        }
        RC_ASSERT(told("Liveness probe failed: ill") == 0);
        RC_ASSERT(told("Startup probe failed: ill") == 0);
        RC_ASSERT(told("Startup probe failed: not yet") == startup_failures);
        RC_ASSERT(!first_run(node, "c0").ended.has_value());
        node.rest(90s);
        node.require_safe();
        RC_ASSERT(node.runs_of("c0").size() == 1U);
        RC_ASSERT(first_run(node, "c0").ended.has_value());
        const std::string stop =
            "StopContainer c0 attempt 0 timeout " + std::to_string(grace - hook);
        const auto calls = node.calls();
        RC_ASSERT(std::count(calls.begin(), calls.end(), stop) == 1);
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::probe_properties_test
