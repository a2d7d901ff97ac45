// The framework's plugins and what each does in which phase (spec/trainjob.md §2.3). Upstream goes
// through them in an order that is random in each process; here it is the table's.
#pragma once

#include <boost/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "controller/trainer/info.hpp"
#include "core/random.hpp"

namespace ddptwin::controller::trainer {

// What is there already of what a TrainJob's plugins make; null: nothing.
struct Existing {
  std::shared_ptr<const JobSet> set{};
  ObjectPtr coscheduling_group{};
  ObjectPtr volcano_group{};
  ObjectPtr ssh_secret{};
  ObjectPtr hostfile{};
  ObjectPtr status_server{};
};

// An object to be applied, and what is there of it.
struct Applied {
  const KindInfo* kind = nullptr;
  boost::json::object body{};
  ObjectPtr there{};
};

struct Plugin {
  std::string_view name;
  // Phases 2 and 3 write in the info. Null: it does nothing in that phase.
  Status (*enforce_ml)(Info& info, const TrainJob& job) = nullptr;
  void (*enforce_pod_group)(Info& info, const TrainJob& job) = nullptr;
  // Phase 6: adds to `objects`.
  void (*build)(Info& info, const TrainJob& job, const Existing& there, Random random,
                std::vector<Applied>& objects) = nullptr;
};
std::span<const Plugin> plugins();

// Phases 2 to 5.
Status run_plugins(Info& info, const TrainJob& job);
// Phase 6, in the order in which the objects are applied.
std::vector<Applied> build(Info info, const TrainJob& job, const Existing& there, Random random);

// What every object of a TrainJob begins with: version, kind, name and owner.
boost::json::object new_body(const KindInfo& kind, std::string name, const TrainJob& job);

// The plugins' own parts.
Status enforce_torch(Info& info, const TrainJob& job);
Status enforce_plain(Info& info, const TrainJob& job);
Status enforce_mpi(Info& info, const TrainJob& job);
Status enforce_jax(Info& info, const TrainJob& job);
Status enforce_xgboost(Info& info, const TrainJob& job);
Status enforce_status_server(Info& info, const TrainJob& job);
void enforce_coscheduling(Info& info, const TrainJob& job);
void enforce_volcano(Info& info, const TrainJob& job);
void build_coscheduling(Info& info, const TrainJob& job, const Existing& there, Random random,
                        std::vector<Applied>& objects);
void build_volcano(Info& info, const TrainJob& job, const Existing& there, Random random,
                   std::vector<Applied>& objects);
void build_mpi(Info& info, const TrainJob& job, const Existing& there, Random random,
               std::vector<Applied>& objects);
void build_status_server(Info& info, const TrainJob& job, const Existing& there, Random random,
                         std::vector<Applied>& objects);
void build_jobset(Info& info, const TrainJob& job, const Existing& there, Random random,
                  std::vector<Applied>& objects);

// trainer.numNodes for the first pod set of the training.
void take_nodes(Info& info, const TrainJob& job);
// trainer.env, where the training has a container. Null: it has none, or the TrainJob no trainer.
PodContainer* container_of_trainer(Info& info, const TrainJob& job);
void take_variables(PodContainer& container, const TrainJob& job);
// Where rank 0 is met: "<job>-node-0-0.<job>", whatever the runtime says of its network.
std::string master_of(const TrainJob& job);
void add_trainer_port(PodContainer& container);

}  // namespace ddptwin::controller::trainer
