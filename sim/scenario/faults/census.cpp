#include "scenario/faults/census.hpp"

namespace ddptwin::scenario {

bool is_writer(const FaultRow& row, const Census::Process& process, const Census& census) {
  switch (row.writer) {
    case Writer::none:
      return false;
    case Writer::controller:
      return census.controllers.contains(process.second);
    case Writer::scheduler:
      return process.first == "kube-scheduler";
    case Writer::kubelet:
      return process.first == "kubelet" && census.nodes.contains(process.second);
  }
  return false;
}

}  // namespace ddptwin::scenario
