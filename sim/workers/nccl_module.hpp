// NCCL lives in a module of its own, loaded when --backend nccl asks for it: libtorch_cuda drags in
// gigabytes that a Gloo rank must not pay for when it starts.
#pragma once

namespace ddptwin::workers {

inline constexpr const char* nccl_module_file = "ddptwin-worker-nccl.so";  // beside the program
inline constexpr const char* nccl_module_function = "ddptwin_make_nccl";

// The one function of the module. The arguments are what torch_group.cpp has: const
// c10::intrusive_ptr< c10d::Store>*, and c10::intrusive_ptr<c10d::Backend>* to be filled. May throw
// what c10d throws.
using MakeNccl = void (*)(const void* store, int rank, int world_size, int device, long timeout_ms,
                          void* backend);

}  // namespace ddptwin::workers
