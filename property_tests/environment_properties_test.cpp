// The variables of every replica of every job (spec/pytorchjob.md §2, appendix B 10).
#include <algorithm>
#include <map>
#include <set>

#include "cluster/kubelet/env.hpp"
#include "controller/training_operator/defaults.hpp"
#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/names.hpp"
#include "generators.hpp"
#include "property.hpp"

namespace ddptwin::property::environment_properties_test {
namespace {

namespace pj = controller::pytorchjob;

using Variables = std::vector<pj::InjectedVariable>;

struct Replica {
  std::string type{};
  int index = 0;
  std::map<std::string, std::string> variables{};  // as a container sees them
  Variables injected{};
};

PyTorchJob defaulted_job(const JobShape& shape) {
  PyTorchJob job = *job_of(shape);
  auto spec = pj::defaulted(*job.spec);
  RC_ASSERT(spec.has_value());
  job.spec = std::move(*spec);
  return job;
}

// Upstream's v1.7 reads spec.nprocPerNode of a Master job without looking whether it is there.
bool crashes(const PyTorchJob& job, const pj::Profile& profile) {
  return !profile.nproc_without_master && pj::has_master(job) && !job.spec->nprocPerNode;
}

// A naive reading of what the process gets: each in order, the later over the earlier.
std::map<std::string, std::string> seen_by_process(const Container& container,
                                                   const Variables& injected) {
  std::map<std::string, std::string> out;
  for (const EnvVar& variable : container.env) out[variable.name.str()] = variable.value.str();
  for (const auto& variable : injected) out[std::string(variable.name)] = variable.value;
  return out;
}

std::vector<Replica> replicas_of(const PyTorchJob& job, const pj::Profile& profile) {
  std::vector<Replica> all;
  for (const auto& [type, spec] : *job.spec->pytorchReplicaSpecs) {
    for (int index = 0; index < *spec.replicas; ++index) {
      auto injected = pj::environment(job, type, index, profile);
      RC_ASSERT(injected.has_value());
      const Container& container = spec.template_.spec->containers.front();
      all.push_back({type, index, seen_by_process(container, *injected), std::move(*injected)});
    }
  }
  return all;
}

TEST(EnvironmentProperties, RanksOfAMasterJobAreAPermutation) {
  holds([](JobShape shape, const pj::Profile& profile) {
    shape.master = true;
    const PyTorchJob job = defaulted_job(shape);
    RC_PRE(!crashes(job, profile));
    const std::vector<Replica> replicas = replicas_of(job, profile);
    std::set<std::string> ranks, wanted;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      wanted.insert(std::to_string(i));
      const auto& variables = replicas[i].variables;
      ranks.insert(variables.at("RANK"));
      RC_ASSERT(variables.at("PET_NODE_RANK") == variables.at("RANK"));
      RC_ASSERT((variables.at("RANK") == "0") == (replicas[i].type == pj::master_type));
    }
    RC_ASSERT(ranks == wanted);
  });
}

// Of an elastic job torchrun's agents meet at the first worker (§2.3).
void check_elastic(const JobShape& shape, const std::map<std::string, std::string>& variables) {
  const int all = shape.workers + (shape.master ? 1 : 0);
  if (!shape.elastic) {
    RC_ASSERT(variables.at("PET_NNODES") == std::to_string(all));
    return;
  }
  const int port = shape.rdzv_port != 0 ? shape.rdzv_port : written_or_default(shape.worker_port);
  RC_ASSERT(variables.at("PET_RDZV_ENDPOINT") == "j-worker-0:" + std::to_string(port));
  RC_ASSERT(variables.at("PET_RDZV_BACKEND") == "c10d");
  const std::string least = std::to_string(shape.elastic_bounds ? 1 : shape.workers);
  RC_ASSERT(variables.at("PET_NNODES") == least + ":" + std::to_string(shape.workers));
}

TEST(EnvironmentProperties, AllReplicasAgreeOnTheWorldAndItsMaster) {
  holds([](JobShape shape, const pj::Profile& profile) {
    shape.master = true;
    if (*gen::inRange(0, 8) == 0) shape.nproc = "3000000000";  // 64 bits, as Go's Atoi has
    const PyTorchJob job = defaulted_job(shape);
    RC_PRE(!crashes(job, profile));
    const auto replicas = replicas_of(job, profile);
    const bool counted = !shape.elastic || !shape.elastic_nproc;  // spec.nprocPerNode counts alone
    const std::int64_t processes =
        counted && !shape.nproc.empty() && std::isdigit(shape.nproc[0]) != 0
            ? std::stoll(shape.nproc)
            : 1;
    const std::string world =
        std::to_string(static_cast<std::int64_t>(replicas.size()) * processes);
    const std::string port = std::to_string(written_or_default(shape.port));
    for (const Replica& replica : replicas) {
      RC_ASSERT(replica.variables.at("WORLD_SIZE") == world);
      RC_ASSERT(replica.variables.at("MASTER_ADDR") == "j-master-0");
      RC_ASSERT(replica.variables.at("MASTER_PORT") == port);
      RC_ASSERT(replica.variables.at("PET_MASTER_ADDR") == replica.variables.at("MASTER_ADDR"));
      RC_ASSERT(replica.variables.at("PET_MASTER_PORT") == replica.variables.at("MASTER_PORT"));
      RC_ASSERT(replica.variables.contains("PET_RDZV_ENDPOINT") == shape.elastic);
      check_elastic(shape, replica.variables);
    }
  });
}

TEST(EnvironmentProperties, WithoutAMasterNothingNamesARankOrAMaster) {
  holds([](JobShape shape, const pj::Profile& profile) {
    shape.master = false;
    shape.workers = std::max(1, shape.workers);
    const PyTorchJob job = defaulted_job(shape);
    for (const Replica& replica : replicas_of(job, profile)) {
      for (const auto& variable : replica.injected)
        for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
          RC_ASSERT(variable.name != name);
      RC_ASSERT(replica.variables.at("PYTHONUNBUFFERED") == "1");
      check_elastic(shape, replica.variables);
    }
  });
}

TEST(EnvironmentProperties, OnlyTheKnownCrashOfAnOldVersionIsAnError) {
  holds([](const JobShape& shape, const pj::Profile& profile) {
    const PyTorchJob job = defaulted_job(shape);
    for (const auto& [type, spec] : *job.spec->pytorchReplicaSpecs) {
      const auto injected = pj::environment(job, type, 0, profile);
      RC_ASSERT(injected.has_value() == !crashes(job, profile));
      if (!injected) RC_ASSERT(injected.error().reason == Reason::internal_error);
    }
  });
}

TEST(EnvironmentProperties, InTheContainerLaterDuplicatesWin) {
  holds(
      [](const JobShape& shape, const pj::Profile& profile) {
        const PyTorchJob job = defaulted_job(shape);
        RC_PRE(!crashes(job, profile));
        for (const Replica& replica : replicas_of(job, profile)) {
          auto pod = std::make_shared<Pod>();
          pod->metadata.name = "p";
          pod->metadata.namespace_ = "default";
          PodSpec& spec = pod->spec.edit();
          spec.enableServiceLinks = false;
          Container container =
              job.spec->pytorchReplicaSpecs->at(replica.type).template_.spec->containers.front();
          for (const auto& variable : replica.injected)
            container.env.push_back({.name = std::string(variable.name), .value = variable.value});
          spec.containers.edit().push_back(container);
          const auto variables = kubelet::environment({.pod = pod}, container);
          RC_ASSERT(variables.has_value());
          std::map<std::string, std::string> seen;
          for (const auto& variable : *variables)
            RC_ASSERT(seen.emplace(variable.name, variable.value).second);
          RC_ASSERT(seen == replica.variables);
        }
      },
      4);
}

}  // namespace
}  // namespace ddptwin::property::environment_properties_test
