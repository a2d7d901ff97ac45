#include "api/object_index.hpp"

#include <algorithm>

#include "objects/core_v1.hpp"

namespace ddptwin::api {
namespace {

bool name_before(const ObjectPtr* place, std::string_view name) {
  return (*place)->metadata.name < name;
}

const StringMap& selector_of(const Object& object) {
  return endpoint_selector(static_cast<const Service&>(object));
}

}  // namespace

const StringMap& endpoint_selector(const Service& service) {
  static const StringMap none{};
  const ServiceSpec& spec = *service.spec;
  return spec.type_ == "ExternalName" ? none : *spec.selector;
}

// As an index takes the values of its keys.
LabelQuery::LabelQuery(Text space, Cow<StringMap> labels)
    : namespace_(std::move(space)), labels_(std::move(labels)) {
  values_.add(namespace_);
  for (const auto& [key, value] : labels_) {
    keys_.add(key);
    values_.add(value);
  }
}

LabelIndex::LabelIndex(std::vector<Text> keys, Labels labels)
    : keys_(std::move(keys)), labels_(labels) {
  for (const Text& key : keys_) print_of_keys_.add(key);
}

std::optional<Fingerprint> LabelIndex::project(std::string_view namespace_,
                                               const StringMap& labels) const {
  Fingerprint print;
  print.add(namespace_);
  // Both are in order: one walk through the labels, whose lengths tell most of them apart.
  auto at = labels.begin();
  for (const Text& key : keys_) {
    while (at != labels.end() && at->first != key) ++at;
    if (at == labels.end()) return std::nullopt;
    print.add(at->second);
    ++at;
  }
  return print;
}

void LabelIndex::put(const ObjectPtr& place) {
  const ObjectMeta& meta = place->metadata;
  const auto values = project(meta.namespace_, labels_(*place));
  if (!values) return;
  places_[*values].put(place);
}

void LabelIndex::drop(const Object& object) {
  const ObjectMeta& meta = object.metadata;
  const auto values = project(meta.namespace_, labels_(object));
  if (!values) return;
  List* list = places_.find(*values);
  if (list == nullptr) return;
  list->drop(meta.name);
  if (list->places().empty()) places_.erase(*values);
}

void LabelIndex::List::put(const ObjectPtr& place) {
  const Text& name = place->metadata.name;
  if (several_ == nullptr) {
    if (one_ == nullptr || (*one_)->metadata.name == name) {
      one_ = &place;
      return;
    }
    several_ = std::make_unique<std::vector<const ObjectPtr*>>(1, one_);
  }
  const auto at = std::lower_bound(several_->begin(), several_->end(), name, name_before);
  if (at != several_->end() && (**at)->metadata.name == name)
    *at = &place;
  else
    several_->insert(at, &place);
}

void LabelIndex::List::drop(std::string_view name) {
  if (several_ == nullptr) {
    if (one_ != nullptr && (*one_)->metadata.name == name) one_ = nullptr;
    return;
  }
  const auto at = std::lower_bound(several_->begin(), several_->end(), name, name_before);
  if (at != several_->end() && (**at)->metadata.name == name) several_->erase(at);
}

LabelIndex::Places LabelIndex::at(const Fingerprint& values) const {
  const List* list = places_.find(values);
  return list != nullptr ? list->places() : Places();
}

LabelIndex::Places LabelIndex::find(std::string_view namespace_, const StringMap& labels) const {
  const auto values = project(namespace_, labels);
  return values ? at(*values) : Places();
}

std::optional<LabelIndex::Places> LabelIndex::find_exactly(const LabelQuery& query) const {
  if (print_of_keys_ != query.keys()) return std::nullopt;
  return at(query.values());
}

std::optional<LabelIndex::Places> LabelIndex::find_exactly(std::string_view namespace_,
                                                           const StringMap& labels) const {
  if (labels.size() != keys_.size()) return std::nullopt;
  Fingerprint values;
  values.add(namespace_);
  auto key = keys_.begin();
  for (const auto& [own, value] : labels) {
    if (own != *key++) return std::nullopt;
    values.add(value);
  }
  return at(values);
}

LabelIndex::Places LabelIndex::find(std::string_view namespace_, std::string_view value) const {
  Fingerprint values;
  values.add(namespace_);
  values.add(value);
  return at(values);
}

LabelIndex* SelectorIndex::table_of(const StringMap& selector) {
  for (LabelIndex& table : by_keys_)
    if (std::equal(table.keys().begin(), table.keys().end(), selector.begin(), selector.end(),
                   [](const Text& key, const auto& entry) { return key == entry.first; }))
      return &table;
  return nullptr;
}

void SelectorIndex::put(const ObjectPtr& place) {
  last_.reset();
  const StringMap& selector = selector_of(*place);
  LabelIndex* table = table_of(selector);
  if (table == nullptr) {
    std::vector<Text> keys;
    for (const auto& [key, value] : selector) keys.push_back(key);
    table = &by_keys_.emplace_back(std::move(keys), &selector_of);
  }
  table->put(place);
}

void SelectorIndex::drop(const Object& object) {
  last_.reset();
  if (LabelIndex* table = table_of(selector_of(object)); table != nullptr) table->drop(object);
}

bool SelectorIndex::tells_apart(const Object& before, const Object& after) const {
  return !static_cast<const Service&>(before).spec.same_as(static_cast<const Service&>(after).spec);
}

const SelectorIndex::Places& SelectorIndex::selecting(std::string_view namespace_,
                                                      const Cow<StringMap>& labels) const {
  if (last_ && last_->labels.same_as(labels) && last_->namespace_ == namespace_)
    return last_->places;
  Places& found = last_.emplace(Answer{std::string(namespace_), labels, {}}).places;
  bool in_order = true;
  for (const LabelIndex& table : by_keys_) {
    if (table.keys().empty()) continue;  // a Service without a selector selects nothing
    const LabelIndex::Places some = table.find(namespace_, labels);
    in_order = in_order && (found.empty() || some.empty());
    found.insert(found.end(), some.begin(), some.end());
  }
  // Each table's are.
  if (!in_order)
    std::sort(found.begin(), found.end(), [](const ObjectPtr* a, const ObjectPtr* b) {
      return (*a)->metadata.name < (*b)->metadata.name;
    });
  return found;
}

}  // namespace ddptwin::api
