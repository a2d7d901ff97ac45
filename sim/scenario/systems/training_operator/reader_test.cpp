// The reader says of a job what the operator does with it, though they share no line.
#include <gtest/gtest.h>

#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/init_container.hpp"
#include "controller/training_operator/names.hpp"
#include "controller/training_operator/rules.hpp"
#include "objects/pytorchjob.hpp"
#include "scenario/systems/training_operator/parts.hpp"

namespace ddptwin::scenario::reader_test {
namespace {

namespace pj = controller::pytorchjob;

struct Shape {
  std::optional<int> masters{}, workers{};  // of no replicas in words: one
  std::string processes{};
  bool elastic = false;
};

PyTorchJob job_of(const Shape& shape) {
  PyTorchJob job;
  ReplicaSpecs& specs = job.spec.edit().pytorchReplicaSpecs.emplace();
  const auto add = [&specs](const char* name, const std::optional<int>& replicas) {
    if (!replicas) return;
    specs[name].restartPolicy = "ExitCode";
    if (*replicas >= 0) specs[name].replicas = *replicas;
  };
  add("Master", shape.masters);
  add("Worker", shape.workers);
  if (!shape.processes.empty()) job.spec.edit().nprocPerNode = shape.processes;
  if (shape.elastic) job.spec.edit().elasticPolicy.emplace().minReplicas = 1;
  return job;
}

TEST(PyTorchJobReader, counts_processes_as_the_operator_does) {
  for (const Shape& shape :
       {Shape{1, 3, "", false}, Shape{1, std::nullopt, "", false}, Shape{-1, -1, "", false},
        Shape{1, 3, "8", false}, Shape{1, 3, "auto", false}, Shape{std::nullopt, 4, "gpu", true},
        Shape{1, 2000000000, "2000000000", false}, Shape{}}) {
    const PyTorchJob job = job_of(shape);
    const Workload told = pytorchjob_reader.read(job);
    EXPECT_EQ(told.world, pj::world_size(job)) << shape.processes;
    int wanted = 0;
    for (const Workload::Group& group : told.groups) wanted += group.wanted;
    EXPECT_EQ(wanted, pj::total_replicas(job));
    EXPECT_EQ(told.tells_rank, pj::has_master(job));
  }
}

TEST(PyTorchJobReader, knows_whose_end_is_the_jobs) {
  const auto decides = [](const Shape& shape) {
    std::string names;
    const PyTorchJob job = job_of(shape);
    for (const Workload::Group& group : pytorchjob_reader.read(job).groups)
      if (group.decides) names += std::string(group.name) + (group.one_is_enough ? "?" : "!");
    return names;
  };
  EXPECT_EQ(decides({1, 2, "", false}), "Master!");
  EXPECT_EQ(decides({1, 2, "", true}), "Master!");
  EXPECT_EQ(decides({std::nullopt, 2, "", false}), "Worker!");
  EXPECT_EQ(decides({std::nullopt, 2, "", true}), "Worker?");
  EXPECT_EQ(decides({}), "");
}

TEST(PyTorchJobReader, names_what_the_operator_names) {
  EXPECT_EQ(pytorchjob_reader.gives_up, pj::rules::invalid_job.name);
  EXPECT_EQ(pytorchjob_reader.group_label, pj::label::replica_type);
  EXPECT_EQ(pytorchjob_reader.index_label, pj::label::replica_index);
  EXPECT_EQ(pytorchjob_reader.main_container, pj::container_name);
  EXPECT_EQ(pytorchjob_reader.waiting_container, pj::init_container_name);
  EXPECT_TRUE(pj::is_retryable(pytorchjob_reader.first_retryable));
  EXPECT_FALSE(pj::is_retryable(pytorchjob_reader.first_retryable - 1));
}

}  // namespace
}  // namespace ddptwin::scenario::reader_test
