#include "controller/training_operator/environment.hpp"

#include "controller/training_operator/names.hpp"
#include "core/numbers.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr std::string_view rank_name = "RANK", node_rank_name = "PET_NODE_RANK";
constexpr std::string_view nil_dereference =
    "runtime error: invalid memory address or nil pointer dereference";

using Variables = std::vector<InjectedVariable>;

Result<std::int32_t> port_of(const PyTorchJob& job, std::string_view type) {
  const ReplicaSpec* spec = replica_spec(job, type);
  if (spec == nullptr) return fail(Reason::internal_error, std::string(nil_dereference));
  const auto port = job_port(*spec);
  if (!port) return fail(Reason::unknown, "port not found");
  return *port;
}

Status add_master(Variables& out, const PyTorchJob& job, int rank) {
  TRY(const std::int32_t port_number, port_of(job, master_type));
  const std::string port = std::to_string(port_number);
  const std::string address = replica_name(job.metadata.name, master_type, 0);
  out.push_back({"MASTER_PORT", port});
  out.push_back({"PET_MASTER_PORT", port});
  out.push_back({"MASTER_ADDR", address});
  out.push_back({"PET_MASTER_ADDR", address});
  out.push_back({"WORLD_SIZE", std::to_string(world_size(job))});
  out.push_back({rank_name, std::to_string(rank)});
  return {};
}

int rank_of(std::string_view type, int index) { return type == master_type ? index : index + 1; }

std::string joined(const std::vector<RDZVConf>& conf) {
  std::string text;
  for (const RDZVConf& entry : conf)
    text += (text.empty() ? "" : ",") + entry.key + "=" + entry.value;
  return text;
}

Status add_elastic_node_count(Variables& out, const PyTorchJob& job) {
  const ElasticPolicy& elastic = *job.spec->elasticPolicy;
  std::string value;
  if (elastic.minReplicas && elastic.maxReplicas) {
    value = std::to_string(*elastic.minReplicas) + ":" + std::to_string(*elastic.maxReplicas);
  } else {
    const ReplicaSpec* worker = replica_spec(job, worker_type);
    if (worker == nullptr) return fail(Reason::unknown, "cannot find the worker spec");
    value = std::to_string(worker->replicas.value_or(1));
  }
  out.push_back({"PET_NNODES", std::move(value)});
  return {};
}

}  // namespace

std::int64_t processes_per_node(const PyTorchJobSpec& spec) {
  return spec.nprocPerNode ? go_integer<std::int64_t>(*spec.nprocPerNode).value_or(1) : 1;
}

std::int64_t world_size(const PyTorchJob& job) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(total_replicas(job)) *
                                   static_cast<std::uint64_t>(processes_per_node(*job.spec)));
}

Result<Variables> elastic_environment(const PyTorchJob& job) {
  Variables out;
  if (!job.spec->elasticPolicy) return out;
  const ElasticPolicy& elastic = *job.spec->elasticPolicy;
  std::int32_t port = elastic.rdzvPort.value_or(0);
  if (!elastic.rdzvPort) {
    TRY(port, port_of(job, worker_type));
  }
  const std::string host =
      elastic.rdzvHost.value_or(replica_name(job.metadata.name, worker_type, 0));
  out.push_back({"PET_RDZV_ENDPOINT", host + ":" + std::to_string(port)});
  out.push_back({"PET_RDZV_BACKEND", elastic.rdzvBackend.value_or("c10d")});
  TRY_VOID(add_elastic_node_count(out, job));
  if (elastic.maxRestarts)
    out.push_back({"PET_MAX_RESTARTS", std::to_string(*elastic.maxRestarts)});
  if (elastic.nProcPerNode)
    out.push_back({"PET_NPROC_PER_NODE", std::to_string(*elastic.nProcPerNode)});
  if (elastic.rdzvId) out.push_back({"PET_RDZV_ID", *elastic.rdzvId});
  if (elastic.rdzvConf) {
    if (elastic.rdzvConf->empty())
      return fail(Reason::internal_error, "runtime error: slice bounds out of range [:-1]");
    out.push_back({"PET_RDZV_CONF", joined(*elastic.rdzvConf)});
  }
  if (elastic.standalone.value_or(false)) out.push_back({"PET_STANDALONE", ""});
  return out;
}

Result<Variables> environment(const PyTorchJob& job, std::string_view type, int index,
                              const Profile& profile) {
  Variables out;
  out.reserve(10);
  out.push_back({"PYTHONUNBUFFERED", "1"});
  const bool master = has_master(job);
  const auto& nproc = job.spec->nprocPerNode;
  const int rank = rank_of(type, index);
  if (master) {
    TRY_VOID(add_master(out, job, rank));
    if (!profile.nproc_without_master) {
      if (!nproc) return fail(Reason::internal_error, std::string(nil_dereference));
      out.push_back({"PET_NPROC_PER_NODE", *nproc});
    }
    out.push_back({node_rank_name, std::to_string(rank)});
  }
  if (profile.nproc_without_master && nproc) out.push_back({"PET_NPROC_PER_NODE", *nproc});
  if (!job.spec->elasticPolicy) {
    out.push_back({"PET_NNODES", std::to_string(total_replicas(job))});
    return out;
  }
  TRY(const Variables elastic, elastic_environment(job));
  out.insert(out.end(), elastic.begin(), elastic.end());
  return out;
}

void set_rank(Variables& variables, std::string_view type, int index) {
  for (InjectedVariable& variable : variables)
    if (variable.name == rank_name || variable.name == node_rank_name)
      variable.value = std::to_string(rank_of(type, index));
}

}  // namespace ddptwin::controller::pytorchjob
