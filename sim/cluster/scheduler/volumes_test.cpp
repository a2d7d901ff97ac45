#include "cluster/scheduler/volumes.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "cluster/scheduler/test_shapes.hpp"

namespace ddptwin::scheduler::volumes_test {
namespace {

using namespace test;
using testing::ElementsAre;

std::shared_ptr<PersistentVolumeClaim> claim(const std::string& name, const std::string& size,
                                             const std::string& class_name) {
  auto made = std::make_shared<PersistentVolumeClaim>();
  made->metadata.namespace_ = "default";
  made->metadata.name = name;
  made->metadata.uid = "uid-of-" + name;
  made->spec.accessModes = {"ReadWriteOnce"};
  made->spec.resources.requests = amounts({{"storage", size}});
  made->spec.storageClassName = class_name;
  made->status.phase = "Pending";
  return made;
}

std::shared_ptr<PersistentVolume> volume(const std::string& name, const std::string& size,
                                         const std::string& class_name,
                                         const std::string& node = {}) {
  auto made = std::make_shared<PersistentVolume>();
  made->metadata.name = name;
  made->spec.accessModes = {"ReadWriteOnce"};
  made->spec.capacity = amounts({{"storage", size}});
  made->spec.storageClassName = class_name;
  made->status.phase = "Available";
  if (!node.empty()) {
    NodeSelectorTerm term;
    term.matchExpressions.push_back({"kubernetes.io/hostname", "In", {node}});
    made->spec.nodeAffinity = VolumeNodeAffinity{NodeSelector{{term}}};
  }
  return made;
}

std::shared_ptr<StorageClass> class_of_mode(const std::string& name, const std::string& mode,
                                            const std::string& provisioner = "p.io/p") {
  auto made = std::make_shared<StorageClass>();
  made->metadata.name = name;
  made->volumeBindingMode = mode;
  made->provisioner = provisioner;
  return made;
}

std::shared_ptr<Pod> mounting(const std::string& name, const std::vector<std::string>& claims) {
  auto made = pod(name);
  made->metadata.uid = "uid-of-" + name;
  for (const std::string& one : claims) {
    Volume& added = made->spec.edit().volumes.edit().emplace_back();
    added.name = one;
    added.persistentVolumeClaim.emplace().claimName = one;
  }
  return made;
}

class SchedulerVolumes : public testing::Test {
 protected:
  SchedulerVolumes() {
    view.put_node(node("a"));
    view.put_node(node("b"));
    put(class_of_mode("now", "Immediate"));
    put(class_of_mode("later", "WaitForFirstConsumer"));
    put(class_of_mode("local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"));
  }
  void put(const std::shared_ptr<PersistentVolumeClaim>& one) {
    view.edit_volumes().claims[key_of(one->metadata)] = one;
  }
  void put(const std::shared_ptr<PersistentVolume>& one) {
    view.edit_volumes().volumes[one->metadata.name.str()] = one;
  }
  void put(const std::shared_ptr<StorageClass>& one) {
    view.edit_volumes().classes[one->metadata.name.str()] = one;
  }
  void bind(const std::shared_ptr<PersistentVolumeClaim>& one, const std::string& to) {
    one->spec.volumeName = to;
    one->metadata.annotations.edit()[bind_completed] = "yes";
    one->status.phase = "Bound";
    put(one);
  }
  std::string say(const std::shared_ptr<Pod>& pod) {
    const Decision decision = decide(PodInfo(pod), view);
    return decision.node.empty() ? availability_text(decision) : decision.node;
  }
  ClusterView view{};
};

TEST_F(SchedulerVolumes, before_any_node_is_looked_at) {
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: persistentvolumeclaim \"data\" not found.");
  put(claim("data", "1Gi", "now"));
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  put(claim("data", "1Gi", "nobody-made-it"));
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  auto leaving = claim("data", "1Gi", "later");
  leaving->metadata.deletionTimestamp = Time(Duration(1));
  put(leaving);
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: persistentvolumeclaim \"data\" is being deleted.");
  auto lost = claim("data", "1Gi", "later");
  lost->spec.volumeName = "v";
  lost->status.phase = "Lost";
  put(lost);
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: persistentvolumeclaim \"data\" bound to non-existent "
            "persistentvolume \"v\".");
}

TEST_F(SchedulerVolumes, a_claim_that_waits_is_provisioned_wherever_the_pod_goes) {
  put(claim("data", "1Gi", "later"));
  const auto user = mounting("p", {"data"});
  EXPECT_EQ(say(user), "a");
  EXPECT_EQ(volume_work(*user, *node("a"), view.volumes()).provisions.size(), 1U);
  put(with_node(*claim("data", "1Gi", "later"), "b"));
  EXPECT_EQ(say(user), "b");
}

TEST_F(SchedulerVolumes, allowed_topologies_keep_provisioning_off_other_nodes) {
  auto zoned = class_of_mode("later", "WaitForFirstConsumer");
  zoned->allowedTopologies = RawJson(boost::json::array{boost::json::object{
      {"matchLabelExpressions",
       boost::json::array{boost::json::object{{"key", "kubernetes.io/hostname"},
                                              {"values", boost::json::array{"b"}}}}}}});
  put(zoned);
  put(claim("data", "1Gi", "later"));
  EXPECT_EQ(say(mounting("p", {"data"})), "b");
}

TEST_F(SchedulerVolumes, local_volumes_are_found_on_their_nodes_only) {
  const auto user = mounting("p", {"data"});
  put(claim("data", "2Gi", "local"));
  EXPECT_EQ(say(user),
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
  put(volume("too-small", "1Gi", "local", "a"));
  put(volume("of-another-class", "5Gi", "", "a"));
  EXPECT_EQ(say(user),
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
  put(volume("large", "9Gi", "local", "b"));
  put(volume("enough", "3Gi", "local", "b"));
  EXPECT_EQ(say(user), "b");
  const VolumeWork work = volume_work(*user, *node("b"), view.volumes());
  ASSERT_EQ(work.bindings.size(), 1U);
  EXPECT_EQ(work.bindings[0].second->metadata.name, "enough");
  // Two claims of one pod never get the same volume.
  put(claim("more", "2Gi", "local"));
  const VolumeWork both = volume_work(*mounting("q", {"data", "more"}), *node("b"), view.volumes());
  ASSERT_EQ(both.bindings.size(), 2U);
  EXPECT_NE(both.bindings[0].second, both.bindings[1].second);
}

TEST_F(SchedulerVolumes, a_bound_claim_draws_the_pod_to_where_its_volume_is) {
  bind(claim("data", "1Gi", "local"), "v");
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: 2 node(s) unavailable due to one or more pvc(s) bound to "
            "non-existent pv(s).");
  put(volume("v", "1Gi", "local", "b"));
  EXPECT_EQ(say(mounting("p", {"data"})), "b");
  view.drop_node("b");
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.");
}

TEST_F(SchedulerVolumes, what_is_older_than_its_own_write_says_nothing) {
  const auto here = node("a");
  const auto state = [&](const VolumeWork& work) {
    const ClaimsProgress progress = progress_of_work(work, *here, view.volumes());
    return progress.state == ClaimsState::waiting ? "waiting" : progress.problem;
  };
  const auto seen = claim("data", "1Gi", "later");
  auto written = with_node(*seen, "a");
  written->metadata.resourceVersion = "100";
  const VolumeWork provision{.provisions = {written}};
  EXPECT_EQ(state(provision), "could not find v1.PersistentVolumeClaim \"default/data\"");
  seen->metadata.resourceVersion = "99";
  put(seen);
  EXPECT_EQ(state(provision), "waiting");
  seen->metadata.resourceVersion = "101";
  EXPECT_EQ(state(provision), "provisioning failed for PVC \"data\"");
  const auto free = volume("v", "1Gi", "later");
  auto kept = kept_for(*free, *seen);
  kept->metadata.resourceVersion = "100";
  const VolumeWork binding{.bindings = {{seen, kept}}};
  free->metadata.resourceVersion = "99";
  put(free);
  EXPECT_EQ(state(binding), "waiting");
  free->metadata.resourceVersion = "101";
  EXPECT_EQ(state(binding), "ClaimRef got reset for pv \"v\"");
  put(kept);
  EXPECT_EQ(state(binding), "waiting");
  bind(seen, "v");
  EXPECT_EQ(state(binding), "");
}

TEST_F(SchedulerVolumes, one_pod_alone_uses_a_read_write_once_pod_claim) {
  auto exclusive = claim("data", "1Gi", "now");
  exclusive->spec.accessModes = {"ReadWriteOncePod"};
  bind(exclusive, "v");
  put(volume("v", "1Gi", "now"));
  EXPECT_EQ(say(mounting("p", {"data"})), "a");
  view.put_pod(placed(mounting("first", {"data"}), "b"));
  EXPECT_EQ(say(mounting("p", {"data"})),
            "0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same "
            "name and ReadWriteOncePod access mode.");
  bind(claim("data", "1Gi", "now"), "v");  // ReadWriteOnce is no matter of the scheduler's
  EXPECT_EQ(say(mounting("p", {"data"})), "a");
}

}  // namespace
}  // namespace ddptwin::scheduler::volumes_test
