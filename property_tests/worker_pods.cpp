#include "worker_pods.hpp"

#include "property.hpp"

namespace ddptwin::property {

const model::TorchProfile* any_torch() {
  return *gen::element(std::string("1.13"), std::string("2.x")).as("PyTorch") == "2.x"
             ? &model::torch_2
             : &model::torch_1;
}

std::uint64_t any_worker_seed() { return *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed"); }

std::string pod_of(int rank) { return "pod-" + std::to_string(rank); }

bool says(const model::TestPods& pods, int rank, const std::string& what) {
  return pods.line(pod_of(rank), what) != nullptr;
}

}  // namespace ddptwin::property
