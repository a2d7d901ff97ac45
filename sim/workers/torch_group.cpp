#include "torch_group.hpp"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // without it ProcessGroupGloo.hpp is empty
#endif
#include <ATen/ATen.h>
#include <torch/version.h>

#include <algorithm>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "error.hpp"
#include "rendezvous.hpp"
#if TORCH_VERSION_MAJOR < 2
#include <torch/csrc/distributed/c10d/exception.h>
#endif
#ifdef DDPTWIN_NCCL
#include <dlfcn.h>

#include <filesystem>

#include "nccl_module.hpp"
#endif

namespace ddptwin::workers {
namespace {

#if TORCH_VERSION_MAJOR >= 2
using ProcessGroup = c10d::Backend;
#else
using ProcessGroup = c10d::ProcessGroup;
#endif
using Store = c10::intrusive_ptr<c10d::Store>;

// Runs `call`; what c10d or Gloo throw in it leaves as Failure, named as Python's binding names it.
template <class Failure, class Call>
auto as_python(Call call) {
  try {
    return call();
#if TORCH_VERSION_MAJOR >= 2
  } catch (const c10::DistNetworkError& error) {
    throw Failure("torch.distributed.DistNetworkError", error.what_without_backtrace());
  } catch (const c10::DistStoreError& error) {
    throw Failure("torch.distributed.DistStoreError", error.what_without_backtrace());
  } catch (const c10::DistBackendError& error) {
    throw Failure("torch.distributed.DistBackendError", error.what_without_backtrace());
  } catch (const c10::DistError& error) {
    throw Failure("torch.distributed.DistError", error.what_without_backtrace());
#else
  } catch (const c10d::TimeoutError& error) {
    throw Failure("TimeoutError", error.what());
#endif
  } catch (const c10::Error& error) {
    throw Failure("RuntimeError", error.what_without_backtrace());
  } catch (const PythonError&) {
    throw;
  } catch (const std::exception& error) {
    throw Failure("RuntimeError", error.what());
  }
}

std::chrono::milliseconds milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

Store with_prefix(const std::string& prefix, const Store& store) {
  return c10::make_intrusive<c10d::PrefixStore>(prefix, store);
}

Store make_store(const Options& options, const RankEnvironment& environment) {
#if TORCH_VERSION_MAJOR < 2
  refuse_agent_of_2(environment);
#endif
  c10d::TCPStoreOptions wanted;
  wanted.port = static_cast<std::uint16_t>(environment.master_port);
  wanted.isServer = environment.hosts_store();
  wanted.numWorkers = static_cast<std::size_t>(std::max(environment.world_size, 0));
  wanted.timeout = milliseconds(options.timeout);
  wanted.multiTenant = true;
  await_master(environment, options.eager_connect);
  Store store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, wanted);
#if TORCH_VERSION_MAJOR < 2  // 2.x has no prefix for attempts (§9.5)
  if (environment.uses_agent_store) {
    store = with_prefix("/worker/attempt_" + environment.attempt, store);
  }
#endif
  return with_prefix("default_pg", store);
}

// All ranks have come: 1.13 meets at a counter in the store, 2.x does not (§9.2).
void meet(const Store& store, const RankEnvironment& environment, Duration timeout) {
#if TORCH_VERSION_MAJOR < 2
  constexpr const char* key = "store_based_barrier_key:1";
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::int64_t count = store->add(key, 1);
  while (count < environment.world_size) {
    if (std::chrono::steady_clock::now() > end) {
      throw PythonError("RuntimeError",
                        "Timed out initializing process group in store based barrier on rank: " +
                            std::to_string(environment.rank) + ", for key: " + key +
                            " (world_size=" + std::to_string(environment.world_size) +
                            ", worker_count=" + std::to_string(count) + ")");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    count = store->add(key, 0);
  }
#else
  static_cast<void>(store), static_cast<void>(environment), static_cast<void>(timeout);
#endif
}

c10::intrusive_ptr<ProcessGroup> make_gloo(const Store& store, const Options& options,
                                           const RankEnvironment& environment) {
  auto wanted = c10d::ProcessGroupGloo::Options::create(milliseconds(options.timeout));
  for (const std::string& name : environment.gloo_devices) {
    wanted->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(name));
  }
  if (wanted->devices.empty()) {
    wanted->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  wanted->threads = static_cast<int>(wanted->devices.size()) * 2;
#if TORCH_VERSION_MAJOR >= 2
  const Store mesh = with_prefix("cpu/", with_prefix("0/", store));
#else
  const Store mesh = with_prefix("0", store);
#endif
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(mesh, environment.rank,
                                                           environment.world_size, wanted);
  meet(store, environment, options.timeout);
#if TORCH_VERSION_MAJOR < 2
  group->setSequenceNumberForGroup();
#endif
  return group;
}

#ifdef DDPTWIN_NCCL
MakeNccl load_nccl_module() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string file = (self.parent_path() / nccl_module_file).string();
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr)  // in a pod its own folder is out of sight
    module = ::dlopen((std::string("/usr/local/bin/") + nccl_module_file).c_str(),
                      RTLD_NOW | RTLD_GLOBAL);
  void* function = module == nullptr ? nullptr : ::dlsym(module, nccl_module_function);
  if (function == nullptr) throw PythonError("RuntimeError", ::dlerror());
  return reinterpret_cast<MakeNccl>(function);
}

c10::intrusive_ptr<ProcessGroup> make_nccl(const Options& options,
                                           const RankEnvironment& environment) {
  const MakeNccl make =
      load_nccl_module();  // first: without it, and a GPU, nobody need be waited for
  const Store store = with_prefix("cuda/", with_prefix("0/", make_store(options, environment)));
  c10::intrusive_ptr<ProcessGroup> group;
  make(&store, environment.rank, environment.world_size, environment.local_rank,
       static_cast<long>(milliseconds(options.timeout).count()), &group);
  return group;
}
#endif

// Text as Python's `init_process_group("nccl")` of a build without it (§9.6).
c10::intrusive_ptr<ProcessGroup> make_group(const Options& options,
                                            const RankEnvironment& environment) {
  if (options.backend == Backend::nccl) {
#ifdef DDPTWIN_NCCL
    return make_nccl(options, environment);
#else
    throw PythonError("RuntimeError", "Distributed package doesn't have NCCL built in");
#endif
  }
  const Store store = make_store(options, environment);
  return make_gloo(store, options, environment);
}

class TorchGroup final : public Group {
 public:
  TorchGroup(c10::intrusive_ptr<ProcessGroup> group, const Options& options, int local_rank)
      : group_(std::move(group)),
        device_(options.backend == Backend::nccl
                    ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank))
                    : at::Device(at::kCPU)) {}

  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }

  void all_reduce(const std::vector<std::span<float>>& buffers) override {
    as_python<CollectiveError>([&] {
      std::vector<std::vector<at::Tensor>> tensors;
      std::vector<c10::intrusive_ptr<c10d::Work>> works;
      for (const std::span<float> buffer : buffers) {
        tensors.push_back({host(buffer.data(), buffer.size(), at::kFloat).to(device_)});
        works.push_back(group_->allreduce(tensors.back()));
      }
      for (std::size_t i = 0; i < works.size(); ++i) {
        works[i]->wait();
        copy_back(tensors[i][0], host(buffers[i].data(), buffers[i].size(), at::kFloat));
      }
    });
  }

  void broadcast(std::span<std::byte> bytes) override {
    as_python<CollectiveError>([&] {
      const at::Tensor mine = host(bytes.data(), bytes.size(), at::kByte);
      std::vector<at::Tensor> tensors{mine.to(device_)};
      group_->broadcast(tensors)->wait();
      copy_back(tensors[0], mine);
    });
  }

  std::vector<std::byte> all_gather(std::span<const std::byte> bytes) override {
    std::vector<std::byte> mine(bytes.begin(), bytes.end());
    std::vector<std::byte> all(bytes.size() * static_cast<std::size_t>(size()));
    as_python<CollectiveError>([&] {
      std::vector<at::Tensor> input{host(mine.data(), mine.size(), at::kByte).to(device_)};
      std::vector<std::vector<at::Tensor>> outputs(1);
      for (int i = 0; i < size(); ++i) outputs[0].push_back(at::empty_like(input[0]));
      group_->allgather(outputs, input)->wait();
      at::Tensor flat = host(all.data(), all.size(), at::kByte);
      flat.copy_(at::cat(outputs[0]));
    });
    return all;
  }

 private:
  static at::Tensor host(void* data, std::size_t count, at::ScalarType type) {
    return at::from_blob(data, {static_cast<std::int64_t>(count)}, at::TensorOptions(type));
  }

  // On the CPU `.to()` gave the same memory and nothing is to be done.
  static void copy_back(const at::Tensor& from, const at::Tensor& to) {
    if (!from.is_same(to) && from.data_ptr() != to.data_ptr()) to.copy_(from);
  }

  c10::intrusive_ptr<ProcessGroup> group_;
  at::Device device_;
};

}  // namespace

std::unique_ptr<Group> join_torch_group(const Options& options,
                                        const RankEnvironment& environment) {
  return as_python<PythonError>([&] {
    return std::make_unique<TorchGroup>(make_group(options, environment), options,
                                        environment.local_rank);
  });
}

}  // namespace ddptwin::workers
