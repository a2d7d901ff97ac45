// operator new and delete for the many small objects of a world: strings, map nodes, shared parts.
// An allocation takes a block off a list of its size, a deletion puts it back; nothing is merged or
// returned. It takes a fifth off virtual runs (docs/performance.md); a program has it by linking
// ddptwin_allocation. Sanitizers keep their own.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DDPTWIN_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define DDPTWIN_SANITIZED
#endif
#endif

#ifndef DDPTWIN_SANITIZED

namespace ddptwin {
namespace {

constexpr std::size_t grain = 16, small_max = 1024, chunk_size = std::size_t{1} << 16;
constexpr std::size_t classes = small_max / grain + 1;
// Address space only: pages come when they are touched. More than a machine has memory; where it is
// spent or refused, malloc() serves.
constexpr std::size_t region_size = std::size_t{1} << 37;

struct Block {
  Block* next;
};

// All small blocks lie in one region, in chunks of one size each: the address tells the size.
struct Region {
  std::uintptr_t begin = 0, end = 0;
  std::atomic<std::uintptr_t> next{0};

  Region() {
    void* at = ::mmap(nullptr, region_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    begin = (reinterpret_cast<std::uintptr_t>(at) + chunk_size - 1) & ~(chunk_size - 1);
    end = reinterpret_cast<std::uintptr_t>(at) + region_size - chunk_size;
    next = begin;
  }
};

// Made at the first allocation, which comes before any constructor of ours.
Region& region() {
  static Region made;
  return made;
}

// Set by the first refill, always to the same.
std::atomic<std::uintptr_t> region_begin{0}, region_end{0};
thread_local std::array<Block*, classes> free_blocks{};

// A chunk begins with its blocks' class, and the rest of its first block is lost.
void* refill(std::size_t index) {
  Region& all = region();
  region_begin.store(all.begin, std::memory_order_relaxed);
  region_end.store(all.end, std::memory_order_relaxed);
  const std::uintptr_t chunk = all.next.fetch_add(chunk_size);
  if (all.begin == 0 || chunk + chunk_size > all.end) return std::malloc(index * grain);
  *reinterpret_cast<std::size_t*>(chunk) = index;
  const std::size_t size = index * grain;
  Block* list = nullptr;
  for (std::size_t at = grain + size; at + size <= chunk_size; at += size) {
    auto* block = reinterpret_cast<Block*>(chunk + at);
    block->next = list;
    list = block;
  }
  free_blocks[index] = list;
  return reinterpret_cast<void*>(chunk + grain);
}

void* allocate(std::size_t size) {
  if (size > small_max) [[unlikely]]
    return std::malloc(size);
  const std::size_t index = size == 0 ? 1 : (size + grain - 1) / grain;
  Block* block = free_blocks[index];
  if (block == nullptr) [[unlikely]]
    return refill(index);
  free_blocks[index] = block->next;
  return block;
}

void release(void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t begin = region_begin.load(std::memory_order_relaxed);
  if (address - begin >= region_end.load(std::memory_order_relaxed) - begin) return std::free(at);
  const std::size_t index = *reinterpret_cast<const std::size_t*>(address & ~(chunk_size - 1));
  auto* block = static_cast<Block*>(at);
  block->next = free_blocks[index];
  free_blocks[index] = block;
}

}  // namespace
}  // namespace ddptwin

void* operator new(std::size_t size) {
  void* at = ddptwin::allocate(size);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return ddptwin::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return ddptwin::allocate(size);
}
void operator delete(void* at) noexcept { ddptwin::release(at); }
void operator delete[](void* at) noexcept { ddptwin::release(at); }
void operator delete(void* at, std::size_t) noexcept { ddptwin::release(at); }
void operator delete[](void* at, std::size_t) noexcept { ddptwin::release(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { ddptwin::release(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { ddptwin::release(at); }

#endif
