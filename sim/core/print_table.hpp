#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "core/result.hpp"

namespace ddptwin {

// What is known of texts, by their fingerprints. All lies in one piece of memory: a lookup that
// nobody has made for a while fetches one line of it, where std::unordered_map fetches its bucket,
// its node and the text that is the key. Its order cannot be seen: who walks one sorts what it
// finds.
template <class T>
class PrintTable {
 public:
  PrintTable() = default;
  PrintTable(PrintTable&& other) noexcept
      : cells_(std::move(other.cells_)), size_(std::exchange(other.size_, 0)) {}
  PrintTable& operator=(PrintTable&& other) noexcept {
    cells_ = std::exchange(other.cells_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Null where there is none. It stays there until another comes or goes.
  T* find(const Fingerprint& key) { return const_cast<T*>(std::as_const(*this).find(key)); }
  const T* find(const Fingerprint& key) const {
    if (size_ == 0) return nullptr;
    const Cell& cell = cells_[locate(key)];
    return is_free(cell) ? nullptr : &cell.value;
  }
  // Made where there is none.
  T& operator[](const Fingerprint& key) {
    DDPTWIN_ASSERT(key != Fingerprint());
    if ((size_ + 1) * 4 > cells_.size() * 3) grow();
    Cell& cell = cells_[locate(key)];
    if (is_free(cell)) {
      cell.key = key;
      ++size_;
    }
    return cell.value;
  }
  // Cells behind it that stand there only because this one was taken move up.
  void erase(const Fingerprint& key) {
    if (size_ == 0) return;
    std::size_t hole = locate(key);
    if (is_free(cells_[hole])) return;
    for (std::size_t next = after(hole); !is_free(cells_[next]); next = after(next)) {
      const std::size_t home = home_of(cells_[next].key);
      if (((next - home) & mask()) < ((next - hole) & mask())) continue;
      cells_[hole] = std::move(cells_[next]);
      hole = next;
    }
    cells_[hole] = Cell{};
    --size_;
  }
  bool empty() const { return size_ == 0; }
  void clear() {
    cells_.clear();
    size_ = 0;
  }
  template <class See>
  void each(const See& see) {
    for (Cell& cell : cells_)
      if (!is_free(cell)) see(cell.value);
  }
  template <class See>
  void each(const See& see) const {
    for (const Cell& cell : cells_)
      if (!is_free(cell)) see(cell.value);
  }

 private:
  struct Cell {
    Fingerprint key{};  // that of no text at all: free
    T value{};
  };
  static constexpr std::size_t cells_min = 8;

  static bool is_free(const Cell& cell) { return cell.key == Fingerprint(); }
  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t after(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home_of(const Fingerprint& key) const { return key.low & mask(); }
  // Where it is, or would be.
  std::size_t locate(const Fingerprint& key) const {
    std::size_t at = home_of(key);
    while (!is_free(cells_[at]) && cells_[at].key != key) at = after(at);
    return at;
  }
  void grow() {
    std::vector<Cell> old(cells_.empty() ? cells_min : cells_.size() * 2);
    old.swap(cells_);
    for (Cell& cell : old)
      if (!is_free(cell)) cells_[locate(cell.key)] = std::move(cell);
  }

  std::vector<Cell> cells_{};  // a power of two
  std::size_t size_ = 0;
};

}  // namespace ddptwin
