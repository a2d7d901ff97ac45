#include "cluster/kubelet/volumes.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/kubelet/test_cluster.hpp"

namespace ddptwin::kubelet::volumes_test {
namespace {

const std::string objects =
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: '1', b: '2'}\n"
    "binaryData: {bin: AAE=}\n"
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {id: aw==}\n";

TestCluster with_volume(const std::string& volume, const std::string& container = "") {
  return TestCluster(pod_yaml(container, "volumes: [{name: v, " + volume + "}]") + objects);
}

// "path=content(mode)" for each file.
std::string files_of(const VolumeSource& source) {
  std::string out;
  for (const auto& [path, file] : source.files) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%o", file.mode);
    out += path + "=" + file.content + "(" + mode + ") ";
  }
  return out;
}

TEST(Volume, FilesComeFromTheirSources) {
  const std::string bin("bin=\0\1(644) ", 12);
  const std::pair<std::string, std::string> rows[] = {
      {"configMap: {name: conf}", "a=1(644) b=2(644) " + bin},
      {"configMap: {name: conf, defaultMode: 256, items: [{key: a, path: x/y}, {key: b, path: z, "
       "mode: 511}]}",
       "x/y=1(400) z=2(777) "},
      {"configMap: {name: nope, optional: true}", ""},
      {"configMap: {name: conf, optional: true, items: [{key: nope, path: x}, {key: a, path: a}]}",
       "a=1(644) "},
      {"secret: {secretName: key}", "id=k(644) "},
      {"downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}, {path: m, mode: "
       "292, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}",
       "m=32(444) name=p(644) "},
      {"projected: {sources: [{configMap: {name: conf, items: [{key: a, path: f}]}}, {secret: "
       "{name: key, items: [{key: id, path: f}]}}, {downwardAPI: {items: [{path: name, fieldRef: "
       "{fieldPath: metadata.namespace}}]}}, {serviceAccountToken: {path: token, audience: x}}]}",
       "f=k(644) name=default(644) token=token for x, 3600(644) "},
  };
  for (const auto& [yaml, want] : rows) {
    const TestCluster cluster = with_volume(yaml);
    PodContext context = cluster.context();
    context.service_account_token = [](std::string_view audience, std::int64_t seconds) {
      return "token for " + std::string(audience) + ", " + std::to_string(seconds);
    };
    const auto source = volume(context, context.pod->spec->volumes[0]);
    ASSERT_TRUE(source) << yaml << ": " << source.error().message;
    EXPECT_EQ((*source)->kind, VolumeSource::Kind::files);
    EXPECT_EQ((*source)->name, "v");
    EXPECT_EQ(files_of(**source), want) << yaml;
  }
}

TEST(Volume, WhatIsNotReadyIsToldInUpstreamsWords) {
  const std::pair<std::string, std::string> rows[] = {
      {"configMap: {name: late}", "configmap \"late\" not found"},
      {"secret: {secretName: late}", "secret \"late\" not found"},
      {"configMap: {name: conf, items: [{key: nope, path: x}]}",
       "configmap references non-existent config key: nope"},
      {"secret: {secretName: key, items: [{key: nope, path: x}]}",
       "references non-existent secret key: nope"},
      {"projected: {sources: [{configMap: {name: late}}]}", "configmap \"late\" not found"},
      {"projected: {sources: [{configMap: {name: late}}, {secret: {name: gone}}]}",
       "[configmap \"late\" not found, secret \"gone\" not found]"},
      {"hostPath: {path: /file, type: Directory}",
       "hostPath type check failed: /file is not a directory"},
      {"hostPath: {path: /nothing, type: Directory}",
       "hostPath type check failed: /nothing is not a directory"},
      {"hostPath: {path: /file, type: DirectoryOrCreate}",
       "hostPath type check failed: /file is not a directory"},
      {"hostPath: {path: /nothing, type: File}",
       "hostPath type check failed: /nothing is not a file"},
      {"hostPath: {path: /file, type: Socket}",
       "hostPath type check failed: /file is not a socket file"},
      {"hostPath: {path: /file, type: CharDevice}",
       "hostPath type check failed: /file is not a character device"},
      {"hostPath: {path: /file, type: BlockDevice}",
       "hostPath type check failed: /file is not a block device"},
  };
  for (const auto& [yaml, want] : rows) {
    const TestCluster cluster = with_volume(yaml);
    PodContext context = cluster.context();
    context.path_kind = [](const std::string& path) {
      return path == "/file" ? PathKind::file : PathKind::absent;
    };
    const auto sources = volumes(context);
    ASSERT_FALSE(sources) << yaml;
    EXPECT_EQ(sources.error().message, "MountVolume.SetUp failed for volume \"v\" : " + want);
  }
}

TEST(Volume, HostPathsThatFitOrAreMadeAreTaken) {
  for (const char* yaml :
       {"hostPath: {path: /nothing}", "hostPath: {path: /nothing, type: DirectoryOrCreate}",
        "hostPath: {path: /nothing, type: FileOrCreate}", "hostPath: {path: /file, type: File}"}) {
    const TestCluster cluster = with_volume(yaml);
    PodContext context = cluster.context();
    context.path_kind = [](const std::string& path) {
      return path == "/file" ? PathKind::file : PathKind::absent;
    };
    const auto source = volume(context, context.pod->spec->volumes[0]);
    ASSERT_TRUE(source) << yaml;
    EXPECT_EQ((*source)->kind, VolumeSource::Kind::host_path);
  }
}

TEST(Volume, AnEmptyDirKnowsItsMediumAndSize) {
  struct Row {
    std::string volume;
    std::string container;
    VolumeSource::Kind kind;
    std::optional<std::int64_t> size;
  };
  using Kind = VolumeSource::Kind;
  const Row rows[] = {
      {"emptyDir: {}", "", Kind::empty_dir, std::nullopt},
      {"emptyDir: {sizeLimit: 1Ki}", "", Kind::empty_dir, 1024},
      {"emptyDir: {medium: Memory}", "", Kind::memory, std::nullopt},
      {"emptyDir: {medium: Memory, sizeLimit: 1Ki}", "", Kind::memory, 1024},
      {"emptyDir: {medium: Memory}", "resources: {limits: {memory: 2Ki}}", Kind::memory, 2048},
      {"emptyDir: {medium: Memory, sizeLimit: 1Ki}", "resources: {limits: {memory: 2Ki}}",
       Kind::memory, 1024},
      {"emptyDir: {medium: Memory, sizeLimit: 9Ki}", "resources: {limits: {memory: 2Ki}}",
       Kind::memory, 2048},
  };
  for (const Row& row : rows) {
    const TestCluster cluster = with_volume(row.volume, row.container);
    const auto sources = volumes(cluster.context());
    ASSERT_TRUE(sources);
    EXPECT_EQ(sources->at(0)->kind, row.kind) << row.volume;
    EXPECT_EQ(sources->at(0)->size_limit, row.size) << row.volume << " " << row.container;
  }
}

// A pod one of whose containers may take what it likes has no limit as a whole.
TEST(Volume, InMemoryIsAsLargeAsItsPodOnlyWhereEachContainerIsLimited) {
  const std::string limited = "resources: {limits: {memory: 2Ki}}";
  const std::pair<std::string, std::optional<std::int64_t>> rows[] = {
      {"initContainers: [{name: i, image: busybox}]", std::nullopt},
      {"initContainers: [{name: i, image: busybox, resources: {limits: {memory: 1Ki}}}]", 2048},
      {"initContainers: [{name: i, image: busybox}], resources: {limits: {memory: 3Ki}}", 3072},
  };
  for (const auto& [spec, size] : rows) {
    const TestCluster cluster(
        pod_yaml(limited, "volumes: [{name: v, emptyDir: {medium: Memory}}], " + spec) + objects);
    const auto sources = volumes(cluster.context());
    ASSERT_TRUE(sources);
    EXPECT_EQ(sources->at(0)->size_limit, size) << spec;
  }
}

TEST(Volume, LiesWhereTheKubeletPutsIt) {
  const std::string pod = "/root/pods/uid-p/volumes/kubernetes.io~";
  const std::tuple<std::string, std::string, bool> rows[] = {
      {"configMap: {name: conf}", pod + "configmap/v", true},
      {"secret: {secretName: key}", pod + "secret/v", true},
      {"downwardAPI: {}", pod + "downward-api/v", true},
      {"projected: {}", pod + "projected/v", true},
      {"emptyDir: {}", pod + "empty-dir/v", false},
      {"hostPath: {path: /data}", "/data", false},
      {"persistentVolumeClaim: {claimName: c}", "/root/claims/default/c", false},
      {"persistentVolumeClaim: {claimName: c, readOnly: true}", "/root/claims/default/c", true},
      {"nfs: {server: s, path: /x, readOnly: true}", "/root/nfs/s/x", true},
  };
  for (const auto& [yaml, path, read_only] : rows) {
    const TestCluster cluster = with_volume(yaml);
    const PodContext context = cluster.context();
    const Volume& volume = context.pod->spec->volumes[0];
    EXPECT_EQ(volume_path(context, volume), path) << yaml;
    EXPECT_EQ(is_read_only(volume), read_only) << yaml;
  }
}

// Where claims are bound.
TEST(Volume, AClaimLiesWhereItsVolumeDoes) {
  const TestCluster cluster = with_volume("persistentVolumeClaim: {claimName: c}");
  const auto claim = std::make_shared<PersistentVolumeClaim>();
  const auto lies = std::make_shared<PersistentVolume>();
  lies->metadata.name = "pv-1";
  PodContext context = cluster.context();
  context.settings.edit().binds_claims = true;
  bool is_made = false;
  context.find_claim = [&](std::string_view) -> ClaimPtr { return is_made ? claim : nullptr; };
  context.find_volume = [&](std::string_view name) -> VolumePtr {
    return name == "pv-1" ? lies : nullptr;
  };
  const auto say = [&context]() -> std::string {
    const auto source = volume(context, context.pod->spec->volumes[0]);
    return source ? (*source)->host_path : source.error().message;
  };
  constexpr std::string_view failed = "MountVolume.SetUp failed for volume \"v\" : ";
  EXPECT_EQ(say(), std::string(failed) + "persistentvolumeclaim \"c\" not found");
  is_made = true;
  claim->spec.volumeName = "pv-1";
  EXPECT_EQ(say(), std::string(failed) + "persistentvolumeclaim \"c\" is not bound");
  claim->metadata.annotations.edit()[bind_completed] = "yes";
  EXPECT_EQ(say(), "/root/volumes/pv-1");
  lies->spec.local = RawJson(boost::json::object{{"path", "/mnt/ssd"}});
  EXPECT_EQ(say(), "/mnt/ssd");
  lies->spec.hostPath.emplace().path = "/srv";
  EXPECT_EQ(say(), "/srv");
  context.settings.edit().claim_folders.emplace("default/c", "/home/me/data");
  EXPECT_EQ(say(), "/home/me/data");
}

TEST(Volume, APodIsTouchedByItsOwnObjectsAlone) {
  const TestCluster cluster = with_volume("persistentVolumeClaim: {claimName: c}");
  const Pod& pod = *cluster.context().pod;
  PersistentVolumeClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = "c";
  EXPECT_TRUE(shows(pod, claim));
  claim.metadata.name = "other";
  EXPECT_FALSE(shows(pod, claim));
  PersistentVolume lies_in;
  lies_in.metadata.name = "c";  // no matter
  EXPECT_FALSE(shows(pod, lies_in));
  ObjectReference& kept = lies_in.spec.claimRef.emplace();
  kept.namespace_ = "default";
  kept.name = "c";
  EXPECT_TRUE(shows(pod, lies_in));
  kept.namespace_ = "elsewhere";
  EXPECT_FALSE(shows(pod, lies_in));
  ConfigMap map;
  map.metadata.namespace_ = "default";
  map.metadata.name = "c";
  EXPECT_FALSE(shows(pod, map));
  const TestCluster projecting = with_volume("projected: {sources: []}");
  EXPECT_TRUE(shows(*projecting.context().pod, map));
  claim.metadata.name = "c";
  EXPECT_FALSE(shows(*projecting.context().pod, claim));
}

TEST(Volume, AKindThatTheTwinLacksIsNeverReady) {
  const TestCluster cluster = with_volume("csi: {driver: x}");
  const auto sources = volumes(cluster.context());
  ASSERT_FALSE(sources);
  EXPECT_EQ(sources.error().message,
            "MountVolume.SetUp failed for volume \"v\" : this twin has no volumes of this kind");
}

}  // namespace
}  // namespace ddptwin::kubelet::volumes_test
