#include "objects/pod_spec.hpp"

#include "objects/fields.hpp"

namespace ddptwin {

const Type& KeyToPath::type() {
  using S = KeyToPath;
  static const Type t =
      structure<S>("v1.KeyToPath", {F(key, .always = true), F(path, .always = true), F(mode)});
  return t;
}
const Type& NameReference::type() {
  using S = NameReference;
  static const Type t = structure<S>("v1.LocalObjectReference", {F(name), F(optional)});
  return t;
}
const Type& KeySelector::type() {
  using S = KeySelector;
  static const Type t =
      structure<S>("v1.KeySelector", {F(name), F(key, .always = true), F(optional)});
  return t;
}
const Type& ObjectFieldSelector::type() {
  using S = ObjectFieldSelector;
  static const Type t =
      structure<S>("v1.ObjectFieldSelector", {F(apiVersion), F(fieldPath, .always = true)});
  return t;
}
const Type& ResourceFieldSelector::type() {
  using S = ResourceFieldSelector;
  static const Type t = structure<S>("v1.ResourceFieldSelector",
                                     {F(containerName), F(resource, .always = true), F(divisor)});
  return t;
}
const Type& EnvVarSource::type() {
  using S = EnvVarSource;
  static const Type t = structure<S>(
      "v1.EnvVarSource",
      {F(fieldRef), F(resourceFieldRef), F(configMapKeyRef), F(secretKeyRef), F(fileKeyRef)});
  return t;
}
const Type& EnvVar::type() {
  using S = EnvVar;
  static const Type t =
      structure<S>("v1.EnvVar", {F(name, .always = true), F(value), F(valueFrom)});
  return t;
}
const Type& EnvFromSource::type() {
  using S = EnvFromSource;
  static const Type t =
      structure<S>("v1.EnvFromSource", {F(prefix), F(configMapRef), F(secretRef)});
  return t;
}
const Type& ContainerPort::type() {
  using S = ContainerPort;
  static const Type t = structure<S>(
      "v1.ContainerPort",
      {F(name), F(hostPort), F(containerPort, .always = true), F(protocol), F(hostIP)});
  return t;
}
const Type& ResourceRequirements::type() {
  using S = ResourceRequirements;
  static const Type t =
      structure<S>("v1.ResourceRequirements", {F(limits), F(requests), F(claims)});
  return t;
}
const Type& VolumeMount::type() {
  using S = VolumeMount;
  static const Type t =
      structure<S>("v1.VolumeMount",
                   {F(name, .always = true), F(readOnly), F(recursiveReadOnly),
                    F(mountPath, .always = true), F(subPath), F(mountPropagation), F(subPathExpr)});
  return t;
}
const Type& ExecAction::type() {
  using S = ExecAction;
  static const Type t = structure<S>("v1.ExecAction", {F(command)});
  return t;
}
const Type& HttpHeader::type() {
  using S = HttpHeader;
  static const Type t =
      structure<S>("v1.HTTPHeader", {F(name, .always = true), F(value, .always = true)});
  return t;
}
const Type& HttpGetAction::type() {
  using S = HttpGetAction;
  static const Type t = structure<S>(
      "v1.HTTPGetAction", {F(path), F(port, .always = true), F(host), F(scheme), F(httpHeaders)});
  return t;
}
const Type& TcpSocketAction::type() {
  using S = TcpSocketAction;
  static const Type t = structure<S>("v1.TCPSocketAction", {F(port, .always = true), F(host)});
  return t;
}
const Type& GrpcAction::type() {
  using S = GrpcAction;
  static const Type t = structure<S>("v1.GRPCAction", {F(port, .always = true), F(service)});
  return t;
}
const Type& SleepAction::type() {
  using S = SleepAction;
  static const Type t = structure<S>("v1.SleepAction", {F(seconds, .always = true)});
  return t;
}
const Type& Probe::type() {
  using S = Probe;
  static const Type t =
      structure<S>("v1.Probe", {F(exec), F(httpGet), F(tcpSocket), F(grpc), F(initialDelaySeconds),
                                F(timeoutSeconds), F(periodSeconds), F(successThreshold),
                                F(failureThreshold), F(terminationGracePeriodSeconds)});
  return t;
}
const Type& LifecycleHandler::type() {
  using S = LifecycleHandler;
  static const Type t =
      structure<S>("v1.LifecycleHandler", {F(exec), F(httpGet), F(tcpSocket), F(sleep)});
  return t;
}
const Type& Lifecycle::type() {
  using S = Lifecycle;
  static const Type t = structure<S>("v1.Lifecycle", {F(postStart), F(preStop), F(stopSignal)});
  return t;
}
const Type& ExitCodesRule::type() {
  using S = ExitCodesRule;
  static const Type t = structure<S>("v1.ContainerRestartRuleOnExitCodes",
                                     {F(operator_, .always = true), F(values, .set = true)});
  return t;
}
const Type& ContainerRestartRule::type() {
  using S = ContainerRestartRule;
  static const Type t = structure<S>("v1.ContainerRestartRule", {F(action), F(exitCodes)});
  return t;
}
const Type& Container::type() {
  using S = Container;
  static const Type t = structure<S>(
      "v1.Container", {F(name, .always = true),
                       F(image),
                       F(command),
                       F(args),
                       F(workingDir),
                       F(ports, .merge = Merge::merge, .merge_key = "containerPort",
                         .list_keys = "containerPort,protocol"),
                       F(envFrom),
                       F(env, .merge = Merge::merge, .merge_key = "name"),
                       F(resources),
                       F(resizePolicy),
                       F(restartPolicy),
                       F(restartPolicyRules),
                       F(volumeMounts, .merge = Merge::merge, .merge_key = "mountPath"),
                       F(volumeDevices, .merge = Merge::merge, .merge_key = "devicePath"),
                       F(livenessProbe),
                       F(readinessProbe),
                       F(startupProbe),
                       F(lifecycle),
                       F(terminationMessagePath),
                       F(terminationMessagePolicy),
                       F(imagePullPolicy),
                       F(securityContext),
                       F(stdin_),
                       F(stdinOnce),
                       F(tty)});
  return t;
}
const Type& HostPathVolume::type() {
  using S = HostPathVolume;
  static const Type t =
      structure<S>("v1.HostPathVolumeSource", {F(path, .always = true), F(type_)});
  return t;
}
const Type& EmptyDirVolume::type() {
  using S = EmptyDirVolume;
  static const Type t = structure<S>("v1.EmptyDirVolumeSource", {F(medium), F(sizeLimit)});
  return t;
}
const Type& SecretVolume::type() {
  using S = SecretVolume;
  static const Type t =
      structure<S>("v1.SecretVolumeSource", {F(secretName), F(items), F(defaultMode), F(optional)});
  return t;
}
const Type& ConfigMapVolume::type() {
  using S = ConfigMapVolume;
  static const Type t =
      structure<S>("v1.ConfigMapVolumeSource", {F(name), F(items), F(defaultMode), F(optional)});
  return t;
}
const Type& DownwardAPIFile::type() {
  using S = DownwardAPIFile;
  static const Type t =
      structure<S>("v1.DownwardAPIVolumeFile",
                   {F(path, .always = true), F(fieldRef), F(resourceFieldRef), F(mode)});
  return t;
}
const Type& DownwardAPIVolume::type() {
  using S = DownwardAPIVolume;
  static const Type t = structure<S>("v1.DownwardAPIVolumeSource", {F(items), F(defaultMode)});
  return t;
}
const Type& PersistentVolumeClaimVolume::type() {
  using S = PersistentVolumeClaimVolume;
  static const Type t = structure<S>("v1.PersistentVolumeClaimVolumeSource",
                                     {F(claimName, .always = true), F(readOnly)});
  return t;
}
const Type& VolumeProjection::type() {
  using S = VolumeProjection;
  static const Type t = structure<S>(
      "v1.VolumeProjection", {F(secret), F(downwardAPI), F(configMap), F(serviceAccountToken),
                              F(clusterTrustBundle), F(podCertificate)});
  return t;
}
const Type& ProjectedVolume::type() {
  using S = ProjectedVolume;
  static const Type t =
      structure<S>("v1.ProjectedVolumeSource", {F(sources, .always = true), F(defaultMode)});
  return t;
}
const Type& Volume::type() {
  using S = Volume;
  static const Type t = structure<S>("v1.Volume", {F(name, .always = true),
                                                   F(hostPath),
                                                   F(emptyDir),
                                                   F(secret),
                                                   F(configMap),
                                                   F(downwardAPI),
                                                   F(persistentVolumeClaim),
                                                   F(projected),
                                                   F(nfs),
                                                   F(csi),
                                                   F(ephemeral),
                                                   F(image),
                                                   F(gcePersistentDisk),
                                                   F(awsElasticBlockStore),
                                                   F(gitRepo),
                                                   F(iscsi),
                                                   F(glusterfs),
                                                   F(rbd),
                                                   F(flexVolume),
                                                   F(cinder),
                                                   F(cephfs),
                                                   F(flocker),
                                                   F(fc),
                                                   F(azureFile),
                                                   F(vsphereVolume),
                                                   F(quobyte),
                                                   F(azureDisk),
                                                   F(photonPersistentDisk),
                                                   F(portworxVolume),
                                                   F(scaleIO),
                                                   F(storageos)});
  return t;
}
const Type& Toleration::type() {
  using S = Toleration;
  static const Type t = structure<S>(
      "v1.Toleration", {F(key), F(operator_), F(value), F(effect), F(tolerationSeconds)});
  return t;
}
const Type& HostAlias::type() {
  using S = HostAlias;
  static const Type t = structure<S>("v1.HostAlias", {F(ip, .always = true), F(hostnames)});
  return t;
}
const Type& PodDNSConfigOption::type() {
  using S = PodDNSConfigOption;
  static const Type t = structure<S>("v1.PodDNSConfigOption", {F(name), F(value)});
  return t;
}
const Type& PodDNSConfig::type() {
  using S = PodDNSConfig;
  static const Type t = structure<S>("v1.PodDNSConfig", {F(nameservers), F(searches), F(options)});
  return t;
}
const Type& NamedItem::type() {
  using S = NamedItem;
  static const Type t = structure<S>("v1.LocalObjectReference", {F(name)});
  return t;
}
const Type& PodReadinessGate::type() {
  using S = PodReadinessGate;
  static const Type t = structure<S>("v1.PodReadinessGate", {F(conditionType, .always = true)});
  return t;
}
const Type& LabelSelectorRequirement::type() {
  using S = LabelSelectorRequirement;
  static const Type t =
      structure<S>("v1.LabelSelectorRequirement",
                   {F(key, .always = true), F(operator_, .always = true), F(values)});
  return t;
}
const Type& LabelSelector::type() {
  using S = LabelSelector;
  static const Type t = structure<S>("v1.LabelSelector", {F(matchLabels), F(matchExpressions)});
  return t;
}
const Type& NodeSelectorTerm::type() {
  using S = NodeSelectorTerm;
  static const Type t = structure<S>("v1.NodeSelectorTerm", {F(matchExpressions), F(matchFields)});
  return t;
}
const Type& NodeSelector::type() {
  using S = NodeSelector;
  static const Type t = structure<S>("v1.NodeSelector", {F(nodeSelectorTerms, .always = true)});
  return t;
}
const Type& PreferredSchedulingTerm::type() {
  using S = PreferredSchedulingTerm;
  static const Type t = structure<S>("v1.PreferredSchedulingTerm",
                                     {F(weight, .always = true), F(preference, .always = true)});
  return t;
}
const Type& NodeAffinity::type() {
  using S = NodeAffinity;
  static const Type t =
      structure<S>("v1.NodeAffinity", {F(requiredDuringSchedulingIgnoredDuringExecution),
                                       F(preferredDuringSchedulingIgnoredDuringExecution)});
  return t;
}
const Type& PodAffinityTerm::type() {
  using S = PodAffinityTerm;
  static const Type t = structure<S>(
      "v1.PodAffinityTerm", {F(labelSelector), F(namespaces), F(topologyKey, .always = true),
                             F(namespaceSelector), F(matchLabelKeys), F(mismatchLabelKeys)});
  return t;
}
const Type& WeightedPodAffinityTerm::type() {
  using S = WeightedPodAffinityTerm;
  static const Type t =
      structure<S>("v1.WeightedPodAffinityTerm",
                   {F(weight, .always = true), F(podAffinityTerm, .always = true)});
  return t;
}
const Type& PodAffinity::type() {
  using S = PodAffinity;
  static const Type t =
      structure<S>("v1.PodAffinity", {F(requiredDuringSchedulingIgnoredDuringExecution),
                                      F(preferredDuringSchedulingIgnoredDuringExecution)});
  return t;
}
const Type& Affinity::type() {
  using S = Affinity;
  static const Type t =
      structure<S>("v1.Affinity", {F(nodeAffinity), F(podAffinity), F(podAntiAffinity)});
  return t;
}
const Type& TopologySpreadConstraint::type() {
  using S = TopologySpreadConstraint;
  static const Type t =
      structure<S>("v1.TopologySpreadConstraint",
                   {F(maxSkew, .always = true), F(topologyKey, .always = true),
                    F(whenUnsatisfiable, .always = true), F(labelSelector), F(minDomains),
                    F(nodeAffinityPolicy), F(nodeTaintsPolicy), F(matchLabelKeys)});
  return t;
}
const Type& PodSpec::type() {
  using S = PodSpec;
  static const Type t = structure<S>(
      "v1.PodSpec",
      {F(volumes, .merge = Merge::merge_retain_keys, .merge_key = "name"),
       F(initContainers, .merge = Merge::merge, .merge_key = "name"),
       F(containers, .always = true, .required = true, .merge = Merge::merge, .merge_key = "name"),
       PART(rest, ephemeralContainers, .merge = Merge::merge, .merge_key = "name"),
       F(restartPolicy),
       F(terminationGracePeriodSeconds),
       F(activeDeadlineSeconds),
       PART(rest, dnsPolicy),
       F(nodeSelector, .atomic = true),
       PART(rest, serviceAccountName),
       PART(rest, serviceAccount),
       PART(rest, automountServiceAccountToken),
       F(nodeName),
       F(hostNetwork),
       PART(rest, hostPID),
       PART(rest, hostIPC),
       PART(rest, shareProcessNamespace),
       PART(rest, securityContext),
       PART(rest, imagePullSecrets, .merge = Merge::merge, .merge_key = "name"),
       PART(rest, hostname),
       PART(rest, subdomain),
       F(affinity),
       PART(rest, schedulerName),
       F(tolerations),
       PART(rest, hostAliases, .merge = Merge::merge, .merge_key = "ip"),
       PART(rest, priorityClassName),
       F(priority),
       PART(rest, dnsConfig),
       PART(rest, readinessGates),
       PART(rest, runtimeClassName),
       F(enableServiceLinks),
       F(preemptionPolicy),
       F(overhead),
       F(topologySpreadConstraints, .merge = Merge::merge, .merge_key = "topologyKey",
         .list_keys = "topologyKey,whenUnsatisfiable"),
       PART(rest, setHostnameAsFQDN),
       PART(rest, os),
       PART(rest, hostUsers),
       F(schedulingGates, .merge = Merge::merge, .merge_key = "name"),
       PART(rest, resourceClaims, .merge = Merge::merge_retain_keys, .merge_key = "name"),
       F(resources),
       PART(rest, hostnameOverride),
       PART(rest, workloadRef),
       PART(rest, schedulingGroup)});
  return t;
}
const Type& PodTemplateSpec::type() {
  using S = PodTemplateSpec;
  static const Type t = structure<S>("v1.PodTemplateSpec", {F(metadata), F(spec)});
  return t;
}

const Container* PodSpec::container(std::string_view name) const {
  for (const Container& c : containers)
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace ddptwin
