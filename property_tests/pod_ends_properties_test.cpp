// What a kubelet leaves alone once a pod is over (spec/kubernetes.md §2.2, §2.5, §2.10).
#include <algorithm>
#include <boost/json.hpp>

#include "node_run.hpp"
#include "property.hpp"

namespace ddptwin::property::pod_ends_properties_test {
namespace {

std::shared_ptr<Pod> pod_with(const std::string& container) {
  auto pod = NodeRun::pod_named("p");
  pod->metadata.finalizers = {"ddptwin.test/held"};
  pod->spec.edit().containers.edit().push_back(container_named(container));
  return pod;
}

// Somebody else's word that it has ended, and its deletion in the same moment (PodGC, §2.12).
TEST(PodEnds, APodThatIsSaidToBeOverStaysSoWhateverItsContainersEndWith) {
  holds(
      [] {
        const auto phase = *gen::element<std::string>("Failed", "Succeeded").as("said");
        const int code = *gen::element(0, 1).as("exit code at SIGTERM");
        // Who has ended has no more than the two seconds that a kubelet gives everybody (§1.8).
        const int takes = *gen::inRange(0, 2).as("seconds that its end takes");
        auto pod = pod_with("c");
        pod->metadata.annotations.edit()["rig/term.c"] =
            std::to_string(code) + " after " + std::to_string(takes);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(*gen::inRange(3, 30).as("runs for")));
        RC_ASSERT(node.pod()->status.phase == "Running");
        node.patch("p", {{"status", {{"phase", phase}}}}, "status");
        node.remove(20);
        node.rest(40s);
        const auto left = node.pod();
        RC_ASSERT(left != nullptr);
        RC_ASSERT(left->status.phase == phase);
        RC_ASSERT(node.runs_of("c").size() == 1u);
        const auto& ended = status_of(*left, "c")->state.terminated;
        RC_ASSERT(ended.has_value());
        RC_ASSERT(ended->exitCode == code);
      },
      4);
}

// A sidecar that ends again and again is between two starts, not before its first.
TEST(PodEnds, APodThatRunsRunsWhateverItsSidecarDoes) {
  holds(
      [] {
        auto pod = pod_with("c");
        Container sidecar = container_named("s");
        sidecar.restartPolicy = "Always";
        pod->spec.edit().initContainers.edit().push_back(std::move(sidecar));
        pod->metadata.annotations.edit()["rig/exit.s"] =
            std::to_string(*gen::element(0, 1).as("exit code")) + " after " +
            std::to_string(*gen::inRange(1, 30).as("seconds that it runs"));
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(10min);
        RC_ASSERT(node.pod()->status.phase == "Running");
        RC_ASSERT(node.runs_of("s").size() > 2u);
        node.require_safe();
      },
      4);
}

// Who is taken away by force still stops when another of its name is there (§2.1).
TEST(PodEnds, ANamesakeHasALifeOfItsOwn) {
  holds(
      [] {
        auto pod = pod_with("c");
        pod->metadata.finalizers.edit().clear();
        const int takes = *gen::inRange(0, 4).as("seconds that the end of the first takes");
        pod->metadata.annotations.edit()["rig/term.c"] = "1 after " + std::to_string(takes);
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(*gen::inRange(1, 20).as("the first runs for")));
        const std::string first = node.pod()->metadata.uid.str();
        node.remove(0);
        node.rest(std::chrono::milliseconds(*gen::inRange(0, 3'000).as("ms without any")));
        node.create(pod);
        for (int look = 0; look < 100; ++look) {
          node.rest(100ms);
          RC_ASSERT(node.pod()->metadata.uid != first);
          RC_ASSERT(!is_over(*node.pod()));
        }
        RC_ASSERT(node.pod()->status.phase == "Running");
        RC_ASSERT(status_of(*node.pod(), "c")->restartCount == 0);
      },
      4);
}

// However it ends before it could begin: nobody tries to mount anything for it any more.
TEST(PodEnds, AfterItsEndNothingIsMountedForIt) {
  holds(
      [] {
        const auto how = *gen::element<std::string>("deleted", "evicted", "too late").as("it is");
        const int waits = *gen::inRange(5, 200).as("seconds that it waits");
        auto pod = pod_with("c");
        PodSpec& spec = pod->spec.edit();
        if (how == "too late") spec.activeDeadlineSeconds = waits;
        spec.containers.edit()[0].volumeMounts = {{.name = "v", .mountPath = "/v"}};
        Volume volume;
        volume.name = "v";
        volume.configMap.emplace().name = "missing";
        spec.volumes = {volume};
        NodeRun node(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        node.create(pod);
        node.rest(seconds(waits));
        if (how == "deleted") node.remove(std::nullopt);
        if (how == "evicted") node.evict("p");
        // Its grace, and what follows it; a deadline is seen when the wait for volumes is over.
        node.rest(how == "too late" ? 3min : 40s);
        RC_ASSERT(is_over(*node.pod()));
        const int failed = node.told("p", "FailedMount");
        RC_ASSERT(failed > 0);
        node.rest(10min);
        RC_ASSERT(node.told("p", "FailedMount") == failed);
      },
      4);
}

}  // namespace
}  // namespace ddptwin::property::pod_ends_properties_test
