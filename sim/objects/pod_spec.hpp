// The pod's specification and everything in it (core/v1, Kubernetes v1.36). Fields of type RawJson
// are kept and given back but read by nobody here.
#pragma once

#include "objects/object.hpp"

namespace ddptwin {

struct KeyToPath {
  std::string key{};
  std::string path{};
  std::optional<std::int32_t> mode{};
  static const Type& type();
};

// LocalObjectReference with the optional flag that the volume and env sources add.
struct NameReference {
  std::string name{};
  std::optional<bool> optional{};
  static const Type& type();
};

struct KeySelector {  // SecretKeySelector, ConfigMapKeySelector
  std::string name{};
  std::string key{};
  std::optional<bool> optional{};
  static const Type& type();
};

struct ObjectFieldSelector {
  std::string apiVersion{};
  std::string fieldPath{};
  static const Type& type();
};

struct ResourceFieldSelector {
  std::string containerName{};
  std::string resource{};
  std::optional<Quantity> divisor{};
  static const Type& type();
};

struct EnvVarSource {
  std::optional<ObjectFieldSelector> fieldRef{};
  std::optional<ResourceFieldSelector> resourceFieldRef{};
  std::optional<KeySelector> configMapKeyRef{};
  std::optional<KeySelector> secretKeyRef{};
  RawJson fileKeyRef{};
  static const Type& type();
};

struct EnvVar {
  Text name{};
  Text value{};
  Rare<EnvVarSource> valueFrom{};
  static const Type& type();
};

struct EnvFromSource {
  std::string prefix{};
  std::optional<NameReference> configMapRef{};
  std::optional<NameReference> secretRef{};
  static const Type& type();
};

struct ContainerPort {
  std::string name{};
  std::int32_t hostPort = 0;
  std::int32_t containerPort = 0;
  std::string protocol{};
  std::string hostIP{};
  static const Type& type();
};

struct ResourceRequirements {
  Cow<ResourceList> limits{};
  Cow<ResourceList> requests{};
  RawJson claims{};
  static const Type& type();
};

struct VolumeMount {
  std::string name{};
  bool readOnly = false;
  std::optional<std::string> recursiveReadOnly{};
  std::string mountPath{};
  std::string subPath{};
  std::optional<std::string> mountPropagation{};
  std::string subPathExpr{};
  static const Type& type();
};

struct ExecAction {
  std::vector<std::string> command{};
  static const Type& type();
};

struct HttpHeader {
  std::string name{};
  std::string value{};
  static const Type& type();
};

struct HttpGetAction {
  std::string path{};
  IntOrString port{};
  std::string host{};
  std::string scheme{};
  std::vector<HttpHeader> httpHeaders{};
  static const Type& type();
};

struct TcpSocketAction {
  IntOrString port{};
  std::string host{};
  static const Type& type();
};

struct GrpcAction {
  std::int32_t port = 0;
  std::optional<std::string> service{};
  static const Type& type();
};

struct SleepAction {
  std::int64_t seconds = 0;
  static const Type& type();
};

struct Probe {
  std::optional<ExecAction> exec{};
  std::optional<HttpGetAction> httpGet{};
  std::optional<TcpSocketAction> tcpSocket{};
  std::optional<GrpcAction> grpc{};
  std::int32_t initialDelaySeconds = 0;
  std::int32_t timeoutSeconds = 0;
  std::int32_t periodSeconds = 0;
  std::int32_t successThreshold = 0;
  std::int32_t failureThreshold = 0;
  std::optional<std::int64_t> terminationGracePeriodSeconds{};
  static const Type& type();
};

struct LifecycleHandler {
  std::optional<ExecAction> exec{};
  std::optional<HttpGetAction> httpGet{};
  std::optional<TcpSocketAction> tcpSocket{};
  std::optional<SleepAction> sleep{};
  static const Type& type();
};

struct Lifecycle {
  std::optional<LifecycleHandler> postStart{};
  std::optional<LifecycleHandler> preStop{};
  std::optional<std::string> stopSignal{};
  static const Type& type();
};

struct ExitCodesRule {
  std::string operator_{};
  std::vector<std::int32_t> values{};
  static const Type& type();
};

struct ContainerRestartRule {
  std::string action{};
  std::optional<ExitCodesRule> exitCodes{};
  static const Type& type();
};

// Of its lists, a controller adds to env alone: all pods of a template share the others.
struct Container {
  std::string name{};
  std::string image{};
  Cow<std::vector<std::string>> command{};
  Cow<std::vector<std::string>> args{};
  Text workingDir{};
  Cow<std::vector<ContainerPort>> ports{};
  Cow<std::vector<EnvFromSource>> envFrom{};
  std::vector<EnvVar> env{};
  ResourceRequirements resources{};
  RawJson resizePolicy{};
  std::optional<std::string> restartPolicy{};
  Cow<std::vector<ContainerRestartRule>> restartPolicyRules{};
  Cow<std::vector<VolumeMount>> volumeMounts{};
  RawJson volumeDevices{};
  Rare<Probe> livenessProbe{};
  Rare<Probe> readinessProbe{};
  Rare<Probe> startupProbe{};
  Rare<Lifecycle> lifecycle{};
  Text terminationMessagePath{};
  Text terminationMessagePolicy{};
  Text imagePullPolicy{};
  RawJson securityContext{};
  bool stdin_ = false;
  bool stdinOnce = false;
  bool tty = false;
  Extra extra{};
  static const Type& type();
};

// Of an init container: it goes on beside the main ones (spec/kubernetes.md §2.4).
inline bool is_sidecar(const Container& container) { return container.restartPolicy == "Always"; }

struct HostPathVolume {
  std::string path{};
  std::optional<std::string> type_{};
  static const Type& type();
};

struct EmptyDirVolume {
  std::string medium{};
  std::optional<Quantity> sizeLimit{};
  static const Type& type();
};

struct SecretVolume {
  std::string secretName{};
  std::vector<KeyToPath> items{};
  std::optional<std::int32_t> defaultMode{};
  std::optional<bool> optional{};
  static const Type& type();
};

struct ConfigMapVolume {
  std::string name{};
  std::vector<KeyToPath> items{};
  std::optional<std::int32_t> defaultMode{};
  std::optional<bool> optional{};
  static const Type& type();
};

struct DownwardAPIFile {
  std::string path{};
  std::optional<ObjectFieldSelector> fieldRef{};
  std::optional<ResourceFieldSelector> resourceFieldRef{};
  std::optional<std::int32_t> mode{};
  static const Type& type();
};

struct DownwardAPIVolume {
  std::vector<DownwardAPIFile> items{};
  std::optional<std::int32_t> defaultMode{};
  static const Type& type();
};

struct PersistentVolumeClaimVolume {
  std::string claimName{};
  bool readOnly = false;
  static const Type& type();
};

struct VolumeProjection {
  std::optional<SecretVolume> secret{};  // SecretProjection calls its secretName `name`
  std::optional<DownwardAPIVolume> downwardAPI{};
  std::optional<ConfigMapVolume> configMap{};
  RawJson serviceAccountToken{};
  RawJson clusterTrustBundle{};
  RawJson podCertificate{};
  static const Type& type();
};

struct ProjectedVolume {
  std::vector<RawJson> sources{};  // see VolumeProjection; kept raw until a kind needs them
  std::optional<std::int32_t> defaultMode{};
  static const Type& type();
};

struct Volume {
  std::string name{};
  Rare<HostPathVolume> hostPath{};
  Rare<EmptyDirVolume> emptyDir{};
  Rare<SecretVolume> secret{};
  Rare<ConfigMapVolume> configMap{};
  Rare<DownwardAPIVolume> downwardAPI{};
  Rare<PersistentVolumeClaimVolume> persistentVolumeClaim{};
  Rare<ProjectedVolume> projected{};
  RawJson nfs{};
  RawJson csi{};
  RawJson ephemeral{};
  RawJson image{};
  RawJson gcePersistentDisk{};
  RawJson awsElasticBlockStore{};
  RawJson gitRepo{};
  RawJson iscsi{};
  RawJson glusterfs{};
  RawJson rbd{};
  RawJson flexVolume{};
  RawJson cinder{};
  RawJson cephfs{};
  RawJson flocker{};
  RawJson fc{};
  RawJson azureFile{};
  RawJson vsphereVolume{};
  RawJson quobyte{};
  RawJson azureDisk{};
  RawJson photonPersistentDisk{};
  RawJson portworxVolume{};
  RawJson scaleIO{};
  RawJson storageos{};
  Extra extra{};
  static const Type& type();
};

struct Toleration {
  std::string key{};
  std::string operator_{};
  std::string value{};
  std::string effect{};
  std::optional<std::int64_t> tolerationSeconds{};
  static const Type& type();
};

struct HostAlias {
  std::string ip{};
  std::vector<std::string> hostnames{};
  static const Type& type();
};

struct PodDNSConfigOption {
  std::string name{};
  std::optional<std::string> value{};
  static const Type& type();
};

struct PodDNSConfig {
  std::vector<std::string> nameservers{};
  std::vector<std::string> searches{};
  std::vector<PodDNSConfigOption> options{};
  static const Type& type();
};

struct NamedItem {  // LocalObjectReference, PodSchedulingGate
  std::string name{};
  static const Type& type();
};

struct PodReadinessGate {
  std::string conditionType{};
  static const Type& type();
};

struct LabelSelectorRequirement {
  std::string key{};
  std::string operator_{};
  std::vector<std::string> values{};
  static const Type& type();
};

// metav1.LabelSelector
struct LabelSelector {
  StringMap matchLabels{};
  std::vector<LabelSelectorRequirement> matchExpressions{};
  static const Type& type();
};

struct NodeSelectorTerm {
  std::vector<LabelSelectorRequirement> matchExpressions{};
  std::vector<LabelSelectorRequirement> matchFields{};
  static const Type& type();
};

struct NodeSelector {
  std::vector<NodeSelectorTerm> nodeSelectorTerms{};
  static const Type& type();
};

struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference{};
  static const Type& type();
};

struct NodeAffinity {
  std::optional<NodeSelector> requiredDuringSchedulingIgnoredDuringExecution{};
  std::vector<PreferredSchedulingTerm> preferredDuringSchedulingIgnoredDuringExecution{};
  static const Type& type();
};

struct PodAffinityTerm {
  std::optional<LabelSelector> labelSelector{};
  std::vector<std::string> namespaces{};
  std::string topologyKey{};
  std::optional<LabelSelector> namespaceSelector{};
  std::vector<std::string> matchLabelKeys{};
  std::vector<std::string> mismatchLabelKeys{};
  static const Type& type();
};

struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm podAffinityTerm{};
  static const Type& type();
};

struct PodAffinity {  // PodAntiAffinity has the same shape
  std::vector<PodAffinityTerm> requiredDuringSchedulingIgnoredDuringExecution{};
  std::vector<WeightedPodAffinityTerm> preferredDuringSchedulingIgnoredDuringExecution{};
  static const Type& type();
};

struct Affinity {
  std::optional<NodeAffinity> nodeAffinity{};
  std::optional<PodAffinity> podAffinity{};
  std::optional<PodAffinity> podAntiAffinity{};
  static const Type& type();
};

struct TopologySpreadConstraint {
  std::int32_t maxSkew = 0;
  std::string topologyKey{};
  std::string whenUnsatisfiable{};
  std::optional<LabelSelector> labelSelector{};
  std::optional<std::int32_t> minDomains{};
  std::optional<std::string> nodeAffinityPolicy{};
  std::optional<std::string> nodeTaintsPolicy{};
  std::vector<std::string> matchLabelKeys{};
  static const Type& type();
};

// What few pods set takes the room of a pointer, and what a pod gets from its template alone lies
// apart: each pod has two of these, as it was created and as it was bound.
struct PodSpec {
  // The same for all pods of a template: they share it.
  struct Rest {
    RawJson ephemeralContainers{};
    std::string dnsPolicy{};
    std::string serviceAccountName{};
    std::string serviceAccount{};
    std::optional<bool> automountServiceAccountToken{};
    bool hostPID = false;
    bool hostIPC = false;
    std::optional<bool> shareProcessNamespace{};
    RawJson securityContext{};
    Cow<std::vector<NamedItem>> imagePullSecrets{};
    std::string hostname{};
    std::string subdomain{};
    std::string schedulerName{};
    Cow<std::vector<HostAlias>> hostAliases{};
    std::string priorityClassName{};
    Rare<PodDNSConfig> dnsConfig{};
    Cow<std::vector<PodReadinessGate>> readinessGates{};
    Rare<std::string> runtimeClassName{};
    std::optional<bool> setHostnameAsFQDN{};
    RawJson os{};
    std::optional<bool> hostUsers{};
    RawJson resourceClaims{};
    Rare<std::string> hostnameOverride{};
    RawJson workloadRef{};
    RawJson schedulingGroup{};
    Extra extra{};
  };

  Cow<std::vector<Volume>> volumes{};
  Cow<std::vector<Container>> initContainers{};
  Cow<std::vector<Container>> containers{};
  std::string restartPolicy{};
  std::optional<std::int64_t> terminationGracePeriodSeconds{};
  std::optional<std::int64_t> activeDeadlineSeconds{};
  Cow<StringMap> nodeSelector{};
  std::string nodeName{};
  bool hostNetwork = false;
  Rare<Affinity> affinity{};
  Cow<std::vector<Toleration>> tolerations{};
  std::optional<std::int32_t> priority{};
  std::optional<bool> enableServiceLinks{};
  std::optional<std::string> preemptionPolicy{};
  Cow<ResourceList> overhead{};
  Cow<std::vector<TopologySpreadConstraint>> topologySpreadConstraints{};
  Cow<std::vector<NamedItem>> schedulingGates{};
  Rare<ResourceRequirements> resources{};
  Cow<Rest> rest{};
  static const Type& type();

  const Container* container(std::string_view name) const;
};

struct PodTemplateSpec {
  ObjectMeta metadata{};
  Cow<PodSpec> spec{};
  Extra extra{};
  static const Type& type();
};

}  // namespace ddptwin
