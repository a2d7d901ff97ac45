// MPI: a key that its pods share, a list of hosts, and how OpenMPI finds both (spec/trainjob.md
// §3.11).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/plugins.hpp"
#include "objects/base64.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

constexpr std::string_view ssh_volume = "mpi-ssh-auth";
constexpr std::string_view hostfile_volume = "mpi-hostfile";
constexpr std::string_view hostfile_folder = "/etc/mpi";
constexpr std::string_view hostfile_key = "hostfile";
constexpr std::string_view private_key = "ssh-privatekey";
constexpr std::string_view public_key = "ssh-publickey";

struct KeyFile {
  std::string_view key, path;
  int mode;
};
constexpr std::array key_files{KeyFile{private_key, "id_rsa", 0640},
                               KeyFile{public_key, "id_rsa.pub", 0644},
                               KeyFile{public_key, "authorized_keys", 0644}};

json::object item_of(const KeyFile& file) {
  return json::object{{"key", file.key}, {"path", file.path}, {"mode", file.mode}};
}

json::object ssh_volume_of(const TrainJob& job) {
  json::array items;
  for (const KeyFile& file : key_files) items.push_back(item_of(file));
  return json::object{
      {"name", ssh_volume},
      {"secret", json::object{{"secretName",
                               fmt::format("{}{}", job.metadata.name.view(), ssh_secret_suffix)},
                              {"defaultMode", 0400},
                              {"items", std::move(items)}}}};
}

json::object hostfile_volume_of(const TrainJob& job) {
  return json::object{
      {"name", hostfile_volume},
      {"configMap",
       json::object{{"name", fmt::format("{}{}", job.metadata.name.view(), hostfile_suffix)},
                    {"items", json::array{item_of({hostfile_key, hostfile_key, 0444})}}}}};
}

json::object mount_of(std::string_view volume, std::string_view path) {
  return json::object{{"name", volume}, {"mountPath", path}};
}

void tell_launcher(PodContainer& container, const MPIPolicy& mpi) {
  upsert_mount(container.mounts, mount_of(hostfile_volume, hostfile_folder));
  const auto put = [&container](std::string_view name, std::string_view value) {
    upsert_variable(container.env, variable(name, value));
  };
  put("OMPI_MCA_orte_default_hostfile", fmt::format("{}/{}", hostfile_folder, hostfile_key));
  put("OMPI_MCA_orte_keep_fqdn_hostnames", "true");
  put("OMPI_MCA_orte_set_default_slots", std::to_string(mpi.numProcPerNode.value_or(1)));
  put("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10");
}

std::vector<std::uint8_t> bytes_of(std::size_t count, Random& random) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& one : bytes) one = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

std::string encoded(std::string_view text) {
  return to_base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Of the length and form of a P-521 key's. Nobody in the twin logs in by it.
json::object keys_of(Random random) {
  constexpr std::size_t private_bytes = 223, public_bytes = 172, line = 64;
  std::string body = to_base64(bytes_of(private_bytes, random));
  std::string pem = "-----BEGIN EC PRIVATE KEY-----\n";
  for (std::size_t at = 0; at < body.size(); at += line) pem += body.substr(at, line) + "\n";
  pem += "-----END EC PRIVATE KEY-----\n";
  const std::string ssh =
      fmt::format("ecdsa-sha2-nistp521 {}\n", to_base64(bytes_of(public_bytes, random)));
  return json::object{{private_key, encoded(pem)}, {public_key, encoded(ssh)}};
}

bool is_host(const PodSet& set, const MPIPolicy& mpi) {
  return set.name == node || (set.name == launcher && mpi.runLauncherAsNode.value_or(false));
}

void count_nodes(Info& info, const TrainJob& job, const MPIPolicy& mpi) {
  PodSet* set = info.named(node);
  if (set == nullptr || !job.spec->trainer || !job.spec->trainer->numNodes) return;
  const std::int32_t nodes = *job.spec->trainer->numNodes;
  // The launcher is one of them.
  set->count = mpi.runLauncherAsNode.value_or(false) ? std::max(nodes - 1, 1) : nodes;
}

void count_slots(Info& info, const TrainJob& job, MPIPolicy& mpi) {
  const auto& trainer = job.spec->trainer;
  if (trainer && trainer->numProcPerNode && !trainer->numProcPerNode->is_text) {
    mpi.numProcPerNode = trainer->numProcPerNode->number;
  } else if (mpi.numProcPerNode.value_or(1) == 1) {
    const std::int64_t gpus = gpus_of(resources_per_node(info, job));
    if (gpus > 1) mpi.numProcPerNode = static_cast<std::int32_t>(gpus);
  }
}

}  // namespace

Status enforce_mpi(Info& info, const TrainJob& job) {
  if (!info.ml || !info.ml->mpi) return {};
  MPIPolicy& mpi = *info.ml->mpi;
  count_nodes(info, job, mpi);
  count_slots(info, job, mpi);
  for (PodSet& set : info.pod_sets) {
    if (set.name != node && set.name != launcher) continue;
    upsert_volume(set.volumes, ssh_volume_of(job));
    if (set.name == launcher) upsert_volume(set.volumes, hostfile_volume_of(job));
    for (PodContainer& container : set.containers) {
      if (container.name != node) continue;
      upsert_mount(container.mounts,
                   mount_of(ssh_volume, mpi.sshAuthMountPath.value_or("/root/.ssh")));
      if (set.name == launcher) tell_launcher(container, mpi);
    }
  }
  return {};
}

void build_mpi(Info& info, const TrainJob& job, const Existing& there, Random random,
               std::vector<Applied>& objects) {
  if (!info.ml || !info.ml->mpi) return;
  const MPIPolicy& mpi = *info.ml->mpi;
  const std::string name = job.metadata.name.str();
  // It never changes.
  if (there.ssh_secret == nullptr) {
    json::object secret =
        new_body(Secret::info(), fmt::format("{}{}", name, ssh_secret_suffix), job);
    secret["type"] = "kubernetes.io/ssh-auth";
    secret["immutable"] = true;
    secret["data"] = keys_of(random);
    objects.push_back({&Secret::info(), std::move(secret), nullptr});
  }
  std::string hosts;
  for (const PodSet& set : info.pod_sets)
    if (is_host(set, mpi))
      for (const std::string& host : set.endpoints)
        hosts += fmt::format("{} slots={}\n", host, mpi.numProcPerNode.value_or(1));
  json::object hostfile =
      new_body(ConfigMap::info(), fmt::format("{}{}", name, hostfile_suffix), job);
  hostfile["data"] = json::object{{hostfile_key, hosts}};
  objects.push_back({&ConfigMap::info(), std::move(hostfile), there.hostfile});
}

}  // namespace ddptwin::controller::trainer
