#include "cluster/kubelet/volumes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "cluster/kubelet/env.hpp"
#include "cluster/pods/resources.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::int32_t default_mode = 0644;

using Files = std::map<std::string, VolumeFile>;

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::uint32_t mode_of(const std::optional<std::int32_t>& own, std::int32_t otherwise) {
  return static_cast<std::uint32_t>(own.value_or(otherwise));
}

// Keys to files: all of them under their own names, or those that `items` names.
Status add_keys(Files& files, const std::map<std::string, std::string>& keys,
                const std::vector<KeyToPath>& items, std::int32_t mode, bool optional,
                std::string_view missing) {
  if (items.empty())
    for (const auto& [key, content] : keys)
      files[key] = {content, static_cast<std::uint32_t>(mode)};
  for (const KeyToPath& item : items) {
    const auto found = keys.find(item.key);
    if (found != keys.end())
      files[item.path] = {found->second, mode_of(item.mode, mode)};
    else if (!optional)
      return fail(Reason::not_found, fmt::format("{}: {}", missing, item.key));
  }
  return {};
}

Status add_config_map(const PodContext& context, Files& files, const ConfigMapVolume& from,
                      std::int32_t mode) {
  const bool optional = from.optional.value_or(false);
  const auto found = context.find_config_map(from.name);
  if (!found) {
    if (optional) return {};
    return fail(Reason::not_found, fmt::format("configmap \"{}\" not found", from.name));
  }
  std::map<std::string, std::string> keys{found->data->begin(), found->data->end()};
  for (const auto& [key, bytes] : found->binaryData) keys[key] = text_of(bytes);
  return add_keys(files, keys, from.items, mode, optional,
                  "configmap references non-existent config key");
}

Status add_secret(const PodContext& context, Files& files, const std::string& name,
                  const std::vector<KeyToPath>& items, bool optional, std::int32_t mode) {
  const auto found = context.find_secret(name);
  if (!found) {
    if (optional) return {};
    return fail(Reason::not_found, fmt::format("secret \"{}\" not found", name));
  }
  std::map<std::string, std::string> keys;
  for (const auto& [key, bytes] : found->data) keys[key] = text_of(bytes);
  return add_keys(files, keys, items, mode, optional, "references non-existent secret key");
}

Status add_downward(const PodContext& context, Files& files,
                    const std::vector<DownwardAPIFile>& items, std::int32_t mode) {
  for (const DownwardAPIFile& item : items) {
    std::string content;
    if (item.fieldRef) {
      TRY(content, field_value(context, item.fieldRef->fieldPath));
    } else if (item.resourceFieldRef) {
      TRY(content, resource_value(context, *item.resourceFieldRef, nullptr));
    }
    files[item.path] = {std::move(content), mode_of(item.mode, mode)};
  }
  return {};
}

// ---- projected: one part of it each, out of its JSON

Status project_config_map(const PodContext& context, Files& files, const Json& json,
                          std::int32_t mode) {
  TRY(const auto from, from_json<ConfigMapVolume>(json));
  return add_config_map(context, files, from, mode);
}

Status project_secret(const PodContext& context, Files& files, const Json& json,
                      std::int32_t mode) {
  // SecretProjection has the fields of a ConfigMap's, and not those of a Secret volume.
  TRY(const auto from, from_json<ConfigMapVolume>(json));
  return add_secret(context, files, from.name, from.items, from.optional.value_or(false), mode);
}

Status project_downward(const PodContext& context, Files& files, const Json& json,
                        std::int32_t mode) {
  TRY(const auto from, from_json<DownwardAPIVolume>(json));
  return add_downward(context, files, from.items, mode);
}

Status project_token(const PodContext& context, Files& files, const Json& json, std::int32_t mode) {
  const auto* from = json.if_object();
  if (from == nullptr) return fail(Reason::bad_request, "serviceAccountToken is not an object");
  const Json* seconds = from->if_contains("expirationSeconds");
  std::string token;
  if (context.service_account_token)
    token = context.service_account_token(
        text_member(*from, "audience"),
        seconds != nullptr && seconds->is_int64() ? seconds->get_int64() : 3600);
  files[text_member(*from, "path")] = {std::move(token), static_cast<std::uint32_t>(mode)};
  return {};
}

struct Projection {
  std::string_view name;
  Status (*add)(const PodContext&, Files&, const Json&, std::int32_t mode);
};
constexpr std::array projections{
    Projection{"configMap", project_config_map},
    Projection{"secret", project_secret},
    Projection{"downwardAPI", project_downward},
    Projection{"serviceAccountToken", project_token},
};

Status add_projection(const PodContext& context, Files& files, const Json& source,
                      std::int32_t mode) {
  const auto* object = source.if_object();
  for (const Projection& projection : projections)
    if (const Json* part = object != nullptr ? object->if_contains(projection.name) : nullptr)
      return projection.add(context, files, *part, mode);
  return fail(Reason::bad_input, "this twin has no such projection");
}

// Go's aggregate: one error as it is, several as a list.
std::string aggregate(const std::vector<std::string>& errors) {
  return errors.size() == 1 ? errors.front() : fmt::format("[{}]", fmt::join(errors, ", "));
}

// ---- one function a kind of volume

using Source = Result<VolumeSource>;

VolumeSource of_files(Files files) {
  VolumeSource out;
  out.files = std::move(files);
  return out;
}

Source config_map_volume(const PodContext& context, const Volume& volume) {
  Files files;
  TRY_VOID(add_config_map(context, files, *volume.configMap,
                          volume.configMap->defaultMode.value_or(default_mode)));
  return of_files(std::move(files));
}

Source secret_volume(const PodContext& context, const Volume& volume) {
  const SecretVolume& from = *volume.secret;
  Files files;
  TRY_VOID(add_secret(context, files, from.secretName, from.items, from.optional.value_or(false),
                      from.defaultMode.value_or(default_mode)));
  return of_files(std::move(files));
}

Source downward_volume(const PodContext& context, const Volume& volume) {
  Files files;
  TRY_VOID(add_downward(context, files, volume.downwardAPI->items,
                        volume.downwardAPI->defaultMode.value_or(default_mode)));
  return of_files(std::move(files));
}

Source projected_volume(const PodContext& context, const Volume& volume) {
  const std::int32_t mode = volume.projected->defaultMode.value_or(default_mode);
  Files files;
  std::vector<std::string> errors;
  for (const RawJson& source : volume.projected->sources)
    if (const Status added = add_projection(context, files, *source.get(), mode); !added)
      errors.push_back(added.error().message);
  if (!errors.empty()) return fail(Reason::not_found, aggregate(errors));
  return of_files(std::move(files));
}

Source empty_dir_volume(const PodContext& context, const Volume& volume) {
  VolumeSource out;
  const EmptyDirVolume& from = *volume.emptyDir;
  out.kind = from.medium == "Memory" ? VolumeSource::Kind::memory : VolumeSource::Kind::empty_dir;
  if (from.sizeLimit && !from.sizeLimit->zero()) out.size_limit = from.sizeLimit->value();
  if (out.kind == VolumeSource::Kind::empty_dir) return out;
  if (const auto memory = pod_memory_limit(*context.pod->spec))
    out.size_limit = std::min(out.size_limit.value_or(INT64_MAX), *memory);
  return out;
}

// ---- where what pods share lies

std::string export_path(const PodContext& context, const RawJson& nfs) {
  const auto* members = nfs.get() != nullptr ? nfs.get()->if_object() : nullptr;
  return members == nullptr
             ? context.settings->root_dir + "/nfs"
             : fmt::format("{}/nfs/{}{}", context.settings->root_dir,
                           text_member(*members, "server"), text_member(*members, "path"));
}

// What a volume says of the host or of an export; any other is a folder of its own name.
std::string path_of(const PodContext& context, const PersistentVolume& volume) {
  const PersistentVolumeSpec& spec = volume.spec;
  if (spec.hostPath) return spec.hostPath->path;
  if (!spec.nfs.absent()) return export_path(context, spec.nfs);
  const auto* local = spec.local.get() != nullptr ? spec.local.get()->if_object() : nullptr;
  if (local != nullptr) return text_member(*local, "path");
  return fmt::format("{}/volumes/{}", context.settings->root_dir, volume.metadata.name);
}

Result<std::string> claim_path(const PodContext& context, const std::string& name) {
  const NodeSettings& settings = *context.settings;
  const std::string key = fmt::format("{}/{}", context.pod->metadata.namespace_, name);
  if (const auto told = settings.claim_folders.find(key); told != settings.claim_folders.end())
    return told->second;
  if (!settings.binds_claims || !context.find_claim)
    return fmt::format("{}/claims/{}", settings.root_dir, key);
  const ClaimPtr claim = context.find_claim(name);
  if (!claim)
    return fail(Reason::not_found, fmt::format("persistentvolumeclaim \"{}\" not found", name));
  const VolumePtr volume =
      is_fully_bound(*claim) ? context.find_volume(claim->spec.volumeName) : nullptr;
  if (!volume)
    return fail(Reason::not_found, fmt::format("persistentvolumeclaim \"{}\" is not bound", name));
  return path_of(context, *volume);
}

struct HostPathCheck {
  std::string_view type;
  PathKind wanted;
  bool made_when_absent;
  std::string_view complaint;
};
constexpr std::array host_path_checks{
    HostPathCheck{"DirectoryOrCreate", PathKind::directory, true, "is not a directory"},
    HostPathCheck{"Directory", PathKind::directory, false, "is not a directory"},
    HostPathCheck{"FileOrCreate", PathKind::file, true, "is not a file"},
    HostPathCheck{"File", PathKind::file, false, "is not a file"},
    HostPathCheck{"Socket", PathKind::socket, false, "is not a socket file"},
    HostPathCheck{"CharDevice", PathKind::char_device, false, "is not a character device"},
    HostPathCheck{"BlockDevice", PathKind::block_device, false, "is not a block device"},
};

Source host_path_volume(const PodContext& context, const Volume& volume) {
  const HostPathVolume& from = *volume.hostPath;
  VolumeSource out;
  out.kind = VolumeSource::Kind::host_path;
  out.host_path = from.path;
  PathKind passed = PathKind::directory;  // which a runtime makes of what is not there
  for (const HostPathCheck& check : host_path_checks) {
    if (check.type != from.type_.value_or("") || !context.path_kind) continue;
    const PathKind there = context.path_kind(from.path);
    if (there != check.wanted && there != PathKind::unseen &&
        !(there == PathKind::absent && check.made_when_absent))
      return fail(Reason::invalid,
                  fmt::format("hostPath type check failed: {} {}", from.path, check.complaint));
    passed = check.wanted;
  }
  if (context.path_passed) context.path_passed(from.path, passed);
  return out;
}

// Of a volume that is a disk of its own. What lies in a folder of a node or in an export is as
// large as what is below it, whatever its capacity says: that is compared with claims only.
std::optional<std::int64_t> disk_size(const PersistentVolume& volume) {
  const PersistentVolumeSpec& spec = volume.spec;
  const auto capacity = spec.capacity.find("storage");
  if (spec.hostPath || !spec.nfs.absent() || !spec.local.absent() ||
      capacity == spec.capacity.end() || capacity->second.zero())
    return std::nullopt;
  return capacity->second.value();
}

// A claim is one directory for all pods that mount it, as long as its volume lasts: it outlives
// them, and is the same on every node that the volume reaches.
Source claim_volume(const PodContext& context, const Volume& volume) {
  VolumeSource out;
  out.kind = VolumeSource::Kind::host_path;
  const std::string& name = volume.persistentVolumeClaim->claimName;
  TRY(out.host_path, claim_path(context, name));
  const ClaimPtr claim = context.find_claim ? context.find_claim(name) : nullptr;
  const VolumePtr bound =
      claim && is_fully_bound(*claim) ? context.find_volume(claim->spec.volumeName) : nullptr;
  if (bound) out.size_limit = disk_size(*bound);
  return out;
}

// An export is one directory for all pods that mount it, as long as the cluster lasts.
Source shared_directory(const PodContext& context, const Volume& volume) {
  VolumeSource out;
  out.kind = VolumeSource::Kind::host_path;
  out.host_path = volume_path(context, volume);
  return out;
}

Source ephemeral_volume(const PodContext&, const Volume&) {
  VolumeSource out;
  out.kind = VolumeSource::Kind::empty_dir;
  return out;
}

// ---- where they lie

std::string plugin_path(const PodContext& context, const Volume& volume, std::string_view plugin) {
  return fmt::format("{}/pods/{}/volumes/kubernetes.io~{}/{}", context.settings->root_dir,
                     context.pod->metadata.uid.view(), plugin, volume.name);
}

std::string shared_path(const PodContext& context, const Volume& volume) {
  if (volume.persistentVolumeClaim)
    return claim_path(context, volume.persistentVolumeClaim->claimName).value_or(std::string());
  return export_path(context, volume.nfs);
}

bool always(const Volume&) { return true; }
bool never(const Volume&) { return false; }
bool shared_read_only(const Volume& volume) {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim->readOnly;
  const auto* nfs = volume.nfs.get()->if_object();
  const Json* flag = nfs != nullptr ? nfs->if_contains("readOnly") : nullptr;
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

struct KindRow {
  bool (*is)(const Volume&);
  Source (*source)(const PodContext&, const Volume&);
  std::string_view plugin;  // empty: shared_path
  bool (*read_only)(const Volume&);
};
constexpr std::array kind_rows{
    KindRow{[](const Volume& v) { return v.configMap.has_value(); }, config_map_volume, "configmap",
            always},
    KindRow{[](const Volume& v) { return v.secret.has_value(); }, secret_volume, "secret", always},
    KindRow{[](const Volume& v) { return v.downwardAPI.has_value(); }, downward_volume,
            "downward-api", always},
    KindRow{[](const Volume& v) { return v.projected.has_value(); }, projected_volume, "projected",
            always},
    KindRow{[](const Volume& v) { return v.emptyDir.has_value(); }, empty_dir_volume, "empty-dir",
            never},
    KindRow{[](const Volume& v) { return v.hostPath.has_value(); }, host_path_volume, "", never},
    KindRow{[](const Volume& v) { return v.persistentVolumeClaim.has_value(); }, claim_volume, "",
            shared_read_only},
    KindRow{[](const Volume& v) { return v.nfs.get() != nullptr; }, shared_directory, "",
            shared_read_only},
    KindRow{[](const Volume& v) { return v.ephemeral.get() != nullptr; }, ephemeral_volume, "csi",
            never},
};

const KindRow* row_of(const Volume& volume) {
  for (const KindRow& row : kind_rows)
    if (row.is(volume)) return &row;
  return nullptr;
}

}  // namespace

bool shows(const Pod& pod, const Object& object) {
  std::string_view space = object.metadata.namespace_, name = object.metadata.name;
  const PersistentVolume* lies_in = as<PersistentVolume>(object);
  if (lies_in != nullptr) {
    if (!lies_in->spec.claimRef) return false;
    space = lies_in->spec.claimRef->namespace_;
    name = lies_in->spec.claimRef->name;
  }
  if (pod.metadata.namespace_ != space) return false;
  const bool of_claims = lies_in != nullptr || as<PersistentVolumeClaim>(object) != nullptr;
  const bool secret = object.kind().kind == "Secret";
  return std::any_of(pod.spec->volumes.begin(), pod.spec->volumes.end(), [&](const Volume& volume) {
    if (of_claims)
      return volume.persistentVolumeClaim && volume.persistentVolumeClaim->claimName == name;
    if (volume.projected) return true;
    return secret ? volume.secret && volume.secret->secretName == name
                  : volume.configMap && volume.configMap->name == name;
  });
}

bool shows_itself(const Pod& pod) {
  return std::any_of(pod.spec->volumes.begin(), pod.spec->volumes.end(),
                     [](const Volume& volume) { return volume.downwardAPI || volume.projected; });
}

std::string volume_path(const PodContext& context, const Volume& volume) {
  if (volume.hostPath) return volume.hostPath->path;
  const KindRow* row = row_of(volume);
  if (row == nullptr) return plugin_path(context, volume, "unknown");
  return row->plugin.empty() ? shared_path(context, volume)
                             : plugin_path(context, volume, row->plugin);
}

bool is_read_only(const Volume& volume) {
  const KindRow* row = row_of(volume);
  return row != nullptr && row->read_only(volume);
}

Result<std::shared_ptr<const VolumeSource>> volume(const PodContext& context,
                                                   const Volume& volume) {
  const KindRow* row = row_of(volume);
  Source source = row != nullptr
                      ? row->source(context, volume)
                      : Source(fail(Reason::bad_input, "this twin has no volumes of this kind"));
  if (!source)
    return fail(source.error().reason,
                fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume.name,
                            source.error().message));
  source->name = volume.name;
  return std::make_shared<const VolumeSource>(std::move(*source));
}

Result<std::vector<std::shared_ptr<const VolumeSource>>> volumes(const PodContext& context) {
  std::vector<std::shared_ptr<const VolumeSource>> out;
  for (const Volume& each : context.pod->spec->volumes) {
    TRY(auto source, volume(context, each));
    out.push_back(std::move(source));
  }
  return out;
}

}  // namespace ddptwin::kubelet
