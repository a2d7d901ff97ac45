// Objects of one kind by namespace and name.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "objects/object.hpp"

namespace ddptwin {

// Finds by hash, without making a key, and is walked in the order of the keys "namespace/name" like
// a std::map of them. The order is made when somebody walks: one sort of what came since the last
// walk; most maps are never walked with anything in them, and keep none. What comes or goes during
// a walk is left out of it.
class ObjectMap {
 public:
  struct Entry {
    std::string key;
    const ObjectPtr& object;
  };
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    Iterator(const ObjectMap& map, std::size_t at) : map_(&map), at_(at) { skip_gone(); }
    Entry operator*() const;
    Iterator& operator++() {
      ++at_;
      skip_gone();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void skip_gone();

    const ObjectMap* map_;
    std::size_t at_;
  };

  ObjectMap() = default;
  ObjectMap(const ObjectMap&) = delete;
  ObjectMap& operator=(const ObjectMap&) = delete;

  // What was there under that name, or null.
  ObjectPtr put(ObjectPtr object);
  ObjectPtr take(std::string_view namespace_, std::string_view name);
  ObjectPtr take(const Object& named);  // what is named as this one
  void clear();

  // Where the object of that name is kept, for one of the same name; it stays there until it is
  // taken. Null where there is none.
  ObjectPtr* place(std::string_view namespace_, std::string_view name);
  // The same, made where there is none: what is null there has to be filled at once.
  ObjectPtr& place_for(const Object& object);
  // Null where there is none.
  const ObjectPtr& find(std::string_view namespace_, std::string_view name) const;
  const ObjectPtr& find(std::string_view key) const;
  // That is named as this one. It is the place, too.
  const ObjectPtr& find(const Object& named) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Iterator begin() const;
  Iterator end() const;
  // Those of one namespace, or all when it is empty; in the order of their keys.
  std::vector<ObjectPtr> of_namespace(std::string_view namespace_) const;

 private:
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t slot = empty_cell;
  };
  static constexpr std::uint32_t empty_cell = 0xffffffff;
  static constexpr std::size_t cells_min = 16;
  static constexpr std::uint32_t slots_a_block = 8;

  ObjectPtr& slot(std::uint32_t index) const {
    return index < slots_a_block ? first_[index]
                                 : blocks_[index / slots_a_block - 1][index % slots_a_block];
  }
  // Where it is if that is its likely slot, or null.
  ObjectPtr* guess(const Object& named) const;
  std::size_t locate(std::uint32_t hash, std::string_view namespace_, std::string_view name) const;
  ObjectPtr take(std::uint32_t hash, std::string_view namespace_, std::string_view name);
  void grow();
  std::uint32_t free_slot();
  void drop_cell(std::size_t at);
  void settle_order() const;
  void begin_order() const;

  // Slots stay where they are. Most maps need none but the first.
  mutable std::array<ObjectPtr, slots_a_block> first_{};
  std::vector<std::unique_ptr<ObjectPtr[]>> blocks_{};
  std::uint32_t slots_ = 0;  // those behind have never been used
  std::size_t size_ = 0;
  // Open addressing, a power of two; most maps need no more than the first.
  using Cells = boost::container::small_vector<Cell, cells_min>;
  Cells cells_{};
  mutable bool has_order_ = false;
  // Slots in the order of the keys, but for those that came (new_) or went (gone_) since. Nearly
  // all maps are of a few objects, whose slots find room here.
  using Slots = boost::container::small_vector<std::uint32_t, slots_a_block>;
  mutable Slots order_{};
  mutable Slots new_{};
  mutable Slots gone_{};
  mutable Slots free_{};
};

}  // namespace ddptwin
