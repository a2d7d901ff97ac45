#include "objects/object_map.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/same_text.hpp"

namespace ddptwin {
namespace {

constexpr std::size_t settle_min = 1024;  // fewer that went are not worth a sweep

const ObjectPtr nothing{};

// The order of the cells cannot be seen: who walks a map goes by the keys.
std::uint32_t hash_of(const Object& object) {
  if (object.key_hash == 0)
    object.key_hash = hash_of_names(object.metadata.namespace_, object.metadata.name);
  return object.key_hash;
}

struct Parts {
  std::string_view namespace_, name;
};
Parts parts_of(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

// As the keys "namespace/name" compare, without making them: '-' and '.' come before '/'.
bool key_before(const Parts& a, const Parts& b) {
  const std::string_view x = a.namespace_, y = b.namespace_;
  if (x == y) return a.name < b.name;
  const std::size_t common = std::min(x.size(), y.size());
  if (const int order = x.substr(0, common).compare(y.substr(0, common)); order != 0)
    return order < 0;
  return x.size() < y.size() ? '/' < static_cast<unsigned char>(y[common])
                             : static_cast<unsigned char>(x[common]) < '/';
}

Parts parts_of(const ObjectMeta& meta) { return {meta.namespace_, meta.name}; }

}  // namespace

ObjectMap::Entry ObjectMap::Iterator::operator*() const {
  const ObjectPtr& object = map_->slot(map_->order_[at_]);
  return {key_of(object->metadata), object};
}

void ObjectMap::Iterator::skip_gone() {
  while (at_ < map_->order_.size() && map_->slot(map_->order_[at_]) == nullptr) ++at_;
}

ObjectPtr* ObjectMap::guess(const Object& named) const {
  if (named.likely_slot >= slots_) return nullptr;
  ObjectPtr& there = slot(named.likely_slot);
  const bool is_it = there != nullptr && there->metadata.name == named.metadata.name &&
                     there->metadata.namespace_ == named.metadata.namespace_;
  return is_it ? &there : nullptr;
}

std::size_t ObjectMap::locate(std::uint32_t hash, std::string_view namespace_,
                              std::string_view name) const {
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Cell& cell = cells_[at];
    if (cell.slot == empty_cell) return at;
    if (cell.hash != hash) continue;
    const ObjectMeta& meta = slot(cell.slot)->metadata;
    if (same_text(meta.name, name) && same_text(meta.namespace_, namespace_)) return at;
  }
}

void ObjectMap::grow() {
  if (cells_.empty()) return cells_.resize(cells_min);
  const Cells old = std::exchange(cells_, Cells(cells_.size() * 2));
  const std::size_t mask = cells_.size() - 1;
  for (const Cell& cell : old) {
    if (cell.slot == empty_cell) continue;
    std::size_t at = cell.hash & mask;
    while (cells_[at].slot != empty_cell) at = (at + 1) & mask;
    cells_[at] = cell;
  }
}

std::uint32_t ObjectMap::free_slot() {
  if (!free_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  if (slots_ == (1 + blocks_.size()) * slots_a_block)
    blocks_.push_back(std::make_unique<ObjectPtr[]>(slots_a_block));
  return slots_++;
}

ObjectPtr& ObjectMap::place_for(const Object& object) {
  if (ObjectPtr* there = guess(object); there != nullptr) return *there;
  if ((size_ + 1) * 4 > cells_.size() * 3) grow();
  const ObjectMeta& meta = object.metadata;
  const std::uint32_t hash = hash_of(object);
  Cell& cell = cells_[locate(hash, meta.namespace_, meta.name)];
  if (cell.slot == empty_cell) {
    cell = {hash, free_slot()};
    if (object.likely_slot == Object::no_slot) object.likely_slot = cell.slot;
    if (has_order_) new_.push_back(cell.slot);
    ++size_;
  }
  return slot(cell.slot);
}

ObjectPtr ObjectMap::put(ObjectPtr object) {
  ObjectPtr& place = place_for(*object);
  return std::exchange(place, std::move(object));
}

// Cells behind it that stand there only because this one was taken move up.
void ObjectMap::drop_cell(std::size_t at) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t hole = at;
  for (std::size_t next = (at + 1) & mask; cells_[next].slot != empty_cell;
       next = (next + 1) & mask) {
    const std::size_t home = cells_[next].hash & mask;
    if (((next - home) & mask) < ((next - hole) & mask)) continue;
    cells_[hole] = cells_[next];
    hole = next;
  }
  cells_[hole] = Cell{};
}

ObjectPtr ObjectMap::take(std::string_view namespace_, std::string_view name) {
  return take(hash_of_names(namespace_, name), namespace_, name);
}

ObjectPtr ObjectMap::take(const Object& named) {
  const ObjectMeta& meta = named.metadata;
  return take(hash_of(named), meta.namespace_, meta.name);
}

ObjectPtr ObjectMap::take(std::uint32_t hash, std::string_view namespace_, std::string_view name) {
  if (cells_.empty()) return nullptr;
  const std::size_t at = locate(hash, namespace_, name);
  if (cells_[at].slot == empty_cell) return nullptr;
  const std::uint32_t index = cells_[at].slot;
  drop_cell(at);
  --size_;
  (has_order_ ? gone_ : free_).push_back(index);
  ObjectPtr taken = std::exchange(slot(index), nullptr);
  if (gone_.size() > settle_min && gone_.size() > size_) settle_order();
  return taken;
}

void ObjectMap::clear() {
  first_.fill(nullptr);
  blocks_.clear();
  slots_ = 0;
  size_ = 0;
  for (Slots* list : {&order_, &new_, &gone_, &free_}) list->clear();
  cells_.clear();
  has_order_ = false;
}

const ObjectPtr& ObjectMap::find(std::string_view namespace_, std::string_view name) const {
  if (size_ == 0) return nothing;
  const Cell& cell = cells_[locate(hash_of_names(namespace_, name), namespace_, name)];
  return cell.slot != empty_cell ? slot(cell.slot) : nothing;
}

ObjectPtr* ObjectMap::place(std::string_view namespace_, std::string_view name) {
  if (size_ == 0) return nullptr;
  const Cell& cell = cells_[locate(hash_of_names(namespace_, name), namespace_, name)];
  return cell.slot != empty_cell ? &slot(cell.slot) : nullptr;
}

const ObjectPtr& ObjectMap::find(const Object& named) const {
  if (size_ == 0) return nothing;
  if (const ObjectPtr* there = guess(named); there != nullptr) return *there;
  const ObjectMeta& meta = named.metadata;
  const Cell& cell = cells_[locate(hash_of(named), meta.namespace_, meta.name)];
  return cell.slot != empty_cell ? slot(cell.slot) : nothing;
}

const ObjectPtr& ObjectMap::find(std::string_view key) const {
  const Parts parts = parts_of(key);
  return find(parts.namespace_, parts.name);
}

void ObjectMap::begin_order() const {
  has_order_ = true;
  for (std::uint32_t index = 0; index < slots_; ++index)
    if (slot(index) != nullptr) new_.push_back(index);
}

// Those that went leave the order; their slots may then be used again.
void ObjectMap::settle_order() const {
  if (!has_order_ && size_ > 0) begin_order();
  if (!gone_.empty()) {
    const auto is_gone = [this](std::uint32_t index) { return slot(index) == nullptr; };
    for (Slots* list : {&order_, &new_})
      list->erase(std::remove_if(list->begin(), list->end(), is_gone), list->end());
    free_.insert(free_.end(), gone_.begin(), gone_.end());
    gone_.clear();
  }
  if (new_.empty()) return;
  const auto before = [this](std::uint32_t a, std::uint32_t b) {
    return key_before(parts_of(slot(a)->metadata), parts_of(slot(b)->metadata));
  };
  std::sort(new_.begin(), new_.end(), before);
  const auto middle = static_cast<std::ptrdiff_t>(order_.size());
  order_.insert(order_.end(), new_.begin(), new_.end());
  new_.clear();
  std::inplace_merge(order_.begin(), order_.begin() + middle, order_.end(), before);
}

ObjectMap::Iterator ObjectMap::begin() const {
  settle_order();
  return {*this, 0};
}

ObjectMap::Iterator ObjectMap::end() const {
  settle_order();
  return {*this, order_.size()};
}

std::vector<ObjectPtr> ObjectMap::of_namespace(std::string_view namespace_) const {
  settle_order();
  std::vector<ObjectPtr> found;
  auto at = order_.begin();
  if (namespace_.empty())
    found.reserve(size_);
  else
    at = std::partition_point(order_.begin(), order_.end(), [&](std::uint32_t index) {
      return key_before(parts_of(slot(index)->metadata), {namespace_, {}});
    });
  for (; at != order_.end(); ++at) {
    if (!namespace_.empty() && slot(*at)->metadata.namespace_ != namespace_) break;
    found.push_back(slot(*at));
  }
  return found;
}

}  // namespace ddptwin
