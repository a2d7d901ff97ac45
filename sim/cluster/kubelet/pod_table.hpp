// What is known of each pod of one node.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/shared_text.hpp"

namespace ddptwin::kubelet {

// By uid, in that order. One piece of memory: a node has few pods, and one is looked for far more
// often than one comes. A row that is put or erased moves others.
template <class T>
class PodTable {
 public:
  using Rows = std::vector<std::pair<SharedText, T>>;
  using iterator = typename Rows::iterator;
  using const_iterator = typename Rows::const_iterator;

  std::size_t size() const { return rows_.size(); }
  iterator begin() { return rows_.begin(); }
  iterator end() { return rows_.end(); }
  const_iterator begin() const { return rows_.begin(); }
  const_iterator end() const { return rows_.end(); }

  iterator find(const SharedText& uid) { return find_in(rows_, uid); }
  const_iterator find(const SharedText& uid) const { return find_in(rows_, uid); }
  bool contains(const SharedText& uid) const { return find(uid) != end(); }
  // That of the pod, made where there is none.
  T& operator[](const SharedText& uid) {
    auto at = find(uid);
    if (at == end()) at = rows_.emplace(place_in(rows_, uid), uid, T());
    return at->second;
  }
  // The value ends when the table is whole again.
  void erase(const_iterator at) {
    const auto row = rows_.begin() + (at - rows_.cbegin());
    const T ended = std::move(row->second);
    rows_.erase(row);
  }

 private:
  template <class AnyRows>
  static auto place_in(AnyRows& rows, const SharedText& uid) {
    return std::lower_bound(rows.begin(), rows.end(), uid,
                            [](const auto& row, const SharedText& key) { return row.first < key; });
  }
  // Versions of a pod share the text of their uid: who is known is mostly found without reading it.
  template <class AnyRows>
  static auto find_in(AnyRows& rows, const SharedText& uid) {
    for (auto at = rows.begin(); at != rows.end(); ++at)
      if (at->first.view().data() == uid.view().data()) return at;
    const auto at = place_in(rows, uid);
    return at != rows.end() && at->first == uid ? at : rows.end();
  }

  Rows rows_{};
};

}  // namespace ddptwin::kubelet
