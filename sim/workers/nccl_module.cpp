#include "nccl_module.hpp"

#define USE_C10D_NCCL
#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

// Built against PyTorch 2.x only: Debian's libtorch has no NCCL.
extern "C" void ddptwin_make_nccl(const void* store, int rank, int world_size, int device,
                                  long timeout_ms, void* backend) {
  // Python's words (spec/ddp-semantics.md §9.6).
  TORCH_CHECK(c10::cuda::device_count() > 0, "nccl2 requires at least one CUDA device");
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::milliseconds(timeout_ms);
  auto& made = *static_cast<c10::intrusive_ptr<c10d::Backend>*>(backend);
  made = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      *static_cast<const c10::intrusive_ptr<c10d::Store>*>(store), rank, world_size, options);
}
