#include "cluster/scheduler/filters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster/scheduler/affinity_filters.hpp"
#include "cluster/scheduler/preemption.hpp"
#include "cluster/scheduler/score.hpp"
#include "cluster/scheduler/test_shapes.hpp"
#include "core/random.hpp"

namespace ddptwin::scheduler::filters_test {
namespace {

using namespace test;
using testing::ElementsAre;

// What the one node "n" says to the pod: "fits", or the reasons, with "!" where no removal helps.
std::string say(const ClusterView& view, const PodPtr& pod, const std::string& name = "n") {
  const PodInfo info(pod);
  const auto refusal = refusal_of(info, *view.find(name), view);
  if (!refusal) return "fits";
  std::string text;
  for (const std::string& reason : refusal->reasons) text += (text.empty() ? "" : ", ") + reason;
  return (refusal->curable ? "" : "!") + text;
}

std::shared_ptr<Pod> with(std::shared_ptr<Pod> pod, const std::function<void(PodSpec&)>& change) {
  change(pod->spec.edit());
  return pod;
}

TEST(SchedulerFilters, room) {
  ClusterView view;
  view.put_node(node("n", {{"cpu", "4"}, {"nvidia.com/gpu", "8"}, {"pods", "2"}}));
  EXPECT_EQ(say(view, pod("p", {{"cpu", "4"}, {"nvidia.com/gpu", "8"}})), "fits");
  EXPECT_EQ(say(view, pod("p", {{"cpu", "4100m"}, {"memory", "1Ti"}})),
            "!Insufficient cpu, Insufficient memory");
  EXPECT_EQ(say(view, pod("p", {{"example.com/none", "1"}})), "!Insufficient example.com/none");
  view.put_pod(placed(pod("a", {{"cpu", "3"}}), "n"));
  EXPECT_EQ(say(view, pod("p", {{"cpu", "1"}})), "fits");
  EXPECT_EQ(say(view, pod("p", {{"cpu", "1001m"}})), "Insufficient cpu");
  view.put_pod(placed(pod("b"), "n"));
  EXPECT_EQ(say(view, pod("p")), "Too many pods");
  auto ended = placed(pod("b"), "n");
  ended->status.phase = "Failed";
  view.put_pod(ended);
  EXPECT_EQ(say(view, pod("p")), "fits");
  // A terminating pod still needs its room.
  auto leaving = placed(pod("b"), "n");
  leaving->metadata.deletionTimestamp = Time(1s);
  view.put_pod(leaving);
  EXPECT_EQ(say(view, pod("p")), "Too many pods");
}

// spec/kubernetes.md §2.6: the init peak counts, with the sidecars started before it; overhead is
// added.
TEST(SchedulerFilters, the_request_is_that_of_the_whole_pod) {
  const auto shaped = with(pod("p", {{"cpu", "1"}}), [](PodSpec& spec) {
    spec.initContainers = {
        {.name = "s",
         .resources = {.requests = amounts({{"cpu", "500m"}})},
         .restartPolicy = "Always"},
        {.name = "i", .resources = {.requests = amounts({{"cpu", "3"}})}},
    };
    spec.overhead = amounts({{"cpu", "250m"}});
  });
  EXPECT_EQ(PodInfo(shaped).needs->request.at("cpu").str(), "3750m");
}

TEST(SchedulerFilters, pods_that_ask_for_the_same_keep_it_once) {
  const PodInfo first(pod("a", {{"cpu", "1"}}));
  EXPECT_EQ(PodInfo(pod("b", {{"cpu", "1"}}), first.known_needs()).needs, first.needs);
  const PodInfo other(pod("c", {{"cpu", "2"}}), first.known_needs());
  EXPECT_EQ(other.needs->request.at("cpu").str(), "2");
}

TEST(SchedulerFilters, what_a_pod_asks_for_beside_its_containers_is_not_overlooked) {
  const auto first = pod("a", {{"cpu", "1"}});
  const KnownNeeds known = PodInfo(first).known_needs();
  const auto needs_of = [&](const std::function<void(PodSpec&)>& change) {
    return PodInfo(with(std::make_shared<Pod>(*first), change), known).needs;
  };
  EXPECT_EQ(needs_of([](PodSpec& spec) { spec.nodeName = "n"; }), known.needs);
  EXPECT_FALSE(needs_of([](PodSpec& spec) { spec.nodeSelector = {{"a", "b"}}; })->plain);
  EXPECT_EQ(needs_of([](PodSpec& spec) {
              spec.overhead = amounts({{"cpu", "1"}});
            })
                ->request.at("cpu")
                .str(),
            "2");
  const auto ported = needs_of([](PodSpec& spec) {
    spec.containers.edit().front().ports = {{.hostPort = 80, .containerPort = 80}};
  });
  EXPECT_EQ(ported->ports.size(), 1U);
}

TEST(SchedulerFilters, taints_and_cordons) {
  ClusterView view;
  auto tainted = node("n");
  tainted->spec.taints = {{.key = "dedicated", .value = "train", .effect = "NoSchedule"},
                          {.key = "soft", .effect = "PreferNoSchedule"}};
  view.put_node(tainted);
  const auto tolerating = [&](Toleration toleration) {
    return with(pod("p"), [&](PodSpec& spec) { spec.tolerations = {std::move(toleration)}; });
  };
  const std::string no = "!node(s) had untolerated taint(s)";
  const std::pair<Toleration, std::string> rows[] = {
      {{}, no},
      {{.key = "dedicated", .value = "train"}, "fits"},
      {{.key = "dedicated", .operator_ = "Equal", .value = "infer"}, no},
      {{.key = "dedicated", .operator_ = "Exists"}, "fits"},
      {{.operator_ = "Exists"}, "fits"},
      {{.key = "dedicated", .operator_ = "Exists", .effect = "NoExecute"}, no},
      {{.key = "other", .operator_ = "Exists"}, no},
  };
  for (const auto& [toleration, expected] : rows)
    EXPECT_EQ(say(view, tolerating(toleration)), expected)
        << toleration.key << " " << toleration.operator_ << " " << toleration.value;
  auto cordoned = node("n");
  cordoned->spec.unschedulable = true;
  view.put_node(cordoned);
  EXPECT_EQ(say(view, pod("p")), "!node(s) were unschedulable");
  EXPECT_EQ(
      say(view, tolerating({.key = "node.kubernetes.io/unschedulable", .operator_ = "Exists"})),
      "fits");
}

TEST(SchedulerFilters, node_affinity) {
  ClusterView view;
  view.put_node(node("n", {}, {{"pool", "a"}, {"rank", "7"}}));
  const std::string no = "!node(s) didn't match Pod's node affinity/selector";
  EXPECT_EQ(say(view, with(pod("p"), [](auto& s) { s.nodeSelector = {{"pool", "a"}}; })), "fits");
  EXPECT_EQ(say(view, with(pod("p"), [](auto& s) { s.nodeSelector = {{"pool", "b"}}; })), no);
  const auto requiring = [](std::vector<NodeSelectorTerm> terms) {
    return with(pod("p"), [&](PodSpec& spec) {
      spec.affinity =
          Affinity{.nodeAffinity = NodeAffinity{.requiredDuringSchedulingIgnoredDuringExecution =
                                                    NodeSelector{std::move(terms)}}};
    });
  };
  using Terms = std::vector<NodeSelectorTerm>;
  const std::pair<Terms, std::string> rows[] = {
      {Terms{{.matchExpressions = {{"pool", "In", {"a", "b"}}}}}, "fits"},
      {Terms{{.matchExpressions = {{"pool", "NotIn", {"a"}}}}}, no},
      {Terms{{.matchExpressions = {{"none", "NotIn", {"a"}}}}}, "fits"},
      {Terms{{.matchExpressions = {{"pool", "Exists", {}}}}}, "fits"},
      {Terms{{.matchExpressions = {{"pool", "DoesNotExist", {}}}}}, no},
      {Terms{{.matchExpressions = {{"rank", "Gt", {"6"}}, {"rank", "Lt", {"8"}}}}}, "fits"},
      {Terms{{.matchExpressions = {{"rank", "Gt", {"7"}}}}}, no},
      {Terms{{.matchExpressions = {{"pool", "Gt", {"7"}}}}}, no},  // not a number
      {Terms{{.matchExpressions = {{"pool", "In", {"b"}}}},
             {.matchExpressions = {{"pool", "In", {"a"}}}}},
       "fits"},         // any term
      {Terms{{}}, no},  // an empty term matches nothing
      {Terms{{.matchFields = {{"metadata.name", "In", {"n"}}}}}, "fits"},
      {Terms{{.matchFields = {{"metadata.name", "In", {"m"}}}}},
       "!node(s) didn't satisfy plugin(s) [NodeAffinity]"},
      {Terms{{.matchFields = {{"metadata.name", "NotIn", {"n"}}}}}, no},
  };
  int row = 0;
  for (const auto& [terms, expected] : rows)
    EXPECT_EQ(say(view, requiring(terms)), expected) << "row " << row++;
}

TEST(SchedulerFilters, host_ports) {
  ClusterView view;
  view.put_node(node("n"));
  const auto using_port = [](const std::string& name, ContainerPort port) {
    return with(pod(name),
                [&](PodSpec& spec) { spec.containers.edit()[0].ports = {std::move(port)}; });
  };
  view.put_pod(
      placed(using_port("a", {.hostPort = 80, .containerPort = 80, .hostIP = "10.0.0.1"}), "n"));
  const std::string no = "node(s) didn't have free ports for the requested pod ports";
  EXPECT_EQ(say(view, using_port("p", {.hostPort = 80, .hostIP = "10.0.0.1"})), no);
  EXPECT_EQ(say(view, using_port("p", {.hostPort = 80})), no);
  EXPECT_EQ(say(view, using_port("p", {.hostPort = 80, .hostIP = "10.0.0.2"})), "fits");
  EXPECT_EQ(say(view, using_port("p", {.hostPort = 80, .protocol = "UDP"})), "fits");
  EXPECT_EQ(say(view, using_port("p", {.containerPort = 80})), "fits");
}

std::shared_ptr<Pod> labelled(std::shared_ptr<Pod> pod, const std::string& app) {
  pod->metadata.labels = StringMap{{"app", app}};
  return pod;
}
PodAffinityTerm term(const std::string& app, const std::string& topology) {
  return {.labelSelector = LabelSelector{.matchLabels = {{"app", app}}}, .topologyKey = topology};
}

TEST(SchedulerFilters, pod_affinity) {
  ClusterView view;
  view.put_node(node("n", {}, {{"zone", "1"}}));
  view.put_node(node("m", {}, {{"zone", "1"}}));
  view.put_node(node("far", {}, {{"zone", "2"}}));
  view.put_node(node("nowhere"));
  const auto joining = [](const std::string& app, const std::string& other) {
    return with(labelled(pod("p"), app), [&](PodSpec& spec) {
      spec.affinity = Affinity{.podAffinity = PodAffinity{{term(other, "zone")}, {}}};
    });
  };
  const std::string no = "!node(s) didn't match pod affinity rules";
  EXPECT_EQ(say(view, joining("a", "b")), no);
  // The first of a group may go anywhere that has the label.
  EXPECT_EQ(say(view, joining("a", "a")), "fits");
  EXPECT_EQ(say(view, joining("a", "a"), "nowhere"), no);
  view.put_pod(placed(labelled(pod("b"), "b"), "m"));
  EXPECT_EQ(say(view, joining("a", "b")), "fits");  // the same zone, another node
  EXPECT_EQ(say(view, joining("a", "b"), "far"), no);
}

TEST(SchedulerFilters, pod_anti_affinity_counts_both_ways) {
  ClusterView view;
  view.put_node(node("n"));
  const auto avoiding = [](const std::string& name, const std::string& app) {
    return with(labelled(pod(name), app), [&](PodSpec& spec) {
      spec.affinity =
          Affinity{.podAntiAffinity = PodAffinity{{term("w", "kubernetes.io/hostname")}, {}}};
    });
  };
  EXPECT_EQ(say(view, avoiding("p", "w")), "fits");
  view.put_pod(placed(avoiding("one", "w"), "n"));
  EXPECT_EQ(say(view, avoiding("p", "w")), "node(s) didn't match pod anti-affinity rules");
  EXPECT_EQ(say(view, avoiding("p", "x")), "node(s) didn't match pod anti-affinity rules");
  EXPECT_EQ(say(view, labelled(pod("p"), "w")),
            "node(s) didn't satisfy existing pods anti-affinity rules");
  EXPECT_EQ(say(view, labelled(pod("p"), "x")), "fits");
  // Another namespace is not meant, unless it is named.
  auto elsewhere = labelled(pod("p"), "w");
  elsewhere->metadata.namespace_ = "other";
  EXPECT_EQ(say(view, elsewhere), "fits");
}

TEST(SchedulerFilters, topology_spread) {
  ClusterView view;
  view.put_node(node("n", {}, {{"zone", "1"}}));
  auto cordoned = node("m", {}, {{"zone", "2"}});
  cordoned->spec.unschedulable = true;
  view.put_node(cordoned);
  view.put_node(node("nowhere"));
  const auto spread = [](const std::string& name, std::optional<std::string> taints = {}) {
    return with(labelled(pod(name), "s"), [&](PodSpec& spec) {
      spec.topologySpreadConstraints = {
          {.maxSkew = 1,
           .topologyKey = "zone",
           .whenUnsatisfiable = "DoNotSchedule",
           .labelSelector = LabelSelector{.matchLabels = {{"app", "s"}}},
           .nodeTaintsPolicy = std::move(taints)}};
    });
  };
  const std::string no = "node(s) didn't match pod topology spread constraints";
  EXPECT_EQ(say(view, spread("p")), "fits");
  view.put_pod(placed(spread("a"), "n"));
  EXPECT_EQ(say(view, spread("p")), no);  // the cordoned zone is a domain all the same
  EXPECT_EQ(say(view, spread("p", "Honor")), "fits");
  EXPECT_EQ(say(view, spread("p"), "nowhere"), "!" + no + " (missing required label)");
  // Without a selector, or with one that is empty, no pod is counted.
  for (const auto& selector : {std::optional<LabelSelector>(), std::optional(LabelSelector{})}) {
    const auto any = with(spread("p"), [&](PodSpec& spec) {
      spec.topologySpreadConstraints.edit().front().labelSelector = selector;
    });
    EXPECT_EQ(say(view, any), "fits");
  }
}

// Upstream podtopologyspread: isSchedulableAfterNodeChange, isSchedulableAfterPodChange.
TEST(SchedulerFilters, who_is_refused_for_its_spread_waits_for_what_changes_the_counts) {
  using Kind = ClusterEvent::Kind;
  const auto by_zone = [](const std::string& app, std::optional<std::string> taints = {}) {
    return TopologySpreadConstraint{.maxSkew = 1,
                                    .topologyKey = "zone",
                                    .whenUnsatisfiable = "DoNotSchedule",
                                    .labelSelector = LabelSelector{.matchLabels = {{"app", app}}},
                                    .nodeTaintsPolicy = std::move(taints)};
  };
  const auto waiting = with(labelled(pod("p"), "s"), [&](PodSpec& spec) {
    spec.topologySpreadConstraints = {by_zone("s"), by_zone("t")};
  });
  const auto honouring = with(labelled(pod("p"), "s"), [&](PodSpec& spec) {
    spec.topologySpreadConstraints = {by_zone("s", "Honor")};
  });
  const auto helps = [](const PodPtr& pod, const ClusterEvent& event) {
    return spread_may_help(PodInfo(pod), event, ClusterView());
  };
  const auto in_zone = node("n", {}, {{"zone", "1"}}), moved = node("n", {}, {{"zone", "2"}}),
             nowhere = node("n"), coloured = node("n", {}, {{"zone", "1"}, {"colour", "red"}}),
             tainted = node("n", {}, {{"zone", "1"}});
  tainted->spec.taints = {{.key = "k", .effect = "NoSchedule"}};
  const auto node_changed = [&](const std::shared_ptr<Node>& before,
                                const std::shared_ptr<Node>& after) {
    return helps(waiting, {.kind = Kind::node_changed, .node_before = before, .node_after = after});
  };
  EXPECT_TRUE(node_changed(in_zone, nowhere));
  EXPECT_TRUE(node_changed(nowhere, in_zone));
  EXPECT_TRUE(node_changed(in_zone, moved));
  EXPECT_TRUE(node_changed(in_zone, tainted));
  EXPECT_FALSE(node_changed(in_zone, coloured));
  EXPECT_TRUE(helps(waiting, {.kind = Kind::node_removed, .node_before = in_zone}));
  EXPECT_FALSE(helps(waiting, {.kind = Kind::node_removed, .node_before = nowhere}));

  const auto pod_changed = [&](Kind kind, const PodPtr& before, const PodPtr& after) {
    return helps(waiting, {.kind = kind, .pod_before = before, .pod_after = after});
  };
  const auto counted = labelled(pod("o"), "s"), of_the_other = labelled(pod("o"), "t"),
             stranger = labelled(pod("o"), "u");
  EXPECT_TRUE(pod_changed(Kind::pod_freed, counted, nullptr));
  EXPECT_FALSE(pod_changed(Kind::pod_freed, stranger, nullptr));
  EXPECT_TRUE(pod_changed(Kind::pod_relabelled, counted, of_the_other));
  EXPECT_TRUE(pod_changed(Kind::pod_relabelled, counted, stranger));

  const auto tolerant = with(labelled(pod("p"), "s"), [](PodSpec& spec) {
    spec.tolerations = {{.key = "k", .operator_ = "Exists"}};
  });
  const ClusterEvent tolerates_more{
      .kind = Kind::itself_changed, .pod_before = counted, .pod_after = tolerant};
  EXPECT_TRUE(helps(honouring, tolerates_more));
  EXPECT_FALSE(helps(waiting, tolerates_more));
}

// Who is promised a node keeps its room from those below it, not from those above.
TEST(SchedulerDecision, a_promise_holds_against_lower_priorities) {
  ClusterView view;
  view.put_node(node("n", {{"cpu", "4"}}));
  auto promised = pod("high", {{"cpu", "3"}}, 100);
  promised->metadata.uid = "u";
  view.nominate(std::make_shared<PodInfo>(promised), "n");
  const auto where = [&](std::int32_t priority) {
    return decide(PodInfo(pod("p", {{"cpu", "2"}}, priority)), view).node;
  };
  EXPECT_EQ(where(0), "");
  EXPECT_EQ(where(100), "");
  EXPECT_EQ(where(101), "n");
  EXPECT_EQ(decide(PodInfo(promised), view).node, "n");
}

TEST(SchedulerDecision, takes_the_emptier_node_and_the_first_of_equals) {
  ClusterView view;
  for (const char* name : {"b", "a", "c"}) view.put_node(node(name));
  EXPECT_EQ(decide(PodInfo(pod("p")), view).node, "a");
  view.put_pod(placed(pod("x", {{"cpu", "1"}}), "a"));
  EXPECT_EQ(decide(PodInfo(pod("p")), view).node, "b");
  // A preference weighs more than room.
  const auto preferring = with(pod("p"), [](PodSpec& spec) {
    spec.affinity = Affinity{
        .nodeAffinity = NodeAffinity{
            .preferredDuringSchedulingIgnoredDuringExecution = {
                {.weight = 1,
                 .preference = {.matchExpressions = {{"kubernetes.io/hostname", "In", {"a"}}}}}}}};
  });
  EXPECT_EQ(decide(PodInfo(preferring), view).node, "a");
}

// A node of each class speaks for all: the same choice as looking at every node.
TEST(SchedulerDecision, classes_of_nodes_choose_as_a_look_at_all_does) {
  Random random(12);
  for (int round = 0; round < 50; ++round) {
    ClusterView view;
    for (int i = 0; i < 12; ++i) {
      const auto made = node(fmt::format("n{}", random.below(100)),
                             {{"cpu", std::to_string(2 + random.below(3))}});
      made->spec.unschedulable = random.chance(0.1);
      view.put_node(made);
    }
    for (int i = 0; i < 40; ++i) {
      const PodInfo asking(pod(fmt::format("p{}", i), {{"cpu", std::to_string(random.below(2))}}));
      ASSERT_TRUE(asking.needs->plain && view.is_plain());
      std::string best;
      std::int64_t most = -1;
      for (const NodeInfo* one : view.nodes())
        if (!refusal_of(asking, *one, view) && score(asking, *one) > most) {
          most = score(asking, *one);
          best = one->node->metadata.name;
        }
      ASSERT_EQ(decide(asking, view).node, best);
      if (best.empty() || random.chance(0.3)) {
        if (i > 0) view.drop_pod(fmt::format("default/p{}", random.below(40)));
      } else {
        view.try_add(best, asking);
      }
    }
  }
}

struct PreemptionTest : testing::Test {
  ClusterView view;
  // Node, then victims; or the tail of the message.
  std::string preempting(const PodPtr& pod) {
    const PodInfo info(pod);
    const Decision decision = decide(info, view);
    const Preemption preemption = preempt(info, decision.refusals, view);
    if (preemption.node.empty()) return preemption.text;
    std::string text = preemption.node;
    for (const PodPtr& victim : preemption.victims) text += " " + victim->metadata.name;
    return text;
  }
  void place(const std::string& node, const std::string& name, const std::string& cpu,
             std::int32_t priority, int started) {
    auto object = placed(pod(name, {{"cpu", cpu}}, priority), node);
    object->status.rest.edit().startTime = Time(std::chrono::seconds(started));
    view.put_pod(object);
  }
};

TEST_F(PreemptionTest, takes_the_lowest_and_no_more_than_needed) {
  view.put_node(node("n", {{"cpu", "4"}}));
  place("n", "mid", "2", 5, 1);
  place("n", "low", "2", 1, 2);
  EXPECT_EQ(preempting(pod("p", {{"cpu", "2"}}, 10)), "n low");
  EXPECT_EQ(preempting(pod("p", {{"cpu", "3"}}, 10)), "n mid low");
}

TEST_F(PreemptionTest, of_equals_the_one_started_last_goes) {
  view.put_node(node("n", {{"cpu", "4"}}));
  place("n", "young", "2", 1, 9);
  place("n", "old", "2", 1, 1);
  EXPECT_EQ(preempting(pod("p", {{"cpu", "2"}}, 10)), "n young");
}

TEST_F(PreemptionTest, prefers_the_node_that_loses_least) {
  view.put_node(node("a", {{"cpu", "2"}}));
  view.put_node(node("b", {{"cpu", "2"}}));
  place("a", "five", "2", 5, 1);
  place("b", "one", "1", 1, 1);
  place("b", "also", "1", 1, 2);
  EXPECT_EQ(preempting(pod("p", {{"cpu", "2"}}, 10)), "b one also");
}

TEST_F(PreemptionTest, says_why_nobody_is_pushed_aside) {
  view.put_node(node("full", {{"cpu", "4"}}));
  view.put_node(node("small", {{"cpu", "1"}}));
  place("full", "equal", "4", 10, 1);
  EXPECT_EQ(preempting(pod("p", {{"cpu", "2"}}, 10)),
            "0/2 nodes are available: 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.");
  auto never = with(pod("p", {{"cpu", "2"}}, 99), [](auto& s) { s.preemptionPolicy = "Never"; });
  EXPECT_EQ(preempting(never), "not eligible due to preemptionPolicy=Never.");
}

TEST_F(PreemptionTest, waits_for_those_already_pushed_aside) {
  view.put_node(node("n", {{"cpu", "4"}}));
  auto leaving = placed(pod("low", {{"cpu", "4"}}, 1), "n");
  leaving->metadata.deletionTimestamp = Time(1s);
  PodCondition condition;
  condition.type_ = "DisruptionTarget";
  condition.status = "True";
  condition.reason = "PreemptionByScheduler";
  leaving->status.conditions = {condition};
  view.put_pod(leaving);
  auto waiting = pod("p", {{"cpu", "2"}}, 10);
  waiting->status.rest.edit().nominatedNodeName = "n";
  EXPECT_EQ(preempting(waiting), "not eligible due to a terminating pod on the nominated node.");
}

}  // namespace
}  // namespace ddptwin::scheduler::filters_test
