// What PyTorch says of an NCCL group in which something goes wrong, word for word and per version;
// as messages.hpp. Log lines are without the date, the thread and the line of the file that stand
// in their brackets: those change with every build. Source: spec/gpu.md §5; PyTorch's
// ProcessGroupNCCL.cpp and NCCLUtils.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/training.hpp"

namespace ddptwin::model {

// init_process_group.
Error nccl_not_built();
Error no_gpus(const NcclProfile& nccl);

// The first collective.
Error unique_id_missing(const TorchProfile& torch, int rank, Duration timeout);
Error unique_id_lost(const TorchProfile& torch, int rank);  // the store's process has ended
Error root_refuses(const NcclProfile& nccl);
Error peer_gone_at_start(const NcclProfile& nccl);
Error duplicate_gpu(const NcclProfile& nccl, int one, int other, std::string_view bus);

// A collective that failed, as the watchdog has seen it.
struct FailedWork {
  int rank = 0;
  std::uint64_t elements = 0;
  Duration timeout{};
  Loss loss{};
};
using Lines = std::vector<std::string>;
Lines watchdog_caught(const NcclProfile& nccl, const FailedWork& work);
Lines dump_signal(const FailedWork& work);
Lines takes_down(const NcclProfile& nccl, const FailedWork& work);
// With a blocking wait that raises.
Error blocking_wait_over(const FailedWork& work, const NcclProfile& nccl);
// In a rank that has lost nothing itself: `from` dumps.
Lines dump_signal_of(int rank, int from, std::int64_t collectives);

std::string not_destroyed(int rank);

}  // namespace ddptwin::model
