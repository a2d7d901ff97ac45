#include "api/object_index.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"

namespace ddptwin::api {
namespace {

bool name_before(const ObjectPtr& object, std::string_view name) {
  return object->metadata.name < name;
}

const StringMap& selector_of(const Object& object) {
  return static_cast<const Service&>(object).spec->selector;
}

}  // namespace

LabelIndex::LabelIndex(std::vector<std::string> keys, Labels labels)
    : keys_(std::move(keys)), labels_(labels) {}

bool LabelIndex::project(std::string_view namespace_, const StringMap& labels,
                         std::string& text) const {
  text = namespace_;
  for (const std::string& key : keys_) {
    const auto found = labels.find(key);
    if (found == labels.end()) return false;
    // No name or label value contains it.
    text += '\n';
    text += found->second;
  }
  return true;
}

void LabelIndex::put(const ObjectPtr& object) {
  const ObjectMeta& meta = object->metadata;
  std::string text;
  if (!project(meta.namespace_, labels_(*object), text)) return;
  std::vector<ObjectPtr>& list = objects_[text];
  const auto at = std::lower_bound(list.begin(), list.end(), meta.name, name_before);
  if (at != list.end() && (*at)->metadata.name == meta.name)
    *at = object;
  else
    list.insert(at, object);
}

void LabelIndex::drop(const Object& object) {
  const ObjectMeta& meta = object.metadata;
  std::string text;
  if (!project(meta.namespace_, labels_(object), text)) return;
  const auto found = objects_.find(text);
  if (found == objects_.end()) return;
  std::vector<ObjectPtr>& list = found->second;
  const auto at = std::lower_bound(list.begin(), list.end(), meta.name, name_before);
  if (at != list.end() && (*at)->metadata.name == meta.name) list.erase(at);
  if (list.empty()) objects_.erase(found);
}

std::vector<ObjectPtr> LabelIndex::find(std::string_view namespace_,
                                        const StringMap& labels) const {
  std::string text;
  if (!project(namespace_, labels, text)) return {};
  const auto found = objects_.find(text);
  return found != objects_.end() ? found->second : std::vector<ObjectPtr>();
}

LabelIndex* SelectorIndex::table_of(const StringMap& selector) {
  for (LabelIndex& table : by_keys_)
    if (std::equal(table.keys().begin(), table.keys().end(), selector.begin(), selector.end(),
                   [](const std::string& key, const auto& entry) { return key == entry.first; }))
      return &table;
  return nullptr;
}

void SelectorIndex::put(const ObjectPtr& object) {
  const StringMap& selector = selector_of(*object);
  LabelIndex* table = table_of(selector);
  if (table == nullptr) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : selector) keys.push_back(key);
    table = &by_keys_.emplace_back(std::move(keys), &selector_of);
  }
  table->put(object);
}

void SelectorIndex::drop(const Object& object) {
  if (LabelIndex* table = table_of(selector_of(object)); table != nullptr) table->drop(object);
}

std::vector<ObjectPtr> SelectorIndex::selecting(std::string_view namespace_,
                                                const StringMap& labels) const {
  std::vector<ObjectPtr> found;
  for (const LabelIndex& table : by_keys_) {
    if (table.keys().empty()) continue;  // a Service without a selector selects nothing
    const std::vector<ObjectPtr> some = table.find(namespace_, labels);
    found.insert(found.end(), some.begin(), some.end());
  }
  std::sort(found.begin(), found.end(), [](const ObjectPtr& a, const ObjectPtr& b) {
    return a->metadata.name < b->metadata.name;
  });
  return found;
}

}  // namespace ddptwin::api
