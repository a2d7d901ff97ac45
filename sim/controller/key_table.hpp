#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "controller/work_queue.hpp"
#include "core/same_text.hpp"
#include "objects/object.hpp"

namespace ddptwin::controller {

inline KeyParts parts_of(const Object& object) {
  return {object.metadata.namespace_, object.metadata.name, object.key_hash};
}

// What a controller remembers of its keys. Names of a row that an object has brought are the same
// memory as the object's, so that looking it up for that object compares no characters.
template <class T>
class KeyTable {
 public:
  // Null where there is none.
  T* find(const KeyParts& key) const {
    const auto found = rows_.find(key);
    return found != rows_.end() ? &(*found)->value : nullptr;
  }
  // Made where there is none; stays where it is until it is erased.
  T& of(const Object& object) {
    return made(parts_of(object), object.metadata.namespace_, object.metadata.name);
  }
  T& of(const KeyParts& key) { return made(key, key.namespace_, key.name); }
  void erase(const KeyParts& key) {
    if (const auto found = rows_.find(key); found != rows_.end()) rows_.erase(found);
  }
  void clear() { rows_.clear(); }
  // In any order.
  std::vector<Key> keys() const {
    std::vector<Key> keys;
    for (const RowPtr& row : rows_) keys.push_back(joined_key({row->namespace_, row->name}));
    return keys;
  }

 private:
  struct Row {
    std::size_t hash;
    Text namespace_, name;
    T value{};
  };
  using RowPtr = std::unique_ptr<Row>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyParts& key) const { return KeyHash()(key); }
    std::size_t operator()(const RowPtr& row) const { return row->hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const RowPtr& a, const RowPtr& b) const { return a == b; }
    bool operator()(const KeyParts& key, const RowPtr& row) const {
      return same_text(key.name, row->name) && same_text(key.namespace_, row->namespace_);
    }
    bool operator()(const RowPtr& row, const KeyParts& key) const { return operator()(key, row); }
  };

  template <class Name>
  T& made(const KeyParts& key, const Name& namespace_, const Name& name) {
    if (T* known = find(key)) return *known;
    return (*rows_.insert(RowPtr(new Row{KeyHash()(key), namespace_, name})).first)->value;
  }

  // Looked up only: its order cannot be seen.
  boost::unordered_flat_set<RowPtr, Hash, Same> rows_{};
};

}  // namespace ddptwin::controller
